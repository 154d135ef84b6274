//! A setting that cannot be used: where it was given, its key, and what is allowed. Never the value.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// Source of a setting's value.
///
/// ```
/// use tracer_sdk::settings::SettingSource;
///
/// assert_eq!(SettingSource::File("/agent/.tracer/config.toml".into()).to_string(), "/agent/.tracer/config.toml");
/// assert_eq!(SettingSource::Environment.to_string(), "environment");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingSource {
    /// By the program, in a [`Config`](super::Config).
    Code,
    /// In an environment variable.
    Environment,
    /// In a settings file.
    File(PathBuf),
}

impl fmt::Display for SettingSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code => formatter.write_str("settings in code"),
            Self::Environment => formatter.write_str("environment"),
            Self::File(path) => path.display().fmt(formatter),
        }
    }
}

/// A place in a settings file, both counted from 1; columns are characters.
///
/// ```
/// use tracer_sdk::settings::{Config, Position, SettingsFile, Sources, resolve};
///
/// let text = Ok("redact = true\nloop_window = 1".to_owned());
/// let user = SettingsFile { path: "/home/me/.tracer/config.toml".into(), text };
/// let sources = Sources { user: Some(user), ..Sources::default() };
/// let (_, problems) = resolve(&Config::new(), &sources);
/// assert_eq!(problems[0].position, Some(Position { line: 2, column: 1 }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character of the line.
    pub column: usize,
}

impl Position {
    /// The place of the byte at `offset`.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// A setting, or a whole file, that is not used (decisions, section 9).
///
/// The command line stops with it; the SDK warns once and continues with the next source, in the end the default.
///
/// ```text
/// /home/me/agent/.tracer/config.toml:3:1: loop_window must be a whole number from 4 to 1000
/// environment: TRACER_FLUSH must be each or batched
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingProblem {
    /// Source of the value.
    pub source: SettingSource,
    /// Position in the file.
    pub position: Option<Position>,
    /// The key in the file or the name of the environment variable; empty when the file as a whole is meant.
    pub key: String,
    /// Allowed values, as the rest of a sentence: `must be a whole number from 4 to 1000`.
    pub allowed: String,
}

impl SettingProblem {
    pub(super) fn new(source: &SettingSource, position: Option<Position>, key: &str, allowed: &str) -> Self {
        Self {
            source: source.clone(),
            position,
            key: key.to_owned(),
            allowed: allowed.to_owned(),
        }
    }
}

impl fmt::Display for SettingProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.source)?;
        if let Some(Position { line, column }) = self.position {
            write!(formatter, ":{line}:{column}")?;
        }
        formatter.write_str(": ")?;
        if !self.key.is_empty() {
            write!(formatter, "{} ", self.key)?;
        }
        formatter.write_str(&self.allowed)
    }
}

impl Error for SettingProblem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_lines_and_characters_from_one() {
        let text = "a = 1\nä = é\r\n";
        let position = |offset| {
            let Position { line, column } = Position::of(text, offset);
            (line, column)
        };
        assert_eq!(position(0), (1, 1));
        assert_eq!(position(4), (1, 5));
        assert_eq!(position(6), (2, 1));
        assert_eq!(position(text.find('é').unwrap()), (2, 5));
        assert_eq!(position(text.len() + 10), (3, 1));
    }
}

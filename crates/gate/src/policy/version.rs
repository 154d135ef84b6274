//! The version that a policy declares.

use tracer_sdk::settings::Position;

use super::fields::PolicyFields;
use super::yaml::YamlEntry;
use super::{PolicyError, PolicyErrorCode as Code};

/// The version of the grammar that a policy is written in.
///
/// ```
/// use tracer_gate::policy::{Overrides, Policy, PolicyVersion};
///
/// let policy = Policy::parse("version: 2.1\nmetrics: {}\n", &Overrides::default()).unwrap();
/// assert_eq!(policy.version, PolicyVersion { major: 2, minor: 1 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyVersion {
    /// 1 for the old format, 2 for the present one.
    pub major: u32,
    /// What was added since.
    pub minor: u32,
}

impl PolicyVersion {
    /// The version of a file that declares none.
    pub(super) const OLD: Self = Self { major: 1, minor: 0 };
}

/// The declared version; nothing said means the old format.
///
/// The version is read from the text, not from the value: `2.10` is not the number 2.1.
pub(super) fn declared_version(text: &str, root: &PolicyFields<'_>) -> Result<PolicyVersion, PolicyError> {
    let Some(YamlEntry { position, .. }) = root.entries().iter().find(|entry| entry.key == "version") else {
        return Ok(PolicyVersion::OLD);
    };
    let Some((line, token)) = token(text) else {
        return Err(
            PolicyError::new(Code::VersionNotScalar, "version", "must be on a line of its own")
                .at(*position)
                .hint("write `version: 2` at the start of a line"),
        );
    };
    let at = Some(Position { line, column: 1 });
    let wrong = |code, message| PolicyError::new(code, "version", message).at(at);

    let (major, minor) = token.split_once('.').unwrap_or((token, "0"));
    let (Some(major), Some(minor)) = (digits(major), digits(minor)) else {
        return Err(wrong(
            Code::VersionForm,
            "must be major or major.minor, as in 2 or 2.1",
        ));
    };
    match (major, minor) {
        (1, _) | (2, 0 | 1) => Ok(PolicyVersion { major, minor }),
        (2, _) => Err(
            wrong(Code::VersionMinorTooNew, "is newer than this program reads: 2.1")
                .hint("update tracer, or use the rules of version 2.1"),
        ),
        _ => Err(wrong(Code::VersionMajorUnsupported, "must be 1 or 2")),
    }
}

/// The token after `version:` and its line, counted from 1.
fn token(text: &str) -> Option<(usize, &str)> {
    text.trim_start_matches('\u{feff}')
        .lines()
        .enumerate()
        .find_map(|(index, line)| {
            let value = line.strip_prefix("version")?.trim_start().strip_prefix(':')?;
            let value = value.split('#').next()?.trim();
            let quotes: &[_] = &['"', '\''];
            (!value.is_empty()).then(|| (index + 1, value.trim_matches(quotes)))
        })
}

fn digits(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

//! A settings file, parsed: where each value stands, and which keys are no settings.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::given::Given;
use super::layer::Origin;
use super::nearest::nearest;
use super::problem::{Position, SettingProblem, SettingSource};
use super::table::{SETTINGS, Setting};

/// Length of an unknown key that is repeated in its problem, in characters.
const MAX_KEY_CHARACTERS: usize = 64;

/// The table that is no setting: prices.
pub(super) const PRICES_TABLE: &str = "prices";

/// The values of a settings file.
pub(super) struct TomlFile<'a> {
    path: &'a Path,
    text: &'a str,
    values: DeTable<'a>,
}

impl<'a> TomlFile<'a> {
    /// Parses a settings file. The parser's own message is left out: it may repeat what the file says.
    pub(super) fn parse(path: &'a Path, text: &'a str) -> Result<Self, SettingProblem> {
        match DeTable::parse(text) {
            Ok(values) => Ok(Self {
                path,
                text,
                values: values.into_inner(),
            }),
            Err(error) => Err(SettingProblem {
                source: SettingSource::File(path.to_owned()),
                position: error.span().map(|span| Position::of(text, span.start)),
                key: String::new(),
                allowed: "not valid TOML here; nothing in the file is used".to_owned(),
            }),
        }
    }

    /// A problem with the value of a setting in this file.
    pub(super) fn problem(&self, setting: &Setting, allowed: &str) -> SettingProblem {
        SettingProblem {
            source: self.source(),
            position: self.find(setting).and_then(|(_, position)| position),
            key: self.key(setting),
            allowed: allowed.to_owned(),
        }
    }

    /// Tells of every key that is no setting.
    pub(super) fn unknown_keys(&self, problems: &mut Vec<SettingProblem>) {
        for (key, value) in &self.values {
            let name: &str = key.get_ref();
            if name == PRICES_TABLE {
                continue;
            }
            if SETTINGS.iter().any(|setting| setting.table() == Some(name)) {
                match value.get_ref() {
                    DeValue::Table(inner) => self.unknown_keys_of(name, inner, problems),
                    _ => problems.push(self.problem_at(key, name, "must be a table".to_owned())),
                }
            } else if !SETTINGS.iter().any(|setting| setting.key == name) {
                problems.push(self.unknown_key(key, name));
            }
        }
    }

    fn unknown_keys_of(&self, table: &str, values: &DeTable<'_>, problems: &mut Vec<SettingProblem>) {
        for key in values.keys() {
            let full = format!("{table}.{}", key.get_ref());
            if !SETTINGS.iter().any(|setting| setting.key == full) {
                problems.push(self.unknown_key(key, &full));
            }
        }
    }

    fn unknown_key(&self, key: &Spanned<DeString<'_>>, full: &str) -> SettingProblem {
        let meant = nearest(full).map(|setting| format!("; did you mean {}?", setting.key));
        let allowed = format!("is not a setting{}", meant.unwrap_or_default());
        self.problem_at(key, full, allowed)
    }

    fn problem_at(&self, key: &Spanned<DeString<'_>>, full: &str, allowed: String) -> SettingProblem {
        let shown = full.chars().take(MAX_KEY_CHARACTERS);
        SettingProblem {
            source: self.source(),
            position: Some(Position::of(self.text, key.span().start)),
            key: shown.flat_map(char::escape_debug).collect(),
            allowed,
        }
    }
}

impl Origin for TomlFile<'_> {
    fn find(&self, setting: &Setting) -> Option<(Given<'_>, Option<Position>)> {
        let values = match setting.table() {
            None => &self.values,
            Some(table) => match self.values.get(table)?.get_ref() {
                DeValue::Table(values) => values,
                _ => return None,
            },
        };
        let (key, value) = values.get_key_value(setting.name())?;
        let position = Position::of(self.text, key.span().start);
        Some((Given::Toml(value.get_ref()), Some(position)))
    }

    fn key(&self, setting: &Setting) -> String {
        setting.key.to_owned()
    }

    fn source(&self) -> SettingSource {
        SettingSource::File(self.path.to_owned())
    }

    /// The folder that holds `.tracer`: the project, or the home directory.
    fn base(&self) -> &Path {
        let folder = self.path.parent().and_then(Path::parent);
        folder.unwrap_or(Path::new(""))
    }
}

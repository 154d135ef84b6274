//! One source of settings: its values and problems.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::problem::{Position, SettingProblem, SettingSource};
use super::setting::{AllowedValues, variable};
use super::value::{Given, SettingValue, Unparsed};

/// A source of values, parsed.
pub(super) struct Layer<'a> {
    pub(super) source: SettingSource,
    /// The base of relative paths.
    pub(super) base: &'a Path,
    home: Option<&'a Path>,
    pub(super) values: Values<'a>,
}

pub(super) enum Values<'a> {
    /// The environment variables `TRACER_…`; a blank one counts as not set.
    Environment(&'a BTreeMap<String, OsString>),
    File {
        text: &'a str,
        table: DeTable<'a>,
    },
}

impl<'a> Layer<'a> {
    pub(super) fn of_environment(
        variables: &'a BTreeMap<String, OsString>,
        working_directory: &'a Path,
        home: Option<&'a Path>,
    ) -> Self {
        Self {
            source: SettingSource::Environment,
            base: working_directory,
            home,
            values: Values::Environment(variables),
        }
    }

    /// Parses a settings file. The parser's own message is left out: it may repeat what the file says.
    pub(super) fn of_file(
        path: &'a Path,
        text: Result<&'a str, &str>,
        home: Option<&'a Path>,
    ) -> Result<Self, SettingProblem> {
        let source = SettingSource::File(path.to_owned());
        let problem = |position, allowed: &str| SettingProblem::new(&source, position, "", allowed);
        let text = text.map_err(|reason| problem(None, &format!("cannot be read: {reason}")))?;
        let table = DeTable::parse(text).map_err(|error| {
            let position = error.span().map(|span| Position::of(text, span.start));
            problem(position, "not valid TOML here; nothing in the file is used")
        })?;
        // The folder that holds `.tracer`: the project, or the home directory.
        let folder = path.parent().and_then(Path::parent);
        Ok(Self {
            source,
            base: folder.unwrap_or(Path::new("")),
            home,
            values: Values::File {
                text,
                table: table.into_inner(),
            },
        })
    }

    /// The value of a setting; `None` when it is not given or not allowed, which is a problem.
    pub(super) fn read<T: SettingValue>(
        &self,
        key: &str,
        allowed: &AllowedValues,
        problems: &mut Vec<SettingProblem>,
    ) -> Option<T> {
        let (written, _) = self.find(key)?;
        let given = Given {
            written,
            base: self.base,
            home: self.home,
        };
        let value = T::read(given).filter(|value| value.is_allowed(allowed));
        if value.is_none() {
            problems.push(self.problem(key, &format!("must be {allowed}")));
        }
        value
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// A problem with the value of a setting.
    pub(super) fn problem(&self, key: &str, allowed: &str) -> SettingProblem {
        let position = self.find(key).and_then(|(_, position)| position);
        match &self.values {
            Values::Environment(_) => SettingProblem::new(&self.source, position, &variable(key), allowed),
            Values::File { .. } => SettingProblem::new(&self.source, position, key, allowed),
        }
    }

    fn find(&self, key: &str) -> Option<(Unparsed<'_>, Option<Position>)> {
        match &self.values {
            Values::Environment(variables) => {
                let text = variables.get(&variable(key))?;
                let is_blank = text.to_str().is_some_and(|text| text.trim().is_empty());
                (!is_blank).then_some((Unparsed::Text(text), None))
            }
            Values::File { text, table } => {
                let (table, name) = match key.split_once('.') {
                    None => (table, key),
                    Some((group, name)) => match table.get(group)?.get_ref() {
                        DeValue::Table(values) => (values, name),
                        _ => return None,
                    },
                };
                let (key, value) = table.get_key_value(name)?;
                let position = Position::of(text, key.span().start);
                Some((Unparsed::Toml(value.get_ref()), Some(position)))
            }
        }
    }
}

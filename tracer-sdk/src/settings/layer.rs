//! Values of one source, each understood or reported as a problem.
//!
//! Here the settings are listed once for the environment and for files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Config;
use super::given::{self, Given};
use super::problem::{Position, SettingProblem, SettingSource};
use super::table::{self, Setting};
use crate::guardrails::Guardrails;

/// A source of values.
pub(super) trait Origin {
    /// The value of a setting and where it stands.
    fn find(&self, setting: &Setting) -> Option<(Given<'_>, Option<Position>)>;
    /// Name of the setting in this source.
    fn key(&self, setting: &Setting) -> String;
    /// Source of the values.
    fn source(&self) -> SettingSource;
    /// Base directory of relative paths.
    fn base(&self) -> &Path;
}

/// The environment variables `TRACER_…`; a blank one counts as not set.
pub(super) struct Environment<'a> {
    pub(super) variables: &'a BTreeMap<String, OsString>,
    pub(super) working_directory: &'a Path,
}

impl Origin for Environment<'_> {
    fn find(&self, setting: &Setting) -> Option<(Given<'_>, Option<Position>)> {
        let text = self.variables.get(&setting.variable())?;
        let is_blank = text.to_str().is_some_and(|text| text.trim().is_empty());
        (!is_blank).then_some((Given::Text(text), None))
    }

    fn key(&self, setting: &Setting) -> String {
        setting.variable()
    }

    fn source(&self) -> SettingSource {
        SettingSource::Environment
    }

    fn base(&self) -> &Path {
        self.working_directory
    }
}

/// Everything that one source gives.
pub(super) fn read_layer(
    origin: &dyn Origin,
    home: Option<&Path>,
    problems: &mut Vec<SettingProblem>,
) -> Config {
    let mut reader = LayerReader {
        origin,
        home,
        problems,
    };
    #[cfg(not(feature = "prices"))]
    reader.refuse(
        &table::MAX_COST_USD,
        "is not in force: it needs the feature `prices` of tracer-sdk",
    );
    Config {
        enabled: reader.switch(&table::ENABLED),
        data_dir: reader.path(&table::DATA_DIR),
        store: reader.read(&table::STORE, given::bucket),
        store_cache_mb: reader.whole(&table::STORE_CACHE_MB),
        redact: reader.redact(),
        redact_keys: reader.read(&table::REDACT_KEYS, given::names),
        max_field_bytes: reader.whole(&table::MAX_FIELD_BYTES),
        max_message_bytes: reader.whole(&table::MAX_MESSAGE_BYTES),
        loop_window: reader.whole(&table::LOOP_WINDOW),
        loop_repetitions: reader.whole(&table::LOOP_REPETITIONS),
        flush: reader.read(&table::FLUSH, given::flush),
        guardrails: Guardrails {
            stop_on_loop: reader.read(&table::STOP_ON_LOOP, given::stop_on_loop),
            stop_on_loop_min_repetitions: reader.whole(&table::STOP_ON_LOOP_MIN_REPETITIONS),
            max_llm_calls: reader.whole(&table::MAX_LLM_CALLS),
            max_tool_calls: reader.whole(&table::MAX_TOOL_CALLS),
            max_events: reader.whole(&table::MAX_EVENTS),
            max_duration: reader.read(&table::MAX_DURATION_S, given::seconds),
            #[cfg(feature = "prices")]
            max_cost_usd: reader.read(&table::MAX_COST_USD, given::dollars),
        },
    }
}

struct LayerReader<'a> {
    origin: &'a dyn Origin,
    home: Option<&'a Path>,
    problems: &'a mut Vec<SettingProblem>,
}

impl LayerReader<'_> {
    fn read<T>(&mut self, setting: &Setting, understand: impl FnOnce(Given<'_>) -> Option<T>) -> Option<T> {
        let (given, position) = self.origin.find(setting)?;
        let value = understand(given);
        if value.is_none() {
            self.problems.push(SettingProblem {
                source: self.origin.source(),
                position,
                key: self.origin.key(setting),
                allowed: format!("must be {}", setting.allowed),
            });
        }
        value
    }

    /// Reports a setting that this build cannot follow, where it is given.
    #[cfg(not(feature = "prices"))]
    fn refuse(&mut self, setting: &Setting, reason: &str) {
        if let Some((_, position)) = self.origin.find(setting) {
            self.problems.push(SettingProblem {
                source: self.origin.source(),
                position,
                key: self.origin.key(setting),
                allowed: reason.to_owned(),
            });
        }
    }

    fn switch(&mut self, setting: &Setting) -> Option<bool> {
        self.read(setting, given::switch)
    }

    /// A switch that is there and cannot be read leaves redaction on, whatever sources below it say.
    fn redact(&mut self) -> Option<bool> {
        let is_given = self.origin.find(&table::REDACT).is_some();
        self.switch(&table::REDACT).or(is_given.then_some(true))
    }

    fn whole(&mut self, setting: &Setting) -> Option<u64> {
        self.read(setting, |given| given::whole(given, &setting.allowed.range()))
    }

    fn path(&mut self, setting: &Setting) -> Option<PathBuf> {
        let (home, base) = (self.home, self.origin.base());
        self.read(setting, |given| {
            let path = PathBuf::from(given::path(given)?);
            match path.strip_prefix("~") {
                Ok(below_home) => home.map(|home| home.join(below_home)),
                Err(_) => Some(base.join(path)),
            }
        })
    }
}

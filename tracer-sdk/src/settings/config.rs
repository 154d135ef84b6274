//! Settings given in code.

use std::path::PathBuf;

use super::Flush;
use crate::guardrails::Guardrails;

/// Settings given in code: they win over the environment and over settings files, and what is not given here is taken
/// from there (decisions, section 9).
///
/// ```
/// use tracer_sdk::guardrails::Guardrails;
/// use tracer_sdk::settings::{Config, Sources, resolve};
///
/// let config = Config::new()
///     .data_dir("/tmp/agent-runs")
///     .guardrails(Guardrails::new().max_llm_calls(10));
/// let (settings, problems) = resolve(&config, &Sources::default());
/// assert_eq!(settings.data_dir.to_str(), Some("/tmp/agent-runs"));
/// assert_eq!(settings.guardrails.max_llm_calls, Some(10));
/// assert!(problems.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a `Config` only describes settings"]
pub struct Config {
    pub(super) enabled: Option<bool>,
    pub(super) data_dir: Option<PathBuf>,
    pub(super) store: Option<String>,
    pub(super) store_cache_mb: Option<u64>,
    pub(super) redact: Option<bool>,
    pub(super) redact_keys: Option<Vec<String>>,
    pub(super) max_field_bytes: Option<u64>,
    pub(super) max_message_bytes: Option<u64>,
    pub(super) loop_window: Option<u64>,
    pub(super) loop_repetitions: Option<u64>,
    pub(super) flush: Option<Flush>,
    pub(super) guardrails: Guardrails,
}

impl Config {
    /// Nothing given: everything comes from the environment, from files and from the defaults.
    ///
    /// ```
    /// use tracer_sdk::Config;
    ///
    /// assert_eq!(Config::new(), Config::default());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns recording on or off. The environment variable `TRACER_ENABLED=0` turns it off all the same.
    ///
    /// ```
    /// use tracer_sdk::{Config, Run};
    ///
    /// let run = Run::new("unrecorded").config(&Config::new().enabled(false)).start();
    /// assert_eq!(run.dir(), None);
    /// ```
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = Some(enabled);
        self
    }

    /// Sets the directory of the runs. A relative path starts at the working directory; `~` has no meaning here.
    ///
    /// ```
    /// use tracer_sdk::{Config, Run};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let run = Run::new("ask").config(&Config::new().data_dir(folder.path())).start();
    /// assert!(run.dir().unwrap().starts_with(folder.path()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn data_dir(mut self, data_dir: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(data_dir.into());
        self
    }

    /// Turns on or off that secrets are replaced before anything is written.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let (settings, _) = resolve(&Config::new().redact(false), &Sources::default());
    /// assert!(!settings.redact);
    /// ```
    pub fn redact(mut self, redact: bool) -> Self {
        self.redact = Some(redact);
        self
    }

    /// The words that make a key a secret's, instead of the default ones. Those of a project file are added.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let (settings, _) = resolve(&Config::new().redact_keys(["iban", "token"]), &Sources::default());
    /// assert_eq!(settings.redact_keys, ["iban", "token"]);
    /// ```
    pub fn redact_keys<Key: Into<String>>(mut self, keys: impl IntoIterator<Item = Key>) -> Self {
        self.redact_keys = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the length above which a string is cut, in bytes; from 100 to 1048576 (1 MiB, the longest line).
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let (settings, problems) = resolve(&Config::new().max_field_bytes(50), &Sources::default());
    /// assert_eq!(settings.max_field_bytes, 20_000); // 50 is not allowed, so the default stays
    /// assert_eq!(problems[0].to_string(), "settings in code: max_field_bytes must be a whole number from 100 to 1048576");
    /// ```
    pub fn max_field_bytes(mut self, bytes: u64) -> Self {
        self.max_field_bytes = Some(bytes);
        self
    }

    /// Sets the length of JSON text above which its strings are cut in spans that another program sent, in bytes; from
    /// 100 to 1048576 (1 MiB, the longest line).
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let (settings, _) = resolve(&Config::new().max_message_bytes(50_000), &Sources::default());
    /// assert_eq!(settings.max_message_bytes, 50_000);
    /// ```
    pub fn max_message_bytes(mut self, bytes: u64) -> Self {
        self.max_message_bytes = Some(bytes);
        self
    }

    /// Sets the number of last records that are searched for a loop; from 4 to 1000.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let (settings, _) = resolve(&Config::new().loop_window(24), &Sources::default());
    /// assert_eq!(settings.loop_window, 24);
    /// ```
    pub fn loop_window(mut self, records: u64) -> Self {
        self.loop_window = Some(records);
        self
    }

    /// Sets the number of repetitions that make a block a loop; from 2 to 1000.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    ///
    /// let (settings, _) = resolve(&Config::new().loop_repetitions(5), &Sources::default());
    /// assert_eq!(settings.loop_repetitions, 5);
    /// ```
    pub fn loop_repetitions(mut self, repetitions: u64) -> Self {
        self.loop_repetitions = Some(repetitions);
        self
    }

    /// When finished spans are written.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Flush, Sources, resolve};
    ///
    /// let (settings, _) = resolve(&Config::new().flush(Flush::Batched), &Sources::default());
    /// assert_eq!(settings.flush, Flush::Batched);
    /// ```
    pub fn flush(mut self, flush: Flush) -> Self {
        self.flush = Some(flush);
        self
    }

    /// The limits of each run; one that is not set here is taken from the environment and from files.
    ///
    /// ```
    /// use tracer_sdk::settings::{Config, Sources, resolve};
    /// use tracer_sdk::Guardrails;
    ///
    /// let config = Config::new().guardrails(Guardrails::new().max_tool_calls(20));
    /// let (settings, _) = resolve(&config, &Sources::default());
    /// assert_eq!(settings.guardrails.max_tool_calls, Some(20));
    /// ```
    pub fn guardrails(mut self, guardrails: Guardrails) -> Self {
        self.guardrails = guardrails;
        self
    }

    /// These values, and where one is not given, that of `lower`.
    pub(crate) fn or(self, lower: &Self) -> Self {
        Self {
            enabled: self.enabled.or(lower.enabled),
            data_dir: self.data_dir.or_else(|| lower.data_dir.clone()),
            store: self.store.or_else(|| lower.store.clone()),
            store_cache_mb: self.store_cache_mb.or(lower.store_cache_mb),
            redact: self.redact.or(lower.redact),
            redact_keys: self.redact_keys.or_else(|| lower.redact_keys.clone()),
            max_field_bytes: self.max_field_bytes.or(lower.max_field_bytes),
            max_message_bytes: self.max_message_bytes.or(lower.max_message_bytes),
            loop_window: self.loop_window.or(lower.loop_window),
            loop_repetitions: self.loop_repetitions.or(lower.loop_repetitions),
            flush: self.flush.or(lower.flush),
            guardrails: self.guardrails.or(&lower.guardrails),
        }
    }
}

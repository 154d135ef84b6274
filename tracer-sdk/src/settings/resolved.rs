//! The settings that are in force, and their defaults.

use std::path::PathBuf;

use tracer_format::MAX_LINE_BYTES;

use super::table::Guardrails;
use super::words::Flush;

/// The redact keys that are used unless the settings name others.
pub(crate) const DEFAULT_REDACT_KEYS: [&str; 20] = [
    "access_key",
    "api_key",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "dsn",
    "encryption_key",
    "jwt",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "pwd",
    "secret",
    "secret_key",
    "signing_key",
    "token",
];
/// The settings that are in force, made by [`resolve`](super::resolve()).
///
/// ```
/// use tracer_sdk::settings::{Config, Sources, resolve};
///
/// let (settings, _) = resolve(&Config::new(), &Sources::default());
/// assert!(settings.enabled && settings.redact);
/// assert_eq!(settings.max_field_bytes, 20_000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `true` when recording is on.
    pub enabled: bool,
    /// Directory of the runs; absolute wherever the working directory is known.
    pub data_dir: PathBuf,
    /// The bucket of a team's runs, as a URL, that is read as well.
    pub store: Option<String>,
    /// Bytes of the runs that were fetched from a bucket.
    pub store_cache_bytes: u64,
    /// `true` when secrets are replaced.
    pub redact: bool,
    /// The words that make a key a secret's.
    pub redact_keys: Vec<String>,
    /// Longest string, in bytes.
    pub max_field_bytes: usize,
    /// Longest JSON text in spans that another program sent, in bytes.
    pub max_message_bytes: usize,
    /// Number of records that are searched for a loop.
    pub loop_window: usize,
    /// Number of repetitions that make a block a loop.
    pub loop_repetitions: usize,
    /// When finished spans are written.
    pub flush: Flush,
    /// The limits of a run.
    pub guardrails: Guardrails,
}

/// Bytes of a megabyte, as settings count them.
pub(super) const BYTES_PER_MB: u64 = 1024 * 1024;

impl Settings {
    /// The default of everything, with runs kept in `data_dir`.
    ///
    /// ```
    /// use tracer_sdk::settings::Settings;
    ///
    /// let settings = Settings::with_data_dir("/tmp/runs");
    /// assert!(settings.redact);
    /// assert_eq!((settings.loop_window, settings.loop_repetitions), (12, 3));
    /// ```
    #[must_use]
    pub fn with_data_dir(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            enabled: true,
            data_dir: data_dir.into(),
            store: None,
            store_cache_bytes: 2_048 * BYTES_PER_MB,
            redact: true,
            redact_keys: DEFAULT_REDACT_KEYS.map(str::to_owned).to_vec(),
            max_field_bytes: 20_000,
            max_message_bytes: MAX_LINE_BYTES,
            loop_window: 12,
            loop_repetitions: 3,
            flush: Flush::Each,
            guardrails: Guardrails::new(),
        }
    }
}

//! The one table of settings: name, allowed values, default, meaning. `docs/settings.md` is made from it.

use std::fmt;
use std::ops::RangeInclusive;

use crate::guardrails::MIN_LOOP_REPETITIONS;
use tracer_format::MAX_LINE_BYTES;

use super::resolved::MIN_FIELD_BYTES;

/// The largest window of the loop detector: each live run keeps a signature of up to some KB for each of its records,
/// and a record is compared with those before it. More repetitions than records are no loop.
const MAX_LOOP_WINDOW: u64 = 1000;

/// Word that `stop_on_loop` takes in addition to true and false.
pub(super) const SHAPE: &str = "shape";

/// One setting.
///
/// ```
/// use tracer_sdk::settings::SETTINGS;
///
/// let flush = SETTINGS.iter().find(|setting| setting.key == "flush").unwrap();
/// assert_eq!(flush.default, Some("\"each\""));
/// assert_eq!(flush.allowed.to_string(), "each or batched");
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The key in a settings file; a dot parts the table from the name.
    pub key: &'static str,
    /// Which values are allowed.
    pub allowed: AllowedValues,
    /// The default, as it would be written in a settings file; `None` when there is no such value.
    pub default: Option<&'static str>,
    /// Effect of the setting, in a sentence.
    pub about: &'static str,
}

/// Which values a setting takes. As text: `a whole number, at least 4`.
///
/// ```
/// use tracer_sdk::settings::AllowedValues;
///
/// assert_eq!(AllowedValues::Whole(4).to_string(), "a whole number, at least 4");
/// assert_eq!(AllowedValues::Between(4, 1000).to_string(), "a whole number from 4 to 1000");
/// assert_eq!(AllowedValues::Word(&["each", "batched"]).to_string(), "each or batched");
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllowedValues {
    /// A path; `~` is the home directory.
    Path,
    /// On or off.
    Switch,
    /// On or off, or one of these words.
    SwitchOr(&'static [&'static str]),
    /// A list of names.
    Names,
    /// A whole number of at least this.
    Whole(u64),
    /// A whole number from the first to the second: what costs memory has a largest value.
    Between(u64, u64),
    /// A number of seconds, zero or more, fractions included.
    Seconds,
    /// A number of dollars, zero or more, fractions included.
    Dollars,
    /// The URL of a bucket, without credentials.
    Bucket,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl fmt::Display for AllowedValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => formatter.write_str("a path"),
            Self::Switch => formatter.write_str("true or false"),
            Self::SwitchOr(words) => write!(formatter, "true, false or {}", words.join(" or ")),
            Self::Names => formatter.write_str("a list of names"),
            Self::Whole(0) => formatter.write_str("a whole number, zero or more"),
            Self::Whole(least) => write!(formatter, "a whole number, at least {least}"),
            Self::Between(min, max) => write!(formatter, "a whole number from {min} to {max}"),
            Self::Seconds => formatter.write_str("a number of seconds, zero or more"),
            Self::Dollars => formatter.write_str("a number of dollars, zero or more"),
            Self::Bucket => {
                formatter.write_str("the URL of a bucket without credentials, such as s3://team/agents")
            }
            Self::Word(words) => formatter.write_str(&words.join(" or ")),
        }
    }
}

impl AllowedValues {
    /// The smallest and the largest number that is allowed; every number for what is not a whole number.
    pub(super) fn range(&self) -> RangeInclusive<u64> {
        match *self {
            Self::Whole(min) => min..=u64::MAX,
            Self::Between(min, max) => min..=max,
            _ => 0..=u64::MAX,
        }
    }
}

impl Setting {
    /// The name without its table: `max_llm_calls`.
    ///
    /// ```
    /// use tracer_sdk::settings::SETTINGS;
    ///
    /// let limit = SETTINGS.iter().find(|setting| setting.key == "guardrails.max_llm_calls").unwrap();
    /// assert_eq!(limit.name(), "max_llm_calls");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.key.rsplit('.').next().unwrap_or(self.key)
    }

    /// The table of a settings file that holds it; `None` for the top level.
    ///
    /// ```
    /// use tracer_sdk::settings::SETTINGS;
    ///
    /// let limit = SETTINGS.iter().find(|setting| setting.key == "guardrails.max_llm_calls").unwrap();
    /// assert_eq!(limit.table(), Some("guardrails"));
    /// ```
    #[must_use]
    pub fn table(&self) -> Option<&'static str> {
        self.key.split_once('.').map(|(table, _)| table)
    }

    /// The environment variable: `TRACER_MAX_LLM_CALLS`.
    ///
    /// ```
    /// use tracer_sdk::settings::SETTINGS;
    ///
    /// let limit = SETTINGS.iter().find(|setting| setting.key == "guardrails.max_llm_calls").unwrap();
    /// assert_eq!(limit.variable(), "TRACER_MAX_LLM_CALLS");
    /// ```
    #[must_use]
    pub fn variable(&self) -> String {
        format!("TRACER_{}", self.name().to_uppercase())
    }
}

macro_rules! settings {
    ($($name:ident { key: $key:literal, allowed: $allowed:expr, default: $default:expr, about: $about:literal $(,)? })+) => {
        $(pub(super) static $name: Setting = Setting {
            key: $key,
            allowed: $allowed,
            default: $default,
            about: $about,
        };)+

        /// Every setting, in the order of the documentation.
        pub static SETTINGS: &[&Setting] = &[$(&$name),+];
    };
}

settings! {
    ENABLED {
        key: "enabled",
        allowed: AllowedValues::Switch,
        default: Some("true"),
        about: "Records runs. `TRACER_ENABLED=0` disables recording even if the code enables it.",
    }
    DATA_DIR {
        key: "data_dir",
        allowed: AllowedValues::Path,
        default: Some("\"~/.tracer\""),
        about: "Folder of the runs. A relative path in a settings file starts at the folder that holds `.tracer`. A project file can only name a folder inside the project.",
    }
    STORE {
        key: "store",
        allowed: AllowedValues::Bucket,
        default: None,
        about: "Bucket of a team's runs that the commands that read also read, like `--store`. A project file cannot name one.",
    }
    STORE_CACHE_MB {
        key: "store_cache_mb",
        allowed: AllowedValues::Whole(0),
        default: Some("2048"),
        about: "Room for the runs that were fetched from a bucket, in megabytes; those that nobody used for the longest time go first. A project file cannot set it.",
    }
    REDACT {
        key: "redact",
        allowed: AllowedValues::Switch,
        default: Some("true"),
        about: "Redacts secrets before anything is written. A project file cannot disable it.",
    }
    REDACT_KEYS {
        key: "redact_keys",
        allowed: AllowedValues::Names,
        default: Some(concat!(
            "[\"access_key\", \"api_key\", \"auth\", \"authorization\", \"bearer\", \"cookie\", \"credential\", \"dsn\", ",
            "\"encryption_key\", \"jwt\", \"pass\", \"passphrase\", \"passwd\", \"password\", \"private_key\", \"pwd\", ",
            "\"secret\", \"secret_key\", \"signing_key\", \"token\"]",
        )),
        about: "Keys whose values are redacted: those that end in one of these words. A project file adds to the list.",
    }
    MAX_FIELD_BYTES {
        key: "max_field_bytes",
        // A line is never longer than the largest.
        allowed: AllowedValues::Between(MIN_FIELD_BYTES as u64, MAX_LINE_BYTES as u64),
        default: Some("20000"),
        about: "Maximum length of a string in bytes; a longer one is truncated. A project file can only lower it.",
    }
    MAX_MESSAGE_BYTES {
        key: "max_message_bytes",
        allowed: AllowedValues::Between(MIN_FIELD_BYTES as u64, MAX_LINE_BYTES as u64),
        default: Some("1048576"),
        about: "Maximum length of JSON text in bytes, such as the messages of a model call, in spans that other programs sent. Longer text is truncated within its strings, so that it stays JSON. A project file can only lower it.",
    }
    LOOP_WINDOW {
        key: "loop_window",
        allowed: AllowedValues::Between(4, MAX_LOOP_WINDOW),
        default: Some("12"),
        about: "Number of recent model calls, tool calls and state updates that are searched for a loop.",
    }
    LOOP_REPETITIONS {
        key: "loop_repetitions",
        allowed: AllowedValues::Between(2, MAX_LOOP_WINDOW),
        default: Some("3"),
        about: "Repetitions of a block of records that raise a loop warning; it is a loop if the calls are also the same.",
    }
    FLUSH {
        key: "flush",
        allowed: AllowedValues::Word(&["each", "batched"]),
        default: Some("\"each\""),
        about: "`each`: a span is in the file when the call that ended it returns. `batched`: spans are written after 64 spans or 250 ms; a thread of the SDK writes them while the program is idle.",
    }
    STOP_ON_LOOP {
        key: "guardrails.stop_on_loop",
        allowed: AllowedValues::SwitchOr(&[SHAPE]),
        default: Some("false"),
        about: "Stops the run on a loop, or with `\"shape\"` on a loop warning.",
    }
    STOP_ON_LOOP_MIN_REPETITIONS {
        key: "guardrails.stop_on_loop_min_repetitions",
        allowed: AllowedValues::Whole(MIN_LOOP_REPETITIONS),
        default: Some("3"),
        about: "Repetitions that stop the run; at least those that make a loop.",
    }
    MAX_LLM_CALLS {
        key: "guardrails.max_llm_calls",
        allowed: AllowedValues::Whole(0),
        default: None,
        about: "Maximum model calls of a run.",
    }
    MAX_TOOL_CALLS {
        key: "guardrails.max_tool_calls",
        allowed: AllowedValues::Whole(0),
        default: None,
        about: "Maximum tool calls of a run.",
    }
    MAX_EVENTS {
        key: "guardrails.max_events",
        allowed: AllowedValues::Whole(0),
        default: None,
        about: "Maximum number of model calls, tool calls, state updates, captured errors and loop warnings of a run.",
    }
    MAX_DURATION_S {
        key: "guardrails.max_duration_s",
        allowed: AllowedValues::Seconds,
        default: None,
        about: "Maximum duration of a run in seconds.",
    }
    MAX_COST_USD {
        key: "guardrails.max_cost_usd",
        allowed: AllowedValues::Dollars,
        default: None,
        about: "Maximum cost of the model calls of a run in US dollars; needs the SDK's feature `prices`.",
    }
}

//! One setting: its key, its environment variable, the values it takes.

use std::fmt;

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
        variable(self.key)
    }
}

/// The environment variable of the setting with this key.
pub(super) fn variable(key: &str) -> String {
    let name = key.rsplit('.').next().unwrap_or(key);
    format!("TRACER_{}", name.to_uppercase())
}

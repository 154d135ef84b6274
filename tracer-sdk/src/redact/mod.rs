//! Redaction and truncation of what is written (specification, *Limits*; decisions, section 6).
//!
//! A [`Redactor`] is built from the settings and the process's environment when a run starts; runs with the same settings and
//! secrets share one. It answers what a key says about its value, and cleans strings: first secrets are replaced by
//! `__REDACTED__`, then the string is cut, so that no half of a secret survives a cut. Structured values pass through [`write_json`](crate::write::payload::write_json).

mod argv;
mod assignment;
mod commands;
mod environment;
mod fold;
mod forms;
mod key_cache;
mod keys;
mod name;
mod nested;
mod place;
mod redaction;
mod rules;
mod scan;
mod shared;
mod siblings;
mod tags;
mod text;
mod truncate;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

pub(crate) use keys::{KeyVerdict, NameMeaning, NameRole};
pub use redaction::Redaction;
pub(crate) use siblings::{Hint, Siblings};
pub(crate) use truncate::{character_boundary, prefix};

use crate::settings::{MIN_FIELD_BYTES, Settings};
use environment::EnvironmentSecrets;
use fold::FoldedName;
use key_cache::{NameVerdict, RedactorId};
use keys::{Confidence, RedactKeys};
use scan::Scanner;

/// Length of a text past its cut that shows a secret across the cut.
pub(crate) const SEEN_PAST_THE_CUT: usize = 2 * text::AHEAD;

/// Longer texts name nothing.
const MAX_NAME_BYTES: usize = 64;

/// Settings of redaction and of the cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RedactionSettings {
    /// Replaces secrets. The cut is made without it, too.
    pub(crate) redact: bool,
    /// Keys whose values are secrets, compared word by word.
    pub(crate) redact_keys: Vec<String>,
    /// The longest string, in bytes; at least [`MIN_FIELD_BYTES`].
    pub(crate) max_field_bytes: usize,
}

impl From<&Settings> for RedactionSettings {
    fn from(settings: &Settings) -> Self {
        Self {
            redact: settings.redact,
            redact_keys: settings.redact_keys.clone(),
            max_field_bytes: settings.max_field_bytes,
        }
    }
}

#[cfg(test)]
impl Default for RedactionSettings {
    fn default() -> Self {
        Self::from(&Settings::with_data_dir("unused"))
    }
}

/// Takes secrets out of keys, strings and arguments, and cuts what is too long.
#[derive(Debug)]
pub struct Redactor {
    /// The settings that it was built from.
    settings: RedactionSettings,
    redact: bool,
    max_field_bytes: usize,
    keys: RedactKeys,
    /// Scanner with the secrets of the environment.
    scanner: Scanner,
    id: RedactorId,
}

/// The key of a member of an object, and what it says about the value.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// The key without secrets.
    pub(crate) key: Cleaned<'a>,
    /// Verdict of the key rule.
    pub(crate) verdict: KeyVerdict,
    /// Meaning of the key for a string although the rule says nothing: `service_key`.
    pub(crate) name: Option<NameMeaning>,
    /// Role of the key among its neighbours: `name` next to `value`.
    pub(crate) role: NameRole,
}

impl<'a> Member<'a> {
    /// Returns whether a value is a secret: a text, or one that `is_scalar` if it is a number or a boolean.
    pub(crate) fn hides(&self, text: Option<&str>, is_scalar: bool) -> bool {
        let is_named =
            |name: NameMeaning| text.is_some_and(|text| name.hides(text.as_bytes(), Confidence::Likely));
        self.verdict.hides(is_scalar) || self.name.is_some_and(is_named)
    }

    fn harmless(key: &'a str, role: NameRole) -> Self {
        Self {
            key: Cleaned::unchanged(key),
            verdict: KeyVerdict::Keep,
            name: None,
            role,
        }
    }
}

/// A string after redaction and cutting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cleaned<'a> {
    /// Text that is left.
    pub(crate) text: Cow<'a, str>,
    /// Number of secrets that were replaced.
    pub(crate) redacted: u32,
    /// Set when it was cut.
    pub(crate) truncated: bool,
}

impl<'a> Cleaned<'a> {
    fn unchanged(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            redacted: 0,
            truncated: false,
        }
    }
}

impl Redactor {
    /// A redactor for these settings that also knows the secrets in `environment`, the process's own variables.
    ///
    /// The values of variables with a secret-like name are replaced wherever they appear, when they have 8 bytes
    /// or more.
    pub(crate) fn new(
        settings: &RedactionSettings,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let keys = RedactKeys::new(&settings.redact_keys);
        let secrets = EnvironmentSecrets::of(settings, environment, &keys);
        Self {
            settings: settings.clone(),
            redact: settings.redact,
            max_field_bytes: settings.max_field_bytes.max(MIN_FIELD_BYTES),
            scanner: Scanner::new(secrets, &keys),
            keys,
            id: RedactorId::new(),
        }
    }

    /// The redactor of a run that starts now with these settings: it knows the secrets that the environment has now.
    pub fn of_process(settings: &Settings) -> Arc<Self> {
        shared::redactor(&settings.into(), environment::variables())
    }

    /// Says whether a redactor that is made with these settings in this environment would do the same.
    fn suits(&self, settings: &RedactionSettings, environment: &[(String, String)]) -> bool {
        let variables = environment.iter().map(|(name, value)| (name, value));
        self.settings == *settings
            && *self.scanner.environment() == EnvironmentSecrets::of(settings, variables, &self.keys)
    }

    /// Verdict of a key on the value under it.
    fn verdict(&self, key: &FoldedName) -> KeyVerdict {
        if self.redact {
            self.keys.verdict(key)
        } else {
            KeyVerdict::Keep
        }
    }

    /// `text` without secrets, cut to `max_field_bytes`; borrowed when nothing changes.
    ///
    /// Names of tools, models and the like pass here: the short ones are remembered as keys are.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.len() <= key_cache::MAX_REMEMBERED_BYTES {
            self.member(text, self.max_field_bytes).key.text
        } else {
            self.clean_to(text, self.max_field_bytes).text
        }
    }

    /// The key of a member, cut to `max_bytes`, and what it says about the value.
    pub(crate) fn member<'a>(&self, key: &'a str, max_bytes: usize) -> Member<'a> {
        match key_cache::look(self.id, key) {
            NameVerdict::Harmless(role) if key.len() <= max_bytes => Member::harmless(key, role),
            _ => self.unknown_member(key, max_bytes),
        }
    }

    /// A string under a key, cut to `max_bytes`. A short one that comes again and again is remembered as keys are, but takes no
    /// key's place.
    pub(crate) fn value<'a>(&self, text: &'a str, max_bytes: usize) -> Cleaned<'a> {
        if text.len() > key_cache::MAX_REMEMBERED_BYTES.min(max_bytes) {
            return self.clean_to(text, max_bytes);
        }
        match key_cache::look(self.id, text) {
            NameVerdict::Harmless(_) => Cleaned::unchanged(text),
            NameVerdict::Another => self.clean_to(text, max_bytes),
            NameVerdict::Nothing => self.unknown_member(text, max_bytes).key,
        }
    }

    #[inline(never)]
    fn unknown_member<'a>(&self, key: &'a str, max_bytes: usize) -> Member<'a> {
        let folded = FoldedName::new(key.as_bytes());
        let verdict = self.verdict(&folded);
        let name = keys::by_last_word(&folded).filter(|_| self.redact);
        let says_nothing = verdict == KeyVerdict::Keep && name.is_none();
        let member = Member {
            key: self.clean_to(key, max_bytes),
            verdict,
            name,
            role: if says_nothing && self.redact {
                NameRole::of(key.as_bytes())
            } else {
                NameRole::Other
            },
        };
        if says_nothing && member.key == Cleaned::unchanged(key) {
            key_cache::remember(self.id, key, member.role);
        }
        member
    }

    /// Meaning of a text that names a neighbouring value, in a list or in another member.
    fn name_of_neighbour(&self, text: &str) -> Option<NameMeaning> {
        if !self.redact || text.len() > MAX_NAME_BYTES || key_cache::is_harmless(self.id, text) {
            return None;
        }
        self.keys.meaning(text.as_bytes())
    }

    /// A program's arguments without the values of secret-like options (`--option=value`, `--option value`,
    /// `-o value`), each cleaned as [`text`](Self::text) does.
    pub fn arguments(&self, argv: impl IntoIterator<Item = String>) -> Vec<String> {
        argv::clean(self, argv)
    }

    pub(crate) fn max_field_bytes(&self) -> usize {
        self.max_field_bytes
    }

    /// As [`text`](Self::text), cut to fewer bytes than the settings say, with what was done.
    pub(crate) fn clean_to<'a>(&self, text: &'a str, max_bytes: usize) -> Cleaned<'a> {
        if !self.redact {
            let (text, truncated) = truncate::cut(Cow::Borrowed(text), max_bytes);
            return Cleaned {
                text,
                redacted: 0,
                truncated,
            };
        }
        self.scanner.clean(text, max_bytes, &self.keys)
    }
}

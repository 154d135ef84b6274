//! The process's own secrets: literal values of environment variables with a secret-like name.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::process::coarse_now;

use super::keys::{DEFAULTS, RedactKeys};
use super::name_words::NameMeaning;
use super::names::class;
use super::shapes::{Beside, Sign, SignSink};
use super::values::{is_path, is_placeholder};

/// Shorter values would be found in ordinary text.
const MIN_VALUE_BYTES: usize = 8;

/// How often the environment is looked at again at most.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Variables that only look like a password: the working directory.
const HARMLESS_VARIABLES: [&str; 2] = ["PWD", "OLDPWD"];

/// Words that say how something is protected rather than with what: `REDIS_AUTH=required`.
const MODES: [&str; 9] = [
    "disabled",
    "enabled",
    "required",
    "optional",
    "anonymous",
    "kerberos",
    "negotiate",
    "certificate",
    "external",
];

/// Variables with their values.
pub(crate) type Variables = Vec<(String, String)>;

/// The environment variables whose names and values are Unicode.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The values to look for, longest first so that the longer of two values with one beginning wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EnvironmentSecrets(Vec<String>);

impl EnvironmentSecrets {
    pub(super) fn new(environment: impl IntoIterator<Item = (String, String)>, keys: &RedactKeys) -> Self {
        let mut values = Vec::new();
        for (name, value) in environment {
            let value = value.trim();
            if value.len() >= MIN_VALUE_BYTES && is_secret(&name, value, keys) {
                // Inside JSON text the value may be spelled with escapes.
                if let Ok(escaped) = serde_json::to_string(value) {
                    let escaped = escaped.trim_matches('"');
                    if escaped != value {
                        values.push(escaped.to_owned());
                    }
                }
                values.push(value.to_owned());
            }
        }
        Self::of(values)
    }

    fn of(mut values: Vec<String>) -> Self {
        values.sort_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
        values.dedup();
        Self(values)
    }

    /// These values and the others: a secret that is no longer in the environment is still one.
    pub(super) fn with(&self, others: Self) -> Self {
        Self::of(self.0.iter().cloned().chain(others.0).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn noticed_by(&self, notice: &mut SignSink<'_>) {
        for value in &self.0 {
            if let Some([first, second, third]) = value.as_bytes().first_chunk() {
                notice(Sign {
                    pair: [*first, *second],
                    beside: Beside::After(&[*third]),
                });
            }
        }
    }

    /// Where the value that begins at `start` ends.
    pub(super) fn find(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let rest = bytes.get(start..)?;
        self.0
            .iter()
            .find(|value| rest.starts_with(value.as_bytes()))
            .map(|value| start + value.len())
    }
}

/// Whether a variable with this name holds a secret, by the redact keys of the settings or by the default ones.
fn is_secret(name: &str, value: &str, keys: &RedactKeys) -> bool {
    let Some(class) = class(name.as_bytes(), keys).or_else(|| class(name.as_bytes(), &DEFAULTS)) else {
        return false;
    };
    let is_harmless = HARMLESS_VARIABLES.contains(&name) || is_path(value.as_bytes());
    // `SERVICE_AUTH` may as well say how to sign in.
    let is_word =
        || is_placeholder(value.as_bytes()) || MODES.iter().any(|mode| value.eq_ignore_ascii_case(mode));
    let is_no_code = class == NameMeaning::Code && !class.hides_member(value.as_bytes());
    !(is_harmless || is_no_code || is_number_of(class, value) || (class == NameMeaning::Token && is_word()))
}

/// Whether the value is a number under a name that says that a token is meant: `AUTH_TOKEN=12345678` is a secret,
/// `MAX_PASS=100000000` is none. Long numbers are seldom counts.
fn is_number_of(class: NameMeaning, value: &str) -> bool {
    class == NameMeaning::Token
        && value.len() < 2 * MIN_VALUE_BYTES
        && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Where the variables come from.
pub(crate) type VariableSource = Box<dyn Fn() -> Variables + Send + Sync>;

/// Looks at the environment again, at most once a second: a program may read its secrets from a file after the run
/// began.
pub(super) struct EnvironmentWatch {
    source: VariableSource,
    /// A forked child does not look: another thread may have held the environment's lock when it was forked.
    process: u32,
    /// When it may be looked at again, in nanoseconds of [`coarse_now`]. The first time comes with the first record, which is
    /// usually after the program has read its files.
    next: AtomicU64,
}

impl EnvironmentWatch {
    pub(super) fn new(source: VariableSource) -> Self {
        Self {
            source,
            process: std::process::id(),
            next: AtomicU64::new(0),
        }
    }

    pub(super) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// The environment when it is time to look at it again, for one of those who ask.
    pub(super) fn look_again(&self) -> Option<Variables> {
        self.look_again_at(coarse_now())
    }

    fn look_again_at(&self, now: Duration) -> Option<Variables> {
        let next = self.next.load(Ordering::Relaxed);
        let now = nanoseconds(now);
        if now < next {
            return None;
        }
        let later = now.saturating_add(nanoseconds(LOOK_AGAIN_AFTER));
        let is_first = self
            .next
            .compare_exchange(next, later, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        (is_first && self.is_of_this_process()).then(|| (self.source)())
    }
}

/// As a number, without a division: this is asked with each record.
fn nanoseconds(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(duration.subsec_nanos().into())
}

impl std::fmt::Debug for EnvironmentWatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn the_environment_is_looked_at_again_at_most_once_a_second() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let watch = EnvironmentWatch::new(Box::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Vec::new()
        }));
        let mut expected = 0;
        for now in 0..10_000 {
            let looked = watch.look_again_at(Duration::from_millis(now)).is_some();
            assert_eq!(looked, now % 1000 == 0, "{now} ms");
            expected += usize::from(looked);
        }
        assert_eq!(looks.load(Ordering::Relaxed), expected);
        assert_eq!(expected, 10);
    }

    #[test]
    fn a_forked_child_does_not_look_at_the_environment() {
        let mut watch = EnvironmentWatch::new(Box::new(Vec::new));
        watch.process += 1;
        assert!(watch.look_again_at(Duration::from_secs(5)).is_none());
    }
}

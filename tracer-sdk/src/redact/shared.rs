//! The redactors of a process: one for the runs with equal settings and equal secrets in their environment.
//!
//! Each process has its own list: a forked child may have inherited its parent's locked.

use std::sync::Arc;

use super::{RedactionSettings, Redactor};
use crate::process::{OwnLock, PerProcess};

/// Number of settings that are remembered; a program has one, a test suite a few.
const MAX_SETTINGS: usize = 8;

static REDACTORS: PerProcess<OwnLock<Vec<Arc<Redactor>>>> =
    PerProcess::new(|process| OwnLock::new(process, Vec::new()));

/// The redactor of a run with these settings, which starts in this environment.
pub(super) fn redactor(
    settings: &RedactionSettings,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Arc<Redactor> {
    let environment: Vec<_> = environment.into_iter().collect();
    // The one that was used last is the last.
    let known = REDACTORS.get().lock().and_then(|mut redactors| {
        let place = redactors
            .iter()
            .position(|known| known.suits(settings, &environment))?;
        let known = redactors.remove(place);
        redactors.push(Arc::clone(&known));
        Some(known)
    });
    known.unwrap_or_else(|| {
        // Made without the lock, for which others would wait.
        let redactor = Arc::new(Redactor::new(settings, environment));
        let forgotten = REDACTORS.get().lock().and_then(|mut redactors| {
            redactors.push(Arc::clone(&redactor));
            (redactors.len() > MAX_SETTINGS).then(|| redactors.remove(0))
        });
        drop(forgotten);
        redactor
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(key: &str) -> RedactionSettings {
        RedactionSettings {
            redact_keys: vec![key.to_owned(), "password".to_owned()],
            ..RedactionSettings::default()
        }
    }

    fn environment(value: &str) -> [(String, String); 1] {
        [("RUN_PASSWORD".to_owned(), value.to_owned())]
    }

    #[test]
    fn runs_with_equal_settings_and_secrets_share_one_redactor() {
        let settings = settings("shared");
        let one = redactor(&settings, environment("correct-horse"));
        for _ in 0..1000 {
            assert!(Arc::ptr_eq(
                &one,
                &redactor(&settings, environment("correct-horse"))
            ));
        }
        assert_eq!(one.text("correct-horse"), "__REDACTED__");
        let different = redactor(&self::settings("another"), environment("correct-horse"));
        assert!(!Arc::ptr_eq(&one, &different));
    }

    #[test]
    fn a_run_knows_the_secrets_set_before_it_started() {
        let settings = settings("later");
        let earlier = redactor(&settings, environment("correct-horse"));
        let later = redactor(&settings, environment("battery-staple"));
        let text = "correct-horse battery-staple";
        assert_eq!(earlier.text(text), "__REDACTED__ battery-staple");
        assert_eq!(later.text(text), "correct-horse __REDACTED__");
    }

    #[test]
    fn few_settings_are_remembered() {
        for number in 0..3 * MAX_SETTINGS {
            redactor(&settings(&format!("number{number}")), []);
        }
        assert!(REDACTORS.get().lock().unwrap().len() <= MAX_SETTINGS);
    }
}

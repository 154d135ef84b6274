//! What the runs of a process share: one redactor for equal settings, and in it what knows the environment's secrets.
//!
//! Nothing here waits for a lock: a forked child may have inherited it locked.

#![expect(
    clippy::disallowed_types,
    reason = "the locks are tried, and never waited for"
)]

use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use super::harmless::RedactorId;
use super::scan::Scanner;
use super::{RedactionSettings, Redactor};

/// How many settings are remembered; a program has one, a test suite a few.
const MAX_SETTINGS: usize = 8;

/// How often a lock is tried that is held for some instructions only.
const MAX_TRIES: usize = 10_000;

static REDACTORS: Mutex<Vec<Arc<Redactor>>> = Mutex::new(Vec::new());

/// The redactor of these settings: the one that is there, or a new one.
pub(super) fn redactor(settings: &RedactionSettings, new: impl FnOnce() -> Redactor) -> Arc<Redactor> {
    let find = |redactors: &mut Vec<Arc<Redactor>>| {
        // One of another process, which this one was forked from, looks at the environment no more.
        redactors.retain(|redactor| redactor.is_of_this_process());
        let found = redactors
            .iter()
            .position(|redactor| redactor.settings == *settings)?;
        // The one that was used last is the last.
        let redactor = redactors.remove(found);
        redactors.push(Arc::clone(&redactor));
        Some(redactor)
    };
    if let Some(found) = lock(&REDACTORS).and_then(|mut redactors| find(&mut redactors)) {
        return found;
    }
    let redactor = Arc::new(new());
    // Without the lock it is this run's alone.
    let Some(mut redactors) = lock(&REDACTORS) else {
        return redactor;
    };
    if let Some(found) = find(&mut redactors) {
        return found;
    }
    let forgotten = (redactors.len() >= MAX_SETTINGS).then(|| redactors.remove(0));
    redactors.push(Arc::clone(&redactor));
    drop(redactors);
    drop(forgotten);
    redactor
}

impl Redactor {
    fn is_of_this_process(&self) -> bool {
        self.watch
            .as_ref()
            .is_none_or(super::environment::EnvironmentWatch::is_of_this_process)
    }
}

/// The scanner that is used now; each thread keeps the last one that it worked with: threads that record at the same time do not
/// try the lock for each text, and so never find it locked and go on with the first.
#[derive(Debug)]
pub(super) struct Current {
    /// Changes with the scanner.
    id: AtomicU64,
    latest: Mutex<Arc<Scanner>>,
    /// What it began with, for whoever finds the lock locked for ever.
    first: Arc<Scanner>,
}

thread_local! {
    static LAST: RefCell<Option<(RedactorId, Arc<Scanner>)>> = const { RefCell::new(None) };
}

impl Current {
    pub(super) fn new(scanner: Scanner) -> Self {
        let first = Arc::new(scanner);
        Self {
            id: RedactorId::new().into_atomic(),
            latest: Mutex::new(Arc::clone(&first)),
            first,
        }
    }

    /// Tells this scanner from every other.
    pub(super) fn id(&self) -> RedactorId {
        RedactorId::load(&self.id)
    }

    /// Works with the scanner.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Scanner) -> T) -> T {
        let id = self.id();
        // Taken out while it is worked with, so that nothing is borrowed.
        let last = LAST.try_with(RefCell::take).ok().flatten();
        let (known, scanner) = match last {
            Some((last, scanner)) if last == id => (true, scanner),
            _ => match lock(&self.latest) {
                Some(latest) => (true, Arc::clone(&latest)),
                None => (false, Arc::clone(&self.first)),
            },
        };
        let result = work(&scanner);
        if known {
            // A thread that is ending keeps nothing.
            let _ = LAST.try_with(|last| last.replace(Some((id, scanner))));
        }
        result
    }

    /// Uses another scanner from now on, if `change` makes one.
    pub(super) fn replace(&self, change: impl FnOnce(&Scanner) -> Option<Scanner>) {
        let Some(before) = lock(&self.latest).map(|latest| Arc::clone(&latest)) else {
            return;
        };
        if let Some(scanner) = change(&before) {
            let scanner = Arc::new(scanner);
            let replaced = lock(&self.latest).map(|mut latest| std::mem::replace(&mut *latest, scanner));
            RedactorId::new().store(&self.id);
            drop(replaced);
        }
    }

    #[cfg(test)]
    pub(super) fn look_everywhere(&mut self) {
        let mut scanner = Scanner::clone(&self.first);
        scanner.look_everywhere();
        *self = Self::new(scanner);
    }

    #[cfg(test)]
    pub(super) fn take_any_work(&mut self) {
        let mut scanner = Scanner::clone(&self.first);
        scanner.take_any_work();
        *self = Self::new(scanner);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..MAX_TRIES {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            // Nothing panics while it is held, and what is in it is whole at any time.
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Variables;

    fn settings(key: &str) -> RedactionSettings {
        RedactionSettings {
            redact_keys: vec![key.to_owned(), "password".to_owned()],
            ..RedactionSettings::default()
        }
    }

    #[test]
    fn runs_with_equal_settings_share_one_redactor() {
        fn variables() -> Variables {
            vec![("RUN_PASSWORD".to_owned(), "correct-horse".to_owned())]
        }
        let settings = settings("shared");
        let one = Redactor::shared(&settings, variables);
        for _ in 0..1000 {
            let other = Redactor::shared(&settings.clone(), || panic!("the environment is not read again"));
            assert!(Arc::ptr_eq(&one, &other));
        }
        assert_eq!(one.text("correct-horse"), "__REDACTED__");
        let different = Redactor::shared(&self::settings("another"), variables);
        assert!(!Arc::ptr_eq(&one, &different));
    }

    #[test]
    fn redactors_without_secrets_of_the_environment_share_their_tables() {
        let tables = |redactor: &Redactor| redactor.scanner.with(Scanner::tables);
        let [one, other] = [settings("one"), settings("other")].map(|settings| Redactor::new(&settings, []));
        assert_eq!(tables(&one), tables(&other));
    }

    #[test]
    fn few_settings_are_remembered() {
        for number in 0..3 * MAX_SETTINGS {
            Redactor::shared(&settings(&format!("number{number}")), Vec::new);
        }
        assert!(lock(&REDACTORS).unwrap().len() <= MAX_SETTINGS);
    }

    #[test]
    fn nobody_waits_for_a_lock_that_a_fork_left_locked() {
        let redactor = Redactor::new(
            &settings("locked"),
            [("A_SECRET".to_owned(), "correct-horse".to_owned())],
        );
        let held = redactor.scanner.latest.lock().unwrap();
        std::thread::scope(|scope| {
            let other = || {
                redactor
                    .clean_to("correct-horse, password=hunter22", 100)
                    .text
                    .into_owned()
            };
            let text = scope.spawn(other).join().unwrap();
            assert_eq!(text, "__REDACTED__, password=__REDACTED__");
        });
        drop(held);
    }

    #[test]
    fn a_secret_that_is_set_later_is_known_to_every_thread_that_asks_again() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let is_set = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&is_set);
        let source: Box<dyn Fn() -> Variables + Send + Sync> = Box::new(move || {
            let early = ("EARLY_SECRET".to_owned(), "battery-staple".to_owned());
            let late = ("DB_PASS".to_owned(), "correct-horse".to_owned());
            if set.load(Ordering::SeqCst) {
                vec![late]
            } else {
                vec![early]
            }
        });
        let redactor = Redactor::watching(&settings("later"), source);
        let later = || redactor.text("name correct-horse").into_owned();
        let short = || redactor.text("correct-horse").into_owned();
        assert_eq!(later(), "name correct-horse");
        assert_eq!(short(), "correct-horse", "remembered as harmless");
        is_set.store(true, Ordering::SeqCst);
        // The first look again is due at once: with the first record.
        redactor.look_again();
        for _ in 0..2 {
            assert_eq!(later(), "name __REDACTED__");
            assert_eq!(short(), "__REDACTED__");
            assert_eq!(
                redactor.text("battery-staple"),
                "__REDACTED__",
                "once a secret, always one"
            );
        }
        std::thread::scope(|scope| {
            assert_eq!(scope.spawn(later).join().unwrap(), "name __REDACTED__");
        });
    }
}

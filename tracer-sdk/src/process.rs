//! Process identity, fork detection, and locks that a fork never leaves behind.
//!
//! A forked child has a copy of all memory and one thread. What another thread of the parent held at that moment is held
//! for ever in the child, so that nothing there may be waited for: neither a lock nor a value that is being initialised.
//! Everything that is shared between threads goes through the types of this module; `clippy.toml` refuses the others.

#![expect(
    clippy::disallowed_types,
    reason = "this is where the locks of the standard library are made safe"
)]

use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use once_cell::race::OnceBox;
use serde::Serialize;

/// Identity that distinguishes this process from a later one with the same number.
#[derive(Debug, Clone, Serialize)]
pub struct OwnIdentity {
    /// When it started, in clock ticks since the machine's boot.
    #[serde(rename = "process_start")]
    pub start: Option<String>,
    /// The boot.
    pub boot: Option<String>,
    /// The namespace that the number belongs to.
    #[serde(rename = "pid_namespace")]
    pub namespace: Option<String>,
    /// The namespace whose clock counts [`OwnIdentity::start`].
    pub time_namespace: Option<String>,
}

impl OwnIdentity {
    /// Reads it from `/proc`, where the system has that.
    fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/stat").ok();
        // The name of the program, in parentheses, may hold anything; the start time is the 20th field behind it.
        let fields = status.as_deref().and_then(|status| status.rsplit_once(')'));
        let start = fields.and_then(|(_, fields)| fields.split_whitespace().nth(19));
        Self {
            start: start.map(str::to_owned),
            boot: own_boot(),
            namespace: own_namespace("pid"),
            time_namespace: own_namespace("time"),
        }
    }
}

/// The boot of this machine.
pub fn own_boot() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}

/// The namespace of this kind, `pid` or `time`, that this process is in.
pub fn own_namespace(kind: &str) -> Option<String> {
    // Of this thread: the first one of the process may be gone.
    let path = std::fs::read_link(format!("/proc/thread-self/ns/{kind}")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// The identity of this process. It is read from the system once: each run needs it, and a receiver begins thousands.
pub fn process_identity() -> OwnIdentity {
    static KNOWN: PerProcess<(u32, OwnIdentity)> =
        PerProcess::new(|process| (process.id(), OwnIdentity::read()));
    let (id, known) = KNOWN.get();
    if *id == std::process::id() {
        known.clone()
    } else {
        // A child that was made past the C library.
        OwnIdentity::read()
    }
}

/// The process that started or joined a run: a forked child inherits the run's memory, and must neither write into it
/// nor end it.
#[derive(Debug, Clone)]
pub(crate) struct OwnProcess {
    id: u32,
    /// Counts forks by a handler. To ask the system for the process ID costs as much as a sixth of a write.
    #[cfg(unix)]
    forks: Option<forkguard::atfork::Guard>,
}

impl OwnProcess {
    /// This process.
    pub(crate) fn current() -> Self {
        Self {
            id: std::process::id(),
            #[cfg(unix)]
            forks: fork_counter(),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Returns whether this process runs the code. Called for every span: it misses a child made past the C library.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        #[cfg(unix)]
        if let Some(forks) = &self.forks {
            // A guard notices a fork once; the copy is what it shows.
            return !forks.clone().detected_fork();
        }
        self.has_this_id()
    }

    /// As [`is_current`](Self::is_current), asked of the system as well: for what happens once in a run, and before
    /// anything is waited for.
    pub(crate) fn is_surely_current(&self) -> bool {
        self.is_current() && self.has_this_id()
    }

    fn has_this_id(&self) -> bool {
        self.id == std::process::id()
    }
}

/// Counter of the forks of this process; `None` where that cannot be known without waiting for another thread.
#[cfg(unix)]
fn fork_counter() -> Option<forkguard::atfork::Guard> {
    use std::sync::atomic::{AtomicU8, Ordering};

    const MISSING: u8 = 0;
    const BEING_INSTALLED: u8 = 1;
    const INSTALLED: u8 = 2;
    static HANDLER: AtomicU8 = AtomicU8::new(MISSING);
    let first = HANDLER.compare_exchange(MISSING, BEING_INSTALLED, Ordering::AcqRel, Ordering::Acquire);
    match first {
        Ok(_) => {
            let counter = forkguard::atfork::Guard::try_new().ok();
            HANDLER.store(INSTALLED, Ordering::Release);
            counter
        }
        Err(INSTALLED) => forkguard::atfork::Guard::try_new().ok(),
        // Another thread installs the handler, or did when this process was forked off: a counter requested meanwhile
        // would wait for that installation.
        Err(_) => None,
    }
}

/// The standard library's lock, for which a panic of another thread is no reason to fail. Only for what a fork cannot
/// leave locked: values that are new in a call, and tests.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if it is free now.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A lock that belongs to a process: forked children do not get it, and never wait for it.
///
/// It is the standard library's, which is one word: another one's table of waiting threads, which all locks of the
/// program share, could itself be left locked by a fork.
#[derive(Debug)]
pub(crate) struct OwnLock<T> {
    process: OwnProcess,
    value: Mutex<T>,
}

impl<T> OwnLock<T> {
    /// A lock of a process; the one that runs this, as a rule.
    pub(crate) const fn new(process: OwnProcess, value: T) -> Self {
        Self {
            process,
            value: Mutex::new(value),
        }
    }

    /// Takes the lock; `None` in a forked child.
    #[inline]
    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, T>> {
        if !self.process.is_current() {
            return None;
        }
        self.value.try_lock().or_else(|| self.wait())
    }

    /// Waits for a thread of this process, which keeps running, unlike one that a fork has left behind.
    #[cold]
    fn wait(&self) -> Option<MutexGuard<'_, T>> {
        self.process.is_surely_current().then(|| self.value.lock())
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that every process has for itself, for the SDK's static state: a forked child starts with a new one.
pub(crate) struct PerProcess<T: 'static> {
    first: OnceBox<Generation<T>>,
    make: fn(OwnProcess) -> T,
}

/// The value of one process; that of its forked children is behind it.
struct Generation<T> {
    process: OwnProcess,
    value: T,
    next: OnceBox<Generation<T>>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new(make: fn(OwnProcess) -> T) -> Self {
        Self {
            first: OnceBox::new(),
            make,
        }
    }

    /// The value of this process, if it was needed before.
    pub(crate) fn existing(&self) -> Option<&T> {
        let mut generation = self.first.get()?;
        while !generation.process.is_current() {
            generation = generation.next.get()?;
        }
        Some(&generation.value)
    }

    /// The value of this process. Nothing is waited for: threads that come first together both make one.
    pub(crate) fn get(&self) -> &T {
        let mut place = &self.first;
        loop {
            let generation = place.get_or_init(|| {
                let process = OwnProcess::current();
                Box::new(Generation {
                    value: (self.make)(process.clone()),
                    process,
                    next: OnceBox::new(),
                })
            });
            if generation.process.is_current() {
                return &generation.value;
            }
            place = &generation.next;
        }
    }
}

/// A clock that never goes back and advances every few milliseconds: Linux reads it in a fifth of the time of
/// [`Instant::now`](std::time::Instant::now).
#[cfg(target_os = "linux")]
pub(crate) fn coarse_now() -> Duration {
    read_clock(rustix::time::ClockId::MonotonicCoarse)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn coarse_now() -> Duration {
    static START: tracer_format::Computed<std::time::Instant> =
        tracer_format::Computed::new(std::time::Instant::now);
    START.elapsed()
}

/// Time passed since a time of [`coarse_now`], or some milliseconds more: never less.
#[cfg(all(feature = "tracing", target_os = "linux"))]
pub(crate) fn since_coarse(time: Duration) -> Duration {
    // The coarse clock is this one as it was at its last step.
    read_clock(rustix::time::ClockId::Monotonic).saturating_sub(time)
}

#[cfg(all(feature = "tracing", not(target_os = "linux")))]
pub(crate) fn since_coarse(time: Duration) -> Duration {
    coarse_now().saturating_sub(time)
}

#[cfg(target_os = "linux")]
fn read_clock(clock: rustix::time::ClockId) -> Duration {
    let now = rustix::time::clock_gettime(clock);
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_did_not_fork_is_its_own() {
        let process = OwnProcess::current();
        assert!(process.is_current() && process.is_surely_current());
        assert_eq!(process.id(), std::process::id());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_remembered_of_a_process_is_what_the_system_says() {
        let (known, now) = (process_identity(), OwnIdentity::read());
        assert!(known.start.is_some() && known.namespace.is_some());
        assert_eq!(
            (known.start, known.boot, known.namespace, known.time_namespace),
            (now.start, now.boot, now.namespace, now.time_namespace)
        );
    }

    #[test]
    fn a_lock_of_another_process_is_never_waited_for() {
        let mut other = OwnProcess::current();
        other.id += 1;
        let lock = OwnLock::new(other, 0);
        // As in a child that was made past the C library: the handler has counted nothing.
        let _left_behind = lock.value.lock();
        assert!(lock.lock().is_none());
    }

    #[test]
    fn a_thread_waits_for_another_one_of_its_process() {
        let lock = OwnLock::new(OwnProcess::current(), 0);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| (0..1_000).for_each(|_| *lock.lock().unwrap() += 1));
            }
        });
        assert_eq!(*lock.lock().unwrap(), 8_000);
    }

    #[test]
    fn the_value_of_a_process_is_made_once() {
        static VALUE: PerProcess<OwnLock<u32>> = PerProcess::new(|process| OwnLock::new(process, 1));
        *VALUE.get().lock().unwrap() += 1;
        assert_eq!(*VALUE.get().lock().unwrap(), 2);
    }
}

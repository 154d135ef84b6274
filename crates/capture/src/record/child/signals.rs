//! Which signals reach the recorded command, on Unix. It is in the process group of this process, so that what a terminal
//! sends (Ctrl-C, a hang-up) reaches both, and the command alone decides what it means. What another process sends to this
//! process alone is sent on.

use std::sync::{Arc, OnceLock};
use std::thread;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use parking_lot::Mutex;
use shared_child::SharedChild;
use shared_child::unix::SharedChildExt;
#[cfg(target_os = "linux")]
use signal_hook::iterator::{SignalsInfo, exfiltrator::WithOrigin};
#[cfg(target_os = "linux")]
use signal_hook::low_level::siginfo::Cause;

/// Signals that end or interrupt a program, or have a meaning for it.
const FORWARDED: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// The signals that this process keeps for the commands that it starts, one after the other.
#[derive(Debug)]
pub struct Signals {
    kept: SigSet,
    /// Signals that were blocked before: they are for the command as well.
    original: SigSet,
    /// The latest command; empty before the first one.
    command: OnceLock<Arc<Mutex<Arc<SharedChild>>>>,
}

impl Signals {
    /// Keeps them from now on, before there is a command. To be called before any thread is started: a thread that was
    /// there would still take them, and die of them.
    #[must_use]
    pub fn keep() -> Self {
        let kept = SigSet::from_iter(FORWARDED);
        // A refusal, which no system gives, means that signals end this process as they would without it.
        let original = kept.thread_swap_mask(SigmaskHow::SIG_BLOCK);
        Self {
            kept,
            original: original.unwrap_or_else(|_| SigSet::empty()),
            command: OnceLock::new(),
        }
    }

    /// Starts a command that blocks and ignores what this process was started to block and ignore (`nohup`), and nothing
    /// else. Returns the signals that came meanwhile, and that the command has not got.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> T) -> (T, Vec<Signal>) {
        let mut caught = Caught::begin();
        // A command starts with what its parent's thread blocks. What came until now is caught here.
        let _ = self.original.thread_set_mask();
        caught.command_starts();
        let started = start();
        let _ = self.kept.thread_block();
        (started, caught.signals())
    }

    /// Sends them on to a command, the first ones at once.
    pub(super) fn forward_to(&self, child: Arc<SharedChild>, first: Vec<Signal>) {
        for signal in first {
            let _ = child.send_signal(signal as i32);
        }
        if let Some(command) = self.command.get() {
            *command.lock() = child;
            return;
        }
        let command = Arc::clone(self.command.get_or_init(|| Arc::new(Mutex::new(child))));
        let kept = self.kept;
        let forward = move || {
            let Some(mut incoming) = Incoming::of(kept) else {
                return;
            };
            while let Some((signal, is_of_terminal)) = incoming.next() {
                if !is_of_terminal {
                    // An error means that the command has ended: no process is left to get the signal.
                    let _ = command.lock().send_signal(signal as i32);
                }
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned());
        // Without the thread the command gets what the terminal sends, and nothing else.
        let _ = thread.spawn(forward);
    }
}

/// Catches signals for the moment in which they are not blocked, so that this process does not die of them while the command
/// starts.
#[cfg(target_os = "linux")]
struct Caught {
    incoming: Option<SignalsInfo<WithOrigin>>,
    /// Those that came before there was a command.
    early: Vec<Signal>,
}

#[cfg(target_os = "linux")]
impl Caught {
    fn begin() -> Self {
        let ignored = ignored_signals();
        // A handler would make the command heed a signal that it is to ignore.
        let heeded = FORWARDED
            .into_iter()
            .map(|signal| signal as i32)
            .filter(|signal| ignored & (1 << (signal - 1)) == 0);
        Self {
            incoming: SignalsInfo::new(heeded).ok(),
            early: Vec::new(),
        }
    }

    fn command_starts(&mut self) {
        self.early = self.pending().into_iter().map(|(signal, _)| signal).collect();
    }

    /// Those to send on. The command may run for a while before this thread does again: what the terminal sent meanwhile, it
    /// has got itself.
    fn signals(mut self) -> Vec<Signal> {
        let mut signals = std::mem::take(&mut self.early);
        let late = self
            .pending()
            .into_iter()
            .filter(|(_, is_of_terminal)| !is_of_terminal);
        signals.extend(late.map(|(signal, _)| signal));
        signals
    }

    /// The signals since the last call, each with whether the terminal sent it.
    fn pending(&mut self) -> Vec<(Signal, bool)> {
        let incoming = self.incoming.iter_mut().flat_map(SignalsInfo::pending);
        incoming
            .filter_map(|origin| {
                let signal = Signal::try_from(origin.signal).ok()?;
                Some((signal, matches!(origin.cause, Cause::Kernel)))
            })
            .collect()
    }
}

/// The signals that this process ignores, as a mask: signal 1 is the lowest bit.
#[cfg(target_os = "linux")]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}

/// Without a list of the signals that this process ignores, a signal in the moment in which the command starts ends
/// this process.
#[cfg(not(target_os = "linux"))]
struct Caught;

#[cfg(not(target_os = "linux"))]
impl Caught {
    fn begin() -> Self {
        Self
    }

    fn command_starts(&mut self) {}

    fn signals(self) -> Vec<Signal> {
        Vec::new()
    }
}

/// The signals as they come, each with whether the terminal sent it to the command as well.
#[cfg(target_os = "linux")]
struct Incoming {
    signals: nix::sys::signalfd::SignalFd,
}

#[cfg(target_os = "linux")]
impl Incoming {
    fn of(kept: SigSet) -> Option<Self> {
        use nix::sys::signalfd::{SfdFlags, SignalFd};

        let signals = SignalFd::with_flags(&kept, SfdFlags::SFD_CLOEXEC).ok()?;
        Some(Self { signals })
    }

    fn next(&mut self) -> Option<(Signal, bool)> {
        /// `si_code` of what the kernel sends, a terminal's driver among it; of what processes send it is 0 or less.
        const FROM_KERNEL: i32 = 0x80;

        loop {
            match self.signals.read_signal() {
                Ok(Some(info)) => {
                    let signal = i32::try_from(info.ssi_signo).ok()?;
                    let signal = Signal::try_from(signal).ok()?;
                    return Some((signal, info.ssi_code == FROM_KERNEL));
                }
                Ok(None) | Err(nix::errno::Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }
}

/// The signals as they come, each with whether the terminal sent it to the command as well: only the terminal of those in its
/// foreground interrupts.
#[cfg(not(target_os = "linux"))]
struct Incoming {
    kept: SigSet,
}

#[cfg(not(target_os = "linux"))]
impl Incoming {
    fn of(kept: SigSet) -> Option<Self> {
        Some(Self { kept })
    }

    fn next(&mut self) -> Option<(Signal, bool)> {
        use nix::unistd::{getpgrp, tcgetpgrp};

        let signal = self.kept.wait().ok()?;
        let is_of_keyboard = matches!(signal, Signal::SIGINT | Signal::SIGQUIT);
        let is_in_foreground = tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == getpgrp());
        Some((signal, is_of_keyboard && is_in_foreground))
    }
}

/// Asks a process to end, or kills it; one that has ended needs no signal.
pub(super) fn end_process(id: u32, kills: bool) {
    let signal = if kills { Signal::SIGKILL } else { Signal::SIGTERM };
    if let Ok(id) = i32::try_from(id) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), signal);
    }
}

/// The name of a signal.
pub(super) fn name(signal: i32) -> Option<&'static str> {
    Signal::try_from(signal).ok().map(Signal::as_str)
}

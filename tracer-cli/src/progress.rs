//! How far a long command has come, on standard error: a bar that appears after half a second on a terminal, else one
//! line when it is done.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::Ui;
use tracer_insight::line::{Line, Tone};
use tracer_insight::{text, units};

/// Whatever is done sooner is not worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the bar is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// Work under way. A bar that is shown goes when this is dropped, however the work ended.
#[derive(Debug)]
pub struct Progress {
    doing: &'static str,
    unit: &'static str,
    started: Instant,
    done: Arc<AtomicU64>,
    is_terminal: bool,
    /// Closing it ends the bar.
    bar: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins: `doing` is what is done (`exporting`), `unit` is what is counted (`event`), `total` how many there are
    /// where that is known.
    pub fn begin(doing: &'static str, unit: &'static str, total: Option<u64>) -> Self {
        let done = Arc::new(AtomicU64::new(0));
        let is_terminal = io::stderr().is_terminal();
        let bar = is_terminal
            .then(|| draw_later(doing, total, Arc::clone(&done)))
            .flatten();
        Self {
            doing,
            unit,
            started: Instant::now(),
            done,
            is_terminal,
            bar,
        }
    }

    /// One more is done.
    pub fn step(&self) {
        self.steps(1);
    }

    /// So many more are done.
    pub fn steps(&self, count: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// How many are done.
    pub fn count(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Everything is done: the bar goes; where none could be shown, a line tells how long it took.
    pub fn end(mut self, ui: &mut Ui) {
        self.clear();
        let took = self.started.elapsed();
        if !self.is_terminal && took >= PATIENCE {
            let count = match self.count() {
                0 => String::new(),
                count => format!(" {}", text::counted(count, self.unit)),
            };
            let took = units::duration(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            let told = format!("{}{count}: done in {took}", self.doing);
            ui.note(&Line::of(told, Tone::Muted));
        }
    }

    fn clear(&mut self) {
        if let Some((sender, thread)) = self.bar.take() {
            drop(sender);
            // It only draws: whatever happened to it is no matter for the work.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Draws from a thread of its own, so that it moves also while the work is one long call.
fn draw_later(
    doing: &'static str,
    total: Option<u64>,
    done: Arc<AtomicU64>,
) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, closed) = mpsc::channel();
    let draw = move || {
        if closed.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let bar = bar(doing, total);
        while closed.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
            bar.set_position(done.load(Ordering::Relaxed));
            bar.tick();
        }
        bar.finish_and_clear();
    };
    let thread = std::thread::Builder::new()
        .name("progress".to_owned())
        .spawn(draw);
    // Without a thread there is no bar, and the work is done all the same.
    Some((sender, thread.ok()?))
}

fn bar(doing: &'static str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{msg}  {bar:24}  {percent} %  {human_pos} / {human_len}  {eta} left",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}  {elapsed}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("█▉░"));
    }
    bar.set_message(doing);
    bar
}

//! Progress of a long command on standard error: on a terminal a bar that appears after half a second, elsewhere one
//! line at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::Ui;
use tracer_insight::{text, units};

/// Delay before a bar is drawn.
const BAR_DELAY: Duration = Duration::from_millis(500);
/// Interval between two drawings of the bar.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Work in progress. Dropping it removes the bar, however the work ended.
#[derive(Debug)]
pub struct Progress {
    activity: &'static str,
    unit: &'static str,
    started: Instant,
    done: Arc<AtomicU64>,
    is_terminal: bool,
    /// Closing it ends the bar.
    bar: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts the progress of `activity` (`exporting`), counted in `unit` (`event`); `total` is the expected count, if known.
    pub fn begin(ui: &Ui, activity: &'static str, unit: &'static str, total: Option<u64>) -> Self {
        let is_terminal = ui.draws_bars();
        let done = Arc::new(AtomicU64::new(0));
        let bar = is_terminal
            .then(|| draw_later(activity, total, Arc::clone(&done)))
            .flatten();
        Self {
            activity,
            unit,
            started: Instant::now(),
            done,
            is_terminal,
            bar,
        }
    }

    /// Counts one unit.
    pub fn step(&self) {
        self.steps(1);
    }

    /// Counts `count` units.
    pub fn steps(&self, count: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// The counted units in words: `3 events`.
    pub fn counted(&self) -> String {
        text::counted(self.count(), self.unit)
    }

    fn count(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends the progress: removes the bar, or prints a line with the elapsed time where no bar was shown.
    pub fn end(mut self, ui: &mut Ui) {
        self.clear();
        let took = self.started.elapsed();
        if !self.is_terminal && took >= BAR_DELAY {
            let count = match self.count() {
                0 => String::new(),
                _ => format!(" {}", self.counted()),
            };
            let took = units::duration(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            ui.remark(format!("{}{count}: done in {took}", self.activity));
        }
    }

    /// Ends the progress without a line.
    pub fn stop(mut self) {
        self.clear();
    }

    fn clear(&mut self) {
        if let Some((sender, thread)) = self.bar.take() {
            drop(sender);
            // The thread only draws, so its failure does not matter.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Draws the bar from a thread of its own, so that it moves while the work is one long call.
fn draw_later(
    activity: &'static str,
    total: Option<u64>,
    done: Arc<AtomicU64>,
) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, closed) = mpsc::channel();
    let draw = move || {
        if closed.recv_timeout(BAR_DELAY) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let bar = bar(activity, total);
        while closed.recv_timeout(DRAW_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            bar.set_position(done.load(Ordering::Relaxed));
            bar.tick();
        }
        bar.finish_and_clear();
    };
    let thread = std::thread::Builder::new()
        .name("progress".to_owned())
        .spawn(draw);
    // The work continues without a bar when no thread can be started.
    Some((sender, thread.ok()?))
}

fn bar(activity: &'static str, total: Option<u64>) -> ProgressBar {
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
    bar.set_message(activity);
    bar
}

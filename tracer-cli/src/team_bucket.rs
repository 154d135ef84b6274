//! What the commands share that work with a team's bucket: its URL, its errors, and how waiting for it is shown.

use tracer_bucket::{BucketError, BucketUrl, OpenBucket, WaitEvent};
use tracer_insight::units;

use crate::error::{CliError, with_causes};
use crate::ui::Ui;

/// The URL of a bucket that a user gave.
pub(crate) fn url(text: &str) -> Result<BucketUrl, CliError> {
    text.parse().map_err(|error: BucketError| {
        let hint = error.hint();
        CliError::input(error.to_string()).with_hint(hint)
    })
}

/// The bucket at a URL that a user gave.
pub(crate) fn open(url: &str, action: &str) -> Result<OpenBucket, CliError> {
    let url = self::url(url)?;
    OpenBucket::open(&url).map_err(|error| failed(action, &url, &error))
}

/// The bucket at a URL that something is read from. Where it is a folder, none is made.
pub(crate) fn open_to_read(url: &BucketUrl, action: &str) -> Result<OpenBucket, CliError> {
    OpenBucket::open_existing(url).map_err(|error| failed(action, url, &error))
}

/// Says that an action, such as `push to`, failed.
pub(crate) fn failed(action: &str, url: &BucketUrl, error: &BucketError) -> CliError {
    CliError::input(format!("failed to {action} {url}: {}", with_causes(error))).with_hint(error.hint())
}

/// Shows that the store is waited for: one line for an outage, however long it takes.
#[derive(Debug, Default)]
pub(crate) struct WaitDisplay {
    is_waiting: bool,
}

impl WaitDisplay {
    pub(crate) fn show(&mut self, event: WaitEvent, ui: &mut Ui) {
        match event {
            WaitEvent::Waiting { reason, delay } => {
                let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
                if !std::mem::replace(&mut self.is_waiting, true) {
                    ui.warn(format!("{reason}; trying again in {}", units::duration(micros)));
                }
            }
            WaitEvent::Resumed if self.is_waiting => {
                self.is_waiting = false;
                ui.remark("the store answers again");
            }
            _ => {}
        }
    }
}

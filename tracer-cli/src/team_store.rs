//! The bucket that a command reads in addition to this machine: `--store`, or the setting `store`.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use tracer_catalog::TeamStore;
use tracer_insight::text;
use tracer_insight::units;
use tracer_sdk::settings::Settings;
use tracer_ship::{BucketReader, BucketUrl, SyncSummary};

use crate::error::CliError;
use crate::progress::Progress;
use crate::ui::Ui;

/// The word for no bucket, whatever the settings say.
pub(crate) const NONE: &str = "none";

/// A bucket that is read, and the option that named it.
#[derive(Debug)]
pub(crate) struct OpenedStore {
    pub(crate) reader: BucketReader,
    pub(crate) team: Arc<TeamStore>,
    /// The command line named it: suggested commands do so as well.
    pub(crate) is_option: bool,
}

/// The URL of a bucket that a user gave.
pub(crate) fn url(text: &str) -> Result<BucketUrl, CliError> {
    Ok(text.parse()?)
}

/// Opens the bucket that the option or the settings name, and reads what is new in it.
pub(crate) fn open(
    given: Option<&str>,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Option<OpenedStore>, CliError> {
    let named = given.or(settings.store.as_deref());
    let Some(url) = named.filter(|url| *url != NONE) else {
        return Ok(None);
    };
    let alone = "or read this machine alone: --store none";
    let url = self::url(url).map_err(|error| error.with_hint(alone))?;
    let reader = BucketReader::open(settings, &url);
    let reader = reader.map_err(|error| CliError::from(error).with_hint(alone))?;
    synchronize(&reader, ui)?;
    Ok(Some(OpenedStore {
        team: reader.team_store(),
        reader,
        is_option: given.is_some(),
    }))
}

/// Reads what is new. Where the bucket cannot be read, what was read before serves.
pub(crate) fn synchronize(reader: &BucketReader, ui: &mut Ui) -> Result<(), CliError> {
    let progress = Progress::begin(ui, "reading the bucket", "run", None);
    let mut lines = 0;
    let synchronized = reader.sync(&mut |done| {
        progress.steps(done.lines - lines);
        lines = done.lines;
    });
    progress.stop();
    let url = reader.url();
    match (synchronized, reader.synced_at()) {
        (Ok(summary), _) => note(&summary, url, ui),
        (Err(error), Some(at)) => {
            let line = format!(
                "{url} cannot be read: {error}; what is shown was read at {}",
                units::moment(at)
            );
            ui.warn(line);
        }
        (Err(error), None) => {
            let hint = error.hint();
            return Err(
                CliError::input(format!("{url} cannot be read, and nothing of it is here yet"))
                    .with_source(error)
                    .with_hint(hint)
                    .with_hint("or read this machine alone: --store none"),
            );
        }
    }
    Ok(())
}

/// Interval at which a command that serves runs reads new objects of a bucket.
const SYNC_INTERVAL: Duration = Duration::from_secs(30);

/// A bucket that is read again and again in a thread, until this is dropped.
pub(crate) struct SynchronizedStore {
    _stop: Sender<()>,
}

impl SynchronizedStore {
    pub(crate) fn start(reader: &BucketReader) -> Self {
        let (stop, stopped) = mpsc::channel();
        let reader = reader.clone();
        let read = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(SYNC_INTERVAL) {
                // What cannot be read now is read the next time.
                let _ = reader.sync(&mut |_| {});
            }
        };
        // Without a thread what was read at the start is served.
        let _ = thread::Builder::new().name("tracer-store".to_owned()).spawn(read);
        Self { _stop: stop }
    }
}

/// Says what was not used.
fn note(summary: &SyncSummary, url: &BucketUrl, ui: &mut Ui) {
    if summary.is_busy {
        ui.warn(format!(
            "another process reads {url}: what it has not read yet is missing"
        ));
    }
    if summary.newer_lines > 0 {
        let lines = text::counted(summary.newer_lines, "run");
        ui.warn(format!(
            "{lines} in {url} not read: a newer tracer wrote them; update this one"
        ));
    }
    let odd = summary.malformed_lines + summary.odd_objects;
    if odd > 0 {
        ui.warn(format!(
            "{} in {url} passed over: no facts of runs",
            text::counted(odd, "entry")
        ));
    }
}

//! Start of a run: settings, name, clock, redactor, files.
//!
//! Or this process joins the run of its parent.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::clock::RunClock;
use super::environment::{self, ProgramFacts};
use super::flusher;
use super::ids::{SpanIds, new_trace_id};
use super::panic_hook::install_hook;
use super::run::Run;
#[cfg(feature = "prices")]
use super::run_costs::RunCosts;
use super::run_state::{RunPlace, RunState, registry};
use super::site::Site;
use super::warning::warn_once;
use crate::input::{LinkPolicy, OpenError, open};
#[cfg(feature = "prices")]
use crate::prices::Prices;
use crate::redact::Redactor;
#[cfg(feature = "prices")]
use crate::settings::Sources;
use crate::settings::{self, BATCH_INTERVAL, BATCH_SPANS, Flush, Settings};
use crate::write::files::{Disk, FileSystem};
use crate::write::log::Batch;
use crate::write::run_files::{RunConstants, RunFiles};
use tracer_format::parse::{MAX_META_BYTES, read_meta};
use tracer_format::{
    LIVE_FILE, META_FILE, RUNS_FOLDER, RecordedStatus, SpanId, TRACE_PARENT_VARIABLE, Tags, TraceParent,
};

/// The environment variable whose name for the run wins over any name in code (specification, `RUN_START`).
const RUN_NAME_VARIABLE: &str = "TRACER_RUN_NAME";

/// A run that this process records into.
pub(crate) enum Started {
    /// A run of its own.
    Own(Arc<RunState>),
    /// The run of another process, under one of its spans.
    Joined {
        run: Arc<RunState>,
        parent: SpanId,
        name: String,
    },
}

/// Begins a run whose work began a while ago; `None` when recording is off.
pub(crate) fn start_run(run: &Run, ago: Duration) -> Option<Started> {
    let (settings, problems) = settings::load(&run.config);
    if let Some(problem) = problems.first() {
        warn_once(problem);
    }
    if !settings.enabled {
        return None;
    }
    install_hook();
    let redactor = Redactor::of_process(&settings);
    let parent = parent_process_span().filter(|parent| is_recorded_in(&settings, parent));
    let name = redactor.text(&run_name(&run.site, parent.is_some())).into_owned();
    let (clock, ids) = (RunClock::started(ago), SpanIds::new());
    let (trace_id, root_id) = match &parent {
        Some(parent) => (parent.trace_id, parent.span_id),
        None => (new_trace_id(), ids.next()),
    };
    let place = RunPlace {
        trace_id,
        root_id,
        name: name.clone(),
        program: ProgramFacts::here(),
        tags: match &parent {
            // The root is the other process's.
            Some(_) => Tags::default(),
            None => redactor.tags(&run.tags.with_environment()),
        },
        joined: parent.is_some(),
        #[cfg(feature = "prices")]
        costs: prices(&settings).map(RunCosts::new),
    };
    let file_system = run.file_system.as_ref();
    let file_system = file_system.map_or_else(|| Arc::new(Disk) as Arc<dyn FileSystem>, Arc::clone);
    let run = open_run(place, clock, ids, redactor, &settings, file_system);
    registry::add(&run);
    if run.is_batched() {
        flusher::start();
    }
    if let Some(parent) = parent {
        let parent = parent.span_id;
        return Some(Started::Joined { run, parent, name });
    }
    run.begin();
    Some(Started::Own(run))
}

/// Begins a run for a test: nothing of the machine goes into it, it is the same every time, and no thread attaches to it
/// unless it was given the context.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn start_captured_run(
    name: &str,
    settings: &Settings,
    file_system: &Arc<dyn FileSystem>,
) -> Arc<RunState> {
    let redactor = Arc::new(Redactor::new(&settings.into(), []));
    // Without it the trace would not tell what a panic said.
    install_hook();
    let ids = SpanIds::counted();
    let place = RunPlace {
        trace_id: super::ids::counted_trace_id(),
        root_id: ids.next(),
        name: redactor.text(name).into_owned(),
        program: ProgramFacts::anywhere(),
        tags: Tags::default(),
        joined: false,
        // Those of the release alone.
        #[cfg(feature = "prices")]
        costs: settings
            .guardrails
            .max_cost_usd
            .map(|_| RunCosts::new(Prices::default())),
    };
    open_run(
        place,
        RunClock::counted(),
        ids,
        redactor,
        settings,
        Arc::clone(file_system),
    )
}

fn open_run(
    place: RunPlace,
    clock: RunClock,
    ids: SpanIds,
    redactor: Arc<Redactor>,
    settings: &Settings,
    file_system: Arc<dyn FileSystem>,
) -> Arc<RunState> {
    let identity = RunConstants {
        trace_id: place.trace_id,
        name: place.name.clone(),
        started_at: clock.started_at(),
    };
    let files = RunFiles::new(
        file_system,
        &settings.data_dir,
        identity,
        batch(settings),
        place.joined,
    );
    RunState::new(place, clock, ids, redactor, files, settings)
}

/// The prices that the limit on what a run costs counts with; nothing is read without one.
#[cfg(feature = "prices")]
fn prices(settings: &Settings) -> Option<Prices> {
    settings.guardrails.max_cost_usd?;
    let (prices, problems) = settings::read_prices(&Sources::read());
    if let Some(problem) = problems.first() {
        warn_once(problem);
    }
    Some(prices)
}

fn batch(settings: &Settings) -> Option<Batch> {
    match settings.flush {
        Flush::Each => None,
        Flush::Batched => Some(Batch {
            max_spans: BATCH_SPANS,
            max_delay: BATCH_INTERVAL,
        }),
    }
}

/// The span of another process that this one works for.
fn parent_process_span() -> Option<TraceParent> {
    let text = std::env::var(TRACE_PARENT_VARIABLE).ok()?;
    let parent = text.parse().ok();
    if parent.is_none() {
        warn_once(&format_args!(
            "{TRACE_PARENT_VARIABLE} is not a W3C traceparent: starting a run of its own"
        ));
    }
    parent
}

/// Returns whether the parent's run is running in this data directory.
fn is_recorded_in(settings: &Settings, parent: &TraceParent) -> bool {
    let there = is_running(
        &settings
            .data_dir
            .join(RUNS_FOLDER)
            .join(parent.trace_id.to_string()),
    );
    if !there {
        warn_once(&format_args!(
            "the run that {TRACE_PARENT_VARIABLE} names is not running under {}: starting a run of its own",
            settings.data_dir.display()
        ));
    }
    there
}

/// Returns whether a directory has a run in progress: nothing is ever written behind the end of a run, or where none
/// was recorded. A run that has just begun has a `.live` before it has metadata.
fn is_running(directory: &Path) -> bool {
    match open(&directory.join(META_FILE), LinkPolicy::Refuse) {
        Ok(file) => {
            let mut text = Vec::new();
            let read = file.take(MAX_META_BYTES).read_to_end(&mut text);
            read.is_ok() && read_meta(&text).status == Some(RecordedStatus::Running)
        }
        Err(OpenError::Missing) => open(&directory.join(LIVE_FILE), LinkPolicy::Refuse).is_ok(),
        Err(_) => false,
    }
}

fn run_name(site: &Site, is_joined: bool) -> String {
    match std::env::var(RUN_NAME_VARIABLE) {
        Ok(name) if !name.is_empty() => name,
        _ => match &site.name {
            Some(name) => name.clone().into_owned(),
            // A span of another's run is called as the function.
            None if is_joined => site.function.to_owned(),
            None => environment::default_run_name(site.path, site.function, chrono::Local::now()),
        },
    }
}

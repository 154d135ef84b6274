//! Which run a span of a library belongs to (capture, section 3): the run of the task or thread, the run of the outermost
//! span around it, the only run there is, or a run of its own.

use std::sync::Arc;
use std::time::Instant;

use once_cell::race::OnceBox;
use tracing::Metadata;

use super::report;
use crate::emit::context::Context;
use crate::emit::given_tags::GivenTags;
use crate::emit::open_span::{EndTime, OnDrop, OpenSpan};
use crate::emit::run_state::RunState;
use crate::emit::site::Site;
use crate::emit::start::{Started, start_run_since};
use crate::format::EventType;
use crate::process::{OwnLock, OwnProcess};
use crate::settings::Config;
use crate::write::files::{Disk, FileSystem};

/// A run that a layer has started.
#[derive(Debug)]
pub(super) struct NewRun {
    /// Where the spans of the run belong.
    pub(super) context: Context,
    /// It is the run of another process, and the context is a span of that process.
    pub(super) is_joined: bool,
}

/// Starts a run, or joins the one that the process works for; `None` when recording is off.
pub(super) fn start_run(
    name: String,
    metadata: &'static Metadata<'static>,
    config: &Config,
    since: Option<Instant>,
) -> Option<NewRun> {
    let path = metadata.file().unwrap_or_default();
    let site = Site::new(Some(name.into()), path, "", metadata.line().unwrap_or_default());
    let disk: Arc<dyn FileSystem> = Arc::new(Disk);
    let ago = since.map(|since| since.elapsed()).unwrap_or_default();
    let Some(started) = start_run_since(&site, config, &GivenTags::default(), &disk, ago) else {
        report::recording_is_off();
        return None;
    };
    let (run, span, is_joined) = match started {
        Started::Own(run) => (Arc::clone(&run), run.root_id(), false),
        Started::Joined { run, parent, .. } => (run, parent, true),
    };
    run.set_started_by_library();
    Some(NewRun {
        context: Context {
            run,
            span,
            inferred: false,
        },
        is_joined,
    })
}

/// In the extensions of an outermost span that is not recorded: an agent or a call within it makes it a run.
///
/// Nearly none becomes one: what that takes is made when it is needed.
#[derive(Debug, Clone)]
pub(super) struct OutermostSpan(Arc<Outermost>);

#[derive(Debug)]
struct Outermost {
    since: Instant,
    metadata: &'static Metadata<'static>,
    run: OnceBox<OwnLock<Option<OutermostRun>>>,
}

/// The run of an outermost span.
#[derive(Debug)]
struct OutermostRun {
    context: Context,
    run: Arc<RunState>,
    /// The span in the run of another process.
    joined: OpenSpan,
}

impl OutermostSpan {
    pub(super) fn new(metadata: &'static Metadata<'static>) -> Self {
        Self(Arc::new(Outermost {
            since: Instant::now(),
            metadata,
            run: OnceBox::new(),
        }))
    }

    /// The context of the run, if there is one by now.
    pub(super) fn context(&self) -> Option<Context> {
        let run = self.0.run.get()?.lock()?;
        run.as_ref().map(|run| run.context.clone())
    }

    /// The context of the run, which begins with this unless it has begun.
    pub(super) fn promote(&self, config: &Config) -> Option<Context> {
        let none = || Box::new(OwnLock::new(OwnProcess::current(), None));
        let mut place = self.0.run.get_or_init(none).lock()?;
        if let Some(run) = place.as_ref() {
            return Some(run.context.clone());
        }
        let name = self.0.metadata.name();
        let new = start_run(name.to_owned(), self.0.metadata, config, Some(self.0.since))?;
        let run = Arc::clone(&new.context.run);
        let mut joined = OpenSpan::default();
        let mut context = new.context;
        if new.is_joined {
            joined = OpenSpan::under(context.clone(), EventType::Unknown, name.into());
            joined.start_on_recording_thread(OnDrop::End);
            context = joined.context().unwrap_or(context);
        }
        *place = Some(OutermostRun {
            context: context.clone(),
            run,
            joined,
        });
        Some(context)
    }

    /// The span has closed, and its run ends.
    pub(super) fn close(&self) {
        let run = self.0.run.get().and_then(|run| run.lock()?.take());
        if let Some(OutermostRun { run, joined, .. }) = run {
            let end = run.clock.now();
            joined.end_on_recording_thread(EndTime::At(end));
            run.end(None, end);
        }
    }
}

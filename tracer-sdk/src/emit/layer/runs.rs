//! Which run a span of a library belongs to (capture, section 3): the run of the task or thread, the run of the outermost
//! span around it, the only run there is, or a run of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use once_cell::race::OnceBox;
use tracing::Metadata;

use super::outcome::INFERRED_ERROR;
use super::report;
use crate::emit::context::Context;
use crate::emit::error::ErrorInfo;
use crate::emit::open_span::{EndTime, OnDrop, OpenSpan};
use crate::emit::panic;
use crate::emit::run::Run;
use crate::emit::run_state::RunState;
use crate::emit::site::Site;
use crate::emit::start::{self, Started};
use crate::process::{OwnLock, OwnProcess, coarse_now, since_coarse};
use crate::settings::Config;
use crate::write::draft::Draft;
use tracer_format::{EventType, names};

/// Returns whether an event is of the attribute that made a span: they have one place in the code.
pub(super) fn is_of(span: &'static Metadata<'static>, event: &'static Metadata<'static>) -> bool {
    let place = |metadata: &Metadata<'static>| Some((metadata.file()?, metadata.line()?));
    place(span).is_some() && place(span) == place(event)
}

/// A run that a layer has started.
#[derive(Debug)]
pub(super) struct NewRun {
    /// Context that the spans of the run belong to.
    pub(super) context: Context,
    /// It is the run of another process, and the context is a span of that process.
    pub(super) is_joined: bool,
}

/// Starts a run that began at a time of [`coarse_now`], if not at once, or joins the one that the process works for; `None` when
/// recording is off.
pub(super) fn start_run(
    name: String,
    metadata: &'static Metadata<'static>,
    config: &Config,
    since: Option<Duration>,
) -> Option<NewRun> {
    let path = metadata.file().unwrap_or_default();
    let site = Site::new(Some(name.into()), path, "", metadata.line().unwrap_or_default());
    let ago = since.map(since_coarse).unwrap_or_default();
    let Some(started) = start::start_run(&Run::at(site, config.clone()), ago) else {
        report::recording_is_off();
        return None;
    };
    let (run, span, is_joined) = match started {
        Started::Own(run) => (Arc::clone(&run), run.root_id(), false),
        Started::Joined { run, parent, .. } => (run, parent, true),
    };
    run.library.has_started_run.store(true, Ordering::Relaxed);
    Some(NewRun {
        context: Context {
            run,
            span,
            branch: span,
            inferred: false,
        },
        is_joined,
    })
}

/// Number of spans that have a context at this moment: recorded ones, and outermost ones that are a run.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// A span that has a context, for as long as it is there.
#[derive(Debug)]
pub(super) struct LiveContext(());

impl LiveContext {
    pub(super) fn begin() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Returns whether there is one. While there is none, no span that is entered, left or closed needs a lookup: that
    /// was most of what the layer took for a span of other code.
    ///
    /// A caller that is handed a span knows of it, so that no memory ordering is needed.
    #[inline]
    pub(super) fn is_any() -> bool {
        LIVE.load(Ordering::Relaxed) != 0
    }
}

impl Drop for LiveContext {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// In the extensions of an outermost span that is not recorded: an agent or a call within it makes it a run.
///
/// Nearly none becomes one: what that takes is made when it is needed.
#[derive(Debug)]
pub(super) struct OutermostSpan {
    /// By the coarse clock, which costs such a span a tenth less than the exact one: its run may begin some milliseconds early.
    since: Duration,
    metadata: &'static Metadata<'static>,
    run: OnceBox<OutermostRunPlace>,
}

/// Shared place for the run of an outermost span, once there is one.
type OutermostRunPlace = Arc<OwnLock<Option<OutermostRun>>>;

/// An outermost span around the current one.
#[derive(Debug)]
pub(super) struct SurroundingSpan {
    since: Duration,
    metadata: &'static Metadata<'static>,
    run: OutermostRunPlace,
}

/// The run of an outermost span.
#[derive(Debug)]
struct OutermostRun {
    context: Context,
    run: Arc<RunState>,
    /// The panic that left the span.
    error: Option<ErrorInfo>,
    /// The span in the run of another process.
    joined: OpenSpan,
    _live: LiveContext,
}

impl OutermostSpan {
    pub(super) fn new(metadata: &'static Metadata<'static>) -> Self {
        Self {
            since: coarse_now(),
            metadata,
            run: OnceBox::new(),
        }
    }

    /// The span as those within it see it.
    pub(super) fn share(&self) -> SurroundingSpan {
        let none = || Box::new(Arc::new(OwnLock::new(OwnProcess::current(), None)));
        self.surrounding(self.run.get_or_init(none))
    }

    /// As [`share`](Self::share), if it may have a run by now.
    pub(super) fn shared(&self) -> Option<SurroundingSpan> {
        Some(self.surrounding(self.run.get()?))
    }

    fn surrounding(&self, run: &OutermostRunPlace) -> SurroundingSpan {
        SurroundingSpan {
            since: self.since,
            metadata: self.metadata,
            run: Arc::clone(run),
        }
    }

    /// The span has closed, and its run ends.
    pub(super) fn close(&self) {
        let run = self.run.get().and_then(|run| run.lock()?.take());
        if let Some(OutermostRun {
            context,
            run,
            mut joined,
            error,
            ..
        }) = run
        {
            let end = run.clock.now();
            let reported = error
                .or_else(|| panic::unwinding().map(|panic| panic.error))
                .or_else(|| run.tripped_in_joined());
            let is_inferred = reported.is_none();
            let error = reported.or_else(|| failure_within(&context));
            if let Some(error) = &error {
                fail(&run, &mut joined, error, is_inferred);
            }
            joined.end_on_recording_thread(EndTime::At(end));
            run.end(error, end);
        }
    }

    /// A panic left the span.
    pub(super) fn unwind(&self, error: ErrorInfo) {
        if let Some(mut place) = self.run.get().and_then(|run| run.lock())
            && let Some(run) = place.as_mut()
        {
            run.error.get_or_insert(error);
        }
    }
}

/// Why the work within a span failed, where nothing said so.
pub(super) fn failure_within(context: &Context) -> Option<ErrorInfo> {
    let ending = context.run.library.calls.lock()?.take_ending(context.span);
    ending?.into_failure()
}

/// Says of the root, or of the span that this process has in the run of another one, how it failed.
fn fail(run: &RunState, joined: &mut OpenSpan, error: &ErrorInfo, is_inferred: bool) {
    if let Some(mut editor) = joined.editor() {
        if is_inferred {
            editor.redacted().0.cleaned(names::INFERRED, INFERRED_ERROR);
        }
        editor.fail(error.clone());
    } else if is_inferred {
        let mut draft = Draft::default();
        draft.cleaned(names::INFERRED, INFERRED_ERROR);
        run.add_to(run.root_id(), draft);
    }
}

impl SurroundingSpan {
    /// An error was logged within it, at a place in the code. `#[instrument(err)]` does so where the span itself is.
    pub(super) fn fail_at(&self, place: &'static Metadata<'static>, error: &ErrorInfo) {
        if is_of(self.metadata, place)
            && let Some(mut run) = self.run.lock()
            && let Some(run) = run.as_mut()
        {
            run.error.get_or_insert_with(|| error.clone());
        }
    }

    /// The context of the run, if there is one by now.
    pub(super) fn context(&self) -> Option<Context> {
        let run = self.run.lock()?;
        run.as_ref().map(|run| run.context.clone())
    }

    /// The context of the run, which begins with this unless it has begun.
    pub(super) fn promote(&self, config: &Config) -> Option<Context> {
        let mut place = self.run.lock()?;
        if let Some(run) = place.as_ref() {
            return Some(run.context.clone());
        }
        let name = self.metadata.name();
        let new = start_run(name.to_owned(), self.metadata, config, Some(self.since))?;
        let run = Arc::clone(&new.context.run);
        let mut joined = OpenSpan::default();
        let mut context = new.context;
        if new.is_joined {
            joined = OpenSpan::under(context.clone(), EventType::Unknown, name);
            joined.start_on_recording_thread(OnDrop::End);
            context = joined.context().unwrap_or(context);
        }
        *place = Some(OutermostRun {
            context: context.clone(),
            run,
            error: None,
            joined,
            _live: LiveContext::begin(),
        });
        Some(context)
    }
}

//! Which spans and events the layer sees: what libraries report of agents, and the outermost spans around it.

use std::cell::Cell;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

use super::report;
use super::vocabulary::{describes_its_span, is_agent_span, is_below, is_body_target, is_noise};

thread_local! {
    /// Number of entered spans on this thread that a layer of this process sees.
    static ENTERED: Cell<u32> = const { Cell::new(0) };
}

/// The layer's interest in a callsite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Callsite {
    /// Its spans or events are recorded.
    Recorded,
    /// A span of the program, which counts where it is the outermost one.
    MaybeRoot,
    /// Nothing.
    Ignored,
}

/// A span that a layer sees is entered.
pub(super) fn count_enter() {
    ENTERED.set(ENTERED.get().saturating_add(1));
}

/// A span that a layer sees is left.
pub(super) fn count_exit() {
    ENTERED.set(ENTERED.get().saturating_sub(1));
}

/// Sees what libraries report of agents and nothing else, so that other layers and callsites are left as they are.
#[derive(Debug, Clone)]
pub(super) struct CallsiteFilter {
    targets: Vec<String>,
    bodies: bool,
}

impl CallsiteFilter {
    pub(super) fn new(targets: Vec<String>, bodies: bool) -> Self {
        Self { targets, bodies }
    }

    /// Returns whether spans of a callsite are recorded.
    pub(super) fn records(&self, metadata: &Metadata<'_>) -> bool {
        self.interest(metadata) == Callsite::Recorded
    }

    fn interest(&self, metadata: &Metadata<'_>) -> Callsite {
        let target = metadata.target();
        // A callsite that is no span is an event, or `enabled!`, by which rig asks whether its requests and replies are
        // wanted.
        if !metadata.is_span() {
            let is_recorded = if is_body_target(target) {
                self.bodies
            } else {
                // Records of the `log` crate have the target `log` here and their own in a field.
                let is_log = target == "log";
                (*metadata.level() <= Level::WARN && (is_log || !is_noise(target)))
                    || describes_its_span(metadata.fields())
            };
            return if is_recorded {
                Callsite::Recorded
            } else {
                Callsite::Ignored
            };
        }
        if is_agent_span(metadata) || self.targets.iter().any(|prefix| is_below(target, prefix)) {
            Callsite::Recorded
        } else if *metadata.level() <= Level::INFO && !is_noise(target) {
            Callsite::MaybeRoot
        } else {
            Callsite::Ignored
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Filter<S> for CallsiteFilter {
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match self.interest(metadata) {
            Callsite::Recorded => {
                report::callsite_seen(metadata);
                Interest::always()
            }
            Callsite::MaybeRoot => Interest::sometimes(),
            Callsite::Ignored => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        // Asked for each span of a foreign callsite. Whether another span is entered is known at once; a program with
        // several registries at least sees the outermost span of its first one.
        match self.interest(metadata) {
            Callsite::Recorded => true,
            Callsite::MaybeRoot => ENTERED.get() == 0,
            Callsite::Ignored => false,
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if self.bodies || !self.targets.is_empty() {
            LevelFilter::TRACE
        } else {
            LevelFilter::INFO
        })
    }
}

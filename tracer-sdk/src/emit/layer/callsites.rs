//! Which spans and events the layer sees: what libraries report of agents, and the outermost spans around it.

use std::cell::Cell;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

use super::known_callsites::{Callsite, KnownCallsites};
use super::report;
use super::vocabulary::{describes_its_span, is_agent_span, is_below, is_body_target, is_noise};

thread_local! {
    /// Number of entered spans on this thread that a layer of this process sees.
    static ENTERED: Cell<u32> = const { Cell::new(0) };

    /// The filter that asks at this moment what others want.
    static ASKING: Cell<Asking> = const { Cell::new(Asking { filter: 0, was_asked: false }) };
}

/// A filter that asks what others want.
#[derive(Debug, Clone, Copy)]
struct Asking {
    /// Its [`CallsiteFilter::identity`]; zero when no filter asks.
    filter: usize,
    /// It was asked itself, so that the others were, too.
    was_asked: bool,
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
    has_verbose_targets: bool,
    known: Arc<KnownCallsites>,
}

impl CallsiteFilter {
    pub(super) fn new(targets: Vec<String>, bodies: bool) -> Self {
        Self {
            has_verbose_targets: !targets.is_empty(),
            targets,
            bodies,
            known: Arc::new(KnownCallsites::new()),
        }
    }

    /// Returns whether spans of a callsite are recorded.
    pub(super) fn records(&self, metadata: &Metadata<'_>) -> bool {
        self.callsite(metadata) == Callsite::Recorded
    }

    /// Returns whether no layer wants a span: it is not the outermost one, and no other layer is interested in its
    /// callsite.
    #[inline]
    pub(super) fn is_for_nobody(&self, metadata: &Metadata<'_>) -> bool {
        ENTERED.get() != 0 && self.known.get(metadata) == Some(Callsite::OursAlone)
    }

    /// Finding for a callsite, looked up for every span.
    #[inline]
    fn callsite(&self, metadata: &Metadata<'_>) -> Callsite {
        self.known
            .get(metadata)
            .unwrap_or_else(|| self.find_out_all(metadata))
    }

    #[cold]
    fn find_out_all(&self, metadata: &Metadata<'_>) -> Callsite {
        let found = self.find_out(metadata);
        let Some(lasting) = self.known.lasting(metadata) else {
            return found;
        };
        if found != Callsite::MaybeRoot {
            self.known.remember(lasting, Some(found));
            return found;
        }
        let is_ours_alone = self.is_wanted_by_others(lasting) == Some(false);
        let remembered = if is_ours_alone {
            Callsite::OursAlone
        } else {
            Callsite::MaybeRoot
        };
        self.known.remember(lasting, Some(remembered));
        found
    }

    /// Returns whether another layer wants spans of a callsite; `None` when that cannot be known at this moment.
    ///
    /// Queries all layers of the subscriber as they were when it was installed; this one answers that it wants none.
    fn is_wanted_by_others(&self, metadata: &'static Metadata<'static>) -> Option<bool> {
        let before = ASKING.replace(Asking {
            filter: self.identity(),
            was_asked: false,
        });
        let interest = tracing::dispatcher::get_default(|dispatch| dispatch.register_callsite(metadata));
        let asked = ASKING.replace(before);
        // Within a subscriber's own work there is no default one, and no layer is queried.
        asked.was_asked.then(|| !interest.is_never())
    }

    /// Returns whether this filter is the one that queries the others; if so, notes that the query reached it, too.
    fn is_asking_others(&self) -> bool {
        let asking = ASKING.get();
        let is_it = asking.filter == self.identity();
        if is_it {
            ASKING.set(Asking {
                was_asked: true,
                ..asking
            });
        }
        is_it
    }

    /// Tells this filter from others for as long as it lives.
    fn identity(&self) -> usize {
        Arc::as_ptr(&self.known).addr()
    }

    fn find_out(&self, metadata: &Metadata<'_>) -> Callsite {
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
        if self.is_asking_others() {
            return Interest::never();
        }
        let found = self.find_out(metadata);
        // This is called again whenever other layers may want something else.
        self.known.remember(
            metadata,
            Some(found).filter(|found| *found != Callsite::MaybeRoot),
        );
        match found {
            Callsite::Recorded => {
                report::callsite_seen(metadata);
                Interest::always()
            }
            Callsite::MaybeRoot | Callsite::OursAlone => Interest::sometimes(),
            Callsite::Ignored => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        // Asked for each span of a foreign callsite. Whether another span is entered is known at once; a program with
        // several registries at least sees the outermost span of its first one.
        match self.callsite(metadata) {
            // The layer itself rejects `OursAlone` for all layers: else the registry would make a span that no layer
            // wants, which costs five times as much as all else.
            Callsite::Recorded | Callsite::OursAlone => true,
            Callsite::MaybeRoot => ENTERED.get() == 0,
            Callsite::Ignored => false,
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if self.bodies || self.has_verbose_targets {
            LevelFilter::TRACE
        } else {
            LevelFilter::INFO
        })
    }
}

#[cfg(test)]
mod tests {
    use tracing::{Dispatch, info_span};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    struct Other;

    impl<S: Subscriber> Layer<S> for Other {}

    /// Whether a span of the program is made outside of every other one, and within one.
    fn is_made(dispatch: &Dispatch) -> [bool; 2] {
        tracing::dispatcher::with_default(dispatch, || {
            let place = || info_span!(target: "shop::stock", "count");
            let metadata = place().metadata().expect("it is made");
            // As it is when the program's only subscriber is asked: from nowhere within it.
            tracing::callsite::rebuild_interest_cache();
            let outside = dispatch.enabled(metadata);
            count_enter();
            let within = dispatch.enabled(metadata);
            count_exit();
            [outside, within]
        })
    }

    #[test]
    fn a_span_within_another_one_is_not_made_for_nobody() {
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(crate::layer()));
        assert_eq!(is_made(&dispatch), [true, false]);
        let filtered = Other.with_filter(LevelFilter::ERROR);
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(filtered).with(crate::layer()));
        assert_eq!(is_made(&dispatch), [true, false], "an error is no span");
    }

    #[test]
    fn what_another_layer_wants_is_made() {
        let registry = tracing_subscriber::registry;
        for dispatch in [
            Dispatch::new(registry().with(Other).with(crate::layer())),
            Dispatch::new(registry().with(crate::layer()).with(Other)),
            Dispatch::new(
                registry()
                    .with(Other.with_filter(LevelFilter::INFO))
                    .with(crate::layer()),
            ),
            Dispatch::new(
                registry()
                    .with(crate::layer())
                    .with(Other.with_filter(LevelFilter::INFO)),
            ),
        ] {
            assert_eq!(is_made(&dispatch), [true, true]);
        }
    }

    #[test]
    fn a_layer_that_begins_to_want_it_is_heard() {
        let (level, reload) = tracing_subscriber::reload::Layer::new(LevelFilter::ERROR);
        let other = Other.with_filter(level);
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(crate::layer()).with(other));
        assert_eq!(is_made(&dispatch), [true, false]);
        let reloaded = tracing::dispatcher::with_default(&dispatch, || reload.reload(LevelFilter::INFO));
        reloaded.expect("the subscriber is there");
        assert_eq!(is_made(&dispatch), [true, true]);
    }
}

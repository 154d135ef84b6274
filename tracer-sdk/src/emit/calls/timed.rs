//! What all timed spans share: they are entered, hold children, end once, and are told as cancelled when given up.

use std::future::Future;

use crate::emit::context::{Context, ContextGuard};
use crate::emit::future::{InContext, TraceFutureExt};
use crate::emit::open_span::OpenSpan;
use crate::emit::panic::watched;
use crate::emit::recording::Recording;
use crate::emit::slot::{Edited, Slot};
use crate::format::SpanId;
use crate::guardrails::GuardrailExceeded;

/// A started span with what is gathered for it until it ends, or nothing outside of a run.
#[derive(Debug)]
pub(crate) struct Timed<G: Gathered = ()> {
    span: Slot,
    gathered: G,
}

/// What is gathered for a span while it is under way.
pub(crate) trait Gathered: Default {
    /// The span ends: this goes into it.
    fn tell(&self, span: &mut OpenSpan);
}

impl Gathered for () {
    fn tell(&self, _: &mut OpenSpan) {}
}

impl<G: Gathered> Timed<G> {
    #[inline]
    pub(crate) fn start(mut span: Slot, unanswered: Option<&'static str>) -> Result<Self, GuardrailExceeded> {
        let Some(_recording) = Recording::enter_or_count() else {
            return Ok(Self::nothing());
        };
        if let Some(span) = span.as_mut() {
            span.start(unanswered)?;
        }
        Ok(Self {
            span,
            gathered: G::default(),
        })
    }

    /// A span outside of every run.
    #[inline]
    pub(crate) fn nothing() -> Self {
        Self {
            span: Slot::default(),
            gathered: G::default(),
        }
    }

    pub(crate) fn edit(&mut self) -> Option<Edited<'_>> {
        self.span.edit()
    }

    /// The span and what is gathered for it.
    pub(crate) fn parts(&mut self) -> Option<(Edited<'_>, &mut G)> {
        Some((self.span.edit()?, &mut self.gathered))
    }

    pub(crate) fn id(&self) -> Option<SpanId> {
        self.span.as_ref().map(OpenSpan::id)
    }

    pub(crate) fn enter(&mut self) -> Option<ContextGuard> {
        self.context().map(|context| context.enter())
    }

    pub(crate) fn context(&mut self) -> Option<Context> {
        self.span.as_mut().map(OpenSpan::context)
    }

    pub(crate) fn in_scope<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let _guard = self.enter();
        watched(work)
    }

    pub(crate) fn instrument<F: Future>(&mut self, future: F) -> InContext<F> {
        future.in_optional_context(self.context())
    }

    #[inline]
    pub(crate) fn end(mut self) -> Result<(), GuardrailExceeded> {
        let Some(_recording) = Recording::enter_or_count() else {
            drop(self.span.take());
            return Ok(());
        };
        self.take().map_or(Ok(()), OpenSpan::end)
    }

    #[inline]
    fn take(&mut self) -> Option<OpenSpan> {
        let mut span = self.span.take()?;
        self.gathered.tell(&mut span);
        Some(span)
    }
}

impl<G: Gathered> Drop for Timed<G> {
    #[inline]
    fn drop(&mut self) {
        if !self.span.is_empty()
            && let Some(_recording) = Recording::enter_or_count()
            && let Some(span) = self.take()
        {
            span.end_dropped();
        }
    }
}

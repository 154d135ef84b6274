//! A place for an open span that is one word wide.
//!
//! Builders and timed spans hand it on by value at every call, and outside of a run it is empty: moving it must cost
//! nothing. The box is used again, so that a span does not allocate.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use super::open_span::OpenSpan;
use super::pool::Waiting;
use super::recording::Recording;
use crate::format::EventType;

/// An open span, or nothing outside of a run.
#[derive(Debug, Default)]
pub(crate) struct Slot(Option<Box<Option<OpenSpan>>>);

thread_local! {
    static EMPTY: Waiting<Option<OpenSpan>> = const { Waiting::new() };
}

impl Slot {
    /// A span under the current context, if there is one.
    #[inline]
    pub(crate) fn begin(event_type: EventType, name: impl Into<Cow<'static, str>>) -> Self {
        let Some(_recording) = Recording::enter_or_count() else {
            return Self::default();
        };
        OpenSpan::begin(event_type, name).map_or(Self(None), Self::holding)
    }

    fn holding(span: OpenSpan) -> Self {
        let mut place = EMPTY.try_with(Waiting::take).unwrap_or_default();
        *place = Some(span);
        Self(Some(place))
    }

    /// The span, to be changed; `None` as well while the thread records something else.
    #[inline]
    pub(crate) fn edit(&mut self) -> Option<Edited<'_>> {
        let span = self.0.as_mut()?.as_mut().as_mut()?;
        Some(Edited {
            span,
            _recording: Recording::enter()?,
        })
    }

    /// The span.
    #[inline]
    pub(crate) fn as_mut(&mut self) -> Option<&mut OpenSpan> {
        self.0.as_mut()?.as_mut().as_mut()
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The span, to be looked at.
    #[inline]
    pub(crate) fn as_ref(&self) -> Option<&OpenSpan> {
        self.0.as_ref()?.as_ref().as_ref()
    }

    /// Takes the span out.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<OpenSpan> {
        self.0.take().and_then(emptied)
    }
}

/// A span that is being changed: what its user code records meanwhile is dropped.
#[derive(Debug)]
pub(crate) struct Edited<'a> {
    span: &'a mut OpenSpan,
    _recording: Recording,
}

impl Deref for Edited<'_> {
    type Target = OpenSpan;

    #[inline]
    fn deref(&self) -> &OpenSpan {
        self.span
    }
}

impl DerefMut for Edited<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut OpenSpan {
        self.span
    }
}

/// Takes the span out of a box, which then waits for the next one.
fn emptied(mut place: Box<Option<OpenSpan>>) -> Option<OpenSpan> {
    let _recording = Recording::mark();
    let span = place.take();
    // A thread that is ending keeps none.
    let _ = EMPTY.try_with(|empty| empty.give(place));
    span
}

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        drop(self.take());
    }
}

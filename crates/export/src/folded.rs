//! Folded stacks, from which flame graphs are drawn: `run;parent;span 1234` on each line, sorted frame by frame. A stack has
//! at most 128 frames: what lies deeper is counted in a frame `(deeper)`.
//!
//! The number is the time in microseconds that passed in a span and in none of its children, or the tokens that its
//! model call used.

use std::io::{self, Write};

use tracer_runs::SpanStream;
use tracer_sdk::format::{Payload, Record, SpanRecord};

use super::ExportError;
use super::pieces::{ExportChunk, Pieces};
use super::stacks::{Frame, Stacks};
use tracer_insight::run_head::UNNAMED;
use tracer_insight::text;

/// The weight of a stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Weight {
    /// Microseconds in the span itself.
    #[default]
    Time,
    /// Tokens of model calls.
    Tokens,
}

/// Some spans as frames.
#[derive(Debug, Default)]
pub struct FoldedFrames {
    frames: Vec<Frame>,
    bytes: usize,
}

impl ExportChunk for FoldedFrames {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn count(&self) -> usize {
        self.frames.len()
    }
}

impl FoldedFrames {
    /// Adds a span, whose own weight is its time where it has no other one.
    fn push(&mut self, span: &SpanRecord, own: Option<u64>) {
        let start = span.start_time.instant().unix_microseconds();
        let end = span
            .end_time
            .as_ref()
            .map_or(start, |end| end.instant().unix_microseconds());
        let name = frame_name(&span.name);
        self.bytes += size_of::<Frame>() + name.len();
        self.frames.push(Frame {
            id: span.span_id,
            parent: span.parent_span_id,
            start,
            end: end.max(start),
            own,
            name,
        });
    }
}

/// The spans of a run, as [`write()`] takes them.
pub fn frames(weight: Weight, spans: &SpanStream) -> io::Result<Pieces<FoldedFrames>> {
    let mut spans = spans.clone();
    Pieces::new(spans.span_count(), move |number, frames: &mut FoldedFrames| {
        if let Some(span) = spans.read_span(number)? {
            let own = match weight {
                Weight::Time => None,
                Weight::Tokens => Some(tokens(spans.read_record(number)?.as_ref())),
            };
            frames.push(&span, own);
        }
        Ok(())
    })
}

/// Writes the stacks.
pub fn write(
    frames: impl IntoIterator<Item = Result<FoldedFrames, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut stacks = Stacks::default();
    for frames in frames {
        for frame in frames?.frames {
            stacks.add(frame);
        }
    }
    Ok(stacks.write(writer)?)
}

/// Only model calls count: agent spans repeat what their model calls used (decisions, section 2).
fn tokens(record: Option<&Record>) -> u64 {
    match record.map(|record| &record.payload) {
        Some(Payload::LlmCall { usage, .. }) => usage.total_tokens.unwrap_or(0),
        _ => 0,
    }
}

/// A name that keeps to its place: a semicolon parts the frames, a line break the stacks.
fn frame_name(name: &str) -> String {
    let name = text::printable(name).replace(';', ",");
    if name.trim().is_empty() {
        UNNAMED.to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn folded(weight: Weight) -> String {
        let mut out = Vec::new();
        let mut frames = FoldedFrames::default();
        let spans = samples::run();
        let records = tracer_sdk::spans_to_events(&spans);
        for span in spans {
            let id = span.span_id.to_string();
            let record = records.iter().find(|record| record.event_id == id);
            let own = (weight == Weight::Tokens).then(|| tokens(record));
            frames.push(&span, own);
        }
        write([Ok(frames)], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn time_is_that_in_which_no_child_was_at_work() {
        insta::assert_snapshot!(folded(Weight::Time));
    }

    #[test]
    fn tokens_are_those_of_model_calls() {
        insta::assert_snapshot!(folded(Weight::Tokens));
    }

    #[test]
    fn a_name_keeps_to_its_place() {
        assert_eq!(frame_name("a;b\nc"), "a,b␊c");
        assert_eq!(frame_name(" "), UNNAMED);
    }
}

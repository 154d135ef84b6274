//! Folded stacks, from which flame graphs are drawn: `run;parent;span 1234` on each line, sorted.
//!
//! The number is the time in microseconds that passed in a span and in none of its children, or the tokens that its
//! model call used.

use std::io::Write;

use tracer_sdk::format::{Payload, SpanRecord};

use super::stacks::{Frame, Stacks};
use super::{ExportError, own_record};
use crate::render::text;

/// What a stack weighs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Weight {
    /// Microseconds in the span itself.
    #[default]
    Time,
    /// Tokens of model calls.
    Tokens,
}

/// Writes the stacks.
pub fn write(
    weight: Weight,
    spans: impl IntoIterator<Item = Result<SpanRecord, ExportError>>,
    writer: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut stacks = Stacks::default();
    for span in spans {
        let span = span?;
        let start = span.start_time.instant().unix_microseconds();
        let end = span
            .end_time
            .as_ref()
            .map_or(start, |end| end.instant().unix_microseconds());
        stacks.add(Frame {
            id: span.span_id,
            parent: span.parent_span_id,
            start,
            end: end.max(start),
            own: match weight {
                Weight::Time => None,
                Weight::Tokens => Some(tokens(&span)),
            },
            name: frame_name(&span.name),
        });
    }
    for (stack, weight) in stacks.folded() {
        writeln!(writer, "{stack} {weight}")?;
    }
    Ok(())
}

/// Only model calls count: agent spans repeat what their model calls used (decisions, section 2).
fn tokens(span: &SpanRecord) -> u64 {
    match own_record(span).map(|record| record.payload) {
        Some(Payload::LlmCall { usage, .. }) => usage.total_tokens.unwrap_or(0),
        _ => 0,
    }
}

/// A name that keeps to its place: a semicolon parts the frames, a line break the stacks.
fn frame_name(name: &str) -> String {
    let name = text::printable(name).replace(';', ",");
    if name.trim().is_empty() {
        "(unnamed)".to_owned()
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
        write(weight, samples::run().into_iter().map(Ok), &mut out).unwrap();
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
        assert_eq!(frame_name(" "), "(unnamed)");
    }
}

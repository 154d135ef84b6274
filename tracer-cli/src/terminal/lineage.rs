//! The origin of a value in lines: the answer, then each place with its part in it.

use crate::terminal::layout::indented;
use tracer_insight::line::{Line, Tone};
use tracer_insight::lineage::{Lineage, ValuePlace};
use tracer_insight::text;

/// The answer in lines of at most `width` columns.
pub fn lines(lineage: &Lineage, width: usize) -> Vec<Line> {
    let mut lines = indented(&lineage.sentence, 0, width, Tone::Strong);
    let mut add = |role: &str, place: &ValuePlace| {
        let line = Line::of(format!("  {role:<10}"), Tone::Muted).with(&place.words, Tone::Plain);
        lines.push(line.fitted(width));
    };
    lineage.sources.iter().for_each(|place| add("source", place));
    lineage.candidates.iter().for_each(|place| add("also in", place));
    lineage.asked_by.iter().for_each(|place| add("asked by", place));
    lineage.used_by.iter().for_each(|place| add("passed to", place));
    if lineage.more > 0 {
        let more = format!("  … and {}", text::counted(lineage.more, "more place"));
        lines.push(Line::of(more, Tone::Muted).fitted(width));
    }
    lines.extend(
        lineage
            .limits
            .iter()
            .flat_map(|limit| indented(limit, 2, width, Tone::Warning)),
    );
    lines
}

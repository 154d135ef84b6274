//! The cells that every table of steps has: the number, the name below its parents, the duration.

use tracer_insight::fold::StepRow;
use tracer_insight::line::{Line, Tone};
use tracer_insight::steps::Step;
use tracer_insight::units;

/// Levels that are indented; deeper ones keep that indentation.
const MAX_INDENT_LEVELS: usize = 8;

/// The cells of one row.
#[derive(Debug)]
pub(super) struct RowCells<'a> {
    /// The step, or the first of those that repeat it.
    pub(super) step: &'a Step<'a>,
    pub(super) number: Line,
    pub(super) name: Line,
    pub(super) duration: Line,
}

impl<'a> RowCells<'a> {
    /// The cells, with names of at most `max_name_columns` columns; of a name itself at least `min_name_columns` are kept, however deep it
    /// is. `None` for a row without a step.
    pub(super) fn new(row: &StepRow<'a>, max_name_columns: usize, min_name_columns: usize) -> Option<Self> {
        let (number, step, duration) = match row {
            StepRow::Step(step) => (step.number.to_string(), *step, step.duration_words()),
            StepRow::Repeats(repeats) => (
                format!("×{}", repeats.steps.len()),
                repeats.steps.first()?,
                repeats
                    .duration()
                    .filter(|duration| *duration > 0)
                    .map(units::duration),
            ),
        };
        let tone = step.tone();
        let indent = 2 * step.depth.min(MAX_INDENT_LEVELS);
        let name = Line::new()
            .space(indent)
            .with(step.kind().glyph(), tone)
            .space(1)
            .with(step.name(), tone);
        // What was recorded after the fact has no duration that anybody knows.
        let duration = match duration {
            _ if step.in_flight => Line::of("open", Tone::Active),
            duration => Line::of(duration.unwrap_or_default(), Tone::Plain),
        };
        Some(Self {
            step,
            number: Line::of(number, Tone::Muted),
            name: name.fitted(max_name_columns.max(indent + min_name_columns)),
            duration,
        })
    }
}

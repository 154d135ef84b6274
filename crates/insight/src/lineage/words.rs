//! The sentences about where a value came from.

use super::{Lineage, LineageVerdict, PlaceKind, ValueMatch, ValuePlace};
use crate::marked_text::MarkedText;
use crate::text;

/// Bytes of a value and of a name that are shown.
const MAX_VALUE_BYTES: usize = 80;
const MAX_NAME_BYTES: usize = 60;
/// Sources in the sentence; the list has the others.
const MAX_NAMED: usize = 3;

/// `the result of #3 search_kb`
pub(super) fn place(place: &ValuePlace) -> MarkedText {
    let step = place
        .step
        .map(|step| text::step_ranges(&[step]))
        .unwrap_or_default();
    let own = |words: String| MarkedText::own(words);
    let named = |words: String| own(words).with_content(&place.name, MAX_NAME_BYTES);
    let words = match place.kind {
        PlaceKind::RunInput => own("the input of the run".to_owned()),
        PlaceKind::SystemPrompt => own(format!("the system prompt of {step}")),
        PlaceKind::UserMessage => named("the ".to_owned()).with(format!(" message of {step}")),
        PlaceKind::EarlierAnswer => own(format!("a message of the model in {step}, from before this run")),
        PlaceKind::ToolDefinition => named(format!("{step}: the definition of ")),
        PlaceKind::ToolResult => named(format!("the result of {step} ")),
        PlaceKind::State => own(format!("the state {step}")),
        PlaceKind::Answer | PlaceKind::Arguments => named(format!("{step} ")),
    };
    match place.found {
        ValueMatch::Verbatim => words,
        ValueMatch::Normalised => words.with(", written otherwise"),
        ValueMatch::Part => words.with(", in something longer"),
    }
}

/// `ORD-12 came from the result of #3 search_kb; #4 gpt-5 asked for it, passed to #7 refund.`
pub(super) fn sentence(lineage: &Lineage) -> MarkedText {
    let value = MarkedText::own("").with_content(&lineage.value, MAX_VALUE_BYTES);
    let asked = |text: MarkedText| match (&lineage.asked_by, &lineage.used_by) {
        (Some(asked), Some(used)) => text
            .with("; asked for by ")
            .and(place(asked))
            .with(", passed to ")
            .and(place(used)),
        (Some(asked), None) => text.with("; answered by ").and(place(asked)),
        (None, Some(used)) => text.with("; passed to ").and(place(used)),
        (None, None) => text,
    };
    let before = |text: MarkedText| match lineage.used_by.as_ref().or(lineage.asked_by.as_ref()) {
        Some(used) => text.with(" before ").and(place(&ValuePlace {
            found: ValueMatch::Verbatim,
            ..used.clone()
        })),
        None => text,
    };
    let text = match lineage.verdict {
        // Without a model that asked, the order of time alone says nothing of where a program had it from.
        LineageVerdict::Found => {
            let is_certain = lineage.asked_by.is_some() || lineage.used_by.is_none();
            let text = value.with(if is_certain {
                " came from "
            } else {
                " was before in "
            });
            let sources = lineage.sources.iter().take(MAX_NAMED).enumerate();
            let text = sources.fold(text, |text, (number, source)| {
                text.with(if number > 0 { ", and " } else { "" })
                    .and(place(source))
            });
            asked(match lineage.sources.len().saturating_sub(MAX_NAMED) {
                0 => text,
                more => text.with(format!(", and {}", text::counted(more as u64, "more place"))),
            })
        }
        LineageVerdict::MadeUp => {
            asked(before(value.with(" is in no input")).with(": the model made it up, or derived it"))
        }
        LineageVerdict::Common => before(value.with(" is too common to have one source"))
            .with("; give more of it, or the step that used it"),
        LineageVerdict::NotFound => {
            let where_else = match lineage.candidates.len() as u64 + lineage.more {
                0 => "",
                _ => "; it is elsewhere",
            };
            let text = value.with(" was not found verbatim in the recorded input");
            asked(before(text)).with(where_else)
        }
        LineageVerdict::Absent => value.with(" is in nothing that was recorded of this run"),
    };
    let limits = lineage.limits.iter();
    let text = limits.fold(text, |text, limit| text.with(format!("; {limit}")));
    text.stopped()
}

impl Lineage {
    /// The answer, with content of the trace apart from our own words.
    pub fn words(&self) -> MarkedText {
        sentence(self)
    }
}

impl ValuePlace {
    /// The place, with content of the trace apart from our own words.
    pub fn marked_words(&self) -> MarkedText {
        place(self)
    }
}

//! The evidence of a loop: the pattern, where it was repeated, what differed between the repetitions, what it cost.

use serde_json::Value;
use tracer_sdk::format::{EventType, Payload};
use tracer_sdk::read::Likeness;

use crate::line::{Line, Tone};
use crate::loops;
use crate::loops::Loop;
use crate::steps::Step;
use crate::{step_summary, summary, text, units, value_differences};

/// Where the facts begin.
const INDENT: usize = 15;
/// More differing fields are counted instead of listed.
const MOST_DIFFERENCES: usize = 3;
/// More values of a field are counted instead of listed.
const MOST_VALUES: usize = 4;

/// A card for each loop that the run was warned about, each after an empty line.
pub fn lines(steps: &[Step<'_>], width: usize) -> Vec<Line> {
    loops::find(steps)
        .iter()
        .flat_map(|found| card(found, width))
        .collect()
}

/// What was repeated and how often, `search ×5`.
pub fn title(found: &Loop<'_>) -> String {
    let Payload::LoopWarning {
        pattern, repetitions, ..
    } = &found.warning.record.payload
    else {
        return String::new();
    };
    let first = found.repetitions.first().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> = first.iter().map(|step| step.name()).collect();
    let what = if names.is_empty() {
        step_summary::word(pattern)
    } else {
        names.join(" → ")
    };
    let claimed = usize::try_from(*repetitions).unwrap_or(0);
    let no_loop = if found.likeness.is_loop() { "" } else { ", no loop" };
    format!("{what} ×{}{no_loop}", found.repetitions.len().max(claimed))
}

/// Why repetitions count as a loop though that is not known, or do not; `None` of those that ask the same.
pub fn judged(found: &Loop<'_>) -> Option<&'static str> {
    let mut steps = found.repetitions.iter().flatten();
    match found.likeness {
        Likeness::Same => None,
        Likeness::Unknown => {
            Some("what they asked and what came of it was not recorded, so it counts as a loop")
        }
        Likeness::Differs if steps.all(|step| step.record.event_type() == EventType::StateUpdate) => {
            Some("no loop: states are no calls")
        }
        Likeness::Differs => Some("no loop: the shapes repeat, and each time something else is asked"),
    }
}

fn card(found: &Loop<'_>, width: usize) -> Vec<Line> {
    let Payload::LoopWarning {
        pattern,
        pattern_type,
        repetitions,
        window_size,
        ..
    } = &found.warning.record.payload
    else {
        return Vec::new();
    };
    let title = Line::of("  ⟳ ", Tone::Warning)
        .with(title(found), Tone::Strong)
        .with(format!("  warned at #{}", found.warning.number), Tone::Muted);
    let mut lines = vec![Line::new(), title.fitted(width)];
    let mut fact = |label: &str, fact: &str| {
        for (index, part) in text::wrap(fact, width.saturating_sub(INDENT)).iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let line = Line::of(
                format!("    {label:<padding$}", padding = INDENT - 4),
                Tone::Muted,
            );
            lines.push(line.with(part, Tone::Plain).fitted(width));
        }
    };
    let kind = step_summary::word(pattern_type.as_deref().unwrap_or("repeated"));
    fact(
        "pattern",
        &format!(
            "{kind} ×{repetitions} in a window of {window_size}: {}",
            step_summary::word(pattern)
        ),
    );
    fact("evidence", &evidence(found));
    if let Some(judged) = judged(found) {
        fact("judged", judged);
    }
    for (label, told) in compared(found) {
        fact(label, &told);
    }
    if let Some(cost) = cost(found).filter(|_| found.likeness.is_loop()) {
        fact("cost", &cost);
    }
    fact("then", &then(found));
    lines
}

/// `#2–#4, and again #5–#8 after the warning`.
fn evidence(found: &Loop<'_>) -> String {
    let numbers = |repetitions: &[Vec<&Step<'_>>]| -> Vec<usize> {
        repetitions.iter().flatten().map(|step| step.number).collect()
    };
    let (before, after) = found
        .repetitions
        .split_at(found.in_evidence.min(found.repetitions.len()));
    let mut told = match (before.is_empty(), found.missing) {
        (true, _) => return "none of it is in this run".to_owned(),
        (false, 0) => summary::ranges(&numbers(before)),
        (false, missing) => format!(
            "{}, and {missing} not in this run",
            summary::ranges(&numbers(before))
        ),
    };
    if !after.is_empty() {
        told.push_str("; repeated on at ");
        told.push_str(&summary::ranges(&numbers(after)));
    }
    told
}

/// What went in and what came out, compared over the repetitions: of one call in two lines, of several in one each.
pub fn compared(found: &Loop<'_>) -> Vec<(&'static str, String)> {
    let Some(first) = found.repetitions.first().filter(|_| found.repetitions.len() > 1) else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    for (position, step) in first.iter().enumerate() {
        let column: Vec<&Payload> = found
            .repetitions
            .iter()
            .filter_map(|repetition| Some(&repetition.get(position)?.record.payload))
            .collect();
        let inputs: Vec<&Value> = column.iter().map(|payload| loops::input(payload)).collect();
        let outputs: Vec<&Value> = column.iter().map(|payload| loops::output(payload)).collect();
        let failures: Vec<Option<String>> = column
            .iter()
            .map(|payload| {
                step_summary::failure(payload).map(|failure| step_summary::word(&failure.error_type))
            })
            .collect();
        let before = if first.len() > 1 {
            format!("{}: ", step.name())
        } else {
            String::new()
        };
        let (asked, came) = match step.record.event_type() {
            EventType::LlmCall => ("prompts", "answers"),
            EventType::ToolCall => ("arguments", "results"),
            _ => ("states", ""),
        };
        if inputs.iter().any(|value| !value.is_null()) {
            facts.push((asked, format!("{before}{}", alike(&inputs))));
        }
        if failures.iter().all(Option::is_some) {
            let same = failures.windows(2).all(|pair| pair.first() == pair.last());
            let kinds: Vec<String> = failures.into_iter().flatten().take(MOST_VALUES).collect();
            let told = if same {
                format!(
                    "each failed with {}",
                    kinds.first().map(String::as_str).unwrap_or_default()
                )
            } else {
                format!("each failed: {}", kinds.join(", "))
            };
            facts.push((came, format!("{before}{told}")));
        } else if outputs.iter().any(|value| !value.is_null()) {
            facts.push((came, format!("{before}{}", alike(&outputs))));
        }
    }
    facts
}

/// `identical`, or the fields that differ with their values.
fn alike(values: &[&Value]) -> String {
    let differences = value_differences::between(values);
    if differences.is_empty() {
        return "identical".to_owned();
    }
    let hidden = differences.len().saturating_sub(MOST_DIFFERENCES);
    let told: Vec<String> = differences
        .iter()
        .take(MOST_DIFFERENCES)
        .map(|difference| {
            let mut values: Vec<String> = difference
                .values
                .iter()
                .take(MOST_VALUES)
                .map(|value| text::one_line(value.as_deref().unwrap_or("(none)"), 40))
                .collect();
            if difference.values.len() > MOST_VALUES {
                values.push(text::ELLIPSIS.to_owned());
            }
            let values = values.join(", ");
            if difference.path.is_empty() {
                values
            } else {
                format!("{}: {values}", difference.path)
            }
        })
        .collect();
    let more = if hidden > 0 {
        format!("; and {}", text::counted(hidden as u64, "more field"))
    } else {
        String::new()
    };
    format!("differ in {}{more}", told.join("; "))
}

/// `3 calls, 412 tokens, 880 ms after the first time`.
fn cost(found: &Loop<'_>) -> Option<String> {
    let cost = found.cost();
    if cost.steps == 0 {
        return None;
    }
    let mut told = vec![text::counted(cost.steps, "step")];
    told.extend(
        cost.tokens
            .total_tokens
            .map(|tokens| text::counted(tokens, "token")),
    );
    told.extend(cost.time.map(units::duration));
    Some(format!("{} from the first repeat on", told.join(", ")))
}

fn then(found: &Loop<'_>) -> String {
    match found.next {
        Some(step) => {
            let failure = step_summary::failure(&step.record.payload).map_or_else(String::new, |failure| {
                format!(", {}", step_summary::word(&failure.error_type))
            });
            format!("#{} {}{failure}", step.number, step.name())
        }
        None => "nothing more".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{Sample, error, failed_tool, loop_warning, state, tool};
    use crate::steps;
    use serde_json::json;

    /// The title, why it is a loop or none, how many steps repeating cost, and what came next.
    fn told(sample: &Sample) -> (String, Option<&'static str>, u64, Option<String>) {
        let sources = sample.sources();
        let steps = steps::steps(&sources, None);
        let loops = loops::find(&steps);
        let found = loops.first().unwrap();
        (
            title(found),
            judged(found).map(|judged| judged.split([':', ',']).next().unwrap()),
            found.cost().steps,
            found.next.map(Step::name),
        )
    }

    fn search(query: &str) -> Payload {
        tool("search", &json!({"q": query}), &json!([]))
    }

    #[test]
    fn a_loop_goes_on_behind_the_steps_between_and_so_does_its_cost() {
        let sample = Sample::new()
            .step(search("a"))
            .step(search("a"))
            .step(search("a"))
            .step(loop_warning(&[1, 2, 3]))
            .step(state(&json!({"n": 1})))
            .step(search("a"))
            .step(search("b"))
            .step(tool("read", &json!({}), &json!("x")))
            .step(search("a"))
            .step(tool("reply", &json!({}), &json!("x")));
        let expected = ("search ×5".to_owned(), None, 4, Some("reply".to_owned()));
        assert_eq!(told(&sample), expected);
    }

    #[test]
    fn repetitions_that_ask_something_else_are_no_loop_and_what_is_not_known_counts_as_one() {
        let files = Sample::new()
            .step(search("a"))
            .step(search("b"))
            .step(search("c"))
            .step(loop_warning(&[1, 2, 3]))
            .step(search("a"));
        let (title, judged, _, next) = told(&files);
        assert_eq!((title.as_str(), judged), ("search ×3, no loop", Some("no loop")));
        assert_eq!(next.as_deref(), Some("search"));
        let lines = |sample: &Sample| {
            let sources = sample.sources();
            let lines = lines(&steps::steps(&sources, None), 100);
            lines.iter().map(Line::text).collect::<Vec<String>>().join("\n")
        };
        assert!(!lines(&files).contains("cost"), "{}", lines(&files));

        let unknown = || tool("search", &json!(null), &json!(null));
        let unknown = Sample::new()
            .step(unknown())
            .step(unknown())
            .step(unknown())
            .step(loop_warning(&[1, 2, 3]));
        let (title, judged, cost, _) = told(&unknown);
        assert_eq!((title.as_str(), cost), ("search ×3", 2));
        assert!(judged.is_some());

        let tried = || failed_tool("search", &json!({"q": "a"}), error("RateLimited", "429"));
        let attempts = Sample::new()
            .step(tried())
            .step(tried())
            .step(search("a"))
            .step(loop_warning(&[1, 2, 3]));
        assert_eq!(told(&attempts).0, "search ×3, no loop");
    }
}

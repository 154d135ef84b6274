//! The words of a loop's evidence: what was repeated, where, what differed between the repetitions, and its cost.

use serde::Serialize;
use serde_json::Value;
use tracer_runs::Likeness;
use tracer_sdk::format::{EventType, Payload};

use super::{Loop, find, input, output};
use crate::line::{Line, Tone};
use crate::steps::Step;
use crate::{step_summary, text, units, value_differences, value_summary};

/// Column of the facts.
const INDENT: usize = 15;
/// More differing fields are counted instead of listed.
const MAX_DIFFERENCES: usize = 3;
/// Loops that have a card; more are counted.
const MAX_CARDS: usize = 2;
/// The facts of a card; the page of the warning has all.
const CARD: [&str; 8] = [
    "evidence",
    "then again",
    "judged",
    "arguments",
    "prompts",
    "answers",
    "results",
    "cost",
];
/// Text of a fact that all repetitions share.
const IDENTICAL: &str = "identical";
/// More values of a field are left out.
const MAX_VALUES: usize = 4;

/// A labelled fact about a loop.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct LoopFact {
    /// `evidence`, `cost`.
    pub label: &'static str,
    /// The numbers of the steps that the fact is about, in order; they precede its text.
    pub steps: Vec<usize>,
    /// The fact itself; may be empty where there are steps.
    pub text: String,
}

impl LoopFact {
    fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self {
            label,
            steps: Vec::new(),
            text: text.into(),
        }
    }

    fn about(label: &'static str, repetitions: &[Vec<&Step<'_>>], text: String) -> Self {
        let steps = repetitions.iter().flatten().map(|step| step.number).collect();
        Self { label, steps, text }
    }

    /// True for a fact that all repetitions share.
    fn is_identical(&self) -> bool {
        self.text == IDENTICAL || self.text.ends_with(&format!(": {IDENTICAL}"))
    }

    /// `#2–#4 and 1 not in this run`.
    fn line(&self) -> String {
        match (self.steps.is_empty(), self.text.is_empty()) {
            (true, _) => self.text.clone(),
            (false, true) => text::step_ranges(&self.steps),
            (false, false) => format!("{} {}", text::step_ranges(&self.steps), self.text),
        }
    }
}

/// A card for each loop that the run was warned about, each after an empty line: the first ones, without what the steps themselves
/// show. What was judged to be no loop has its title alone.
pub fn card_lines(steps: &[Step<'_>], width: usize) -> Vec<Line> {
    let mut loops = find(steps);
    loops.sort_by_key(|found| !found.likeness.is_loop());
    let cards = loops.iter().take(MAX_CARDS).flat_map(|found| card(found, width));
    let mut lines: Vec<Line> = cards.collect();
    if let Some(more) = loops.len().checked_sub(MAX_CARDS).filter(|more| *more > 0) {
        let more = format!("  … and {}", text::counted(more as u64, "more loop warning"));
        lines.push(Line::of(more, Tone::Muted).fitted(width));
    }
    lines
}

fn card(found: &Loop<'_>, width: usize) -> Vec<Line> {
    let warned = format!("  warned at #{}", found.warning.number);
    if !found.likeness.is_loop() {
        let title = format!("  {}{warned}", found.title());
        return vec![Line::of(title, Tone::Muted).fitted(width)];
    }
    let title = Line::of("  ⟳ ", Tone::Warning)
        .with(found.title(), Tone::Strong)
        .with(warned, Tone::Muted);
    let mut lines = vec![Line::new(), title.fitted(width)];
    for fact in found.facts().iter().filter(|fact| CARD.contains(&fact.label)) {
        let parts = text::wrap(&fact.line(), width.saturating_sub(INDENT));
        for (index, part) in parts.iter().enumerate() {
            let label = if index == 0 { fact.label } else { "" };
            let label = format!("    {label:<padding$}", padding = INDENT - 4);
            let line = Line::of(label, Tone::Muted).with(part, Tone::Plain);
            lines.push(line.fitted(width));
        }
    }
    lines
}

impl Loop<'_> {
    /// The repeated block, `search → read`; empty when its evidence is not in the run.
    pub fn block(&self) -> String {
        let first = self.repetitions.first().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<String> = first.iter().map(|step| step.name()).collect();
        names.join(" → ")
    }

    /// The repeated block and the number of its repetitions, `search ×5`; both as the warning has them where its evidence is
    /// not in the run.
    pub fn repeated(&self) -> String {
        let Payload::LoopWarning {
            pattern, repetitions, ..
        } = &self.warning.record.payload
        else {
            return String::new();
        };
        let mut block = self.block();
        if block.is_empty() {
            block = value_summary::label(pattern);
        }
        let claimed = usize::try_from(*repetitions).unwrap_or(0);
        match self.repetitions.len().max(claimed) {
            0 => block,
            repetitions => format!("{block} ×{repetitions}"),
        }
    }

    /// The same, with the remark that it is no loop where it is none.
    pub fn title(&self) -> String {
        let no_loop = if self.likeness.is_loop() { "" } else { ", no loop" };
        self.repeated() + no_loop
    }

    /// The loop in one sentence: `edit_file, then run_tests, 8 times, with identical arguments and results`.
    pub fn sentence(&self) -> String {
        let names: Vec<String> = self
            .repetitions
            .first()
            .map(|first| first.iter().map(|step| step.name()).collect())
            .unwrap_or_default();
        if names.is_empty() || !self.likeness.is_loop() {
            return self.title();
        }
        let sentence = format!("{}, {} times", names.join(", then "), self.repetitions.len());
        let facts = self.differences();
        let mut labels: Vec<&str> = facts.iter().map(|fact| fact.label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels.retain(|label| {
            facts
                .iter()
                .all(|fact| fact.label != *label || fact.is_identical())
        });
        if labels.is_empty() {
            return sentence;
        }
        format!("{sentence}, with identical {}", labels.join(" and "))
    }

    /// The facts that the sentence leaves open.
    pub fn further_facts(&self) -> Vec<LoopFact> {
        let mut facts = self.facts();
        facts.retain(|fact| !self.likeness.is_loop() || fact.label != "pattern" && !fact.is_identical());
        facts
    }

    /// The reason why the repetitions count as a loop, or do not; `None` for calls that are known to ask the same.
    pub fn judgement(&self) -> Option<&'static str> {
        let mut steps = self.repetitions.iter().flatten();
        match self.likeness {
            Likeness::Same => None,
            Likeness::Unknown => Some("neither inputs nor outputs were recorded, so it counts as a loop"),
            Likeness::Differs if steps.all(|step| step.record.event_type() == EventType::StateUpdate) => {
                Some("no loop: only states repeat")
            }
            Likeness::Differs => Some("no loop: the shapes repeat, but each call asks something else"),
        }
    }

    /// Everything there is to know about the loop, in the order in which it is read.
    pub fn facts(&self) -> Vec<LoopFact> {
        let Payload::LoopWarning {
            pattern,
            pattern_type,
            repetitions,
            window_size,
            ..
        } = &self.warning.record.payload
        else {
            return Vec::new();
        };
        let kind = value_summary::label(pattern_type.as_deref().unwrap_or("repeated"));
        let pattern = value_summary::label(pattern);
        let (before, after) = self
            .repetitions
            .split_at(self.in_evidence.min(self.repetitions.len()));
        let missing = match (before.is_empty(), self.missing) {
            (true, _) => "none of it is in this run".to_owned(),
            (false, 0) => String::new(),
            (false, missing) => format!("and {missing} not in this run"),
        };
        let mut facts = vec![
            LoopFact::new(
                "pattern",
                format!("{kind} ×{repetitions} in a window of {window_size}: {pattern}"),
            ),
            LoopFact::about("evidence", before, missing),
        ];
        if !after.is_empty() {
            facts.push(LoopFact::about("then again", after, String::new()));
        }
        facts.extend(
            self.judgement()
                .map(|judgement| LoopFact::new("judged", judgement)),
        );
        facts.extend(self.differences());
        let cost = self.cost_in_words().filter(|_| self.likeness.is_loop());
        facts.extend(cost.map(|cost| LoopFact::new("cost", cost)));
        facts.push(match self.next {
            Some(step) => {
                let failure = step_summary::failure(&step.record.payload);
                let failure = failure.map_or_else(String::new, |failure| {
                    format!(", {}", value_summary::label(&failure.error_type))
                });
                LoopFact::about("then", &[vec![step]], step.name() + &failure)
            }
            None => LoopFact::new("then", "nothing more"),
        });
        facts
    }

    /// Inputs and outputs compared over the repetitions.
    fn differences(&self) -> Vec<LoopFact> {
        let Some(first) = self.repetitions.first().filter(|_| self.repetitions.len() > 1) else {
            return Vec::new();
        };
        let mut facts = Vec::new();
        for (position, step) in first.iter().enumerate() {
            let column: Vec<&Payload> = self
                .repetitions
                .iter()
                .filter_map(|repetition| Some(&repetition.get(position)?.record.payload))
                .collect();
            let inputs: Vec<&Value> = column.iter().map(|payload| input(payload)).collect();
            let outputs: Vec<&Value> = column.iter().map(|payload| output(payload)).collect();
            let name = if first.len() > 1 {
                step.name() + ": "
            } else {
                String::new()
            };
            let (input_label, output_label) = match step.record.event_type() {
                EventType::LlmCall => ("prompts", "answers"),
                EventType::ToolCall => ("arguments", "results"),
                _ => ("states", ""),
            };
            if inputs.iter().any(|value| !value.is_null()) {
                facts.push(LoopFact::new(input_label, name.clone() + &compared(&inputs)));
            }
            if let Some(failures) = all_failures(&column) {
                facts.push(LoopFact::new(output_label, name + &failures));
            } else if outputs.iter().any(|value| !value.is_null()) {
                facts.push(LoopFact::new(output_label, name + &compared(&outputs)));
            }
        }
        facts
    }

    /// `3 steps, 412 tokens, 880 ms after the first time`.
    fn cost_in_words(&self) -> Option<String> {
        let cost = self.cost();
        if cost.steps == 0 {
            return None;
        }
        let mut parts = vec![text::counted(cost.steps, "step")];
        let tokens = cost.tokens.total_tokens;
        parts.extend(tokens.map(|tokens| text::counted(tokens, "token")));
        parts.extend(cost.time.map(units::duration));
        Some(format!("{} after the first time", parts.join(", ")))
    }
}

/// `each failed with Timeout`; `None` unless all of them failed.
fn all_failures(column: &[&Payload]) -> Option<String> {
    let kinds: Vec<String> = column
        .iter()
        .map(|payload| {
            step_summary::failure(payload).map(|failure| value_summary::label(&failure.error_type))
        })
        .collect::<Option<_>>()?;
    let first = kinds.first()?;
    if kinds.iter().all(|kind| kind == first) {
        return Some(format!("each failed with {first}"));
    }
    let kinds = kinds.get(..MAX_VALUES).unwrap_or(&kinds);
    Some(format!("each failed: {}", kinds.join(", ")))
}

/// `identical`, or the fields that differ with their values.
fn compared(values: &[&Value]) -> String {
    let differences = value_differences::between(values);
    if differences.is_empty() {
        return IDENTICAL.to_owned();
    }
    let hidden = differences.len().saturating_sub(MAX_DIFFERENCES);
    let fields: Vec<String> = differences
        .iter()
        .take(MAX_DIFFERENCES)
        .map(|difference| {
            let mut values: Vec<String> = difference
                .values
                .iter()
                .take(MAX_VALUES)
                .map(|value| {
                    let said = value.as_deref().filter(|value| !value.trim().is_empty());
                    text::one_line(said.unwrap_or("(none)"), 40)
                })
                .collect();
            values.dedup();
            if difference.values.len() > MAX_VALUES {
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
    format!("differ in {}{more}", fields.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{Sample, error, failed_tool, loop_warning, state, tool};
    use crate::steps;
    use serde_json::json;

    /// The title, why it is a loop or none, how many steps repeating cost, and what came next.
    fn evidence(sample: &Sample) -> (String, Option<&'static str>, u64, Option<String>) {
        let sources = sample.sources();
        let steps = steps::steps(&sources, None);
        let loops = find(&steps);
        let found = loops.first().unwrap();
        (
            found.title(),
            found
                .judgement()
                .map(|judgement| judgement.split([':', ',']).next().unwrap()),
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
        assert_eq!(evidence(&sample), expected);
    }

    #[test]
    fn a_loop_is_one_sentence_that_no_fact_repeats() {
        let edit = || tool("edit", &json!({"path": "a"}), &json!("ok"));
        let check = |number: usize| tool("check", &json!({}), &json!({"failed": number}));
        let sample = (0..3).fold(Sample::new(), |sample, number| {
            sample.step(edit()).step(check(number))
        });
        let mut warning = loop_warning(&[1, 2, 3, 4, 5, 6]);
        if let Payload::LoopWarning { pattern_length, .. } = &mut warning {
            *pattern_length = Some(2);
        }
        let sample = sample.step(warning);
        let sources = sample.sources();
        let steps = steps::steps(&sources, None);
        let found = find(&steps);
        let sentence = "edit, then check, 3 times, with identical arguments";
        assert_eq!(found[0].sentence(), sentence);
        let facts = found[0].further_facts();
        assert!(
            facts
                .iter()
                .any(|fact| fact.text.starts_with("check: differ in failed")),
            "{facts:?}"
        );
        assert!(facts.iter().all(|fact| !fact.is_identical()), "{facts:?}");
    }

    #[test]
    fn repetitions_that_ask_something_else_are_no_loop_and_what_is_not_known_counts_as_one() {
        let files = Sample::new()
            .step(search("a"))
            .step(search("b"))
            .step(search("c"))
            .step(loop_warning(&[1, 2, 3]))
            .step(search("a"));
        let (title, judged, _, next) = evidence(&files);
        assert_eq!((title.as_str(), judged), ("search ×3, no loop", Some("no loop")));
        assert_eq!(next.as_deref(), Some("search"));
        let lines = |sample: &Sample| {
            let sources = sample.sources();
            let lines = card_lines(&steps::steps(&sources, None), 100);
            lines.iter().map(Line::text).collect::<Vec<String>>().join("\n")
        };
        assert!(!lines(&files).contains("cost"), "{}", lines(&files));

        let unknown = || tool("search", &json!(null), &json!(null));
        let unknown = Sample::new()
            .step(unknown())
            .step(unknown())
            .step(unknown())
            .step(loop_warning(&[1, 2, 3]));
        let (title, judged, cost, _) = evidence(&unknown);
        assert_eq!((title.as_str(), cost), ("search ×3", 2));
        assert!(judged.is_some());

        let tried = || failed_tool("search", &json!({"q": "a"}), error("RateLimited", "429"));
        let attempts = Sample::new()
            .step(tried())
            .step(tried())
            .step(search("a"))
            .step(loop_warning(&[1, 2, 3]));
        assert_eq!(evidence(&attempts).0, "search ×3, no loop");
    }
}

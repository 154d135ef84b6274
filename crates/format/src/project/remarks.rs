//! Remarks on a step in its `meta`: ratings, guardrails, decisions, hand-overs.

use serde_json::{Map, Value};

use super::classify::passes;
use super::flat;
use super::values::Lookup;
use crate::SpanRecord;
use crate::vocabulary::{
    ANSWER_TOOL_OF_TYPE, ANSWER_TOOLS, EVALUATIONS, FLAT_EVALUATIONS, GUARDRAILS, HAND_OVER_BY_ARGUMENT,
    HAND_OVER_TOOLS, REMARKS, RemarkKind, VERDICTS,
};

/// Remarks of one kind that are kept of a step.
const MAX_REMARKS: usize = 64;

/// Adds the remarks on a step to its `meta`; what its emitter has there stays.
pub(super) fn add(span: &SpanRecord, meta: &mut Map<String, Value>) {
    for kind in REMARKS {
        let in_events = span.events.iter().filter(|event| {
            let names = kind.events.iter().map(|(_, name)| *name);
            names.clone().any(|name| name == event.name)
        });
        let mut remarks: Vec<Value> = in_events
            .filter_map(|event| remark(kind, &event.attributes, None))
            .collect();
        let is_own = kind
            .spans
            .iter()
            .any(|(_, test)| passes(test, &span.name, &span.attributes));
        if is_own {
            remarks.extend(remark(kind, &span.attributes, Some(span)));
        }
        if kind.key == EVALUATIONS {
            remarks.extend(flat_evaluations(&span.attributes));
        }
        remarks.truncate(MAX_REMARKS);
        if !remarks.is_empty() {
            meta.entry(kind.key).or_insert(Value::Array(remarks));
        }
    }
}

/// The remark that attributes are; `None` where none of its fields is there. `span` is the one that they are of.
fn remark(kind: &RemarkKind, attributes: &Map<String, Value>, span: Option<&SpanRecord>) -> Option<Value> {
    let mut fields = Map::new();
    for (field, keys) in kind.fields {
        let found = keys.iter().find(|key| attributes.says(key));
        if let Some(value) = found.and_then(|key| attributes.get(*key)) {
            fields.insert((*field).to_owned(), value.clone());
        }
    }
    if kind.key == GUARDRAILS {
        judge(&mut fields, attributes);
        if let (Some(span), false) = (span, fields.contains_key("name")) {
            fields.insert("name".to_owned(), Value::from(span.name.as_str()));
        }
    }
    // A response names itself in each event: alone it says nothing.
    let says_something = fields.keys().any(|field| field != "response_id");
    says_something.then_some(Value::Object(fields))
}

/// Says whether a guardrail was triggered, where that is known: as a truth value.
fn judge(fields: &mut Map<String, Value>, attributes: &Map<String, Value>) {
    const OUTPUTS: [&str; 3] = [
        "output.value",
        "gen_ai.guardrail.output",
        "langfuse.observation.output",
    ];
    const WORDS: [&str; 2] = ["tripwire_triggered", "triggered"];
    let in_output = || {
        let structure = OUTPUTS.iter().find_map(|key| attributes.structure_at(key))?;
        WORDS.iter().find_map(|word| structure.get(word)?.as_bool())
    };
    let said = fields.remove("triggered").as_ref().and_then(truth);
    let of_verdict = || {
        let verdict = fields.get("verdict").or_else(|| fields.get("action"))?.as_str()?;
        let known = VERDICTS
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(verdict));
        known.map(|(_, is_triggered)| *is_triggered)
    };
    if let Some(is_triggered) = said.or_else(in_output).or_else(of_verdict) {
        fields.insert("triggered".to_owned(), is_triggered.into());
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Ratings that are spread over attributes, `evaluations.0.evaluation.name`.
fn flat_evaluations(attributes: &Map<String, Value>) -> Vec<Value> {
    const FIELDS: [&str; 4] = ["name", "score", "label", "explanation"];
    let lists = FLAT_EVALUATIONS
        .iter()
        .filter(|(_, key)| attributes.has_beginning(&format!("{key}.")))
        .filter_map(|(_, key)| flat::list(attributes, key));
    let items = lists.flat_map(|list| match list {
        Value::Array(items) => items,
        _ => Vec::new(),
    });
    let ratings = items.filter_map(|item| {
        let item = ["evaluation", "annotation"]
            .iter()
            .find_map(|wrapper| item.get(wrapper))
            .unwrap_or(&item);
        let fields: Map<String, Value> = FIELDS
            .iter()
            .filter_map(|field| Some(((*field).to_owned(), item.get(field)?.clone())))
            .collect();
        (!fields.is_empty()).then_some(Value::Object(fields))
    });
    ratings.collect()
}

/// Returns whether a tool of this name ends the work of its agent: it is the form of its answer, or hands over to another
/// one. It may bring no result, and has not failed then.
#[must_use]
pub fn is_closing_tool(name: &str) -> bool {
    ANSWER_TOOLS.contains(&name)
        || name.starts_with(ANSWER_TOOL_OF_TYPE)
        || name == HAND_OVER_BY_ARGUMENT
        || agent_in_name(name).is_some()
}

/// The agent that a tool of this name hands over to. The words of the beginning may be divided in any way, but they end where
/// the agent begins: `transfer_tokens` is no hand-over.
pub(super) fn agent_in_name(tool: &str) -> Option<&str> {
    let rest = |beginning: &&str| {
        let mut rest = tool.chars();
        let mut last = None;
        for letter in beginning.chars().filter(|char| char.is_alphanumeric()) {
            last = rest.find(|char| char.is_alphanumeric());
            if !last?.eq_ignore_ascii_case(&letter) {
                return None;
            }
        }
        let next = rest.clone().next()?;
        let is_divided =
            !next.is_alphanumeric() || next.is_uppercase() && last.is_some_and(char::is_lowercase);
        is_divided.then(|| {
            rest.as_str()
                .trim_start_matches(|char: char| !char.is_alphanumeric())
        })
    };
    HAND_OVER_TOOLS
        .iter()
        .find_map(rest)
        .filter(|agent| !agent.is_empty())
}

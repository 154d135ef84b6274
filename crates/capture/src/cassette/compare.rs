//! In what two requests differ, and where in the agent that comes from.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use tracer_insight::text::one_line;

use super::normalise::{NormalRequest, TOOL_LISTS, tool_name};
use super::shapes::{self, MarkedPiece};

/// The longest text of a difference that is shown, in characters.
const MAX_SHOWN: usize = 160;
/// Characters that are shown before the first difference.
const BEFORE_DIFFERENCE: usize = 40;
/// Differences are counted up to here.
const MAX_DIFFERENCES: usize = 1000;

/// The first place in which a request differs from a recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Path of the place: `messages[5].content`.
    pub path: String,
    /// Part of the agent that the place comes from.
    pub origin: DifferenceOrigin,
    /// Recorded value; `None` when there was none.
    pub recorded: Option<String>,
    /// Current value; `None` when there is none.
    pub now: Option<String>,
}

/// Which part of an agent a place in a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceOrigin {
    /// The model that the request names.
    Model,
    /// The system prompt.
    SystemPrompt,
    /// The definition of a tool; `None` for the tools as a whole.
    ToolDefinition(Option<String>),
    /// The result of a tool.
    ToolResult {
        /// The tool, if the request says.
        tool: Option<String>,
        /// The identifier of the call.
        call_id: Option<String>,
        /// The recorded call whose answer asked for it.
        call: Option<u64>,
    },
    /// A message of the user.
    UserMessage,
    /// An answer of the model, as the agent hands it back.
    Answer,
    /// A parameter, such as the temperature.
    Parameter(String),
    /// The path of the request.
    Path,
}

impl std::fmt::Display for DifferenceOrigin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model => formatter.write_str("the model"),
            Self::SystemPrompt => formatter.write_str("system prompt"),
            Self::ToolDefinition(Some(tool)) => write!(formatter, "definition of tool {tool}"),
            Self::ToolDefinition(None) => formatter.write_str("the tools"),
            Self::ToolResult { tool, call, .. } => {
                formatter.write_str("result of ")?;
                match tool {
                    Some(tool) => write!(formatter, "tool {tool}")?,
                    None => formatter.write_str("a tool")?,
                }
                match call {
                    Some(call) => write!(formatter, ", call {call}"),
                    None => Ok(()),
                }
            }
            Self::UserMessage => formatter.write_str("message of the user"),
            Self::Answer => formatter.write_str("earlier answer of the model"),
            Self::Parameter(name) => write!(formatter, "parameter {name}"),
            Self::Path => formatter.write_str("path of the request"),
        }
    }
}

/// Result of comparing two requests.
#[derive(Debug)]
pub(super) struct RequestComparison {
    /// Number of leaves that differ.
    pub(super) count: usize,
    /// Number of equal messages, from the first one.
    pub(super) common_messages: usize,
    pub(super) first: Option<Difference>,
}

/// Compares a recorded request with the current one.
pub(super) fn compare(recorded: &NormalRequest, now: &NormalRequest) -> RequestComparison {
    let mut comparer = Comparer::default();
    if recorded.place != now.place {
        comparer.note(Some(recorded.place.clone()), Some(now.place.clone()));
    }
    comparer.values(&recorded.body, &now.body);
    // A setting of the agent comes before the differences that follow from it.
    let first = comparer.differences.iter().min_by_key(|found| found.rank());
    let common_messages = messages(&recorded.body)
        .iter()
        .zip(messages(&now.body))
        .take_while(|(left, right)| {
            let mut comparer = Comparer::default();
            comparer.values(left, right);
            comparer.count == 0
        })
        .count();
    RequestComparison {
        count: comparer.count,
        common_messages,
        first: first.map(|found| found.difference(&recorded.body, &now.body)),
    }
}

fn messages(body: &Value) -> &[Value] {
    let lists = ["messages", "input", "contents"];
    let list = lists.iter().find_map(|list| body[*list].as_array());
    list.map_or(&[], Vec::as_slice)
}

/// A step from a value to one within it.
#[derive(Debug, Clone)]
enum PlaceStep {
    Member(String),
    Item(usize),
}

#[derive(Debug)]
struct Found {
    path: Vec<PlaceStep>,
    recorded: Option<String>,
    now: Option<String>,
}

#[derive(Debug, Default)]
struct Comparer {
    path: Vec<PlaceStep>,
    differences: Vec<Found>,
    count: usize,
    /// Current identifier by recorded one.
    ids: HashMap<String, String>,
    back: HashMap<String, String>,
}

impl Comparer {
    fn note(&mut self, recorded: Option<String>, now: Option<String>) {
        self.count += 1;
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(Found {
                path: self.path.clone(),
                recorded,
                now,
            });
        }
    }

    fn differ(&mut self, recorded: Option<&Value>, now: Option<&Value>) {
        let text = |value: &Value| match value {
            Value::String(text) => unmarked(text),
            value => unmarked(&value.to_string()),
        };
        self.note(recorded.map(text), now.map(text));
    }

    /// Compares what is one step further, where either may lack it.
    fn step(&mut self, step: PlaceStep, recorded: Option<&Value>, now: Option<&Value>) {
        self.path.push(step);
        match (recorded, now) {
            (Some(recorded), Some(now)) => self.values(recorded, now),
            _ => self.differ(recorded, now),
        }
        self.path.pop();
    }

    fn values(&mut self, recorded: &Value, now: &Value) {
        match (recorded, now) {
            (Value::Object(left), Value::Object(right)) => {
                let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
                for key in keys {
                    self.step(PlaceStep::Member(key.clone()), left.get(key), right.get(key));
                }
            }
            (Value::Array(left), Value::Array(right)) => {
                let is_tools = matches!(self.path.last(), Some(PlaceStep::Member(key)) if TOOL_LISTS.contains(&key.as_str()));
                if is_tools {
                    return self.tools(left, right);
                }
                for position in 0..left.len().max(right.len()) {
                    let step = PlaceStep::Item(position);
                    self.step(step, left.get(position), right.get(position));
                }
            }
            (Value::String(left), Value::String(right)) => {
                if !self.is_same_text(left, right) {
                    self.differ(Some(recorded), Some(now));
                }
            }
            (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => {}
            (left, right) if left == right => {}
            (left, right) => self.differ(Some(left), Some(right)),
        }
    }

    /// Tools are compared by name; a place is that in the request of now, of a tool that is gone the recorded one.
    fn tools(&mut self, left: &[Value], right: &[Value]) {
        let mut gone: Vec<(usize, &Value)> = left.iter().enumerate().collect();
        for (position, tool) in right.iter().enumerate() {
            let same = gone
                .iter()
                .position(|(_, other)| tool_name(other) == tool_name(tool));
            let recorded = same.map(|same| gone.remove(same).1);
            self.step(PlaceStep::Item(position), recorded, Some(tool));
        }
        for (position, tool) in gone {
            self.step(PlaceStep::Item(position), Some(tool), None);
        }
    }

    /// Returns whether two texts are equal, apart from identifiers that correspond to each other.
    fn is_same_text(&mut self, left: &str, right: &str) -> bool {
        let (left, right) = (shapes::divided(left), shapes::divided(right));
        if left.len() != right.len() {
            return false;
        }
        let is_known = |ids: &mut HashMap<String, String>, from: &str, to: &str| {
            ids.entry(from.to_owned()).or_insert_with(|| to.to_owned()) == to
        };
        left.iter().zip(&right).all(|pair| match pair {
            (MarkedPiece::Text(left), MarkedPiece::Text(right)) => left == right,
            (MarkedPiece::Id(left), MarkedPiece::Id(right)) => {
                is_known(&mut self.ids, left, right) & is_known(&mut self.back, right, left)
            }
            _ => false,
        })
    }
}

impl Found {
    /// Rank by origin: settings of the agent first, then the differences that follow from others.
    fn rank(&self) -> usize {
        match self.path.first() {
            None => 0,
            Some(PlaceStep::Member(key)) => match key.as_str() {
                "model" => 1,
                "system" | "instructions" | "systemInstruction" | "system_instruction" => 2,
                "tools" | "functions" => 3,
                "messages" | "input" | "contents" | "prompt" => 4,
                _ => 5,
            },
            Some(PlaceStep::Item(_)) => 6,
        }
    }

    fn difference(&self, recorded: &Value, now: &Value) -> Difference {
        let body = if self.now.is_some() { now } else { recorded };
        let (recorded, now) = excerpts(self.recorded.as_deref(), self.now.as_deref());
        Difference {
            path: path_text(&self.path),
            origin: origin(&self.path, body),
            recorded,
            now,
        }
    }
}

/// The origin of a place in a request with this body.
fn origin(path: &[PlaceStep], body: &Value) -> DifferenceOrigin {
    let Some((PlaceStep::Member(first), behind)) = path.split_first() else {
        return DifferenceOrigin::Path;
    };
    match first.as_str() {
        // Code Assist wraps Gemini's request.
        "request" if !behind.is_empty() => origin(behind, body.get("request").unwrap_or(body)),
        "model" => DifferenceOrigin::Model,
        "system" | "instructions" | "systemInstruction" | "system_instruction" => {
            DifferenceOrigin::SystemPrompt
        }
        "tools" | "functions" => DifferenceOrigin::ToolDefinition(tool(path, body)),
        "prompt" => DifferenceOrigin::UserMessage,
        "messages" | "input" | "contents" => message_origin(behind, body, first),
        name => DifferenceOrigin::Parameter(name.to_owned()),
    }
}

/// The innermost tool on the way.
fn tool(path: &[PlaceStep], body: &Value) -> Option<String> {
    let mut value = body;
    let mut found = None;
    for step in path {
        let is_list = match step {
            PlaceStep::Member(key) => {
                value = value.get(key)?;
                TOOL_LISTS.contains(&key.as_str())
            }
            PlaceStep::Item(position) => {
                let Some(item) = value.get(position) else { break };
                value = item;
                found = tool_name(item).or(found);
                false
            }
        };
        if found.is_some() && !is_list {
            break;
        }
    }
    found.map(str::to_owned)
}

fn message_origin(behind: &[PlaceStep], body: &Value, list: &str) -> DifferenceOrigin {
    let Some(PlaceStep::Item(position)) = behind.first() else {
        return DifferenceOrigin::UserMessage;
    };
    let Some(message) = body.get(list).and_then(|list| list.get(position)) else {
        return DifferenceOrigin::UserMessage;
    };
    let part = match behind {
        [_, PlaceStep::Member(parts), PlaceStep::Item(part), ..] => message[parts].get(part),
        _ => None,
    };
    // A message of results may be replaced as a whole.
    let first_part = ["content", "parts"]
        .iter()
        .find_map(|parts| message[*parts].get(0))
        .filter(|_| behind.len() <= 2);
    if let Some(result) = [Some(message), part, first_part]
        .into_iter()
        .flatten()
        .find(|part| is_result(part))
    {
        let first = |keys: &[&str]| keys.iter().find_map(|key| result[*key].as_str());
        let call_id = first(&["tool_call_id", "tool_use_id", "call_id"]).map(unmarked);
        let named = first(&["tool_name", "name"]).or(result["functionResponse"]["name"].as_str());
        let tool = named
            .map(str::to_owned)
            .or_else(|| call_id.as_deref().and_then(|id| name_of_call(body, id)));
        return DifferenceOrigin::ToolResult {
            tool,
            call_id,
            call: None,
        };
    }
    match message["role"].as_str() {
        Some("system" | "developer") => DifferenceOrigin::SystemPrompt,
        Some("assistant" | "model") => DifferenceOrigin::Answer,
        _ if message["type"].as_str().is_some_and(|kind| kind != "message") => DifferenceOrigin::Answer,
        _ => DifferenceOrigin::UserMessage,
    }
}

/// The text with its identifiers as they are.
fn unmarked(text: &str) -> String {
    let pieces = shapes::divided(text).into_iter();
    pieces
        .map(|piece| match piece {
            MarkedPiece::Text(text) | MarkedPiece::Id(text) => text,
        })
        .collect()
}

fn is_result(value: &Value) -> bool {
    matches!(value["role"].as_str(), Some("tool" | "function"))
        || matches!(
            value["type"].as_str(),
            Some("tool_result" | "function_call_output" | "custom_tool_call_output")
        )
        || value.get("functionResponse").is_some()
}

/// The name of the tool that a call with this identifier, marked or not, is of.
fn name_of_call(value: &Value, id: &str) -> Option<String> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| name_of_call(item, id)),
        Value::Object(members) => {
            let is_id = |key: &str| value[key].as_str().is_some_and(|text| unmarked(text) == id);
            let name = value.get("name").unwrap_or(&value["function"]["name"]);
            match name.as_str() {
                Some(name) if is_id("id") || is_id("call_id") => Some(name.to_owned()),
                _ => members.values().find_map(|member| name_of_call(member, id)),
            }
        }
        _ => None,
    }
}

fn path_text(path: &[PlaceStep]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            PlaceStep::Member(key) if text.is_empty() => text.push_str(key),
            PlaceStep::Member(key) => {
                text.push('.');
                text.push_str(key);
            }
            PlaceStep::Item(position) => text.extend(["[", &position.to_string(), "]"]),
        }
    }
    if text.is_empty() { "path".to_owned() } else { text }
}

/// The texts from shortly before where they begin to differ.
fn excerpts(recorded: Option<&str>, now: Option<&str>) -> (Option<String>, Option<String>) {
    let common = match (recorded, now) {
        (Some(left), Some(right)) => left
            .chars()
            .zip(right.chars())
            .take_while(|(a, b)| a == b)
            .count(),
        _ => 0,
    };
    let skipped = common.saturating_sub(BEFORE_DIFFERENCE);
    let excerpt = |text: &str| {
        let shown: String = text.chars().skip(skipped).take(MAX_SHOWN + 1).collect();
        let start = if skipped > 0 { "…" } else { "" };
        format!("{start}{}", one_line(&shown, MAX_SHOWN))
    };
    (recorded.map(excerpt), now.map(excerpt))
}

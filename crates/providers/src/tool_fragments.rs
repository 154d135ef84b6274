//! Tool calls that a stream brings in fragments. Servers disagree on what holds a call together: a fragment belongs to a call by
//! its ID, else by its index, else by its position, else by what it continues.

use serde_json::{Map, Value};

use super::merge::update;

/// Number of the latest calls that a fragment may belong to.
const MAX_OPEN: usize = 512;
/// Objects within a call that have its name and its arguments.
const FUNCTIONS: [&str; 2] = ["function", "custom"];
/// Members in which arguments come in pieces.
const ARGUMENTS: [&str; 2] = ["arguments", "input"];
/// Members that a call has once, however often they are repeated or changed.
const ONCE: [&str; 3] = ["id", "index", "name"];

/// The calls of a message that have arrived so far, whole or in part.
#[derive(Debug, Default)]
pub(super) struct FragmentedCalls(Vec<FragmentedCall>);

#[derive(Debug, Default)]
struct FragmentedCall {
    members: Map<String, Value>,
    arguments: ArgumentsProgress,
}

/// Parse progress of a call's arguments, by their brackets.
#[derive(Debug, Default)]
struct ArgumentsProgress {
    has_begun: bool,
    has_closed: bool,
    depth: usize,
    within: Within,
}

/// Lexical position of a character in JSON.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Within {
    #[default]
    Brackets,
    Text,
    /// Behind a backslash.
    Escape,
}

/// A fragment of a call, with the ID, index, name and arguments that it carries.
#[derive(Debug, Clone, Copy)]
struct Fragment<'a> {
    members: &'a Map<String, Value>,
    id: Option<&'a str>,
    index: Option<u64>,
    name: Option<&'a str>,
    arguments: Option<&'a Value>,
}

impl FragmentedCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the fragments of one delta.
    pub(super) fn add(&mut self, fragments: &[Value]) {
        let before = self.0.len();
        for (position, fragment) in fragments.iter().enumerate() {
            let Some(fragment) = fragment.as_object().map(Fragment::of) else {
                continue;
            };
            // Without an index, several fragments at once belong to the latest calls, in their order.
            let by_position = match fragments.len() {
                0 | 1 => self.0.len().checked_sub(1),
                count => (before + position).checked_sub(count),
            };
            let place = self.place(fragment, by_position).unwrap_or_else(|| {
                self.0.push(FragmentedCall::default());
                self.0.len() - 1
            });
            if let Some(call) = self.0.get_mut(place)
                && !(fragment.id.is_some() && call.is_repeated_by(fragment))
            {
                call.arguments.read(fragment.arguments);
                add_members(&mut call.members, fragment.members);
            }
        }
    }

    pub(super) fn into_value(self) -> Value {
        let mut calls = self.0;
        calls.dedup_by(|call, before| call.is_echo_of(before));
        Value::Array(
            calls
                .into_iter()
                .map(|call| Value::Object(call.members))
                .collect(),
        )
    }

    /// The call that a fragment belongs to; none where it begins one.
    fn place(&self, fragment: Fragment<'_>, by_position: Option<usize>) -> Option<usize> {
        if fragment.id.is_some()
            && let Some(same) = self.latest(|call| call.id() == fragment.id)
        {
            return self.0.get(same)?.takes_its_own(fragment).then_some(same);
        }
        let same_place = match fragment.index {
            Some(_) => self.latest(|call| call.index() == fragment.index),
            None => by_position,
        };
        let Some(name) = fragment.name else {
            let takes = |place: &usize| {
                fragment.is_blank() || self.0.get(*place).is_some_and(|call| !call.arguments.are_whole())
            };
            if same_place.is_none() && fragment.id.is_some() && fragment.is_blank() {
                return None;
            }
            return same_place
                .filter(takes)
                .or_else(|| self.latest(|call| call.arguments.are_open()))
                .or_else(|| self.latest(|call| !call.arguments.are_whole()))
                .or(same_place)
                .or(self.0.len().checked_sub(1));
        };
        match same_place {
            Some(place) => self.0.get(place)?.takes_named(fragment, name).then_some(place),
            // The name is repeated, and the index moves.
            None => self
                .0
                .last()
                .is_some_and(|last| {
                    fragment.id.is_none()
                        && last.name() == Some(name)
                        && last.arguments.are_open()
                        && fragment.goes_on()
                })
                .then(|| self.0.len() - 1),
        }
    }

    fn latest(&self, is_it: impl Fn(&FragmentedCall) -> bool) -> Option<usize> {
        let mut calls = self.0.iter().enumerate().rev().take(MAX_OPEN);
        calls.find(|(_, call)| is_it(call)).map(|(place, _)| place)
    }
}

impl FragmentedCall {
    fn id(&self) -> Option<&str> {
        text_of(&self.members, "id")
    }

    fn index(&self) -> Option<u64> {
        self.members.get("index").and_then(Value::as_u64)
    }

    fn name(&self) -> Option<&str> {
        text_of(function(&self.members), "name")
    }

    fn arguments(&self) -> Option<&Value> {
        ARGUMENTS.iter().find_map(|key| function(&self.members).get(*key))
    }

    /// Returns whether a fragment with the ID of this call belongs to it: some servers give every call the same ID.
    fn takes_its_own(&self, fragment: Fragment<'_>) -> bool {
        let Some(name) = fragment.name.filter(|_| self.arguments.are_whole()) else {
            return true;
        };
        let is_elsewhere =
            fragment.index.is_some() && self.index().is_some() && fragment.index != self.index();
        let is_same = self.name().is_none_or(|known| known == name) && !is_elsewhere;
        is_same && (fragment.is_blank() || self.is_repeated_by(fragment))
    }

    /// Returns whether a fragment repeats the whole call.
    fn is_repeated_by(&self, fragment: Fragment<'_>) -> bool {
        self.arguments.are_whole() && fragment.id == self.id() && fragment.arguments == self.arguments()
    }

    /// Returns whether a fragment in the place of this call, but with a name, belongs to it: some servers repeat the
    /// name, others have one place for all calls.
    fn takes_named(&self, fragment: Fragment<'_>, name: &str) -> bool {
        let Some(known) = self.name() else { return true };
        let has_another_id = fragment.id.is_some() && self.id().is_some() && fragment.id != self.id();
        let goes_on = !has_another_id || self.arguments.are_open() && fragment.goes_on();
        known == name && !self.arguments.are_whole() && goes_on
    }

    /// Returns whether this is no call of its own, but a repetition of the previous call's name.
    fn is_echo_of(&self, before: &Self) -> bool {
        let is_in_its_place = match self.id() {
            Some(_) => self.id() == before.id(),
            None => self.index() == before.index(),
        };
        is_in_its_place
            && !self.arguments.has_begun
            && before.arguments.are_whole()
            && self.name() == before.name()
    }
}

impl<'a> Fragment<'a> {
    fn of(members: &'a Map<String, Value>) -> Self {
        let function = function(members);
        Self {
            members,
            id: text_of(members, "id"),
            index: members.get("index").and_then(Value::as_u64),
            name: text_of(function, "name"),
            arguments: ARGUMENTS
                .iter()
                .find_map(|key| function.get(*key))
                .filter(|value| !value.is_null()),
        }
    }

    /// Returns whether it brings no arguments.
    fn is_blank(self) -> bool {
        self.arguments
            .is_none_or(|arguments| arguments.as_str().is_some_and(|text| text.trim().is_empty()))
    }

    /// Returns whether its arguments are a continuation, not a beginning.
    fn goes_on(self) -> bool {
        let text = self.arguments.and_then(Value::as_str).map(str::trim_start);
        text.is_some_and(|text| !text.is_empty() && !text.starts_with('{'))
    }
}

/// The object that has the name and the arguments: the call itself, where no other is in it.
fn function(members: &Map<String, Value>) -> &Map<String, Value> {
    let inner = FUNCTIONS.iter().find_map(|key| members.get(*key)?.as_object());
    inner.unwrap_or(members)
}

fn text_of<'a>(members: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    let text = members.get(key).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

/// Adds what a fragment of a call, or of its function, says.
pub(super) fn add_members(known: &mut Map<String, Value>, fragment: &Map<String, Value>) {
    for (key, value) in fragment {
        let is_piece = ARGUMENTS.contains(&key.as_str());
        match (known.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more)) if is_piece => text.push_str(more),
            (None, Value::String(_)) if is_piece => {
                known.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(known)), Value::Object(more)) if FUNCTIONS.contains(&key.as_str()) => {
                add_members(known, more);
            }
            (Some(known), _) if ONCE.contains(&key.as_str()) && *known != "" && !known.is_null() => {}
            _ => {
                let member = Map::from_iter([(key.clone(), value.clone())]);
                update(known, &member, &[]);
            }
        }
    }
}

impl ArgumentsProgress {
    /// Reads a piece: a text, or an object that is whole by itself.
    fn read(&mut self, piece: Option<&Value>) {
        match piece {
            Some(Value::String(text)) => text.bytes().for_each(|byte| self.read_byte(byte)),
            Some(Value::Object(_) | Value::Array(_)) => (self.has_begun, self.has_closed) = (true, true),
            _ => {}
        }
    }

    fn read_byte(&mut self, byte: u8) {
        self.has_begun |= !byte.is_ascii_whitespace();
        self.within = match (self.within, byte) {
            (Within::Text, b'\\') => Within::Escape,
            (Within::Text, b'"') => Within::Brackets,
            (Within::Text | Within::Escape, _) | (Within::Brackets, b'"') => Within::Text,
            (Within::Brackets, _) => Within::Brackets,
        };
        match byte {
            b'{' | b'[' if self.within == Within::Brackets => self.depth += 1,
            b'}' | b']' if self.within == Within::Brackets => {
                self.depth = self.depth.saturating_sub(1);
                self.has_closed = true;
            }
            _ => {}
        }
    }

    fn are_whole(&self) -> bool {
        self.has_closed && self.depth == 0 && self.within == Within::Brackets
    }

    /// Begun, and not whole.
    fn are_open(&self) -> bool {
        self.has_begun && !self.are_whole()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn put_together(deltas: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = FragmentedCalls::default();
        for delta in deltas {
            calls.add(delta.as_array().unwrap());
        }
        let Value::Array(calls) = calls.into_value() else {
            panic!("a list")
        };
        let text = |call: &Value, place: &str| {
            let text = call.pointer(place).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let calls = calls.iter();
        calls
            .map(|call| {
                (
                    text(call, "/id"),
                    text(call, "/function/name"),
                    text(call, "/function/arguments"),
                )
            })
            .collect()
    }

    fn named(calls: &[(String, String, String)]) -> Vec<(&str, &str)> {
        let calls = calls.iter();
        calls
            .map(|(_, name, arguments)| (name.as_str(), arguments.as_str()))
            .collect()
    }

    /// Each row: what a server sends, and the calls that it means.
    #[test]
    fn fragments_find_the_call_they_mean() {
        let bergen = "{\"city\": \"Bergen\"}";
        for (case, deltas, expected) in [
            (
                "an index that moves",
                json!([
                    [{"index": 0, "id": "call_a", "function": {"name": "timetable", "arguments": ""}}],
                    [{"index": 1, "function": {"arguments": "{\"city\": "}}],
                    [{"index": 2, "function": {"arguments": "\"Bergen\"}"}}],
                ]),
                vec![("timetable", bergen)],
            ),
            (
                "one index for whole calls without IDs",
                json!([
                    [{"index": 0, "id": "", "function": {"name": "timetable", "arguments": bergen}}],
                    [{"index": 0, "id": "", "function": {"name": "timetable", "arguments": "{}"}}],
                ]),
                vec![("timetable", bergen), ("timetable", "{}")],
            ),
            (
                "another ID in each fragment",
                json!([
                    [{"index": 0, "id": "a", "function": {"name": "timetable", "arguments": ""}}],
                    [{"index": 0, "id": "b", "function": {"arguments": "{\"city\": "}}],
                    [{"index": 0, "id": "c", "function": {"name": null, "arguments": "\"Bergen\"}"}}],
                ]),
                vec![("timetable", bergen)],
            ),
            (
                "no index at all",
                json!([
                    [{"id": "a", "function": {"name": "timetable", "arguments": ""}}],
                    [{"function": {"arguments": "{\"city\": "}}],
                    [{"function": {"arguments": "\"Bergen\"}"}}],
                    [{"id": "b", "function": {"name": "clock", "arguments": "{}"}}],
                ]),
                vec![("timetable", bergen), ("clock", "{}")],
            ),
            (
                "the place in the list alone",
                json!([
                    [{"function": {"name": "timetable", "arguments": ""}}, {"function": {"name": "clock", "arguments": ""}}],
                    [{"function": {"arguments": "{\"city\": "}}, {"function": {"arguments": "{"}}],
                    [{"function": {"arguments": "\"Bergen\"}"}}, {"function": {"arguments": "}"}}],
                ]),
                vec![("timetable", bergen), ("clock", "{}")],
            ),
            (
                "the name with every fragment, and at last with nothing",
                json!([
                    [{"index": 0, "function": {"name": "timetable", "arguments": "{\"city\": "}}],
                    [{"index": 0, "function": {"name": "timetable", "arguments": "\"Bergen\"}"}}],
                    [{"index": 0, "function": {"name": "timetable", "arguments": ""}}],
                ]),
                vec![("timetable", bergen)],
            ),
            (
                "one ID for all calls",
                json!([
                    [{"index": 0, "id": "x", "function": {"name": "timetable", "arguments": bergen}}],
                    [{"index": 1, "id": "x", "function": {"name": "timetable", "arguments": "{}"}}],
                ]),
                vec![("timetable", bergen), ("timetable", "{}")],
            ),
            (
                "a call that is sent once more when it is whole",
                json!([
                    [{"index": 0, "id": "x", "function": {"name": "timetable", "arguments": bergen}}],
                    [{"index": 0, "id": "x", "function": {"name": "timetable", "arguments": bergen}}],
                ]),
                vec![("timetable", bergen)],
            ),
            (
                "the ID before the name",
                json!([
                    [{"index": 0, "id": "a", "function": {"arguments": ""}}, {"index": 1, "id": "b", "function": {"arguments": ""}}],
                    [{"index": 1, "function": {"name": "clock"}}, {"index": 0, "function": {"name": "timetable"}}],
                    [{"index": 1, "function": {"arguments": "{}"}}, {"index": 0, "function": {"arguments": bergen}}],
                ]),
                vec![("timetable", bergen), ("clock", "{}")],
            ),
        ] {
            assert_eq!(
                named(&put_together(deltas.as_array().unwrap())),
                expected,
                "{case}"
            );
        }
    }

    #[test]
    fn arguments_as_an_object_are_whole() {
        let mut calls = FragmentedCalls::default();
        for _ in 0..2 {
            calls.add(&[json!({"index": 0, "function": {"name": "clock", "arguments": {"zone": "CET"}}})]);
        }
        assert_eq!(
            calls.into_value(),
            json!([
                {"index": 0, "function": {"name": "clock", "arguments": {"zone": "CET"}}},
                {"index": 0, "function": {"name": "clock", "arguments": {"zone": "CET"}}},
            ])
        );
    }

    /// What a server keeps through the fragments of a call.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Style {
        /// An index of its own for each call, and the ID in its first fragment.
        Standard,
        /// An index of its own, without IDs.
        IndexAlone,
        /// The ID in each fragment, without an index.
        IdAlone,
        /// One index for all, without IDs.
        OneIndex,
        /// One index for all, and an ID in the first fragment.
        OneIndexFirstId,
        /// An index for each fragment.
        MovingIndex,
        /// An ID for each fragment.
        MovingId,
        /// Neither.
        Nothing,
        /// An index of its own, and the name in each fragment.
        NameRepeated,
    }

    const STYLES: [Style; 9] = [
        Style::Standard,
        Style::IndexAlone,
        Style::IdAlone,
        Style::OneIndex,
        Style::OneIndexFirstId,
        Style::MovingIndex,
        Style::MovingId,
        Style::Nothing,
        Style::NameRepeated,
    ];
    /// Those whose fragments of several calls may be mixed.
    const MIXED: [Style; 4] = [
        Style::Standard,
        Style::IndexAlone,
        Style::IdAlone,
        Style::NameRepeated,
    ];

    fn fragment(style: Style, call: usize, piece: usize, counter: usize, name: &str, text: &str) -> Value {
        let index = match style {
            Style::Standard | Style::IndexAlone | Style::MovingId | Style::NameRepeated => Some(call),
            Style::OneIndex | Style::OneIndexFirstId => Some(0),
            Style::MovingIndex => Some(counter),
            Style::IdAlone | Style::Nothing => None,
        };
        let id = match style {
            Style::Standard | Style::OneIndexFirstId if piece == 0 => Some(format!("call_{call}")),
            Style::IdAlone => Some(format!("call_{call}")),
            Style::MovingId => Some(format!("random_{counter}")),
            _ => None,
        };
        let mut function = json!({"arguments": text});
        if piece == 0 || style == Style::NameRepeated {
            function["name"] = name.into();
        }
        let mut fragment = json!({"function": function});
        if let Some(index) = index {
            fragment["index"] = index.into();
        }
        if let Some(id) = id {
            fragment["id"] = id.into();
        }
        fragment
    }

    fn arguments() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            "[a-z{}\\[\\]\"\\\\ ,:]{0,12}".prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            proptest::collection::vec(any::<bool>(), 0..3).prop_map(Value::from),
        ];
        proptest::collection::btree_map("[a-c]", value, 0..4).prop_map(|map| json!(map).to_string())
    }

    proptest! {
        /// However a call is cut, and whatever of ID, index and name its server keeps: the calls are those that were made.
        #[test]
        fn every_fragmentation_gives_the_calls(
            calls in proptest::collection::vec(("(clock|timetable)", arguments(), any::<bool>()), 1..4),
            size in 1usize..9,
            style in proptest::sample::select(&STYLES[..]),
            order in any::<u64>(),
        ) {
            let mut queues: Vec<std::collections::VecDeque<(usize, String)>> = calls.iter().map(|(_, arguments, begins_empty)| {
                let letters: Vec<char> = arguments.chars().collect();
                let mut pieces: Vec<String> = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
                if *begins_empty {
                    pieces.insert(0, String::new());
                }
                pieces.into_iter().enumerate().collect()
            }).collect();
            let mut deltas = Vec::new();
            let mut order = order;
            while let Some(first) = queues.iter().position(|queue| !queue.is_empty()) {
                let waiting: Vec<usize> = (0..queues.len()).filter(|call| !queues[*call].is_empty()).collect();
                // A call begins when those before it have begun.
                let begun = waiting.iter().filter(|call| queues[**call].front().is_some_and(|(piece, _)| *piece > 0)).count();
                order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let call = if MIXED.contains(&style) { waiting[(order >> 33) as usize % (begun + 1).min(waiting.len())] } else { first };
                let (piece, text) = queues[call].pop_front().unwrap();
                deltas.push(json!([fragment(style, call, piece, deltas.len(), &calls[call].0, &text)]));
            }
            let expected: Vec<(&str, &str)> = calls.iter().map(|(name, arguments, _)| (name.as_str(), arguments.as_str())).collect();
            let read = put_together(&deltas);
            prop_assert_eq!(named(&read), expected, "{:?} {:?}", style, deltas);
        }

        #[test]
        fn any_fragments_are_survived(
            deltas in proptest::collection::vec(
                "\\[\\{(\"index\":[01],)?(\"id\":\"[ab]?\",)?\"function\":\\{(\"name\":\"[xy]?\",)?\"arguments\":(\"[{}]{0,2}\"|\\{\\}|null)\\}\\}\\]", 0..8),
        ) {
            let mut calls = FragmentedCalls::default();
            for delta in &deltas {
                let delta: Vec<Value> = serde_json::from_str(delta).unwrap();
                calls.add(&delta);
            }
            prop_assert_eq!(calls.is_empty(), deltas.is_empty());
        }
    }
}

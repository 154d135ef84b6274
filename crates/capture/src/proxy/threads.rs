//! The conversations of one program, distinguished by their messages: a request whose messages begin with those of an
//! earlier one continues its conversation (capture-facts, section D.3).

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use tracer_insight::conversation::{Message, MessagePart, Role, Speaker};

/// How many beginnings, answers and tool calls are remembered; the oldest is forgotten first.
const MAX_ANCHORS: usize = 50_000;

/// The number of a conversation within its run, in the order of their first requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ThreadNumber(pub(super) usize);

/// What a request says of the conversation that it is part of.
#[derive(Debug, Default)]
pub(super) struct RequestHistory {
    /// A fingerprint of each beginning of the messages; the last one is of all of them.
    beginnings: Vec<u64>,
    /// The same without the instructions, of what was said before the first answer.
    openings: Vec<u64>,
    /// The request repeats an answer.
    is_answered: bool,
    /// The answer that the request refers to instead of repeating what was before.
    previous_answer: Option<String>,
    /// The tool calls whose results it brings.
    answered_calls: Vec<String>,
    /// What the user said before the first answer.
    pub(super) question: String,
}

impl RequestHistory {
    /// Reads the body of a request, whose messages are `messages`.
    pub(super) fn of_request(request: &Value, messages: &[Message]) -> Self {
        let mut history = Self {
            previous_answer: ["previous_response_id", "previous_interaction_id", "conversation"]
                .iter()
                .find_map(|key| request.get(*key)?.as_str())
                .map(str::to_owned),
            ..Self::default()
        };
        let mut instructions = DefaultHasher::new();
        let mut said = DefaultHasher::new();
        for message in messages {
            if message.speaker() == Speaker::System {
                hash_parts(message, &mut instructions);
                continue;
            }
            for part in &message.parts {
                match part {
                    MessagePart::ToolResult { id: Some(id), .. } => history.answered_calls.push(id.clone()),
                    MessagePart::Text(text) if message.role == Role::User && !history.is_answered => {
                        history.question.push_str(text);
                        history.question.push('\n');
                    }
                    _ => {}
                }
            }
            if !hash_parts(message, &mut said) {
                continue;
            }
            history.is_answered |= message.speaker() != Speaker::User;
            if history.is_answered {
                history.beginnings.push(said.finish());
            } else {
                // As long as nothing was answered, the instructions distinguish two conversations with the same question.
                let beginning = fingerprint(&(instructions.finish(), said.finish()));
                history.beginnings.push(beginning);
                history.openings.push(said.finish());
            }
        }
        history
    }

    /// Whether nothing is known of the conversation.
    pub(super) fn is_empty(&self) -> bool {
        self.beginnings.is_empty() && self.previous_answer.is_none()
    }
}

/// Adds what a message says to a fingerprint, and whether it says anything. Reasoning is left out, which clients drop
/// from what they repeat, and so is what no table knows: markers for caches, and whatever the next version adds.
fn hash_parts(message: &Message, hasher: &mut DefaultHasher) -> bool {
    let mut says_anything = false;
    for part in &message.parts {
        match part {
            MessagePart::Text(text) | MessagePart::Refusal(text) => text.hash(hasher),
            MessagePart::ToolCall { name, arguments, .. } => (name, arguments.to_string()).hash(hasher),
            MessagePart::ToolResult { value, .. } => value.to_string().hash(hasher),
            MessagePart::Media(media) => format!("{media:?}").hash(hasher),
            MessagePart::Reasoning(_) | MessagePart::Unknown(_) => continue,
        }
        says_anything = true;
    }
    if says_anything {
        message.role.as_str().hash(hasher);
    }
    says_anything
}

fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What a later request may refer to.
#[derive(Debug, Hash)]
enum Anchor<'a> {
    Beginning(u64),
    Opening(u64),
    Answer(&'a str),
    ToolCall(&'a str),
}

/// The conversations that were seen.
#[derive(Debug, Default)]
pub(super) struct Threads {
    anchors: HashMap<u64, ThreadNumber>,
    oldest_first: VecDeque<u64>,
    count: usize,
}

impl Threads {
    /// The conversation that a request continues; `None` where it begins one.
    pub(super) fn continued_by(&self, history: &RequestHistory) -> Option<ThreadNumber> {
        let known = |anchor: Anchor<'_>| self.anchors.get(&fingerprint(&anchor)).copied();
        let by_answer = history.previous_answer.as_deref().map(Anchor::Answer);
        by_answer
            .and_then(known)
            .or_else(|| {
                let longest_first = history.beginnings.iter().rev();
                longest_first.copied().map(Anchor::Beginning).find_map(known)
            })
            // Instructions may hold the time.
            .or_else(|| {
                let longest_first = history.openings.iter().rev().filter(|_| history.is_answered);
                longest_first.copied().map(Anchor::Opening).find_map(known)
            })
            // A client that shortens its history still brings the results of the latest calls.
            .or_else(|| {
                let latest_first = history.answered_calls.iter().rev();
                latest_first.map(|id| Anchor::ToolCall(id)).find_map(known)
            })
    }

    /// Begins a conversation.
    pub(super) fn begin(&mut self) -> ThreadNumber {
        self.count += 1;
        ThreadNumber(self.count - 1)
    }

    /// Remembers a request of a conversation.
    pub(super) fn note_request(&mut self, thread: ThreadNumber, history: &RequestHistory) {
        if let Some(whole) = history.beginnings.last() {
            self.note(&Anchor::Beginning(*whole), thread);
        }
        if let (false, Some(opening)) = (history.is_answered, history.openings.last()) {
            self.note(&Anchor::Opening(*opening), thread);
        }
    }

    /// Remembers an answer of a conversation, by its ID and those of the tool calls that it asks for.
    pub(super) fn note_answer(&mut self, thread: ThreadNumber, id: Option<&str>, answer: &[Message]) {
        if let Some(id) = id {
            self.note(&Anchor::Answer(id), thread);
        }
        for part in answer.iter().flat_map(|message| &message.parts) {
            if let MessagePart::ToolCall { id: Some(id), .. } = part {
                self.note(&Anchor::ToolCall(id), thread);
            }
        }
    }

    fn note(&mut self, anchor: &Anchor<'_>, thread: ThreadNumber) {
        let key = fingerprint(anchor);
        if self.anchors.insert(key, thread).is_none() {
            self.oldest_first.push_back(key);
        }
        if self.oldest_first.len() > MAX_ANCHORS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.anchors.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_insight::conversation::{answer_messages, prompt_messages};

    use super::*;

    fn history(request: &Value) -> RequestHistory {
        RequestHistory::of_request(request, &prompt_messages(request))
    }

    /// The conversation of each request, in the order of the requests.
    fn numbers(requests: &[Value]) -> Vec<usize> {
        let mut threads = Threads::default();
        let place = |request: &Value| {
            let history = history(request);
            let known = threads.continued_by(&history);
            let thread = known.unwrap_or_else(|| threads.begin());
            threads.note_request(thread, &history);
            thread.0
        };
        requests.iter().map(place).collect()
    }

    #[test]
    fn requests_that_repeat_a_beginning_continue_it() {
        let system = json!({"role": "system", "content": "Be brief."});
        let user = |text: &str| json!({"role": "user", "content": text});
        let answer = json!({"role": "assistant", "content": "Which city?"});
        let requests = [
            json!({"model": "m", "messages": [system, user("Weather?")]}),
            json!({"model": "m", "messages": [user("Another question")]}),
            json!({"model": "m", "messages": [system, user("Weather?"), answer, user("Oslo")]}),
            json!({"model": "m", "messages": [{"role": "system", "content": "Be long."}, user("Weather?")]}),
            // A retry.
            json!({"model": "m", "messages": [user("Another question")]}),
        ];
        assert_eq!(numbers(&requests), [0, 1, 0, 2, 1]);
    }

    #[test]
    fn markers_and_reasoning_change_no_conversation() {
        let requests = [
            json!({"model": "c", "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
                "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}]}),
            json!({"model": "c", "system": "Be brief. Today is Monday.", "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "x"}, {"type": "text", "text": "Hello"}]},
                {"role": "user", "content": [{"type": "text", "text": "And?", "cache_control": {"type": "ephemeral"}}]}]}),
            json!({"model": "c", "system": "Be brief. Today is Tuesday.", "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
                {"role": "user", "content": "And?"},
                {"role": "assistant", "content": "That is all."},
                {"role": "user", "content": "Thanks"}]}),
        ];
        assert_eq!(numbers(&requests), [0, 0, 0]);
    }

    #[test]
    fn gemini_continues_too() {
        let requests = [
            json!({"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]}),
            json!({"contents": [{"role": "user", "parts": [{"text": "Weather?"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"result": "7 C"}}}]}]}),
        ];
        assert_eq!(numbers(&requests), [0, 0]);
    }

    #[test]
    fn references_replace_what_was_before() {
        let mut threads = Threads::default();
        let first = threads.begin();
        let second = threads.begin();
        threads.note_answer(first, Some("resp_1"), &[]);
        let answer = json!({"output": [{"type": "function_call", "call_id": "call_7", "name": "f", "arguments": "{}"}]});
        threads.note_answer(second, None, &answer_messages(&answer));
        let by_answer =
            history(&json!({"model": "m", "previous_response_id": "resp_1", "input": "And now?"}));
        assert_eq!(threads.continued_by(&by_answer), Some(first));
        let shortened = history(&json!({"model": "m", "input": [
            {"type": "function_call_output", "call_id": "call_7", "output": "done"}]}));
        assert_eq!(threads.continued_by(&shortened), Some(second));
        assert_eq!(
            threads.continued_by(&history(&json!({"model": "m", "input": "Hello"}))),
            None
        );
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let mut threads = Threads::default();
        let thread = threads.begin();
        for number in 0..MAX_ANCHORS + 10 {
            threads.note_answer(thread, Some(&number.to_string()), &[]);
        }
        assert_eq!(threads.anchors.len(), MAX_ANCHORS);
        let of = |id: &str| history(&json!({"model": "m", "previous_response_id": id, "input": "x"}));
        assert_eq!(threads.continued_by(&of("3")), None);
        assert_eq!(threads.continued_by(&of("20")), Some(thread));
    }
}

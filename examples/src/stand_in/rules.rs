//! How the stand-in decides what to say: search, read what was found, compute, answer. Pure.

use serde_json::{Value, json};

use crate::model::{ChatRequest, Message, Role};

/// Words that say nothing about what is looked for.
const COMMON_WORDS: [&str; 36] = [
    "a", "an", "and", "are", "at", "be", "can", "do", "does", "for", "from", "get", "how", "i", "in", "is",
    "it", "many", "me", "much", "my", "of", "on", "or", "our", "tell", "that", "the", "this", "to", "we",
    "what", "when", "which", "with", "you",
];

/// What the stand-in says.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// It asks for a tool.
    Call {
        /// The tool.
        tool: &'static str,
        /// What it shall be given.
        arguments: Value,
    },
    /// It answers.
    Answer(String),
}

/// What the conversation has come to, from the last question on.
struct Conversation<'a> {
    question: &'a str,
    words: Vec<String>,
    since: &'a [Message],
}

/// What the stand-in says next.
///
/// Each tool is asked for once, when it is offered and when what came before gives it something to do.
///
/// ```
/// use serde_json::json;
/// use tracer_examples::stand_in::{Reply, reply_to};
///
/// let request = serde_json::from_value(json!({
///     "model": "stand-in-1",
///     "messages": [{"role": "user", "content": "What do 3 parcels to Norway cost?"}],
///     "tools": [{"type": "function", "function": {"name": "search_files"}}],
/// }));
/// let search = Reply::Call { tool: "search_files", arguments: json!({"query": "parcel norway cost"}) };
/// assert_eq!(reply_to(&request.unwrap()), search);
/// ```
pub fn reply_to(request: &ChatRequest) -> Reply {
    let Some(conversation) = Conversation::of(&request.messages) else {
        return Reply::Answer("Ask me something.".to_owned());
    };
    let may_call = |tool| offered(request, tool) && conversation.result_of(tool).is_none();

    if may_call("search_files") {
        return Reply::Call {
            tool: "search_files",
            arguments: json!({"query": conversation.words.join(" ")}),
        };
    }
    let Some(found) = conversation.best_match() else {
        return Reply::Answer(format!("I found nothing that answers: {}", conversation.question));
    };
    if may_call("read_file") {
        return Reply::Call {
            tool: "read_file",
            arguments: json!({"path": found.path}),
        };
    }
    let line = conversation.best_line().unwrap_or_else(|| found.text.clone());
    if may_call("compute")
        && let (Some(count), Some(price)) = (first_number(conversation.question), first_number(&line))
    {
        return Reply::Call {
            tool: "compute",
            arguments: json!({"expression": format!("{count} * {price}")}),
        };
    }
    Reply::Answer(conversation.answer(&line, &found.path))
}

/// A line that the search gave.
struct Found {
    path: String,
    text: String,
}

impl<'a> Conversation<'a> {
    /// The last question and what followed it; `None` when nobody asked.
    fn of(messages: &'a [Message]) -> Option<Self> {
        let at = messages.iter().rposition(|message| message.role == Role::User)?;
        let question = messages.get(at)?.content.as_deref().unwrap_or_default();
        let since = messages.get(at + 1..).unwrap_or_default();
        Some(Self {
            question,
            words: telling_words(question),
            since,
        })
    }

    /// What the tool gave: JSON, or null when it failed; `None` when it was not asked.
    fn result_of(&self, tool: &str) -> Option<Value> {
        let calls = self.since.iter().flat_map(|message| &message.tool_calls);
        let call = calls.rev().find(|call| call.function.name == tool)?;
        let answer = self
            .since
            .iter()
            .find(|message| message.tool_call_id.as_ref() == Some(&call.id))?;
        let text = answer.content.as_deref().unwrap_or_default();
        Some(serde_json::from_str(text).unwrap_or(Value::Null))
    }

    /// The first line that the search gave.
    fn best_match(&self) -> Option<Found> {
        let result = self.result_of("search_files")?;
        let first = result.get("matches")?.get(0)?;
        let text = |key| first.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Found {
            path: text("path")?,
            text: text("text")?,
        })
    }

    /// The line of the file read that holds most of the question's words.
    fn best_line(&self) -> Option<String> {
        let result = self.result_of("read_file")?;
        let text = result.get("text")?.as_str()?;
        // `max_by_key` takes the last of equals; the first is what a reader meets first.
        let best = text.lines().rev().max_by_key(|line| self.words_in(line))?;
        (self.words_in(best) > 0).then(|| best.to_owned())
    }

    fn words_in(&self, line: &str) -> usize {
        let line = line.to_lowercase();
        self.words.iter().filter(|word| line.contains(*word)).count()
    }

    fn answer(&self, line: &str, path: &str) -> String {
        let line = line.trim_start_matches(['-', '#', '*', ' ']);
        let computed = self.result_of("compute").unwrap_or_default();
        match (
            computed.get("expression").and_then(Value::as_str),
            computed.get("value"),
        ) {
            (Some(expression), Some(value)) => format!("{expression} = {value}. {path} says: {line}"),
            _ => format!("{path} says: {line}"),
        }
    }
}

fn offered(request: &ChatRequest, tool: &str) -> bool {
    request
        .tools
        .iter()
        .any(|definition| definition["function"]["name"] == tool)
}

/// The words of a question that say what it is about, in lower case and without a plural's `s`.
fn telling_words(question: &str) -> Vec<String> {
    let words = question
        .split(|character: char| !character.is_alphanumeric())
        .map(str::to_lowercase);
    let telling =
        words.filter(|word| word.chars().any(char::is_alphabetic) && !COMMON_WORDS.contains(&word.as_str()));
    telling
        .map(|word| match word.strip_suffix('s') {
            Some(singular) if singular.len() > 3 => singular.to_owned(),
            _ => word,
        })
        .collect()
}

/// The first number of a text, such as `12.50`.
fn first_number(text: &str) -> Option<&str> {
    let digit = |character: char| character.is_ascii_digit();
    let start = text.find(digit)?;
    let rest = text.get(start..)?;
    let end = rest
        .find(|character: char| !digit(character) && character != '.')
        .unwrap_or(rest.len());
    rest.get(..end).map(|number| number.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FunctionCall, ToolCall};
    use crate::stand_in::MODEL;

    const QUESTION: &str = "What do 3 parcels to Norway cost?";

    /// A conversation in which each of these tools was called and answered.
    fn conversation(question: &str, offered: &[&str], answers: &[(&str, Value)]) -> ChatRequest {
        let mut messages = vec![Message::system("Be brief."), Message::user(question)];
        for (tool, answer) in answers {
            let function = FunctionCall {
                name: (*tool).to_owned(),
                arguments: "{}".to_owned(),
            };
            let call = ToolCall {
                id: format!("id of {tool}"),
                kind: "function".to_owned(),
                function,
            };
            let asked = Message {
                content: None,
                tool_calls: vec![call],
                ..Message::assistant("")
            };
            messages.extend([asked, Message::tool(format!("id of {tool}"), answer.to_string())]);
        }
        let tools = offered
            .iter()
            .map(|name| json!({"type": "function", "function": {"name": name}}))
            .collect();
        ChatRequest {
            model: MODEL.to_owned(),
            messages,
            tools,
            temperature: None,
            stream: false,
        }
    }

    fn found(text: &str) -> (&'static str, Value) {
        (
            "search_files",
            json!({"matches": [{"path": "shipping.md", "line": 1, "text": text}]}),
        )
    }

    fn read(text: &str) -> (&'static str, Value) {
        ("read_file", json!({"path": "shipping.md", "text": text}))
    }

    const ALL: [&str; 3] = ["search_files", "read_file", "compute"];

    #[test]
    fn what_was_found_is_read() {
        let request = conversation(QUESTION, &ALL, &[found("Norway")]);
        let expected = Reply::Call {
            tool: "read_file",
            arguments: json!({"path": "shipping.md"}),
        };
        assert_eq!(reply_to(&request), expected);
    }

    #[test]
    fn a_number_asked_for_and_a_number_read_are_multiplied() {
        let text = "# Prices\n- A parcel to Norway costs 12.50 EUR.\n";
        let request = conversation(QUESTION, &ALL, &[found("Norway"), read(text)]);
        let expected = Reply::Call {
            tool: "compute",
            arguments: json!({"expression": "3 * 12.50"}),
        };
        assert_eq!(reply_to(&request), expected);
    }

    #[test]
    fn the_answer_comes_from_the_results() {
        let text = "- A parcel to Norway costs 12.50 EUR.";
        let computed = ("compute", json!({"expression": "3 * 12.50", "value": 37.5}));
        let request = conversation(QUESTION, &ALL, &[found("Norway"), read(text), computed]);
        let answer = "3 * 12.50 = 37.5. shipping.md says: A parcel to Norway costs 12.50 EUR.";
        assert_eq!(reply_to(&request), Reply::Answer(answer.to_owned()));
    }

    #[test]
    fn when_reading_failed_the_line_that_the_search_gave_is_used() {
        let failed = ("read_file", json!({"error": "too large"}));
        let request = conversation(
            QUESTION,
            &ALL,
            &[found("A parcel to Norway costs 12.50 EUR."), failed],
        );
        let expected = Reply::Call {
            tool: "compute",
            arguments: json!({"expression": "3 * 12.50"}),
        };
        assert_eq!(reply_to(&request), expected);
    }

    #[test]
    fn a_tool_that_is_not_offered_is_not_asked_for() {
        let request = conversation(
            QUESTION,
            &["search_files"],
            &[found("A parcel to Norway costs 12.50 EUR.")],
        );
        let answer = "shipping.md says: A parcel to Norway costs 12.50 EUR.";
        assert_eq!(reply_to(&request), Reply::Answer(answer.to_owned()));
        let request = conversation(QUESTION, &[], &[]);
        assert_eq!(
            reply_to(&request),
            Reply::Answer(format!("I found nothing that answers: {QUESTION}"))
        );
    }

    #[test]
    fn a_new_question_starts_from_the_beginning() {
        let mut request = conversation(QUESTION, &ALL, &[found("Norway")]);
        request
            .messages
            .push(Message::user("How long is the warranty of batteries?"));
        let expected = Reply::Call {
            tool: "search_files",
            arguments: json!({"query": "long warranty batterie"}),
        };
        assert_eq!(reply_to(&request), expected);
    }

    #[test]
    fn without_a_question_it_asks_for_one() {
        let mut request = conversation(QUESTION, &ALL, &[]);
        request.messages.truncate(1);
        assert_eq!(reply_to(&request), Reply::Answer("Ask me something.".to_owned()));
    }
}

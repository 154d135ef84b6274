//! The event type of a child span, and what it holds: the format's own marks first, then the first rule of the
//! vocabularies that fits, then the names of the format's own spans (decisions, section 2; capture, section 1).

use std::borrow::Cow;

use crate::EventType;
use crate::error_type::is_guardrail;
use crate::names::{self, Name, events, span_names};
use crate::vocabulary::{
    ANSWER, ANSWER_FIELDS, ARGUMENT_FIELDS, ARGUMENTS, CONTENT_EVENTS, Content, ContentForm, FETCH_RESPONSE,
    FOREIGN, FieldSource, KINDS, MESSAGE_EVENTS, OUTPUT_EVENTS, OWN, PROMPT, RESULT, SourceForm, TOOL_NAME,
    Test, Vocabulary,
};

use super::values::{Lookup, at_path, is_present, named, text};
use super::view::{SpanFacts, SpanView};

/// The operations that call a model in a span with the format's own marks.
const OWN_MODEL_OPERATIONS: [&str; 8] = [
    "chat",
    "chat_streaming",
    "completion",
    "text_completion",
    "generate_content",
    "interactions",
    "interactions_streaming",
    FETCH_RESPONSE,
];

/// The operation that runs a tool, and the first word of its span's name.
pub(super) const TOOL_OPERATION: &str = "execute_tool";

/// The tool in a name of the form `execute_tool NAME`.
pub(super) fn tool_in_name(name: &str) -> Option<&str> {
    let (operation, rest) = name.split_at_checked(TOOL_OPERATION.len())?;
    let tool = rest.strip_prefix(|char: char| char.is_whitespace() || matches!(char, ':' | '/'))?;
    let tool = tool.trim();
    (operation.eq_ignore_ascii_case(TOOL_OPERATION) && !tool.is_empty()).then_some(tool)
}

/// The event type of a span's own record.
pub fn span_type<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> EventType {
    if span.is_root() {
        return EventType::RunStart;
    }
    match child_type(span.name(), facts) {
        call @ (EventType::LlmCall | EventType::ToolCall) if !is_refused(span, facts) => call,
        EventType::LlmCall | EventType::ToolCall => EventType::Unknown,
        event_type => event_type,
    }
}

/// Returns whether a guardrail refused a call before it was made. Such a call is recorded at one instant, so that a run
/// shows what was stopped.
pub(super) fn is_refused<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> bool {
    let (start, end) = span.times();
    end == Some(start) && text(names::ERROR_TYPE, facts).is_some_and(is_guardrail)
}

/// The event type of a span that has a parent.
pub fn child_type(name: &str, attributes: &impl Lookup) -> EventType {
    let groups = attributes.groups();
    if is_own(groups, attributes) {
        let own = own_type(name, attributes);
        if own != EventType::Unknown {
            return own;
        }
    }
    // A span that names nothing of another vocabulary is none of its spans, but for those that have only a name.
    let is_tried = |vocabulary| {
        groups & FOREIGN != 0 || matches!(vocabulary, Vocabulary::OtelGenAi | Vocabulary::Haystack)
    };
    let fitting = KINDS.iter().find(|rule| {
        is_tried(rule.vocabulary) && rule.tests.iter().all(|test| passes(test, name, attributes))
    });
    match fitting {
        Some(rule) => rule.gives,
        None => named_type(name, attributes),
    }
}

/// Returns whether a span fetches an answer again that another call created.
pub(super) fn is_fetch(attributes: &impl Lookup) -> bool {
    named(names::OPERATION, attributes) == Some(FETCH_RESPONSE)
}

/// Returns whether a span that is no call repeats one; it is no evidence of the calls that were made.
pub(super) fn repeats_a_call(name: &str, attributes: &impl Lookup) -> bool {
    attributes.groups() & FOREIGN != 0
        && (text_is("logfire.span_type", "pending_span", attributes)
            || text_is("gen_ai.tool.name", "(merged tools)", attributes)
            || name == "execute_tool (merged)")
}

fn text_is(key: &str, word: &str, attributes: &impl Lookup) -> bool {
    attributes.text_at(key) == Some(word)
}

/// Returns whether a span has the format's own marks.
pub(super) fn is_own(groups: u8, attributes: &impl Lookup) -> bool {
    const MARKS: [Name; 4] = [
        names::STATUS,
        names::TOOL_NAME,
        names::EVENT_TYPE,
        names::ERROR_TYPE,
    ];
    let own = |name: &Name| name.spellings().iter().take(names::NAMESPACES);
    groups & OWN != 0 && MARKS.iter().any(|name| own(name).any(|key| attributes.has(key)))
}

/// Returns whether an emitter of this format wrote a span: it has the format's own marks, or it names neither a model
/// nor a tool, as older emitters do, whose spans have the model's name.
pub(super) fn is_of_the_format(attributes: &impl Lookup) -> bool {
    let groups = attributes.groups();
    let is_bare = groups & FOREIGN == 0
        && !attributes.says(names::REQUEST_MODEL.written())
        && !attributes.says("gen_ai.tool.name");
    is_bare || is_own(groups, attributes)
}

/// The type by the format's own rules.
fn own_type(name: &str, attributes: &impl Lookup) -> EventType {
    let operation = named(names::OPERATION, attributes);
    if operation == Some(TOOL_OPERATION) {
        return EventType::ToolCall;
    }
    let calls_a_model = match operation {
        Some(operation) => OWN_MODEL_OPERATIONS.contains(&operation),
        None => is_present(names::PROVIDER, attributes),
    };
    if calls_a_model {
        return EventType::LlmCall;
    }
    if named(names::TOOL_NAME, attributes).is_some() {
        return EventType::ToolCall;
    }
    named_type(name, attributes)
}

/// The type by the names of the format's own spans.
fn named_type(name: &str, attributes: &impl Lookup) -> EventType {
    if name == span_names::STATE {
        return EventType::StateUpdate;
    }
    if name == span_names::LOOP_WARNING
        || text(names::EVENT_TYPE, attributes) == Some(EventType::LoopWarning.as_str())
    {
        return EventType::LoopWarning;
    }
    if is_present(names::ERROR_TYPE, attributes) {
        return EventType::Error;
    }
    EventType::Unknown
}

/// Returns whether a span passes a test.
pub(super) fn passes(test: &Test, name: &str, attributes: &impl Lookup) -> bool {
    match test {
        Test::Word(key, words) => word(key, attributes)
            .is_some_and(|word| words.iter().any(|known| known.eq_ignore_ascii_case(word))),
        Test::Text(key, pattern) => attributes.text_at(key).is_some_and(|text| pattern.fits(text)),
        Test::Has(keys) => keys.iter().any(|key| attributes.says(key)),
        Test::HasNot(key) => !attributes.says(key),
        Test::Name(pattern) => pattern.fits(name),
        Test::Method(classes, methods) => name
            .split_once('.')
            .is_some_and(|(class, method)| classes.contains(&class) && methods.contains(&method)),
    }
}

/// The word under a key: a text, the JSON text of one, or a truth value.
fn word<'a>(key: &str, attributes: &'a impl Lookup) -> Option<&'a str> {
    let text = || {
        attributes
            .text_at(key)
            .map(unquoted)
            .filter(|text| !text.is_empty())
    };
    let truth = || {
        attributes
            .truth_at(key)
            .map(|truth| if truth { "true" } else { "false" })
    };
    text().or_else(truth)
}

/// A text without the quotes that make it the JSON text of one.
fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}

/// The first text that one of these sources holds.
pub(crate) fn source_text<'a>(sources: &[FieldSource], attributes: &'a impl Lookup) -> Option<Cow<'a, str>> {
    sources.iter().find_map(|source| match source.form {
        SourceForm::Plain | SourceForm::UpToDot | SourceForm::AfterSlash => {
            let text = attributes.text_at(source.key).filter(|text| !text.is_empty())?;
            let text = match source.form {
                SourceForm::UpToDot => text.split('.').next().unwrap_or(text),
                SourceForm::AfterSlash => text.split_once('/').map_or(text, |(_, behind)| behind),
                _ => text,
            };
            Some(Cow::Borrowed(text))
        }
        SourceForm::Within(path) => {
            let structure = attributes.structure_at(source.key)?;
            let text = at_path(&structure, path)?
                .as_str()
                .filter(|text| !text.is_empty())?;
            Some(Cow::Owned(text.to_owned()))
        }
    })
}

/// The methods that run a tool, which Python's libraries name their spans by: `get_weather.acall`.
pub(super) const TOOL_METHODS: [&str; 4] = ["__call__", "acall", "call", "invoke"];

/// The tool that ran, else the span's name.
pub(crate) fn tool_name<'a>(name: &'a str, attributes: &'a impl Lookup) -> Cow<'a, str> {
    source_text(TOOL_NAME, attributes).unwrap_or_else(|| match name.rsplit_once('.') {
        Some((tool, method)) if TOOL_METHODS.contains(&method) => tool.into(),
        _ => name.into(),
    })
}

/// Returns whether the span of a model call holds an answer.
pub(super) fn has_answer<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> bool {
    // The events first: they are few, and the format's own calls have their answer there.
    has_message_event(span, events::RESPONSE, true)
        || facts.says(names::OUTPUT_MESSAGES.written())
        || has_content(ANSWER, facts)
        || ANSWER_FIELDS.iter().any(|(_, key, _)| facts.says(key))
}

/// Returns whether the span of a model call holds a prompt.
pub(super) fn has_prompt<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> bool {
    has_message_event(span, events::PROMPT, false)
        || facts.says(names::INPUT_MESSAGES.written())
        || has_content(PROMPT, facts)
}

/// Returns whether the span of a tool call holds its arguments.
pub(super) fn has_arguments<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> bool {
    span.events().any(|(name, _)| events::TOOL_ARGUMENTS.is(name))
        || has_content(ARGUMENTS, facts)
        || ARGUMENT_FIELDS.iter().any(|(_, key, _)| facts.says(key))
}

/// Returns whether the span of a tool call holds its result.
pub(super) fn has_result<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> bool {
    let in_event = |name: &str| {
        OUTPUT_EVENTS
            .iter()
            .any(|event| event.is_answer && event.name == name)
            || events::TOOL_RESULT.is(name)
    };
    span.events().any(|(name, _)| in_event(name)) || has_content(RESULT, facts)
}

fn has_content(contents: &[Content], attributes: &impl Lookup) -> bool {
    contents.iter().any(|content| match content.form {
        ContentForm::Flat => attributes.has_beginning(content.key),
        _ => attributes.says(content.key),
    })
}

fn has_message_event(span: &impl SpanView, own: Name, is_answer: bool) -> bool {
    span.events().any(|(name, _)| {
        own.is(name)
            || MESSAGE_EVENTS
                .iter()
                .any(|event| event.is_answer == is_answer && event.name == name)
            || CONTENT_EVENTS
                .iter()
                .any(|event| event.is_answer == is_answer && event.name == name)
    })
}

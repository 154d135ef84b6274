//! Signatures for loop detection, as text and as hash (decisions, section 7).

use std::borrow::Cow;

use super::limits::MAX_SHAPE_BYTES;
use super::numbers;
use super::shape::{shape_of_json, shape_of_value};
use super::value;
use crate::{EventType, Payload, Record};

/// The name of a model or tool without one.
const UNKNOWN: &str = "UNKNOWN";

/// The longest arguments that are kept as they are until a warning wants their shape, in bytes. A shape, with at most twice as many
/// and one, is not cut.
const MAX_KEPT_BYTES: usize = MAX_SHAPE_BYTES / 2 - 1;

/// The signature of a record: `LLM_CALL:<model>`, `TOOL_CALL:<tool>` with ` args:<shape>` where arguments are present, or its
/// record type. An empty model or tool is `UNKNOWN`.
#[derive(Debug)]
pub struct StepSignature<'a> {
    /// The same for equal signatures, as good as never for others.
    pub(super) number: u64,
    begins: Beginning,
    name: &'a str,
    arguments: CallArguments<'a>,
}

/// Prefix of a signature.
#[derive(Debug, Clone, Copy, Default)]
enum Beginning {
    /// The name is all of it.
    #[default]
    Name,
    Model,
    Tool,
}

/// The known arguments of a tool.
#[derive(Debug)]
enum CallArguments<'a> {
    None,
    Json(&'a [u8]),
    /// The shape of those that are too long to be kept.
    Shape(String),
}

impl<'a> StepSignature<'a> {
    /// The signature of a state update: its record type.
    pub fn of_state() -> Self {
        Self::stored(EventType::StateUpdate.as_str())
    }

    /// One that is there as a text.
    pub(crate) fn stored(text: &'a str) -> Self {
        Self::named(Beginning::Name, text)
    }

    /// The signature of a model call.
    pub fn of_model(model: &'a str) -> Self {
        Self::named(Beginning::Model, model)
    }

    /// The signature of a tool call with these arguments, JSON text, and the number of the arguments. Null is no
    /// arguments, and a text that is not one JSON value has no shape.
    pub fn of_tool(tool: &'a str, arguments: Option<&'a [u8]>) -> (Self, Option<u64>) {
        let mut signature = Self::named(Beginning::Tool, tool);
        let read = arguments
            .filter(|text| *text != b"null")
            .and_then(|text| Some((text, numbers::of_json(text)?)));
        let Some((text, numbers)) = read else {
            return (signature, None);
        };
        let mut shape = numbers.shape;
        if text.len() <= MAX_KEPT_BYTES {
            signature.arguments = CallArguments::Json(text);
        } else if let Some((written, is_cut)) = shape_of_json(text) {
            if is_cut {
                // The parts that were left out do not count.
                shape = value::of_text(written.as_bytes());
            }
            signature.arguments = CallArguments::Shape(written);
        }
        signature.number = value::mix(signature.number, shape);
        (signature, Some(numbers.value))
    }

    fn named(begins: Beginning, name: &'a str) -> Self {
        Self {
            number: value::of_text(name.as_bytes()).wrapping_add(begins as u64),
            begins,
            name,
            arguments: CallArguments::None,
        }
    }
}

/// A stored signature, which can be written out later.
#[derive(Debug, Default)]
pub(super) struct KeptSignature {
    begins: Beginning,
    /// The name, and behind it what is kept of the arguments. UTF-8.
    text: Vec<u8>,
    name_bytes: usize,
    arguments: KeptArguments,
}

#[derive(Debug, Clone, Copy, Default)]
enum KeptArguments {
    #[default]
    None,
    Json,
    Shape,
}

impl KeptSignature {
    /// Keeps `signature` in the memory of another one.
    pub(super) fn keep(&mut self, signature: &StepSignature<'_>) {
        self.text.clear();
        self.text.extend_from_slice(signature.name.as_bytes());
        self.begins = signature.begins;
        self.name_bytes = signature.name.len();
        let (arguments, bytes) = match &signature.arguments {
            CallArguments::None => (KeptArguments::None, &[][..]),
            CallArguments::Json(text) => (KeptArguments::Json, *text),
            CallArguments::Shape(shape) => (KeptArguments::Shape, shape.as_bytes()),
        };
        self.arguments = arguments;
        self.text.extend_from_slice(bytes);
    }

    /// The name, and what is kept of the arguments.
    fn parts(&self) -> (&[u8], &[u8]) {
        self.text.split_at_checked(self.name_bytes).unwrap_or_default()
    }

    /// Address of the buffer.
    #[cfg(test)]
    pub(super) fn memory(&self) -> *const u8 {
        self.text.as_ptr()
    }

    /// The signature.
    pub(super) fn written(&self) -> String {
        let (name, arguments) = self.parts();
        let event_type = match self.begins {
            Beginning::Name => None,
            Beginning::Model => Some(EventType::LlmCall),
            Beginning::Tool => Some(EventType::ToolCall),
        };
        let shape = match self.arguments {
            KeptArguments::None => None,
            KeptArguments::Json => shape_of_json(arguments).map(|(shape, _)| Cow::Owned(shape)),
            KeptArguments::Shape => Some(String::from_utf8_lossy(arguments)),
        };
        let name = String::from_utf8_lossy(name);
        match event_type {
            Some(event_type) => named(event_type, &name, shape.as_deref()),
            None => name.into_owned(),
        }
    }
}

/// The signature of a record; empty for records that loop detection ignores.
pub(crate) fn signature_of(record: &Record) -> String {
    match &record.payload {
        Payload::LlmCall { model, .. } => named(EventType::LlmCall, model, None),
        Payload::ToolCall { tool_name, args, .. } => {
            let shape = (!args.is_null()).then(|| shape_of_value(args).0);
            named(EventType::ToolCall, tool_name, shape.as_deref())
        }
        Payload::StateUpdate { .. } => EventType::StateUpdate.as_str().to_owned(),
        _ => String::new(),
    }
}

fn named(event_type: EventType, name: &str, shape: Option<&str>) -> String {
    let event_type = event_type.as_str();
    let name = if name.is_empty() { UNKNOWN } else { name };
    match shape {
        Some(shape) => format!("{event_type}:{name} args:{shape}"),
        None => format!("{event_type}:{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(signature: &StepSignature<'_>) -> String {
        let mut kept = KeptSignature::default();
        kept.keep(&StepSignature::stored(
            "what was kept before, which is longer than all of these",
        ));
        kept.keep(signature);
        kept.written()
    }

    fn of_tool(tool: &str, arguments: &str) -> String {
        written(&StepSignature::of_tool(tool, Some(arguments.as_bytes())).0)
    }

    #[test]
    fn a_missing_name_is_unknown_and_absent_arguments_leave_no_shape() {
        assert_eq!(written(&StepSignature::of_model("")), "LLM_CALL:UNKNOWN");
        assert_eq!(written(&StepSignature::of_tool("", None).0), "TOOL_CALL:UNKNOWN");
        assert_eq!(of_tool("", "null"), "TOOL_CALL:UNKNOWN");
        assert_eq!(of_tool("read", "{}"), "TOOL_CALL:read args:{}");
        assert_eq!(of_tool("read", "{] no JSON"), "TOOL_CALL:read");
        assert_eq!(written(&StepSignature::of_state()), "STATE_UPDATE");
    }

    #[test]
    fn long_arguments_of_one_shape_have_one_signature() {
        let long = format!(r#"{{"a":"{}"}}"#, "t".repeat(MAX_KEPT_BYTES));
        let of = |text| StepSignature::of_tool("read", Some(text)).0;
        let [long, short] = [of(long.as_bytes()), of(br#"{"a":"t"}"#)];
        assert_eq!(long.number, short.number);
        assert_eq!(written(&long), "TOOL_CALL:read args:{a:str}");
        assert_eq!(written(&short), "TOOL_CALL:read args:{a:str}");
    }

    #[test]
    fn what_was_cut_from_a_shape_does_not_count() {
        let long = |value: &str, last: &str| {
            let member = |number| format!("\"key{number:03}\":{value},");
            let members: String = (0..400).map(member).collect();
            format!("{{{members}\"{last}\":1}}")
        };
        let of = |text: &str| {
            let (signature, _) = StepSignature::of_tool("read", Some(text.as_bytes()));
            (signature.number, written(&signature))
        };
        let one = of(&long("1", "x"));
        assert!(
            one.1.starts_with("TOOL_CALL:read args:{key000:int,key001:int,") && one.1.ends_with("..."),
            "{}",
            one.1
        );
        assert_eq!(one, of(&long("12345", "y")));
        assert_ne!(one.0, of(&long("1.5", "x")).0);
    }
}

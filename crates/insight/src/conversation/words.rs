//! The words around messages that every surface shows: what a part is, which messages are left out.

use super::{Media, MediaSource, MessagePart};
use crate::{text, units};

/// Label of a part, before its content: `calls` and the tool, `thinking, 21 characters`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartLabel<'a> {
    /// In words.
    pub text: String,
    /// The tool, the file or the address that it is about.
    pub name: Option<&'a str>,
}

/// The label of a part; `None` for one that speaks for itself.
pub fn part_label(part: &MessagePart) -> Option<PartLabel<'_>> {
    let label = |text: &str, name| {
        Some(PartLabel {
            text: text.to_owned(),
            name,
        })
    };
    match part {
        MessagePart::Text(_) | MessagePart::Unknown(_) => None,
        MessagePart::Reasoning(text) if text.is_empty() => label("thinking, not shown by the provider", None),
        MessagePart::Reasoning(text) => {
            let size = text::counted(text.chars().count() as u64, "character");
            label(&format!("thinking, {size}"), None)
        }
        MessagePart::ToolCall { name, .. } => label("calls", Some(name)),
        MessagePart::ToolResult { name, is_error, .. } => match (name.as_deref(), is_error) {
            (None, false) => None,
            (None, true) => label("failed", None),
            (name, false) => label("result of", name),
            (name, true) => label("failed:", name),
        },
        MessagePart::Media(media) => Some(media_label(media)),
        MessagePart::Refusal(_) => label("refuses", None),
    }
}

/// `image, image/png, 12.0 kB`, and its name or address.
fn media_label(media: &Media) -> PartLabel<'_> {
    let size = media.size().map(units::bytes);
    let facts = [
        Some(media.kind.as_str().to_owned()),
        media.media_type.clone(),
        size,
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let address = match &media.source {
        MediaSource::Uri(uri) => Some(uri.as_str()),
        MediaSource::FileId(id) => Some(id.as_str()),
        MediaSource::Data(_) => None,
    };
    PartLabel {
        text: facts.join(", "),
        name: media.name.as_deref().or(address),
    }
}

/// The note in the place of messages that an earlier step shows; `None` when there are none.
pub fn earlier_messages(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{} as before", text::counted(count as u64, "message")))
}

/// The line over messages that are the same as in the call before.
pub fn same_as_before(count: usize) -> String {
    format!(
        "{}, as in the call before",
        text::counted(count as u64, "earlier message")
    )
}

/// The line over the messages of a call: some of them new and some not, or all one or the other.
pub fn prompt_heading(is_new: &[bool], earlier: Option<(usize, usize)>) -> String {
    let same = is_new.iter().take_while(|is_new| !**is_new).count();
    if let Some((number, asked)) = earlier.filter(|_| same > 0 && is_new.contains(&true)) {
        if same < asked {
            return format!(
                "Parts from #{number} after {}, so that no cache has what follows:",
                text::counted(same as u64, "message")
            );
        }
        return format!("New since #{number}:");
    }
    format!("{} in", text::counted(is_new.len() as u64, "message"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::prompt_messages;
    use super::*;

    fn label(part: &Value) -> Option<String> {
        let messages = prompt_messages(&json!([{"role": "assistant", "content": [part]}]));
        let label = part_label(&messages[0].parts[0])?;
        Some(match label.name {
            Some(name) => format!("{} {name}", label.text),
            None => label.text,
        })
    }

    #[test]
    fn parts_have_labels_where_they_need_one() {
        let cases = [
            (json!("Hello"), None),
            (
                json!({"type": "thinking", "thinking": "Hm"}),
                Some("thinking, 2 characters"),
            ),
            (
                json!({"type": "redacted_thinking"}),
                Some("thinking, not shown by the provider"),
            ),
            (json!({"type": "tool_use", "name": "ls"}), Some("calls ls")),
            (json!({"type": "tool_result", "content": "a"}), None),
            (
                json!({"type": "tool_result", "content": "a", "is_error": true}),
                Some("failed"),
            ),
            (
                json!({"type": "tool-result", "toolName": "ls", "output": "a"}),
                Some("result of ls"),
            ),
            (
                json!({"type": "tool-error", "toolName": "ls", "error": "a"}),
                Some("failed: ls"),
            ),
            (json!({"type": "refusal", "refusal": "No."}), Some("refuses")),
            (
                json!({"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}),
                Some("image https://x.test/a.png"),
            ),
            (
                json!({"type": "file", "mediaType": "application/pdf", "filename": "a.pdf", "data": "aGVsbG8="}),
                Some("file, application/pdf, 5 B a.pdf"),
            ),
        ];
        for (part, expected) in cases {
            assert_eq!(label(&part).as_deref(), expected, "{part}");
        }
    }

    #[test]
    fn notes_count_messages() {
        assert_eq!(earlier_messages(0), None);
        assert_eq!(earlier_messages(1).as_deref(), Some("1 message as before"));
        assert_eq!(same_as_before(2), "2 earlier messages, as in the call before");
        assert_eq!(prompt_heading(&[false, true], Some((3, 1))), "New since #3:");
        let parted = "Parts from #3 after 1 message, so that no cache has what follows:";
        assert_eq!(prompt_heading(&[false, true, false], Some((3, 2))), parted);
        assert_eq!(prompt_heading(&[true, true], Some((3, 1))), "2 messages in");
        assert_eq!(prompt_heading(&[true], None), "1 message in");
    }
}

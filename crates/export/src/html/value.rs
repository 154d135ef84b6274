//! A value as markup: fields by their names, texts as they read, never as escaped strings.

use maud::{Markup, html};
use serde_json::Value;
use tracer_insight::conversation::embedded_json;
use tracer_insight::value_summary;

use tracer_insight::text;

/// Deeper levels are written as JSON, so that no nesting exhausts the page.
const MAX_DEPTH: usize = 32;

/// The value; nothing is left out.
pub(super) fn markup(value: &Value) -> Markup {
    match value {
        // A record holds so what is neither an object nor a string (decisions, section 3).
        Value::Object(map) if map.len() == 1 => nested(map.get("value").unwrap_or(value), 0),
        value => nested(value, 0),
    }
}

fn nested(value: &Value, depth: usize) -> Markup {
    match value {
        Value::Object(map) if !map.is_empty() && depth < MAX_DEPTH => html! {
            dl {
                @for (name, field) in map {
                    dt { (value_summary::label(name)) }
                    dd { (nested(field, depth + 1)) }
                }
            }
        },
        Value::Array(items) if !items.is_empty() && depth < MAX_DEPTH => html! {
            ol start="0" {
                @for item in items {
                    li { (nested(item, depth + 1)) }
                }
            }
        },
        Value::String(said) => match embedded_json(said) {
            Some(inner) if depth < MAX_DEPTH => nested(&inner, depth + 1),
            _ => words(said),
        },
        Value::Null => html! { code.quiet { "null" } },
        scalar => html! { code { (scalar) } },
    }
}

/// A text as it reads, its line breaks kept.
pub(super) fn words(said: &str) -> Markup {
    let said = value_summary::with_markers(said);
    if said.is_empty() {
        return html! { code.quiet { "\"\"" } };
    }
    if said.contains('\n') {
        let lines: Vec<_> = said.lines().map(text::printable).collect();
        return html! { pre { (lines.join("\n")) } };
    }
    html! { span.said { (text::printable(&said)) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_lists_and_texts_read_as_they_are() {
        let value =
            json!({"code": "fn main() {\n    run();\n}", "hits": [1, "two"], "result": "{\"ok\": true}"});
        assert_eq!(
            markup(&value).into_string(),
            "<dl><dt>code</dt><dd><pre>fn main() {\n    run();\n}</pre></dd>\
             <dt>hits</dt><dd><ol start=\"0\"><li><code>1</code></li><li><span class=\"said\">two</span></li></ol></dd>\
             <dt>result</dt><dd><dl><dt>ok</dt><dd><code>true</code></dd></dl></dd></dl>"
        );
    }

    #[test]
    fn nothing_in_a_value_is_markup() {
        let value = json!({"<script>": "</pre><img src=x onerror=alert(1)>\n\u{202e}\u{1b}[2J"});
        let html = markup(&value).into_string();
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains('\u{1b}'));
    }
}

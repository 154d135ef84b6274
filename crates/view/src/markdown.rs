//! Markdown as HTML that holds nothing but text, its structure, and links to where a person would go.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// Longer texts are shown unformatted.
const MAX_BYTES: usize = 256 * 1024;
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// The text as HTML; `None` for one that is too long to be worth it.
pub(super) fn to_html(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut links = Vec::new();
    let events = Parser::new_ext(text, options).map(|event| safe(event, &mut links));
    let mut written = String::with_capacity(text.len() + text.len() / 2);
    html::push_html(&mut written, events);
    Some(written)
}

/// The event without what could load, run or lead astray. `links` are the ends of the links that are open.
fn safe<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Event<'a> {
    match event {
        // HTML in a message is what somebody wrote, to be read as such.
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // An image would be asked for by looking: it becomes a link.
        Event::Start(
            Tag::Link {
                dest_url, link_type, ..
            }
            | Tag::Image {
                dest_url, link_type, ..
            },
        ) => {
            let target = allowed(&dest_url, link_type);
            links.push(target.is_some());
            match target {
                Some(target) => Event::InlineHtml(opening(&target).into()),
                None => Event::InlineHtml("<span>".into()),
            }
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            let is_link = links.pop().unwrap_or_default();
            Event::InlineHtml(if is_link { "</a>" } else { "</span>" }.into())
        }
        event => event,
    }
}

fn allowed(target: &CowStr<'_>, link_type: LinkType) -> Option<String> {
    if link_type == LinkType::Email {
        return Some(format!("mailto:{target}"));
    }
    let lower = target.to_ascii_lowercase();
    SCHEMES
        .iter()
        .any(|scheme| lower.starts_with(scheme))
        .then(|| target.to_string())
}

fn opening(target: &str) -> String {
    format!(
        "<a href=\"{}\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">",
        super::shell::escaped(target)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_said_is_markup() {
        let cases = [
            ("<script>alert(1)</script>", "&lt;script&gt;"),
            ("a <b onclick=x>b</b>", "&lt;b onclick=x&gt;"),
            ("[x](javascript:alert(1))", "<span>x</span>"),
            ("[x](JaVaScRiPt:alert(1))", "<span>x</span>"),
            ("[x](data:text/html,1)", "<span>x</span>"),
            ("<javascript:alert(1)>", "<span>javascript:alert(1)</span>"),
            (
                "![cat](https://a.example/cat.png)",
                "<a href=\"https://a.example/cat.png\"",
            ),
            ("[x](https://a.example/\"onclick=\"alert(1))", "&quot;"),
            ("[x](//a.example)", "<span>x</span>"),
        ];
        for (text, expected) in cases {
            let html = to_html(text).unwrap();
            assert!(html.contains(expected), "{text}: {html}");
            for forbidden in ["<script", "<img", "<b ", "href=\"j", "href=\"J", "href=\"d"] {
                assert!(!html.contains(forbidden), "{text}: {html}");
            }
        }
    }

    #[test]
    fn structure_stays() {
        let html = to_html("# Title\n\n- one\n- **two**\n\n```rust\nfn a() {}\n```\n\n|a|b|\n|-|-|\n|1|2|\n")
            .unwrap();
        for tag in [
            "<h1>",
            "<li>",
            "<strong>",
            "<code class=\"language-rust\">",
            "<table>",
        ] {
            assert!(html.contains(tag), "{html}");
        }
    }
}

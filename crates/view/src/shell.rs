//! The one shell of all pages: what a browser needs before a page's first data, those data, and the rest.

use std::io::{self, Write};

use axum::response::Response;
use serde::Serialize;

use super::answer::{ApiError, bytes_response, json_text};
use super::assets;
use super::streamed_body;
use super::viewer::Viewer;

const HTML: &str = "text/html; charset=utf-8";
/// Place of the initial data in the template.
const DATA: &str = "{{initial_data}}";

/// A shell that lacks nothing but the first data of its page.
pub(super) struct Shell {
    before: String,
    after: String,
}

impl Shell {
    /// The shell of the page whose module is named `page`. `needed` are paths whose answers the page asks for as soon as its script
    /// is there: the browser asks for them at once.
    pub(super) fn new(viewer: &Viewer, page: &str, title: &str, needed: &[String]) -> Result<Self, ApiError> {
        let assets = viewer.assets();
        let template = assets.get(assets::SHELL).ok_or_else(ApiError::internal)?;
        let template = String::from_utf8_lossy(&template);
        let (before, after) = template.split_once(DATA).ok_or_else(ApiError::internal)?;
        let link = |path: &String| {
            format!(
                "<link rel=\"preload\" as=\"fetch\" crossorigin href=\"{}\">\n",
                escaped(path)
            )
        };
        let module = |name: &String| {
            let version = assets.version();
            format!("<link rel=\"modulepreload\" href=\"/assets/{version}/{name}\">\n")
        };
        let modules = assets.modules(page);
        let links = modules
            .iter()
            .map(module)
            .chain(needed.iter().map(link))
            .collect();
        let values = [
            ("preload", links),
            ("version", assets.version().to_owned()),
            ("token", viewer.guard().token().to_owned()),
            ("command", escaped(&viewer.command().program)),
            ("store", escaped(&viewer.command().store)),
            ("title", escaped(title)),
            ("page", page.to_owned()),
        ];
        Ok(Self {
            before: filled(before, &values),
            after: filled(after, &values),
        })
    }

    /// The page with its first data.
    pub(super) fn with(self, data: &impl Serialize) -> Result<Response, ApiError> {
        let page = self.before + &within_script(data)? + &self.after;
        Ok(bytes_response(HTML, page))
    }

    /// The page whose first data take a moment: the browser asks for what the shell names while `data` is at work.
    pub(super) fn begun<Data: Serialize>(
        self,
        viewer: &Viewer,
        data: impl FnOnce() -> Data + Send + 'static,
    ) -> Response {
        let body = streamed_body::body(viewer, move |page: &mut dyn Write| {
            page.write_all(self.before.as_bytes())?;
            page.flush()?;
            let data = within_script(&data()).map_err(|_| io::ErrorKind::InvalidData)?;
            page.write_all(data.as_bytes())?;
            page.write_all(self.after.as_bytes())
        });
        bytes_response(HTML, body)
    }
}

/// Data as JSON that does not end the script that holds them.
fn within_script(data: &impl Serialize) -> Result<String, ApiError> {
    let data = String::from_utf8(json_text(data)?).map_err(|_| ApiError::internal())?;
    Ok(data.replace('<', "\\u003c"))
}

/// The template with each `{{name}}` replaced, once: values are not expanded again.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            filled.push_str("{{");
            rest = after;
            continue;
        };
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(value);
        }
        rest = behind;
    }
    filled + rest
}

/// A text as HTML holds it.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            char => escaped.push(char),
        }
    }
    escaped
}

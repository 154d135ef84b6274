//! Bodies of errors. Hardly two servers agree on where one says what is wrong.

use serde_json::{Value, json};

use super::ModelApi;

/// The longest message that is taken, in characters.
const MAX_MESSAGE: usize = 2_000;
/// The most messages that are taken of a list.
const MAX_LISTED: usize = 8;
/// Maximum nesting depth of a message.
const MAX_DEPTH: usize = 6;
/// Members that hold the message, or an object, a list or a JSON text that does.
const MESSAGES: [&str; 15] = [
    "message",
    "Message",
    "error",
    "detail",
    "errors",
    "error_description",
    "error_message",
    "errorMessage",
    "msg",
    "title",
    "reason",
    "status_msg",
    "faultstring",
    "fault",
    "description",
];
/// Members that name the class of the error, next to the message or around it.
const CLASSES: [&str; 7] = [
    "type",
    "code",
    "status",
    "error_type",
    "error_code",
    "errorType",
    "__type",
];
/// Classes that say no more than that it is one.
const GENERAL: [&str; 2] = ["error", "about:blank"];
/// The class of an error that names none.
const UNNAMED: &str = "error";

/// The class and the message of the error that a body says it is, whatever its status: `{"error": {"type": …, "message": …}}` and
/// its relatives; Gemini has a list around it when it streams.
pub(super) fn stated(body: &Value) -> Option<(String, String)> {
    let body = body.get(0).unwrap_or(body);
    if let Some(refused) = refused_by_code(body) {
        return Some(refused);
    }
    let error = body
        .get("error")
        .filter(|error| !error.is_null() && **error != false);
    let is_marked = ["object", "type"].iter().any(|key| body[*key] == "error");
    if error.is_none() && !is_marked {
        return None;
    }
    let class = error.and_then(class).or_else(|| class(body));
    let message = message(error.unwrap_or(body), 0).or_else(|| message(body, 0));
    Some((
        class.unwrap_or_else(|| UNNAMED.to_owned()),
        message.unwrap_or_default(),
    ))
}

/// Members by which a body with any status reports a failed request: a code other than zero, and its message.
const REFUSED_BY_CODE: [(&str, &str); 2] = [
    // MiniMax
    ("/base_resp/status_code", "/base_resp/status_msg"),
    // Baidu
    ("/error_code", "/error_msg"),
];

fn refused_by_code(body: &Value) -> Option<(String, String)> {
    REFUSED_BY_CODE.iter().find_map(|(code, said)| {
        let code = body.pointer(code)?.as_i64().filter(|code| *code != 0)?;
        let said = body.pointer(said).and_then(|said| message(said, 0))?;
        Some((code.to_string(), said))
    })
}

/// The class and the message of the body of an answer whose status says that it is an error: of any form, also a text or a page.
pub fn of_refusal(body: &Value) -> Option<(String, String)> {
    if let Some(stated) = stated(body).filter(|(_, message)| !message.is_empty()) {
        return Some(stated);
    }
    let class = class(body.get(0).unwrap_or(body));
    Some((class.unwrap_or_else(|| UNNAMED.to_owned()), message(body, 0)?))
}

/// The body of an error as clients of an API read it; without an API, as most do.
pub fn error_body(api: Option<ModelApi>, status: u16, kind: &str, message: &str) -> Value {
    match api {
        Some(ModelApi::Messages) => json!({"type": "error", "error": {"type": kind, "message": message}}),
        Some(ModelApi::GenerateContent) => {
            let name = match status {
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                424 => "FAILED_PRECONDITION",
                429 => "RESOURCE_EXHAUSTED",
                503 => "UNAVAILABLE",
                504 => "DEADLINE_EXCEEDED",
                400..=499 => "INVALID_ARGUMENT",
                _ => "INTERNAL",
            };
            json!({"error": {"code": status, "message": message, "status": name}})
        }
        Some(ModelApi::OllamaChat | ModelApi::OllamaGenerate) => json!({"error": message}),
        _ => json!({"error": {"message": message, "type": kind, "param": null, "code": kind}}),
    }
}

fn class(error: &Value) -> Option<String> {
    let texts = CLASSES.iter().filter_map(|key| error[*key].as_str());
    let mut named = texts.filter(|class| !class.is_empty() && !GENERAL.contains(class));
    named.next().map(|class| cut(class, 100))
}

/// The first message within a value.
fn message(value: &Value, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::String(text) => text_message(text, depth),
        Value::Array(items) => {
            let messages: Vec<String> = items
                .iter()
                .take(MAX_LISTED)
                .filter_map(|item| message(item, depth + 1))
                .collect();
            (!messages.is_empty()).then(|| cut(&messages.join("; "), MAX_MESSAGE))
        }
        Value::Object(members) => {
            let known = MESSAGES
                .iter()
                .find_map(|key| message(members.get(*key)?, depth + 1));
            if let Some(known) = known {
                // The location of the error in the request, as FastAPI gives it.
                return Some(match value["loc"].as_array().map(|steps| place(steps)) {
                    Some(place) if !place.is_empty() => format!("{place}: {known}"),
                    _ => known,
                });
            }
            // A list of problems for each member of the request.
            let listed: Vec<String> = members
                .iter()
                .filter(|(_, value)| depth > 0 && value.is_array())
                .take(MAX_LISTED)
                .filter_map(|(key, value)| Some(format!("{key}: {}", message(value, depth + 1)?)))
                .collect();
            (!listed.is_empty()).then(|| cut(&listed.join("; "), MAX_MESSAGE))
        }
        _ => None,
    }
}

fn place(steps: &[Value]) -> String {
    let steps = steps.iter().map(|step| match step {
        Value::String(name) => name.clone(),
        step => step.to_string(),
    });
    steps.collect::<Vec<String>>().join(".")
}

/// A message that is a text: JSON within it and a page of HTML have theirs in them.
fn text_message(text: &str, depth: usize) -> Option<String> {
    let text = text.trim();
    if text.starts_with(['{', '['])
        && let Ok(inner) = serde_json::from_str::<Value>(text)
        && let Some(inner) = message(&inner, depth + 1)
    {
        return Some(inner);
    }
    if text.starts_with('<') {
        return page_message(text);
    }
    (!text.is_empty()).then(|| cut(text, MAX_MESSAGE))
}

/// The title of a page, or its first heading.
fn page_message(page: &str) -> Option<String> {
    // The letters of ASCII alone are changed: places stay.
    let lower = page.to_ascii_lowercase();
    let found = ["title", "h1", "h2", "p", "code", "message"]
        .iter()
        .find_map(|tag| {
            let open = lower
                .find(&format!("<{tag}>"))
                .or_else(|| lower.find(&format!("<{tag} ")))?;
            let start = open + lower.get(open..)?.find('>')? + 1;
            let end = start + lower.get(start..)?.find("</")?;
            let text = page
                .get(start..end)?
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            (!text.is_empty() && !text.contains('<')).then_some(text)
        });
    found.map(|text| cut(&text.replace("&amp;", "&").replace("&#39;", "'"), MAX_MESSAGE))
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_code_in_an_answer_says_that_it_failed() {
        let of = |body: Value| stated(&body);
        let failed = |class: &str, message: &str| Some((class.to_owned(), message.to_owned()));
        let refused = json!({"id": "m1", "choices": null, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}});
        assert_eq!(of(refused), failed("1008", "insufficient balance"));
        assert_eq!(
            of(json!({"error_code": 110, "error_msg": "Access token invalid"})),
            failed("110", "Access token invalid")
        );
        let answered = json!({"choices": [{"message": {"content": "hi"}}], "base_resp": {"status_code": 0, "status_msg": ""}});
        assert_eq!(of(answered), None);
    }

    /// Each row: a body with an error status, its class and its message.
    #[test]
    fn every_form_of_an_error_gives_its_message() {
        for (body, class, message) in [
            (
                json!({"error": {"type": "invalid_request_error", "message": "no"}}),
                "invalid_request_error",
                "no",
            ),
            (
                json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "no"}}),
                "INVALID_ARGUMENT",
                "no",
            ),
            (
                json!([{"error": {"status": "NOT_FOUND", "message": "no"}}]),
                "NOT_FOUND",
                "no",
            ),
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}),
                "overloaded_error",
                "no",
            ),
            (
                json!({"error": "model 'x' not found"}),
                "error",
                "model 'x' not found",
            ),
            (
                json!({"code": "Client specified an invalid argument", "error": "no"}),
                "Client specified an invalid argument",
                "no",
            ),
            (
                json!({"error": "no", "error_type": "validation"}),
                "validation",
                "no",
            ),
            (
                json!({"error": "invalid_grant", "error_description": "no"}),
                "error",
                "invalid_grant",
            ),
            (
                json!({"object": "error", "message": "max_tokens is too large", "type": "BadRequestError", "code": 400}),
                "BadRequestError",
                "max_tokens is too large",
            ),
            (
                json!({"statusCode": 401, "message": "Access denied"}),
                "error",
                "Access denied",
            ),
            (json!({"Message": "no"}), "error", "no"),
            (json!({"detail": "Not Found"}), "error", "Not Found"),
            (
                json!({"detail": [{"loc": ["body", "messages", 0], "msg": "Field required", "type": "missing"}, {"msg": "two"}]}),
                "error",
                "body.messages.0: Field required; two",
            ),
            (
                json!({"object": "error", "type": "invalid_request_error", "message": {"detail": [{"loc": ["body"], "msg": "no"}]}}),
                "invalid_request_error",
                "body: no",
            ),
            (
                json!({"success": false, "errors": [{"code": 7003, "message": "no"}, {"message": "route"}]}),
                "error",
                "no; route",
            ),
            (json!({"errors": ["no", "route"]}), "error", "no; route"),
            (
                json!({"errors": {"model": ["is unknown"]}}),
                "error",
                "model: is unknown",
            ),
            (
                json!({"type": "about:blank", "title": "Bad Request", "detail": "no", "status": 400}),
                "error",
                "no",
            ),
            (json!({"title": "Bad Request"}), "error", "Bad Request"),
            (
                json!({"fault": {"faultstring": "no", "detail": {"errorcode": "x"}}}),
                "error",
                "no",
            ),
            (
                json!({"error": {"message": "{\"error\": {\"message\": \"inner\"}}"}}),
                "error",
                "inner",
            ),
            (json!({"error": {"detail": "no"}}), "error", "no"),
            (json!("upstream connect error"), "error", "upstream connect error"),
            (
                json!("<html>\r\n<head><title>502 Bad Gateway</title></head><body><h1>x</h1></body></html>"),
                "error",
                "502 Bad Gateway",
            ),
            (
                json!("<!DOCTYPE html><TITLE lang=\"en\">\n  504:\n Gateway time-out</TITLE>"),
                "error",
                "504: Gateway time-out",
            ),
            (json!("<h1>Bad gateway</h1>"), "error", "Bad gateway"),
        ] {
            assert_eq!(
                of_refusal(&body),
                Some((class.to_owned(), message.to_owned())),
                "{body}"
            );
        }
        for silent in [
            json!(null),
            json!({}),
            json!({"id": 7}),
            json!(""),
            json!([]),
            json!("<html></html>"),
        ] {
            assert_eq!(of_refusal(&silent), None, "{silent}");
        }
    }

    #[test]
    fn an_answer_is_no_error_for_having_a_message() {
        for answer in [
            json!({"message": {"role": "assistant", "content": "Hi"}, "done": true}),
            json!({"error": null, "output": [], "status": "completed"}),
            json!({"type": "message", "content": []}),
            json!({"choices": [{"message": {"content": "error"}}]}),
        ] {
            assert_eq!(stated(&answer), None, "{answer}");
        }
        let stated = stated(&json!({"error": {}}));
        assert_eq!(stated, Some(("error".to_owned(), String::new())));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(<|</|title|h1|>| |é|\\{|\"error\"|:|\\}){0,20}") {
            let _ = of_refusal(&Value::from(text.as_str()));
            let _ = of_refusal(&json!({"error": text}));
        }
    }
}

//! [`Redaction`]: the rules of recording for texts and values from elsewhere, such as a program's output, or for what
//! another emitter recorded.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{RedactionSettings, Redactor, Siblings};
use crate::settings::Settings;
use tracer_format::names::markers::REDACTED;

/// Replaces secrets by `__REDACTED__`; nothing is cut.
///
/// ```
/// use tracer_sdk::redaction::Redaction;
/// use tracer_sdk::settings::Settings;
///
/// let redaction = Redaction::new(&Settings::with_data_dir("unused"), std::env::vars());
/// assert_eq!(redaction.text("DB_PASSWORD=hunter2 cargo run"), "DB_PASSWORD=__REDACTED__ cargo run");
/// ```
#[derive(Debug)]
pub struct Redaction {
    redactor: Redactor,
}

impl Redaction {
    /// The redaction of these settings. `environment` holds variables as a process has them: the values of those with a
    /// secret-like name are replaced wherever they appear, when they have 8 bytes or more.
    ///
    /// ```
    /// use tracer_sdk::redaction::Redaction;
    /// use tracer_sdk::settings::Settings;
    ///
    /// let environment = [("MY_SECRET".to_owned(), "correct-horse".to_owned())];
    /// let redaction = Redaction::new(&Settings::with_data_dir("unused"), environment);
    /// assert_eq!(redaction.text("it is correct-horse"), "it is __REDACTED__");
    /// ```
    #[must_use]
    pub fn new(settings: &Settings, environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let settings = RedactionSettings {
            max_field_bytes: usize::MAX,
            ..settings.into()
        };
        Self {
            redactor: Redactor::new(&settings, environment),
        }
    }

    /// The text without secrets; borrowed when there is none.
    ///
    /// ```
    /// use tracer_sdk::{redaction::Redaction, settings::Settings};
    ///
    /// let redaction = Redaction::new(&Settings::with_data_dir("unused"), []);
    /// assert_eq!(redaction.text("https://ada:hunter2@example.org"), "https://ada:__REDACTED__@example.org");
    /// ```
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redactor.clean_to(text, usize::MAX).text
    }

    /// The arguments of a program without the values of secret-like options: `--option=value`, `--option value`.
    ///
    /// ```
    /// use tracer_sdk::{redaction::Redaction, settings::Settings};
    ///
    /// let redaction = Redaction::new(&Settings::with_data_dir("unused"), []);
    /// let arguments = ["agent", "--api-key", "k-1234"].map(str::to_owned);
    /// assert_eq!(redaction.arguments(arguments), ["agent", "--api-key", "__REDACTED__"]);
    /// ```
    #[must_use]
    pub fn arguments(&self, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
        self.redactor.arguments(arguments)
    }

    /// The value without secrets, whether a key or a text tells them; and how many places were changed.
    ///
    /// ```
    /// use tracer_sdk::{redaction::Redaction, settings::Settings};
    ///
    /// let redaction = Redaction::new(&Settings::with_data_dir("unused"), []);
    /// let (value, changed) = redaction.value(serde_json::json!({"user": "ada", "api_key": "k-1234"}));
    /// assert_eq!(value, serde_json::json!({"user": "ada", "api_key": "__REDACTED__"}));
    /// assert_eq!(changed, 1);
    /// ```
    #[must_use]
    pub fn value(&self, value: Value) -> (Value, u64) {
        let mut changed = 0;
        let value = self.cleaned(value, &mut changed);
        (value, changed)
    }

    fn cleaned(&self, value: Value, changed: &mut u64) -> Value {
        match value {
            Value::String(text) => match self.text(&text) {
                Cow::Borrowed(_) => Value::String(text),
                Cow::Owned(cleaned) => {
                    *changed += u64::from(cleaned != text);
                    Value::String(cleaned)
                }
            },
            Value::Array(items) => Value::Array(self.items(items, false, changed)),
            Value::Object(members) => Value::Object(self.members(members, changed)),
            scalar => scalar,
        }
    }

    fn items(&self, items: Vec<Value>, in_array: bool, changed: &mut u64) -> Vec<Value> {
        let mut siblings = Siblings::default();
        let items = items.into_iter().map(|item| {
            let hint = siblings.item(in_array);
            match item {
                Value::String(text) if hint.is_some_and(|hint| hint.hides(&text)) => {
                    marked(&text.into(), changed)
                }
                Value::Array(items) => Value::Array(self.items(items, true, changed)),
                item => {
                    if let Some(text) = item.as_str() {
                        siblings.add(text, None, &self.redactor);
                    }
                    self.cleaned(item, changed)
                }
            }
        });
        items.collect()
    }

    fn members(&self, members: Map<String, Value>, changed: &mut u64) -> Map<String, Value> {
        let mut siblings = Siblings::default();
        // The members of a map may be sorted: a name counts wherever it is.
        for (key, value) in &members {
            let role = self.redactor.member(key, usize::MAX).role;
            if let Some(text) = value.as_str().filter(|_| role.is_name()) {
                siblings.add(text, Some(role), &self.redactor);
            }
        }
        let members = members.into_iter().map(|(key, value)| {
            let member = self.redactor.member(&key, usize::MAX);
            let hint = siblings.member(&member);
            let is_scalar = value.is_number() || value.is_boolean() || value.is_null();
            let is_named = hint.is_some_and(|hint| match value.as_str() {
                Some(text) => hint.hides(text),
                None => !is_scalar && hint.hides_container(),
            });
            let is_hidden = is_named || (!value.is_null() && member.verdict.hides(is_scalar));
            let key = match member.key.text {
                Cow::Borrowed(_) => key,
                Cow::Owned(cleaned) => cleaned,
            };
            if is_hidden {
                return (key, marked(&value, changed));
            }
            (key, self.cleaned(value, changed))
        });
        members.collect()
    }
}

/// The marker in the place of `value`, counted unless it is there already.
fn marked(value: &Value, changed: &mut u64) -> Value {
    *changed += u64::from(value.as_str() != Some(REDACTED));
    Value::String(REDACTED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redaction() -> Redaction {
        let environment = [("SERVICE_TOKEN".to_owned(), "grey-elephant-9".to_owned())];
        Redaction::new(&Settings::with_data_dir("unused"), environment)
    }

    #[test]
    fn keys_shapes_and_the_environment_find_secrets_at_any_depth() {
        let value = json!({"request": [{"headers": {"x-api-key": "k", "accept": "*"}}, "grey-elephant-9 said"],
            "aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "max_tokens": 5, "token": 7});
        let (cleaned, changed) = redaction().value(value);
        assert_eq!(
            cleaned,
            json!({"request": [{"headers": {"x-api-key": REDACTED, "accept": "*"}}, format!("{REDACTED} said")],
                "aws_secret_access_key": REDACTED, "max_tokens": 5, "token": 7})
        );
        assert_eq!(changed, 3);
    }

    #[test]
    fn what_was_redacted_before_counts_no_more() {
        let (once, _) = redaction().value(json!({"password": "hunter2", "note": "Bearer abcdefgh12345678"}));
        let (twice, changed) = redaction().value(once.clone());
        assert_eq!((twice, changed), (once, 0));
    }

    #[test]
    fn nothing_is_cut() {
        let long = "word ".repeat(100_000);
        assert!(redaction().text(&long) == long);
    }
}

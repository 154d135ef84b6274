//! `output`: the final answer, standard output or a file is as demanded.

use regex::Regex;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use super::json_schema::JsonSchema;
use super::{Invariant, InvariantSpec, tools};
use crate::content::{Finding, RunContent, is_altered_text};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutputCheck {
    /// The text that is judged.
    #[serde(default, rename = "from")]
    source: OutputSource,
    /// The whole text, without white space at its ends.
    equals: Option<String>,
    /// A part of the text, or several.
    #[serde(default, deserialize_with = "parts")]
    #[schemars(with = "Option<ContainedParts>")]
    contains: Vec<String>,
    /// A regular expression that finds a place in the text.
    #[serde(default, deserialize_with = "expression")]
    #[schemars(with = "Option<String>")]
    matches: Option<Regex>,
    /// JSON Schema of the text, which must be JSON.
    #[serde(default, deserialize_with = "schema")]
    #[schemars(with = "Option<Value>")]
    json_schema: Option<JsonSchema>,
    /// Program and arguments that get `{run, events, output}` on standard input, and answer by exit code 0 or 1, or with
    /// `{"pass": true, "score": 0.9, "reason": "…"}`.
    #[serde(default, deserialize_with = "tools::names")]
    command: Vec<String>,
}

/// The text that is judged.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OutputSource {
    /// The last answer of a model.
    #[default]
    Answer,
    /// Standard output of the trial.
    Stdout,
    /// A file in the folder of the trial.
    File(String),
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "must be a text or a list of texts")]
#[schemars(rename = "Parts")]
enum ContainedParts {
    One(String),
    Several(Vec<String>),
}

fn parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match ContainedParts::deserialize(deserializer)? {
        ContainedParts::One(part) => vec![part],
        ContainedParts::Several(parts) => parts,
    })
}

fn expression<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let expression = Regex::new(&text).map_err(|_| D::Error::custom("is no regular expression"))?;
    Ok(Some(expression))
}

fn schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JsonSchema>, D::Error> {
    let schema = Value::deserialize(deserializer)?;
    JsonSchema::new(&schema).map(Some).map_err(D::Error::custom)
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<OutputCheck>("output").labelled();

impl OutputCheck {
    /// The text, or the reason why it is not known.
    fn text(&self, run: &RunContent<'_>) -> Result<String, String> {
        match &self.source {
            OutputSource::Answer => run
                .answer()
                .ok_or_else(|| "no answer of a model was recorded".to_owned()),
            OutputSource::Stdout => run.trial.standard_output(),
            OutputSource::File(path) => run.trial.file(path),
        }
    }

    /// Finding on the text itself.
    fn of_text(&self, text: &str) -> Finding {
        let text = text.trim();
        let broken = |reason: String| {
            if is_altered_text(text) {
                Finding::unknown("the output was not recorded in full")
            } else {
                Finding::broken(reason)
            }
        };
        if self
            .equals
            .as_ref()
            .is_some_and(|expected| expected.trim() != text)
        {
            return broken("it is another text".to_owned());
        }
        if let Some(part) = self.contains.iter().find(|part| !text.contains(&**part)) {
            return broken(format!("it does not contain `{part}`"));
        }
        let reads_all = self.matches.is_some() || self.json_schema.is_some();
        if reads_all && is_altered_text(text) {
            return Finding::unknown("the output was not recorded in full");
        }
        if let Some(expression) = self.matches.as_ref().filter(|matches| !matches.is_match(text)) {
            return broken(format!("it does not match `{expression}`"));
        }
        if let Some(schema) = &self.json_schema {
            let error = match serde_json::from_str(text) {
                Ok(value) => schema.error(&value),
                Err(_) => Some("it is no JSON".to_owned()),
            };
            if let Some(error) = error {
                return broken(error);
            }
        }
        Finding::kept()
    }

    fn judges_text(&self) -> bool {
        self.equals.is_some()
            || !self.contains.is_empty()
            || self.matches.is_some()
            || self.json_schema.is_some()
    }
}

impl Invariant for OutputCheck {
    fn needs_content(&self) -> bool {
        true
    }

    fn content_finding(&self, run: &RunContent<'_>) -> Finding {
        let text = self.text(run);
        let mut finding = match &text {
            Ok(text) => self.of_text(text),
            // A command may judge the run without its output.
            Err(_) if !self.judges_text() => Finding::kept(),
            Err(reason) => Finding::unknown(reason.as_str()),
        };
        let is_answer = matches!(self.source, OutputSource::Answer);
        if is_answer && self.judges_text() && run.profile.missing.is_some() {
            finding = Finding::unknown("the last answer may be missing from the trace");
        }
        if finding.outcome == Some(true) && !self.command.is_empty() {
            finding = run.trial.ask(&self.command, &run.json(text.as_deref().ok()));
        }
        finding
    }

    fn is_about_the_end(&self) -> bool {
        true
    }

    fn has_score(&self) -> bool {
        !self.command.is_empty()
    }

    fn mistake(&self) -> Option<&'static str> {
        let has_check = self.judges_text() || !self.command.is_empty();
        (!has_check).then_some("needs equals, contains, matches, json_schema or command")
    }

    fn description(&self) -> String {
        let what = match &self.source {
            OutputSource::Answer => "the last answer".to_owned(),
            OutputSource::Stdout => "standard output".to_owned(),
            OutputSource::File(path) => format!("the file {path}"),
        };
        let mut demands = Vec::new();
        demands.extend(self.equals.as_ref().map(|text| format!("is `{text}`")));
        demands.extend(self.contains.iter().map(|part| format!("contains `{part}`")));
        demands.extend(
            self.matches
                .as_ref()
                .map(|matches| format!("matches `{matches}`")),
        );
        demands.extend(
            self.json_schema
                .as_ref()
                .map(|_| "is JSON of the schema".to_owned()),
        );
        if !self.command.is_empty() {
            demands.push(format!("is accepted by {}", self.command.join(" ")));
        }
        format!("{what} {}", demands.join(" and "))
    }
}

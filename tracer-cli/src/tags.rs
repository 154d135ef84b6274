//! The tags of runs that are recorded from outside: `--tag`, and `TRACER_TAGS`.

use serde_json::{Map, Value};
use tracer_sdk::format::{InvalidTag, MAX_TAGS, TAGS_VARIABLE, Tags, names};

use crate::error::CliError;
use crate::session::Session;

/// The option that tags runs.
#[derive(Debug, clap::Args)]
pub(crate) struct TagArgs {
    /// Tag the run, to find and group it by; may be given several times [example: commit=3f2a]
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse_tag)]
    tags: Vec<Tags>,
}

/// One tag.
fn parse_tag(text: &str) -> Result<Tags, InvalidTag> {
    let mut tags = Tags::default();
    tags.set_text(text)?;
    Ok(tags)
}

impl TagArgs {
    /// The tags of the environment, and those that are given, which win over them.
    pub(crate) fn with_environment(&self, session: &mut Session) -> Result<Tags, CliError> {
        let (mut tags, problem) = of_environment();
        if let Some(problem) = problem {
            let note = format!("tracer: a tag in {TAGS_VARIABLE} is not recorded: {problem}");
            session.ui.warn(note);
        }
        for tag in &self.tags {
            for (key, value) in tag.iter() {
                tags.set(key, value).map_err(|problem| {
                    CliError::input(problem.to_string()).with_hint(format!(
                        "give at most {MAX_TAGS} tags, those of {TAGS_VARIABLE} included"
                    ))
                })?;
            }
        }
        Ok(tags)
    }
}

/// The tags of `TRACER_TAGS`, and what is wrong with the first that is not one.
pub(crate) fn of_environment() -> (Tags, Option<InvalidTag>) {
    match std::env::var_os(TAGS_VARIABLE) {
        None => (Tags::default(), None),
        Some(value) => match value.to_str() {
            Some(text) => Tags::from_variable(text),
            None => (Tags::default(), Some(InvalidTag::NotUnicode)),
        },
    }
}

/// The attributes of a root that hold tags.
pub(crate) fn attributes(tags: &Tags) -> Map<String, Value> {
    let attribute = |(key, value): (&str, &str)| {
        let name = format!("{}{key}", names::TAG_PREFIXES[0]);
        (name, Value::from(value))
    };
    tags.iter().map(attribute).collect()
}

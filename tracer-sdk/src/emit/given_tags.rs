//! [`GivenTags`]: the tags of a run that is being described, and those that the environment gives every run.

use super::warning::warn_once;
use tracer_format::{InvalidTag, TAGS_VARIABLE, Tags};

/// Tags given in code, kept until their run begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct GivenTags(Tags);

impl GivenTags {
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        if let Err(problem) = self.0.set(key, value) {
            warn_once(&format_args!("a tag in code is not recorded: {problem}"));
        }
    }

    /// The tags in code alone.
    pub(crate) fn in_code(&self) -> &Tags {
        &self.0
    }

    /// The tags in code, and those of the environment, which win over them as the run's name does.
    pub(crate) fn with_environment(&self) -> Tags {
        let mut tags = self.0.clone();
        let Some(value) = std::env::var_os(TAGS_VARIABLE) else {
            return tags;
        };
        let (others, problem) = match value.to_str() {
            Some(text) => Tags::from_variable(text),
            None => (Tags::default(), Some(InvalidTag::NotUnicode)),
        };
        if let Some(problem) = problem {
            warn_once(&format_args!(
                "a tag in {TAGS_VARIABLE} is not recorded: {problem}"
            ));
        }
        tags.extend(&others);
        tags
    }
}

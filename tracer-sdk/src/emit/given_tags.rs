//! [`GivenTags`]: the tags of a run that is being described, and those that the environment gives every run.

use super::warning::warn_once;
use tracer_format::{InvalidTag, TAGS_VARIABLE, Tags};

/// Tags given in code, kept until their run begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct GivenTags {
    tags: Tags,
    /// Problem of the first invalid tag: reported when the run begins, if it does.
    problem: Option<InvalidTag>,
}

impl GivenTags {
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        let problem = self.tags.set(key, value).err();
        self.problem = self.problem.or(problem);
    }

    /// The tags in code alone.
    pub(crate) fn in_code(&self) -> &Tags {
        if let Some(problem) = self.problem {
            warn_once(&format_args!("a tag in code is not recorded: {problem}"));
        }
        &self.tags
    }

    /// The tags in code, and those of the environment, which win over them as the run's name does.
    pub(crate) fn with_environment(&self) -> Tags {
        let mut tags = self.in_code().clone();
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

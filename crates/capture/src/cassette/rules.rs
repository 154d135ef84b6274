//! Matching rules in a cassette's head: the lists `ignore` and `mask`, and `ignore_tool_results`.
//!
//! They are added to the built-in rules.

use regex::Regex;
use tracer_insight::json_pointer::JsonPointer;

use super::error::FieldProblem;
use super::format::Head;

/// Rules of the user.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    pub(super) ignore: Vec<JsonPointer>,
    pub(super) mask: Vec<Regex>,
    pub(super) ignores_tool_results: bool,
}

impl Rules {
    /// Reads rules: JSON Pointers of what is ignored, with `*` for every item, and regular expressions of what is masked in texts.
    pub(super) fn new(head: &Head) -> Result<Self, FieldProblem> {
        let pointer = |(position, text): (usize, &String)| {
            JsonPointer::parse(text).ok_or_else(|| {
                FieldProblem::new(
                    format!("ignore[{position}]"),
                    "is no JSON Pointer: write /messages/*/name, with * for every item",
                )
            })
        };
        let expression = |(position, text): (usize, &String)| {
            Regex::new(text)
                .map_err(|_| FieldProblem::new(format!("mask[{position}]"), "is no regular expression"))
        };
        Ok(Self {
            ignore: head
                .ignore
                .iter()
                .enumerate()
                .map(pointer)
                .collect::<Result<_, _>>()?,
            mask: head
                .mask
                .iter()
                .enumerate()
                .map(expression)
                .collect::<Result<_, _>>()?,
            ignores_tool_results: head.ignore_tool_results,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rule_is_refused() {
        for pointer in ["", "$.a", "a/b"] {
            assert!(JsonPointer::parse(pointer).is_none(), "{pointer}");
        }
        for mask in ["(", "((a{1000}){1000}){1000}"] {
            let head = Head {
                mask: vec![mask.to_owned()],
                ..Head::default()
            };
            let problem = Rules::new(&head).unwrap_err();
            assert_eq!(problem, FieldProblem::new("mask[0]", "is no regular expression"));
        }
    }
}

//! Everything that the attribute says of a mistake: what is wrong, and what to write instead.

use crate::options::{OPTIONS, OptionForm, OptionRule, TraceKind};

pub(crate) const NOT_A_FUNCTION: &str = "expected a function: `#[trace]` goes on a `fn` with a body";
pub(crate) const NO_BODY: &str =
    "there is no body to trace: put `#[trace]` on the implementation, or on a method with a default body";
pub(crate) const CONST_FN: &str =
    "a `const fn` cannot be traced: it may run in the compiler, where there is no run";
pub(crate) const NOT_AN_OPTION: &str = "expected an option, as `name = \"…\"`, or a name in quotes";
pub(crate) const NO_MODEL: &str = "a model call needs its model: write `#[trace(llm, model = \"…\")]`";
pub(crate) const NO_SELF: &str =
    "`self` is never kept: record what you need of it in the function, or pass it as a parameter";
pub(crate) const NO_NAMES: &str = "name the arguments to keep, as `args(a, b)`, or write `args` to keep all";
pub(crate) const NOT_ASYNC: &str = "`on_exceed = cancel` works on async functions only, which can be dropped at an await: \
     a sync one stops at the `?` after what it records";
pub(crate) const TOO_FEW_REPETITIONS: &str = "a loop repeats at least 2 times";

/// Something other than a comma follows the kind.
pub(crate) fn comma_after_kind(word: &str) -> String {
    format!("expected `,` between `{word}` and its options")
}

/// There is no such option.
pub(crate) fn unknown(word: &str, kind: TraceKind) -> String {
    let kinds = if kind == TraceKind::Run {
        "; the kinds are `tool`, `llm`, `agent` and `span`"
    } else {
        ""
    };
    format!("unknown option `{word}`: {}{kinds}", allowed(kind))
}

/// A kind that is not the first word.
pub(crate) fn late_kind(word: &str) -> String {
    format!("the kind comes first, and there is only one: write `#[trace({word}, …)]`")
}

/// An option of another kind.
pub(crate) fn misplaced(rule: &OptionRule, kind: TraceKind) -> String {
    let word = rule.word;
    if rule.is_guardrail() {
        return format!("guardrails belong to the run: put `{word}` on the outer `#[trace]`");
    }
    if word == "name" {
        return "a model call is named by its model: write `model = \"…\"`".to_owned();
    }
    let theirs: Vec<String> = rule
        .kinds
        .iter()
        .map(|kind| format!("`{}`", kind.attribute()))
        .collect();
    format!("`{word}` belongs to {}: {}", list(&theirs), allowed(kind))
}

/// An option that is written in another way.
pub(crate) fn wrong_form(rule: &OptionRule) -> String {
    let (word, example) = (rule.word, rule.example);
    match rule.form {
        OptionForm::Text => format!("`{word}` needs a text: write `{example}`"),
        OptionForm::Path => format!("`{word}` needs a path: write `{example}`"),
        OptionForm::Function => format!("`{word}` needs a function of the returned value: write `{example}`"),
        OptionForm::Number => format!("`{word}` needs a number: write `{example}`"),
        OptionForm::Flag => format!("`{word}` takes no value: write `{example}`"),
        OptionForm::FlagOrShape => format!("`{word}` takes no value but `\"shape\"`: write `{example}`"),
        OptionForm::Selection => format!("`{word}` takes names in parentheses or nothing: write `{example}`"),
        OptionForm::Cancel => format!("`{word}` takes only `cancel`: write `{example}`"),
    }
}

/// An option given twice.
pub(crate) fn repeated(word: &str) -> String {
    format!("`{word}` is given twice")
}

/// An argument to keep that the function does not have.
pub(crate) fn no_parameter(function: &str, name: &str, parameters: &[String]) -> String {
    if parameters.is_empty() {
        return format!("`{function}` has no parameter `{name}`, nor any other to keep");
    }
    let names: Vec<String> = parameters
        .iter()
        .map(|parameter| format!("`{parameter}`"))
        .collect();
    format!("`{function}` has no parameter `{name}`; it has {}", list(&names))
}

/// Options that a kind takes.
fn allowed(kind: TraceKind) -> String {
    let options: Vec<String> = OPTIONS
        .iter()
        .filter(|rule| rule.kinds.contains(&kind))
        .map(|rule| {
            format!(
                "`{}`",
                if rule.form == OptionForm::Selection {
                    rule.example
                } else {
                    rule.word
                }
            )
        })
        .collect();
    format!("`{}` takes {}", kind.attribute(), list(&options))
}

fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

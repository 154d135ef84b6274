//! A program's arguments: the values of secret-like options go (decisions, section 6).

use super::Redactor;
use super::keys::{Confidence, NameMeaning};
use tracer_format::names::markers::REDACTED;

pub(super) fn clean(redactor: &Redactor, argv: impl IntoIterator<Item = String>) -> Vec<String> {
    let class = |option: &str| {
        redactor
            .redact
            .then(|| redactor.keys.meaning(option.as_bytes()))
            .flatten()
    };
    let mut option_before: Option<NameMeaning> = None;
    argv.into_iter()
        .map(|argument| {
            let before = option_before.take();
            if before.is_some_and(|name| hides(name, &argument)) && !is_surely_option(&argument) {
                return REDACTED.to_owned();
            }
            if let Some(option) = option_name(&argument) {
                match argument.split_once('=') {
                    Some((dashed, value)) if class(option).is_some_and(|name| hides(name, value)) => {
                        return format!("{dashed}={REDACTED}");
                    }
                    Some(_) => {}
                    None => option_before = class(option),
                }
            }
            redactor.text(&argument).into_owned()
        })
        .collect()
}

/// Says whether `value` is a secret as the argument of an option whose name means this.
fn hides(name: NameMeaning, value: &str) -> bool {
    name == NameMeaning::Secret || name.hides(value.as_bytes(), Confidence::Explicit)
}

/// The name in `--name`, `--name=value`, `-name` and `-n`; nothing for a value, `-`, `--` or a negative number.
fn option_name(argument: &str) -> Option<&str> {
    let name = argument
        .strip_prefix("--")
        .or_else(|| argument.strip_prefix('-'))?;
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        .then_some(name)
}

/// Says whether an argument after a secret-like option is another option and not a value that begins with a dash.
fn is_surely_option(argument: &str) -> bool {
    argument.starts_with("--") || (argument.starts_with('-') && argument.len() == 2)
}

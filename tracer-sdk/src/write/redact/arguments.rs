//! A program's arguments: the values of secret-like options go (decisions, section 6).

use super::{KeyVerdict, Redactor};
use crate::format::names::markers::REDACTED;

pub(super) fn clean(redactor: &Redactor, argv: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut verdict = KeyVerdict::Keep;
    argv.into_iter()
        .map(|argument| {
            let before = std::mem::replace(&mut verdict, KeyVerdict::Keep);
            let Some(option) = option_name(&argument) else {
                let secret = is_secret(before, &argument);
                return if secret {
                    REDACTED.to_owned()
                } else {
                    redactor.text(&argument).into_owned()
                };
            };
            match argument.split_once('=') {
                Some((dashed, value)) if is_secret(redactor.key(option), value) => {
                    format!("{dashed}={REDACTED}")
                }
                Some(_) => redactor.text(&argument).into_owned(),
                None => {
                    verdict = redactor.key(option);
                    redactor.text(&argument).into_owned()
                }
            }
        })
        .collect()
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

fn is_secret(verdict: KeyVerdict, value: &str) -> bool {
    match verdict {
        KeyVerdict::Keep => false,
        KeyVerdict::Secret => true,
        KeyVerdict::SecretUnlessNumber => value.parse::<f64>().is_err() && !matches!(value, "true" | "false"),
    }
}

//! A value as a source gives it, and what it means: text in the environment, TOML in a settings file.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::de::{DeInteger, DeValue};

use super::{Flush, table};
use crate::guardrails::StopOnLoop;
#[cfg(feature = "prices")]
use tracer_format::Usd;

/// A value that is not understood yet. Each reading gives `None` when the value is not of its kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum Given<'a> {
    /// The text of an environment variable, never blank.
    Text(&'a OsStr),
    /// A value of a settings file.
    Toml(&'a DeValue<'a>),
}

pub(super) fn path(given: Given<'_>) -> Option<OsString> {
    match given {
        Given::Text(text) => Some(text.to_owned()),
        Given::Toml(DeValue::String(text)) if !text.trim().is_empty() => Some(text.as_ref().into()),
        Given::Toml(_) => None,
    }
}

/// A URL with a scheme and nothing that looks like credentials; opening it checks more closely.
pub(super) fn bucket(given: Given<'_>) -> Option<String> {
    let text = match given {
        Given::Text(text) => text.to_str()?,
        Given::Toml(DeValue::String(text)) => text.as_ref(),
        Given::Toml(_) => return None,
    };
    let text = text.trim();
    let (_, rest) = text.split_once("://")?;
    (!rest.is_empty() && !rest.contains(['@', '?', '#'])).then(|| text.to_owned())
}

pub(super) fn switch(given: Given<'_>) -> Option<bool> {
    match given {
        Given::Text(text) => match text.to_str()?.trim().to_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        },
        Given::Toml(DeValue::Boolean(switch)) => Some(*switch),
        Given::Toml(_) => None,
    }
}

pub(super) fn stop_on_loop(given: Given<'_>) -> Option<StopOnLoop> {
    let word = match given {
        Given::Text(text) => text.to_str()?.trim(),
        Given::Toml(DeValue::String(text)) => text.as_ref(),
        Given::Toml(_) => "",
    };
    if word.eq_ignore_ascii_case(table::SHAPE) {
        return Some(StopOnLoop::Shape);
    }
    switch(given).map(StopOnLoop::from)
}

pub(super) fn names(given: Given<'_>) -> Option<Vec<String>> {
    match given {
        Given::Text(text) => {
            let names = text.to_str()?.split(',').map(str::trim);
            let names: Vec<String> = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
            (!names.is_empty()).then_some(names)
        }
        Given::Toml(DeValue::Array(items)) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(name) if !name.trim().is_empty() => Some(name.trim().to_owned()),
                _ => None,
            })
            .collect(),
        Given::Toml(_) => None,
    }
}

pub(super) fn whole(given: Given<'_>, allowed: &RangeInclusive<u64>) -> Option<u64> {
    let number = match given {
        Given::Text(text) => text.to_str()?.trim().parse().ok(),
        Given::Toml(DeValue::Integer(integer)) => unsigned(integer),
        Given::Toml(_) => None,
    };
    number.filter(|number| allowed.contains(number))
}

pub(super) fn seconds(given: Given<'_>) -> Option<Duration> {
    let seconds: f64 = match given {
        Given::Text(text) => text.to_str()?.trim().parse().ok()?,
        Given::Toml(DeValue::Float(float)) => float.as_str().parse().ok()?,
        Given::Toml(DeValue::Integer(integer)) => {
            return unsigned(integer).map(Duration::from_secs);
        }
        Given::Toml(_) => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(feature = "prices")]
pub(super) fn dollars(given: Given<'_>) -> Option<Usd> {
    match given {
        Given::Text(text) => text.to_str()?.trim().parse().ok(),
        Given::Toml(DeValue::Float(float)) => float.as_str().parse().ok(),
        Given::Toml(DeValue::Integer(integer)) if integer.radix() == 10 => integer.as_str().parse().ok(),
        Given::Toml(_) => None,
    }
}

pub(super) fn flush(given: Given<'_>) -> Option<Flush> {
    let word = match given {
        Given::Text(text) => text.to_str()?.trim(),
        Given::Toml(DeValue::String(word)) => word,
        Given::Toml(_) => return None,
    };
    match word {
        "each" => Some(Flush::Each),
        "batched" => Some(Flush::Batched),
        _ => None,
    }
}

fn unsigned(integer: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

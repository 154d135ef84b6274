//! Values of settings, read from environment variables and from TOML.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use toml::de::DeValue;
#[cfg(feature = "prices")]
use tracer_format::Usd;

use super::setting::AllowedValues;
use super::words::{Flush, SHAPE, StopOnLoop};

/// A value that is not understood yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) written: Unparsed<'a>,
    /// The base of relative paths.
    pub(super) base: &'a Path,
    pub(super) home: Option<&'a Path>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Unparsed<'a> {
    /// The text of an environment variable, never blank.
    Text(&'a OsStr),
    /// A value of a settings file.
    Toml(&'a DeValue<'a>),
}

impl<'a> Given<'a> {
    /// The value as text, where a file gives it by a type that `is_type` takes.
    fn text(self, is_type: fn(&DeValue<'a>) -> bool) -> Option<Cow<'a, str>> {
        let value = match self.written {
            Unparsed::Text(text) => return text.to_str().map(|text| text.trim().into()),
            Unparsed::Toml(value) => is_type(value).then_some(value)?,
        };
        match value {
            DeValue::String(text) => Some(text.trim().into()),
            DeValue::Boolean(switch) => Some(switch.to_string().into()),
            DeValue::Float(float) => Some(float.as_str().into()),
            DeValue::Integer(integer) if integer.radix() == 10 => Some(integer.as_str().into()),
            DeValue::Integer(integer) => {
                let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
                Some(number.to_string().into())
            }
            _ => None,
        }
    }

    fn number<T: FromStr>(self) -> Option<T> {
        self.text(|value| value.is_integer() || value.is_float())?
            .parse()
            .ok()
    }
}

/// The type of a setting's value.
pub(super) trait SettingValue: Sized {
    /// The value that a source gives; `None` when it is not of this type.
    fn read(given: Given<'_>) -> Option<Self>;

    /// Returns whether the setting takes the value.
    fn is_allowed(&self, _: &AllowedValues) -> bool {
        true
    }
}

impl SettingValue for bool {
    fn read(given: Given<'_>) -> Option<Self> {
        match given.text(DeValue::is_bool)?.to_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

impl SettingValue for u64 {
    fn read(given: Given<'_>) -> Option<Self> {
        given.number()
    }

    fn is_allowed(&self, allowed: &AllowedValues) -> bool {
        match *allowed {
            AllowedValues::Whole(min) => *self >= min,
            AllowedValues::Between(min, max) => (min..=max).contains(self),
            _ => true,
        }
    }
}

impl SettingValue for PathBuf {
    fn read(given: Given<'_>) -> Option<Self> {
        let path = match given.written {
            Unparsed::Text(text) => Path::new(text),
            Unparsed::Toml(value) => Path::new(value.as_str().filter(|text| !text.trim().is_empty())?),
        };
        match path.strip_prefix("~") {
            Ok(below_home) => given.home.map(|home| home.join(below_home)),
            Err(_) => Some(given.base.join(path)),
        }
    }

    fn is_allowed(&self, _: &AllowedValues) -> bool {
        !self.as_os_str().is_empty()
    }
}

/// The URL of a bucket: with a scheme, and nothing that looks like credentials; opening it checks more closely.
impl SettingValue for String {
    fn read(given: Given<'_>) -> Option<Self> {
        let text = given.text(DeValue::is_str)?;
        let (_, rest) = text.split_once("://")?;
        (!rest.is_empty() && !rest.contains(['@', '?', '#'])).then(|| text.clone().into_owned())
    }
}

impl SettingValue for Vec<String> {
    fn read(given: Given<'_>) -> Option<Self> {
        let name = |item: &str| (!item.trim().is_empty()).then(|| item.trim().to_owned());
        match given.written {
            Unparsed::Text(text) => {
                let names: Self = text.to_str()?.split(',').filter_map(name).collect();
                (!names.is_empty()).then_some(names)
            }
            Unparsed::Toml(DeValue::Array(items)) => items
                .iter()
                .map(|item| item.get_ref().as_str().and_then(name))
                .collect(),
            Unparsed::Toml(_) => None,
        }
    }
}

impl SettingValue for Duration {
    fn read(given: Given<'_>) -> Option<Self> {
        Self::try_from_secs_f64(given.number()?).ok()
    }
}

#[cfg(feature = "prices")]
impl SettingValue for Usd {
    fn read(given: Given<'_>) -> Option<Self> {
        given.number()
    }
}

impl SettingValue for Flush {
    fn read(given: Given<'_>) -> Option<Self> {
        match &*given.text(DeValue::is_str)? {
            "each" => Some(Self::Each),
            "batched" => Some(Self::Batched),
            _ => None,
        }
    }
}

impl SettingValue for StopOnLoop {
    fn read(given: Given<'_>) -> Option<Self> {
        let text = given.text(DeValue::is_str);
        let is_shape = text.is_some_and(|word| word.eq_ignore_ascii_case(SHAPE));
        if is_shape {
            Some(Self::Shape)
        } else {
            bool::read(given).map(Self::from)
        }
    }
}

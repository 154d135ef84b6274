//! Typed looks into the tree of a policy file; each says what it wants when it does not get it.

use super::yaml::{YamlEntry, YamlNode, YamlValue};
use super::{PolicyError, PolicyErrorCode as Code};
use tracer_sdk::settings::Position;

/// A mapping of the policy file and its path, `metrics.step_count`.
pub(super) struct PolicyFields<'tree> {
    path: String,
    entries: &'tree [YamlEntry],
    pub(super) position: Option<Position>,
}

impl<'tree> PolicyFields<'tree> {
    /// The mapping that `node` must be.
    pub(super) fn of(
        node: &'tree YamlNode,
        path: impl Into<String>,
        otherwise: Code,
    ) -> Result<Self, PolicyError> {
        let path = path.into();
        match &node.value {
            YamlValue::Mapping(entries) => Ok(Self {
                path,
                entries,
                position: node.position,
            }),
            _ => Err(PolicyError::new(otherwise, path, "must be a mapping").at(node.position)),
        }
    }

    pub(super) fn entries(&self) -> &'tree [YamlEntry] {
        self.entries
    }

    /// The path of a key of this mapping.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The value of a key, `null` included.
    pub(super) fn get(&self, key: &str) -> Option<PolicyField<'tree>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(PolicyField {
            path: self.path_of(key),
            node: &entry.value,
        })
    }

    /// The value of a key, where `null` means that it is not there.
    pub(super) fn some(&self, key: &str) -> Option<PolicyField<'tree>> {
        self.get(key)
            .filter(|field| !matches!(field.node.value, YamlValue::Null))
    }

    /// Refuses every key that is not in `allowed`.
    pub(super) fn only(&self, allowed: &[&str]) -> Result<(), PolicyError> {
        match self
            .entries
            .iter()
            .find(|entry| !allowed.contains(&entry.key.as_str()))
        {
            None => Ok(()),
            Some(entry) => {
                let message = format!("has an unknown key `{}`", entry.key);
                let path = if self.path.is_empty() {
                    "the policy"
                } else {
                    &self.path
                };
                Err(PolicyError::new(Code::UnknownKey, path, message)
                    .at(entry.position)
                    .hint(format!("the keys are {}", allowed.join(", "))))
            }
        }
    }

    /// A mistake of the mapping as a whole.
    pub(super) fn error(&self, code: Code, message: impl Into<String>) -> PolicyError {
        PolicyError::new(code, &self.path, message).at(self.position)
    }
}

/// A value of the policy file and its path.
pub(super) struct PolicyField<'tree> {
    pub(super) path: String,
    pub(super) node: &'tree YamlNode,
}

impl PolicyField<'_> {
    pub(super) fn error(&self, code: Code, message: impl Into<String>) -> PolicyError {
        PolicyError::new(code, &self.path, message).at(self.node.position)
    }

    pub(super) fn boolean(&self) -> Result<bool, PolicyError> {
        match self.node.value {
            YamlValue::Bool(value) => Ok(value),
            _ => Err(self.error(Code::NotBool, "must be true or false")),
        }
    }

    pub(super) fn finite(&self) -> Result<f64, PolicyError> {
        match self.node.value {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a bound past 2^53 is no less right when rounded"
            )]
            YamlValue::Integer(value) => Ok(value as f64),
            YamlValue::Number(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(Code::NotFiniteNumber, "must be a finite number")),
        }
    }

    pub(super) fn not_negative(&self) -> Result<f64, PolicyError> {
        match self.finite()? {
            value if value >= 0.0 => Ok(value),
            _ => Err(self.error(Code::NegativeValue, "must not be negative")),
        }
    }

    /// A number between 0 and 1, ends not included.
    pub(super) fn open_fraction(&self) -> Result<f64, PolicyError> {
        match self.finite()? {
            value if value > 0.0 && value < 1.0 => Ok(value),
            _ => Err(self.error(Code::FractionOpen, "must be more than 0 and less than 1")),
        }
    }

    /// A number between 0 and 1, ends included.
    pub(super) fn closed_fraction(&self) -> Result<f64, PolicyError> {
        match self.finite()? {
            value if (0.0..=1.0).contains(&value) => Ok(value),
            _ => Err(self.error(Code::FractionClosed, "must be between 0 and 1")),
        }
    }

    /// A whole number, at least 1.
    pub(super) fn count(&self, otherwise: Code) -> Result<u32, PolicyError> {
        match self.node.value {
            YamlValue::Integer(value) if value >= 1 => u32::try_from(value).ok(),
            _ => None,
        }
        .ok_or_else(|| self.error(otherwise, "must be a whole number, at least 1"))
    }

    /// A text.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.node.value {
            YamlValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// One of the words of a table.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)], otherwise: Code) -> Result<T, PolicyError> {
        let found = match &self.node.value {
            YamlValue::Text(text) => words.iter().find(|(word, _)| word == text),
            _ => None,
        };
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            self.error(otherwise, format!("must be one of {}", words.join(", ")))
        })
    }

    /// A list of texts that are not empty.
    pub(super) fn texts(&self) -> Result<Vec<String>, PolicyError> {
        let wrong = |node: &YamlNode| {
            PolicyError::new(
                Code::NotStringList,
                &self.path,
                "must be a list of texts that are not empty",
            )
            .at(node.position)
        };
        let YamlValue::List(items) = &self.node.value else {
            return Err(wrong(self.node));
        };
        items
            .iter()
            .map(|item| match &item.value {
                YamlValue::Text(text) if !text.is_empty() => Ok(text.clone()),
                _ => Err(wrong(item)),
            })
            .collect()
    }

    /// A mapping of exactly `lower` and `upper`.
    pub(super) fn range(&self) -> Result<(PolicyField<'_>, PolicyField<'_>), PolicyError> {
        let wrong = || {
            self.error(
                Code::RangeRequired,
                "must be a mapping of exactly lower and upper",
            )
        };
        let fields = PolicyFields::of(self.node, &self.path, Code::RangeRequired).map_err(|_| wrong())?;
        match (fields.get("lower"), fields.get("upper"), fields.entries().len()) {
            (Some(lower), Some(upper), 2) => Ok((lower, upper)),
            _ => Err(wrong()),
        }
    }
}

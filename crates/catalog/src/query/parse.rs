//! Reading a query, and writing it again.

use std::fmt;

use tracer_insight::status::RunStatus;
use tracer_insight::step_kind::StepKind;

use super::fields::{Feature, HAS, KIND, NumberField, QueryScope, SINCE, STATUS, TextField, UNTIL, Unit};
use super::{Condition, NumberComparison, QueryTerm, RunQuery, Since, TextComparison};

/// Longer queries are refused.
const MAX_CHARACTERS: usize = 1_000;

/// Why a text is no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It is too long.
    #[error("a query has at most {MAX_CHARACTERS} characters")]
    TooLong,
    /// There is no such field.
    #[error("there is no field `{field}`{}; in quotes it is a text: {quoted}", did_you_mean(*suggestion, *scope))]
    UnknownField {
        /// The subject of the query.
        scope: QueryScope,
        /// The text that was given.
        field: String,
        /// A field that is like it.
        suggestion: Option<&'static str>,
        /// The term in quotes.
        quoted: String,
    },
    /// A field does not take such a value.
    #[error("`{field}` takes {expected}")]
    InvalidValue {
        /// The field.
        field: &'static str,
        /// The values that it takes.
        expected: String,
    },
    /// A quotation does not end.
    #[error("a quotation is not closed: add a `\"`")]
    OpenQuotation,
}

fn did_you_mean(suggestion: Option<&str>, scope: QueryScope) -> String {
    let only = || {
        let names: Vec<&str> = scope.names().collect();
        format!(", only {}", names.join(", "))
    };
    suggestion.map_or_else(only, |field| format!(", did you mean `{field}`?"))
}

/// An operator between a field and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Is,
    Contains,
    Compares(NumberComparison),
}

const OPERATORS: [(&str, Operator); 6] = [
    (":", Operator::Is),
    ("~", Operator::Contains),
    (">=", Operator::Compares(NumberComparison::AtLeast)),
    ("<=", Operator::Compares(NumberComparison::AtMost)),
    (">", Operator::Compares(NumberComparison::MoreThan)),
    ("<", Operator::Compares(NumberComparison::LessThan)),
];

/// Reads the terms of a query.
pub(super) fn parse(text: &str, scope: QueryScope) -> Result<Vec<QueryTerm>, QueryError> {
    if text.chars().count() > MAX_CHARACTERS {
        return Err(QueryError::TooLong);
    }
    let mut terms = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let negative = rest
            .strip_prefix('-')
            .filter(|behind| behind.chars().next().is_some_and(|char| !char.is_whitespace()));
        let (condition, behind) = condition(negative.unwrap_or(rest), scope)?;
        terms.push(match negative {
            Some(_) => QueryTerm::fails(condition),
            None => QueryTerm::holds(condition),
        });
        rest = behind.trim_start();
    }
    Ok(terms)
}

/// The condition that a text begins with, and the rest of the text.
fn condition(text: &str, scope: QueryScope) -> Result<(Condition, &str), QueryError> {
    if text.starts_with('"') {
        let (quoted, rest) = value(text)?;
        return Ok((Condition::Text(quoted), rest));
    }
    let end = text
        .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .unwrap_or(text.len());
    let (field, behind) = text.split_at(end);
    let operator = OPERATORS.into_iter().find_map(|(sign, operator)| {
        let behind = behind.strip_prefix(sign)?;
        is_field_like(field, operator, behind, scope).then_some((operator, behind))
    });
    let Some((operator, behind)) = operator else {
        let (word, rest) = word(text);
        return Ok((Condition::Text(word.to_owned()), rest));
    };
    let (value, rest) = value(behind)?;
    let condition = field_condition(&field.to_lowercase(), operator, &value, scope).unwrap_or_else(|| {
        let term = text.strip_suffix(rest).unwrap_or(text);
        Err(QueryError::UnknownField {
            scope,
            field: field.to_owned(),
            suggestion: scope.suggestion(field),
            quoted: QuotedTerm(term, true).to_string(),
        })
    })?;
    Ok((condition, rest))
}

/// True of a word with an operator that is meant as a field: `model:gpt-5` and `tokns>10`, but not `https://…`, `std::io`, `10:30`,
/// `C:\\`, `Vec<u8>` or `TimeoutError:`.
fn is_field_like(field: &str, operator: Operator, behind: &str, scope: QueryScope) -> bool {
    let begins_a_word = field.starts_with(|char: char| char.is_ascii_alphabetic());
    let Some(next) = behind.chars().next().filter(|_| begins_a_word) else {
        return false;
    };
    let is_known = || scope.names().any(|name| name.eq_ignore_ascii_case(field));
    match operator {
        _ if next.is_whitespace() || ":/\\=~".contains(next) => false,
        Operator::Is => true,
        _ if "<>".contains(next) => false,
        Operator::Contains => true,
        Operator::Compares(_) => is_known() || next.is_ascii_digit() || next == '$',
    }
}

/// The condition on a field; `None` where there is no such field.
fn field_condition(
    field: &str,
    operator: Operator,
    value: &str,
    scope: QueryScope,
) -> Option<Result<Condition, QueryError>> {
    let field = scope.names().find(|known| *known == field)?;
    let mut text_fields = scope.text_fields().iter();
    if let Some(text_field) = text_fields.find(|known| known.as_str() == field) {
        return Some(text_condition(*text_field, operator, value));
    }
    let mut number_fields = scope.number_fields().iter();
    if let Some(number_field) = number_fields.find(|known| known.as_str() == field) {
        return Some(number_condition(*number_field, operator, value));
    }
    let invalid = |field, expected: String| QueryError::InvalidValue { field, expected };
    let listed = |words: &[&str]| {
        format!(
            "one of these, or several with commas between: {}",
            words.join(", ")
        )
    };
    let is = operator == Operator::Is;
    Some(match field {
        STATUS => {
            let known = scope.statuses();
            let words: Vec<&str> = known.iter().map(|status| status.as_str()).collect();
            let statuses = value
                .split(',')
                .map(|word| RunStatus::from_word(&word.to_lowercase()));
            statuses
                .collect::<Option<Vec<_>>>()
                .filter(|statuses| is && statuses.iter().all(|status| known.contains(status)))
                .map(Condition::Status)
                .ok_or_else(|| invalid(STATUS, listed(&words)))
        }
        KIND => {
            let words = StepKind::OF_STEPS.map(StepKind::as_str);
            let kinds = value
                .split(',')
                .map(|word| StepKind::from_word(&word.to_lowercase()));
            kinds
                .collect::<Option<Vec<_>>>()
                .filter(|kinds| is && !kinds.contains(&StepKind::Run))
                .map(Condition::Kind)
                .ok_or_else(|| invalid(KIND, listed(&words)))
        }
        HAS => {
            let words = Feature::ALL.map(Feature::as_str);
            Feature::from_word(&value.to_lowercase())
                .filter(|_| is)
                .map(Condition::Has)
                .ok_or_else(|| invalid(HAS, format!("one of {}", words.join(", "))))
        }
        SINCE | UNTIL => {
            let field = if field == SINCE { SINCE } else { UNTIL };
            let expected = "an age (30m, 2h, 3d, 1w) or a date (2026-11-01, 2026-11-01T08:00:00Z)";
            let moment = value.parse::<Since>().ok().filter(|_| is);
            moment
                .map(|moment| {
                    if field == SINCE {
                        Condition::Since(moment)
                    } else {
                        Condition::Until(moment)
                    }
                })
                .ok_or_else(|| invalid(field, expected.to_owned()))
        }
        _ => return None,
    })
}

fn text_condition(field: TextField, operator: Operator, value: &str) -> Result<Condition, QueryError> {
    let comparison = match operator {
        // Of the text of a step, a part is meant in any case.
        Operator::Is if !field.is_in_steps() => TextComparison::Is,
        Operator::Is | Operator::Contains => TextComparison::Contains,
        Operator::Compares(_) => {
            let name = field.as_str();
            return Err(QueryError::InvalidValue {
                field: name,
                expected: format!("a text: {name}:TEXT, or {name}~TEXT for a part of it"),
            });
        }
    };
    Ok(Condition::Field {
        field,
        comparison,
        value: value.to_owned(),
    })
}

fn number_condition(field: NumberField, operator: Operator, value: &str) -> Result<Condition, QueryError> {
    let (comparison, value) = match operator {
        Operator::Compares(comparison) => (Some(comparison), value),
        Operator::Contains => (None, value),
        // `duration:>1s` as well.
        Operator::Is => OPERATORS
            .into_iter()
            .find_map(|(sign, operator)| match operator {
                Operator::Compares(comparison) => Some((Some(comparison), value.strip_prefix(sign)?)),
                _ => None,
            })
            .unwrap_or((Some(NumberComparison::Exactly), value)),
    };
    let read = comparison.zip(number(value, field.unit()));
    let example = match field.unit() {
        Unit::Count => "a number: >10k, <=3, :0",
        Unit::Time => "a duration: >30s, <20ms, >=1.5m",
        Unit::Money => "dollars: >0.05, <=1",
    };
    read.map(|(comparison, number)| Condition::Number {
        field,
        comparison,
        number,
    })
    .ok_or_else(|| QueryError::InvalidValue {
        field: field.as_str(),
        expected: example.to_owned(),
    })
}

/// A number in the smallest unit of a field: tokens, microseconds, millionths of a dollar. Digits below that are refused.
fn number(text: &str, unit: Unit) -> Option<u64> {
    let text = text
        .strip_prefix('$')
        .filter(|_| unit == Unit::Money)
        .unwrap_or(text);
    let end = text
        .find(|char: char| !char.is_ascii_digit() && char != '.')
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let scale: u64 = match (unit, suffix.to_lowercase().as_str()) {
        (Unit::Count, "") | (Unit::Time, "us" | "µs") => 1,
        (Unit::Count, "k") | (Unit::Time, "ms") => 1_000,
        (Unit::Count, "m") | (Unit::Time, "" | "s") | (Unit::Money, "") => 1_000_000,
        (Unit::Count, "g" | "b") => 1_000_000_000,
        (Unit::Time, "m" | "min") => 60_000_000,
        (Unit::Time, "h") => 3_600_000_000,
        (Unit::Time, "d") => 86_400_000_000,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let tenth = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let part = fraction * u128::from(scale);
    if !part.is_multiple_of(tenth) {
        return None;
    }
    let part = u64::try_from(part / tenth).ok()?;
    whole.checked_mul(scale)?.checked_add(part)
}

/// The word that a text begins with, and the rest.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// The value that a text begins with, quoted or a word, and the rest.
fn value(text: &str) -> Result<(String, &str), QueryError> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, rest) = word(text);
        return Ok((word.to_owned(), rest));
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    while let Some(char) = characters.next() {
        match char {
            '"' => return Ok((value, characters.as_str())),
            // Before anything else a backslash is one, as in paths.
            '\\' => match characters.clone().next() {
                Some(escaped @ ('"' | '\\')) => {
                    characters.next();
                    value.push(escaped);
                }
                _ => value.push('\\'),
            },
            char => value.push(char),
        }
    }
    Err(QueryError::OpenQuotation)
}

/// A value as a query holds it: in quotes where it needs them, or `always`.
struct QuotedTerm<'a>(&'a str, bool);

impl fmt::Display for QuotedTerm<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text, always) = *self;
        let is_plain = |char: char| !char.is_whitespace() && char != '"' && char != '\\';
        if !always && !text.is_empty() && text.chars().all(is_plain) {
            return formatter.write_str(text);
        }
        formatter.write_str("\"")?;
        for char in text.chars() {
            if matches!(char, '"' | '\\') {
                formatter.write_str("\\")?;
            }
            write!(formatter, "{char}")?;
        }
        formatter.write_str("\"")
    }
}

impl fmt::Display for RunQuery {
    /// The form that reads as the same query.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, term) in self.terms.iter().enumerate() {
            let space = if position == 0 { "" } else { " " };
            let sign = if term.is_negated { "-" } else { "" };
            write!(formatter, "{space}{sign}{}", term.condition)?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |words: Vec<&str>| words.join(",");
        match self {
            Self::Text(text) => {
                // A word that reads as something else without quotes.
                let is_text = |(read, rest): (Self, &str)| read == *self && rest.is_empty();
                let needs_quotes =
                    text.starts_with('-') || !condition(text, QueryScope::Runs).is_ok_and(is_text);
                QuotedTerm(text, needs_quotes).fmt(formatter)
            }
            Self::Field {
                field,
                comparison,
                value,
            } => {
                let sign = match comparison {
                    TextComparison::Is => ":",
                    TextComparison::Contains => "~",
                };
                // A value that begins with an operator would not read as one.
                let is_odd = value.starts_with([':', '/', '\\', '=', '<', '>', '~']);
                write!(formatter, "{}{sign}{}", field.as_str(), QuotedTerm(value, is_odd))
            }
            Self::Status(statuses) => {
                let statuses = statuses.iter().map(|status| status.as_str()).collect();
                write!(formatter, "{STATUS}:{}", words(statuses))
            }
            Self::Kind(kinds) => {
                let kinds = kinds.iter().map(|kind| kind.as_str()).collect();
                write!(formatter, "{KIND}:{}", words(kinds))
            }
            Self::Has(feature) => write!(formatter, "{HAS}:{}", feature.as_str()),
            Self::Since(moment) => write!(formatter, "{SINCE}:{moment}"),
            Self::Until(moment) => write!(formatter, "{UNTIL}:{moment}"),
            Self::Number {
                field,
                comparison,
                number,
            } => {
                let sign = match comparison {
                    NumberComparison::Exactly => ":",
                    comparison => comparison.as_str(),
                };
                write!(formatter, "{}{sign}", field.as_str())?;
                match field.unit() {
                    Unit::Count => write!(formatter, "{number}"),
                    Unit::Money => write!(formatter, "{}.{:06}", number / 1_000_000, number % 1_000_000),
                    Unit::Time if number % 1_000_000 == 0 => write!(formatter, "{}s", number / 1_000_000),
                    Unit::Time if number % 1_000 == 0 => write!(formatter, "{}ms", number / 1_000),
                    Unit::Time => write!(formatter, "{number}us"),
                }
            }
        }
    }
}

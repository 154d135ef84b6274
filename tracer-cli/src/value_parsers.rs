//! Parsers of option values: statuses, kinds of steps, sizes, durations, and points in time.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub(crate) use tracer_catalog::query::Since;
use tracer_insight::status::RunStatus;
use tracer_insight::step_kind::StepKind;
use tracer_sdk::format::Usd;

/// Parses one of the allowed statuses.
pub(crate) fn status_parser(
    allowed: impl IntoIterator<Item = RunStatus>,
) -> impl TypedValueParser<Value = RunStatus> {
    let values: Vec<PossibleValue> = allowed.into_iter().map(possible_value).collect();
    PossibleValuesParser::new(values).try_map(|word| RunStatus::from_word(&word).ok_or("is no status"))
}

fn possible_value(status: RunStatus) -> PossibleValue {
    let value = PossibleValue::new(status.as_str());
    match status {
        RunStatus::Running => value.help("The run is recording, or nothing shows that its process died"),
        RunStatus::Interrupted => value.help("Its process died before the run ended"),
        // The format's own word.
        RunStatus::Failed => value.help("It ended with an error").alias("error"),
        RunStatus::Looped => value.help("It ended without an error, but repeated the same calls"),
        RunStatus::Ok => value.help("It ended without an error"),
        RunStatus::Damaged => value.help("Its metadata or its log cannot be read"),
    }
}

/// A column to sort by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sorting<By> {
    pub(crate) by: By,
    pub(crate) is_reversed: bool,
}

impl<By: Copy> Sorting<By> {
    /// The word that [`parse_sorting`] reads.
    pub(crate) fn word(self, as_str: impl Fn(By) -> &'static str) -> String {
        let sign = if self.is_reversed { "-" } else { "" };
        format!("{sign}{}", as_str(self.by))
    }
}

/// Parses a column to sort by, with a `-` before it in the reverse order.
pub(crate) fn parse_sorting<By: Clone + Send + Sync + 'static, const N: usize>(
    from_word: fn(&str) -> Option<By>,
    words: [&'static str; N],
) -> impl TypedValueParser<Value = Sorting<By>> {
    clap::builder::StringValueParser::new().try_map(move |text| {
        let (word, is_reversed) = match text.strip_prefix('-') {
            Some(word) => (word, true),
            None => (text.as_str(), false),
        };
        let by = from_word(word).ok_or_else(|| format!("use one of: {}", words.join(", ")))?;
        Ok::<_, String>(Sorting { by, is_reversed })
    })
}

/// Parses a number of rows from 1, or `all`.
pub(crate) fn parse_limit(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        text => text
            .parse()
            .ok()
            .filter(|limit| *limit > 0)
            .ok_or_else(|| "give a number from 1, or all".to_owned()),
    }
}

/// Parses a kind of step.
pub(crate) fn step_kind_parser() -> impl TypedValueParser<Value = StepKind> {
    let value = |kind: StepKind| {
        PossibleValue::new(kind.as_str()).help(match kind {
            StepKind::Llm => "Model calls",
            StepKind::Tool => "Tool calls",
            StepKind::State => "States",
            StepKind::Error => "Recorded errors",
            StepKind::Loop => "Loop warnings",
            StepKind::Run | StepKind::Span => "Spans that group others",
        })
    };
    PossibleValuesParser::new(StepKind::OF_STEPS.map(value))
        .try_map(|word| StepKind::from_word(&word).ok_or("is no kind of step"))
}

/// Parses a size in bytes: a number and `kB`, `MB`, `GB`, `TB` of a thousand, or `KiB`, `MiB`, `GiB`, `TiB` of 1024.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let power = |base: f64, prefix: &str| {
        let exponent = ["", "k", "m", "g", "t"]
            .iter()
            .position(|known| *known == prefix)?;
        Some(base.powi(i32::try_from(exponent).ok()?))
    };
    let bytes = number_with_unit(text, |unit| match unit.strip_suffix("ib") {
        Some(prefix) => power(1024.0, prefix),
        None => power(1000.0, unit.strip_suffix('b').unwrap_or(unit)),
    });
    // Exact up to 9 PB.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 2^63"
    )]
    let bytes = bytes
        .filter(|bytes| *bytes < 2.0_f64.powi(63))
        .map(|bytes| bytes as u64);
    bytes.ok_or_else(|| "give a number with a unit, as in 500MB or 1.5GB".to_owned())
}

/// Parses a number from 1, of thousands and millions with `k` and `M`.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let count = number_with_unit(text, |unit| match unit {
        "" => Some(1.0),
        "k" => Some(1e3),
        "m" => Some(1e6),
        _ => None,
    });
    let is_whole = |count: &f64| (1.0..2.0_f64.powi(53)).contains(count) && count.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 2^53"
    )]
    let count = count.filter(is_whole).map(|count| count as u64);
    count.ok_or_else(|| "give a whole number from 1, as in 80, 500k or 1M".to_owned())
}

/// Parses an amount of dollars above zero.
pub(crate) fn parse_dollars(text: &str) -> Result<Usd, String> {
    let dollars = text.strip_prefix('$').unwrap_or(text).parse().ok();
    dollars
        .filter(|dollars| *dollars > Usd::ZERO)
        .ok_or_else(|| "give an amount of dollars above zero, as in 2 or 0.50".to_owned())
}

/// Parses a duration: a number of seconds, or a number and `s`, `m` or `h`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = number_with_unit(text, |unit| match unit {
        "" | "s" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    });
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "give a number of seconds, or a number with a unit, as in 90s, 10m or 1.5h".to_owned())
}

/// Parses a number behind which a unit may stand, in any case; `None` of an unknown unit.
fn number_with_unit(text: &str, unit: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let text = text.trim();
    let is_digit = |char: char| char.is_ascii_digit() || char == '.';
    let end = text.find(|char| !is_digit(char)).unwrap_or(text.len());
    let (number, name) = text.split_at(end);
    Some(number.parse::<f64>().ok()? * unit(&name.trim().to_ascii_lowercase())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tracer_catalog::query::InvalidSince;
    use tracer_sdk::format::Timestamp;

    #[test]
    fn parse_duration_accepts_numbers_with_a_unit() {
        for (text, seconds) in [
            ("90", 90.0),
            ("0.5", 0.5),
            ("90s", 90.0),
            ("10 m", 600.0),
            ("1.5h", 5400.0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_secs_f64(seconds)),
                "{text}"
            );
        }
        for text in ["", "0", "-1", "1d", "1.2.3", "9999999999999999999999h", "m"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parse_count_accepts_thousands_and_millions() {
        for (text, count) in [("80", 80), ("500k", 500_000), ("1.5M", 1_500_000)] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for text in ["", "0", "-1", "1.5", "0.0001k", "1G", "99999999999M"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parse_dollars_accepts_amounts_above_zero() {
        assert_eq!(parse_dollars("$0.50"), Ok(Usd::from_cents(50)));
        for text in ["", "0", "-1", "two", "1,5"] {
            assert!(parse_dollars(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parse_size_accepts_numbers_with_a_unit() {
        for (text, expected) in [
            ("2GB", 2_000_000_000),
            ("1.5 kb", 1_500),
            ("512", 512),
            ("2MiB", 2_097_152),
            ("0", 0),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn parse_size_refuses_other_texts_with_an_example() {
        for text in ["", "GB", "-1GB", "1.2.3GB", "1.GBx", "99999999999TB"] {
            assert!(parse_size(text).unwrap_err().contains("500MB"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn parse_size_never_panics(text in "[0-9.]{0,12}[a-zA-Zé ]{0,4}") {
            let _ = parse_size(&text);
        }
    }

    #[test]
    fn since_accepts_ages_and_dates() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90s", "2026-11-21T11:58:30.000000Z"),
            ("30m", "2026-11-21T11:30:00.000000Z"),
            ("2h", "2026-11-21T10:00:00.000000Z"),
            ("3d", "2026-11-18T12:00:00.000000Z"),
            ("1w", "2026-11-14T12:00:00.000000Z"),
            ("999999w", "0000-01-01T00:00:00.000000Z"),
            ("2026-11-01", "2026-11-01T00:00:00.000000Z"),
            ("2026-11-01T08:00:00+01:00", "2026-11-01T07:00:00.000000Z"),
        ] {
            let since: Since = text.parse().unwrap();
            assert_eq!(since.instant(now).to_string(), expected, "{text}");
            assert_eq!(since.to_string().parse(), Ok(since));
        }
        for text in [
            "",
            "h",
            "2",
            "-2h",
            "2 h",
            "2y",
            "yesterday",
            "2026-13-01",
            "1.5h",
        ] {
            assert_eq!(text.parse::<Since>(), Err(InvalidSince), "{text}");
        }
    }
}

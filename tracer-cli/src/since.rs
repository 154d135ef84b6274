//! From when on: an age such as `2h` or `3d`, or a date.

use std::fmt;
use std::str::FromStr;

use tracer_sdk::format::Timestamp;

/// A point in time as somebody names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// So many microseconds ago.
    Ago(i64),
    /// Then.
    At(Timestamp),
}

/// The text names no point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSince;

impl fmt::Display for InvalidSince {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("give an age (30m, 2h, 3d, 1w) or a date (2026-11-01, 2026-11-01T08:00:00Z)")
    }
}

impl std::error::Error for InvalidSince {}

impl Since {
    /// The point in time, when it is `now`.
    pub fn instant(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(microseconds) => {
                Timestamp::from_unix_microseconds(now.unix_microseconds().saturating_sub(microseconds))
            }
            Self::At(instant) => instant,
        }
    }
}

impl fmt::Display for Since {
    /// As it may be given.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ago(microseconds) => write!(formatter, "{}s", microseconds / 1_000_000),
            Self::At(instant) => instant.fmt(formatter),
        }
    }
}

impl FromStr for Since {
    type Err = InvalidSince;

    /// An age in whole seconds, minutes, hours, days or weeks; or a date, which begins at midnight UTC; or a date-time
    /// with its zone.
    fn from_str(text: &str) -> Result<Self, InvalidSince> {
        let number = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let seconds = match text.get(number.len()..).unwrap_or_default() {
            "s" => Some(1),
            "m" | "min" => Some(60),
            "h" => Some(3_600),
            "d" => Some(86_400),
            "w" => Some(7 * 86_400),
            _ => None,
        };
        if let (Ok(number), Some(seconds)) = (number.parse::<u64>(), seconds) {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            return Ok(Self::Ago(number.saturating_mul(seconds * 1_000_000)));
        }
        let midnight = format!("{text}T00:00:00Z");
        let instant = text.parse().or_else(|_| midnight.parse());
        instant.map(Self::At).map_err(|_| InvalidSince)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_dates_are_understood_and_nothing_else() {
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

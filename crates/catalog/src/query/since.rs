//! [`Since`]: a point in time, as people write it.

use std::fmt;
use std::str::FromStr;

use tracer_sdk::format::Timestamp;

/// Bytes of a date, `2026-11-01`.
const DATE_LENGTH: usize = 10;

/// A point in time: an age such as `2h` or `3d`, or a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Microseconds ago.
    Ago(i64),
    /// A point in time.
    At(Timestamp),
}

/// Error of a text that is neither an age nor a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give an age (30m, 2h, 3d, 1w) or a date (2026-11-01, 2026-11-01T08:00:00Z)")]
pub struct InvalidSince;

impl Since {
    /// The point in time, relative to `now`.
    #[must_use]
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
    /// The form that [`FromStr`] accepts.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ago(microseconds) => write!(formatter, "{}s", microseconds / 1_000_000),
            Self::At(instant) => {
                let text = instant.to_string();
                let is_of = |date: &&str| date.parse() == Ok(*self);
                match text.get(..DATE_LENGTH).filter(is_of) {
                    Some(date) => formatter.write_str(date),
                    None => formatter.write_str(&text),
                }
            }
        }
    }
}

impl FromStr for Since {
    type Err = InvalidSince;

    /// Parses an age in whole seconds, minutes, hours, days or weeks; a date, which begins at midnight UTC; or a date-time
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
            let seconds = i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(seconds);
            return Ok(Self::Ago(seconds.min(i64::MAX / 1_000_000) * 1_000_000));
        }
        let midnight = format!("{text}T00:00:00Z");
        let instant = text.parse().or_else(|_| midnight.parse());
        instant.map(Self::At).map_err(|_| InvalidSince)
    }
}

//! When a price is valid: from a day on, until a day, within hours; all in UTC.

use std::fmt;
use std::str::FromStr;

use chrono::{Datelike, NaiveDate};

use tracer_format::Timestamp;

const SECONDS_A_DAY: i64 = 86_400;

/// A day in UTC. As text `2026-12-01`.
///
/// ```
/// use tracer_sdk::prices::Day;
///
/// let day: Day = "2026-12-01".parse()?;
/// assert!(day > Day::of("2026-11-30T23:59:59Z".parse()?));
/// assert_eq!(day.to_string(), "2026-12-01");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(NaiveDate);

impl Day {
    /// The day of an instant.
    ///
    /// ```
    /// use tracer_sdk::prices::Day;
    ///
    /// assert_eq!(Day::of("2026-12-01T00:30:00+01:00".parse()?).to_string(), "2026-11-30");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(time: Timestamp) -> Self {
        let days = time
            .unix_microseconds()
            .div_euclid(1_000_000)
            .div_euclid(SECONDS_A_DAY);
        // A timestamp is within the years 0 to 9999, whose days all fit.
        let since_1970 = i32::try_from(days).ok().and_then(NaiveDate::from_epoch_days);
        Self(since_1970.unwrap_or_default())
    }

    /// Number of days since an earlier one; negative before it.
    ///
    /// ```
    /// use tracer_sdk::prices::Day;
    ///
    /// let (made, today): (Day, Day) = ("2026-11-23".parse()?, "2026-12-01".parse()?);
    /// assert_eq!(today.days_since(made), 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn days_since(self, earlier: Self) -> i64 {
        (self.0 - earlier.0).num_days()
    }

    /// When the day begins.
    ///
    /// ```
    /// use tracer_sdk::prices::Day;
    ///
    /// let day: Day = "2026-12-01".parse()?;
    /// assert_eq!(day.start().to_string(), "2026-12-01T00:00:00.000000Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn start(self) -> Timestamp {
        let days = i64::from(self.0.num_days_from_ce()) - 719_163;
        Timestamp::from_unix_microseconds(days * SECONDS_A_DAY * 1_000_000)
    }

    /// The day of a year, if there is one.
    pub(crate) fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        NaiveDate::from_ymd_opt(i32::from(year), u32::from(month), u32::from(day)).map(Self)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Day {
    type Err = chrono::ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        NaiveDate::from_str(text).map(Self)
    }
}

/// Hours of every day: from a minute to another one, over midnight where that is earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hours {
    from: u32,
    until: u32,
}

impl Hours {
    /// Hours as `09:30` and `17:00`.
    pub(super) fn parse(from: &str, until: &str) -> Option<Self> {
        let minute = |text: &str| {
            let (hours, minutes) = text.split_once(':')?;
            Some(hours.parse::<u32>().ok()? * 60 + minutes.parse::<u32>().ok()?)
        };
        Some(Self {
            from: minute(from)?,
            until: minute(until)?,
        })
    }

    /// The minutes of the day at which they begin and end.
    #[cfg(test)]
    pub(super) fn minutes(self) -> [u32; 2] {
        [self.from, self.until]
    }

    pub(super) fn contain(self, time: Timestamp) -> bool {
        let seconds = time
            .unix_microseconds()
            .div_euclid(1_000_000)
            .rem_euclid(SECONDS_A_DAY);
        let minute = u32::try_from(seconds / 60).unwrap_or(0);
        if self.until < self.from {
            minute >= self.from || minute < self.until
        } else {
            (self.from..self.until).contains(&minute)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        for day in [
            "1970-01-01",
            "2024-02-29",
            "2026-12-31",
            "9999-12-31",
            "0001-01-01",
        ] {
            let day: Day = day.parse().unwrap();
            assert_eq!(Day::of(day.start()), day);
            assert_eq!(day.start().to_string(), format!("{day}T00:00:00.000000Z"));
        }
    }

    #[test]
    fn hours_may_go_over_midnight() {
        let at = |time: &str| format!("2026-11-01T{time}Z").parse::<Timestamp>().unwrap();
        let day = Hours::parse("09:30", "17:00").unwrap();
        let night = Hours::parse("16:30", "00:30").unwrap();
        for (time, in_day, in_night) in [
            ("09:29:59.999", false, false),
            ("09:30:00", true, false),
            ("16:59:59", true, true),
            ("17:00:00", false, true),
            ("00:00:00", false, true),
            ("00:30:00", false, false),
        ] {
            assert_eq!(
                (day.contain(at(time)), night.contain(at(time))),
                (in_day, in_night),
                "{time}"
            );
        }
    }
}

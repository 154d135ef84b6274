//! Points in time: six digits and a `Z` when written, any RFC 3339 date-time with a zone when read.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, Timelike};
use serde::{Serialize, Serializer};

/// An instant in UTC, ordered by when it happened (specification, *Span record*).
///
/// Emitters write microseconds; readers keep whatever precision a text has, down to the nanosecond.
///
/// ```
/// use tracer_sdk::format::Timestamp;
///
/// let written: Timestamp = "2026-01-01T00:00:00.100000Z".parse()?;
/// let other: Timestamp = "2026-01-01t01:00:00.1+01:00".parse()?;
/// assert_eq!(written, other);
/// assert_eq!(other.to_string(), "2026-01-01T00:00:00.100000Z");
/// # Ok::<(), tracer_sdk::format::InvalidTime>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    /// A leap second has a billion or more, so that it sorts after `:59.999` and before the next minute.
    nanoseconds: u32,
}

/// The text is not an RFC 3339 date-time with a zone.
///
/// ```
/// use tracer_sdk::format::{InvalidTime, Timestamp};
///
/// assert_eq!("2026-01-01T00:00:00".parse::<Timestamp>(), Err(InvalidTime)); // no zone
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTime;

impl fmt::Display for InvalidTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not an RFC 3339 date-time with a zone")
    }
}

impl std::error::Error for InvalidTime {}

/// Length of the output of [`Timestamp::write`], in bytes.
const WRITTEN_LENGTH: usize = "2026-01-01T00:00:00.000000Z".len();

/// The last second of the year 9999: what lies past it has no RFC 3339 form.
const LAST_SECOND: i64 = 253_402_300_799;
/// The first second of the year 0.
const FIRST_SECOND: i64 = -62_167_219_200;

impl Timestamp {
    /// The instant a number of microseconds after 1970, kept within the years 0 to 9999.
    ///
    /// ```
    /// use tracer_sdk::format::Timestamp;
    ///
    /// let time = Timestamp::from_unix_microseconds(1_767_225_600_250_000);
    /// assert_eq!(time.to_string(), "2026-01-01T00:00:00.250000Z");
    /// ```
    #[must_use]
    pub fn from_unix_microseconds(microseconds: i64) -> Self {
        let seconds = microseconds.div_euclid(1_000_000);
        // The remainder of a division by a million always fits.
        let nanoseconds = u32::try_from(microseconds.rem_euclid(1_000_000)).unwrap_or(0) * 1_000;
        Self {
            seconds: seconds.clamp(FIRST_SECOND, LAST_SECOND),
            nanoseconds,
        }
    }

    /// The instant a number of nanoseconds after 1970, as OTLP gives it.
    ///
    /// ```
    /// use tracer_sdk::format::Timestamp;
    ///
    /// let time = Timestamp::from_unix_nanoseconds(1_767_225_600_250_000_999);
    /// assert_eq!(time.to_string(), "2026-01-01T00:00:00.250000Z"); // what is finer is not written
    /// ```
    #[must_use]
    pub fn from_unix_nanoseconds(nanoseconds: u64) -> Self {
        // Both fit: a 64-bit number of nanoseconds is less than 600 years.
        let seconds = i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(LAST_SECOND);
        Self {
            seconds,
            nanoseconds: (nanoseconds % 1_000_000_000) as u32,
        }
    }

    /// Microseconds after 1970; what is finer is rounded down.
    ///
    /// ```
    /// use tracer_sdk::format::Timestamp;
    ///
    /// let time: Timestamp = "1970-01-01T00:00:01.5Z".parse()?;
    /// assert_eq!(time.unix_microseconds(), 1_500_000);
    /// # Ok::<(), tracer_sdk::format::InvalidTime>(())
    /// ```
    #[must_use]
    pub fn unix_microseconds(self) -> i64 {
        self.seconds
            .saturating_mul(1_000_000)
            .saturating_add(i64::from(self.nanoseconds / 1_000))
    }

    /// Microseconds from `earlier` to this instant; negative when it lies before.
    ///
    /// ```
    /// use tracer_sdk::format::Timestamp;
    ///
    /// let [earlier, later] = [1_000, 1_250].map(Timestamp::from_unix_microseconds);
    /// assert_eq!(later.microseconds_since(earlier), 250);
    /// ```
    #[must_use]
    pub fn microseconds_since(self, earlier: Self) -> i64 {
        self.unix_microseconds()
            .saturating_sub(earlier.unix_microseconds())
    }

    /// Seconds after 1970 and nanoseconds, 12 bytes where the type itself has 16.
    pub(crate) fn to_parts(self) -> (i64, u32) {
        (self.seconds, self.nanoseconds)
    }

    /// The instant with these parts, as [`Timestamp::to_parts`] gave them.
    pub(crate) fn from_parts(seconds: i64, nanoseconds: u32) -> Self {
        Self { seconds, nanoseconds }
    }

    /// Appends the form that emitters write, `2026-01-01T00:00:00.000000Z`.
    ///
    /// ```
    /// use tracer_sdk::format::Timestamp;
    ///
    /// let mut line = b"at ".to_vec();
    /// Timestamp::from_unix_microseconds(0).write(&mut line);
    /// assert_eq!(line, b"at 1970-01-01T00:00:00.000000Z");
    /// ```
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    /// As [`Timestamp::write`] writes it.
    pub fn to_bytes(self) -> [u8; WRITTEN_LENGTH] {
        let second = if self.nanoseconds < 1_000_000_000 {
            written_second(self.seconds)
        } else {
            second_to_bytes(self.seconds, 1)
        };
        let micros = self.nanoseconds % 1_000_000_000 / 1_000;
        let ([f1, f2], [f3, f4]) = (two_digits(micros / 10_000), two_digits(micros / 100 % 100));
        let [f5, f6] = two_digits(micros % 100);
        let mut written = *b"2026-01-01T00:00:00.000000Z";
        let (whole, fraction) = written.split_at_mut(SECOND_LENGTH);
        whole.copy_from_slice(&second);
        fraction.copy_from_slice(&[b'.', f1, f2, f3, f4, f5, f6, b'Z']);
        written
    }
}

/// Length of a written timestamp before its fraction, in bytes.
const SECOND_LENGTH: usize = "2026-01-01T00:00:00".len();

/// The second after 1970 that a thread has written last, and its text.
type WrittenSecond = (i64, [u8; SECOND_LENGTH]);

thread_local! {
    static WRITTEN_SECOND: Cell<WrittenSecond> = const { Cell::new((0, *b"1970-01-01T00:00:00")) };
}

/// The text of a whole second. Consecutive records mostly share it: to calculate it for each one takes 2 % of the
/// instructions of a tool call.
fn written_second(seconds: i64) -> [u8; SECOND_LENGTH] {
    // A thread that is ending remembers nothing.
    let known = WRITTEN_SECOND.try_with(Cell::get);
    match known {
        Ok((second, text)) if second == seconds => text,
        _ => {
            let text = second_to_bytes(seconds, 0);
            let _ = WRITTEN_SECOND.try_with(|known| known.set((seconds, text)));
            text
        }
    }
}

fn second_to_bytes(seconds: i64, leap: u32) -> [u8; SECOND_LENGTH] {
    // In range: every timestamp is within the years 0 to 9999. Without its offset, which each part would add again.
    let time = DateTime::from_timestamp(seconds, 0)
        .unwrap_or_default()
        .naive_utc();
    let year = time.year().unsigned_abs();
    let ([y1, y2], [y3, y4]) = (two_digits(year / 100), two_digits(year % 100));
    let ([m1, m2], [d1, d2]) = (two_digits(time.month()), two_digits(time.day()));
    let ([h1, h2], [n1, n2]) = (two_digits(time.hour()), two_digits(time.minute()));
    let [s1, s2] = two_digits(time.second() + leap);
    [
        y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2,
    ]
}

/// The digits of a number below 100. chrono's own formatting adds 30 % to the instructions of a tool call.
fn two_digits(value: u32) -> [u8; 2] {
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `to_bytes` writes ASCII only.
        formatter.write_str(std::str::from_utf8(&self.to_bytes()).unwrap_or_default())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTime;

    /// Accepts `T` and `Z` in either case, any number of fraction digits and any numeric offset; a leap second is
    /// accepted in the last second of any minute.
    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        // chrono takes a space for the `T` and a typographic minus, too.
        let is_rfc3339 = |text: &&str| {
            let separator = text.as_bytes().get(10);
            text.is_ascii() && separator.is_some_and(|byte| byte.eq_ignore_ascii_case(&b'T'))
        };
        let time = Some(text)
            .filter(is_rfc3339)
            .and_then(|text| DateTime::parse_from_rfc3339(text).ok())
            .ok_or(InvalidTime)?;
        Ok(Self {
            seconds: time.timestamp(),
            nanoseconds: time.timestamp_subsec_nanos(),
        })
    }
}

/// A point in time as a file has it: the text, which is never rewritten, and the instant that it means.
///
/// ```
/// use tracer_sdk::format::{StoredTime, Timestamp};
///
/// let time: StoredTime = "2026-01-01T01:00:00+01:00".parse()?;
/// assert_eq!(time.text(), "2026-01-01T01:00:00+01:00");
/// assert_eq!(time.instant(), "2026-01-01T00:00:00Z".parse::<Timestamp>()?);
/// # Ok::<(), tracer_sdk::format::InvalidTime>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTime {
    text: Box<str>,
    instant: Timestamp,
}

impl StoredTime {
    /// A text whose instant is known already: `instant` is what `text` means.
    pub(crate) fn with_text(instant: Timestamp, text: &str) -> Self {
        Self {
            text: text.into(),
            instant,
        }
    }

    /// The text as it was stored.
    ///
    /// ```
    /// use tracer_sdk::format::StoredTime;
    ///
    /// let time: StoredTime = "2026-01-01t00:00:00.1z".parse()?;
    /// assert_eq!(time.text(), "2026-01-01t00:00:00.1z"); // as it was stored
    /// # Ok::<(), tracer_sdk::format::InvalidTime>(())
    /// ```
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The instant that the text means.
    ///
    /// ```
    /// use tracer_sdk::format::StoredTime;
    ///
    /// let time: StoredTime = "2026-01-01t00:00:00.1z".parse()?;
    /// assert_eq!(time.instant().to_string(), "2026-01-01T00:00:00.100000Z");
    /// # Ok::<(), tracer_sdk::format::InvalidTime>(())
    /// ```
    #[must_use]
    pub fn instant(&self) -> Timestamp {
        self.instant
    }
}

impl FromStr for StoredTime {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        Ok(Self {
            instant: text.parse()?,
            text: text.into(),
        })
    }
}

impl From<Timestamp> for StoredTime {
    fn from(instant: Timestamp) -> Self {
        Self {
            text: instant.to_string().into(),
            instant,
        }
    }
}

impl Serialize for StoredTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn instant(text: &str) -> Timestamp {
        text.parse().unwrap_or_else(|_| panic!("{text} is refused"))
    }

    #[test]
    fn texts_are_compared_as_instants() {
        assert_eq!(
            instant("2026-01-01T00:00:00.1Z"),
            instant("2026-01-01T00:00:00.100000Z")
        );
        assert_eq!(
            instant("2026-01-01T00:00:00z"),
            instant("2025-12-31t19:30:00-04:30")
        );
        assert!(instant("2016-12-31T23:59:59.999Z") < instant("2016-12-31T23:59:60Z"));
        assert!(instant("2016-12-31T23:59:60.9Z") < instant("2017-01-01T00:00:00Z"));
    }

    #[test]
    fn what_is_no_date_time_with_a_zone_is_refused() {
        for bad in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+0100",
            "2026-01-01T00:00:00−05:00",
            "2026-01-01T00:00:00ZZ",
            "２０２６-01-01T00:00:00Z",
        ] {
            assert_eq!(bad.parse::<Timestamp>(), Err(InvalidTime), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(microseconds in -62_167_219_200_000_000i64..253_402_300_799_999_999) {
            let time = Timestamp::from_unix_microseconds(microseconds);
            prop_assert_eq!(time.unix_microseconds(), microseconds);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}

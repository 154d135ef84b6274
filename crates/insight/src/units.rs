//! Durations, moments and quantities as people read them.

use tracer_sdk::format::{RunMeta, Timestamp};

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// A duration in microseconds with three significant digits: `45 µs`, `8.12 ms`, `1.20 s`, `2 min 03 s`.
///
/// ```
/// use tracer_insight::units::duration;
///
/// assert_eq!(duration(45), "45 µs");
/// assert_eq!(duration(13_470), "13.5 ms");
/// assert_eq!(duration(83_000_000), "1 min 23 s");
/// ```
pub fn duration(microseconds: u64) -> String {
    if microseconds < MILLISECOND {
        return format!("{microseconds} µs");
    }
    if let Some(text) = three_digits(microseconds, MILLISECOND, "ms") {
        return text;
    }
    let seconds = microseconds.saturating_add(SECOND / 2) / SECOND;
    match (seconds / 60, seconds / 3_600) {
        (0, _) => three_digits(microseconds, SECOND, "s").unwrap_or_default(),
        (minutes, 0) => format!("{minutes} min {:02} s", seconds % 60),
        (minutes, hours @ 1..24) => format!("{hours} h {:02} min", minutes % 60),
        (_, hours) => format!("{} d {:02} h", hours / 24, hours % 24),
    }
}

/// `None` when the value rounds to 1000 of the unit or more.
fn three_digits(microseconds: u64, unit: u64, name: &str) -> Option<String> {
    [(2, 100), (1, 10), (0, 1)]
        .into_iter()
        .find_map(|(decimals, scale)| {
            let scaled = microseconds.checked_mul(scale)?.saturating_add(unit / 2) / unit;
            let (whole, rest) = (scaled / scale, scaled % scale);
            match decimals {
                _ if scaled >= 1_000 => None,
                0 => Some(format!("{whole} {name}")),
                _ => Some(format!("{whole}.{rest:0decimals$} {name}")),
            }
        })
}

/// The time since a moment: `8 s ago`, `3 min ago`, `5 h ago`, `3 d ago`, and after a month the date.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match now.microseconds_since(then) / 1_000_000 {
        // Another machine's clock may be a little ahead.
        seconds if (-MINUTE..1).contains(&seconds) => "now".to_owned(),
        seconds if (1..MINUTE).contains(&seconds) => format!("{seconds} s ago"),
        seconds if (MINUTE..HOUR).contains(&seconds) => format!("{} min ago", seconds / MINUTE),
        seconds if (HOUR..2 * DAY).contains(&seconds) => format!("{} h ago", seconds / HOUR),
        seconds if (2 * DAY..30 * DAY).contains(&seconds) => format!("{} d ago", seconds / DAY),
        _ => date(then),
    }
}

/// The day in UTC, `2026-11-21`.
fn date(time: Timestamp) -> String {
    time.to_string().chars().take(10).collect()
}

/// The moment in UTC to the second, `2026-11-21 01:14:27 UTC`.
pub fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let clock: String = text.chars().skip(11).take(8).collect();
    format!("{} {clock} UTC", date(time))
}

/// A number with its thousands apart: `974,192`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A quantity in few characters: `447`, `1.9k`, `12.3k`, `4.1M`.
pub fn quantity(number: u64) -> String {
    let (unit, name) = match number {
        0..1_000 => return number.to_string(),
        1_000..999_950 => (1_000, "k"),
        _ => (1_000_000, "M"),
    };
    let tenths = number.saturating_add(unit / 20) / (unit / 10);
    format!("{}.{}{name}", tenths / 10, tenths % 10)
}

/// A size in bytes, `12 kB`, `1.1 GB`.
pub fn bytes(number: u64) -> String {
    let (unit, name) = match number {
        0..1_000 => return format!("{number} B"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let tenths = number / (unit / 10);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// Numbers as bars of eight heights, one column each; a space for 0.
///
/// ```
/// assert_eq!(tracer_insight::units::sparkline(&[0, 1, 4, 8]), " ▁▄█");
/// ```
#[must_use]
pub fn sparkline(numbers: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = numbers.iter().copied().max().unwrap_or(0).max(1);
    let bar = |number: &u64| {
        let height = (u128::from(*number) * BARS.len() as u128).div_ceil(u128::from(most));
        let bar = usize::try_from(height)
            .ok()
            .and_then(|height| BARS.get(height.checked_sub(1)?));
        bar.copied().unwrap_or(' ')
    };
    numbers.iter().map(bar).collect()
}

/// The duration of a run, in microseconds: from its times, which are finer than its whole milliseconds.
pub fn run_duration(meta: &RunMeta) -> Option<u64> {
    let from_times =
        |ended: Timestamp| u64::try_from(ended.microseconds_since(meta.started_at.instant())).ok();
    meta.ended_at
        .as_ref()
        .and_then(|ended| from_times(ended.instant()))
        .or_else(|| meta.duration_ms?.checked_mul(1_000))
}

/// The clock, read once by each caller that needs it.
pub fn now() -> Timestamp {
    let since_1970 = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_unix_microseconds(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (974_192, "974,192"),
            (1_234_567, "1,234,567"),
        ];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn three_digits_whatever_the_size() {
        let cases = [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_000, "1.00 ms"),
            (9_994, "9.99 ms"),
            (9_996, "10.0 ms"),
            (99_960, "100 ms"),
            (120_400, "120 ms"),
            (999_499, "999 ms"),
            (999_500, "1.00 s"),
            (8_230_000, "8.23 s"),
            (59_400_000, "59.4 s"),
            (59_990_000, "1 min 00 s"),
            (3_599_900_000, "1 h 00 min"),
            (7_500_000_000, "2 h 05 min"),
            (93_600_000_000, "1 d 02 h"),
            (u64::MAX, "213503982 d 08 h"),
        ];
        for (microseconds, text) in cases {
            assert_eq!(duration(microseconds), text);
        }
    }

    #[test]
    fn ago_has_its_own_unit_and_the_future_a_date() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let cases = [
            ("2026-11-21T11:59:59.5Z", "now"),
            ("2026-11-21T12:00:30Z", "now"),
            ("2026-11-21T11:59:52Z", "8 s ago"),
            ("2026-11-21T11:12:00Z", "48 min ago"),
            ("2026-11-20T11:00:00Z", "25 h ago"),
            ("2026-11-18T11:00:00Z", "3 d ago"),
            ("2026-01-01T00:00:00Z", "2026-01-01"),
            ("2027-01-01T00:00:00Z", "2027-01-01"),
        ];
        for (then, text) in cases {
            assert_eq!(ago(then.parse().unwrap(), now), text, "{then}");
        }
    }

    #[test]
    fn moments_and_quantities_are_short() {
        let time = "2026-11-21T02:14:27.5+01:00".parse().unwrap();
        assert_eq!(moment(time), "2026-11-21 01:14:27 UTC");
        for (number, text) in [
            (999, "999"),
            (1_949, "1.9k"),
            (1_950, "2.0k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
        ] {
            assert_eq!(quantity(number), text);
        }
    }

    #[test]
    fn a_size_has_one_digit_behind_the_point() {
        let sizes = [999, 1_000, 64_500_000, 1_065_299_878].map(bytes);
        assert_eq!(sizes, ["999 B", "1.0 kB", "64.5 MB", "1.0 GB"]);
    }
}

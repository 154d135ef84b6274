//! Sizes and times as a person types and reads them: `2GB`, `10m`. Pure.

use std::time::Duration;

/// The bytes of a size: a number and `kB`, `MB`, `GB`, `TB` of a thousand, or `KiB`, `MiB`, `GiB`, `TiB` of 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let refused = || "give a number with a unit, as in 500MB or 1.5GB".to_owned();
    let (number, unit) = parts(text).ok_or_else(refused)?;
    let unit: u64 = match unit.as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(refused()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| refused())?;
    let digits = u32::try_from(fraction.len())
        .ok()
        .filter(|digits| *digits <= 9)
        .ok_or_else(refused)?;
    let scale = 10_u64.pow(digits);
    let fraction: u64 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| refused())?
    };
    let part = u128::from(fraction) * u128::from(unit) / u128::from(scale);
    whole
        .checked_mul(unit)
        .and_then(|whole| whole.checked_add(u64::try_from(part).ok()?))
        .ok_or_else(refused)
}

/// A time: a number of seconds, or a number and `s`, `m` or `h`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let refused = || "give a number of seconds, or a number with a unit, as in 90s, 10m or 1.5h".to_owned();
    let (number, unit) = parts(text).ok_or_else(refused)?;
    let unit = match unit.as_str() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(refused()),
    };
    let number: f64 = number.parse().map_err(|_| refused())?;
    Duration::try_from_secs_f64(number * unit)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(refused)
}

/// The number, and the unit in lower case.
fn parts(text: &str) -> Option<(&str, String)> {
    let text = text.trim();
    let end = text
        .find(|char: char| !char.is_ascii_digit() && char != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then(|| (number, unit.trim().to_ascii_lowercase()))
}

/// Bytes in few characters: `888 MB`.
pub(crate) fn bytes(number: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        None => format!("{number} B"),
        Some((unit, name)) => {
            let tenths = number / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_understood_as_they_are_typed() {
        for (text, seconds) in [
            ("90", 90.0),
            ("0.5", 0.5),
            ("90s", 90.0),
            ("10 m", 600.0),
            ("1.5h", 5400.0),
        ] {
            assert_eq!(time(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "0", "-1", "1d", "1.2.3", "9999999999999999999999h", "m"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_understood_as_they_are_typed() {
        for (text, expected) in [
            ("2GB", 2_000_000_000),
            ("1.5 kb", 1_500),
            ("512", 512),
            ("2MiB", 2_097_152),
            ("0", 0),
        ] {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for text in [
            "",
            "GB",
            "-1GB",
            "1.2.3GB",
            "1.GBx",
            "99999999999TB",
            ".5GB",
            "1.0000000001GB",
        ] {
            assert!(size(text).unwrap_err().contains("500MB"), "{text}");
        }
    }

    #[test]
    fn bytes_are_told_in_few_characters() {
        assert_eq!(
            [0, 999, 1_500, 888_000_000, 2_340_000_000].map(bytes),
            ["0 B", "999 B", "1.5 kB", "888.0 MB", "2.3 GB"]
        );
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_panics(text in "[0-9.]{0,12}[a-zA-Zé ]{0,4}") {
            let _ = size(&text);
        }
    }
}

//! [`Usd`]: an amount of money, exact.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Number of decimals of a dollar that are kept: a price per million tokens may have 18.
const DECIMALS: u32 = 24;
/// A dollar in the smallest amount that is kept.
const DOLLAR: u128 = 10_u128.pow(DECIMALS);

/// An amount of US dollars, zero or more, exact to 24 decimals: sums of prices per token lose nothing.
///
/// As text it is rounded as people read it: cents, and two digits of what is less than ten of them. As JSON it is the
/// nearest number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u128);

/// A text is no amount of dollars: a decimal number, zero or more, of at most 24 decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidUsd;

impl fmt::Display for InvalidUsd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not an amount of dollars")
    }
}

impl std::error::Error for InvalidUsd {}

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The largest amount.
    pub const MAX: Self = Self(u128::MAX);

    /// A number of cents.
    #[must_use]
    pub const fn from_cents(cents: u64) -> Self {
        // 2⁶⁴ cents are less than 10⁴² of the smallest amounts only where they fit.
        Self((cents as u128).saturating_mul(DOLLAR / 100))
    }

    /// A number of dollars, as it is written: nothing below zero, and the largest amount for what is not a finite number.
    #[must_use]
    pub fn from_dollars(dollars: f64) -> Self {
        if dollars <= 0.0 {
            return Self::ZERO;
        }
        if !dollars.is_finite() {
            return Self::MAX;
        }
        // The shortest decimal text of the number is what its author wrote.
        let text = dollars.to_string();
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let decimals = decimals.get(..DECIMALS as usize).unwrap_or(decimals);
        Self::from_decimal(whole, decimals).unwrap_or(Self::MAX)
    }

    /// The nearest number of dollars.
    #[must_use]
    pub fn dollars(self) -> f64 {
        // Through the decimal text, which is read exactly: a division would round twice.
        let text = format!("{}.{:024}", self.0 / DOLLAR, self.0 % DOLLAR);
        text.parse().unwrap_or(f64::INFINITY)
    }

    /// Both together, or the largest amount.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference to `other`; zero where `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// A multiple of the amount; `None` where it does not fit.
    pub fn checked_mul(self, times: u64) -> Option<Self> {
        self.0.checked_mul(u128::from(times)).map(Self)
    }

    /// The sum of two amounts; `None` where it does not fit.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// A part of the amount; `None` where it is not a whole number of the smallest amounts.
    pub fn checked_div_exact(self, parts: u128) -> Option<Self> {
        (parts != 0 && self.0.is_multiple_of(parts)).then(|| Self(self.0 / parts))
    }

    /// A part of the amount in proportion, rounded down; nothing of no whole.
    #[must_use]
    pub fn share(self, part: u64, whole: u64) -> Self {
        let (part, whole) = (u128::from(part), u128::from(whole));
        let quotient = self.0.checked_div(whole).unwrap_or_default();
        let rest = self.0.checked_rem(whole).unwrap_or_default();
        // The rest is less than a number of 64 bits, and so is the part.
        Self(
            quotient
                .saturating_mul(part)
                .saturating_add((rest * part).checked_div(whole).unwrap_or_default()),
        )
    }

    fn from_decimal(whole: &str, decimals: &str) -> Option<Self> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = !whole.is_empty() && digits(whole) && digits(decimals);
        if !is_number || decimals.len() > DECIMALS as usize {
            return None;
        }
        let whole: u128 = whole.parse().ok()?;
        let decimals: u128 = format!("{decimals:0<24}").parse().ok()?;
        whole.checked_mul(DOLLAR)?.checked_add(decimals).map(Self)
    }

    /// The amount without rounding, and without zeros at the end: `0.0213`.
    #[must_use]
    pub fn to_decimal(self) -> String {
        let text = format!("{}.{:024}", self.0 / DOLLAR, self.0 % DOLLAR);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl FromStr for Usd {
    type Err = InvalidUsd;

    fn from_str(text: &str) -> Result<Self, InvalidUsd> {
        let (whole, decimals) = match text.split_once('.') {
            Some((_, "")) => return Err(InvalidUsd),
            Some(parts) => parts,
            None => (text, ""),
        };
        Self::from_decimal(whole, decimals).ok_or(InvalidUsd)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: u32 = 8;
        if self.0 == 0 {
            return formatter.write_str("$0");
        }
        // Ten cents and more have two decimals; less has two digits, wherever these are.
        let leading = (1..=DECIMALS).find(|decimals| self.0 >= DOLLAR / 10_u128.pow(*decimals));
        let decimals = leading
            .map_or(DECIMALS, |leading| leading + 1)
            .clamp(2, MAX_SHOWN);
        let unit = DOLLAR / 10_u128.pow(decimals);
        let rounded = self.0 / unit + u128::from(self.0 % unit >= unit.div_ceil(2));
        if rounded == 0 {
            return write!(formatter, "<$0.{:0>8}", 1);
        }
        let scale = 10_u128.pow(decimals);
        let digits = format!("{:0width$}", rounded % scale, width = decimals as usize);
        let kept = digits.trim_end_matches('0').len().max(2);
        write!(formatter, "${}.", rounded / scale)?;
        digits
            .chars()
            .take(kept)
            .try_for_each(|digit| formatter.write_char(digit))
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Usd {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Usd".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "number", "minimum": 0})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    #[test]
    fn cents_are_shown_and_two_digits_of_less() {
        for (amount, text) in [
            ("0", "$0"),
            ("12.345", "$12.35"),
            ("1234567.8", "$1234567.80"),
            ("0.5", "$0.50"),
            ("0.125", "$0.13"),
            ("0.0996", "$0.10"),
            ("0.0213", "$0.021"),
            ("0.02", "$0.02"),
            ("0.0000012", "$0.0000012"),
            ("0.00000000999", "$0.00000001"),
            ("0.000000004", "<$0.00000001"),
            ("0.000000000000000000000001", "<$0.00000001"),
        ] {
            assert_eq!(usd(amount).to_string(), text, "{amount}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            "-1",
            "+1",
            "1.",
            ".5",
            "1e3",
            "NaN",
            "1,5",
            " 1",
            "0.1234567890123456789012345",
            "340282366920939",
        ] {
            assert_eq!(text.parse::<Usd>(), Err(InvalidUsd), "{text}");
        }
    }

    #[test]
    fn a_number_is_taken_as_it_is_written() {
        assert_eq!(Usd::from_dollars(0.1), usd("0.1"));
        assert_eq!(Usd::from_dollars(0.1 + 0.2), usd("0.30000000000000004"));
        assert_eq!(Usd::from_dollars(1e-30), Usd::ZERO);
        for largest in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Usd::from_dollars(largest), Usd::MAX);
        }
        assert_eq!(Usd::from_dollars(-0.5), Usd::ZERO);
    }

    proptest::proptest! {
        #[test]
        fn a_decimal_text_comes_back(whole in 0_u64..1_000_000, decimals in 0_u64..u64::MAX) {
            let text = format!("{whole}.{decimals:020}1");
            proptest::prop_assert_eq!(usd(&text).to_decimal(), &*text);
            proptest::prop_assert_eq!(usd(&text).dollars().to_bits(), text.parse::<f64>().unwrap().to_bits());
        }
    }
}

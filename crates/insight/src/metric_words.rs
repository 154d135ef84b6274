//! Numbers of the gate as people read them: names of metrics, their values, and how values changed.

use tracer_sdk::format::Usd;

use crate::profile::{METRICS, Metric, MetricUnit};
use crate::units;

/// Text for an unknown value.
pub const UNKNOWN: &str = "unknown";

/// Label of the metric for people; of a metric of one tool the name as it is.
pub fn label(metric: &str) -> &str {
    if let Some(spec) = METRICS.iter().find(|spec| spec.name == metric) {
        return spec.label;
    }
    match metric {
        "cached_tokens" => "cached tokens",
        "cache_write_tokens" => "tokens written to the cache",
        "reasoning_tokens" => "tokens for reasoning",
        "repeated_calls" => "repeated calls",
        "guardrail_stops" => "guardrail stops",
        other => other,
    }
}

/// A value of the metric with its unit: `120 ms`, `447`; `unknown` when it is not known.
///
/// ```
/// use tracer_insight::metric_words::value;
///
/// assert_eq!(value("latency_ms", Some(1250.0)), "1.25 s");
/// assert_eq!(value("cost_tokens", Some(447.0)), "447");
/// assert_eq!(value("cost_usd", Some(0.0213)), "$0.021");
/// assert_eq!(value("cost_tokens", None), "unknown");
/// ```
pub fn value(metric: &str, value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return UNKNOWN.to_owned();
    };
    let unit = Metric::from_name(metric).map_or(MetricUnit::Count, |metric| metric.unit());
    match unit {
        MetricUnit::Milliseconds if value >= 0.0 => units::duration(whole(value * 1_000.0)),
        MetricUnit::Dollars if value >= 0.0 => Usd::from_dollars(value).to_string(),
        _ => plain(value),
    }
}

/// The number in groups of three digits, with at most three decimals.
///
/// ```
/// use tracer_insight::metric_words::plain;
///
/// assert_eq!([plain(12_345.0), plain(8.5), plain(1.0 / 3.0)], ["12,345", "8.5", "0.333"]);
/// ```
pub fn plain(value: f64) -> String {
    let text = format!("{:.3}", value.abs());
    let (integer, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let integer = integer
        .parse()
        .map_or_else(|_| integer.to_owned(), units::grouped);
    let number = format!("{integer}.{decimals}");
    let number = number.trim_end_matches('0').trim_end_matches('.');
    let sign = if value < 0.0 && number != "0" { "-" } else { "" };
    format!("{sign}{number}")
}

/// A share as a percentage, with no more decimals than it needs.
///
/// ```
/// use tracer_insight::metric_words::percent;
///
/// assert_eq!([percent(0.9), percent(0.8990893), percent(1.0)], ["90 %", "89.9 %", "100 %"]);
/// ```
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// Change of a value: `+5 (+83 %)`, `+4 (new)`; empty when it did not change.
///
/// ```
/// use tracer_insight::metric_words::change;
///
/// assert_eq!(change("step_count", Some(6.0), Some(11.0)), "+5 (+83 %)");
/// assert_eq!(change("error_count", Some(0.0), Some(1.0)), "+1 (was none)");
/// assert_eq!(change("step_count", Some(6.0), Some(6.0)), "");
/// ```
pub fn change(metric: &str, before: Option<f64>, after: Option<f64>) -> String {
    let (Some(before), Some(after)) = (before, after) else {
        return match (before, after) {
            (None, None) => String::new(),
            (None, _) => "was unknown".to_owned(),
            _ => "is unknown now".to_owned(),
        };
    };
    let difference = after - before;
    let sign = match difference {
        more if more > 0.0 => '+',
        less if less < 0.0 => '-',
        _ => return String::new(),
    };
    let amount = format!("{sign}{}", value(metric, Some(difference.abs())));
    if before == 0.0 {
        return format!("{amount} (was none)");
    }
    let percentage = (difference.abs() / before.abs() * 100.0).round();
    format!("{amount} ({sign}{percentage:.0} %)")
}

/// The nearest whole number, if there is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float keeps to the range of the whole numbers"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_amount_and_its_share() {
        for (metric, before, after, reported) in [
            ("latency_ms", Some(120.0), Some(1_320.0), "+1.20 s (+1000 %)"),
            ("cost_tokens", Some(447.0), Some(90.0), "-357 (-80 %)"),
            ("cost_usd", Some(0.026), Some(0.0325), "+$0.0065 (+25 %)"),
            ("cost_usd", Some(0.0), Some(0.5), "+$0.50 (was none)"),
            ("cost_tokens", Some(447.0), None, "is unknown now"),
            ("cost_tokens", None, Some(1.0), "was unknown"),
            ("cost_tokens", None, None, ""),
            ("step_count", Some(0.0), Some(0.0), ""),
        ] {
            assert_eq!(change(metric, before, after), reported);
        }
    }

    #[test]
    fn what_is_no_number_is_unknown() {
        assert_eq!(value("latency_ms", Some(f64::NAN)), UNKNOWN);
        assert_eq!(value("latency_ms", Some(-1.0)), "-1");
        assert_eq!(plain(-0.0), "0");
    }
}

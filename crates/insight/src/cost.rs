//! Cost of model calls, in words and numbers.
//!
//! Every surface shows them so, and an unknown cost is never shown as 0.

use serde::Serialize;
use tracer_sdk::format::{Usage, Usd};
use tracer_sdk::prices::{CallCost, CostSum, NoPrice};

use crate::text;

/// Cost of the calls of a run, for a line of facts: `$0.12`, or `at least $0.12, 2 of 9 calls have no price`, or
/// `cost unknown`. `None` where no call was made.
///
/// ```
/// use tracer_sdk::prices::CostSum;
///
/// assert_eq!(tracer_insight::cost::words(&CostSum::default()), None);
/// ```
pub fn words(cost: &CostSum) -> Option<String> {
    let charged = cost.priced.saturating_add(cost.unpriced);
    let known = match (cost.has_known(), cost.unpriced) {
        (false, 0) if cost.replayed == 0 => return None,
        (false, 0) => Usd::ZERO.to_string(),
        (false, _) => "cost unknown".to_owned(),
        (true, 0) => cost.known.to_string(),
        (true, unpriced) => {
            let (is, have) = if unpriced == 1 {
                ("is", "has")
            } else {
                ("are", "have")
            };
            let lack = match cost.partly {
                0 => format!("{have} no price"),
                partly if partly == unpriced => format!("{is} priced in part"),
                partly => format!("{have} no price or, {partly}, only in part"),
            };
            let charged = text::counted(charged, "call");
            format!("at least {}, {unpriced} of {charged} {lack}", cost.known)
        }
    };
    Some(match replayed_words(cost) {
        Some(replayed) => format!("{known}, {replayed}"),
        None => known,
    })
}

/// `3 replayed calls would have cost $0.31`; `None` where no recorded answer answered a call.
fn replayed_words(cost: &CostSum) -> Option<String> {
    let calls = text::counted(cost.replayed, "replayed call");
    match (cost.replayed, cost.replayed_unpriced) {
        (0, _) => None,
        (_, 0) => Some(format!("{calls} would have cost {}", cost.replayed_known)),
        (replayed, unpriced) if replayed == unpriced => Some(format!("{calls} would have an unknown cost")),
        _ => Some(format!(
            "{calls} would have cost at least {}",
            cost.replayed_known
        )),
    }
}

/// The same in a cell: `$0.12`, `≥ $0.12`, `?`; nothing where no call was made.
///
/// ```
/// use tracer_sdk::prices::CostSum;
///
/// assert_eq!(tracer_insight::cost::cell(&CostSum::default()), "");
/// ```
pub fn cell(cost: &CostSum) -> String {
    match (cost.has_known(), cost.unpriced) {
        (false, 0) if cost.replayed == 0 => String::new(),
        (false, 1..) => "?".to_owned(),
        (_, 0) => cost.known.to_string(),
        (_, _) => format!("≥ {}", cost.known),
    }
}

/// The same, short, of what is known alone: `$0.12`, `≥ $0.12`; `None` where nothing is.
///
/// ```
/// use tracer_sdk::prices::CostSum;
///
/// assert_eq!(tracer_insight::cost::known_words(&CostSum::default()), None);
/// ```
pub fn known_words(cost: &CostSum) -> Option<String> {
    (cost.has_known() || cost.replayed > 0).then(|| cell(cost))
}

/// Returns whether a cost is shown for calls: where tokens are known, or the cost itself.
pub fn is_shown(cost: &CostSum, tokens: &Usage) -> bool {
    let has_tokens = [
        tokens.prompt_tokens,
        tokens.completion_tokens,
        tokens.total_tokens,
    ];
    cost.has_known() || cost.replayed > 0 || has_tokens.iter().any(Option::is_some)
}

/// Cost of one call, in its row: `$0.0021`, `≥ $0.0021`, `$0 replayed`; `None` where it is not known.
pub fn of_call(cost: CallCost) -> Option<String> {
    match (cost.usd(), cost.priced) {
        (Ok(usd), _) if cost.is_replayed => Some(format!("{usd} replayed")),
        (Ok(usd), _) => Some(usd.to_string()),
        (Err(NoPrice::InPart), Ok(least)) => Some(format!("≥ {least}")),
        (Err(_), _) => None,
    }
}

/// Cost of one call in full, for its page: `cost $0.0021`, `cost unknown: no price of this model`,
/// `cost $0: replayed, it would have cost $0.0021`.
pub(crate) fn of_call_in_full(cost: CallCost) -> String {
    let least = if cost.is_least { "at least " } else { "" };
    match (cost.is_replayed, cost.priced) {
        (false, Ok(usd)) if cost.is_least => format!("cost at least {usd}: {}", NoPrice::InPart),
        (false, Ok(usd)) => format!("cost {usd}"),
        (false, Err(unknown)) => format!("cost unknown: {unknown}"),
        (true, Ok(usd)) => format!("cost {}: replayed, it would have cost {least}{usd}", Usd::ZERO),
        (true, Err(unknown)) => format!("cost {}: replayed, its price is unknown: {unknown}", Usd::ZERO),
    }
}

/// Cost of model calls, as JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CostReport {
    /// US dollars; null where the price of a call is not known.
    pub usd: Option<Usd>,
    /// US dollars of the calls whose price is known: the cost is at least this.
    pub known_usd: Usd,
    /// Number of calls without a known price, or with one that is known in part.
    pub unpriced_calls: u64,
    /// Number of calls that were answered from a recording, so that they cost nothing.
    pub replayed_calls: u64,
    /// US dollars that these would have cost; null where there is none, or the price of one is not known.
    pub replayed_usd: Option<Usd>,
    /// All of it in words: `at least $0.12, 2 of 9 calls have no price`; null where no call was made.
    pub words: Option<String>,
}

impl From<&CostSum> for CostReport {
    fn from(cost: &CostSum) -> Self {
        let is_known = cost.replayed > 0 && cost.replayed_unpriced == 0;
        Self {
            usd: cost.usd(),
            known_usd: cost.known,
            unpriced_calls: cost.unpriced,
            replayed_calls: cost.replayed,
            replayed_usd: is_known.then_some(cost.replayed_known),
            words: words(cost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(priced: &[u64], unpriced: usize, replayed: &[Option<u64>]) -> CostSum {
        let call = |priced, is_replayed| CallCost {
            priced,
            is_least: false,
            is_replayed,
        };
        let mut sum = CostSum::default();
        sum.extend(
            priced
                .iter()
                .map(|cents| call(Ok(Usd::from_cents(*cents)), false)),
        );
        sum.extend((0..unpriced).map(|_| call(Err(NoPrice::UnknownModel), false)));
        let replayed = replayed
            .iter()
            .map(|cents| call(cents.map(Usd::from_cents).ok_or(NoPrice::NoUsage), true));
        sum.extend(replayed);
        sum
    }

    #[test]
    fn what_is_not_known_is_never_zero() {
        for (sum, in_words, in_a_cell) in [
            (sum(&[], 0, &[]), None, ""),
            (sum(&[12], 0, &[]), Some("$0.12"), "$0.12"),
            (sum(&[0], 0, &[]), Some("$0"), "$0"),
            (sum(&[], 3, &[]), Some("cost unknown"), "?"),
            (
                sum(&[12], 1, &[]),
                Some("at least $0.12, 1 of 2 calls has no price"),
                "≥ $0.12",
            ),
            (
                sum(&[5, 7], 2, &[]),
                Some("at least $0.12, 2 of 4 calls have no price"),
                "≥ $0.12",
            ),
            (
                sum(&[], 0, &[Some(30), Some(1)]),
                Some("$0, 2 replayed calls would have cost $0.31"),
                "$0",
            ),
            (
                sum(&[], 1, &[Some(30)]),
                Some("cost unknown, 1 replayed call would have cost $0.30"),
                "?",
            ),
            (
                sum(&[2], 0, &[None]),
                Some("$0.02, 1 replayed call would have an unknown cost"),
                "$0.02",
            ),
            (
                sum(&[2], 0, &[None, Some(4)]),
                Some("$0.02, 2 replayed calls would have cost at least $0.04"),
                "$0.02",
            ),
        ] {
            assert_eq!(
                (words(&sum).as_deref(), cell(&sum).as_str()),
                (in_words, in_a_cell)
            );
            let report = CostReport::from(&sum);
            assert_eq!(report.usd.is_none(), sum.unpriced > 0, "{report:?}");
        }
    }
}

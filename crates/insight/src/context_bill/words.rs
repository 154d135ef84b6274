//! The sentences of a context bill.

use tracer_sdk::prices::CostSum;

use super::{BilledBlock, BlockKind, Doubts, InputTokens};
use crate::marked_text::MarkedText;
use crate::{cost, text, units};

/// Bytes of a label that are shown.
const MAX_LABEL_BYTES: usize = 240;

impl BilledBlock {
    /// `read_file big.rs (4.1k tokens) was sent 61 times: $1.80`
    pub fn words(&self) -> MarkedText {
        let cost = self
            .cost_words()
            .map(|cost| format!(": {cost}"))
            .unwrap_or_default();
        if self.kind == BlockKind::NotRecorded {
            let (tokens, calls) = (
                text::counted(self.tokens.all, "token"),
                text::counted(self.times, "call"),
            );
            return name(self).with(format!(": {tokens} in {calls}{cost}"));
        }
        let times = match self.times {
            1 => "once".to_owned(),
            times => format!("{} times", units::grouped(times)),
        };
        name(self).with(format!(
            " ({} tokens) was sent {times}{cost}",
            units::quantity(self.each())
        ))
    }

    /// Its tokens each time, rounded.
    fn each(&self) -> u64 {
        (self.tokens.all + self.times / 2)
            .checked_div(self.times)
            .unwrap_or_default()
    }

    /// `$1.80`, `≥ $1.80`; `None` where no price is known.
    fn cost_words(&self) -> Option<String> {
        let usd = self.usd?;
        Some(if self.is_least {
            format!("≥ {usd}")
        } else {
            usd.to_string()
        })
    }
}

/// The kind of a block, with its label.
pub(super) fn name(block: &BilledBlock) -> MarkedText {
    let what = match block.kind {
        BlockKind::ToolDefinition => "definition of ",
        BlockKind::NotRecorded => return MarkedText::own("input that was not recorded"),
        // A role, a tool or a kind of media begins the label.
        _ => "",
    };
    MarkedText::own(what).with_content(&block.label, MAX_LABEL_BYTES)
}

/// The figures of a block, see [`COLUMNS`](super::COLUMNS).
pub(super) fn cells(block: &BilledBlock) -> [String; super::COLUMNS.len()] {
    let cached = (block.tokens.cached * 100)
        .checked_div(block.tokens.all)
        .unwrap_or(0);
    [
        block.cost_words().unwrap_or_else(|| "?".to_owned()),
        units::quantity(block.tokens.all),
        if cached > 0 {
            format!("{cached}%")
        } else {
            String::new()
        },
        units::quantity(block.each()),
        format!("{}×", units::grouped(block.times)),
        text::step_ranges(&[block.first_step]),
    ]
}

/// `61 calls sent 912,004 input tokens (840,000 cached, 61,000 written to the cache): $1.80`
pub(super) fn summary(calls: u64, tokens: InputTokens, cost: &CostSum, doubts: &Doubts) -> String {
    if calls == 0 {
        let nothing = if doubts.without_tokens > 0 {
            "no call reported its input tokens"
        } else {
            "no model calls"
        };
        return nothing.to_owned();
    }
    let shares = [
        (tokens.cached, "cached"),
        (tokens.written, "written to the cache"),
    ];
    let shares: Vec<String> = shares
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", units::grouped(*count)))
        .collect();
    let shares = if shares.is_empty() {
        String::new()
    } else {
        format!(" ({})", shares.join(", "))
    };
    let cost = cost::words(cost)
        .map(|cost| format!(": {cost}"))
        .unwrap_or_default();
    format!(
        "{} sent {}{shares}{cost}",
        text::counted(calls, "call"),
        text::counted(tokens.all, "input token")
    )
}

/// The basis of the figures, and the parts that they lack.
pub(super) fn notes(doubts: &Doubts) -> Vec<String> {
    let calls =
        |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", text::counted(count, "call")));
    let unpriced = doubts
        .unpriced
        .map(|unknown| format!("calls without a cost: {unknown}"));
    [
        Some("tokens and cost of a block are estimated: shares of what its calls reported, by the length of its content".to_owned()),
        calls(doubts.without_tokens, "reported no input tokens: not in this bill"),
        calls(doubts.without_content, "recorded without content"),
        calls(doubts.in_part, "recorded in part: messages were cut, or the call continued others"),
        unpriced,
    ]
    .into_iter()
    .flatten()
    .collect()
}

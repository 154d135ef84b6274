//! [`ContextBill`]: tokens and cost of each block of the context, over all model calls of a run.
//!
//! An agent sends its whole context with every call: what a tool returned once is paid for in each later call. Providers
//! report the tokens of a call and not those of its blocks, so a block has a share of what its call reported, by the length
//! of its content; the shares of a call are exactly its report. A block is the same in two calls if its content is.

mod blocks;
mod input_cost;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashMap;
use std::io::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};
use tracer_runs::RecordError;
use tracer_sdk::format::{Payload, Record, SPEC_VERSION, TraceId, Usd};
use tracer_sdk::prices::{CostSum, NoPrice, Prices};

use crate::cost::CostReport;
use crate::digest::fingerprint;
use crate::run_steps::RunSteps;
pub use blocks::BlockKind;
pub(crate) use blocks::is_continued;
use blocks::{BYTES_PER_TOKEN, ContextBlock, blocks, is_cut};
use input_cost::InputCost;

/// The blocks of the context of a run, and the cost of its input.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct ContextBill {
    /// The version of the trace format.
    #[schemars(schema_with = "crate::schema::spec_version")]
    pub spec_version: &'static str,
    /// The run.
    #[schemars(with = "String")]
    pub run_id: TraceId,
    /// Number of calls whose input tokens are known.
    pub calls: u64,
    /// Sum of the tokens of all blocks: the input tokens that these calls reported.
    pub tokens: InputTokens,
    /// Sum of the costs of all blocks: the cost of these tokens.
    pub cost: CostReport,
    /// The sums in words.
    pub summary: String,
    /// Doubts about the bill, a sentence each.
    pub notes: Vec<String>,
    /// Headings of the figures of the blocks.
    pub columns: [&'static str; COLUMNS.len()],
    /// The blocks, the costliest first.
    pub blocks: Vec<BilledBlock>,
    /// Number of further blocks.
    pub more_blocks: u64,
}

/// A block of the context, over all calls that it was sent with.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct BilledBlock {
    /// Its kind.
    pub kind: BlockKind,
    /// Its name: the tool with its argument, the beginning of the message.
    pub name: String,
    /// Number of times that it was sent.
    pub times: u64,
    /// Its tokens, over all times: estimated.
    pub tokens: InputTokens,
    /// Cost of its tokens in US dollars: estimated; null where no price is known.
    pub usd: Option<Usd>,
    /// `true` when it costs more than that: some of the calls have no price.
    pub is_least: bool,
    /// Number of the step that sent it first, and its record.
    pub first_step: usize,
    /// ID of the record of that step.
    pub first_event: String,
    /// The block in a sentence.
    pub sentence: String,
    /// Its figures in words, one for each of the columns.
    pub cells: [String; COLUMNS.len()],
    #[serde(skip)]
    label: String,
}

/// Headings of the figures of a block.
pub const COLUMNS: [&str; 6] = ["cost", "tokens", "cached", "each", "sent", "from"];

/// Input tokens by where the provider had them from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct InputTokens {
    /// All of them.
    pub all: u64,
    /// Those read from the cache.
    pub cached: u64,
    /// Those written to the cache.
    pub written: u64,
}

impl InputTokens {
    const fn fresh(self) -> u64 {
        self.all.saturating_sub(self.cached).saturating_sub(self.written)
    }

    fn add(&mut self, other: Self) {
        self.all = self.all.saturating_add(other.all);
        self.cached = self.cached.saturating_add(other.cached);
        self.written = self.written.saturating_add(other.written);
    }
}

impl ContextBill {
    /// Reads the bill of a run.
    ///
    /// # Errors
    ///
    /// [`RecordError`]: the log cannot be read.
    pub fn of_run(run: &RunSteps) -> Result<Self, RecordError> {
        let mut reader = BillReader::default();
        for number in run.model_requests() {
            if let Some((source, span)) = run.read_step(number)? {
                reader.take(
                    number,
                    &source.record,
                    span.as_ref().map(|span| &span.attributes),
                    run.prices(),
                );
            }
        }
        Ok(reader.finish(run.directory.trace_id))
    }

    /// The same with at most `most` blocks; further ones are counted.
    #[must_use]
    pub fn limited(mut self, most: usize) -> Self {
        self.more_blocks += self.blocks.len().saturating_sub(most) as u64;
        self.blocks.truncate(most);
        self
    }
}

/// Why the bill is less than sure, counted in calls or blocks.
#[derive(Debug, Default)]
struct Doubts {
    without_tokens: u64,
    without_content: u64,
    /// Calls whose context the record has in part.
    in_part: u64,
    /// Calls without a price, by the first reason.
    unpriced: Option<NoPrice>,
}

/// Adds up the blocks of calls in the order of time.
#[derive(Debug, Default)]
struct BillReader {
    places: HashMap<u64, usize>,
    blocks: Vec<BilledBlock>,
    calls: u64,
    tokens: InputTokens,
    cost: CostSum,
    doubts: Doubts,
}

impl BillReader {
    fn take(
        &mut self,
        number: usize,
        record: &Record,
        attributes: Option<&Map<String, Value>>,
        prices: &Prices,
    ) {
        let Some(usage) = record.usage() else { return };
        let Some(reported) = usage.prompt_tokens else {
            self.doubts.without_tokens += 1;
            return;
        };
        self.calls += 1;
        let cost = InputCost::of(record, prices);
        self.cost.extend(cost.map(|cost| cost.whole));
        if let Some(Err(unknown)) = cost.map(|cost| cost.whole.usd()) {
            self.doubts.unpriced.get_or_insert(unknown);
        }
        let blocks = self.request_blocks(&record.payload, attributes, reported);
        let cached = usage.cache_read_tokens.unwrap_or(0).min(reported);
        let written = usage.cache_write_tokens.unwrap_or(0).min(reported - cached);
        let mut before = InputTokens::default();
        for (block, tokens) in blocks.iter().zip(apportion(reported, &blocks)) {
            let all = before.all + tokens;
            // The cache holds a beginning of the request; what is written to it follows what it had.
            let after = InputTokens {
                all,
                cached: all.min(cached),
                written: all.min(cached + written) - all.min(cached),
            };
            let sent = InputTokens {
                all: tokens,
                cached: after.cached - before.cached,
                written: after.written - before.written,
            };
            let billed = self.billed(block, (number, &record.event_id));
            billed.times += 1;
            billed.tokens.add(sent);
            if let Some(cost) = cost {
                let share = |pool: Usd, of: fn(InputTokens) -> u64| {
                    let sum = InputTokens {
                        all: reported,
                        cached,
                        written,
                    };
                    // Where no token is of the kind, such as of cached sound alone, all have a share.
                    let of = if of(sum) == 0 {
                        |tokens: InputTokens| tokens.all
                    } else {
                        of
                    };
                    pool.share(of(after), of(sum))
                        .saturating_sub(pool.share(of(before), of(sum)))
                };
                let usd = share(cost.cached, |tokens| tokens.cached)
                    .saturating_add(share(cost.written, |tokens| tokens.written))
                    .saturating_add(share(cost.fresh, InputTokens::fresh));
                billed.is_least |= cost.whole.usd().is_err();
                if cost.whole.is_replayed {
                    billed.usd.get_or_insert(Usd::ZERO);
                } else if cost.whole.priced.is_ok() {
                    billed.usd = Some(billed.usd.unwrap_or_default().saturating_add(usd));
                }
            }
            before = after;
        }
        self.tokens.add(before);
    }

    /// The blocks of a call, with one for what was reported and is not in the record.
    fn request_blocks(
        &mut self,
        payload: &Payload,
        attributes: Option<&Map<String, Value>>,
        reported: u64,
    ) -> Vec<ContextBlock> {
        let (mut blocks, is_stored) = match payload {
            Payload::LlmCall { prompt, .. } => (blocks(prompt, attributes), is_continued(prompt, attributes)),
            _ => (Vec::new(), false),
        };
        let is_message = |block: &ContextBlock| block.kind != BlockKind::ToolDefinition;
        if !blocks.iter().any(is_message) {
            self.doubts.without_content += 1;
        } else if !is_stored && !blocks.iter().any(is_cut) {
            return blocks;
        } else {
            self.doubts.in_part += 1;
        }
        let recorded: u64 = blocks.iter().map(|block| block.bytes).sum();
        let missing = reported.saturating_mul(BYTES_PER_TOKEN).saturating_sub(recorded);
        if missing > 0 || blocks.is_empty() {
            let is_first = |block: &ContextBlock| is_message(block) && block.kind != BlockKind::SystemPrompt;
            let place = blocks.iter().position(is_first).unwrap_or(blocks.len());
            blocks.insert(place, ContextBlock::not_recorded(missing));
        }
        blocks
    }

    fn billed(&mut self, block: &ContextBlock, (first_step, first_event): (usize, &str)) -> &mut BilledBlock {
        let key = fingerprint(|hashing| {
            // Writing to a hash cannot fail.
            let _ = write!(
                hashing,
                "{}\0{}\0{}",
                block.kind.as_str(),
                block.label,
                block.content
            );
        });
        let next = self.blocks.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.blocks.push(BilledBlock {
                kind: block.kind,
                label: block.label.clone(),
                times: 0,
                tokens: InputTokens::default(),
                usd: None,
                is_least: false,
                first_step,
                first_event: first_event.to_owned(),
                name: String::new(),
                sentence: String::new(),
                cells: Default::default(),
            });
        }
        &mut self.blocks[place]
    }

    fn finish(mut self, run_id: TraceId) -> ContextBill {
        // A block without a share, such as nothing missing, says nothing.
        self.blocks
            .retain(|block| block.kind != BlockKind::NotRecorded || block.tokens.all > 0);
        self.blocks
            .sort_by_key(|block| std::cmp::Reverse((block.usd, block.tokens.all)));
        for block in &mut self.blocks {
            block.name = words::name(block).plain();
            block.sentence = block.words().plain();
            block.cells = words::cells(block);
        }
        ContextBill {
            spec_version: SPEC_VERSION,
            run_id,
            calls: self.calls,
            tokens: self.tokens,
            cost: CostReport::from(&self.cost),
            summary: words::summary(self.calls, self.tokens, &self.cost, &self.doubts),
            notes: words::notes(&self.doubts),
            columns: COLUMNS,
            blocks: self.blocks,
            more_blocks: 0,
        }
    }
}

/// Shares of a number of tokens by the sizes of blocks, exact together: rounded down, and one more where most is left over.
fn apportion(tokens: u64, blocks: &[ContextBlock]) -> Vec<u64> {
    let sum = blocks
        .iter()
        .map(|block| u128::from(block.bytes))
        .sum::<u128>()
        .max(1);
    let wanted = blocks
        .iter()
        .map(|block| u128::from(block.bytes) * u128::from(tokens));
    let (mut shares, rests): (Vec<u64>, Vec<u128>) = wanted
        .map(|wanted| (u64::try_from(wanted / sum).unwrap_or(tokens), wanted % sum))
        .unzip();
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(rests.get(*place)));
    let left = tokens - shares.iter().sum::<u64>();
    for place in order
        .into_iter()
        .take(usize::try_from(left).unwrap_or(usize::MAX))
    {
        if let Some(share) = shares.get_mut(place) {
            *share += 1;
        }
    }
    shares
}

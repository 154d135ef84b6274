//! Loops in the trace itself: a block of calls that ask the same and comes again and again
//! (gate, *Loops*).
//!
//! The emitter's own loop detection belongs to the candidate, which can switch it off; this one belongs to the gate. It
//! compares calls as [`tracer_sdk::loops`] does, but for the times and IDs of the calls themselves, and examines blocks
//! of any length: tool calls, whatever model calls and states were recorded in between, and model calls that no tool
//! call parts. Calls that only read do not hide what is repeated around them. Attempts are one call.

use std::collections::{BTreeMap, HashMap};

use crate::calls::{Call, CallList};
use tracer_sdk::loops::{self, Likeness, Trail, TrailKind};

/// Number of consecutive repetitions that make a block a loop.
const MIN_REPETITIONS: usize = 3;
/// More findings are left out; each is a loop of its own.
const MAX_FINDINGS: usize = 50;
/// More names of a block are left out.
const MAX_NAMES: usize = 12;

/// A tool with one of these words in its name, and none of those that follow, only reads.
const READING: &[&str] = &[
    "browse", "cat", "count", "describe", "fetch", "find", "get", "glob", "grep", "head", "inspect", "list",
    "look", "lookup", "ls", "peek", "query", "read", "retrieve", "scan", "search", "show", "stat", "status",
    "tail", "view",
];
const CHANGING: &[&str] = &[
    "add", "append", "apply", "book", "buy", "call", "cancel", "commit", "create", "delete", "deploy",
    "edit", "exec", "execute", "insert", "install", "make", "move", "patch", "pay", "post", "push", "put",
    "remove", "rename", "replace", "run", "save", "send", "set", "start", "stop", "submit", "update",
    "upload", "write",
];

/// A block of calls with the same arguments that was repeated at once, whatever else was recorded in between.
///
/// ```
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     (0..4).try_for_each(|attempt| {
///         tracer_sdk::tool_call("search").args(&"refunds").record()?;
///         tracer_sdk::state(&attempt).record()
///     })
/// });
/// let repeats = RunProfile::new(&run.meta, run.records).repeats;
/// assert_eq!((repeats[0].pattern.as_slice(), repeats[0].repetitions), (&["search".to_owned()][..], 4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct RepeatedCalls {
    /// The names of the calls in the block; of a long block the first ones.
    pub pattern: Vec<String>,
    /// Number of calls in the block.
    pub pattern_length: u64,
    /// Number of consecutive repetitions.
    pub repetitions: u64,
    /// The step at which it began, from 1.
    pub first_step: u64,
    /// The step at which it ended.
    pub last_step: u64,
}

/// The loops of a run.
#[derive(Debug, Default)]
pub(crate) struct RunLoops {
    /// Calls that are known to have asked the same, in the order in which they began.
    pub(crate) same: Vec<RepeatedCalls>,
    /// Calls with neither a known input nor a known outcome.
    pub(crate) unknown: Vec<RepeatedCalls>,
    /// Number of loop warnings that rest on calls that are known to differ.
    pub(crate) harmless_warnings: u64,
    /// Number of loop warnings that rest on calls where that is not known, or that are not there.
    pub(crate) open_warnings: u64,
}

/// The loops of a run.
pub(crate) fn find(calls: &CallList, trail: &Trail) -> RunLoops {
    let mut found = RunLoops::default();
    let mut number = 0;
    let mut symbols: Vec<Symbol> = Vec::new();
    for entry in trail.entries() {
        let symbol = Symbol {
            number: loops::of_text(entry.signature.as_bytes()) ^ entry.asked.compared_by().unwrap_or(0),
            is_known: entry.asked.compared_by().is_some() && !entry.asked.is_cut,
            call: number,
        };
        symbols.push(symbol);
        number += usize::from(entry.asked.kind != TrailKind::State);
    }
    let mut finder = Finder {
        calls,
        branch: 0,
        found: Vec::new(),
    };
    let branches = trail.branches();
    for (number, branch) in branches.iter().enumerate() {
        finder.branch = number;
        finder.search_branch(&branch.places, trail, &symbols);
    }
    for judged in trail.of_warnings() {
        match judged.likeness {
            Some(Likeness::Differs) => found.harmless_warnings += 1,
            Some(Likeness::Unknown) => found.open_warnings += 1,
            // Found above, unless the run has been warned of fewer repetitions.
            Some(Likeness::Same) => {
                let kind_of = |place: &usize| trail.entries().get(*place).map(|entry| entry.asked.kind);
                let has_tools = judged
                    .evidence
                    .iter()
                    .any(|place| kind_of(place) == Some(TrailKind::Tool));
                let kind = if has_tools {
                    TrailKind::Tool
                } else {
                    TrailKind::Model
                };
                let repeated: Vec<Symbol> = judged
                    .evidence
                    .iter()
                    .filter(|place| kind_of(place) == Some(kind))
                    .filter_map(|place| symbols.get(*place).copied())
                    .collect();
                let repetitions = judged.evidence.len() / judged.length.max(1);
                let first = judged.evidence.first();
                finder.branch = branches
                    .iter()
                    .position(|branch| first.is_some_and(|place| branch.places.binary_search(place).is_ok()))
                    .unwrap_or(0);
                finder.add(&repeated, repeated.len() / repetitions.max(1), repetitions);
            }
            // An incomplete block is judged by the calls that are there.
            None => {}
        }
    }
    finder.found.sort_by_key(|(.., repeat)| repeat.first_step);
    for (_, is_known, repeat) in finder.found {
        let kind = if is_known {
            &mut found.same
        } else {
            &mut found.unknown
        };
        kind.push(repeat);
    }
    found
}

/// A call, reduced to what is compared.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    number: u64,
    /// `true` when the input or the outcome of the call is known.
    is_known: bool,
    /// Its number among the calls.
    call: usize,
}

struct Finder<'a> {
    calls: &'a CallList,
    /// The branch that is searched.
    branch: usize,
    /// With each its branch, and whether all of its calls are known.
    found: Vec<(usize, bool, RepeatedCalls)>,
}

impl Finder<'_> {
    /// Finds the loops of one branch, whose entries in the trail are at `places`.
    fn search_branch(&mut self, places: &[usize], trail: &Trail, symbols: &[Symbol]) {
        let mut tools: Vec<Symbol> = Vec::new();
        let mut models: Vec<Vec<Symbol>> = vec![Vec::new()];
        for (number, place) in places.iter().enumerate() {
            let is_attempt = places
                .get(number + 1)
                .is_some_and(|next| trail.is_attempt(*place, *next));
            let (Some(entry), Some(symbol)) = (trail.entries().get(*place), symbols.get(*place)) else {
                continue;
            };
            match entry.asked.kind {
                _ if is_attempt => {}
                TrailKind::State => {}
                TrailKind::Tool => {
                    tools.push(*symbol);
                    models.push(Vec::new());
                }
                TrailKind::Model => models
                    .last_mut()
                    .into_iter()
                    .for_each(|stretch| stretch.push(*symbol)),
            }
        }
        self.look_at(&tools);
        for stretch in &models {
            self.look_at(stretch);
        }
        self.look_between_reads(&tools);
    }

    /// Looks for blocks that come again without a break.
    fn look_at(&mut self, symbols: &[Symbol]) {
        if symbols.len() < MIN_REPETITIONS {
            return;
        }
        let numbers: Vec<u64> = symbols.iter().map(|symbol| symbol.number).collect();
        for block in blocks(&numbers) {
            let of_block = symbols.get(block.start..block.end()).unwrap_or_default();
            let repetitions = block.length / block.period;
            let repeated = of_block.get(..repetitions * block.period).unwrap_or_default();
            self.add(repeated, block.period, repetitions);
        }
    }

    /// Looks for calls that come again with nothing between them but calls that read.
    fn look_between_reads(&mut self, tools: &[Symbol]) {
        let reads = |symbol: &Symbol| {
            self.calls
                .get(symbol.call)
                .is_some_and(|call| only_reads(call.name))
        };
        let are_reads: Vec<bool> = tools.iter().map(reads).collect();
        if !are_reads.contains(&true) {
            return;
        }
        let changing = tools.iter().zip(&are_reads).filter(|(_, reads)| !**reads);
        let changing: Vec<Symbol> = changing.map(|(symbol, _)| *symbol).collect();
        self.look_at(&changing);
        // Of the reads, each by itself: others may lie between.
        let mut first = 0;
        let ends = (0..=tools.len()).filter(|place| are_reads.get(*place) != Some(&true));
        for end in ends {
            let mut times: HashMap<u64, Vec<Symbol>> = HashMap::new();
            for symbol in tools.get(first..end).unwrap_or_default() {
                times.entry(symbol.number).or_default().push(*symbol);
            }
            let in_order: BTreeMap<usize, Vec<Symbol>> = times
                .into_values()
                .filter(|symbols| symbols.len() >= MIN_REPETITIONS)
                .map(|symbols| (symbols.first().map_or(0, |symbol| symbol.call), symbols))
                .collect();
            for symbols in in_order.values() {
                self.add(symbols, 1, symbols.len());
            }
            first = end + 1;
        }
    }

    /// Tells a block once: not what lies within another finding.
    fn add(&mut self, repeated: &[Symbol], period: usize, repetitions: usize) {
        let call = |symbol: Option<&Symbol>| symbol.and_then(|symbol| self.calls.get(symbol.call));
        let step = |symbol| {
            call(symbol)
                .and_then(|call: Call<'_>| call.step)
                .map_or(0, u64::from)
        };
        let (first_step, last_step) = (step(repeated.first()), step(repeated.last()));
        let is_reported = self
            .found
            .iter()
            .filter(|(branch, ..)| *branch == self.branch)
            .any(|(.., other)| other.first_step <= first_step && last_step <= other.last_step);
        if is_reported || self.found.len() >= MAX_FINDINGS {
            return;
        }
        let names = repeated.iter().take(period.min(MAX_NAMES));
        let repeat = RepeatedCalls {
            pattern: names
                .filter_map(|symbol| call(Some(symbol)))
                .map(|call| call.name.to_owned())
                .collect(),
            pattern_length: period as u64,
            repetitions: repetitions as u64,
            first_step,
            last_step,
        };
        let is_known = repeated.iter().all(|symbol| symbol.is_known);
        self.found.push((self.branch, is_known, repeat));
    }
}

/// Returns whether a tool only reads, judged by its name: nothing has changed when it comes back.
fn only_reads(tool: &str) -> bool {
    let words = crate::volatile::words(tool);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    has(READING) && !has(CHANGING)
}

/// A block of symbols that is repeated without a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RepeatedBlock {
    start: usize,
    period: usize,
    /// Number of symbols in the repetitions, a last one that is cut short included.
    length: usize,
}

impl RepeatedBlock {
    fn end(self) -> usize {
        self.start + self.length
    }
}

/// The blocks that come [`MIN_REPETITIONS`] times or more, shortest first; a block that lies within another finding is reported
/// once.
///
/// For each period `p` it is enough to check every `p`-th place: repetitions that long cover one of them and the next.
/// Their extent to both sides is found by comparing hashes of ranges, so that the time grows with `n log² n`, even for
/// a run that was made to be hard.
fn blocks(symbols: &[u64]) -> Vec<RepeatedBlock> {
    let ranges = Ranges::of(symbols);
    let count = symbols.len();
    let mut found: Vec<RepeatedBlock> = Vec::new();
    for period in 1..=count / MIN_REPETITIONS {
        let mut place = 0;
        while place + period < count {
            let next = place + period;
            let mut reached = next;
            if symbols.get(place) == symbols.get(next) {
                let forward = longest(count - next, |length| ranges.equal(place, next, length));
                let backward = longest(place, |length| {
                    ranges.equal(place - length, next - length, length)
                });
                let block = RepeatedBlock {
                    start: place - backward,
                    period,
                    length: backward + forward + period,
                };
                reached = next.max(place + forward);
                let is_reported = found
                    .iter()
                    .any(|other| other.start <= block.start && block.end() <= other.end());
                if block.length >= MIN_REPETITIONS * period && !is_reported {
                    found.push(block);
                    if found.len() == MAX_FINDINGS {
                        return found;
                    }
                }
            }
            // The next multiple of the period at or behind what was compared already.
            place = reached.div_ceil(period) * period;
        }
    }
    found
}

/// The largest length up to `most` for which the predicate `holds` is true, given that it is true of every shorter one.
fn longest(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut known, mut open) = (0, most + 1);
    // First in growing strides: most ranges are short.
    let mut stride = 1;
    while known + stride < open {
        if holds(known + stride) {
            known += stride;
            stride *= 2;
        } else {
            open = known + stride;
        }
    }
    while open - known > 1 {
        let middle = known + (open - known) / 2;
        if holds(middle) {
            known = middle;
        } else {
            open = middle;
        }
    }
    known
}

/// Tells whether two ranges of symbols are equal, in constant time: polynomial hashes modulo 2⁶¹ − 1.
struct Ranges {
    hashes: Vec<u64>,
    powers: Vec<u64>,
}

const MODULUS: u64 = (1 << 61) - 1;
const BASE: u64 = 0x1234_5678_9abc_def1 % MODULUS;

impl Ranges {
    fn of(symbols: &[u64]) -> Self {
        let (mut hash, mut power) = (0, 1);
        let mut hashes = vec![hash];
        let mut powers = vec![power];
        for symbol in symbols {
            hash = (multiply(hash, BASE) + symbol % MODULUS) % MODULUS;
            power = multiply(power, BASE);
            hashes.push(hash);
            powers.push(power);
        }
        Self { hashes, powers }
    }

    fn equal(&self, first: usize, second: usize, length: usize) -> bool {
        self.hash(first, length) == self.hash(second, length)
    }

    /// `None` for a range that is not there.
    fn hash(&self, start: usize, length: usize) -> Option<u64> {
        let before = multiply(*self.hashes.get(start)?, *self.powers.get(length)?);
        let whole = *self.hashes.get(start + length)?;
        Some((whole + MODULUS - before) % MODULUS)
    }
}

/// The remainder of the product: 2⁶¹ is 1 modulo 2⁶¹ − 1, so the upper bits are added to the lower ones.
fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    let lower = product & u128::from(MODULUS);
    // Both are below 2⁶¹, since both factors are.
    let sum = u64::try_from(lower + (product >> 61)).unwrap_or(0);
    sum % MODULUS
}

#[cfg(test)]
mod tests;

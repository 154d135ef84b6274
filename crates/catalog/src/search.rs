//! Search: the steps that a query is about, in many runs at once. There is no text index: logs are scanned, in parallel.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::Finder;
use serde_json::Value;
use tracer_insight::run_steps::{ReadRow, RunSteps, TimelineRow};
use tracer_insight::step_kind::StepKind;
use tracer_insight::steps::StepSource;
use tracer_insight::{step_summary, steps, text, units};
use tracer_runs::{RunReader, Strictness};
use tracer_sdk::format::{Payload, Record, SPANS_FILE, SpanRecord, Usd};
use tracer_sdk::prices::Prices;

use crate::query::{StepColumns, StepQuery, is_step};
use crate::step_scan::StepScan;
use crate::store::{DatabaseRow, ListedRun};
use crate::workers;

/// Bytes of a log that are looked through together.
const BLOCK_BYTES: usize = 1024 * 1024;
/// Runs of a bucket that are fetched at the same time: waiting for a store needs no processor, and a store answers many.
const MAX_FETCHING: usize = 16;
/// Longest line: readers read no further than one that is longer.
const MAX_LINE_BYTES: u64 = 128 * 1024 * 1024;
/// Columns of an excerpt.
const EXCERPT_COLUMNS: usize = 120;
/// Columns of it before the text that was looked for.
const COLUMNS_BEFORE: usize = 30;

tracer_sdk::words! {
    /// The order of the hits of a search, from the largest to the smallest.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SearchOrder in tracer_catalog {
        /// The cost of the model call.
        Cost = "cost",
        /// The tokens of the model call.
        Tokens = "tokens",
        /// The duration of the step.
        Duration = "duration",
        /// The repetitions of the loop, as its warning counts.
        Repetitions = "repetitions",
    }
}

/// The number of a step that hits are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortedNumber {
    /// Repetitions.
    Repetitions(u64),
    /// Tokens.
    Tokens(u64),
    /// Microseconds.
    Duration(u64),
    /// US dollars.
    Cost(Usd),
}

impl SortedNumber {
    /// `×5`, `412 tokens`, `880 ms`, `$0.0021`.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Repetitions(times) => format!("×{times}"),
            Self::Tokens(tokens) => text::counted(tokens, "token"),
            Self::Duration(microseconds) => units::duration(microseconds),
            Self::Cost(usd) => usd.to_string(),
        }
    }
}

/// A search in runs.
#[derive(Debug, Clone)]
pub struct StepSearch<'a> {
    /// The conditions on steps.
    pub test: &'a StepQuery,
    /// The most hits of a run.
    pub limit: usize,
    /// The order of the hits: only the first ones are given then, and none whose number is not known. Without it they
    /// come in the order of time.
    pub order: Option<SearchOrder>,
    /// The prices of model calls.
    pub prices: &'a Prices,
}

/// A step that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepHit {
    /// The number of the step, as every list of steps has it.
    pub step: usize,
    /// The ID of its record.
    pub event_id: Option<String>,
    /// Its kind.
    pub kind: StepKind,
    /// Its name: of the model, the tool, the span.
    pub name: String,
    /// Set of a step that failed.
    pub failed: bool,
    /// The place of the text in it, or the step in one line.
    pub excerpt: String,
    /// The number that hits are sorted by, where they are.
    pub number: Option<SortedNumber>,
}

/// The hits of several runs in the order of their numbers, the first `limit` of them, each with its run and the place of that.
#[derive(Debug)]
pub struct SortedHits<Run = Arc<ListedRun>> {
    hits: Vec<(usize, Run, StepHit)>,
    /// Set where there may be more.
    pub more: bool,
}

impl<Run> Default for SortedHits<Run> {
    fn default() -> Self {
        Self {
            hits: Vec::new(),
            more: false,
        }
    }
}

impl<Run: Clone> SortedHits<Run> {
    /// Adds the hits of the run at a place.
    pub fn add(&mut self, at: usize, run: &Run, found: RunHits, limit: usize) {
        self.more |= found.more;
        let hits = found.hits.into_iter();
        self.hits.extend(hits.map(|hit| (at, run.clone(), hit)));
        if self.hits.len() > limit.saturating_mul(2).max(1_000) {
            self.cut(limit);
        }
    }

    /// The first `limit` hits, and whether there may be more. Of equal ones that of the newer run comes first.
    #[must_use]
    pub fn finish(mut self, limit: usize) -> (Vec<(Run, StepHit)>, bool) {
        self.cut(limit);
        let hits = self.hits.into_iter().map(|(_, run, hit)| (run, hit));
        (hits.collect(), self.more)
    }

    fn cut(&mut self, limit: usize) {
        self.hits
            .sort_by_key(|(at, _, hit)| (Reverse(hit.number), *at, hit.step));
        self.more |= self.hits.len() > limit;
        self.hits.truncate(limit);
    }
}

/// The hits in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunHits {
    /// The first hits, in the order of time.
    pub hits: Vec<StepHit>,
    /// Set where there may be more.
    pub more: bool,
}

/// The number of threads that read the steps of runs.
pub(crate) fn reading_threads(rows: &[DatabaseRow]) -> usize {
    if rows.iter().any(|row| row.is_of_bucket) {
        MAX_FETCHING
    } else {
        workers::processors()
    }
}

/// True of a run that matches a query by its steps.
pub(crate) fn matches_by_steps(run: &ListedRun, test: &StepQuery) -> bool {
    // A run that cannot be fetched is counted by its bucket.
    let Ok(lease) = run.fetch() else {
        return false;
    };
    let path = &lease.directory.path;
    if holds_all(path, test.needles()).is_ok_and(|holds_all| !holds_all) {
        return false;
    }
    let Ok(reader) = RunReader::open(path, Strictness::Lenient) else {
        return false;
    };
    let mut steps = test.begin();
    for record in reader.records {
        let Ok(record) = record else { continue };
        steps.add(&record);
        if let Some(settled) = steps.settled() {
            return settled;
        }
    }
    steps.matches(!run.status.is_open())
}

/// The hits in a run; none in one that cannot be read.
pub(crate) fn hits(run: &ListedRun, wanted: &StepSearch<'_>) -> RunHits {
    find(run, wanted).unwrap_or_default()
}

fn find(run: &ListedRun, wanted: &StepSearch<'_>) -> io::Result<RunHits> {
    let StepSearch { test, limit, .. } = *wanted;
    let _lease = run.fetch().map_err(io::Error::other)?;
    let is_open = run.row.is_open();
    let holds_all = match holds_all(&run.directory.path, test.needles()) {
        Ok(holds_all) => holds_all,
        // Of a run that has only begun there are the calls in flight.
        Err(_) if is_open => false,
        Err(error) => return Err(error),
    };
    let mut found = RunHits::default();
    if !holds_all && !is_open {
        return Ok(found);
    }
    let steps = RunSteps::open(run.directory.clone(), Prices::default());
    let scan = StepScan::new(&steps, test);
    let places = scan.candidates(0, steps.index.bytes_read())?.into_iter();
    let rows = places
        .flat_map(|place| scan.rows(place))
        .chain(scan.unlogged.iter().copied());
    // A text says more than the columns, which do not know what others report of a call.
    let may_match = |row: &TimelineRow| {
        test.needle().is_some() || test.matches(&StepColumns::of(&steps, row), None) != Some(false)
    };
    let in_time: BTreeSet<(u32, usize)> = rows
        .filter_map(|at| {
            let row = steps.timeline.get(at)?;
            (row.number > 0 && may_match(row)).then_some((row.number, at))
        })
        .collect();
    let mut sorted = SortedHits::default();
    for (_, row) in in_time {
        if wanted.order.is_none() && found.hits.len() >= limit {
            found.more = true;
            break;
        }
        let Some(row) = steps.timeline.get(row) else {
            continue;
        };
        let columns = StepColumns::of(&steps, row);
        let Ok(Some(ReadRow { record, span, .. })) = steps.read_row(row) else {
            continue;
        };
        if is_step(&record) && test.matches(&columns, Some(&record)) == Some(true) {
            let number = wanted
                .order
                .map(|order| number(order, &record, span.as_ref(), wanted.prices));
            if number == Some(None) {
                continue;
            }
            let hit = StepHit {
                step: row.number as usize,
                event_id: steps.event_id(row),
                kind: record.event_type().into(),
                name: steps::name(&record),
                failed: step_summary::failed(&record),
                excerpt: excerpt(&record, test.texts()),
                number: number.flatten(),
            };
            if wanted.order.is_none() {
                found.hits.push(hit);
            } else {
                let of_this = RunHits {
                    hits: vec![hit],
                    ..RunHits::default()
                };
                sorted.add(0, &(), of_this, limit);
            }
        }
    }
    if wanted.order.is_some() {
        let (hits, more) = sorted.finish(limit);
        found.hits = hits.into_iter().map(|((), hit)| hit).collect();
        found.more = more;
    }
    Ok(found)
}

/// The number of a step that hits are sorted by; `None` where it has none, or that is not known.
fn number(
    order: SearchOrder,
    record: &Record,
    span: Option<&SpanRecord>,
    prices: &Prices,
) -> Option<SortedNumber> {
    match (order, &record.payload) {
        (SearchOrder::Cost, _) => {
            // By its known part, as runs are.
            let cost = prices.cost(record)?;
            cost.usd().or(cost.priced).ok().map(SortedNumber::Cost)
        }
        (SearchOrder::Tokens, Payload::LlmCall { usage, .. }) => usage.total_tokens.map(SortedNumber::Tokens),
        (SearchOrder::Duration, _) => StepSource::duration_of(record, span).map(SortedNumber::Duration),
        (SearchOrder::Repetitions, Payload::LoopWarning { repetitions, .. }) => {
            Some(SortedNumber::Repetitions(*repetitions))
        }
        _ => None,
    }
}

/// Looks for texts, which are in lower case, in the bytes of a log, whatever the case there; true where all are in it.
fn holds_all(directory: &Path, needles: &[String]) -> io::Result<bool> {
    let path = directory.join(SPANS_FILE);
    // A pipe would be waited for; what the readers of runs refuse has no steps either.
    if !fs::symlink_metadata(&path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut file = File::open(path)?;
    let overlap = needles.iter().map(String::len).max().unwrap_or(1) - 1;
    let mut missing: Vec<Finder<'_>> = needles.iter().map(Finder::new).collect();
    let mut block: Vec<u8> = Vec::new();
    let mut line = 0;
    while !missing.is_empty() {
        let kept = block.len();
        let read = file.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
        let fresh = block.get_mut(kept..).unwrap_or_default();
        line = if memchr::memchr(b'\n', fresh).is_some() {
            0
        } else {
            line + read as u64
        };
        if read == 0 || line > MAX_LINE_BYTES {
            break;
        }
        fresh.make_ascii_lowercase();
        missing.retain(|finder| finder.find(&block).is_none());
        block.drain(..block.len().saturating_sub(overlap));
    }
    Ok(missing.is_empty())
}

/// The text around the first of `texts`, which are in lower case, with the field that holds it; without any, the step in one
/// line.
fn excerpt(record: &Record, texts: &[String]) -> String {
    let value = serde_json::to_value(&record.payload).unwrap_or_default();
    let mut leaves = Vec::new();
    collect("", &value, &mut leaves);
    let hit = leaves.iter().find_map(|(field, said)| {
        let lower = said.to_lowercase();
        let text = texts
            .iter()
            .find(|text| !text.is_empty() && lower.contains(text.as_str()))?;
        Some(format!("{field}: {}", around(said, text)))
    });
    hit.unwrap_or_else(|| step_summary::StepSummary::from_payload(&record.payload).fitted(EXCERPT_COLUMNS))
}

/// The leaves of a value, each with the field that it is in.
fn collect(field: &str, value: &Value, leaves: &mut Vec<(String, String)>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => leaves.push((field.to_owned(), number.to_string())),
        Value::String(text) => leaves.push((field.to_owned(), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| collect(field, item, leaves)),
        Value::Object(map) => {
            for (name, value) in map {
                let inner = if field.is_empty() {
                    name.clone()
                } else {
                    format!("{field}.{name}")
                };
                leaves.push((field.to_owned(), name.clone()));
                collect(&inner, value, leaves);
            }
        }
    }
}

/// The part of `said` around a text in lower case, on one line.
fn around(said: &str, text: &str) -> String {
    // Lower case may have another length: the place is one of characters then, as near as it can be.
    let lower = said.to_lowercase();
    let before = lower
        .find(text)
        .map_or(0, |at| lower.get(..at).map_or(0, |before| before.chars().count()));
    let skipped = before.saturating_sub(COLUMNS_BEFORE);
    let part: String = said.chars().skip(skipped).take(EXCERPT_COLUMNS * 4).collect();
    let begins = if skipped > 0 { "…" } else { "" };
    format!("{begins}{}", text::one_line(&part, EXCERPT_COLUMNS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_runs::CancelToken;
    use tracer_sdk::format::TraceId;
    use tracer_sdk::{Config, Run, llm_call, tool_call};

    use super::*;
    use crate::FactsStore;
    use crate::query::RunQuery;
    use crate::run_catalog::{RunCatalog, RunOrder};
    use crate::tests::support::{SampleRun, SampleSpan, Sandbox, listed, ordered};

    fn test(query: &str) -> StepQuery {
        StepQuery::of_runs(&query.parse::<RunQuery>().unwrap())
    }

    fn store() -> Sandbox {
        let sandbox = Sandbox::new();
        let padding = "x".repeat(700_000);
        let sample = SampleRun::new(1, "support-agent")
            .span(SampleSpan::model(1, "gpt-5", "Where is my Refund?", "I look."))
            .span(SampleSpan::tool(
                2,
                "search_kb",
                &json!({"query": "refund policy", "text": padding}),
                &json!(7),
            ))
            .span(SampleSpan::tool(
                3,
                "search_kb",
                &json!({"query": "shipping", "text": padding}),
                &json!({}),
            ))
            .span(
                SampleSpan::tool(4, "mail", &json!({"to": "\"Ada\"\nrefund"}), &json!({}))
                    .failed("Timeout", "late"),
            )
            .failed("AgentError", "no refund today");
        sandbox.write(&sample);
        sandbox.write(&SampleRun::new(2, "idle"));
        sandbox
    }

    fn candidates(runs: &RunCatalog) -> Vec<TraceId> {
        runs.candidates(&RunQuery::default(), true, units::now()).unwrap()
    }

    fn found(sandbox: &Sandbox, query: &str, limit: usize) -> Vec<(usize, String)> {
        let runs = sandbox.catalog();
        let mut found = Vec::new();
        let wanted = StepSearch {
            test: &test(query),
            limit,
            order: None,
            prices: &Prices::default(),
        };
        let searched = runs.search(
            &candidates(&runs),
            &wanted,
            &CancelToken::default(),
            |_, _, run| {
                found.extend(run.hits.into_iter().map(|hit| (hit.step, hit.excerpt)));
            },
        );
        searched.unwrap();
        found
    }

    #[test]
    fn a_hit_is_a_step_with_the_text_around() {
        let sandbox = store();
        let hits = found(&sandbox, "refund", 10);
        let steps: Vec<usize> = hits.iter().map(|(step, _)| *step).collect();
        // The error is recorded by the root, which ends first in this sample.
        assert_eq!(steps, [1, 2, 3, 5]);
        assert!(
            hits.contains(&(2, "prompt: Where is my Refund?".to_owned()))
                || hits.contains(&(1, "prompt: Where is my Refund?".to_owned()))
        );
        assert!(
            hits.iter().any(|(_, text)| text == "args.query: refund policy"),
            "{hits:?}"
        );
        assert!(
            hits.iter().any(|(_, text)| text == "args.to: \"Ada\" refund"),
            "{hits:?}"
        );
        assert!(
            hits.iter().any(|(_, text)| text == "message: no refund today"),
            "{hits:?}"
        );
        assert_eq!(found(&sandbox, "tool:search_kb -refund", 10).len(), 1);
        assert_eq!(found(&sandbox, "error:Timeout", 10).len(), 1);
        assert_eq!(found(&sandbox, "refund shipping", 10).len(), 0);
        assert_eq!(found(&sandbox, "refund", 2).len(), 2);
    }

    #[test]
    fn hits_are_sorted_over_all_runs_and_unknown_numbers_left_out() {
        let sandbox = store();
        let slow = SampleSpan::tool(1, "search_kb", &json!({"query": "slow"}), &json!(1)).taking(90);
        sandbox.write(&SampleRun::new(3, "slow-agent").span(slow));
        let runs = sandbox.catalog();
        let sorted = |query: &str, order, limit| {
            let wanted = StepSearch {
                test: &test(query),
                limit,
                order: Some(order),
                prices: &Prices::default(),
            };
            let mut hits = SortedHits::default();
            let cancel = CancelToken::default();
            let searched = runs.search(&candidates(&runs), &wanted, &cancel, |at, _, run| {
                hits.add(at, &(), run, limit);
            });
            searched.unwrap();
            let (hits, more) = hits.finish(limit);
            let numbers = hits.iter().filter_map(|((), hit)| Some(hit.number?.words()));
            (numbers.collect::<Vec<_>>().join(" "), more)
        };
        assert_eq!(
            sorted("kind:tool", SearchOrder::Duration, 2),
            ("90.0 ms 20.0 ms".to_owned(), true)
        );
        assert_eq!(
            sorted("kind:tool", SearchOrder::Duration, 9)
                .0
                .split(" ms")
                .count(),
            5
        );
        assert_eq!(
            sorted("kind:llm,tool", SearchOrder::Tokens, 9),
            ("435 tokens".to_owned(), false)
        );
        assert_eq!(
            sorted("kind:llm", SearchOrder::Cost, 9),
            (String::new(), false),
            "nobody sells it"
        );
        for order in SearchOrder::ALL {
            assert_eq!(SearchOrder::from_word(order.as_str()), Some(order));
        }
    }

    #[test]
    fn a_text_at_the_edge_of_a_block_is_found() {
        for length in [BLOCK_BYTES - 3, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES - 2] {
            let folder = tempfile::tempdir().unwrap();
            let text = "x".repeat(length) + "NEEDLE" + &"y".repeat(10);
            std::fs::write(folder.path().join(SPANS_FILE), text).unwrap();
            let holds = |needles: [&str; 2]| holds_all(folder.path(), &needles.map(str::to_owned)).unwrap();
            assert!(holds(["needle", "xn"]));
            assert!(!holds(["needle", "nx"]));
        }
    }

    #[test]
    fn runs_match_by_their_steps() {
        let sandbox = store();
        let runs = listed(&FactsStore::new(sandbox.path()));
        let matching = |query: &str| {
            let matches = runs.iter().map(|run| matches_by_steps(run, &test(query)));
            matches.collect::<Vec<_>>()
        };
        assert_eq!(matching("refund shipping"), [false, true]);
        assert_eq!(matching("-refund"), [true, false]);
        assert_eq!(matching("args~refund"), [false, true]);
        assert_eq!(matching("nowhere"), [false, false]);
    }

    #[test]
    fn runs_match_by_calls_that_never_ran() {
        let sandbox = store();
        let config = Config::new().data_dir(sandbox.path());
        Run::new("asking").config(&config).in_scope(|| {
            for arguments in [r#"{"path": "a"}"#, r#"{"path": "#] {
                let call = json!({"id": arguments, "function": {"name": "read", "arguments": arguments}});
                let answer = json!({"role": "assistant", "tool_calls": [call]});
                llm_call("gpt-5").prompt("Go").response(&answer).record().unwrap();
            }
            tool_call("read").args(&json!({"path": "a"})).record().unwrap();
        });
        let runs = sandbox.catalog();
        let matching = |query: &str| {
            let runs = ordered(&runs, query, RunOrder::default()).into_iter();
            runs.map(|run| run.row.name.unwrap_or_default())
                .collect::<Vec<_>>()
        };
        assert_eq!(matching("not_run_calls:1"), ["asking"]);
        assert_eq!(matching("-not_run_calls>0").len(), 2);
        assert!(matching("not_run_calls>1").is_empty());
        assert!(matching("not_run_calls>0 status:failed").is_empty());
    }

    #[test]
    fn an_excerpt_of_odd_letters_is_text() {
        assert_eq!(around("İİİİ refund", "refund"), "İİİİ refund");
        let long = "ß".repeat(100) + "REFUND" + &"é".repeat(300);
        assert!(around(&long, "refund").starts_with('…'));
    }
}

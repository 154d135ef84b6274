//! `tracer search`: finds steps in all runs.

use std::collections::BTreeSet;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use tracer_facts::query::StepTest;
use tracer_facts::{ListedRun, RunHits, SearchOrder, SortedHits, SortedNumber, StepHit, StepSearch, search};
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::status::Signs;
use tracer_insight::step_kind::StepKind;
use tracer_insight::units::{self, now};
use tracer_insight::{json, text};
use tracer_sdk::format::{SPEC_VERSION, TraceId, Usd};

use crate::commands::run_selection::{self, QueryArgs};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::run_list;
use crate::value_parsers::parse_limit;

/// Options of `tracer search`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer search 'tool:search_kb args~refund since:7d'")]
pub struct Args {
    #[command(flatten)]
    query: QueryArgs,

    /// Print at most N hits, or all
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_limit)]
    limit: usize,

    /// Sort the hits of all runs by cost, tokens, duration or repetitions, from the largest to the smallest
    ///
    /// Steps whose number is not known are left out. Cost and tokens are those of model calls, repetitions those of loops.
    #[arg(
        long,
        value_name = "NUMBER",
        hide_possible_values = true,
        value_parser = order_parser(),
        conflicts_with = "count"
    )]
    sort: Option<SearchOrder>,

    /// Print only the number of hits and of runs with hits
    #[arg(long, conflicts_with = "limit")]
    count: bool,

    /// Also search the trials of gates
    #[arg(long)]
    trials: bool,
}

/// A line of `tracer search --json`.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum SearchLine<'a> {
    /// A hit.
    Hit {
        /// The version of the trace format.
        spec_version: &'static str,
        /// The run.
        trace_id: TraceId,
        /// Its label.
        run_name: Option<&'a str>,
        /// Its status, in the words of `tracer list`.
        run_status: &'static str,
        /// The number of the step, as `tracer show` has it.
        step: usize,
        /// The ID of its record.
        event_id: Option<&'a str>,
        /// Its kind.
        kind: StepKind,
        /// Its name: of the model, the tool, the span.
        name: &'a str,
        /// Whether it failed.
        failed: bool,
        /// The text that was looked for with what is around it, or the step in one line.
        excerpt: &'a str,
        /// With `--sort`: the number that hits are sorted by.
        #[serde(skip_serializing_if = "Option::is_none")]
        sorted_by: Option<SortedBy>,
    },
    /// With `--count`.
    Count {
        /// The version of the trace format.
        spec_version: &'static str,
        /// Number of hits.
        hits: usize,
        /// Number of runs with hits.
        runs: usize,
        /// Number of runs that were searched.
        searched_runs: usize,
    },
}

/// The number of a hit that hits are sorted by.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SortedBy {
    /// US dollars.
    CostUsd(Usd),
    /// All tokens of the call.
    Tokens(u64),
    /// Microseconds.
    DurationUs(u64),
    /// How often the loop was repeated.
    Repetitions(u64),
}

impl From<SortedNumber> for SortedBy {
    fn from(number: SortedNumber) -> Self {
        match number {
            SortedNumber::Cost(usd) => Self::CostUsd(usd),
            SortedNumber::Tokens(tokens) => Self::Tokens(tokens),
            SortedNumber::Duration(microseconds) => Self::DurationUs(microseconds),
            SortedNumber::Repetitions(times) => Self::Repetitions(times),
        }
    }
}

fn order_parser() -> impl TypedValueParser<Value = SearchOrder> {
    PossibleValuesParser::new(SearchOrder::ALL.map(SearchOrder::as_str))
        .try_map(|word| SearchOrder::from_word(&word).ok_or("is no order"))
}

/// Searches the runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let query = args.query.parse()?;
    let test = StepTest::new(&query);
    if test.is_empty() {
        return Err(CliError::input("the query names nothing to look for in steps")
            .with_hint("give a text, or one of: tool model failed error args result prompt answer kind")
            .with_hint(format!(
                "list the runs that match: {}",
                session.command(&format!("list{}", args.query.as_last_arguments()))
            )));
    }
    session.use_store()?;
    let store = session.facts_store()?;
    let cancel = run_selection::cancelled_by_interrupt();
    let mut runs = run_selection::all_runs(&store, true, &cancel, session)?;
    let census = runs.census(true).map_err(run_selection::unreadable)?;
    let id_length = run_list::id_length(census.ids);
    let candidates = runs.candidates(&query, args.trials, now());
    let candidates = candidates.map_err(run_selection::unreadable)?;
    let candidates: Vec<&ListedRun> = candidates.iter().collect();
    let limit = if args.count { usize::MAX } else { args.limit };
    let mut printing = Printing {
        args,
        session,
        id_length,
        hits: 0,
        runs: 0,
        limit,
        more: false,
        failure: None,
    };
    let wanted = StepSearch {
        test: &test,
        limit,
        order: args.sort,
        prices: store.prices(),
    };
    if args.sort.is_some() {
        let mut hits = SortedHits::default();
        search(&candidates, &wanted, &cancel, |at, found| {
            hits.add(at, found, limit);
        });
        let (hits, more) = hits.finish(limit);
        printing.sorted(&candidates, hits, more)?;
        return printing.end(candidates.len());
    }
    search(&candidates, &wanted, &cancel, |at, found| {
        if let Some(run) = candidates.get(at).filter(|_| !found.hits.is_empty())
            && printing.failure.is_none()
        {
            printing.failure = printing.run(run, &found).err();
        }
        if printing.failure.is_some() || printing.hits >= limit {
            cancel.cancel();
        }
    });
    printing.end(candidates.len())
}

struct Printing<'a> {
    args: &'a Args,
    session: &'a mut Session,
    id_length: usize,
    hits: usize,
    runs: usize,
    limit: usize,
    more: bool,
    failure: Option<CliError>,
}

impl Printing<'_> {
    /// Prints hits in their order; those of one run that follow each other have one heading.
    fn sorted(
        &mut self,
        candidates: &[&ListedRun],
        hits: Vec<(usize, StepHit)>,
        more: bool,
    ) -> Result<(), CliError> {
        let mut hits = hits.into_iter().peekable();
        let mut runs = BTreeSet::new();
        while let Some((at, hit)) = hits.next() {
            let mut of_one = vec![hit];
            while let Some((_, hit)) = hits.next_if(|(next, _)| *next == at) {
                of_one.push(hit);
            }
            let Some(run) = candidates.get(at) else { continue };
            runs.insert(at);
            let found = RunHits {
                hits: of_one,
                ..RunHits::default()
            };
            self.run(run, &found)?;
        }
        self.runs = runs.len();
        self.more = more;
        Ok(())
    }

    fn run(&mut self, run: &ListedRun, found: &RunHits) -> Result<(), CliError> {
        let room = self.limit.saturating_sub(self.hits);
        let hits = found.hits.get(..room).unwrap_or(&found.hits);
        self.more |= found.more || hits.len() < found.hits.len();
        if hits.is_empty() {
            return Ok(());
        }
        self.hits += hits.len();
        self.runs += 1;
        match (self.args.count, self.session.is_json()) {
            (true, _) => Ok(()),
            (false, true) => self.json(run, hits),
            (false, false) => self.text(run, hits),
        }?;
        // Hits are shown as they are found.
        if self.args.count {
            Ok(())
        } else {
            self.session.ui.flush()
        }
    }

    fn json(&mut self, run: &ListedRun, hits: &[StepHit]) -> Result<(), CliError> {
        let run_name = run.facts.name.as_deref();
        hits.iter().try_for_each(|hit| {
            self.line(&SearchLine::Hit {
                spec_version: SPEC_VERSION,
                trace_id: run.directory.trace_id,
                run_name,
                run_status: run.status.as_str(),
                step: hit.step,
                event_id: hit.event_id.as_deref(),
                kind: hit.kind,
                name: &hit.name,
                failed: hit.failed,
                excerpt: &hit.excerpt,
                sorted_by: hit.number.map(SortedBy::from),
            })
        })
    }

    fn line(&mut self, line: &SearchLine<'_>) -> Result<(), CliError> {
        let output = self.session.ui.output();
        json::write(output, line)
            .and_then(|()| output.write_all(b"\n"))
            .map_err(CliError::output)
    }

    /// A heading for the run, and a row for each hit; one tab-separated line for each where nobody looks.
    fn text(&mut self, run: &ListedRun, hits: &[StepHit]) -> Result<(), CliError> {
        let id = run.directory.trace_id.to_string();
        let name = display_name(run.facts.name.as_deref());
        if !self.session.ui.is_terminal() {
            return hits.iter().try_for_each(|hit| {
                let failed = if hit.failed { "failed" } else { "ok" };
                let excerpt = text::printable(&hit.excerpt).replace('\t', " ");
                let StepHit { step, kind, name, .. } = hit;
                let number = hit.number.map(|number| format!("\t{}", number.words()));
                let number = number.unwrap_or_default();
                let line = format!(
                    "{id}\t{step}\t{}\t{failed}\t{name}\t{excerpt}{number}",
                    kind.as_str()
                );
                self.session.ui.plain(&line)
            });
        }
        let width = self.session.ui.width();
        let short = id.get(..self.id_length).unwrap_or(&id);
        let started = run
            .started()
            .map(|started| units::ago(started, now()))
            .unwrap_or_default();
        let heading = Line::of(run.status.glyph(), run.status.tone())
            .space(1)
            .with(name, Tone::Strong)
            .space(2)
            .with(short, Tone::Plain)
            .space(2)
            .with(started, Tone::Muted)
            .space(2)
            .with(text::counted(hits.len() as u64, "hit"), Tone::Muted);
        let mut lines = vec![heading.fitted(width)];
        for hit in hits {
            let tone = if hit.failed { Tone::Bad } else { hit.kind.tone() };
            let row = Line::of(format!("{:>6}", format!("#{}", hit.step)), Tone::Muted)
                .space(2)
                .with(hit.kind.glyph(), tone)
                .space(1)
                .with(hit.name.as_str(), tone)
                .space(2)
                .with(
                    hit.number.map(|number| number.words() + "  ").unwrap_or_default(),
                    Tone::Strong,
                )
                .with(hit.excerpt.as_str(), Tone::Plain);
            lines.push(row.fitted(width));
        }
        self.session.ui.lines(&lines)
    }

    fn end(mut self, searched: usize) -> Result<CommandOutcome, CliError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        run_selection::note_unfetched(self.session);
        let count = format!(
            "{} in {}",
            text::counted(self.hits as u64, "hit"),
            text::counted(self.runs as u64, "run")
        );
        if self.args.count {
            let line = SearchLine::Count {
                spec_version: SPEC_VERSION,
                hits: self.hits,
                runs: self.runs,
                searched_runs: searched,
            };
            if self.session.is_json() {
                self.line(&line)?;
            } else {
                self.session.ui.plain(&count)?;
            }
            return Ok(CommandOutcome::Done);
        }
        if self.hits == 0 {
            let note = format!("no step matches, in {}", text::counted(searched as u64, "run"));
            self.session.ui.say(note);
        } else if self.more || self.hits >= self.limit {
            let query = self.args.query.as_last_arguments();
            let sort = self.args.sort.map(|order| format!(" --sort {}", order.as_str()));
            let sort = sort.unwrap_or_default();
            let all = self.session.command(&format!("search{sort} --limit all{query}"));
            let note = format!("the first {count}; print all: {all}");
            self.session.ui.remark(note);
        }
        Ok(CommandOutcome::Done)
    }
}

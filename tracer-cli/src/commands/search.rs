//! `tracer search`: finds steps in all runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use tracer_catalog::query::StepQuery;
use tracer_catalog::{ListedRun, RunHits, SearchOrder, SortedHits, SortedNumber, StepHit, StepSearch};
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::status::Signs;
use tracer_insight::text;
use tracer_insight::units::{self, now};
use tracer_sdk::format::SPEC_VERSION;

use crate::commands::run_selection::{self, AllRuns, QueryArgs};
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

fn order_parser() -> impl TypedValueParser<Value = SearchOrder> {
    PossibleValuesParser::new(SearchOrder::ALL.map(SearchOrder::as_str))
        .try_map(|word| SearchOrder::from_word(&word).ok_or("is no order"))
}

/// Searches the runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let query = args.query.parse()?;
    let test = StepQuery::of_runs(&query);
    if test.is_empty() {
        return Err(CliError::input("the query names nothing to look for in steps")
            .with_hint("give a text, or one of: tool model failed error args result prompt answer kind")
            .with_hint(format!(
                "list the runs that match: {}",
                session.command(&format!("list{}", args.query.as_last_arguments()))
            )));
    }
    let (all, survey) = AllRuns::open(session)?;
    let limit = if args.count { usize::MAX } else { args.limit };
    let wanted = StepSearch {
        test: &test,
        limit,
        order: args.sort,
        prices: all.store.prices(),
    };
    all.ask(survey, session, |runs, session| {
        let candidates = runs.candidates(&query, args.trials, now())?;
        let id_length = run_list::id_length(runs.census(true)?.ids);
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
        let mut sorted = SortedHits::default();
        let searched = runs.search(&candidates, &wanted, &all.cancel, |at, run, found| {
            if found.hits.is_empty() {
                return;
            }
            if args.sort.is_some() {
                sorted.add(at, &Arc::new(run.clone()), found, limit);
            } else if printing.failure.is_none() {
                printing.failure = printing.run(run, &found).err();
            }
            if printing.failure.is_some() || printing.hits >= limit {
                all.cancel.cancel();
            }
        });
        drop(runs);
        match searched {
            // Hits are not printed a second time.
            Err(error) if printing.hits > 0 && !args.count => Ok(Err(run_selection::unreadable(error))),
            searched => searched.map(|()| printing.finish(sorted, candidates.len())),
        }
    })?
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
    fn sorted(&mut self, hits: Vec<(Arc<ListedRun>, StepHit)>, more: bool) -> Result<(), CliError> {
        let mut hits = hits.into_iter().peekable();
        let mut runs = BTreeSet::new();
        while let Some((run, hit)) = hits.next() {
            let mut found = RunHits {
                hits: vec![hit],
                ..RunHits::default()
            };
            while let Some((_, hit)) = hits.next_if(|(next, _)| Arc::ptr_eq(next, &run)) {
                found.hits.push(hit);
            }
            runs.insert(run.directory.trace_id);
            self.run(&run, &found)?;
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
        hits.iter().try_for_each(|hit| {
            let mut line = json!({
                "spec_version": SPEC_VERSION,
                "trace_id": run.directory.trace_id,
                "run_name": run.row.name,
                "run_status": run.status.as_str(),
                "step": hit.step,
                "event_id": hit.event_id,
                "kind": hit.kind,
                "name": hit.name,
                "failed": hit.failed,
                "excerpt": hit.excerpt,
            });
            if let Some(number) = hit.number {
                line["sorted_by"] = match number {
                    SortedNumber::Cost(usd) => json!({"cost_usd": usd}),
                    SortedNumber::Tokens(tokens) => json!({"tokens": tokens}),
                    SortedNumber::Duration(microseconds) => json!({"duration_us": microseconds}),
                    SortedNumber::Repetitions(times) => json!({"repetitions": times}),
                };
            }
            self.session.ui.json(&line)
        })
    }

    /// A heading for the run, and a row for each hit; one tab-separated line for each outside a terminal.
    fn text(&mut self, run: &ListedRun, hits: &[StepHit]) -> Result<(), CliError> {
        let id = run.directory.trace_id.to_string();
        let name = display_name(run.row.name.as_deref());
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

    /// Prints sorted hits, which no others come before, and what is to be said after all.
    fn finish(
        mut self,
        sorted: SortedHits<Arc<ListedRun>>,
        searched: usize,
    ) -> Result<CommandOutcome, CliError> {
        if self.args.sort.is_some() {
            let (hits, more) = sorted.finish(self.limit);
            self.sorted(hits, more)?;
        }
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
            if self.session.is_json() {
                self.session.ui.json(&json!({
                    "spec_version": SPEC_VERSION,
                    "hits": self.hits,
                    "runs": self.runs,
                    "searched_runs": searched,
                }))?;
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

//! `tracer stats`: statistics over runs, as a whole and by group.

use std::collections::BTreeMap;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use tracer_facts::stats::{GroupStats, Grouping, needs_details, stats};
use tracer_facts::{FactsStore, ListedRun};
use tracer_insight::line::{Line, Tone};
use tracer_insight::units::{self, now};
use tracer_insight::{cost, text, value_summary};
use tracer_sdk::format::{SPEC_VERSION, Usd};

use crate::commands::run_selection::{self, QueryArgs};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::layout::{Align, Column, Table};

/// Groups that are listed on a terminal.
const MAX_GROUPS: usize = 40;
/// Days of the sparkline.
const MAX_DAYS: usize = 30;

/// Options of `tracer stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer stats --by tool since:7d")]
pub struct Args {
    #[command(flatten)]
    query: QueryArgs,

    /// Group by name, model, tool, day, tag, commit or error
    #[arg(long, value_name = "GROUP", hide_possible_values = true, value_parser = grouping_parser())]
    by: Option<Grouping>,

    /// Also count the trials of gates
    #[arg(long)]
    trials: bool,

    /// Print JSON: `{spec_version, query, by, all, groups}`
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values, one line for each group
    #[arg(long)]
    csv: bool,
}

fn grouping_parser() -> impl TypedValueParser<Value = Grouping> {
    PossibleValuesParser::new(Grouping::ALL.map(Grouping::as_str)).try_map(|word| {
        Grouping::ALL
            .into_iter()
            .find(|grouping| grouping.as_str() == word)
            .ok_or("is no group")
    })
}

/// `tracer stats --json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StatsReport<'a> {
    /// The version of the trace format.
    #[cfg_attr(test, schemars(schema_with = "tracer_insight::schema::spec_version"))]
    spec_version: &'static str,
    /// The query, as it is understood; empty for all runs.
    query: String,
    /// What groups are made by; null without groups.
    by: Option<&'static str>,
    /// All runs together.
    all: &'a GroupStats,
    /// The groups: days in their order, else the largest first.
    groups: &'a [GroupStats],
}

/// Prints statistics over runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let query = args.query.parse()?;
    let store = FactsStore::new(session.data_dir()?).with_prices(session.prices()?);
    let cancel = run_selection::cancelled_by_interrupt();
    let with_details = query.needs_details() || needs_details(args.by);
    let facts = run_selection::all_runs(&store, with_details, &cancel, session)?;
    let runs: Vec<&ListedRun> = facts
        .runs
        .iter()
        .filter(|run| args.trials || !run.facts.is_trial)
        .collect();
    let matching = run_selection::matching(&runs, &query, now(), &cancel);
    let runs = runs
        .into_iter()
        .zip(matching)
        .filter_map(|(run, matches)| matches.then_some(run));
    let found = stats(runs, args.by);
    if args.json {
        session.ui.json(&StatsReport {
            spec_version: SPEC_VERSION,
            query: query.to_string(),
            by: args.by.map(Grouping::as_str),
            all: &found.all,
            groups: &found.groups,
        })?;
        return Ok(CommandOutcome::Done);
    }
    let rows: Vec<&GroupStats> = match args.by {
        Some(_) => found.groups.iter().collect(),
        None => vec![&found.all],
    };
    if args.csv || !session.ui.is_terminal() {
        let separator = if args.csv { ',' } else { '\t' };
        session.ui.plain(&FIELDS.join(&separator.to_string()))?;
        for row in rows {
            session.ui.plain(&fields(row, separator))?;
        }
        return Ok(CommandOutcome::Done);
    }
    print_table(args, &found.all, &rows, session)
}

const FIELDS: [&str; 17] = [
    "group",
    "runs",
    "ended_runs",
    "failed_runs",
    "failure_rate",
    "loops",
    "calls",
    "failed_calls",
    "p50_us",
    "p95_us",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "cached_share",
    "cost_usd",
    "unpriced_calls",
];

/// A group as fields: nothing shortened, empty where it is unknown.
fn fields(row: &GroupStats, separator: char) -> String {
    let known = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let share = |share: Option<f64>| share.map(|share| format!("{share:.4}")).unwrap_or_default();
    let fields = [
        field(row.group.as_deref().unwrap_or_default(), separator),
        row.runs.to_string(),
        row.ended_runs.to_string(),
        row.failed_runs.to_string(),
        share(row.failure_rate),
        row.loops.to_string(),
        row.calls.to_string(),
        row.failed_calls.to_string(),
        known(row.p50_us),
        known(row.p95_us),
        known(row.input_tokens),
        known(row.output_tokens),
        known(row.total_tokens),
        known(row.cached_tokens),
        share(row.cached_share),
        row.cost_usd.map(Usd::to_decimal).unwrap_or_default(),
        row.unpriced_calls.to_string(),
    ];
    fields.join(&separator.to_string())
}

/// A text as one field. A spreadsheet takes what begins with one of these signs for a formula.
fn field(text: &str, separator: char) -> String {
    let printable = text::printable(text).into_owned();
    let is_formula = separator == ',' && printable.starts_with(['=', '+', '-', '@']);
    let safe = if is_formula {
        format!("'{printable}")
    } else {
        printable
    };
    if separator == ',' && safe.contains([',', '"', '\n']) {
        return format!("\"{}\"", safe.replace('"', "\"\""));
    }
    safe
}

const COLUMNS: [Column; 9] = [
    column("RUNS", None),
    column("FAILED", Some(6)),
    column("LOOPS", Some(2)),
    column("CALLS", Some(5)),
    column("P50", Some(4)),
    column("P95", Some(7)),
    column("TOKENS", Some(3)),
    column("CACHED", Some(1)),
    column("COST", Some(8)),
];

const fn column(heading: &'static str, dropped: Option<u8>) -> Column {
    Column {
        heading,
        align: Align::Right,
        dropped,
    }
}

fn print_table(
    args: &Args,
    all: &GroupStats,
    rows: &[&GroupStats],
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    if all.runs == 0 {
        session.ui.note(&Line::of("no runs match", Tone::Plain));
        return Ok(CommandOutcome::Done);
    }
    let is_of_calls = args.by.is_some_and(Grouping::is_of_calls);
    let listed = rows.get(..MAX_GROUPS).unwrap_or(rows);
    let mut shown: Vec<&GroupStats> = listed.to_vec();
    if args.by.is_some() {
        shown.push(all);
    }
    let width = session.ui.width();
    let mut table = Table::new(&COLUMNS);
    for (at, row) in shown.iter().enumerate() {
        table.push(cells(row, is_of_calls && at < listed.len()));
    }
    let arranged = table.arrange(width, width / 3);
    let heading = args.by.map_or("", Grouping::as_str).to_uppercase();
    let mut lines = vec![arranged.heading(&heading)];
    let days = days_of(&all.days);
    for (at, (row, cells)) in shown.iter().zip(table.rows()).enumerate() {
        let is_all = at == listed.len() || args.by.is_none();
        let (name, tone) = match &row.group {
            _ if is_all => ("all runs".to_owned(), Tone::Muted),
            Some(group) => (value_summary::label(group), Tone::Strong),
            None => ("(none)".to_owned(), Tone::Muted),
        };
        let mut last = Line::of(name, tone);
        if days.len() > 1 && args.by != Some(Grouping::Day) {
            let counts: Vec<u64> = days
                .iter()
                .map(|day| row.days.get(day).copied().unwrap_or(0))
                .collect();
            last = last.space(2).with(units::sparkline(&counts), Tone::Active);
        }
        lines.push(arranged.line(cells, last));
    }
    session.ui.lines(&lines)?;
    if rows.len() > listed.len() {
        let hidden = text::counted((rows.len() - listed.len()) as u64, "group");
        let note = format!("{hidden} more; print all: --json or --csv");
        session.ui.note(&Line::of(note, Tone::Muted));
    }
    Ok(CommandOutcome::Done)
}

fn cells(row: &GroupStats, is_of_calls: bool) -> Vec<Line> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let duration = |duration: Option<u64>| duration.map(units::duration).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let failure_rate = if is_of_calls {
        (row.calls > 0).then(|| row.failed_calls as f64 / row.calls as f64)
    } else {
        row.failure_rate
    };
    let failed = failure_rate.filter(|rate| *rate > 0.0);
    let cells = [
        (units::quantity(row.runs), Tone::Plain),
        (failed.map(percent).unwrap_or_default(), Tone::Bad),
        (
            if row.loops > 0 {
                units::quantity(row.loops)
            } else {
                String::new()
            },
            Tone::Warning,
        ),
        (units::quantity(row.calls), Tone::Plain),
        (duration(row.p50_us), Tone::Plain),
        (duration(row.p95_us), Tone::Plain),
        (
            row.total_tokens.map(units::quantity).unwrap_or_default(),
            Tone::Plain,
        ),
        (row.cached_share.map(percent).unwrap_or_default(), Tone::Muted),
        (row.cost.as_ref().map(cost::cell).unwrap_or_default(), Tone::Plain),
    ];
    cells.map(|(text, tone)| Line::of(text, tone)).into()
}

/// The days from the first to the last one that has runs, at most the last thirty.
fn days_of(days: &BTreeMap<String, u64>) -> Vec<String> {
    let midnight = |day: &String| -> Option<i64> {
        let instant: tracer_sdk::format::Timestamp = format!("{day}T00:00:00Z").parse().ok()?;
        Some(instant.unix_microseconds() / MICROSECONDS_PER_DAY)
    };
    let first = days.keys().next().and_then(midnight);
    let last = days.keys().next_back().and_then(midnight);
    let Some((first, last)) = first.zip(last) else {
        return Vec::new();
    };
    let limit = i64::try_from(MAX_DAYS).unwrap_or(i64::MAX);
    (first.max(last.saturating_sub(limit - 1))..=last)
        .filter_map(|day| {
            let instant = tracer_sdk::format::Timestamp::from_unix_microseconds(day * MICROSECONDS_PER_DAY);
            instant.to_string().get(..10).map(str::to_owned)
        })
        .collect()
}

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_without_runs_are_among_the_days() {
        let days = |days: &[&str]| days_of(&days.iter().map(|day| ((*day).to_owned(), 1)).collect());
        assert_eq!(
            days(&["2026-02-27", "2026-03-01"]),
            ["2026-02-27", "2026-02-28", "2026-03-01"]
        );
        assert_eq!(days(&["2020-01-01", "2026-03-01"]).len(), MAX_DAYS);
        assert!(days(&[]).is_empty());
    }

    #[test]
    fn a_field_is_one_field_and_no_formula() {
        assert_eq!(field("a,\"b\"", ','), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1", ','), "'=1+1");
        assert_eq!(field("a\tb\u{1b}", '\t'), "a␉b␛");
    }
}

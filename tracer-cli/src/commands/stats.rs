//! `tracer stats`: statistics over runs, as a whole and by group.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use tracer_catalog::stats::{GroupStats, Grouping, StatsColumn, StoreStats};
use tracer_insight::line::{Line, Tone};
use tracer_insight::table::Column;
use tracer_insight::units;
use tracer_insight::{text, value_summary};
use tracer_sdk::format::{SPEC_VERSION, Usd};

use crate::commands::run_selection::{AllRuns, QueryArgs};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::layout::Table;
use crate::value_parsers::{Sorting, parse_sorting};

/// Groups that are listed on a terminal.
const MAX_GROUPS: usize = 40;

/// Options of `tracer stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer stats --by tool since:7d")]
pub struct Args {
    #[command(flatten)]
    query: QueryArgs,

    /// Group by name, model, tool, day, tag, commit or error
    #[arg(long, value_name = "GROUP", hide_possible_values = true, value_parser = grouping_parser())]
    by: Option<Grouping>,

    /// Sort groups by group, runs, failed, loops, errors, calls, p50, p95, tokens, cached or cost
    ///
    /// Names are sorted from A to Z, numbers from the largest to the smallest, and a `-` before COLUMN reverses that; groups
    /// whose number is not known come last.
    #[arg(
        long,
        value_name = "COLUMN",
        requires = "by",
        allow_hyphen_values = true,
        value_parser = parse_sorting(StatsColumn::from_word, StatsColumn::ALL.map(StatsColumn::as_str))
    )]
    sort: Option<Sorting<StatsColumn>>,

    /// Also count the trials of gates
    #[arg(long)]
    trials: bool,

    /// Print comma-separated values, one line for each group
    #[arg(long)]
    csv: bool,
}

fn grouping_parser() -> impl TypedValueParser<Value = Grouping> {
    PossibleValuesParser::new(Grouping::ALL.map(Grouping::as_str))
        .try_map(|word| Grouping::from_word(&word).ok_or("is no group"))
}

/// Prints statistics over runs.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.csv && session.is_json() {
        return Err(
            CliError::input("`--csv` and `--json` are two formats").with_hint("leave out one of them")
        );
    }
    let query = args.query.parse()?;
    let (all, survey) = AllRuns::open(session)?;
    let mut found = all.ask(survey, session, |runs, session| {
        let selection = all.select(&runs, &query, args.trials, session)?;
        runs.stats(&selection, args.by)
    })?;
    if let Some(sort) = args.sort {
        found.sort(sort.by, sort.is_reversed, args.by);
    }
    if session.is_json() {
        session.ui.json(&json!({
            "spec_version": SPEC_VERSION,
            "query": query.to_string(),
            "by": args.by.map(Grouping::as_str),
            "all": found.all,
            "groups": found.groups,
        }))?;
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
    print_table(args, &found, &rows, session)
}

const FIELDS: [&str; 18] = [
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
    "errors",
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
        known(row.errors),
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

/// The columns of a terminal, each with its turn to be left out where the width is not enough.
fn columns(by: Option<Grouping>) -> Vec<Column> {
    StatsColumn::of(by)
        .map(|column| {
            let dropped = match column {
                StatsColumn::Group | StatsColumn::Runs | StatsColumn::Errors => None,
                StatsColumn::Cached => Some(1),
                StatsColumn::Loops => Some(2),
                StatsColumn::Tokens => Some(3),
                StatsColumn::P50 => Some(4),
                StatsColumn::Calls => Some(5),
                StatsColumn::Failed => Some(6),
                StatsColumn::P95 => Some(7),
                StatsColumn::Cost => Some(8),
            };
            Column::number(column.heading(), dropped)
        })
        .collect()
}

fn print_table(
    args: &Args,
    found: &StoreStats,
    rows: &[&GroupStats],
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    let all = &found.all;
    if all.runs == 0 {
        session.ui.say("no runs match");
        return Ok(CommandOutcome::Done);
    }
    let is_of_calls = args.by.is_some_and(Grouping::is_of_calls);
    let listed = rows.get(..MAX_GROUPS).unwrap_or(rows);
    let mut shown: Vec<&GroupStats> = listed.to_vec();
    if args.by.is_some() {
        shown.push(all);
    }
    let width = session.ui.width();
    let columns = columns(args.by);
    let mut table = Table::new(&columns);
    for (at, row) in shown.iter().enumerate() {
        table.push(cells(row, args.by, is_of_calls && at < listed.len()));
    }
    let heading = args.by.map_or("", Grouping::as_str).to_uppercase();
    let days = found.days();
    let names = shown.iter().enumerate().map(|(at, row)| {
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
        last
    });
    session
        .ui
        .lines(&table.lines(width, width / 3, &heading, names))?;
    if rows.len() > listed.len() {
        let hidden = text::counted((rows.len() - listed.len()) as u64, "group");
        let note = format!("{hidden} more; print all: --json or --csv");
        session.ui.remark(note);
    }
    Ok(CommandOutcome::Done)
}

fn cells(row: &GroupStats, by: Option<Grouping>, is_of_calls: bool) -> Vec<Line> {
    StatsColumn::of(by)
        .map(|column| {
            let (text, tone) = column.cell(row, is_of_calls);
            Line::of(text, tone)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_one_field_and_no_formula() {
        assert_eq!(field("a,\"b\"", ','), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1", ','), "'=1+1");
        assert_eq!(field("a\tb\u{1b}", '\t'), "a␉b␛");
    }
}

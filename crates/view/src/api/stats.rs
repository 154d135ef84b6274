//! `GET /api/stats`: statistics over all runs, as a whole and by group, and where each number leads.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_catalog::query::{Condition, Feature, QueryTerm, RunQuery};
use tracer_catalog::stats::{GroupStats, Grouping, RunsBehind, StatsColumn, StoreStats};
use tracer_insight::line::Tone;
use tracer_insight::{cost, units, value_summary};

use super::super::answer::{ApiError, json_response};
use super::super::known_facts::{Facts, KnownRuns};
use super::super::viewer::Viewer;
use super::list::{reading_error, run_query};
use super::request::Query;
use super::table::{TableColumn, version_text};

/// Groups in one answer.
const MAX_GROUPS: usize = 1_000;
/// Groups that the page begins with.
const PAGE_GROUPS: usize = 60;
/// Groups where the request names no number.
const DEFAULT_GROUPS: usize = 100;

/// Statistics over the runs that match.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StatsAnswer {
    /// `table` of the stream: changes when a run does.
    version: String,
    /// The query, as it is understood; empty for all runs.
    query: String,
    /// Grouping in use; null without groups.
    by: Option<&'static str>,
    /// Available groupings.
    groupings: [&'static str; 7],
    /// `true` when the numbers of a group are of its calls and not of its runs.
    is_of_calls: bool,
    /// The columns of the table.
    columns: Vec<TableColumn>,
    /// All runs together.
    all: StatsRow,
    /// Number of groups.
    group_count: usize,
    /// The number of the first group in `groups`, from 0.
    from: usize,
    /// The groups, in their order.
    groups: Vec<StatsRow>,
    /// The days of `bars`, at most the last 30.
    days: Vec<String>,
}

/// A row of the statistics.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StatsRow {
    /// The numbers.
    stats: GroupStats,
    /// The name of the group on one line; null of all runs together, and of runs that are in no group.
    label: Option<String>,
    /// The same by column, in words.
    cells: BTreeMap<&'static str, StatsCell>,
    /// The runs, or calls, of each of `days`.
    bars: Vec<u64>,
}

/// A number in words, and the runs behind it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StatsCell {
    /// The words; empty where there is nothing, or nothing is known.
    text: String,
    /// Tone of the text: `plain`, `muted`, `bad` or `warning`.
    tone: &'static str,
    /// More about it: what is not known of a cost; null where there is nothing to add.
    title: Option<String>,
    /// The query of the runs behind the number; null where none finds them.
    query: Option<String>,
    /// Sort key of these runs that shows where the number comes from.
    sort: &'static str,
}

/// Parameters of a statistics request.
#[derive(Debug)]
pub(crate) struct StatsRequest {
    query: RunQuery,
    by: Option<Grouping>,
    column: Option<StatsColumn>,
    is_reversed: bool,
    has_trials: bool,
    from: usize,
    limit: usize,
}

impl StatsRequest {
    pub(crate) fn of(query: &Query) -> Result<Self, ApiError> {
        let given = |name: &str| query.get(name).filter(|value| !value.is_empty());
        Ok(Self {
            query: given("q").map_or_else(|| Ok(RunQuery::default()), run_query)?,
            by: word(
                query,
                "by",
                Grouping::from_word,
                &Grouping::ALL.map(Grouping::as_str),
            )?,
            column: word(
                query,
                "sort",
                StatsColumn::from_word,
                &StatsColumn::ALL.map(StatsColumn::as_str),
            )?,
            is_reversed: query.flag("reverse")?,
            has_trials: query.flag("trials")?,
            from: query.from()?,
            limit: query.limit("limit", DEFAULT_GROUPS, MAX_GROUPS)?,
        })
    }
}

impl StatsRequest {
    /// The same as the address of the page says it, which is grouped by name where it names nothing else.
    pub(crate) fn of_page(query: &Query) -> Result<Self, ApiError> {
        let mut request = Self::of(query)?;
        request.by.get_or_insert(Grouping::Name);
        request.limit = PAGE_GROUPS;
        if let Some(since) = query.get("since").filter(|since| !since.is_empty()) {
            let since = run_query(&format!("since:{since}"))?;
            request.query.terms.extend(since.terms);
        }
        Ok(request)
    }
}

/// A parameter that is one of some words.
fn word<T>(
    query: &Query,
    name: &str,
    from_word: impl Fn(&str) -> Option<T>,
    words: &[&str],
) -> Result<Option<T>, ApiError> {
    let Some(word) = query.get(name) else {
        return Ok(None);
    };
    from_word(word).map(Some).ok_or_else(|| {
        let message = format!("`{name}` is one of {}", words.join(", "));
        ApiError::bad_request("invalid_parameter", message)
    })
}

/// The statistics that a request asks for.
pub(crate) fn answer(viewer: &Viewer, request: &StatsRequest) -> Result<StatsAnswer, ApiError> {
    let mut query = request.query.clone();
    if !request.has_trials {
        query.terms.push(QueryTerm::fails(Condition::Has(Feature::Trial)));
    }
    let (mut found, known) = viewer.facts().ask(|facts| {
        let known = match facts.now()? {
            Facts::All(known) => known,
            Facts::Reading(progress) => return Err(reading_error(progress)),
        };
        let runs = facts.open(&known)?;
        let selection = facts.select(&known, &runs, &query, units::now())?;
        let found = runs.stats(&selection, request.by);
        Ok((found.map_err(|error| facts.unreadable(&error))?, known))
    })?;
    if let Some(column) = request.column {
        found.sort(column, false, request.by);
    }
    if request.is_reversed {
        found.groups.reverse();
    }
    Ok(in_words(found, request, &known))
}

fn in_words(found: StoreStats, request: &StatsRequest, known: &KnownRuns) -> StatsAnswer {
    let days = found.days();
    let group_count = found.groups.len();
    let groups = found.groups.into_iter().skip(request.from).take(request.limit);
    StatsAnswer {
        version: version_text(known),
        query: request.query.to_string(),
        by: request.by.map(Grouping::as_str),
        is_of_calls: request.by.is_some_and(Grouping::is_of_calls),
        groupings: Grouping::ALL.map(Grouping::as_str),
        columns: StatsColumn::of(request.by).map(column).collect(),
        all: row(found.all, request, None, &days),
        group_count,
        from: request.from,
        groups: groups
            .map(|group| row(group, request, request.by, &days))
            .collect(),
        days,
    }
}

fn column(column: StatsColumn) -> TableColumn {
    TableColumn {
        key: column.as_str(),
        heading: column.heading(),
        is_ascending: column == StatsColumn::Group,
    }
}

/// A row: of a group, or with nothing to group `by` of all runs.
fn row(group: GroupStats, request: &StatsRequest, by: Option<Grouping>, days: &[String]) -> StatsRow {
    let is_of_calls = by.is_some_and(Grouping::is_of_calls);
    let behind = RunsBehind::new(&request.query, by, &group, request.has_trials);
    let cell = |column: StatsColumn| {
        let (text, tone) = column.cell(&group, is_of_calls);
        let words = group.cost.as_ref().and_then(cost::words);
        StatsCell {
            title: words.filter(|words| column == StatsColumn::Cost && *words != text),
            text,
            tone: tone_word(tone),
            query: behind.as_ref().map(|behind| behind.query(column).to_string()),
            sort: RunsBehind::order(column).as_str(),
        }
    };
    let columns = [StatsColumn::Group]
        .into_iter()
        .chain(StatsColumn::of(request.by));
    StatsRow {
        cells: columns.map(|column| (column.as_str(), cell(column))).collect(),
        label: group.group.as_deref().map(value_summary::label),
        bars: days
            .iter()
            .map(|day| group.days.get(day).copied().unwrap_or(0))
            .collect(),
        stats: group,
    }
}

fn tone_word(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "bad",
        Tone::Warning => "warning",
        Tone::Muted => "muted",
        _ => "plain",
    }
}

/// The statistics.
pub(crate) async fn get(State(viewer): State<Viewer>, query: Query) -> Result<Response, ApiError> {
    let request = StatsRequest::of(&query)?;
    let answer = viewer.read(move |viewer| answer(viewer, &request)).await?;
    Ok(json_response(&answer))
}

//! `GET /api/table`: the runs as the page lists them, searched, filtered and sorted, a part at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tracer_catalog::query::{Condition, QueryTerm, RunQuery, Since, TextField};
use tracer_catalog::{ListedRun, PlaceInThread, ReadingProgress, RunColumn, RunOrder};
use tracer_runs::RunSummary;
use tracer_sdk::format::TraceId;

use super::super::answer::{ApiError, json_response};
use super::super::known_facts::{Facts, KnownRuns, MAX_NAMES};
use super::super::viewer::Viewer;
use super::list::{listed, run_query, statuses};
use super::request::Query;
use tracer_insight::run_head::UNNAMED;
use tracer_insight::status::RunStatus;
use tracer_insight::step_kind::StepKind;
use tracer_insight::step_summary::token_shares;
use tracer_insight::text::path_below_home as shown;
use tracer_insight::units;

/// Runs in one answer.
const MAX_RUNS: usize = 1_000;
/// Runs where the request names no number.
const DEFAULT_RUNS: usize = 200;
/// Runs that the page of all runs begins with.
const FIRST_RUNS: usize = 60;
/// Models, or tools, in a title.
const MAX_CALLED: usize = 20;

/// A part of the runs that match.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunTable {
    /// Location of the runs, for people.
    data_dir: String,
    /// `version` of the stream: changes when a run does.
    version: String,
    /// Number of all runs.
    total: usize,
    /// Number of runs that match.
    matching: usize,
    /// The number of the first run in `runs` among those that match, from 0.
    from: usize,
    /// Number of runs by status, among those that match by all but their status.
    statuses: BTreeMap<&'static str, usize>,
    /// The names of all runs, at most 500.
    names: Vec<String>,
    /// Number of threads of several runs.
    threads: usize,
    /// The query of the steps of a run that the query of runs asks for, with which a run is opened at them; null where it asks for
    /// none.
    step_query: Option<String>,
    /// Progress of reading, when the runs are read for the first time: only the newest are listed then, and nothing
    /// else matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<ReadingJson>,
    runs: Vec<TableRow>,
}

/// Progress of the first reading.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReadingJson {
    runs: usize,
    read_runs: usize,
}

/// A run in the table.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TableRow {
    trace_id: TraceId,
    run_name: Option<String>,
    /// The status: `running`, `interrupted`, `failed`, `loop`, `ok`, `damaged`.
    run_status: &'static str,
    started_at: Option<String>,
    /// Remarks next to the status, in words: `1 failed call` of a run that ended ok, `waiting for a person`; null
    /// without any.
    marks: Option<String>,
    /// Problem with its metadata or its log; null when there is none.
    problem: Option<String>,
    /// Preview of the run from its spans; null for a run that was not read yet.
    details: Option<RunPreview>,
    /// Its cells, by column.
    cells: BTreeMap<&'static str, TableCell>,
    /// Its place among the runs of its session or conversation, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadJson>,
    /// The URL of the bucket that it was read from; absent of a run of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

/// The steps of a run, as the table shows them.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunPreview {
    /// Number of steps; a lower bound while more are to come.
    steps: u64,
    /// Set when no more steps are to come.
    is_whole: bool,
    /// Distinguishes it from other runs of its name: why it failed, what it repeated, what it was asked.
    subtitle: Option<String>,
    /// The kinds of its steps in the order of time, in at most twelve cells.
    path: Vec<StepKind>,
}

/// A column of a table.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TableColumn {
    /// Sort key of the column.
    pub(super) key: &'static str,
    pub(super) heading: &'static str,
    /// `true` when it is sorted from the first to the last; otherwise from the largest to the smallest.
    pub(super) is_ascending: bool,
}

/// A cell of a table.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TableCell {
    /// The words; empty where there is nothing, or nothing is known.
    text: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Number of further models, or tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    /// The query of the runs with this model, or tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
}

/// The columns of the page.
pub(crate) fn columns() -> [TableColumn; 9] {
    RunColumn::OF_PAGE.map(|column| TableColumn {
        key: column.as_str(),
        heading: column.heading(),
        is_ascending: column.is_ascending(),
    })
}

/// The place of a run in its thread.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ThreadJson {
    /// The session or conversation ID.
    id: String,
    /// The query of its runs.
    query: String,
    /// Its number, from 1.
    number: usize,
    /// Number of runs in the thread.
    count: usize,
}

/// Parameters of a request for the table of all runs.
#[derive(Debug, Default)]
pub(crate) struct TableRequest {
    query: RunQuery,
    statuses: Vec<RunStatus>,
    name: Option<String>,
    since: Option<Since>,
    order: RunOrder,
    from: usize,
    limit: usize,
}

impl TableRequest {
    /// The first request of the page of all runs.
    fn first() -> Self {
        Self {
            limit: FIRST_RUNS,
            ..Self::default()
        }
    }

    fn of(query: &Query) -> Result<Self, ApiError> {
        let given = |name: &str| query.get(name).filter(|value| !value.is_empty());
        Ok(Self {
            query: given("q").map_or_else(|| Ok(RunQuery::default()), run_query)?,
            statuses: given("status").map(statuses).transpose()?.unwrap_or_default(),
            name: given("name").map(str::to_owned),
            since: given("since")
                .map(Since::from_str)
                .transpose()
                .map_err(|error| ApiError::bad_request("invalid_parameter", format!("`since`: {error}")))?,
            order: RunOrder {
                column: query.get("sort").map_or(Ok(RunColumn::default()), order)?,
                is_reversed: query.flag("reverse")?,
                groups_threads: query
                    .get("group")
                    .map_or(Ok(false), |value| one_of("group", value, ["thread"]))?,
            },
            from: query.from()?,
            limit: query.limit("limit", DEFAULT_RUNS, MAX_RUNS)?,
        })
    }

    /// Returns whether it asks for all runs, the newest first.
    fn is_of_all(&self) -> bool {
        self.query.is_empty()
            && self.statuses.is_empty()
            && self.name.is_none()
            && self.since.is_none()
            && self.order == RunOrder::default()
    }

    /// The query of the runs with any status.
    fn runs(&self) -> RunQuery {
        let name = self.name.as_ref().map(|name| match name.as_str() {
            UNNAMED => QueryTerm::fails(Condition::is(TextField::Name, "*")),
            name => QueryTerm::holds(Condition::is(TextField::Name, name)),
        });
        let since = self.since.map(|since| QueryTerm::holds(Condition::Since(since)));
        let mut query = self.query.clone();
        query.terms.extend(name.into_iter().chain(since));
        query
    }
}

/// Returns whether a value is the first of those that are allowed.
fn one_of<const N: usize>(name: &str, value: &str, allowed: [&str; N]) -> Result<bool, ApiError> {
    if allowed.contains(&value) {
        return Ok(allowed.first() == Some(&value));
    }
    let words = allowed.map(|word| format!("`{word}`")).join(" or ");
    Err(ApiError::bad_request(
        "invalid_parameter",
        format!("`{name}` is {words}"),
    ))
}

fn order(word: &str) -> Result<RunColumn, ApiError> {
    RunColumn::from_word(word).ok_or_else(|| {
        let words = RunColumn::ALL
            .map(|order| format!("`{}`", order.as_str()))
            .join(", ");
        ApiError::bad_request("invalid_parameter", format!("`sort` is one of {words}"))
    })
}

/// The table as the page of all runs begins with.
pub(crate) fn first(viewer: &Viewer) -> Result<RunTable, ApiError> {
    table(viewer, &TableRequest::first())
}

/// The runs that a request asks for.
pub(crate) fn table(viewer: &Viewer, request: &TableRequest) -> Result<RunTable, ApiError> {
    viewer.facts().ask(|facts| match facts.now()? {
        Facts::All(runs) => known(viewer, request, &runs),
        Facts::Reading(progress) => unread(viewer, request, progress),
    })
}

fn known(viewer: &Viewer, request: &TableRequest, known: &Arc<KnownRuns>) -> Result<RunTable, ApiError> {
    let runs = viewer.facts().open(known)?;
    let query = request.runs();
    let all = viewer.facts().select(known, &runs, &query, units::now())?;
    let listed = || {
        let statuses = runs.statuses(&all)?;
        let selection = if request.statuses.is_empty() {
            all.clone()
        } else {
            all.clone().with(Condition::Status(request.statuses.clone()))
        };
        let page = runs.page(&selection, request.order, request.from, request.limit)?;
        let threads = runs.threads(&page, true)?;
        Ok((statuses, runs.count(&selection)?, page, threads))
    };
    let (statuses, matching, page, threads) = listed().map_err(|error| viewer.facts().unreadable(&error))?;
    Ok(RunTable {
        data_dir: place(viewer),
        version: version_text(known),
        total: known.total,
        matching,
        from: request.from,
        statuses: statuses
            .into_iter()
            .map(|(status, count)| (status.as_str(), count))
            .collect(),
        names: names(known.names.iter().map(Option::as_deref)),
        threads: known.thread_count,
        step_query: request.query.of_steps(),
        reading: None,
        runs: page
            .iter()
            .map(|run| TableRow::of(run, threads.place(run)))
            .collect(),
    })
}

/// Location of the runs, for people.
fn place(viewer: &Viewer) -> String {
    match viewer.facts().store().team() {
        None => shown(&viewer.runs().store().runs_dir()),
        Some(team) => format!("{} and on this machine", team.origin()),
    }
}

/// `version` of the table of these runs.
pub(crate) fn version_text(known: &KnownRuns) -> String {
    format!("{:016x}", known.version)
}

fn names<'a>(all: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
    let names: BTreeSet<&str> = all.map(|name| name.unwrap_or(UNNAMED)).collect();
    names.into_iter().take(MAX_NAMES).map(str::to_owned).collect()
}

/// The newest runs, with only their metadata known yet.
fn unread(viewer: &Viewer, request: &TableRequest, progress: ReadingProgress) -> Result<RunTable, ApiError> {
    let all = if request.is_of_all() {
        listed(viewer)?
    } else {
        Vec::new()
    };
    let mut by_status = BTreeMap::new();
    for run in &all {
        *by_status.entry(run.status().as_str()).or_default() += 1;
    }
    let name = |run: &'_ RunSummary| run.meta.as_ref().ok().and_then(|meta| meta.run_name.clone());
    let all_names: Vec<Option<String>> = all.iter().map(name).collect();
    Ok(RunTable {
        data_dir: place(viewer),
        version: String::new(),
        total: all.len(),
        matching: all.len(),
        from: request.from,
        statuses: by_status,
        names: names(all_names.iter().map(Option::as_deref)),
        threads: 0,
        step_query: None,
        reading: Some(ReadingJson {
            runs: progress.runs,
            read_runs: progress.read_runs,
        }),
        runs: all
            .iter()
            .skip(request.from)
            .take(request.limit)
            .map(|run| TableRow::of(&ListedRun::of_summary(run), None))
            .collect(),
    })
}

impl TableRow {
    fn of(run: &ListedRun, place: Option<PlaceInThread<'_>>) -> Self {
        let facts = &run.row;
        Self {
            trace_id: run.directory.trace_id,
            run_name: facts.name.clone(),
            run_status: run.status.as_str(),
            started_at: run.started().map(|started| started.to_string()),
            // Calls that never ran are counted where a run is read.
            marks: facts.marks(run.status, 0),
            problem: facts.problem.clone(),
            details: run.is_read().then(|| RunPreview {
                steps: facts.steps,
                is_whole: run.status != RunStatus::Running,
                subtitle: facts.subtitle.clone(),
                path: facts.path.clone(),
            }),
            cells: RunColumn::OF_PAGE
                .map(|column| (column.as_str(), cell(run, column)))
                .into(),
            thread: place.map(|place| ThreadJson {
                id: place.thread.to_owned(),
                query: Condition::is(TextField::Session, place.thread).to_string(),
                number: place.number,
                count: place.count,
            }),
            origin: run.origin().map(str::to_owned),
        }
    }
}

fn cell(run: &ListedRun, column: RunColumn) -> TableCell {
    let cost = || RunColumn::Cost.words(run);
    let text = match column {
        RunColumn::Model => return called(TextField::Model, &run.row.models_by_calls()),
        RunColumn::Tool => return called(TextField::Tool, &run.row.tools_by_calls()),
        // There is room for all digits.
        RunColumn::Steps if run.is_read() && run.status != RunStatus::Running => {
            units::grouped(run.row.steps)
        }
        _ => column.cell(run, units::now()).0,
    };
    let title = match column {
        RunColumn::Cost => cost(),
        RunColumn::Tokens if !text.is_empty() => {
            let shares = token_shares(&run.row.tokens);
            let known: Vec<String> = [shares, cost()].into_iter().flatten().collect();
            Some(known.join(" · "))
        }
        _ => None,
    };
    TableCell {
        text,
        title,
        ..TableCell::default()
    }
}

/// The cell of the models, or tools, that were called.
fn called(field: TextField, names: &[&str]) -> TableCell {
    let Some((first, others)) = names.split_first() else {
        return TableCell::default();
    };
    let surplus = (names.len() > MAX_CALLED).then_some(&"…");
    let title: Vec<&str> = names.iter().take(MAX_CALLED).chain(surplus).copied().collect();
    TableCell {
        text: (*first).to_owned(),
        title: Some(title.join("\n")),
        more: (!others.is_empty()).then_some(others.len()),
        query: Some(Condition::is(field, first).to_string()),
    }
}

/// The table.
pub(crate) async fn get(State(viewer): State<Viewer>, query: Query) -> Result<Response, ApiError> {
    let request = TableRequest::of(&query)?;
    let table = viewer.read(move |viewer| table(viewer, &request)).await?;
    Ok(json_response(&table))
}

//! `docs/openapi.json`: the API described by the types that it answers.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p tracer-view --lib openapi` rewrites it.

use std::fs;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tracer_facts::RunColumn;
use tracer_facts::stats::{Grouping, StatsColumn};
use tracer_sdk::read::RunStatus;

use super::answer::ErrorAnswer;
use super::{api, inspect};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
/// An age or a date. The viewer also takes what the query of `tracer list` takes besides: a date with its time and zone.
const SINCE: &str = "^([0-9]{1,4}(s|m|h|d|w)|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8]))?$";
/// A trace ID is never all zeros.
const TRACE_ID: &str = "^(?!0{32})[0-9a-f]{32}$";

/// One operation of the API.
struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    parameters: Vec<Value>,
    body: Option<Value>,
    content_type: &'static str,
    schema: Value,
}

#[expect(clippy::needless_pass_by_value, reason = "a schema is made where it is given")]
fn path_parameter(name: &str, schema: Value) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": schema})
}

#[expect(clippy::needless_pass_by_value, reason = "a schema is made where it is given")]
fn query_parameter(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

fn run_id() -> Value {
    path_parameter("run", json!({"type": "string", "pattern": TRACE_ID}))
}

/// The schema of a whole number.
fn whole(minimum: u64, maximum: impl Into<u64>) -> Value {
    json!({"type": "integer", "minimum": minimum, "maximum": maximum.into()})
}

fn from(what: &str) -> Value {
    query_parameter("from", what, whole(0, u32::MAX))
}

fn limit(most: u32) -> Value {
    query_parameter("limit", "How many at most.", whole(1, most))
}

fn get(path: &'static str, summary: &'static str, parameters: Vec<Value>, schema: Value) -> Operation {
    Operation {
        method: "get",
        path,
        summary,
        parameters,
        body: None,
        content_type: "application/json",
        schema,
    }
}

fn change(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    schema: Value,
    body: Value,
) -> Operation {
    let token = json!({"name": "X-Tracer-Token", "in": "header", "required": true, "schema": {"type": "string"},
        "description": "The token of this start, which the page has."});
    Operation {
        method,
        parameters: vec![run_id(), token],
        body: Some(body),
        ..get(path, summary, Vec::new(), schema)
    }
}

fn operations(types: &mut SchemaGenerator) -> Vec<Operation> {
    fn of<T: JsonSchema>(types: &mut SchemaGenerator) -> Value {
        types.subschema_for::<T>().to_value()
    }
    let text = || json!({"type": "string"});
    let id_text = || json!({"type": "string", "pattern": TRACE_ID});
    let event_id = || path_parameter("event", json!({"type": "string", "pattern": "^[0-9a-z.]+$"}));
    let row = json!({"name": "row", "in": "query", "required": true, "description": "A row, from 0.",
        "schema": whole(0, u32::MAX)});
    let query_of_runs = |name: &str| {
        query_parameter(
            name,
            "A query over all runs: `tool:search_kb tokens>10k -name:test \"free text\"`.",
            json!({"type": "string", "maxLength": 1000}),
        )
    };
    let changed = of::<api::changes::Changed>(types);
    let words = RunStatus::ALL.map(RunStatus::as_str).join("|");
    let statuses = json!({"type": "string", "pattern": format!("^({words}|error)(,({words}|error))*$")});
    let statuses_of_table =
        json!({"type": "string", "pattern": format!("^(({words})(,({words})){{0,9}})?$")});
    let ids = json!({"type": "string", "pattern": "^(?!0{32})[0-9a-f]{32}(,(?!0{32})[0-9a-f]{32}){0,199}$"});
    vec![
        get(
            "/api/runs",
            "The metadata of the runs, newest first",
            vec![
                limit(10_000),
                query_parameter("cursor", "The `next` of the answer before.", id_text()),
                query_parameter("status", "Only runs with one of these.", statuses),
                query_parameter("q", "A part of the name, or all of it with `*` and `?`.", text()),
                query_of_runs("query"),
            ],
            of::<api::list::RunsAnswer<'_>>(types),
        ),
        get(
            "/api/runs/{run}",
            "The metadata of a run",
            vec![run_id()],
            of::<api::files::RunAnswer>(types),
        ),
        get(
            "/api/runs/{run}/spans",
            "The spans of a run and the records that they give",
            vec![
                run_id(),
                from("The first span, counted from 0 as they started."),
                limit(10_000),
            ],
            of::<api::files::SpansAnswer>(types),
        ),
        get(
            "/api/runs/{run}/paths",
            "Where the files of a run are",
            vec![run_id()],
            of::<api::files::PathsAnswer>(types),
        ),
        get(
            "/api/table",
            "The runs as the page lists them: all searched, filtered and sorted, a part at a time",
            vec![
                query_of_runs("q"),
                query_parameter("status", "Statuses, with commas between.", statuses_of_table),
                query_parameter(
                    "name",
                    "A part of the name or, with `*` or `?`, all of it.",
                    text(),
                ),
                query_parameter(
                    "since",
                    "An age or a date: `24h`, `2026-11-01`.",
                    json!({"type": "string", "pattern": SINCE}),
                ),
                query_parameter(
                    "sort",
                    "What the runs are sorted by; numbers from the largest to the smallest.",
                    json!({"type": "string", "enum": RunColumn::ALL.map(RunColumn::as_str)}),
                ),
                query_parameter("reverse", "The other way round.", json!({"type": "boolean"})),
                query_parameter(
                    "group",
                    "`thread` lists the runs of a session or conversation together.",
                    json!({"type": "string", "enum": ["thread"]}),
                ),
                from("The first of the runs that match, counted from 0."),
                limit(1000),
                query_parameter("ids", "Only these runs, with commas between.", ids),
            ],
            of::<api::table::RunTable>(types),
        ),
        get(
            "/api/stats",
            "Statistics over all runs, as a whole and by group, with the query of the runs behind each number",
            vec![
                query_of_runs("q"),
                query_parameter(
                    "by",
                    "What runs, or calls, are grouped by.",
                    json!({"type": "string", "enum": Grouping::ALL.map(Grouping::as_str)}),
                ),
                query_parameter(
                    "sort",
                    "What the groups are sorted by; numbers from the largest to the smallest.",
                    json!({"type": "string", "enum": StatsColumn::ALL.map(StatsColumn::as_str)}),
                ),
                query_parameter("reverse", "The other way round.", json!({"type": "boolean"})),
                query_parameter(
                    "trials",
                    "Also count the trials of gates.",
                    json!({"type": "boolean"}),
                ),
                from("The first group, counted from 0."),
                limit(1000),
            ],
            of::<api::stats::StatsAnswer>(types),
        ),
        get(
            "/api/runs/{run}/overview",
            "How a run went",
            vec![run_id()],
            of::<api::overview::Overview>(types),
        ),
        Operation {
            content_type: "application/octet-stream",
            ..get(
                "/api/runs/{run}/columns",
                "The rows of a run, all or the first ones, as columns of numbers",
                vec![run_id(), limit(u32::MAX)],
                json!({"type": "string", "format": "binary"}),
            )
        },
        get(
            "/api/runs/{run}/rows",
            "What some rows say",
            vec![run_id(), from("The first row."), limit(500)],
            of::<api::rows::Rows>(types),
        ),
        get(
            "/api/runs/{run}/steps",
            "Everything about the step in a row",
            vec![run_id(), row],
            of::<inspect::StepJson>(types),
        ),
        get(
            "/api/runs/{run}/steps/{event}",
            "Everything about a step",
            vec![run_id(), event_id()],
            of::<inspect::StepJson>(types),
        ),
        get(
            "/api/runs/{run}/steps/{event}/values/{part}",
            "A whole part of a step; `raw` is text",
            vec![
                run_id(),
                event_id(),
                path_parameter(
                    "part",
                    json!({"type": "string", "enum": inspect::StepPart::ALL.map(|(_, name)| name)}),
                ),
            ],
            json!({}),
        ),
        get(
            "/api/runs/{run}/transcript",
            "A run as a conversation",
            vec![run_id(), from("The first step, counted from 0."), limit(200)],
            of::<api::transcript::Transcript>(types),
        ),
        get(
            "/api/runs/{run}/states",
            "The states of the agent",
            vec![run_id(), from("The first state, counted from 0."), limit(200)],
            of::<api::states::States>(types),
        ),
        get(
            "/api/runs/{run}/search",
            "The rows that fit a query",
            vec![
                run_id(),
                query_parameter(
                    "q",
                    "`kind:tool name~search status:failed duration>1s \"any text\"`.",
                    json!({"type": "string", "maxLength": 1000}),
                ),
                query_parameter("after", "The `next` of the answer before.", whole(0, u64::MAX)),
                limit(10_000),
            ],
            of::<api::search::SearchAnswer>(types),
        ),
        get(
            "/api/diff",
            "In what two runs differ, or a run and a baseline",
            vec![
                json!({"name": "a", "in": "query", "required": true, "schema": id_text()}),
                query_parameter("b", "The run that is compared with `a`.", id_text()),
                query_parameter("baseline", "The baseline that `a` is compared with.", text()),
                from("The first pair of calls."),
                limit(2_000),
            ],
            of::<api::diff::DiffAnswer<'_>>(types),
        ),
        get(
            "/api/baselines",
            "The baselines of the project",
            Vec::new(),
            of::<api::baselines::Baselines>(types),
        ),
        Operation {
            content_type: "text/event-stream",
            ..get(
                "/api/stream",
                "What changes, as it changes",
                vec![
                    query_parameter(
                        "run",
                        "The run to watch; the table of runs when left out.",
                        id_text(),
                    ),
                    query_parameter(
                        "from",
                        "How far the log of the run was read, in bytes.",
                        whole(0, u64::MAX),
                    ),
                    query_parameter("table", "The version of the table that is known.", text()),
                ],
                text(),
            )
        },
        change(
            "patch",
            "/api/runs/{run}",
            "Give a run another name",
            changed.clone(),
            of::<api::changes::Rename>(types),
        ),
        change(
            "delete",
            "/api/runs/{run}",
            "Put a run into the trash, which is emptied when a viewer stops",
            changed.clone(),
            json!({}),
        ),
        change(
            "post",
            "/api/runs/{run}/restore",
            "Take a run out of the trash",
            changed,
            json!({}),
        ),
    ]
}

fn description() -> Value {
    let mut settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(tracer_insight::schema::plain_descriptions));
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut types = settings.into_generator();
    let error = types.subschema_for::<ErrorAnswer>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations(&mut types) {
        let mut documented = json!({
            "summary": operation.summary,
            "parameters": operation.parameters,
            "responses": {
                "200": {"description": "The answer", "content": {operation.content_type: {"schema": operation.schema}}},
                "4XX": {"description": "What is wrong", "content": {"application/json": {"schema": error}}},
            },
        });
        if operation.path.ends_with("{part}") {
            documented["responses"]["200"]["content"]["text/plain"] = json!({"schema": {"type": "string"}});
        }
        if let Some(body) = operation.body {
            documented["requestBody"] =
                json!({"required": true, "content": {"application/json": {"schema": body}}});
        }
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = documented;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "tracer view",
            "description": "The runs on this machine, as the viewer's page and local tools read them.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8712"}],
        "paths": paths,
        "components": {"schemas": types.take_definitions(true)},
    })
}

#[test]
fn the_description_is_that_of_the_types() {
    let text = serde_json::to_string_pretty(&description()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(FILE, &text).unwrap();
    }
    let checked_in = fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        checked_in.replace("\r\n", "\n") == text,
        "docs/openapi.json is not what the types say; rewrite it: \
         UPDATE_SCHEMAS=1 cargo test -p tracer-view --lib openapi"
    );
}

#[test]
fn every_path_of_the_api_is_described() {
    let described = description();
    for (path, _) in super::routes::api_routes() {
        assert!(described["paths"][path].is_object(), "{path}");
    }
}

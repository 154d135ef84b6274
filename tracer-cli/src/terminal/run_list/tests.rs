//! Lists at three widths, with and without colour, and as fields.

use tracer_sdk::prices::CostSum;

use super::*;
use crate::terminal::tests::at_widths;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// The run that is the first of two in a thread.
const FIRST_OF_THREAD: u128 = 0x6950_67a6;

fn row(
    id: u128,
    status: RunStatus,
    name: Option<&str>,
    started: &str,
    duration: Option<u64>,
    counts: [u64; 4],
) -> ListedRun {
    let [llm_calls, tool_calls, errors, loop_warnings] = counts;
    let folder = tempfile::tempdir().unwrap();
    let run = tracer_sdk::testing::capture(|| ());
    run.save(folder.path()).unwrap();
    let summary = &tracer_runs::RunStore::new(folder.path()).list().unwrap()[0];
    let mut run = ListedRun::of_summary(summary);
    if llm_calls > 0 {
        run.row.cost = Some(CostSum::default());
        run.row.steps = llm_calls + tool_calls;
        run.row.tokens.total_tokens = (llm_calls > 1).then_some(1_932);
        run.row.subtitle = name.map(|_| "\"ORD-1042: where is my refund?\"".to_owned());
    }
    run.directory.trace_id = TraceId::from_u128(id << 96 | 1).unwrap();
    run.status = status;
    run.row.name = name.map(str::to_owned);
    run.row.started_us = started.parse().ok().map(Timestamp::unix_microseconds);
    run.row.duration_us = duration;
    run.row.llm_calls = llm_calls;
    run.row.tool_calls = tool_calls;
    run.row.errors = errors;
    run.row.loop_warnings = loop_warnings;
    run
}

/// The table of runs, sorted by a column.
fn table_of(runs: &[ListedRun], sorted_by: RunColumn, width: usize) -> Vec<Line> {
    let thread = |run: &ListedRun| {
        let first = TraceId::from_u128(FIRST_OF_THREAD << 96 | 1);
        (Some(run.directory.trace_id) == first).then(|| "1/2 in chat-1".to_owned())
    };
    let row = |run| TableRun {
        run,
        thread: thread(run),
        not_run_calls: 0,
    };
    let rows: Vec<TableRun<'_>> = runs.iter().map(row).collect();
    table(&rows, &columns(sorted_by, false), 8, now(), width)
}

fn rows() -> Vec<ListedRun> {
    let long = "src/support/agent.rs:answer_the_ticket - 2026-11-21 11:12";
    let mut rows = vec![
        row(
            0xa6ab_180d,
            RunStatus::Running,
            Some("support-agent"),
            "2026-11-21T11:59:51.8Z",
            None,
            [2, 5, 0, 0],
        ),
        row(
            0x6950_67a6,
            RunStatus::Failed,
            Some("nested"),
            "2026-11-21T11:57:00Z",
            Some(8_100),
            [0, 2, 1, 0],
        ),
        row(
            0xbc51_9fdd,
            RunStatus::Looped,
            Some(long),
            "2026-11-21T11:12:00Z",
            Some(120_400),
            [1, 1_949, 0, 1],
        ),
        row(
            0x0cc0_0a25,
            RunStatus::Ok,
            None,
            "2026-11-20T11:12:00Z",
            Some(4_500_000_000),
            [1, 2, 0, 0],
        ),
        row(
            0x1cc0_0a25,
            RunStatus::Interrupted,
            Some("a\tb\x1b[2Jc\nd"),
            "2026-01-01T00:00:00Z",
            None,
            [0, 0, 0, 0],
        ),
        row(0x2cc0_0a25, RunStatus::Damaged, None, "", None, [0; 4]),
    ];
    rows[5].row.problem = Some("meta.json: is not JSON (malformed_json)".to_owned());
    rows
}

#[test]
fn a_number_that_no_column_has_is_the_last_one_where_runs_are_sorted_by_it() {
    let mut rows = rows();
    rows.truncate(2);
    (rows[0].row.retries, rows[1].row.retries) = (12, 3);
    let lines = table_of(&rows, RunColumn::Retries, 80);
    let lines: Vec<String> = lines.iter().map(Line::text).collect();
    assert!(lines[0].contains("RETRIES  RUN"), "{lines:#?}");
    assert!(
        lines[1].contains("     12  ") && lines[2].contains("      3  "),
        "{lines:#?}"
    );
}

#[test]
fn a_list_of_every_status() {
    let statuses: BTreeMap<RunStatus, usize> = rows().iter().map(|row| (row.status, 1)).collect();
    insta::assert_snapshot!(at_widths(|width| {
        let mut lines = heading("~/.tracer/runs", 6, &statuses, width);
        lines.extend(table_of(&rows(), RunColumn::Started, width));
        lines
    }));
}

#[test]
fn fields_are_whole_and_keep_to_their_line() {
    let columns = RunColumn::OF_LINE;
    let names = fields(&columns, RunColumn::key);
    let line = |run: &ListedRun| fields(&columns, |column| column.field(run));
    let lines: Vec<String> = rows().iter().map(line).collect();
    for line in &lines {
        assert_eq!(line.split('\t').count(), columns.len(), "{line}");
        assert!(!line.contains(['\n', '\x1b']));
    }
    insta::assert_snapshot!(format!("{names}\n{}", lines.join("\n")));
}

#[test]
fn the_heading_counts_what_is_not_shown() {
    let statuses = BTreeMap::from([(RunStatus::Ok, 2), (RunStatus::Failed, 1)]);
    assert_eq!(
        heading("runs", 2, &statuses, 80)[0].text(),
        "runs   2 of 3 runs   ✗ 1 failed  ✓ 2 ok"
    );
    let narrow = heading("runs", 2, &statuses, 30);
    let narrow: Vec<String> = narrow.iter().map(Line::text).collect();
    assert_eq!(narrow, ["runs   2 of 3 runs", "   ✗ 1 failed  ✓ 2 ok"]);
}

#[test]
fn ids_are_as_long_as_needed_to_differ() {
    let id = |text: &str| text.parse::<TraceId>().unwrap();
    let (first, second) = (
        id("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1"),
        id("aaaaaaaaab000000000000000000000f"),
    );
    assert_eq!(id_length([first]), 8);
    assert_eq!(id_length([second, first]), 10);
    assert_eq!(id_length([first, first]), 8);
    assert_eq!(short_id(first, [first, second]), "aaaaaaaaaa");
    assert_eq!(short_id(first, []), "aaaaaaaa");
    assert_eq!(id_length([first, id("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2")]), 32);
}

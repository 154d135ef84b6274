//! The group `cli_exit_code` of the vectors: every call in order, in one workspace with one data directory, and each
//! difference from the existing gate named.

use std::fs;
use std::process::Output;

use tracer_insight::testing::{Vector, measured};

use super::workshop::Workshop;

/// What a call answers with.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Answer {
    exit: i64,
    writes_stdout: bool,
    writes_stderr: bool,
}

/// Bad usage or bad input: an error, and no data.
const REFUSED: Answer = Answer {
    exit: 2,
    writes_stdout: false,
    writes_stderr: true,
};

/// Data, and talk beside it.
const fn reported(exit: i64) -> Answer {
    Answer {
        exit,
        writes_stdout: true,
        writes_stderr: true,
    }
}

const TALK: &str =
    "decisions, section 11: talk goes to standard error (progress, the commands to go on with)";
const NOTHING_TO_CHECK: &str = "gate, *Refusals*: a gate with nothing to check is an error, never a pass";
const BAD_POLICY: &str = "gate, *Commands*: a bad policy is always 2";
const NO_SUCH_COMMAND: &str = "gate, *Commands*, names the commands, and this is none of them";

/// Where a call does otherwise than in the existing gate: its row, what it does here, and why.
const DIFFERENCES: &[(&str, Answer, &str)] = &[
    (
        "list: no runs",
        REFUSED,
        "decisions, section 11: nothing found is 2, and a data directory that is not there is that; an empty one lists",
    ),
    ("run: pass", REFUSED, NOTHING_TO_CHECK),
    ("run: limit fail", reported(1), TALK),
    ("run: agent killed by signal", REFUSED, NOTHING_TO_CHECK),
    ("run: no trace", REFUSED, NOTHING_TO_CHECK),
    ("run: inconclusive", reported(0), TALK),
    ("run: policy missing", REFUSED, BAD_POLICY),
    ("run: json-out in new dir", REFUSED, NOTHING_TO_CHECK),
    ("assert: bad policy path", REFUSED, BAD_POLICY),
    (
        "assert: fail",
        REFUSED,
        "architecture, Out: the rule flags are gone, the policy says what is demanded",
    ),
    (
        "assert: bad format falls back",
        REFUSED,
        "decisions, section 11: bad usage is 2 (gate, *Comparison*)",
    ),
    ("drift: pass", REFUSED, NO_SUCH_COMMAND),
    ("extract: ok", REFUSED, NO_SUCH_COMMAND),
    ("init", reported(0), TALK),
    ("demo", reported(0), TALK),
    ("demo --regression", reported(0), TALK),
];

/// The same calls with something to check, where a row has nothing: what each does then, and why that differs.
const WITH_SOMETHING_TO_CHECK: &[(&str, Answer, &str)] = &[
    ("run: pass", reported(0), TALK),
    ("run: agent killed by signal", reported(1), TALK),
    (
        "run: no trace",
        reported(1),
        "gate, *Evidence*: the trial failed, and that is no internal error",
    ),
    (
        "run: script missing",
        REFUSED,
        "no difference, and now for the reason that the row means",
    ),
    ("run: json-out in new dir", reported(0), TALK),
];
const SOMETHING_TO_CHECK: [&str; 2] = ["--policy", "any.yaml"];

/// What the rows name and this program does not have: it is refused as usage, not for another reason.
const NOT_BUILT: &[&str] = &["drift", "extract", "--plan", "diff --policy"];

struct Row {
    name: String,
    arguments: Vec<String>,
    expected: Answer,
}

impl Row {
    /// Whether each of these words is an argument.
    fn has(&self, words: &str) -> bool {
        words
            .split(' ')
            .all(|word| self.arguments.iter().any(|argument| argument == word))
    }
}

fn rows() -> Vec<Row> {
    let row = |vector: Vector| {
        let arguments = vector.input["args"].as_array().unwrap().iter();
        let expected = &vector.expected;
        Row {
            name: vector.name,
            arguments: arguments.map(|text| text.as_str().unwrap().to_owned()).collect(),
            expected: Answer {
                exit: expected["exit"].as_i64().unwrap(),
                writes_stdout: expected["writes_stdout"].as_bool().unwrap(),
                writes_stderr: expected["writes_stderr"].as_bool().unwrap(),
            },
        }
    };
    measured("cli_exit_code").into_iter().map(row).collect()
}

/// The files that the rows name.
fn workshop() -> Workshop {
    const ONE_CALL: &str = r#""$TRACED" join 1"#;
    let workshop = Workshop::new(ONE_CALL);
    let agent = |name: &str, commands: &str| {
        workshop.write(name, &format!("#!/bin/sh\n{commands}\n"), 0o755);
    };
    agent("ok.sh", ONE_CALL);
    agent("kill.sh", &format!("{ONE_CALL}\nkill -KILL $$"));
    agent("none.sh", "exit 0");
    let policy = |name: &str, trials: u32, metric: &str| {
        let text = format!("version: 2\ntrials: {trials}\nmetrics: {{{metric}}}\n");
        workshop.write(name, &text, 0o644);
    };
    let steps = |bound: &str| format!("step_count: {{kind: measured, direction: upper, {bound}}}");
    policy("p.yaml", 1, &steps("limit: 0"));
    policy("tol.yaml", 1, &steps("tolerance: {relative: 0.5}"));
    policy("any.yaml", 3, &steps("limit: 9"));
    // That six of six succeed shows neither that few enough do nor that too many do.
    let rate = "task_pass_rate: {kind: statistical, direction: both, threshold: {lower: 0.2, upper: 0.8}}";
    policy("inc.yaml", 6, rate);
    fs::create_dir(workshop.workspace().join("w")).unwrap();
    workshop
}

/// What must be there when a row is called.
fn prepare(row: &Row, workshop: &Workshop) {
    match row.name.as_str() {
        "assert: pass" => {
            record(workshop, "1");
            call(
                workshop,
                &["baseline", "--from-report", "new/dir/r.json", "--out", "b.json"],
            );
            call(workshop, &["baseline", "--out", "b1.json"]);
        }
        "diff: changed runs" => record(workshop, "2"),
        "validate-trace: invalid" => {
            workshop.write("w/meta.json", "{}", 0o644);
            workshop.write("w/spans.jsonl", "{}", 0o644);
        }
        _ => {}
    }
}

/// Records a run with this many calls.
fn record(workshop: &Workshop, calls: &str) {
    let status = workshop.traced().args(["join", calls]).status().unwrap();
    assert!(status.success(), "{status}");
}

fn call(workshop: &Workshop, arguments: &[&str]) {
    let output = workshop.tracer().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// The call of a row in this program's words, with more options.
fn called(row: &Row, options: &[&str], workshop: &Workshop) -> Output {
    let mut command = workshop.tracer();
    match row.arguments.as_slice() {
        [run, agent, rest @ ..] if run == "run" => {
            let agent = format!("./{}", agent.replace(".py", ".sh"));
            command.arg(run).args(options).args(rest).args(["--", &agent]);
        }
        [validate, run] if run.starts_with("runs/") => {
            let newest = workshop.runs().remove(0);
            command.arg(validate).arg(newest.directory.path);
        }
        arguments => {
            command.args(arguments);
        }
    }
    command.output().unwrap()
}

fn answer(output: &Output) -> Answer {
    Answer {
        exit: output.status.code().unwrap().into(),
        writes_stdout: !output.stdout.is_empty(),
        writes_stderr: !output.stderr.is_empty(),
    }
}

fn named(differences: &'static [(&str, Answer, &str)], row: &Row) -> Option<(Answer, &'static str)> {
    let difference = differences.iter().find(|(name, ..)| *name == row.name);
    difference.map(|(_, answer, reason)| (*answer, *reason))
}

#[test]
fn every_call_does_what_the_contract_has_or_what_is_named() {
    let workshop = workshop();
    for row in rows() {
        prepare(&row, &workshop);
        let output = called(&row, &[], &workshop);
        let difference = named(DIFFERENCES, &row);
        if let Some((answer, reason)) = difference {
            assert_ne!(answer, row.expected, "{} does not differ: {reason}", row.name);
        }
        let expected = difference.map_or(row.expected, |(answer, _)| answer);
        assert_eq!(answer(&output), expected, "{}: {output:?}", row.name);
        if NOT_BUILT.iter().any(|words| row.has(words)) {
            let said = String::from_utf8_lossy(&output.stderr);
            let is_usage = said.contains("unrecognized subcommand") || said.contains("unexpected argument");
            assert!(is_usage, "{}: {said}", row.name);
        }
        if let Some((expected, _)) = named(WITH_SOMETHING_TO_CHECK, &row) {
            let output = called(&row, &SOMETHING_TO_CHECK, &workshop);
            assert_eq!(
                answer(&output),
                expected,
                "{} with something to check: {output:?}",
                row.name
            );
        }
    }
}

#[test]
fn every_difference_names_a_row() {
    let rows = rows();
    for (name, ..) in DIFFERENCES.iter().chain(WITH_SOMETHING_TO_CHECK) {
        assert!(rows.iter().any(|row| row.name == *name), "{name}");
    }
    for words in NOT_BUILT {
        assert!(rows.iter().any(|row| row.has(words)), "{words}");
    }
}

//! `kill -9` at any point: no acknowledged span is lost, and no torn line is read (reliability G2, G3, G5).
//!
//! `TRACER_TEST_KILLS` says how many programs are killed.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tracer_runs::maintenance;
use tracer_runs::{Liveness, LoadedRun, probe_liveness, validate};
use tracer_sdk::format::{RecordedStatus, SpanRecord};
use tracer_tests::{DataDir, Program, kills, wait_until};

use super::TRACED;

/// How many programs are killed by default.
const KILLS: u64 = 50;

#[test]
fn kills_lose_no_acknowledged_span() {
    let mut acknowledged = 0;
    let count = u32::try_from(kills(KILLS)).unwrap();
    for kill in 0..count {
        acknowledged += kill_once(kill);
    }
    assert!(
        acknowledged > u64::from(count),
        "the programs got to record something"
    );
}

/// Starts a program on one, two or eight threads, kills it soon, and looks at what is left. Tells how many records the
/// program was promised to be safe.
fn kill_once(kill: u32) -> u64 {
    let data = DataDir::new();
    let threads = ["1", "2", "8"][kill as usize % 3];
    let mut child = Program::new(TRACED, &data).args(["acknowledge", threads]).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("0 0"), "the run has started");
    // From at once to some way into a later record: the pattern of both numbers does not repeat within 200 kills.
    let mut acknowledged: Vec<String> = lines.by_ref().take(kill as usize % 29).collect();
    let pause = Duration::from_micros(u64::from(kill % 13) * 37);
    let start = Instant::now();
    while start.elapsed() < pause {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What the pipe still holds was acknowledged too; its last line may be cut.
    acknowledged
        .extend(lines.filter(|line| line.split_once(' ').is_some_and(|(_, number)| !number.is_empty())));

    let directory = data.run_dirs().remove(0);
    wait_until("interrupted", || {
        probe_liveness(&directory, RecordedStatus::Running) == Liveness::Interrupted
    });
    let recorded: HashSet<String> = match LoadedRun::read(&directory) {
        Ok(run) => {
            // The kernel may stop a large write half-way; what it took is a tail that readers leave out, and nobody was
            // promised that it is safe.
            assert_eq!(run.meta.status, RecordedStatus::Running, "kill {kill}");
            run.spans.into_iter().map(acknowledged_as).collect()
        }
        // Nothing was recorded yet.
        Err(invalid) => {
            assert!(acknowledged.is_empty(), "kill {kill}: {invalid:#?}");
            HashSet::new()
        }
    };
    for record in &acknowledged {
        assert!(
            recorded.contains(record),
            "kill {kill}: {record} was acknowledged and is lost"
        );
    }
    is_repaired(&directory, &recorded, kill);
    acknowledged.len() as u64
}

/// Repairing what a kill left gives a valid run that has everything that was recorded.
fn is_repaired(directory: &Path, recorded: &HashSet<String>, kill: u32) {
    maintenance::repair(directory).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
    let report = validate(directory);
    assert_eq!(
        (report.problems, report.warnings),
        (vec![], vec![]),
        "kill {kill}"
    );
    assert_eq!(report.status, Some(RecordedStatus::Error), "kill {kill}");
    let run = LoadedRun::read(directory).unwrap();
    let kept: HashSet<String> = run.spans.into_iter().map(acknowledged_as).collect();
    assert!(kept.is_superset(recorded), "kill {kill}: the repair lost spans");
}

/// The name under which the program acknowledged a span.
fn acknowledged_as(span: SpanRecord) -> String {
    let meta = span.attributes.get("tracer.meta").and_then(Value::as_str);
    let meta = meta.and_then(|meta| serde_json::from_str::<Value>(meta).ok());
    meta.and_then(|meta| meta["name"].as_str().map(str::to_owned))
        .unwrap_or(span.name)
}

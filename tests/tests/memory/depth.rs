//! A deeply nested run costs its readers no more than a wide one: bytes written and memory taken are counted, for shapes of
//! the same number of spans, and for twice as many.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use allocation_counter::measure;
use serde_json::json;
use tracer_export::folded::{self, Weight};
use tracer_runs::{RunReader, Strictness, validate};
use tracer_tests::{DataDir, Program};

const RUN: &str = "10000000000000000000000000000001";

/// How the spans of a run hang together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// All below the root.
    Star,
    /// Each below the one before.
    Chain,
    /// A chain of the first half, and the others below its end.
    Broom,
    /// A chain in which every second span has a leaf.
    Comb,
    /// A chain in which all have one name.
    Recursion,
}

const DEEP: [Shape; 4] = [Shape::Chain, Shape::Broom, Shape::Comb, Shape::Recursion];

impl Shape {
    fn parent(self, number: usize, count: usize) -> Option<usize> {
        let before = number.checked_sub(1)?;
        Some(match self {
            Self::Star => 0,
            Self::Broom => before.min(count / 2),
            Self::Comb if number.is_multiple_of(2) => before.saturating_sub(1),
            Self::Chain | Self::Recursion | Self::Comb => before,
        })
    }

    /// Writes a run of this many spans.
    fn write(self, count: usize) -> (DataDir, PathBuf) {
        let data = DataDir::new();
        let directory = data.path().join("runs").join(RUN);
        fs::create_dir_all(&directory).unwrap();
        let time = |microsecond: usize| format!("2026-01-01T00:00:00.{microsecond:06}Z");
        let end = 4 * count;
        let mut log = Vec::new();
        for number in (0..count).rev() {
            // A leaf lies before the end of its parent, whatever the shape.
            let (start, end) = match self {
                Self::Star | Self::Broom
                    if number > 0 && self.parent(number, count) != number.checked_sub(1) =>
                {
                    (number, number + 1)
                }
                _ => (number, end - number),
            };
            let name = match self {
                Self::Recursion => "span".to_owned(),
                _ => format!("span-{number:05}"),
            };
            let parent = self
                .parent(number, count)
                .map(|parent| format!("{:016x}", parent + 1));
            let span = json!({
                "trace_id": RUN, "span_id": format!("{:016x}", number + 1), "parent_span_id": parent, "name": name,
                "kind": "INTERNAL", "start_time": time(start), "end_time": time(end), "duration_ms": 0,
                "attributes": {}, "events": [], "status_code": "OK", "status_description": "",
            });
            writeln!(log, "{span}").unwrap();
        }
        fs::write(directory.join("spans.jsonl"), log).unwrap();
        let meta = json!({
            "spec_version": "0.2.0", "trace_id": RUN, "run_name": "deep", "started_at": time(0),
            "ended_at": time(end), "duration_ms": 0, "status": "ok",
            "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0},
        });
        fs::write(directory.join("meta.json"), meta.to_string()).unwrap();
        (data, directory)
    }
}

/// Every way to put a whole run out.
fn surfaces() -> Vec<Vec<&'static str>> {
    let formats = ["envelope", "ndjson", "otlp-json", "chrome", "folded", "html"];
    let exports = formats.map(|format| vec!["export", RUN, "--out", "-", "--format", format]);
    let others = [
        vec!["show", RUN, "--all"],
        vec!["show", RUN, "--waterfall", "--all"],
        vec!["show", RUN, "--transcript", "--all"],
        vec!["show", RUN, "--json"],
    ];
    exports.into_iter().chain(others).collect()
}

fn written(data: &DataDir, arguments: &[&str]) -> usize {
    let program = Program::new(env!("CARGO_BIN_EXE_tracer_under_test"), data);
    let output = program.args(arguments.iter().copied()).output();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    output.stdout.len()
}

#[test]
fn deep_runs_are_written_as_short_as_wide_ones() {
    const COUNT: usize = 1_500;
    let (wide, _) = Shape::Star.write(COUNT);
    for arguments in surfaces() {
        let of_wide = written(&wide, &arguments);
        // A line has a longest indentation, and a stack a greatest depth.
        let allowed = 3 * of_wide + 512 * 1024;
        for shape in DEEP {
            // A broom's every line is as deep as a line may be: it is linear, which the next test shows.
            if shape == Shape::Broom && arguments.contains(&"folded") {
                continue;
            }
            let (deep, _) = shape.write(COUNT);
            let of_deep = written(&deep, &arguments);
            assert!(
                of_deep <= allowed,
                "{shape:?} {arguments:?}: {of_deep} bytes, a star {of_wide}"
            );
        }
    }
}

/// What `work` takes of memory: in all, and at once.
fn taken<T>(work: impl FnOnce() -> T) -> [u64; 2] {
    let info = measure(|| drop(work()));
    [info.bytes_total, info.bytes_max]
}

fn fold(directory: &Path) -> usize {
    let spans = RunReader::open(directory, Strictness::Strict)
        .unwrap()
        .records
        .into_spans();
    let mut written = Vec::new();
    folded::write(folded::frames(Weight::Time, &spans).unwrap(), &mut written).unwrap();
    written.len()
}

#[test]
fn reading_memory_is_linear_in_spans() {
    type Work = fn(&Path) -> [u64; 2];
    // Twice as many spans still are one block of the file, which one thread reads: memory is counted for this one.
    const COUNT: usize = 380;
    let works: [(&str, Work); 4] = [
        ("validate", |directory| taken(|| validate(directory))),
        ("outline", |directory| {
            taken(|| RunReader::open(directory, Strictness::Lenient))
        }),
        ("stream", |directory| {
            taken(|| RunReader::open(directory, Strictness::Strict))
        }),
        ("fold", |directory| {
            taken(|| {
                let spans = RunReader::open(directory, Strictness::Strict)
                    .unwrap()
                    .records
                    .into_spans();
                folded::write(
                    folded::frames(Weight::Time, &spans).unwrap(),
                    &mut std::io::sink(),
                )
                .unwrap();
            })
        }),
    ];
    let (_wide, wide) = Shape::Star.write(COUNT);
    for shape in DEEP {
        let (_one, one) = shape.write(COUNT);
        let (_two, two) = shape.write(2 * COUNT);
        for (name, work) in works {
            for ((of_wide, of_one), of_two) in work(&wide).into_iter().zip(work(&one)).zip(work(&two)) {
                // Tables grow by doubling.
                assert!(
                    of_one <= 2 * of_wide + 64 * 1024,
                    "{shape:?} {name}: {of_one}, a star {of_wide}"
                );
                assert!(
                    of_two <= 3 * of_one + 64 * 1024,
                    "{shape:?} {name}: {of_two} after {of_one}"
                );
            }
        }
        let (folded_one, folded_two) = (fold(&one), fold(&two));
        assert!(
            folded_two <= 3 * folded_one + 64 * 1024,
            "{shape:?}: {folded_two} after {folded_one}"
        );
    }
}

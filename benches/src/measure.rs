//! Takes the measurements: every contestant in every round, one after the other, so that noise hits all alike.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::allocations;
use crate::contestants::{ALL, BenchSession, Contestant, ContestantKind};
use crate::lines;
use crate::work::SpanWork;

/// How much is measured, and where.
#[derive(Debug)]
pub struct EmitPlan {
    pub rounds: usize,
    /// Spans of one turn, all threads together.
    pub spans: usize,
    /// Spans of the long turn that shows losses and allocations.
    pub burst: usize,
    pub threads: Vec<usize>,
    pub works: Vec<SpanWork>,
    /// Contestants whose names hold this word, besides the bare write.
    pub only: Option<String>,
    /// The files of all contestants are written under this directory, and removed again.
    pub directory: PathBuf,
}

/// Contestants that do nothing are too fast for one turn of the others.
const IDLE_FACTOR: usize = 100;
/// Spans that each thread records before the clock starts: files are open and buffers have grown.
const WARM_UP: usize = 64;

/// What was measured of one contestant at one work with one number of threads.
#[derive(Debug)]
pub struct Series {
    pub contestant: &'static Contestant,
    pub work: SpanWork,
    pub threads: usize,
    /// Nanoseconds per span until all spans are in the file, round by round.
    pub whole: Vec<f64>,
    /// Nanoseconds per span until the recording calls have returned, round by round.
    pub calls: Vec<f64>,
    /// Nanoseconds of processor time per span, of all threads together, those in the background included.
    pub processor: Vec<f64>,
    pub burst: Burst,
}

/// What one long turn shows, which is not timed: one thread records without a pause.
#[derive(Debug, Clone, Copy)]
pub struct Burst {
    pub recorded: u64,
    pub written: u64,
    pub bytes: u64,
    /// Allocations per span.
    pub allocations: f64,
}

impl std::fmt::Debug for Contestant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Measures everything in the plan.
pub fn measure(plan: &EmitPlan) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for &work in &plan.works {
        let bursts: HashMap<_, _> = contestants(plan)
            .map(|contestant| (contestant.name, burst(plan, contestant, work)))
            .collect();
        for &threads in &plan.threads {
            for contestant in contestants(plan) {
                all.push(Series {
                    contestant,
                    work,
                    threads,
                    whole: Vec::new(),
                    calls: Vec::new(),
                    processor: Vec::new(),
                    burst: bursts[contestant.name],
                });
            }
        }
    }
    for round in 0..plan.rounds {
        eprint!("\rround {} of {}", round + 1, plan.rounds);
        for series in &mut all {
            turn(plan, series);
        }
    }
    eprintln!();
    all
}

fn contestants(plan: &EmitPlan) -> impl Iterator<Item = &'static Contestant> {
    let is_wanted = |name: &str| plan.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    ALL.iter()
        .enumerate()
        .filter(move |(position, contestant)| *position == 0 || is_wanted(contestant.name))
        .map(|(_, contestant)| contestant)
}

fn turn(plan: &EmitPlan, series: &mut Series) {
    let directory = fresh_directory(&plan.directory);
    let session = (series.contestant.open)(directory.path(), series.work);
    let spans_per_thread = spans(plan, series.contestant) / series.threads;
    let BenchSession { record, flush } = session;
    let (calls, processor_before) = run_threads(record.as_ref(), series.threads, spans_per_thread);
    drop(record);
    let start = Instant::now();
    let open = flush();
    let whole = calls + start.elapsed();
    let processor = processor_before.elapsed();
    drop(open);

    let recorded = spans_per_thread * series.threads;
    let per_span = |duration: Duration| duration.as_nanos() as f64 / recorded as f64;
    series.whole.push(per_span(whole));
    series.calls.push(per_span(calls));
    series.processor.push(per_span(processor));
}

/// Records on this many threads at once: how long it took from the first start to the last end, and how much processor
/// time the process had used before.
fn run_threads(record: &(dyn Fn(usize) + Sync), threads: usize, spans: usize) -> (Duration, ProcessTime) {
    let ready = Barrier::new(threads);
    let one_thread = || {
        record(WARM_UP);
        ready.wait();
        let processor = ProcessTime::now();
        let start = Instant::now();
        record(spans);
        (start, Instant::now(), processor)
    };
    let times: Vec<(Instant, Instant, ProcessTime)> = if threads == 1 {
        vec![one_thread()]
    } else {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one_thread)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("no contestant panics"))
                .collect()
        })
    };
    let first = times
        .iter()
        .min_by_key(|(start, _, _)| *start)
        .expect("there is a thread");
    let last = times
        .iter()
        .map(|(_, end, _)| *end)
        .max()
        .expect("there is a thread");
    (last - first.0, first.2)
}

fn burst(plan: &EmitPlan, contestant: &Contestant, work: SpanWork) -> Burst {
    let directory = fresh_directory(&plan.directory);
    let session = (contestant.open)(directory.path(), work);
    (session.record)(WARM_UP);
    let allocations = allocations::during(move || {
        (session.record)(plan.burst);
        drop(session.record);
        drop((session.flush)());
    });
    let found = lines::count(directory.path(), work);
    Burst {
        recorded: (WARM_UP + plan.burst) as u64,
        written: found.spans,
        bytes: found.bytes,
        allocations: allocations as f64 / plan.burst as f64,
    }
}

fn spans(plan: &EmitPlan, contestant: &Contestant) -> usize {
    if contestant.kind == ContestantKind::Idle {
        plan.spans * IDLE_FACTOR
    } else {
        plan.spans
    }
}

fn fresh_directory(parent: &Path) -> tempfile::TempDir {
    tempfile::tempdir_in(parent).expect("the directory can be written")
}

//! What a stream answers is what is answered with all runs in memory, wherever the runs are.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Condvar;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tracer_insight::units::now;
use tracer_runs::RunDirectory;

use super::*;
use crate::mirror::{FetchError, FetchRuns, MirrorLine, RunLease, StoreMirror};
use crate::selection::matching_runs;
use crate::stats::{Grouping, StatsSink, stats};
use crate::test_support::{SampleRun, SampleSpan, Sandbox, id};
use crate::{FactsSnapshot, FactsStore, SnapshotLook, StoreFacts};

/// A machine that reads a bucket, whose runs are in a folder.
struct Machine {
    here: Sandbox,
    bucket: Sandbox,
    mirror: tempfile::TempDir,
    fetcher: Arc<Fetcher>,
}

/// Gives the runs of the folder.
#[derive(Debug, Default)]
struct Fetcher {
    folder: std::path::PathBuf,
    /// Runs that have changed here since they were sent.
    changed: BTreeSet<TraceId>,
    /// How many are fetched at the same time before the first one is there.
    at_once: usize,
    fetching: Mutex<(usize, usize)>,
    arrived: Condvar,
    fetched: AtomicUsize,
}

impl FetchRuns for Fetcher {
    fn fetch(&self, run: TraceId, _: u64) -> Result<RunLease, FetchError> {
        self.fetched.fetch_add(1, Ordering::SeqCst);
        let mut fetching = self.fetching.lock().unwrap();
        fetching.0 += 1;
        fetching.1 = fetching.1.max(fetching.0);
        self.arrived.notify_all();
        let is_alone = |fetching: &mut (usize, usize)| fetching.1 < self.at_once;
        let waited = self
            .arrived
            .wait_timeout_while(fetching, Duration::from_secs(20), is_alone);
        let (mut fetching, _) = waited.unwrap();
        fetching.0 -= 1;
        drop(fetching);
        let path = self.folder.join("runs").join(run.to_string());
        Ok(RunLease::new(RunDirectory { trace_id: run, path }, ()))
    }

    fn has_changed_here(&self, directory: &RunDirectory) -> bool {
        self.changed.contains(&directory.trace_id)
    }
}

fn trace_id(number: u32) -> TraceId {
    id(number).parse().unwrap()
}

impl Machine {
    /// `changed` are runs that have changed here since they were sent.
    fn new(changed: &[u32], at_once: usize) -> Self {
        let bucket = Sandbox::new();
        let fetcher = Fetcher {
            folder: bucket.path().to_owned(),
            changed: changed.iter().map(|number| trace_id(*number)).collect(),
            at_once,
            ..Fetcher::default()
        };
        Self {
            here: Sandbox::new(),
            bucket,
            mirror: tempfile::tempdir().unwrap(),
            fetcher: Arc::new(fetcher),
        }
    }

    fn mirror(&self) -> StoreMirror {
        StoreMirror::new(self.mirror.path(), "s3://team/agents")
    }

    /// Sends a run.
    fn send(&self, run: &SampleRun) {
        self.bucket.write(run);
        let directory = RunDirectory {
            trace_id: trace_id(run.number),
            path: self.bucket.directory(run.number),
        };
        let sent = FactsStore::read([directory]).pop().unwrap();
        let line = json!({
            "version": 1, "trace_id": id(run.number), "generation": 1,
            "facts": sent.facts, "details": sent.details, "meta": run.meta(),
        });
        self.apply(&line);
    }

    fn remove(&self, number: u32) {
        self.apply(&json!({"version": 1, "trace_id": id(number), "generation": 2, "removed": true}));
    }

    fn apply(&self, line: &serde_json::Value) {
        let mut writer = self.mirror().writer().unwrap();
        let line = MirrorLine::parse(line.to_string().as_bytes()).unwrap();
        writer.apply(&[line], "date=2026-01-01").unwrap();
        writer.commit().unwrap();
    }

    fn store(&self) -> FactsStore {
        let team = TeamStore::new(self.mirror(), Arc::clone(&self.fetcher) as Arc<dyn FetchRuns>);
        FactsStore::new(self.here.path()).with_team(Arc::new(team))
    }

    fn stream(&self) -> RunStream {
        let survey = self.store().survey(true).unwrap();
        survey.stream(&CancelToken::default(), |_| ()).unwrap()
    }

    /// Does something while the mirror cannot be opened.
    fn without_mirror<T>(&self, work: impl FnOnce() -> T) -> T {
        let files = fs::read_dir(self.mirror.path().join("cache")).unwrap();
        let mut databases = files.map(|entry| entry.unwrap().path());
        let database = databases
            .find(|file| file.extension().is_some_and(|ending| ending == "sqlite"))
            .unwrap();
        let aside = database.with_extension("aside");
        fs::rename(&database, &aside).unwrap();
        fs::create_dir(&database).unwrap();
        let done = work();
        fs::remove_dir(&database).unwrap();
        fs::rename(&aside, &database).unwrap();
        done
    }
}

/// A run of many kinds, by its number.
fn run(number: u32) -> SampleRun {
    let text = ["refund", "shipping", "a refund"][number as usize % 3];
    let mut run = SampleRun::new(number, ["support", "nightly"][number as usize % 2])
        .span(SampleSpan::model(1, "gpt-5", text, "answer").taking(number * 7 % 400))
        .attribute("tracer.tag.commit", ["aaa", "bbb", "ccc"][number as usize % 3]);
    if number.is_multiple_of(2) {
        let arguments = json!({ "query": text });
        run = run.span(SampleSpan::tool(2, "search_kb", &arguments, &json!({})));
    }
    if number % 4 == 1 {
        run = run.failed("Timeout", "late");
    }
    if !number.is_multiple_of(3) {
        run = run.attribute("gen_ai.conversation.id", &format!("chat-{}", number % 2));
    }
    // Some start at the same instant.
    run.second = number / 2;
    run
}

const QUERIES: [&str; 6] = [
    "",
    "status:failed",
    "tool:search_kb tokens>100",
    "name:support -status:failed",
    "args~refund",
    "cost>0 error:Timeout",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_answers_as_all_runs_do(
        kinds in prop::collection::vec(0_u8..6, 0..24),
        query in prop::sample::select(QUERIES.to_vec()),
        order in prop::sample::select(RunColumn::ALL.to_vec()),
        by in prop::sample::select(Grouping::ALL.to_vec()),
        limit in 1_usize..12,
        is_reversed in any::<bool>(),
    ) {
        let numbers = || (1_u32..).zip(&kinds);
        let changed: Vec<u32> = numbers().filter(|(_, kind)| **kind == 3).map(|(number, _)| number).collect();
        let machine = Machine::new(&changed, 0);
        for (number, kind) in numbers() {
            // Here alone, there alone, both the same, both and changed here, removed there, removed there and here.
            if *kind != 0 {
                machine.send(&run(number));
            }
            if *kind != 1 && *kind != 4 {
                let there = run(number);
                machine.here.write(&if *kind == 3 { there.failed("Changed", "since") } else { there });
            }
            if *kind >= 4 {
                machine.remove(number);
            }
        }
        let StoreFacts { runs, .. } = machine.store().all(true).unwrap();
        prop_assert_eq!(runs.len(), kinds.iter().filter(|kind| **kind != 4).count());
        let query: RunQuery = query.parse().unwrap();
        let (now, cancel) = (now(), CancelToken::default());
        let matching = matching_runs(&runs, &query, now, &cancel, |_| ());
        let passing: Vec<&ListedRun> = runs.iter().zip(&matching).filter(|(_, is)| **is).map(|(run, _)| run).collect();
        let choice = RunChoice { query: &query, now, with_trials: true, also: &|_| true };

        let mut stream = machine.stream();
        let mut expected = passing.clone();
        order.sort(&mut expected, is_reversed, now);
        let begin = || LeadingRuns::new(limit, order, is_reversed, now);
        let first = stream.fold(&choice, begin, &cancel, |_| ()).unwrap();
        prop_assert_eq!(first.count(), passing.len());
        let first = first.finish();
        let expected: Vec<ListedRun> = expected.into_iter().take(limit).cloned().collect();
        prop_assert_eq!(&first, &expected);

        let stream = machine.stream();
        let all = RunThreads::of(&runs);
        let places = stream.threads(&first, true).unwrap();
        for run in &first {
            prop_assert_eq!(places.place(run), all.place(run));
        }
        let newest = stream.newest(limit, true).unwrap();
        let mut expected: Vec<ListedRun> = runs.iter().take(limit).cloned().collect();
        // They are looked up by who shows them.
        for run in &mut expected {
            run.details = None;
        }
        prop_assert_eq!(newest, expected);
        let census = stream.census(true).unwrap();
        let ids: BTreeSet<TraceId> = census.ids.iter().copied().collect();
        prop_assert_eq!(ids, runs.iter().map(|run| run.directory.trace_id).collect());
        prop_assert_eq!(census.ids.len(), runs.len());
        let mut statuses = BTreeMap::new();
        for run in &runs {
            *statuses.entry(run.status).or_default() += 1;
        }
        prop_assert_eq!(census.statuses, statuses);

        let mut stream = machine.stream();
        let sums = stream.fold(&choice, || StatsSink::new(Some(by)), &cancel, |_| ()).unwrap();
        prop_assert_eq!(sums.finish(), stats(passing, Some(by)));
    }
}

#[test]
fn only_the_first_runs_are_held() {
    let machine = Machine::new(&[], 0);
    machine.here.write(&run(1));
    let one = machine.store().all(false).unwrap().runs;
    let mut first = LeadingRuns::new(3, RunColumn::Started, false, now());
    let mut most = 0;
    for _ in 0..10 * MIN_HELD {
        first.add(Cow::Borrowed(&one[0]));
        most = most.max(first.held.len());
    }
    assert_eq!((first.count(), most), (10 * MIN_HELD, MIN_HELD));
    assert_eq!(first.finish().len(), 3);
}

#[test]
fn runs_of_a_bucket_are_fetched_many_at_a_time_and_no_more_than_that() {
    const RUNS: u32 = 100;
    let machine = Machine::new(&[], 12);
    for number in 1..=RUNS {
        machine.send(&run(number));
    }
    let query: RunQuery = "\"nobody says this\"".parse().unwrap();
    let choice = RunChoice {
        query: &query,
        now: now(),
        with_trials: true,
        also: &|_| true,
    };
    let mut reported = Vec::new();
    let found = machine.stream().fold(
        &choice,
        || StatsSink::new(None),
        &CancelToken::default(),
        |progress| reported.push((progress.read_runs, progress.runs)),
    );
    assert_eq!(found.unwrap().finish().all.runs, 0);
    let expected: Vec<(usize, usize)> = (0..=RUNS as usize).map(|read| (read, RUNS as usize)).collect();
    assert_eq!(reported, expected);
    let most = machine.fetcher.fetching.lock().unwrap().1;
    assert!((12..=16).contains(&most), "{most} at once");
    assert_eq!(machine.fetcher.fetched.load(Ordering::SeqCst), RUNS as usize);
}

#[test]
fn writers_go_on_while_steps_are_read() {
    let machine = Machine::new(&[], 0);
    for number in 1..=8 {
        machine.send(&run(number));
    }
    let query: RunQuery = "args~refund".parse().unwrap();
    let choice = RunChoice {
        query: &query,
        now: now(),
        with_trials: true,
        also: &|_| true,
    };
    let mut stream = machine.stream();
    let begin = || StatsSink::new(None);
    let found = stream.fold(&choice, begin, &CancelToken::default(), |progress| {
        // Without this one the writer would wait for the reader, which waits for it.
        if progress.read_runs == 1 {
            machine.send(&run(9));
        }
    });
    assert!(found.is_ok());
    assert_eq!(machine.store().all(false).unwrap().runs.len(), 9);
}

#[test]
fn writers_go_on_once_all_runs_were_asked() {
    let machine = Machine::new(&[], 0);
    machine.send(&run(1));
    let choice = RunChoice {
        query: &RunQuery::default(),
        now: now(),
        with_trials: true,
        also: &|_| true,
    };
    let mut stream = machine.stream();
    let begin = || StatsSink::new(None);
    let sums = stream.fold(&choice, begin, &CancelToken::default(), |_| ());
    assert_eq!(sums.unwrap().finish().all.runs, 1);
    // As `tracer search` has it while it fetches.
    machine.send(&run(2));
    stream.end_reading().unwrap();
    let stream = machine.stream();
    assert_eq!(stream.census(true).unwrap().ids.len(), 2);
    stream.end_reading().unwrap();
    machine.send(&run(3));
}

#[test]
fn a_mirror_that_cannot_be_opened_is_an_error() {
    let machine = Machine::new(&[], 0);
    machine.here.write(&run(1));
    machine.send(&run(2));
    let cancel = CancelToken::default();
    let survey = machine.store().survey(false).unwrap();
    let streamed = machine.without_mirror(|| survey.stream(&cancel, |_| ()));
    assert!(matches!(streamed, Err(DatabaseError::Unusable { .. })));
    let survey = machine.store().survey(false).unwrap();
    let read = machine.without_mirror(|| survey.read(&cancel, |_| ()));
    assert!(matches!(read.unread_bucket, Some(DatabaseError::Unusable { .. })));
    assert_eq!(
        (read.runs.len(), machine.stream().census(true).unwrap().ids.len()),
        (1, 2)
    );
}

#[test]
fn a_snapshot_reads_again_what_it_could_not_read_of_a_mirror() {
    let machine = Machine::new(&[], 0);
    let (store, cancel) = (machine.store(), CancelToken::default());
    machine.send(&run(1));
    let look = |before: Option<&FactsSnapshot>| FactsSnapshot::look(&store, before, false).unwrap();
    let read = |look: SnapshotLook| match look {
        SnapshotLook::Same => None,
        SnapshotLook::Changed(survey) => FactsSnapshot::read(survey, &cancel, |_| ()),
    };
    let first = look(None);
    let first = machine.without_mirror(|| read(first)).unwrap();
    assert_eq!(first.runs().len(), 0);
    let second = read(look(Some(&first))).unwrap();
    assert_eq!(second.runs().len(), 1);
    // What is known stays while nobody can say more.
    assert!(machine.without_mirror(|| read(look(Some(&second)))).is_none());
    machine.send(&run(2));
    let third = read(look(Some(&second))).unwrap();
    assert_eq!(third.runs().len(), 2);
}

#[test]
fn trials_of_a_bucket_are_counted_and_left_out() {
    let machine = Machine::new(&[], 0);
    for number in 1..=4_u32 {
        let facts = json!({
            "name": "agent", "at": i64::from(number), "st": "ok", "tr": number.is_multiple_of(2), "x": "chat",
        });
        machine.apply(&json!({
            "version": 1, "trace_id": id(number), "generation": 1, "facts": facts, "details": {}, "meta": {},
        }));
    }
    let stream = machine.stream();
    let census = |with_trials| {
        let census = stream.census(with_trials).unwrap();
        (census.ids.len(), census.hidden_trials)
    };
    assert_eq!((census(false), census(true)), ((2, 2), (4, 0)));
    let newest = |with_trials| {
        let runs = stream.newest(2, with_trials).unwrap();
        let starts: Vec<i64> = runs.iter().filter_map(|run| run.facts.started_us).collect();
        let places = stream.threads(&runs, with_trials).unwrap();
        let places = runs.iter().filter_map(|run| places.place(run));
        let places: BTreeSet<(usize, usize)> = places.map(|place| (place.number, place.count)).collect();
        (starts, places.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(newest(false), (vec![3, 1], vec![(1, 2), (2, 2)]));
    assert_eq!(newest(true), (vec![4, 3], vec![(3, 4), (4, 4)]));
}

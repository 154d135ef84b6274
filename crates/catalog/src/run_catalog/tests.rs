//! Runs of this machine and of a bucket answer as if all were on one machine.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tracer_insight::units::now;
use tracer_runs::RunDirectory;

use super::*;
use crate::mirror::{FetchError, FetchRuns, MirrorLine, RunLease, StoreMirror, TeamStore};
use crate::tests::support::{SampleRun, SampleSpan, Sandbox, id, newest, opened, selected};

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
            "version": 2, "trace_id": id(run.number), "generation": 1, "facts": sent.row, "meta": run.meta(),
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

    fn runs(&self) -> RunCatalog {
        opened(&self.store())
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
    fn runs_here_and_there_are_one_list(
        kinds in prop::collection::vec(0_u8..6, 0..24),
        query in prop::sample::select(QUERIES.to_vec()),
        column in prop::sample::select(RunColumn::ALL.to_vec()),
        by in prop::sample::select(Grouping::ALL.to_vec()),
        limit in 1_usize..12,
        is_reversed in any::<bool>(),
        groups_threads in any::<bool>(),
    ) {
        // The origin alone differs.
        prop_assume!(column != RunColumn::Origin);
        let numbers = || (1_u32..).zip(&kinds);
        let changed: Vec<u32> = numbers().filter(|(_, kind)| **kind == 3).map(|(number, _)| number).collect();
        let machine = Machine::new(&changed, 0);
        let together = Sandbox::new();
        for (number, kind) in numbers() {
            // Here alone, there alone, both the same, both and changed here, removed there, removed there and here.
            if *kind != 0 {
                machine.send(&run(number));
            }
            let as_it_is = if *kind == 3 { run(number).failed("Changed", "since") } else { run(number) };
            if *kind != 1 && *kind != 4 {
                machine.here.write(&as_it_is);
            }
            if *kind >= 4 {
                machine.remove(number);
            }
            if *kind != 4 {
                together.write(&as_it_is);
            }
        }
        let (query, order) = (query.parse().unwrap(), RunOrder { column, is_reversed, groups_threads });
        let answers = |runs: &RunCatalog| {
            let selection = selected(runs, &query);
            let page = runs.page(&selection, order, 1, limit).unwrap();
            let threads = runs.threads(&page, true).unwrap();
            let places = page.iter().map(|run| threads.place(run).map(|place| (place.number, place.count)));
            let places: Vec<_> = places.collect();
            let listed = page.iter().map(|run| {
                (run.directory.trace_id, run.status, run.row.clone(), run.placed())
            });
            let mut census = runs.census(true).unwrap();
            census.ids.sort();
            // The files are others.
            census.version = 0;
            (
                runs.count(&selection).unwrap(),
                listed.collect::<Vec<_>>(),
                places,
                runs.statuses(&selection).unwrap(),
                runs.stats(&selection, Some(by)).unwrap(),
                census,
                (runs.names(9).unwrap(), runs.thread_count().unwrap()),
            )
        };
        prop_assert_eq!(answers(&machine.runs()), answers(&together.catalog()));
    }
}

#[test]
fn a_list_goes_on_after_a_run() {
    let sandbox = Sandbox::new();
    (1..=5).for_each(|number| sandbox.write(&run(number)));
    fs::write(sandbox.directory(3).join("meta.json"), "{").unwrap();
    let runs = sandbox.catalog();
    let all = selected(&runs, &RunQuery::default());
    let listed = runs.page(&all, RunOrder::default(), 0, 9).unwrap();
    for (place, last) in (1..).zip(&listed) {
        let rest = runs
            .page(&all.clone().after(last), RunOrder::default(), 0, 9)
            .unwrap();
        assert_eq!(rest, listed[place..]);
    }
}

#[test]
fn runs_of_a_bucket_are_fetched_many_at_a_time_and_no_more_than_that() {
    const RUNS: u32 = 100;
    let machine = Machine::new(&[], 12);
    for number in 1..=RUNS {
        machine.send(&run(number));
    }
    let query: RunQuery = "\"nobody says this\"".parse().unwrap();
    let mut reported = Vec::new();
    let runs = machine.runs();
    let found = runs.select(&query, true, now(), &CancelToken::default(), |progress| {
        reported.push((progress.read_runs, progress.runs));
    });
    assert_eq!(runs.count(&found.unwrap()).unwrap(), 0);
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
    let runs = machine.runs();
    let found = runs.select(&query, true, now(), &CancelToken::default(), |progress| {
        // Without this one the writer would wait for the reader, which waits for it.
        if progress.read_runs == 1 {
            machine.send(&run(9));
        }
    });
    assert!(found.is_ok());
    assert_eq!(machine.runs().census(true).unwrap().ids.len(), 9);
}

#[test]
fn writers_go_on_once_reading_has_ended() {
    let machine = Machine::new(&[], 0);
    machine.send(&run(1));
    let runs = machine.runs();
    // As `tracer search` has it while it fetches.
    assert_eq!(
        runs.candidates(&RunQuery::default(), true, now()).unwrap().len(),
        1
    );
    runs.end_reading().unwrap();
    machine.send(&run(2));
    let runs = machine.runs();
    assert_eq!(runs.census(true).unwrap().ids.len(), 2);
    runs.end_reading().unwrap();
    machine.send(&run(3));
}

#[test]
fn runs_of_a_mirror_that_cannot_be_opened_are_missing_until_it_can() {
    let machine = Machine::new(&[], 0);
    machine.here.write(&run(1));
    machine.send(&run(2));
    let (store, cancel) = (machine.store(), CancelToken::default());
    let next = |before: Option<&RunCatalog>| {
        let runs = store
            .survey_after(before)
            .unwrap()?
            .open(&cancel, |_| ())
            .unwrap();
        runs.end_reading().unwrap();
        Some(runs)
    };
    let first = machine.without_mirror(|| next(None)).unwrap();
    assert!(matches!(
        first.unread_bucket,
        Some(DatabaseError::Unusable { .. })
    ));
    assert_eq!(first.census(true).unwrap().ids.len(), 1);
    let second = next(Some(&first)).unwrap();
    assert_eq!(second.census(true).unwrap().ids.len(), 2);
    // What is known stays while nobody can say more.
    assert!(machine.without_mirror(|| next(Some(&second))).is_none());
    machine.send(&run(3));
    assert_eq!(next(Some(&second)).unwrap().census(true).unwrap().ids.len(), 3);
}

#[test]
fn damage_of_one_database_leaves_the_other() {
    for is_of_bucket in [false, true] {
        let machine = Machine::new(&[], 0);
        machine.here.write(&run(1));
        (2..40).for_each(|number| machine.send(&run(number)));
        let mirror = machine.mirror.path().join("cache/mirror-8.sqlite");
        let files = [machine.here.database(), mirror];
        let runs = machine.runs();
        runs.end_reading().unwrap();
        let damaged = &files[usize::from(is_of_bucket)];
        let mut bytes = fs::read(damaged).unwrap();
        // With another change counter, pages in memory are read again.
        bytes[24..28].fill(0xff);
        bytes[4096..].fill(0);
        fs::write(damaged, bytes).unwrap();
        let error = runs.census(true).unwrap_err();
        assert_eq!(error.is_made_again(), !is_of_bucket, "{error:?}");
        assert!(
            error.to_string().starts_with(&*damaged.to_string_lossy()),
            "{error}"
        );
        let there = files.each_ref().map(|file| file.exists());
        assert_eq!(there, [is_of_bucket, !is_of_bucket]);
    }
}

#[test]
fn damage_that_no_check_finds_discards_both_databases() {
    for is_of_bucket in [false, true] {
        let machine = Machine::new(&[], 0);
        machine.here.write(&run(1));
        machine.send(&run(2));
        let expected = newest(&machine.runs()).unwrap();
        let mirror = machine.mirror.path().join("cache/mirror-8.sqlite");
        let files = [machine.here.database(), mirror];
        let damaged = &files[usize::from(is_of_bucket)];
        let mut bytes = fs::read(damaged).unwrap();
        let name = b"\"name\":\"";
        let at = memchr::memmem::find(&bytes, name).unwrap() + name.len();
        bytes[at] = 0xff;
        fs::write(damaged, bytes).unwrap();
        let runs = machine.runs();
        let error = newest(&runs).unwrap_err();
        drop(runs);
        assert!(matches!(error, DatabaseError::DamagedMirror { .. }), "{error:?}");
        assert!(!files.iter().any(|file| file.exists()));
        machine.send(&run(2));
        assert_eq!(newest(&machine.runs()).unwrap(), expected);
    }
}

#[test]
fn a_search_waits_for_another_process_that_writes_for_long() {
    let sandbox = Sandbox::new();
    sandbox.write(&run(1));
    let runs = sandbox.catalog();
    let ids = runs.census(true).unwrap().ids;
    runs.end_reading().unwrap();
    let other = rusqlite::Connection::open(sandbox.database()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let writer = std::thread::spawn(move || {
        // Longer than others wait.
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("ROLLBACK").unwrap();
    });
    let test = StepQuery::of_runs(&"args~refund".parse().unwrap());
    let wanted = StepSearch {
        test: &test,
        limit: 10,
        order: None,
        prices: runs.store.prices(),
    };
    let mut searched = 0;
    let cancel = CancelToken::default();
    runs.search(&ids, &wanted, &cancel, |_, _, _| searched += 1)
        .unwrap();
    assert_eq!(searched, 1);
    writer.join().unwrap();
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
    let stream = machine.runs();
    let census = |with_trials| {
        let census = stream.census(with_trials).unwrap();
        (census.ids.len(), census.hidden_trials)
    };
    assert_eq!((census(false), census(true)), ((2, 2), (4, 0)));
    let newest = |with_trials| {
        let all = stream.select(
            &RunQuery::default(),
            with_trials,
            now(),
            &CancelToken::default(),
            |_| (),
        );
        let runs = stream.page(&all.unwrap(), RunOrder::default(), 0, 2).unwrap();
        let starts: Vec<i64> = runs.iter().filter_map(|run| run.row.started_us).collect();
        let places = stream.threads(&runs, with_trials).unwrap();
        let places = runs.iter().filter_map(|run| places.place(run));
        let places: BTreeSet<(usize, usize)> = places.map(|place| (place.number, place.count)).collect();
        (starts, places.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(newest(false), (vec![3, 1], vec![(1, 2), (2, 2)]));
    assert_eq!(newest(true), (vec![4, 3], vec![(3, 4), (4, 4)]));
}

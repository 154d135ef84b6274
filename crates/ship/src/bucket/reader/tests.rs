//! What a reader finds, whatever lies in the bucket, and whenever it is killed or the bucket cannot be reached.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use rstest::rstest;
use serde_json::{Value, json};
use tracer_catalog::query::RunQuery;
use tracer_catalog::{FactsStore, FetchError, FetchRuns, ListedRun, RunOrder};
use tracer_insight::units::now;
use tracer_runs::CancelToken;
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::settings::Settings;

use super::BucketReader;
use crate::bucket::layout;
use crate::bucket::tests::support::{
    Fate, FaultyStore, Kind, Recorded, Request, bucket, id, objects, shipper,
};
use crate::error::ShipError;
use crate::shipper::{RunSelection, ShipOptions};

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work)
}

/// Sends the runs of a data directory.
fn push(recorded: &Recorded, memory: &Arc<InMemory>) {
    let options = ShipOptions::default();
    let mut shipper = shipper(recorded.path(), bucket(Arc::clone(memory)), options);
    let mut observe = |_| {};
    let sending = shipper.ship(&RunSelection::All, std::future::pending(), &mut observe);
    let summary = block_on(sending).unwrap();
    assert!(summary.not_sent.is_empty(), "{:?}", summary.not_sent);
}

fn put(memory: &InMemory, name: &str, bytes: impl Into<Vec<u8>>) {
    let path = path_of(name);
    block_on(memory.put(&path, bytes.into().into())).unwrap();
}

/// Where an object lies in the store.
fn path_of(name: &str) -> Path {
    Path::from(format!("agents/{name}"))
}

/// Somebody who reads.
struct Colleague {
    folder: tempfile::TempDir,
    reader: BucketReader,
}

impl Colleague {
    fn new(store: impl ObjectStore) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let reader = BucketReader::of(&Settings::with_data_dir(folder.path()), bucket(store)).unwrap();
        Self { folder, reader }
    }

    fn mirror(&self) -> PathBuf {
        self.reader.0.mirror.folder().to_owned()
    }

    fn sync(&self) -> super::SyncSummary {
        self.reader.sync(&mut |_| {}).unwrap()
    }

    fn store(&self) -> FactsStore {
        FactsStore::new(self.folder.path()).with_team(self.reader.team_store())
    }

    fn runs(&self) -> Vec<ListedRun> {
        listed(&self.store())
    }

    fn names(&self) -> Vec<String> {
        let names = self
            .runs()
            .into_iter()
            .map(|run| run.row.name.unwrap_or_default());
        names.collect()
    }

    fn log(&self, number: u32) -> Result<Vec<u8>, FetchError> {
        let store = self.store();
        let run = store.select(Some(&id(number))).unwrap();
        let lease = store.files(&run)?;
        Ok(fs::read(lease.directory.path.join("spans.jsonl")).unwrap())
    }
}

/// All runs of a store, the newest first.
fn listed(store: &FactsStore) -> Vec<ListedRun> {
    let runs = store
        .survey()
        .unwrap()
        .open(&CancelToken::default(), |_| ())
        .unwrap();
    let cancel = CancelToken::default();
    let all = runs
        .select(&RunQuery::default(), true, now(), &cancel, |_| ())
        .unwrap();
    runs.page(&all, RunOrder::default(), 0, usize::MAX).unwrap()
}

/// A line of facts as a shipper writes it.
fn line(number: u32, generation: u64, name: &str) -> Value {
    let started = 1_767_225_600_000_000_i64 + i64::from(number) * 1_000_000;
    json!({
        "version": 1, "trace_id": id(number), "generation": generation, "name": name,
        "facts": {"name": name, "at": started, "us": 1000, "st": "ok"}, "details": {},
        "meta": {"trace_id": id(number)},
    })
}

fn facts_name(second: i64) -> String {
    let at = Timestamp::from_unix_microseconds(1_767_225_600_000_000 + second * 1_000_000);
    format!(
        "facts/{}",
        layout::facts_name(at, "0000000a", second.unsigned_abs())
    )
}

fn put_facts(memory: &InMemory, second: i64, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    put(memory, &facts_name(second), lines.join("\n") + "\n");
}

#[test]
fn a_colleague_sees_the_runs_that_were_sent_and_reads_them() {
    let recorded = Recorded::new(3);
    recorded.write(4, "ok", &vec!["large"; 2_000]);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let colleague = Colleague::new(Arc::clone(&memory));
    let summary = colleague.sync();
    assert_eq!((summary.changed_runs, summary.passed_over()), (4, 0));
    let (here, there) = (colleague.runs(), listed(&FactsStore::new(recorded.path())));
    assert_eq!(here.len(), 4);
    for (here, there) in here.iter().zip(&there) {
        assert_eq!((&here.row, here.status), (&there.row, there.status));
        assert_eq!(here.origin(), Some("s3://team/agents"));
        let meta = colleague.store().summary(here.directory.clone()).meta.unwrap();
        assert_eq!(meta, there.directory.clone().read_summary().meta.unwrap());
        let lease = here.fetch().unwrap();
        for file in ["spans.jsonl", "meta.json"] {
            let [mine, theirs] = [&lease.directory, &there.directory].map(|run| {
                let bytes = fs::read(run.path.join(file)).unwrap();
                if file == "spans.jsonl" {
                    bytes
                } else {
                    serde_json::from_slice::<Value>(&bytes)
                        .unwrap()
                        .to_string()
                        .into()
                }
            });
            assert!(mine == theirs, "{file}");
        }
    }
    assert_eq!(colleague.sync().changed_runs, 0);
}

#[test]
fn nothing_new_takes_two_requests_and_an_unread_run_two() {
    let recorded = Recorded::new(3);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let (store, requests) = FaultyStore::counting(&memory);
    let colleague = Colleague::new(store);
    let made = |work: &dyn Fn()| {
        let before = requests.load(Ordering::SeqCst);
        work();
        requests.load(Ordering::SeqCst) - before
    };
    assert_eq!(made(&|| assert_eq!(colleague.sync().requests, 3)), 3);
    assert_eq!(made(&|| assert_eq!(colleague.sync().requests, 2)), 2);
    assert_eq!(made(&|| drop(colleague.log(1))), 2);
    assert_eq!(made(&|| drop(colleague.log(1))), 0, "it is here now");
}

#[test]
fn a_run_without_its_commit_is_never_there() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    let meta = path_of(&format!("runs/{}/meta.json", id(1)));
    block_on(memory.delete(&meta)).unwrap();
    assert!(matches!(colleague.log(1), Err(FetchError::Gone)));
    put(&memory, &format!("runs/{}/spans.jsonl", id(2)), "{}\n");
    assert_eq!(colleague.sync().changed_runs, 0);
    assert_eq!(colleague.names(), ["agent-1"]);
}

#[test]
fn the_highest_generation_counts_in_whatever_order_lines_come() {
    let memory = Arc::new(InMemory::new());
    put_facts(
        &memory,
        0,
        &[line(1, 2, "second"), line(1, 1, "first"), line(2, 1, "other")],
    );
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    assert_eq!(colleague.names(), ["other", "second"]);
    put_facts(&memory, 1, &[line(1, 1, "late")]);
    colleague.sync();
    assert_eq!(colleague.names(), ["other", "second"]);
    put_facts(&memory, 2, &[line(1, 3, "third")]);
    colleague.sync();
    assert_eq!(colleague.names(), ["other", "third"]);
}

#[test]
fn a_removed_run_is_gone_until_a_newer_state_is_sent() {
    let memory = Arc::new(InMemory::new());
    let removed =
        |generation: u64| json!({"version": 1, "trace_id": id(1), "generation": generation, "removed": true});
    put_facts(&memory, 0, &[line(1, 1, "one"), line(2, 1, "two")]);
    put_facts(&memory, 1, &[removed(1)]);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    assert_eq!(colleague.names(), ["two"]);
    assert!(colleague.store().select(Some(&id(1))).is_err());
    put_facts(&memory, 2, &[line(1, 1, "again")]);
    colleague.sync();
    assert_eq!(colleague.names(), ["two"], "the same state stays removed");
    put_facts(&memory, 3, &[line(1, 2, "newer")]);
    colleague.sync();
    assert_eq!(colleague.names(), ["two", "newer"]);
}

#[test]
fn a_name_of_the_future_hides_nothing() {
    let memory = Arc::new(InMemory::new());
    put(
        &memory,
        "facts/date=9999-01-01/000000.000000-0000000a-1.jsonl",
        format!("{}\n", line(1, 1, "one")),
    );
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    put_facts(&memory, 0, &[line(2, 1, "two")]);
    let summary = colleague.sync();
    assert_eq!((summary.objects, summary.changed_runs), (1, 1));
    assert_eq!(colleague.names(), ["two", "one"]);
}

#[test]
fn hostile_facts_are_counted_and_hide_no_others() {
    let memory = Arc::new(InMemory::new());
    let mut newer = line(3, 1, "newer");
    newer["version"] = json!(3);
    let mut running = line(4, 1, "running");
    running["facts"]["st"] = json!("running");
    let mut negative = line(5, 1, "negative");
    negative["generation"] = json!(-1);
    let mut no_id = line(6, 1, "../../etc");
    no_id["trace_id"] = json!("../../../etc/passwd");
    let long = "x".repeat(5 * 1024 * 1024);
    let mut text = format!("{}\nnot json\n{{\"version\":1\n{long}\n", line(1, 1, "one"));
    for hostile in [&newer, &running, &negative, &no_id] {
        text += &hostile.to_string();
        text.push('\n');
    }
    text += &line(2, 1, "two").to_string();
    text += "\n{\"torn";
    put(&memory, &facts_name(0), text);
    put(&memory, "facts/date=2026-01-01/notes.txt", "hello");
    put(
        &memory,
        "facts/date=2026-01-01/000001.000000-a-1.jsonl.zst",
        "zstd",
    );
    let colleague = Colleague::new(Arc::clone(&memory));
    let summary = colleague.sync();
    assert_eq!(colleague.names(), ["two", "one"]);
    assert_eq!(
        (summary.newer_lines, summary.malformed_lines, summary.odd_objects),
        (1, 7, 2)
    );
    // Only what has no name of facts is met again.
    assert_eq!(colleague.sync().passed_over(), 2);
}

#[rstest]
#[case::another_content("spans.jsonl", |log: &mut Vec<u8>| log[3] ^= 1)]
#[case::longer("spans.jsonl", |log: &mut Vec<u8>| log.push(b'\n'))]
#[case::cut("spans.jsonl", |log: &mut Vec<u8>| log.truncate(10))]
#[case::another_run("meta.json", |meta: &mut Vec<u8>| *meta = String::from_utf8(meta.clone()).unwrap().replace(&id(1), &id(2)).into())]
#[case::no_meta("meta.json", |meta: &mut Vec<u8>| meta.truncate(20))]
#[case::too_large("meta.json", |meta: &mut Vec<u8>| *meta = vec![b' '; 5 * 1024 * 1024])]
fn files_that_are_not_what_they_should_be_are_never_shown(
    #[case] file: &str,
    #[case] change: fn(&mut Vec<u8>),
) {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let name = format!("runs/{}/{file}", id(1));
    let all = block_on(objects(&memory));
    let (_, mut bytes) = all.into_iter().find(|(known, _)| *known == name).unwrap();
    change(&mut bytes);
    put(&memory, &name, bytes);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    let refused = colleague.log(1);
    assert!(
        matches!(refused, Err(FetchError::Damaged(_) | FetchError::Refused(_))),
        "{refused:?}"
    );
    let left: Vec<PathBuf> = ["runs", "fetching"]
        .iter()
        .flat_map(|folder| {
            fs::read_dir(colleague.mirror().join(folder))
                .into_iter()
                .flatten()
        })
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_newer_generation_is_fetched_again() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    let before = colleague.log(1).unwrap();
    recorded.write(1, "ok", &["search", "late"]);
    push(&recorded, &memory);
    assert!(colleague.log(1).unwrap() == before, "until the facts say so");
    colleague.sync();
    assert!(colleague.log(1).unwrap() == fs::read(recorded.run(1).join("spans.jsonl")).unwrap());
}

#[rstest]
#[case::cut("spans.jsonl", false)]
#[case::longer("meta.json", false)]
#[case::gone("spans.jsonl", true)]
fn a_run_that_was_damaged_after_it_was_fetched_is_fetched_again(#[case] name: &str, #[case] is_gone: bool) {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    let lease = colleague.runs().remove(0).fetch().unwrap();
    let file = lease.directory.path.join(name);
    drop(lease);
    let sent = fs::read(&file).unwrap();
    if is_gone {
        fs::remove_file(&file).unwrap();
    } else if name == "spans.jsonl" {
        fs::write(&file, &sent[..sent.len() / 2]).unwrap();
    } else {
        fs::write(&file, [&sent[..], b"\n"].concat()).unwrap();
    }
    let lease = colleague.runs().remove(0).fetch().unwrap();
    assert!(fs::read(lease.directory.path.join(name)).unwrap() == sent);
}

#[test]
fn without_the_bucket_there_is_what_was_read() {
    let recorded = Recorded::new(2);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let is_down = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let store = FaultyStore::new(&memory, move |_: &Request| {
        if down.load(Ordering::SeqCst) {
            Fate::Lost(Kind::Denied)
        } else {
            Fate::Done
        }
    });
    let colleague = Colleague::new(store);
    assert!(matches!(
        colleague.reader.sync(&mut |_| {}),
        Err(ShipError::Denied { .. })
    ));
    assert_eq!(colleague.reader.synced_at(), None);
    is_down.store(false, Ordering::SeqCst);
    colleague.sync();
    colleague.log(1).unwrap();
    is_down.store(true, Ordering::SeqCst);
    assert!(colleague.reader.sync(&mut |_| {}).is_err());
    assert!(colleague.reader.synced_at().is_some());
    assert_eq!(colleague.names(), ["agent-1", "agent-2"]);
    colleague.log(1).unwrap();
    assert!(colleague.log(2).is_err());
    let store = colleague.store();
    assert_eq!(
        store.team().unwrap().take_unfetched(),
        0,
        "it is another store's count"
    );
}

#[test]
fn a_reader_that_dies_between_requests_goes_on_where_it_was() {
    let memory = Arc::new(InMemory::new());
    for batch in 0..20_u32 {
        let lines: Vec<Value> = (0..10)
            .map(|run| line(batch * 10 + run + 1, 1, "agent"))
            .collect();
        put_facts(&memory, i64::from(batch), &lines);
    }
    let left = Arc::new(AtomicUsize::new(0));
    let budget = Arc::clone(&left);
    let store = FaultyStore::new(&memory, move |_: &Request| {
        let spend = |left: usize| left.checked_sub(1);
        match budget.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend) {
            Ok(_) => Fate::Done,
            Err(_) => Fate::Lost(Kind::Denied),
        }
    });
    let colleague = Colleague::new(store);
    let mut attempts = 0;
    loop {
        // Which days there are, the listing, and two objects.
        left.store(4, Ordering::SeqCst);
        attempts += 1;
        if colleague.reader.sync(&mut |_| {}).is_ok() {
            break;
        }
        assert_eq!(colleague.reader.synced_at(), None, "not to the end yet");
    }
    assert!((10..=11).contains(&attempts), "{attempts}");
    assert_eq!(colleague.runs().len(), 200);
}

#[test]
fn a_damaged_mirror_is_made_again() {
    let recorded = Recorded::new(2);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    let database = fs::read_dir(colleague.mirror().join("cache"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "sqlite"))
        .unwrap();
    fs::write(&database, "no database, but as long as one".repeat(1_000)).unwrap();
    assert_eq!(colleague.sync().changed_runs, 2);
    assert_eq!(colleague.names(), ["agent-1", "agent-2"]);
    fs::remove_dir_all(colleague.mirror()).unwrap();
    assert_eq!(colleague.sync().changed_runs, 2);
}

#[test]
fn whoever_sent_a_run_sees_it_as_the_others_do_until_it_changes_here() {
    let recorded = Recorded::new(2);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let reader = BucketReader::of(
        &Settings::with_data_dir(recorded.path()),
        bucket(Arc::clone(&memory)),
    )
    .unwrap();
    reader.sync(&mut |_| {}).unwrap();
    let store = || FactsStore::new(recorded.path()).with_team(reader.team_store());
    let origins = || -> Vec<bool> {
        let runs = listed(&store());
        runs.iter().map(|run| run.origin().is_some()).collect()
    };
    assert_eq!(origins(), [true, true]);
    recorded.write(2, "ok", &["search", "late"]);
    recorded.write(3, "ok", &[]);
    assert_eq!(origins(), [true, false, false]);
    let run = store().select(Some("agent-2")).unwrap();
    assert_eq!(run.path, recorded.run(2));
    assert_eq!(
        store().locate(id(1).parse().unwrap()).unwrap().path,
        reader.0.mirror.directory(id(1).parse().unwrap()).path
    );
    push(&recorded, &memory);
    reader.sync(&mut |_| {}).unwrap();
    assert_eq!(origins(), [true, true, true]);
}

#[test]
fn what_was_not_used_for_the_longest_time_goes_first_and_nothing_that_is_in_use() {
    let recorded = Recorded::new(4);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let folder = tempfile::tempdir().unwrap();
    let size = |run: u32| -> u64 {
        let files = ["spans.jsonl", "meta.json"]
            .map(|file| fs::metadata(recorded.run(run).join(file)).unwrap().len());
        files.iter().sum()
    };
    let mut settings = Settings::with_data_dir(folder.path());
    // Room for two, and some more.
    settings.store_cache_bytes = size(1) * 5 / 2;
    let reader = BucketReader::of(&settings, bucket(Arc::clone(&memory))).unwrap();
    reader.sync(&mut |_| {}).unwrap();
    let run = |number: u32| -> TraceId { id(number).parse().unwrap() };
    let here = |number: u32| reader.0.mirror.directory(run(number)).path.is_dir();
    let leased = reader.fetch(run(1), 1).unwrap();
    for number in [2, 3] {
        std::thread::sleep(std::time::Duration::from_millis(20));
        drop(reader.fetch(run(number), 1).unwrap());
    }
    assert_eq!(
        [1, 2, 3].map(here),
        [true, false, true],
        "the first one is in use"
    );
    drop(leased);
    std::thread::sleep(std::time::Duration::from_millis(20));
    drop(reader.fetch(run(3), 1).unwrap());
    drop(reader.fetch(run(4), 1).unwrap());
    assert_eq!([1, 3, 4].map(here), [false, true, true]);
}

#[test]
fn many_who_want_one_run_fetch_it_once() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let (store, requests) = FaultyStore::counting(&memory);
    let colleague = Colleague::new(store);
    colleague.sync();
    let before = requests.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| colleague.reader.fetch(id(1).parse().unwrap(), 1).unwrap());
        }
    });
    assert_eq!(requests.load(Ordering::SeqCst) - before, 2);
}

#[test]
fn the_known_runs_follow_what_is_synchronized() {
    use tracer_catalog::RunCatalog;
    use tracer_runs::CancelToken;
    let memory = Arc::new(InMemory::new());
    put_facts(&memory, 0, &[line(1, 1, "one"), line(2, 1, "two")]);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    let store = colleague.store();
    let look = |before: Option<&RunCatalog>| {
        let runs = store.survey_after(before).unwrap()?;
        let runs = runs.open(&CancelToken::default(), |_| ()).unwrap();
        runs.end_reading().unwrap();
        let version = runs.census(true).unwrap().version;
        Some((runs, version))
    };
    let (first, version) = look(None).unwrap();
    assert_eq!(first.names(9).unwrap().len(), 2);
    assert!(look(Some(&first)).is_none());
    let removed = json!({"version": 1, "trace_id": id(2), "generation": 1, "removed": true});
    put_facts(&memory, 1, &[line(1, 2, "changed"), line(3, 1, "three"), removed]);
    colleague.sync();
    let (second, changed) = look(Some(&first)).unwrap();
    let names = ["changed", "three"].map(|name| Some(name.to_owned()));
    assert_eq!(second.names(9).unwrap(), names);
    assert_ne!(changed, version);
    assert!(look(Some(&second)).is_none());
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let url = format!("file://{}", missing.display()).parse().unwrap();
    let opened = BucketReader::open(&Settings::with_data_dir(folder.path()), &url);
    assert!(matches!(opened, Err(ShipError::NoBucket { .. })));
    assert!(!missing.exists());
}

/// The facts of a day of January, as one object.
fn put_day(memory: &InMemory, day: u32, name: &str, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let object = format!("facts/date=2026-01-{day:02}/{name}.jsonl");
    put(memory, &object, lines.join("\n") + "\n");
}

fn expire_day(memory: &InMemory, day: u32) {
    let folder = path_of(&format!("facts/date=2026-01-{day:02}"));
    let listed = block_on(memory.list(Some(&folder)).try_collect::<Vec<_>>()).unwrap();
    for object in listed {
        block_on(memory.delete(&object.location)).unwrap();
    }
}

#[test]
fn runs_of_a_day_that_expired_are_dropped() {
    let memory = Arc::new(InMemory::new());
    put_day(
        &memory,
        1,
        "a",
        &[line(1, 1, "one"), line(2, 1, "two"), line(3, 1, "three")],
    );
    put_day(&memory, 2, "a", &[line(2, 2, "two again"), line(3, 1, "three")]);
    put_day(&memory, 9, "a", &[line(4, 1, "four")]);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    expire_day(&memory, 1);
    let summary = colleague.sync();
    assert_eq!((summary.lines, summary.changed_runs), (0, 1));
    // The second day still lists the others.
    assert_eq!(colleague.names(), ["four", "three", "two again"]);
    assert!(colleague.store().select(Some(&id(1))).is_err());
    expire_day(&memory, 2);
    colleague.sync();
    assert_eq!(colleague.names(), ["four"]);
    put_day(&memory, 9, "b", &[line(1, 1, "sent again")]);
    colleague.sync();
    assert_eq!(colleague.names(), ["four", "sent again"]);
    expire_day(&memory, 9);
    colleague.sync();
    assert!(colleague.names().is_empty());
}

#[test]
fn the_last_two_days_are_listed_whole() {
    let memory = Arc::new(InMemory::new());
    for day in [7, 8, 9] {
        put_day(&memory, day, "b", &[line(day, 1, "early")]);
    }
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    // Named before what was read, and written later.
    for day in [7, 8, 9] {
        put_day(&memory, day, "a", &[line(10 + day, 1, "late")]);
    }
    assert_eq!(colleague.sync().objects, 2);
    assert_eq!(colleague.sync().objects, 0);
}

#[test]
fn a_day_that_is_joined_meanwhile_is_read_whole() {
    let memory = Arc::new(InMemory::new());
    put_day(&memory, 1, "a", &[line(1, 1, "one")]);
    put_day(&memory, 1, "b", &[line(2, 1, "two")]);
    let (sources, joining) = (Arc::clone(&memory), AtomicBool::new(false));
    let store = FaultyStore::new(&memory, move |request: &Request| {
        // The facts were listed, and none is read yet.
        if request.number == 2 && !joining.swap(true, Ordering::SeqCst) {
            let joined = bucket(Arc::clone(&sources));
            std::thread::spawn(move || {
                block_on(joined.join_past_days(std::future::pending(), &mut |_| {})).unwrap();
            })
            .join()
            .unwrap();
        }
        Fate::Done
    });
    let colleague = Colleague::new(store);
    colleague.sync();
    assert_eq!(colleague.names(), ["two", "one"]);
}

#[test]
fn what_stays_gone_is_listed_again_by_the_next_synchronization() {
    let memory = Arc::new(InMemory::new());
    put_day(&memory, 1, "0", &[line(1, 1, "moved")]);
    for day in [2, 3] {
        put_day(&memory, day, "a", &[line(day, 1, "other")]);
    }
    let (moving, moves) = (Arc::new(AtomicBool::new(true)), AtomicUsize::new(1));
    let (is_moving, inner) = (Arc::clone(&moving), Arc::clone(&memory));
    let store = FaultyStore::new(&memory, move |_: &Request| {
        if is_moving.load(Ordering::SeqCst) {
            let (inner, name) = (
                Arc::clone(&inner),
                moves.fetch_add(1, Ordering::SeqCst).to_string(),
            );
            std::thread::spawn(move || {
                expire_day(&inner, 1);
                put_day(&inner, 1, &name, &[line(1, 1, "moved")]);
            })
            .join()
            .unwrap();
        }
        Fate::Done
    });
    let colleague = Colleague::new(store);
    colleague.sync();
    assert_eq!(colleague.names(), ["other", "other"]);
    moving.store(false, Ordering::SeqCst);
    colleague.sync();
    assert_eq!(colleague.names(), ["other", "other", "moved"]);
}

#[test]
fn a_run_that_expired_is_gone() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    push(&recorded, &memory);
    let colleague = Colleague::new(Arc::clone(&memory));
    colleague.sync();
    for file in ["spans.jsonl", "meta.json"] {
        block_on(memory.delete(&path_of(&format!("runs/{}/{file}", id(1))))).unwrap();
        assert!(
            matches!(colleague.log(1), Err(FetchError::Gone)),
            "without {file}"
        );
    }
    // Its machine sends it again, under a name that nothing of it had.
    let options = ShipOptions {
        again: true,
        ..ShipOptions::default()
    };
    let mut shipper = shipper(recorded.path(), bucket(Arc::clone(&memory)), options);
    let mut observe = |_| {};
    block_on(shipper.ship(&RunSelection::All, std::future::pending(), &mut observe)).unwrap();
    colleague.sync();
    assert!(colleague.log(1).unwrap() == fs::read(recorded.run(1).join("spans.jsonl")).unwrap());
}

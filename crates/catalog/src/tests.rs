//! Facts are those of a full reading, whatever happened to the runs and to the database.

pub(crate) mod support;

use std::fs;
use std::io::Write;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;
use tracer_insight::status::RunStatus;
use tracer_insight::units::now;
use tracer_runs::{CancelToken, RunStore, StoreError};
use tracer_sdk::format::{TraceId, Usage};

use crate::tests::support::{SampleRun, SampleSpan, Sandbox, id, listed, newest};
use crate::{DatabaseError, FactsStore, ListedRun, RunCatalog, run_row};

fn facts(sandbox: &Sandbox) -> Vec<ListedRun> {
    listed(&FactsStore::new(sandbox.path()))
}

/// What a full reading gives, which is the same whether the log is read once, or every record of it whole.
fn read(sandbox: &Sandbox) -> Vec<ListedRun> {
    // Whatever is kept is put aside, and what this listing keeps is removed.
    let (kept, aside) = (sandbox.path().join("cache"), sandbox.path().join("aside"));
    let _ = fs::rename(&kept, &aside);
    let store = FactsStore::new(sandbox.path());
    let runs = listed(&store);
    let _ = fs::remove_dir_all(&kept);
    let _ = fs::rename(&aside, &kept);
    for run in &runs {
        let mut whole = run_row::read_records(&run.directory).row;
        whole.price(store.prices());
        assert_eq!(run.row, whole, "of {:?}", run.directory);
    }
    runs
}

/// Number of runs that a listing would have to read.
fn unread(sandbox: &Sandbox) -> usize {
    FactsStore::new(sandbox.path()).survey().unwrap().unread().0
}

fn refund_agent(number: u32) -> SampleRun {
    SampleRun::new(number, "refund-agent")
        .span(SampleSpan::model(
            1,
            "gpt-5",
            "Where is my refund?",
            "I look it up.",
        ))
        .span(
            SampleSpan::tool(2, "refund_api", &json!({"order": "ORD-1"}), &json!({}))
                .failed("Timeout", "no answer"),
        )
        .span(SampleSpan::tool(
            3,
            "refund_api",
            &json!({"order": "ORD-1"}),
            &json!({"ok": true}),
        ))
        .span(SampleSpan::model(4, "gpt-5-mini", "Write to Ada", "Dear Ada"))
}

#[test]
fn facts_are_what_a_run_did() {
    let sandbox = Sandbox::new();
    let run = refund_agent(7)
        .failed("AgentError", "gave up")
        .attribute("tracer.tag.commit", "3f2a")
        .attribute("gen_ai.conversation.id", "chat-1");
    sandbox.write(&run);
    let [run] = facts(&sandbox).try_into().unwrap();
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(run.row.name.as_deref(), Some("refund-agent"));
    assert_eq!(run.row.duration_us, Some(400_000));
    assert_eq!((run.row.llm_calls, run.row.tool_calls, run.row.errors), (2, 2, 1));
    assert_eq!((run.row.steps, run.row.failed_calls, run.row.retries), (5, 1, 1));
    assert_eq!(run.row.tokens, Usage::new(800, 70).cache_read(200));
    let details = &run.row;
    assert_eq!(
        details.subtitle.as_deref(),
        Some("Failed after #5 gpt-5-mini: AgentError: gave up.")
    );
    assert_eq!(details.prompt.as_deref(), Some("\"Where is my refund?\""));
    assert_eq!(details.answer.as_deref(), Some("Dear Ada"));
    assert_eq!(details.error.as_deref(), Some("AgentError"));
    assert_eq!(run.row.session.as_deref(), Some("chat-1"));
    assert_eq!(details.commit(), Some("3f2a"));
    assert_eq!(details.models.keys().collect::<Vec<_>>(), ["gpt-5", "gpt-5-mini"]);
    let tool = &details.tools["refund_api"];
    assert_eq!((tool.calls, tool.failed, tool.time_us), (2, 1, 40_000));
    assert_eq!(details.failures["Timeout"].message, "no answer");
}

#[test]
fn a_run_has_a_question_and_an_answer_of_its_own() {
    let sandbox = Sandbox::new();
    let run = refund_agent(7)
        .attribute("tracer.question", "Refund ORD-1")
        .attribute("tracer.answer", "{\"refunded\":true}");
    sandbox.write(&run);
    let [run] = facts(&sandbox).try_into().unwrap();
    let details = &run.row;
    assert_eq!(details.subtitle.as_deref(), Some("\"Refund ORD-1\""));
    assert_eq!(details.prompt.as_deref(), Some("Refund ORD-1"));
    assert_eq!(details.answer.as_deref(), Some("{\"refunded\":true}"));
}

#[test]
fn facts_of_a_log_in_several_parts_are_those_of_its_records() {
    let sandbox = Sandbox::new();
    let text = "x".repeat(2_000);
    let sample = (0..600_u32).fold(SampleRun::new(1, "long"), |run, number| {
        let span = match number % 5 {
            0 => SampleSpan::model(number, "gpt-5", &text, "An answer").taking(number),
            1 => SampleSpan::model(number, &format!("{text}-{}", number % 2), "A question", &text),
            _ => SampleSpan::tool(number, "search", &json!({"text": text}), &json!({})).taking(number % 90),
        };
        let mut span = if number % 97 == 3 {
            span.failed("Timeout", "late")
        } else {
            span
        };
        if number % 50 > 20 {
            // The span that begins last is written first.
            let second = 50 - number % 50;
            span.0["start_time"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
            span.0["attributes"]["session.id"] = json!(format!("chat-{number}"));
        }
        if number == 300 {
            span.0["attributes"]["tracer.meta"] = json!("{\"attempt_of\": \"another\"}");
        }
        run.span(span)
    });
    sandbox.write(&sample);
    let run = &read(&sandbox)[0];
    assert_eq!((run.row.steps, run.row.failed_calls), (600, 7));
    assert_eq!(run.row.session.as_deref(), Some("chat-49"));
    assert_eq!((run.row.models.len(), run.row.tools["search"].calls), (2, 360));
}

#[test]
fn the_order_is_that_of_the_store() {
    let sandbox = Sandbox::new();
    for number in [3, 1, 2] {
        sandbox.write(&SampleRun::new(number, "agent"));
    }
    fs::write(sandbox.directory(2).join("meta.json"), "{").unwrap();
    let listed = RunStore::new(sandbox.path()).list().unwrap();
    let expected: Vec<_> = listed
        .iter()
        .map(|run| (run.directory.clone(), run.status()))
        .collect();
    let facts: Vec<_> = facts(&sandbox)
        .into_iter()
        .map(|run| (run.directory, run.status))
        .collect();
    assert_eq!(facts, expected);
}

#[test]
fn a_run_is_read_once_and_again_when_it_changes() {
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    sandbox.write(&refund_agent(2));
    assert_eq!(unread(&sandbox), 2);
    facts(&sandbox);
    assert_eq!(unread(&sandbox), 0);
    assert_eq!(facts(&sandbox), read(&sandbox));
    fs::OpenOptions::new()
        .append(true)
        .open(sandbox.directory(2).join("spans.jsonl"))
        .unwrap()
        .write_all(b"\n")
        .unwrap();
    assert_eq!(unread(&sandbox), 1);
}

#[test]
fn what_was_read_is_kept_when_reading_is_cancelled() {
    let sandbox = Sandbox::new();
    for number in 0..40 {
        sandbox.write(&refund_agent(number));
    }
    let cancel = CancelToken::default();
    let survey = FactsStore::new(sandbox.path()).survey().unwrap();
    let some = survey.open(&cancel, |progress| {
        assert_eq!(progress.runs, 40);
        if progress.read_runs == 5 {
            cancel.cancel();
        }
    });
    let some = some.unwrap();
    assert!(ids(&some).len() >= 5 && some.unread > 0);
    assert_eq!(ids(&some).len() + some.unread, 40);
    assert_eq!(unread(&sandbox), some.unread);
    some.end_reading().unwrap();
    assert_eq!(facts(&sandbox), read(&sandbox));
}

#[test]
fn a_deleted_run_is_forgotten() {
    let sandbox = Sandbox::new();
    let run = refund_agent(1).attribute("tracer.tag.customer", "Ada-Lovelace-1815");
    sandbox.write(&run);
    sandbox.write(&refund_agent(2));
    facts(&sandbox);
    let holds = || {
        let bytes = fs::read(sandbox.database()).unwrap();
        memchr::memmem::find(&bytes, b"Ada-Lovelace-1815").is_some()
    };
    assert!(holds());
    fs::remove_dir_all(sandbox.directory(1)).unwrap();
    assert_eq!(facts(&sandbox).len(), 1);
    assert!(!holds());

    sandbox.write(&run);
    let listed = facts(&sandbox);
    assert!(holds());
    fs::remove_dir_all(sandbox.directory(1)).unwrap();
    FactsStore::new(sandbox.path()).forget(&[listed[1].directory.trace_id]);
    assert!(!holds());
}

/// The runs as they are now; `None` where nothing has changed since `before`.
fn next(sandbox: &Sandbox, before: Option<&RunCatalog>) -> Option<RunCatalog> {
    let open = || {
        let survey = FactsStore::new(sandbox.path()).survey_after(before).unwrap();
        survey.map(|survey| survey.open(&CancelToken::default(), |_| ()))
    };
    let runs = match open()? {
        Err(error) if error.is_made_again() => open()?.unwrap(),
        runs => runs.unwrap(),
    };
    runs.end_reading().unwrap();
    Some(runs)
}

/// All that is known of the runs; `None` where the database is damaged.
fn known(runs: &RunCatalog) -> Option<Vec<ListedRun>> {
    newest(runs).ok()
}

fn ids(runs: &RunCatalog) -> Vec<TraceId> {
    let mut ids = runs.census(true).unwrap().ids;
    ids.sort();
    ids
}

#[test]
fn a_look_whose_reading_was_cancelled_hides_no_run() {
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    let store = FactsStore::new(sandbox.path());
    let first = next(&sandbox, None).unwrap();
    sandbox.write(&refund_agent(2));
    let cancel = CancelToken::default();
    cancel.cancel();
    let survey = store.survey_after(Some(&first)).unwrap().unwrap();
    assert_eq!(survey.open(&cancel, |_| ()).unwrap().unread, 1);
    assert_eq!(ids(&next(&sandbox, Some(&first)).unwrap()).len(), 2);
}

#[test]
fn runs_are_the_same_until_one_changes() {
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    sandbox.write(&refund_agent(2));
    let first = next(&sandbox, None).unwrap();
    let version = first.census(true).unwrap().version;
    assert!(next(&sandbox, Some(&first)).is_none());
    sandbox.write(&refund_agent(2).failed("AgentError", "gave up"));
    let second = next(&sandbox, Some(&first)).unwrap();
    assert_eq!(facts(&sandbox), read(&sandbox));
    assert_ne!(second.census(true).unwrap().version, version);
    fs::remove_dir_all(sandbox.directory(1)).unwrap();
    let third = next(&sandbox, Some(&second)).unwrap();
    assert_eq!(ids(&third), [id(2).parse::<TraceId>().unwrap()]);
    assert_eq!(
        unread(&sandbox),
        0,
        "what was read is kept, and what is gone is not"
    );
}

#[test]
fn runs_that_cannot_be_kept_are_read_once_and_again_when_they_change() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("cache"), "no folder").unwrap();
    sandbox.write(&refund_agent(1));
    let first = next(&sandbox, None).unwrap();
    assert!(first.not_kept.is_some());
    assert!(next(&sandbox, Some(&first)).is_none());
    sandbox.write(&refund_agent(2));
    let store = FactsStore::new(sandbox.path());
    let survey = store.survey_after(Some(&first)).unwrap().unwrap();
    assert_eq!(survey.unread().0, 1);
    let second = survey.open(&CancelToken::default(), |_| ()).unwrap();
    assert_eq!(ids(&second).len(), 2);
    assert_eq!(ids(&second.reopen().unwrap()), ids(&second));
}

#[test]
fn a_database_that_is_deleted_while_it_is_read_is_made_again() {
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    let first = next(&sandbox, None).unwrap();
    assert!(next(&sandbox, Some(&first)).is_none());
    fs::remove_file(sandbox.database()).unwrap();
    let reopened = first.reopen();
    assert!(
        matches!(reopened, Err(DatabaseError::Replaced { .. })),
        "{reopened:?}"
    );
    let second = next(&sandbox, Some(&first)).unwrap();
    assert_eq!(ids(&second.reopen().unwrap()), ids(&first));
    assert!(next(&sandbox, Some(&second)).is_none());
}

#[test]
fn runs_are_kept_again_once_no_other_process_writes() {
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    let first = next(&sandbox, None).unwrap();
    let other = Connection::open(sandbox.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    sandbox.write(&refund_agent(2));
    let second = next(&sandbox, Some(&first)).unwrap();
    assert!(second.not_kept.is_some());
    sandbox.write(&refund_agent(3));
    let third = next(&sandbox, Some(&second)).unwrap();
    assert!(third.database.is_in_memory);
    other.execute_batch("ROLLBACK").unwrap();
    sandbox.write(&refund_agent(4));
    let fourth = next(&sandbox, Some(&third)).unwrap();
    assert!(!fourth.database.is_in_memory && fourth.not_kept.is_none());
    assert_eq!((ids(&third).len(), ids(&fourth).len()), (3, 4));
}

#[test]
fn runs_whose_steps_were_read_are_of_one_instant_from_then_on() {
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    let runs = sandbox.catalog();
    let mut has_read = false;
    let selected = runs.select(
        &"args~refund".parse().unwrap(),
        true,
        now(),
        &CancelToken::default(),
        |_| has_read = true,
    );
    runs.count(&selected.unwrap()).unwrap();
    assert!(has_read);
    sandbox.write(&refund_agent(2));
    assert!(next(&sandbox, None).unwrap().not_kept.is_some(), "it waits");
    runs.end_reading().unwrap();
    assert!(next(&sandbox, None).unwrap().not_kept.is_none());
}

#[test]
fn a_folder_without_runs_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = FactsStore::new(folder.path());
    let survey = store.survey_after(None).unwrap().unwrap();
    assert_eq!(ids(&survey.open(&CancelToken::default(), |_| ()).unwrap()), []);
}

#[test]
fn no_runs_make_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = FactsStore::new(folder.path());
    assert!(matches!(store.survey(), Err(StoreError::Missing { .. })));
    store.forget(&["1".repeat(32).parse().unwrap()]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    facts(&sandbox);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&sandbox.database()), 0o600);
    assert_eq!(mode(sandbox.database().parent().unwrap()), 0o700);
}

/// How a database is made useless, and whether a new one takes its place.
type Fault = (&'static str, fn(&Sandbox) -> Option<Connection>, bool);

const FAULTS: [Fault; 10] = [
    ("deleted", |sandbox| remove(sandbox), true),
    ("empty", |sandbox| replace(sandbox, b""), true),
    (
        "something else",
        |sandbox| replace(sandbox, b"hello, this is no database at all"),
        true,
    ),
    (
        "torn",
        |sandbox| {
            let bytes = fs::read(sandbox.database()).unwrap();
            replace(sandbox, &bytes[..bytes.len() / 2 + 100])
        },
        true,
    ),
    (
        "zeroed in the middle",
        |sandbox| {
            let mut bytes = fs::read(sandbox.database()).unwrap();
            let end = bytes.len();
            bytes[4096..end].fill(0);
            replace(sandbox, &bytes)
        },
        true,
    ),
    (
        "of a newer version",
        |sandbox| change(sandbox, "PRAGMA user_version = 99"),
        true,
    ),
    (
        "of other tables",
        |sandbox| {
            change(
                sandbox,
                "DROP TABLE runs; CREATE TABLE runs (number INTEGER, other TEXT)",
            )
        },
        true,
    ),
    (
        "locked",
        |sandbox| {
            let connection = Connection::open(sandbox.database()).unwrap();
            connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
            Some(connection)
        },
        false,
    ),
    (
        "in a file instead of a folder",
        |sandbox| {
            let cache = sandbox.path().join("cache");
            fs::remove_dir_all(&cache).unwrap();
            fs::write(cache, "no folder").unwrap();
            None
        },
        false,
    ),
    (
        "a folder",
        |sandbox| {
            remove(sandbox);
            fs::create_dir(sandbox.database()).unwrap();
            None
        },
        false,
    ),
];

fn remove(sandbox: &Sandbox) -> Option<Connection> {
    fs::remove_file(sandbox.database()).unwrap();
    None
}

fn replace(sandbox: &Sandbox, bytes: &[u8]) -> Option<Connection> {
    fs::write(sandbox.database(), bytes).unwrap();
    None
}

fn change(sandbox: &Sandbox, statements: &str) -> Option<Connection> {
    Connection::open(sandbox.database())
        .unwrap()
        .execute_batch(statements)
        .unwrap();
    None
}

#[test]
fn a_database_that_is_wrong_costs_time_only() {
    for (fault, make, is_replaced) in FAULTS {
        let sandbox = Sandbox::new();
        for number in 0..30 {
            sandbox.write(&refund_agent(number));
        }
        let expected = read(&sandbox);
        assert_eq!(facts(&sandbox), expected);
        let _held = make(&sandbox);
        assert_eq!(facts(&sandbox), expected, "{fault}");
        let not_kept = sandbox.catalog().not_kept;
        assert_eq!(not_kept.is_none(), is_replaced, "{fault}: {not_kept:?}");
        assert_eq!(facts(&sandbox), expected, "{fault}, the second time");
        let again = FactsStore::new(sandbox.path()).survey().unwrap();
        assert_eq!(again.unread().0 == 0, is_replaced, "{fault}");
    }
}

#[test]
fn a_database_that_is_deleted_while_it_is_used_costs_time_only() {
    let sandbox = Sandbox::new();
    (0..30).for_each(|number| sandbox.write(&refund_agent(number)));
    let expected = read(&sandbox);
    for is_known in [false, true] {
        let survey = FactsStore::new(sandbox.path()).survey().unwrap();
        assert_eq!(survey.unread().0 == 0, is_known);
        fs::remove_dir_all(sandbox.path().join("cache")).unwrap();
        let runs = survey.open(&CancelToken::default(), |_| ()).unwrap();
        assert_eq!(newest(&runs).unwrap(), expected);
        assert_eq!(facts(&sandbox), expected);
    }
}

#[cfg(unix)]
#[test]
fn a_database_that_cannot_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.write(&refund_agent(1));
    facts(&sandbox);
    let set = |mode: u32| {
        for path in [sandbox.path().join("cache"), sandbox.database()] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o500);
    assert_eq!(unread(&sandbox), 0);
    sandbox.write(&refund_agent(2));
    assert_eq!(facts(&sandbox), read(&sandbox), "whether it can be kept or not");
    set(0o700);
    assert_eq!(facts(&sandbox), read(&sandbox));
}

#[test]
fn runs_that_change_between_a_look_and_the_reading_are_as_they_are_then() {
    let sandbox = Sandbox::new();
    (0..6).for_each(|number| sandbox.write(&refund_agent(number)));
    let survey = FactsStore::new(sandbox.path()).survey().unwrap();
    fs::remove_dir_all(sandbox.directory(1)).unwrap();
    sandbox.write(&refund_agent(2).failed("AgentError", "gave up"));
    fs::remove_dir_all(sandbox.directory(3)).unwrap();
    fs::write(sandbox.directory(3), "no folder any more").unwrap();
    let runs = survey.open(&CancelToken::default(), |_| ()).unwrap();
    let listed = newest(&runs).unwrap();
    assert_eq!((&listed, runs.unread), (&read(&sandbox), 0));
    assert_eq!(facts(&sandbox), listed);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_database_is_refused() {
    for link in ["cache", "cache/facts-12.sqlite"] {
        let sandbox = Sandbox::new();
        sandbox.write(&refund_agent(1));
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("file"), "mine").unwrap();
        let target = if link == "cache" {
            elsewhere.path().to_owned()
        } else {
            fs::create_dir(sandbox.path().join("cache")).unwrap();
            elsewhere.path().join("file")
        };
        std::os::unix::fs::symlink(target, sandbox.path().join(link)).unwrap();
        assert_eq!(facts(&sandbox), read(&sandbox));
        assert!(
            matches!(
                sandbox.catalog().not_kept,
                Some(DatabaseError::SymbolicLink { .. })
            ),
            "{link}"
        );
        assert_eq!(fs::read_to_string(elsewhere.path().join("file")).unwrap(), "mine");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }
}

/// What may happen between two listings.
#[derive(Debug, Clone)]
enum Event {
    Write(u32, u8),
    Append(u32),
    Tear(u32),
    Garbage(u32, &'static str),
    Delete(u32),
    Kill(u32),
    End(u32),
    DeleteDatabase,
    TearDatabase(prop::sample::Index),
    List,
    ListTwice,
    ListCancelled,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let run = 0_u32..6;
    let event = prop_oneof![
        4 => (run.clone(), 0_u8..5).prop_map(|(run, kind)| Event::Write(run, kind)),
        2 => run.clone().prop_map(Event::Append),
        1 => run.clone().prop_map(Event::Tear),
        1 => (run.clone(), prop::sample::select(vec!["meta.json", "spans.jsonl", ".live"]))
            .prop_map(|(run, file)| Event::Garbage(run, file)),
        1 => run.clone().prop_map(Event::Delete),
        1 => run.clone().prop_map(Event::Kill),
        1 => run.prop_map(Event::End),
        1 => Just(Event::DeleteDatabase),
        1 => any::<prop::sample::Index>().prop_map(Event::TearDatabase),
        3 => Just(Event::List),
        2 => Just(Event::ListTwice),
        1 => Just(Event::ListCancelled),
    ];
    prop::collection::vec(event, 1..25)
}

fn happen(sandbox: &Sandbox, event: &Event, step: usize) {
    let append = |run: u32, text: &[u8]| {
        let log = fs::OpenOptions::new()
            .append(true)
            .open(sandbox.directory(run).join("spans.jsonl"));
        let _ = log.and_then(|mut log| log.write_all(text));
    };
    match event {
        Event::Write(run, kind) => {
            let name = format!("agent{}", "x".repeat(step));
            let sample = SampleRun {
                name,
                ..refund_agent(*run)
            };
            sandbox.write(&match kind {
                0 => sample,
                1 => sample.failed("AgentError", "gave up"),
                2 => sample.running(),
                3 => (0..5).fold(sample, |sample, number| {
                    sample.span(SampleSpan::tool(10 + number, "search", &json!({}), &json!({})))
                }),
                _ => sample.attribute("tracer.tag.step", "1"),
            });
        }
        Event::Append(run) => {
            let number = 100 + u32::try_from(step).unwrap();
            let more = SampleRun::new(*run, "").running().span(SampleSpan::tool(
                number,
                "late",
                &json!({}),
                &json!({}),
            ));
            append(*run, more.log().as_bytes());
        }
        Event::Tear(run) => {
            let path = sandbox.directory(*run).join("spans.jsonl");
            if let Ok(bytes) = fs::read(&path) {
                fs::write(&path, &bytes[..bytes.len() * 2 / 3]).unwrap();
            }
        }
        Event::Garbage(run, file) => {
            let _ = fs::create_dir(sandbox.directory(*run));
            fs::write(sandbox.directory(*run).join(file), "x".repeat(step + 1)).unwrap();
        }
        Event::Delete(run) => {
            let _ = fs::remove_dir_all(sandbox.directory(*run));
        }
        Event::Kill(run) => {
            sandbox.write(&refund_agent(*run).running());
            let live = format!("{{\"run_name\":\"killed{}\"}}\n", "x".repeat(step));
            fs::write(sandbox.directory(*run).join(".live"), live).unwrap();
        }
        Event::End(run) => {
            let ended = SampleRun {
                name: format!("ended{}", "x".repeat(step)),
                ..refund_agent(*run)
            };
            if let Ok(directory) = fs::canonicalize(sandbox.directory(*run)) {
                fs::write(directory.join("new"), ended.meta().to_string()).unwrap();
                fs::rename(directory.join("new"), directory.join("meta.json")).unwrap();
            }
        }
        Event::DeleteDatabase => {
            let _ = fs::remove_file(sandbox.database());
        }
        Event::TearDatabase(place) => {
            if let Ok(mut bytes) = fs::read(sandbox.database())
                && !bytes.is_empty()
            {
                // A damage that `SQLite` finds: a page that is none.
                let at = place.index(bytes.len()) / 4096 * 4096;
                let end = bytes.len().min(at + 700);
                bytes[at..end].fill(0x5a);
                fs::write(sandbox.database(), bytes).unwrap();
            }
        }
        Event::List => {
            facts(sandbox);
        }
        Event::ListTwice => std::thread::scope(|scope| {
            let other = scope.spawn(|| facts(sandbox));
            let one = facts(sandbox);
            assert_eq!(one, other.join().unwrap());
        }),
        Event::ListCancelled => {
            let cancel = CancelToken::default();
            let survey = FactsStore::new(sandbox.path()).survey().unwrap();
            // A database that turns out to be damaged is gone then.
            let _ = survey.open(&cancel, |_| cancel.cancel());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn facts_are_those_of_a_full_reading_whatever_happened(events in events()) {
        let sandbox = Sandbox::new();
        let mut catalog = None;
        for (step, event) in events.iter().enumerate() {
            happen(&sandbox, event, step);
            if matches!(event, Event::List | Event::ListTwice) {
                catalog = next(&sandbox, catalog.as_ref()).or(catalog);
            }
        }
        let expected = read(&sandbox);
        let catalog = next(&sandbox, catalog.as_ref()).or(catalog);
        // A viewer whose database is damaged opens it again.
        let known = catalog.as_ref().and_then(known).or_else(|| known(&next(&sandbox, None)?));
        prop_assert_eq!(known.unwrap(), expected.clone(), "what a viewer knows");
        prop_assert_eq!(facts(&sandbox), expected.clone());
        prop_assert_eq!(facts(&sandbox), expected.clone(), "from the database");
        let _ = fs::remove_dir_all(sandbox.path().join("cache"));
        prop_assert_eq!(facts(&sandbox), expected, "without it");
    }
}

/// A span that may be added to a run that goes on: its start, its kind, whether it failed, and what it is nested in.
type Added = (u32, u8, bool, Option<u32>);

fn added_span(number: u32, (second, kind, has_failed, parent): Added) -> SampleSpan {
    let span = match kind {
        0 => SampleSpan::model(number, "gpt-5", &format!("Question {number}"), "An answer"),
        1 => SampleSpan::model(number, "gpt-5-mini", "Question", ""),
        2 => SampleSpan::tool(number, "search", &json!({"q": number % 3}), &json!({})),
        _ => SampleSpan::tool(number, "refund_api", &json!({"order": "ORD-1"}), &json!({})),
    };
    let mut span = if has_failed {
        span.failed("Timeout", &format!("no answer to {number}"))
    } else {
        span
    };
    let time = |milliseconds: u32| format!("2026-01-01T00:00:{:02}.{milliseconds:03}Z", second % 60);
    span.0["start_time"] = json!(time(0));
    span.0["end_time"] = json!(time(20 + number % 900));
    if let Some(parent) = parent {
        span.0["parent_span_id"] = json!(format!("{:016x}", parent + 1));
    }
    if kind == 4 {
        let session = if number.is_multiple_of(3) {
            String::new()
        } else {
            format!("chat-{number}")
        };
        span.0["attributes"]["session.id"] = json!(session);
        span.0["attributes"]["tracer.tag.part"] = json!(number.to_string());
    }
    if kind == 5 {
        // Another emitter's, which may be the same call as one before.
        span.0["attributes"] = json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": "r",
            "otel.scope.name": (number % 3).to_string(), "gen_ai.usage.output_tokens": number % 4,
        });
    }
    span
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn facts_of_a_run_that_goes_on_are_those_of_a_full_reading(
        parts in prop::collection::vec(
            prop::collection::vec((0_u32..50, 0_u8..6, prop::bool::weighted(0.3), prop::option::weighted(0.3, 0_u32..40)), 0..12),
            1..5,
        ),
        is_torn: bool,
    ) {
        let sandbox = Sandbox::new();
        sandbox.write(&SampleRun::new(1, "goes-on").running());
        let log = sandbox.directory(1).join("spans.jsonl");
        let (mut catalog, mut number) = (None, 0);
        for part in parts {
            let mut text = String::new();
            for added in part {
                number += 1;
                text += &SampleRun::new(1, "").running().span(added_span(number, added)).log();
            }
            let text = text.as_bytes();
            // The reader may look while a line is being written.
            let (first, rest) = text.split_at(if is_torn { text.len() * 2 / 3 } else { 0 });
            for part in [first, rest] {
                fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(part).unwrap();
                catalog = next(&sandbox, catalog.as_ref()).or(catalog);
                prop_assert_eq!(known(catalog.as_ref().unwrap()).unwrap(), read(&sandbox));
            }
        }
    }
}

/// How many runs the mixed store has: few by default, and 10,000 in the slow step of CI.
fn mixed_runs() -> u32 {
    let given = std::env::var("TRACER_TEST_RUNS").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(130)
}

/// Writes a run of a mixed store: well, failed, running, killed, torn, without metadata, of garbage, of another emitter,
/// large, hostile, of another ID, empty, or with a folder in the place of its log.
fn write_mixed(sandbox: &Sandbox, number: u32) {
    let sample = refund_agent(number);
    let directory = sandbox.directory(number);
    let log = directory.join("spans.jsonl");
    match number % 13 {
        0 => sandbox.write(&sample.failed("AgentError", "gave up")),
        1 => sandbox.write(&sample.running()),
        2 => {
            sandbox.write(&sample.running());
            fs::write(directory.join(".live"), "{\"run_name\":\"killed\"}\n").unwrap();
        }
        3 => {
            sandbox.write(&sample);
            let bytes = fs::read(&log).unwrap();
            fs::write(&log, &bytes[..bytes.len() / 2]).unwrap();
        }
        4 => {
            sandbox.write(&sample);
            fs::remove_file(directory.join("meta.json")).unwrap();
        }
        5 => {
            sandbox.write(&sample);
            fs::write(&log, [0xff, 0x00, b'\n', b'{', b'\n']).unwrap();
        }
        6 => {
            sandbox.write(&sample);
            let text = fs::read_to_string(&log).unwrap();
            fs::write(&log, text.replace("tracer.", "maida.")).unwrap();
        }
        7 if number % 130 == 7 => sandbox.write(&(0..1_500).fold(sample, |sample, call| {
            sample.span(SampleSpan::tool(
                10 + call,
                &format!("tool {call}"),
                &json!({}),
                &json!({}),
            ))
        })),
        8 => {
            let hostile = "'; DROP TABLE runs; -- \u{1b}[2J \u{202e} \0 %s".repeat(40);
            let hostile = SampleRun {
                name: hostile.clone(),
                ..sample
            }
            .attribute("tracer.tag.\u{7}", &hostile)
            .attribute("session.id", &hostile);
            sandbox.write(&hostile);
        }
        9 => {
            sandbox.write(&sample);
            fs::write(
                directory.join("meta.json"),
                refund_agent(number + 1).meta().to_string(),
            )
            .unwrap();
        }
        10 => fs::create_dir(directory).unwrap(),
        11 => {
            sandbox.write(&sample);
            fs::remove_file(&log).unwrap();
            fs::create_dir(log).unwrap();
        }
        _ => sandbox.write(&sample),
    }
}

#[test]
fn facts_of_a_mixed_store_are_those_of_a_full_reading() {
    let sandbox = Sandbox::new();
    let count = mixed_runs();
    (0..count).for_each(|number| write_mixed(&sandbox, number));
    let expected = read(&sandbox);
    assert_eq!(expected.len(), count as usize);
    let first = next(&sandbox, None).unwrap();
    assert!(known(&first).unwrap() == expected, "the first time");
    assert!(facts(&sandbox) == expected, "from the database");
    // Another process lists while runs change, come and go.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| facts(&sandbox).len());
        for number in (0..count).step_by(7) {
            let _ = fs::remove_dir_all(sandbox.directory(number));
            if number % 2 == 0 {
                write_mixed(&sandbox, number + 13 * (count / 13 + 1));
            }
        }
        other.join().unwrap();
    });
    let expected = read(&sandbox);
    let second = next(&sandbox, Some(&first)).unwrap();
    assert!(known(&second).unwrap() == expected, "after changes");
    assert!(facts(&sandbox) == expected, "after changes, from the database");
    fs::remove_dir_all(sandbox.path().join("cache")).unwrap();
    assert!(facts(&sandbox) == expected, "without the database");
}

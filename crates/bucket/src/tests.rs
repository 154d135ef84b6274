//! What a shipper leaves in a bucket, whenever requests fail or it is killed.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use object_store::memory::InMemory;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tracer_sdk::settings::Settings;

use crate::committed_run::CommittedRun;
use crate::error::BucketError;
use crate::event::{ShipEvent, ShipSummary};
use crate::package::{MAX_WHOLE_BYTES, hex};
use crate::shipper::{ShipOptions, ShippedRuns, Shipper};
use crate::test_support::{Fate, FaultyStore, Kind, Recorded, Request, bucket, id, objects};
use crate::{OpenBucket, layout};

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(work)
}

fn shipper(recorded: &Recorded, bucket: OpenBucket, options: ShipOptions) -> Shipper {
    Shipper::open(&Settings::with_data_dir(recorded.path()), bucket, options).unwrap()
}

async fn push_with(
    recorded: &Recorded,
    bucket: OpenBucket,
    options: ShipOptions,
) -> Result<ShipSummary, BucketError> {
    let mut shipper = shipper(recorded, bucket, options);
    shipper
        .push(&recorded.directories(), std::future::pending(), &mut |_| {})
        .await
}

async fn push(recorded: &Recorded, bucket: OpenBucket) -> Result<ShipSummary, BucketError> {
    push_with(recorded, bucket, ShipOptions::default()).await
}

/// What a reader finds: of each run that is committed its log, whole; and how often the facts list it.
fn readable(objects: &[(String, Vec<u8>)]) -> (BTreeMap<String, Vec<u8>>, BTreeMap<String, Vec<u64>>) {
    let (mut runs, mut listed) = (BTreeMap::new(), BTreeMap::<String, Vec<u64>>::new());
    let get = |name: &str| {
        objects
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, bytes)| bytes.clone())
    };
    for (name, bytes) in objects {
        let is_compressed = |name: &str| name.contains(".zst");
        if let Some(folder) = name.strip_suffix("/meta.json") {
            let stored = CommittedRun::parse(bytes).expect("a run");
            let mut log = get(&format!("{folder}/{}", stored.stored.spans)).expect("its spans");
            if is_compressed(&stored.stored.spans) {
                log = zstd::decode_all(&*log).unwrap();
            }
            let hash = hex(&Sha256::digest(&log));
            assert_eq!(
                (hash, log.len() as u64),
                (stored.stored.sha256, stored.stored.bytes)
            );
            runs.insert(folder.rsplit('/').next().unwrap().to_owned(), log);
        } else if name.starts_with("facts/") {
            let text = if is_compressed(name) {
                zstd::decode_all(&**bytes).unwrap()
            } else {
                bytes.clone()
            };
            for line in String::from_utf8(text).unwrap().lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                let run = row["trace_id"].as_str().unwrap().to_owned();
                listed
                    .entry(run)
                    .or_default()
                    .push(row["generation"].as_u64().unwrap());
            }
        }
    }
    (runs, listed)
}

fn assert_whole(recorded: &Recorded, runs: u32, objects: &[(String, Vec<u8>)]) {
    let (found, listed) = readable(objects);
    assert_eq!(found.len(), runs as usize);
    for number in 1..=runs {
        let log = fs::read(recorded.run(number).join("spans.jsonl")).unwrap();
        assert!(found[&id(number)] == log, "the log of run {number}");
        assert_eq!(listed[&id(number)], [1], "the facts of run {number}");
    }
    assert_eq!(listed.len(), runs as usize);
}

#[test]
fn completed_runs_arrive_with_their_facts() {
    for is_compressed in [false, true] {
        let recorded = Recorded::new(3);
        let memory = Arc::new(InMemory::new());
        let options = ShipOptions {
            is_compressed,
            ..ShipOptions::default()
        };
        run(async {
            let summary = push_with(&recorded, bucket(Arc::clone(&memory)), options)
                .await
                .unwrap();
            assert_eq!((summary.runs, summary.redacted_values), (3, 0));
            let objects = objects(&memory).await;
            assert_whole(&recorded, 3, &objects);
            let again = push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
            assert_eq!((again.runs, again.runs_sent_before), (0, 3));
        });
    }
}

#[test]
fn a_run_that_goes_on_is_not_there() {
    let recorded = Recorded::new(1);
    recorded.write(2, "running", &["search"]);
    let memory = Arc::new(InMemory::new());
    run(async {
        let summary = push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
        assert_eq!((summary.runs, summary.open_runs), (1, 1));
        assert_whole(&recorded, 1, &objects(&memory).await);
        recorded.write(2, "error", &["search"]);
        assert_eq!(
            push(&recorded, bucket(Arc::clone(&memory))).await.unwrap().runs,
            1
        );
        assert_whole(&recorded, 2, &objects(&memory).await);
    });
}

#[test]
fn a_damaged_run_is_reported_and_the_others_are_sent() {
    let recorded = Recorded::new(3);
    fs::write(recorded.run(2).join("meta.json"), "{").unwrap();
    let memory = Arc::new(InMemory::new());
    run(async {
        let summary = push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
        assert_eq!((summary.runs, summary.not_sent.len()), (2, 1));
        assert_eq!(summary.not_sent[0].run.to_string(), id(2));
        assert!(
            !objects(&memory)
                .await
                .iter()
                .any(|(name, _)| name.contains(&id(2)))
        );
    });
}

#[test]
fn late_spans_are_a_new_generation() {
    let recorded = Recorded::new(2);
    let memory = Arc::new(InMemory::new());
    run(async {
        push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
        let before = objects(&memory).await;
        recorded.write(1, "ok", &["search", "late"]);
        let summary = push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
        assert_eq!((summary.runs, summary.changed_runs), (1, 1));
        let after = objects(&memory).await;
        let (found, listed) = readable(&after);
        assert!(found[&id(1)] == fs::read(recorded.run(1).join("spans.jsonl")).unwrap());
        assert_eq!(listed[&id(1)], [1, 2]);
        // What was written is never written again, but for the commit.
        for (name, bytes) in before.iter().filter(|(name, _)| !name.ends_with("meta.json")) {
            assert!(
                after
                    .iter()
                    .any(|(same, content)| same == name && content == bytes),
                "{name}"
            );
        }
        // A new name of the run is new metadata beside the same spans.
        let meta = recorded.run(1).join("meta.json");
        let renamed = fs::read_to_string(&meta).unwrap().replace("agent-1", "renamed");
        fs::write(&meta, renamed).unwrap();
        push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
        let last = objects(&memory).await;
        assert_eq!(readable(&last).1[&id(1)], [1, 2, 3]);
        let spans = |objects: &[(String, Vec<u8>)]| {
            objects.iter().filter(|(name, _)| name.contains("/spans")).count()
        };
        assert_eq!(spans(&last), spans(&after));
    });
}

#[test]
fn two_shippers_of_one_run_agree() {
    let (one, other) = (Recorded::new(2), Recorded::new(2));
    let memory = Arc::new(InMemory::new());
    run(async {
        push(&one, bucket(Arc::clone(&memory))).await.unwrap();
        push(&other, bucket(Arc::clone(&memory))).await.unwrap();
        let (found, listed) = readable(&objects(&memory).await);
        assert_eq!(found.len(), 2);
        // Each lists it, as the same generation.
        assert_eq!(listed[&id(1)], [1, 1]);
    });
}

#[test]
fn a_large_log_is_sent_in_parts() {
    for is_compressed in [false, true] {
        let recorded = Recorded::new(1);
        let path = recorded.run(1).join("spans.jsonl");
        let log = fs::read_to_string(&path).unwrap();
        let padding = format!("{}\n", " ".repeat(100_000));
        fs::write(&path, format!("{}{log}", padding.repeat(4))).unwrap();
        let memory = Arc::new(InMemory::new());
        let options = ShipOptions {
            is_compressed,
            ..ShipOptions::default()
        };
        run(async {
            let summary = push_with(&recorded, bucket(Arc::clone(&memory)), options)
                .await
                .unwrap();
            assert!(summary.bytes > MAX_WHOLE_BYTES, "{summary:?}");
            assert_whole(&recorded, 1, &objects(&memory).await);
        });
    }
}

#[test]
fn secrets_that_another_emitter_left_do_not_leave() {
    let recorded = Recorded::new(1);
    let path = recorded.run(1).join("spans.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let key = format!("sk-ant-{}", "a1B2".repeat(12));
    let log = log.replacen("\"search\"", &format!("\"search {key}\""), 1);
    fs::write(&path, format!("{log}not JSON but Bearer abcdefgh12345678\n")).unwrap();
    let memory = Arc::new(InMemory::new());
    run(async {
        let summary = push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
        assert_eq!(summary.redacted_values, 2);
        for (name, bytes) in objects(&memory).await {
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !text.contains(&key) && !text.contains("abcdefgh12345678"),
                "{name}"
            );
        }
        assert!(
            fs::read_to_string(&path).unwrap().contains(&key),
            "the file of this machine stays as it is"
        );
    });
}

/// A shipper that is killed: from a request on, nothing is done.
fn killed_at(kill: usize, done: bool) -> impl FnMut(&Request) -> Fate + Send {
    move |request| match request.number.cmp(&kill) {
        std::cmp::Ordering::Less => Fate::Done,
        // Whether the last request arrived, nobody knows.
        std::cmp::Ordering::Equal if done => Fate::AnswerLost,
        _ => Fate::Lost(Kind::Denied),
    }
}

#[test]
fn a_shipper_killed_at_any_request_leaves_each_run_once_and_whole() {
    for is_done in [false, true] {
        for kill in 0.. {
            let recorded = Recorded::new(3);
            let memory = Arc::new(InMemory::new());
            let is_over = run(async {
                let dying = FaultyStore::new(&memory, killed_at(kill, is_done));
                let mut options = ShipOptions::default();
                options.retry.patience = Some(Duration::ZERO);
                let first = push_with(&recorded, bucket(dying), options).await;
                // Whatever is committed is whole already.
                readable(&objects(&memory).await);
                push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
                assert_whole(&recorded, 3, &objects(&memory).await);
                first.is_ok()
            });
            if is_over {
                assert!(kill > 6, "{kill} requests");
                break;
            }
        }
    }
}

#[test]
fn a_late_span_survives_a_kill_at_any_request() {
    for kill in 0.. {
        let recorded = Recorded::new(2);
        let memory = Arc::new(InMemory::new());
        let is_over = run(async {
            push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
            recorded.write(1, "ok", &["search", "late"]);
            let dying = FaultyStore::new(&memory, killed_at(kill, kill % 2 == 0));
            let mut options = ShipOptions::default();
            options.retry.patience = Some(Duration::ZERO);
            let first = push_with(&recorded, bucket(dying), options).await;
            readable(&objects(&memory).await);
            push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
            let (found, listed) = readable(&objects(&memory).await);
            assert!(found[&id(1)] == fs::read(recorded.run(1).join("spans.jsonl")).unwrap());
            assert_eq!(listed[&id(1)], [1, 2], "killed at {kill}");
            first.is_ok()
        });
        if is_over {
            break;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn overloads_and_lost_answers_lose_nothing(fates in proptest::collection::vec(0_u8..4, 1..60)) {
        let recorded = Recorded::new(4);
        let memory = Arc::new(InMemory::new());
        run(async {
            let mut fates = fates.into_iter();
            let faulty = FaultyStore::new(&memory, move |request| match fates.next() {
                Some(0) => Fate::Lost(Kind::SlowDown),
                Some(1) if request.is_write => Fate::AnswerLost,
                _ => Fate::Done,
            });
            let mut shipper = shipper(&recorded, bucket(faulty), ShipOptions::default());
            let (mut waited, mut resumed) = (0, 0);
            let summary = shipper.push(&recorded.directories(), std::future::pending(), &mut |event| match event {
                ShipEvent::Waiting { reason, .. } => {
                    assert!(reason.contains("SlowDown"), "{reason}");
                    waited += 1;
                }
                ShipEvent::Resumed => resumed += 1,
                _ => {}
            }).await.unwrap();
            assert_eq!(summary.runs, 4);
            assert!(resumed <= waited);
            assert_whole(&recorded, 4, &objects(&memory).await);
        });
    }
}

#[test]
fn a_store_without_conditional_writes_works() {
    let recorded = Recorded::new(2);
    let memory = Arc::new(InMemory::new());
    run(async {
        let store = || {
            FaultyStore::new(&memory, |request| {
                if request.is_conditional {
                    Fate::Lost(Kind::Unsupported)
                } else {
                    Fate::Done
                }
            })
        };
        push(&recorded, bucket(store())).await.unwrap();
        recorded.write(2, "ok", &["search", "late"]);
        push(&recorded, bucket(store())).await.unwrap();
        let (found, listed) = readable(&objects(&memory).await);
        assert!(found[&id(2)] == fs::read(recorded.run(2).join("spans.jsonl")).unwrap());
        assert_eq!((&listed[&id(1)], &listed[&id(2)]), (&vec![1], &vec![1, 2]));
    });
}

#[test]
fn denied_access_ends_at_once_and_says_why() {
    let recorded = Recorded::new(2);
    let memory = Arc::new(InMemory::new());
    run(async {
        let denying = FaultyStore::new(&memory, |_| Fate::Lost(Kind::Denied));
        let error = push(&recorded, bucket(denying)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the store denies access: status 403, AccessDenied"
        );
        assert!(error.hint().contains("list, read and write"));
    });
}

#[test]
fn an_outage_ends_with_patience() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    run(async {
        let down = FaultyStore::new(&memory, |_| Fate::Lost(Kind::SlowDown));
        let mut options = ShipOptions::default();
        options.retry.patience = Some(Duration::ZERO);
        let error = push_with(&recorded, bucket(down), options).await.unwrap_err();
        assert!(matches!(error, BucketError::GaveUp { .. }), "{error}");
    });
}

#[test]
fn following_sends_runs_as_they_end_until_it_is_stopped() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    run(async {
        let mut shipper = shipper(&recorded, bucket(Arc::clone(&memory)), ShipOptions::default());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let mut stop = Some(stop);
        let summary = shipper
            .follow(
                &ShippedRuns::All { since: None },
                async {
                    let _ = stopped.await;
                },
                &mut |event| {
                    if let ShipEvent::Committed { run, .. } = event {
                        if run.to_string() == id(1) {
                            recorded.write(2, "ok", &["search"]);
                        } else {
                            drop(stop.take());
                        }
                    }
                },
            )
            .await
            .unwrap();
        assert!(summary.is_stopped);
        assert_whole(&recorded, 2, &objects(&memory).await);
    });
}

#[test]
fn facts_of_a_later_batch_sort_last() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    run(async {
        let mut names = Vec::new();
        for number in 2..6 {
            push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
            let facts: Vec<String> = objects(&memory)
                .await
                .into_iter()
                .map(|(name, _)| name)
                .filter(|name| name.starts_with(layout::FACTS_FOLDER) && !names.contains(name))
                .collect();
            assert_eq!(facts.len(), 1);
            names.extend(facts);
            recorded.write(number, "ok", &["search"]);
        }
        assert!(names.is_sorted(), "{names:?}");
    });
}

#[test]
fn no_credential_is_written_to_the_data_directory() {
    let recorded = Recorded::new(1);
    let memory = Arc::new(InMemory::new());
    run(async {
        push(&recorded, bucket(Arc::clone(&memory))).await.unwrap();
    });
    let journals: Vec<_> = fs::read_dir(recorded.path().join("pushed")).unwrap().collect();
    assert_eq!(journals.len(), 2, "a journal and its lock");
    let mut text = Vec::new();
    for entry in journals {
        text.extend(fs::read(entry.unwrap().path()).unwrap());
    }
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("s3://team/agents") && text.contains("\"complete\":true"),
        "{text}"
    );
}

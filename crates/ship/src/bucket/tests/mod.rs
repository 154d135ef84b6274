//! Objects in a bucket, whenever requests fail or a process is killed.

pub(crate) mod support;

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;

use self::support::{Fate, FaultyStore, Kind, Scene, bucket, id, killed_at, readable, run};
use crate::bucket::layout;
use crate::bucket::package::MAX_WHOLE_BYTES;
use crate::error::ShipError;
use crate::event::ShipEvent;
use crate::shipper::{RunSelection, ShipOptions};

#[test]
fn completed_runs_arrive_with_their_facts() {
    let scene = Scene::new(3);
    run(async {
        let summary = scene.push().await.unwrap();
        assert_eq!((summary.runs, summary.redacted_values), (3, 0));
        scene.assert_whole(3).await;
        let again = scene.push().await.unwrap();
        assert_eq!((again.runs, again.runs_sent_before), (0, 3));
    });
}

#[test]
fn a_run_that_goes_on_is_not_there() {
    let scene = Scene::new(1);
    scene.recorded.write(2, "running", &["search"]);
    run(async {
        let summary = scene.push().await.unwrap();
        assert_eq!((summary.runs, summary.open_runs), (1, 1));
        scene.assert_whole(1).await;
        scene.recorded.write(2, "error", &["search"]);
        assert_eq!(scene.push().await.unwrap().runs, 1);
        scene.assert_whole(2).await;
    });
}

#[test]
fn a_damaged_run_is_reported_and_the_others_are_sent() {
    let scene = Scene::new(3);
    fs::write(scene.recorded.run(2).join("meta.json"), "{").unwrap();
    run(async {
        let summary = scene.push().await.unwrap();
        assert_eq!((summary.runs, summary.not_sent.len()), (2, 1));
        assert_eq!(summary.not_sent[0].run.to_string(), id(2));
        assert!(
            !scene
                .objects()
                .await
                .iter()
                .any(|(name, _)| name.contains(&id(2)))
        );
    });
}

#[test]
fn late_spans_are_a_new_generation() {
    let scene = Scene::new(2);
    run(async {
        scene.push().await.unwrap();
        let before = scene.objects().await;
        scene.recorded.write(1, "ok", &["search", "late"]);
        let summary = scene.push().await.unwrap();
        assert_eq!((summary.runs, summary.changed_runs), (1, 1));
        let after = scene.objects().await;
        let (found, listed) = readable(&after);
        assert!(found[&id(1)] == fs::read(scene.recorded.run(1).join("spans.jsonl")).unwrap());
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
        let meta = scene.recorded.run(1).join("meta.json");
        let renamed = fs::read_to_string(&meta).unwrap().replace("agent-1", "renamed");
        fs::write(&meta, renamed).unwrap();
        scene.push().await.unwrap();
        let last = scene.objects().await;
        assert_eq!(readable(&last).1[&id(1)], [1, 2, 3]);
        let spans = |objects: &[(String, Vec<u8>)]| {
            objects.iter().filter(|(name, _)| name.contains("/spans")).count()
        };
        assert_eq!(spans(&last), spans(&after));
    });
}

#[test]
fn two_shippers_of_one_run_agree() {
    let one = Scene::new(2);
    let other = one.other_machine(2);
    run(async {
        one.push().await.unwrap();
        other.push().await.unwrap();
        let (found, listed) = readable(&one.objects().await);
        assert_eq!(found.len(), 2);
        // Each lists it, as the same generation.
        assert_eq!(listed[&id(1)], [1, 1]);
    });
}

/// A run whose log is sent in parts.
fn large_run() -> Scene {
    let scene = Scene::new(1);
    let path = scene.recorded.run(1).join("spans.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let padding = format!("{}\n", " ".repeat(100_000));
    fs::write(&path, format!("{}{log}", padding.repeat(4))).unwrap();
    scene
}

#[test]
fn a_large_log_whose_last_answer_is_lost_is_sent() {
    let scene = large_run();
    run(async {
        let mut has_written = false;
        let store = FaultyStore::new(&scene.memory, move |request| {
            if request.is_write && !std::mem::replace(&mut has_written, true) {
                return Fate::AnswerLost;
            }
            Fate::Done
        });
        scene.push_to(store, ShipOptions::default()).await.unwrap();
        scene.assert_whole(1).await;
    });
}

#[test]
fn a_large_log_is_sent_in_parts() {
    let scene = large_run();
    run(async {
        let summary = scene.push().await.unwrap();
        assert!(summary.bytes > MAX_WHOLE_BYTES, "{summary:?}");
        scene.assert_whole(1).await;
    });
}

#[test]
fn secrets_that_another_emitter_left_do_not_leave() {
    let scene = Scene::new(1);
    let path = scene.recorded.run(1).join("spans.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let key = format!("sk-ant-{}", "a1B2".repeat(12));
    let log = log.replacen("\"search\"", &format!("\"search {key}\""), 1);
    fs::write(&path, format!("{log}not JSON but Bearer abcdefgh12345678\n")).unwrap();
    run(async {
        let summary = scene.push().await.unwrap();
        assert_eq!(summary.redacted_values, 2);
        for (name, bytes) in scene.objects().await {
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

#[test]
fn a_shipper_killed_at_any_request_leaves_each_run_once_and_whole() {
    for is_done in [false, true] {
        for kill in 0.. {
            let scene = Scene::new(3);
            let is_over = run(async {
                let dying = FaultyStore::new(&scene.memory, killed_at(kill, is_done));
                let mut options = ShipOptions::default();
                options.retry.patience = Some(Duration::ZERO);
                let first = scene.push_to(dying, options).await;
                // Whatever is committed is whole already.
                readable(&scene.objects().await);
                scene.push().await.unwrap();
                scene.assert_whole(3).await;
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
        let scene = Scene::new(2);
        let is_over = run(async {
            scene.push().await.unwrap();
            scene.recorded.write(1, "ok", &["search", "late"]);
            let dying = FaultyStore::new(&scene.memory, killed_at(kill, kill % 2 == 0));
            let mut options = ShipOptions::default();
            options.retry.patience = Some(Duration::ZERO);
            let first = scene.push_to(dying, options).await;
            readable(&scene.objects().await);
            scene.push().await.unwrap();
            let (found, listed) = readable(&scene.objects().await);
            assert!(found[&id(1)] == fs::read(scene.recorded.run(1).join("spans.jsonl")).unwrap());
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
        let scene = Scene::new(4);
        run(async {
            let mut fates = fates.into_iter();
            let faulty = FaultyStore::new(&scene.memory, move |request| match fates.next() {
                Some(0) => Fate::Lost(Kind::SlowDown),
                Some(1) if request.is_write => Fate::AnswerLost,
                _ => Fate::Done,
            });
            let mut shipper = scene.shipper(bucket(faulty), ShipOptions::default());
            let (mut waited, mut resumed) = (0, 0);
            let summary = shipper.ship(&RunSelection::All, std::future::pending(), &mut |event| match event {
                ShipEvent::Waiting { reason, .. } => {
                    assert!(reason.contains("SlowDown"), "{reason}");
                    waited += 1;
                }
                ShipEvent::Resumed => resumed += 1,
                _ => {}
            }).await.unwrap();
            assert_eq!(summary.runs, 4);
            assert!(resumed <= waited);
            scene.assert_whole(4).await;
        });
    }
}

#[test]
fn a_store_without_conditional_writes_works() {
    let scene = Scene::new(2);
    run(async {
        let store = || {
            FaultyStore::new(&scene.memory, |request| {
                if request.is_conditional {
                    Fate::Lost(Kind::Unsupported)
                } else {
                    Fate::Done
                }
            })
        };
        scene.push_to(store(), ShipOptions::default()).await.unwrap();
        scene.recorded.write(2, "ok", &["search", "late"]);
        scene.push_to(store(), ShipOptions::default()).await.unwrap();
        let (found, listed) = readable(&scene.objects().await);
        assert!(found[&id(2)] == fs::read(scene.recorded.run(2).join("spans.jsonl")).unwrap());
        assert_eq!((&listed[&id(1)], &listed[&id(2)]), (&vec![1], &vec![1, 2]));
    });
}

#[test]
fn denied_access_ends_at_once_and_says_why() {
    let scene = Scene::new(2);
    run(async {
        let denying = FaultyStore::new(&scene.memory, |_| Fate::Lost(Kind::Denied));
        let error = scene.push_to(denying, ShipOptions::default()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the store denies access: status 403, AccessDenied"
        );
        assert!(error.hint().contains("list, read and write"));
    });
}

#[test]
fn an_outage_ends_with_patience() {
    let scene = Scene::new(1);
    run(async {
        let down = FaultyStore::new(&scene.memory, |_| Fate::Lost(Kind::SlowDown));
        let mut options = ShipOptions::default();
        options.retry.patience = Some(Duration::ZERO);
        let error = scene.push_to(down, options).await.unwrap_err();
        assert!(matches!(error, ShipError::GaveUp { .. }), "{error}");
    });
}

#[test]
fn following_sends_runs_as_they_end_until_it_is_stopped() {
    let scene = Scene::new(1);
    run(async {
        let options = ShipOptions {
            follow: true,
            ..ShipOptions::default()
        };
        let mut shipper = scene.shipper(scene.bucket(), options);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let mut stop = Some(stop);
        let summary = shipper
            .ship(
                &RunSelection::All,
                async {
                    let _ = stopped.await;
                },
                &mut |event| {
                    if let ShipEvent::Completed { run, .. } = event {
                        if run.to_string() == id(1) {
                            scene.recorded.write(2, "ok", &["search"]);
                        } else {
                            drop(stop.take());
                        }
                    }
                },
            )
            .await
            .unwrap();
        assert!(summary.is_stopped);
        scene.assert_whole(2).await;
    });
}

#[test]
fn facts_of_a_later_batch_sort_last() {
    let scene = Scene::new(1);
    run(async {
        let mut names = Vec::new();
        for number in 2..6 {
            scene.push().await.unwrap();
            let facts: Vec<String> = scene
                .objects()
                .await
                .into_iter()
                .map(|(name, _)| name)
                .filter(|name| name.starts_with(layout::FACTS_FOLDER) && !names.contains(name))
                .collect();
            assert_eq!(facts.len(), 1);
            names.extend(facts);
            scene.recorded.write(number, "ok", &["search"]);
        }
        assert!(names.is_sorted(), "{names:?}");
    });
}

#[test]
fn no_credential_is_written_to_the_data_directory() {
    let scene = Scene::new(1);
    run(async {
        scene.push().await.unwrap();
    });
    let journals: Vec<_> = fs::read_dir(scene.recorded.path().join("pushed"))
        .unwrap()
        .collect();
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

#[test]
fn a_small_run_takes_two_requests_and_its_batch_one() {
    // What the simulation of growth counts: tests/interop/growth.py.
    for runs in [1, 7] {
        let scene = Scene::new(runs);
        let (store, requests) = FaultyStore::counting(&scene.memory);
        run(async {
            scene.push_to(store, ShipOptions::default()).await.unwrap();
        });
        assert_eq!(requests.load(Ordering::Relaxed), 2 * runs as usize + 1);
    }
}

//! What pruning and compaction leave in a bucket, whenever requests fail or they are killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tracer_capture::push::RetryPolicy;
use tracer_sdk::format::Timestamp;
use tracer_sdk::maintenance::PruneRules;

use super::{BucketPrunePlan, BucketPruner, RetentionOptions, RetentionSummary};
use crate::error::BucketError;
use crate::shipper::ShipOptions;
use crate::test_support::{
    Fate, FaultyStore, Kind, Scene, bucket, facts_rows, id, killed_at, listed_now, readable, run,
};

const PAST: &str = "2026-01-02";

fn pruner(store: impl ObjectStore, patience: Option<Duration>) -> BucketPruner {
    let mut retry = RetryPolicy::default();
    retry.patience = patience;
    let options = RetentionOptions {
        retry,
        settle: Duration::ZERO,
    };
    BucketPruner::new(bucket(store), options)
}

fn keep(runs: usize) -> PruneRules {
    PruneRules {
        keep: Some(runs),
        ..PruneRules::default()
    }
}

async fn prune_with(
    pruner: &mut BucketPruner,
    rules: &PruneRules,
) -> Result<(BucketPrunePlan, RetentionSummary), BucketError> {
    let plan = pruner.plan(rules, &mut |_| {}).await?;
    let summary = pruner.apply(&plan, std::future::pending(), &mut |_| {}).await?;
    Ok((plan, summary))
}

async fn prune(scene: &Scene, rules: &PruneRules) -> (BucketPrunePlan, RetentionSummary) {
    let mut pruner = pruner(Arc::clone(&scene.memory), None);
    prune_with(&mut pruner, rules).await.unwrap()
}

async fn compact(scene: &Scene) -> RetentionSummary {
    pruner(Arc::clone(&scene.memory), None)
        .compact(std::future::pending(), &mut |_| {})
        .await
        .unwrap()
}

/// The runs whose commit is there, every one of them whole, and those that the facts list.
async fn seen(scene: &Scene) -> (Vec<String>, Vec<String>) {
    let objects = scene.objects().await;
    (
        readable(&objects).0.into_keys().collect(),
        listed_now(&objects).into_keys().collect(),
    )
}

fn ids(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(id).collect()
}

async fn put(scene: &Scene, name: &str, text: &str) {
    let path = Path::from(format!("agents/{name}"));
    scene.memory.put(&path, text.to_owned().into()).await.unwrap();
}

#[test]
fn runs_that_the_rules_select_are_gone_with_all_their_objects() {
    run(async {
        let scene = Scene::new(3);
        scene.push().await.unwrap();
        scene.recorded.write(1, "ok", &["search", "late"]);
        scene.push().await.unwrap();
        // All start at the same time: the highest ID counts as the newest.
        let (plan, summary) = prune(&scene, &keep(1)).await;
        assert_eq!((plan.runs, plan.removals.len()), (3, 2));
        assert_eq!((summary.removed_runs, summary.removed_bytes), (2, plan.bytes()));
        assert_eq!(seen(&scene).await, (ids([3]), ids([3])));
        let left = scene.objects().await;
        assert!(!left.iter().any(|(name, _)| name.contains(&id(1))), "{left:?}");
        let removals: BTreeMap<String, u64> = facts_rows(&left)
            .into_iter()
            .filter(|row| row["removed"] == true)
            .map(|row| {
                (
                    row["trace_id"].as_str().unwrap().to_owned(),
                    row["generation"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(removals, BTreeMap::from([(id(1), 3), (id(2), 2)]));
        let (plan, summary) = prune(&scene, &keep(1)).await;
        assert_eq!((plan.runs, summary.removed_runs), (1, 0));
    });
}

#[test]
fn age_status_and_size_are_the_rules_of_a_data_directory() {
    run(async {
        let scene = Scene::new(3);
        scene.recorded.write(2, "error", &["search"]);
        scene.push().await.unwrap();
        let planned = async |rules: &PruneRules| {
            let mut pruner = pruner(Arc::clone(&scene.memory), None);
            let plan = pruner.plan(rules, &mut |_| {}).await.unwrap();
            let mut runs: Vec<String> = plan.removals.iter().map(|run| run.run.to_string()).collect();
            runs.sort();
            runs
        };
        let before = |time: &str| PruneRules {
            before: Some(time.parse::<Timestamp>().unwrap()),
            ..PruneRules::default()
        };
        assert_eq!(planned(&PruneRules::default()).await, ids([]));
        assert_eq!(planned(&before("2026-01-01T00:00:00Z")).await, ids([]));
        assert_eq!(planned(&before("2026-01-01T00:00:01Z")).await, ids([1, 2, 3]));
        let failed = PruneRules {
            statuses: vec![tracer_sdk::read::RunStatus::Failed],
            ..PruneRules::default()
        };
        assert_eq!(planned(&failed).await, ids([2]));
        let small = PruneRules {
            max_bytes: Some(1),
            ..PruneRules::default()
        };
        assert_eq!(planned(&small).await, ids([1, 2, 3]));
        // Nothing was removed by looking.
        assert_eq!(seen(&scene).await.0, ids([1, 2, 3]));
    });
}

#[test]
fn a_pruner_killed_at_any_request_leaves_no_half_run_and_the_next_one_goes_on() {
    for is_done in [false, true] {
        for kill in 0.. {
            let is_over = run(async {
                let scene = Scene::new(4);
                scene.push().await.unwrap();
                let dying = FaultyStore::new(&scene.memory, killed_at(kill, is_done));
                let mut dying = pruner(dying, Some(Duration::ZERO));
                let first = prune_with(&mut dying, &keep(1)).await;
                // Whatever is committed is whole, and what is listed no more is there no more.
                let (there, listed) = seen(&scene).await;
                assert!(there.iter().all(|run| listed.contains(run)), "killed at {kill}");
                prune(&scene, &keep(1)).await;
                assert_eq!(seen(&scene).await, (ids([4]), ids([4])), "killed at {kill}");
                let left = scene.objects().await;
                assert_eq!(
                    left.iter().filter(|(name, _)| name.starts_with("runs/")).count(),
                    2
                );
                first.is_ok()
            });
            if is_over {
                assert!(kill > 10, "{kill} requests");
                break;
            }
        }
    }
}

#[test]
fn a_run_that_a_baseline_needs_stays() {
    run(async {
        let scene = Scene::new(3);
        scene.push().await.unwrap();
        put(
            &scene,
            "baselines/support.json",
            &format!(r#"{{"source_run_ids": ["{}"]}}"#, id(2)),
        )
        .await;
        let (plan, _) = prune(&scene, &keep(0)).await;
        assert_eq!((plan.removals.len(), plan.needed_runs), (2, 1));
        assert_eq!(seen(&scene).await, (ids([2]), ids([2])));
    });
}

#[test]
fn a_needed_run_frees_no_room() {
    run(async {
        let scene = Scene::new(4);
        scene.push().await.unwrap();
        let mut pruner = pruner(Arc::clone(&scene.memory), None);
        let all = pruner.plan(&keep(0), &mut |_| {}).await.unwrap();
        put(&scene, "baselines/support.json", &format!(r#"["{}"]"#, id(1))).await;
        let room_for_three = PruneRules {
            max_bytes: Some(all.bytes() - 1),
            ..PruneRules::default()
        };
        let (plan, _) = prune_with(&mut pruner, &room_for_three).await.unwrap();
        assert_eq!((plan.removals.len(), plan.needed_runs), (1, 1));
        assert_eq!(seen(&scene).await, (ids([1, 3, 4]), ids([1, 3, 4])));
    });
}

#[test]
fn a_baseline_that_comes_after_the_plan_counts() {
    run(async {
        let scene = Scene::new(2);
        scene.push().await.unwrap();
        let mut pruner = pruner(Arc::clone(&scene.memory), None);
        let plan = pruner.plan(&keep(0), &mut |_| {}).await.unwrap();
        put(&scene, "baselines/late.json", &format!(r#"["{}"]"#, id(1))).await;
        let summary = pruner
            .apply(&plan, std::future::pending(), &mut |_| {})
            .await
            .unwrap();
        assert_eq!((summary.removed_runs, summary.left_runs), (1, 1));
        assert_eq!(seen(&scene).await.0, ids([1]));
    });
}

#[test]
fn nothing_is_removed_where_a_baseline_cannot_be_read() {
    run(async {
        let scene = Scene::new(1);
        scene.push().await.unwrap();
        put(&scene, "baselines/damaged.json", "{").await;
        let mut pruner = pruner(Arc::clone(&scene.memory), None);
        let error = prune_with(&mut pruner, &keep(0)).await.unwrap_err();
        assert!(error.to_string().contains("baselines/damaged.json"), "{error}");
        assert_eq!(seen(&scene).await.0, ids([1]));
    });
}

#[test]
fn a_run_of_a_newer_release_is_left() {
    run(async {
        let scene = Scene::new(2);
        scene.push().await.unwrap();
        put(
            &scene,
            &format!("runs/{}/meta.json", id(1)),
            r#"{"stored":{"version":2}}"#,
        )
        .await;
        let (_, summary) = prune(&scene, &keep(0)).await;
        assert_eq!((summary.removed_runs, summary.left_runs), (1, 1));
        let left = scene.objects().await;
        assert!(left.iter().any(|(name, _)| name.contains(&id(1))));
        assert_eq!(
            listed_now(&left).into_keys().collect::<Vec<_>>(),
            ids([1]),
            "the facts still list it"
        );
    });
}

#[test]
fn a_late_span_brings_a_removed_run_back() {
    run(async {
        let scene = Scene::new(2);
        scene.push().await.unwrap();
        prune(&scene, &keep(0)).await;
        assert_eq!(seen(&scene).await, (ids([]), ids([])));
        scene.recorded.write(1, "ok", &["search", "late"]);
        scene.push().await.unwrap();
        assert_eq!(seen(&scene).await, (ids([1]), ids([1])));
        let objects = scene.objects().await;
        assert_eq!(listed_now(&objects)[&id(1)], 3);
        // Its spans are under a name that no pruner can have listed.
        assert!(!objects.iter().any(|(name, _)| name.ends_with("/spans.jsonl")));
    });
}

#[test]
fn shippers_and_a_pruner_work_at_the_same_time() {
    for late in 0..12 {
        run(async {
            let scene = Scene::new(6);
            scene.push().await.unwrap();
            for number in 1..=3 {
                scene.recorded.write(number, "ok", &["search", "late"]);
            }
            scene.recorded.write(7, "ok", &["search"]);
            let shipping = async {
                for _ in 0..late {
                    tokio::task::yield_now().await;
                }
                let store = FaultyStore::new(&scene.memory, |_| Fate::Done);
                scene.push_to(store, ShipOptions::default()).await.unwrap();
            };
            let pruning = async {
                let store = FaultyStore::new(&scene.memory, |_| Fate::Done);
                let mut pruner = pruner(store, None);
                prune_with(&mut pruner, &keep(1)).await.unwrap()
            };
            tokio::join!(shipping, pruning);
            let (there, listed) = seen(&scene).await;
            assert_eq!(there, listed, "late by {late}");
            assert!(there.contains(&id(7)));
            prune(&scene, &keep(1)).await;
            assert_eq!(seen(&scene).await, (ids([7]), ids([7])));
        });
    }
}

#[test]
fn what_a_shipper_may_be_writing_is_left() {
    run(async {
        let scene = Scene::new(1);
        scene.push().await.unwrap();
        let meta = Path::from(format!("agents/runs/{}/meta.json", id(1)));
        scene.memory.delete(&meta).await.unwrap();
        let spans = format!("runs/{}/spans-0123456789abcdef.jsonl", id(1));
        put(&scene, &spans, "").await;
        let mut careful = BucketPruner::new(scene.bucket(), RetentionOptions::default());
        let (_, summary) = prune_with(&mut careful, &keep(0)).await.unwrap();
        assert_eq!((summary.removed_runs, summary.left_runs), (0, 1));
        assert!(scene.objects().await.iter().any(|(name, _)| *name == spans));
    });
}

#[test]
fn overloads_end_with_patience_and_nothing_is_half_done() {
    run(async {
        let scene = Scene::new(2);
        scene.push().await.unwrap();
        let mut overloads = 0;
        let faulty = FaultyStore::new(&scene.memory, move |request| {
            overloads += 1;
            match overloads % 3 {
                1 => Fate::Lost(Kind::SlowDown),
                2 if request.is_write => Fate::AnswerLost,
                _ => Fate::Done,
            }
        });
        let mut pruner = pruner(faulty, None);
        let (_, summary) = prune_with(&mut pruner, &keep(0)).await.unwrap();
        assert_eq!(summary.removed_runs, 2);
        assert_eq!(seen(&scene).await, (ids([]), ids([])));
    });
}

/// A bucket with the facts of past days in several objects each.
async fn with_past_facts() -> Scene {
    let scene = Scene::new(0);
    for number in 1..=6 {
        scene.recorded.write(number, "ok", &["search"]);
        scene.push().await.unwrap();
        if number == 4 {
            scene.age_facts(PAST).await;
        }
    }
    scene
}

fn facts_of(objects: &[(String, Vec<u8>)], date: &str) -> Vec<String> {
    let begin = format!("facts/date={date}/");
    let names = objects.iter().map(|(name, _)| name.clone());
    names.filter(|name| name.starts_with(&begin)).collect()
}

#[test]
fn a_past_day_becomes_one_object_and_the_present_is_left_alone() {
    run(async {
        let scene = with_past_facts().await;
        let before = scene.objects().await;
        assert_eq!(facts_of(&before, PAST).len(), 4);
        let summary = compact(&scene).await;
        assert_eq!((summary.compacted_days, summary.written_objects), (1, 1));
        let between = scene.objects().await;
        assert_eq!(
            facts_of(&between, PAST).len(),
            5,
            "what it replaces is still there"
        );
        let summary = compact(&scene).await;
        assert_eq!((summary.compacted_days, summary.removed_objects), (0, 4));
        let after = scene.objects().await;
        assert_eq!(facts_of(&after, PAST).len(), 1);
        assert_eq!(listed_now(&before), listed_now(&after));
        let recent = |objects: &[(String, Vec<u8>)]| {
            let facts = objects.iter().filter(|(name, _)| name.starts_with("facts/"));
            facts.filter(|(name, _)| !name.contains(PAST)).count()
        };
        assert_eq!(recent(&before), recent(&after));
        // Lines are the same, byte for byte.
        let mut lines = [&before, &after].map(|objects| {
            let mut rows: Vec<String> = facts_rows(objects).iter().map(ToString::to_string).collect();
            rows.sort();
            rows
        });
        assert_eq!(std::mem::take(&mut lines[0]), lines[1]);
        assert_eq!(compact(&scene).await, RetentionSummary::default());
    });
}

#[test]
fn a_compaction_killed_at_any_request_loses_no_line() {
    for is_done in [false, true] {
        for kill in 0.. {
            let is_over = run(async {
                let scene = with_past_facts().await;
                let expected = listed_now(&scene.objects().await);
                for _ in 0..2 {
                    let dying = FaultyStore::new(&scene.memory, killed_at(kill, is_done));
                    let mut dying = pruner(dying, Some(Duration::ZERO));
                    let ended = dying.compact(std::future::pending(), &mut |_| {}).await;
                    assert_eq!(listed_now(&scene.objects().await), expected, "killed at {kill}");
                    if ended.is_ok() {
                        return true;
                    }
                }
                compact(&scene).await;
                compact(&scene).await;
                let objects = scene.objects().await;
                assert_eq!(listed_now(&objects), expected);
                assert_eq!(facts_of(&objects, PAST).len(), 1);
                false
            });
            if is_over {
                assert!(kill > 6, "{kill} requests");
                break;
            }
        }
    }
}

#[test]
fn a_reader_that_listed_before_a_compaction_finds_what_it_listed() {
    run(async {
        let scene = with_past_facts().await;
        let listed = facts_of(&scene.objects().await, PAST);
        let settling = RetentionOptions {
            settle: Duration::from_secs(3600),
            ..RetentionOptions::default()
        };
        for _ in 0..3 {
            BucketPruner::new(scene.bucket(), settling)
                .compact(std::future::pending(), &mut |_| {})
                .await
                .unwrap();
        }
        let names = facts_of(&scene.objects().await, PAST);
        assert!(listed.iter().all(|name| names.contains(name)), "{names:?}");
        assert_eq!(names.len(), 5, "it is written once");
        // For a reader who is past the end of that day nothing is new.
        assert!(names[4].as_str() < "facts/date=2026-01-03/");
        assert!(names[..4].iter().all(|name| *name < names[4]));
    });
}

#[test]
fn what_a_removed_run_said_leaves_the_facts() {
    run(async {
        let scene = with_past_facts().await;
        compact(&scene).await;
        compact(&scene).await;
        prune(&scene, &keep(3)).await;
        assert!(
            facts_rows(&scene.objects().await)
                .iter()
                .any(|row| row["name"] == "agent-1")
        );
        compact(&scene).await;
        compact(&scene).await;
        let objects = scene.objects().await;
        let names: Vec<String> = facts_rows(&objects)
            .iter()
            .filter_map(|row| Some(row["name"].as_str()?.to_owned()))
            .collect();
        assert_eq!(names, ["agent-4", "agent-5", "agent-6"]);
        assert_eq!(listed_now(&objects).into_keys().collect::<Vec<_>>(), ids(4..=6));
    });
}

#[test]
fn lines_of_a_newer_release_stay_as_they_are() {
    run(async {
        let scene = with_past_facts().await;
        let newer = format!("{{\"version\":2,\"trace_id\":\"{}\"}}\n", id(9));
        let name = format!("facts/date={PAST}/000000.000000-newer-0000000000000001.jsonl");
        put(&scene, &name, &newer).await;
        compact(&scene).await;
        compact(&scene).await;
        let objects = scene.objects().await;
        assert_eq!(facts_of(&objects, PAST).len(), 2);
        let kept = objects.iter().find(|(known, _)| *known == name).unwrap();
        assert_eq!(Bytes::from(kept.1.clone()), Bytes::from(newer));
    });
}

#[test]
fn a_day_with_many_lines_is_a_few_objects() {
    run(async {
        let scene = Scene::new(60);
        for is_compressed in [true, true] {
            let options = ShipOptions {
                is_compressed,
                again: true,
                ..ShipOptions::default()
            };
            scene.push_with(options).await.unwrap();
        }
        scene.age_facts(PAST).await;
        let expected = listed_now(&scene.objects().await);
        compact(&scene).await;
        compact(&scene).await;
        let objects = scene.objects().await;
        assert_eq!(listed_now(&objects), expected);
        let names = facts_of(&objects, PAST);
        assert!((2..60).contains(&names.len()), "{names:?}");
        assert!(names.iter().all(|name| name.ends_with(".jsonl.zst")));
        assert_eq!(facts_rows(&objects).len(), 60, "each line once");
    });
}

#[test]
fn removing_a_run_takes_a_read_and_a_listing() {
    // What the simulation of growth counts: tests/interop/growth.py.
    let of_runs = |runs: u32| {
        let scene = Scene::new(runs);
        let (store, requests) = FaultyStore::counting(&scene.memory);
        run(async {
            scene.push().await.unwrap();
            prune_with(&mut pruner(store, None), &keep(0)).await.unwrap();
        });
        requests.load(Ordering::Relaxed)
    };
    // Facts are listed and read, the mark is written, baselines are listed twice, objects are removed twice, facts are written.
    assert_eq!((of_runs(1), of_runs(9)), (9 + 2, 9 + 18));
}

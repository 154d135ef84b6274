//! Joining of the facts of past days: many small objects of a day become one.
//!
//! What joins others is written before they are removed, and its name is the hash of its lines. So a reader finds each line at
//! any moment, two that join at the same time write the same, and one that is killed leaves lines twice, which count once.

use std::collections::BTreeSet;

use bytes::Bytes;
use object_store::ObjectMeta;
use object_store::path::Path;
use tracer_insight::digest::sha256_hex;
use tracer_insight::units;

use super::layout;
use super::store::OpenBucket;
use crate::error::{RequestFailure, ShipError, optional};
use crate::event::ShipEvent;
use crate::retry::{Requests, RetryPolicy};

/// Days before today whose facts stay as they are: shippers may still write them, and readers list them whole.
const OPEN_DAYS: i64 = 1;
/// Bytes of lines with which an object is full.
#[cfg(not(test))]
const FULL_BYTES: usize = 8 * 1024 * 1024;
#[cfg(test)]
const FULL_BYTES: usize = 16 * 1024;
/// Bytes of an object of facts, and of its content.
pub(crate) const MAX_FACTS_BYTES: u64 = 512 * 1024 * 1024;

/// Result of joining.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinSummary {
    /// Days whose facts were joined.
    pub days: u64,
    /// Objects that were joined, and are gone.
    pub joined_objects: u64,
    /// Objects that were written for them.
    pub written_objects: u64,
    /// `true` when it was stopped before everything was done.
    pub is_stopped: bool,
}

/// Objects that become one.
#[derive(Default)]
struct JoinGroup {
    sources: Vec<Path>,
    lines: BTreeSet<Vec<u8>>,
    bytes: usize,
}

impl OpenBucket {
    /// Joins the facts of each day before yesterday into one object, or a few of a bounded size. Shippers, readers and others
    /// that join can work at the same time. It ends early, without an error, when `stop` is ready.
    ///
    /// # Errors
    ///
    /// [`ShipError`]. Nothing is lost: the next call finds what is left.
    pub async fn join_past_days(
        &self,
        stop: impl Future<Output = ()>,
        observe: &mut dyn FnMut(ShipEvent),
    ) -> Result<JoinSummary, ShipError> {
        let requests = Requests::new(RetryPolicy::default(), observe);
        let mut join = Join {
            bucket: self,
            requests: &requests,
            summary: JoinSummary::default(),
        };
        let is_stopped = requests.run_until(stop, join.all_days()).await?;
        Ok(JoinSummary {
            is_stopped,
            ..join.summary
        })
    }
}

/// Joining of a bucket's facts.
struct Join<'a> {
    bucket: &'a OpenBucket,
    requests: &'a Requests<'a>,
    summary: JoinSummary,
}

impl Join<'_> {
    async fn all_days(&mut self) -> Result<(), ShipError> {
        let (bucket, requests) = (self.bucket, self.requests);
        let open = layout::partition(units::now(), OPEN_DAYS);
        let partitions = requests.repeat(async || bucket.partitions().await).await?;
        for partition in partitions.iter().filter(|partition| **partition < open) {
            requests.check()?;
            let folder = layout::facts_object(&bucket.prefix, partition);
            let mut objects = requests.repeat(async || bucket.list(&folder).await).await?;
            objects.retain(|object| {
                layout::facts_name_of(&bucket.prefix, &object.location).is_some()
                    && object.size <= MAX_FACTS_BYTES
            });
            let before = self.summary.joined_objects;
            // A joined object is read only where there is something to add to it: those that are full stay.
            objects.sort_by_key(|object| (layout::is_joined(&object.location), object.location.clone()));
            if objects.len() > 1 {
                self.day(partition, &objects).await?;
            }
            self.summary.days += u64::from(self.summary.joined_objects > before);
        }
        Ok(())
    }

    async fn day(&mut self, partition: &str, objects: &[ObjectMeta]) -> Result<(), ShipError> {
        let mut group = JoinGroup::default();
        for object in objects {
            let path = &object.location;
            if group.sources.is_empty() && layout::is_joined(path) {
                return Ok(());
            }
            self.requests.check()?;
            let get = async || optional(self.bucket.get(path, MAX_FACTS_BYTES).await);
            let Some(found) = self.requests.repeat(get).await? else {
                // Another process joins the day.
                return Ok(());
            };
            group.add(path, &found.bytes);
            if group.bytes >= FULL_BYTES {
                self.write(partition, std::mem::take(&mut group)).await?;
            }
        }
        self.write(partition, group).await
    }

    async fn write(&mut self, partition: &str, group: JoinGroup) -> Result<(), ShipError> {
        if group.sources.len() < 2 {
            return Ok(());
        }
        let (bucket, requests) = (self.bucket, self.requests);
        let lines: Vec<u8> = group.lines.into_iter().flatten().collect();
        let name = layout::joined_name(partition, &sha256_hex(&lines));
        let path = layout::facts_object(&bucket.prefix, &name);
        let bytes = Bytes::from(lines);
        let create = async || match bucket.create(&path, bytes.clone()).await {
            Err(RequestFailure::Exists) => Ok(()),
            done => done,
        };
        requests.repeat(create).await?;
        let mut sources = group.sources;
        sources.retain(|source| *source != path);
        requests
            .repeat(async || bucket.remove(sources.clone()).await)
            .await?;
        self.summary.joined_objects += sources.len() as u64;
        self.summary.written_objects += 1;
        Ok(())
    }
}

impl JoinGroup {
    /// Adds the lines of an object.
    fn add(&mut self, path: &Path, content: &[u8]) {
        for line in content
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let line = [line, b"\n"].concat();
            self.bytes += line.len();
            self.lines.insert(line);
        }
        self.sources.push(path.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;
    use crate::bucket::tests::support::{FaultyStore, Scene, bucket, facts_rows, killed_at, objects, run};

    const PAST: &str = "2026-01-01";

    /// A bucket whose facts of a past day are five objects, and those of today one.
    async fn aged() -> Scene {
        let scene = Scene::new(0);
        for number in 1..=5 {
            scene.recorded.write(number, "ok", &["search"]);
            scene.push().await.unwrap();
        }
        scene.age_facts(PAST).await;
        scene.recorded.write(6, "ok", &["search"]);
        scene.push().await.unwrap();
        scene
    }

    async fn join(store: &Arc<InMemory>) -> JoinSummary {
        let joined = bucket(Arc::clone(store));
        joined
            .join_past_days(std::future::pending(), &mut |_| {})
            .await
            .unwrap()
    }

    async fn facts_names(scene: &Scene) -> Vec<String> {
        let all = scene.objects().await.into_iter();
        all.map(|(name, _)| name)
            .filter(|name| name.starts_with("facts/"))
            .collect()
    }

    #[test]
    fn a_past_day_becomes_one_object_and_today_stays() {
        run(async {
            let scene = aged().await;
            let summary = join(&scene.memory).await;
            assert_eq!(
                (summary.days, summary.joined_objects, summary.written_objects),
                (1, 5, 1)
            );
            let names = facts_names(&scene).await;
            assert_eq!(names.len(), 2, "{names:?}");
            assert!(names[0].starts_with("facts/date=2026-01-01/235959.999999-joined-"));
            scene.assert_whole(6).await;
            assert_eq!(join(&scene.memory).await, JoinSummary::default());
            // A late object joins those that were joined.
            scene.recorded.write(7, "ok", &["search"]);
            scene.push().await.unwrap();
            scene.age_facts(PAST).await;
            join(&scene.memory).await;
            assert_eq!(facts_names(&scene).await.len(), 1);
            scene.assert_whole(7).await;
        });
    }

    #[test]
    fn what_is_joined_is_not_read_again() {
        run(async {
            let memory = Arc::new(InMemory::new());
            for number in 0..4 {
                let name = layout::facts_object(
                    &Path::from("agents"),
                    &format!("date={PAST}/{number:06}.000000-a-1.jsonl"),
                );
                let line = format!("{number}{}\n", "x".repeat(FULL_BYTES / 2));
                memory.put(&name, line.into()).await.unwrap();
            }
            assert_eq!(join(&memory).await.written_objects, 2);
            let (store, requests) = FaultyStore::counting(&memory);
            let again = bucket(store);
            let summary = again.join_past_days(std::future::pending(), &mut |_| {}).await;
            assert_eq!(summary.unwrap(), JoinSummary::default());
            // The days, and the objects of this one.
            assert_eq!(requests.load(Ordering::SeqCst), 2);
        });
    }

    #[test]
    fn one_killed_at_any_request_loses_no_line() {
        for is_done in [false, true] {
            for kill in 0.. {
                let is_over = run(async {
                    let scene = aged().await;
                    let dying = bucket(FaultyStore::new(&scene.memory, killed_at(kill, is_done)));
                    let first = dying.join_past_days(std::future::pending(), &mut |_| {}).await;
                    let rows = facts_rows(&objects(&scene.memory).await);
                    let runs: BTreeSet<&str> =
                        rows.iter().filter_map(|row| row["trace_id"].as_str()).collect();
                    assert_eq!(runs.len(), 6, "killed at {kill}");
                    join(&scene.memory).await;
                    scene.assert_whole(6).await;
                    first.is_ok()
                });
                if is_over {
                    break;
                }
            }
        }
    }
}

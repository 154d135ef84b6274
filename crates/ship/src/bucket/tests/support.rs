//! A store in memory that fails when a test wants it to, and runs to send.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracer_insight::digest::sha256_hex;
use tracer_sdk::settings::Settings;

use crate::bucket::BucketDestination;
use crate::bucket::committed_run::CommittedRun;
use crate::bucket::store::OpenBucket;
use crate::bucket::url::BucketUrl;
use crate::error::ShipError;
use crate::event::ShipSummary;
use crate::shipper::{RunSelection, ShipOptions, Shipper};

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Done,
    /// It fails, and nothing is done.
    Lost(Kind),
    /// It is done, and the answer is lost.
    AnswerLost,
}

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    SlowDown,
    Denied,
    /// The store knows no conditional writes.
    Unsupported,
    Missing,
}

type Decide = Box<dyn FnMut(&Request) -> Fate + Send>;

/// A request as a test sees it.
pub(crate) struct Request {
    /// The number of requests before.
    pub(crate) number: usize,
    pub(crate) is_write: bool,
    pub(crate) is_conditional: bool,
}

/// A store in memory whose requests fail as a test decides.
pub(crate) struct FaultyStore {
    inner: Arc<InMemory>,
    decide: Mutex<(usize, Decide)>,
}

impl FaultyStore {
    pub(crate) fn new(inner: &Arc<InMemory>, decide: impl FnMut(&Request) -> Fate + Send + 'static) -> Self {
        Self {
            inner: Arc::clone(inner),
            decide: Mutex::new((0, Box::new(decide))),
        }
    }

    /// A store in which everything works, and the number of requests to it.
    pub(crate) fn counting(inner: &Arc<InMemory>) -> (Self, Arc<AtomicUsize>) {
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        let store = Self::new(inner, move |_| {
            counter.fetch_add(1, Atomic::SeqCst);
            Fate::Done
        });
        (store, requests)
    }

    fn fate(&self, is_write: bool, is_conditional: bool) -> Result<bool> {
        let fate = {
            let mut decide = self.decide.lock();
            let request = Request {
                number: decide.0,
                is_write,
                is_conditional,
            };
            decide.0 += 1;
            (decide.1)(&request)
        };
        match fate {
            Fate::Done => Ok(true),
            Fate::AnswerLost => Ok(false),
            Fate::Lost(kind) => Err(failure(kind)),
        }
    }
}

pub(crate) fn failure(kind: Kind) -> Error {
    let said = |text: &str| Box::<dyn std::error::Error + Send + Sync>::from(text.to_owned());
    match kind {
        Kind::SlowDown => Error::Generic {
            store: "test",
            source: said(
                "Server returned non-2xx status code: 503 Service Unavailable: <Code>SlowDown</Code>",
            ),
        },
        Kind::Denied => Error::PermissionDenied {
            path: String::new(),
            source: said("Server returned non-2xx status code: 403 Forbidden: <Code>AccessDenied</Code>"),
        },
        Kind::Unsupported => Error::NotImplemented {
            operation: "put".to_owned(),
            implementer: "test".to_owned(),
        },
        Kind::Missing => Error::NotFound {
            path: String::new(),
            source: said("Server returned non-2xx status code: 404 Not Found: <Code>NoSuchUpload</Code>"),
        },
    }
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FaultyStore")
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FaultyStore")
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        // Whoever else works at the same time goes on.
        tokio::task::yield_now().await;
        let is_conditional = options.mode != object_store::PutMode::Overwrite;
        let is_answered = self.fate(true, is_conditional)?;
        let result = self.inner.put_opts(path, payload, options).await?;
        if is_answered {
            Ok(result)
        } else {
            Err(failure(Kind::SlowDown))
        }
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let is_answered = self.fate(true, false)?;
        let upload = self.inner.put_multipart_opts(path, options).await?;
        Ok(if is_answered {
            upload
        } else {
            Box::new(LostCompletion(upload))
        })
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        tokio::task::yield_now().await;
        self.fate(false, false)?;
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        // One request for all of them.
        match self.fate(true, false) {
            Ok(true) => self.inner.delete_stream(paths),
            Ok(false) => self
                .inner
                .delete_stream(paths)
                .map(|_| Err(failure(Kind::SlowDown)))
                .boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.fate(false, false) {
            Ok(_) => self.inner.list(prefix),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.fate(false, false)?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// An upload that is completed by a request whose answer is lost: its repetition and an abort find no upload any more.
#[derive(Debug)]
struct LostCompletion(Box<dyn MultipartUpload>);

#[async_trait]
impl MultipartUpload for LostCompletion {
    fn put_part(&mut self, part: PutPayload) -> UploadPart {
        self.0.put_part(part)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.0.complete().await?;
        Err(failure(Kind::Missing))
    }

    async fn abort(&mut self) -> Result<()> {
        Err(failure(Kind::Missing))
    }
}

pub(crate) fn url() -> BucketUrl {
    "s3://team/agents".parse().unwrap()
}

pub(crate) fn bucket(store: impl ObjectStore) -> OpenBucket {
    OpenBucket::with_store(&url(), Arc::new(store))
}

pub(crate) async fn objects(store: &InMemory) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut listed = store.list(None);
    while let Some(object) = listed.next().await {
        let path = object.unwrap().location;
        let bytes = store.get(&path).await.unwrap().bytes().await.unwrap();
        let name = path.as_ref().strip_prefix("agents/").unwrap().to_owned();
        found.push((name, bytes.to_vec()));
    }
    found.sort();
    found
}

/// A data directory with runs.
pub(crate) struct Recorded {
    folder: tempfile::TempDir,
}

impl Recorded {
    pub(crate) fn new(runs: u32) -> Self {
        let recorded = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for number in 1..=runs {
            recorded.write(number, "ok", &["search"]);
        }
        recorded
    }

    pub(crate) fn path(&self) -> &FilePath {
        self.folder.path()
    }

    pub(crate) fn run(&self, number: u32) -> PathBuf {
        self.path().join("runs").join(id(number))
    }

    pub(crate) fn write(&self, number: u32, status: &str, tools: &[&str]) {
        let folder = self.run(number);
        fs::create_dir_all(&folder).unwrap();
        let time = |second: usize| format!("2026-01-01T00:00:{second:02}.000000Z");
        let (ended, duration) = match status {
            "running" => (Value::Null, Value::Null),
            _ => (json!(time(30)), json!(30_000)),
        };
        let meta = json!({
            "spec_version": "0.2.0", "trace_id": id(number), "run_name": format!("agent-{number}"),
            "started_at": time(0), "ended_at": ended, "duration_ms": duration, "status": status,
            "counts": {"llm_calls": 0, "tool_calls": tools.len(), "errors": 0, "loop_warnings": 0},
        });
        let span = |span: u64, parent: Value, name: &str, attributes: Value| {
            json!({
                "trace_id": id(number), "span_id": format!("{span:016x}"), "parent_span_id": parent, "name": name,
                "kind": "INTERNAL", "start_time": time(1), "end_time": time(2), "duration_ms": 1000,
                "attributes": attributes, "events": [], "status_code": "OK", "status_description": "",
            })
            .to_string()
                + "\n"
        };
        let mut log: String = tools
            .iter()
            .enumerate()
            .map(|(at, tool)| {
                let attributes = json!({"tracer.tool_name": tool, "tracer.status": "ok"});
                span(at as u64 + 2, json!(format!("{:016x}", 1)), tool, attributes)
            })
            .collect();
        log += &span(1, Value::Null, "agent", json!({}));
        fs::write(folder.join("spans.jsonl"), log).unwrap();
        fs::write(folder.join("meta.json"), meta.to_string()).unwrap();
    }
}

/// A machine with runs, and the bucket that it sends them to.
pub(crate) struct Scene {
    pub(crate) recorded: Recorded,
    pub(crate) memory: Arc<InMemory>,
}

impl Scene {
    pub(crate) fn new(runs: u32) -> Self {
        Self {
            recorded: Recorded::new(runs),
            memory: Arc::new(InMemory::new()),
        }
    }

    /// Another machine that sends the same runs to the same bucket.
    pub(crate) fn other_machine(&self, runs: u32) -> Self {
        Self {
            recorded: Recorded::new(runs),
            memory: Arc::clone(&self.memory),
        }
    }

    pub(crate) fn bucket(&self) -> OpenBucket {
        bucket(Arc::clone(&self.memory))
    }

    pub(crate) fn shipper(&self, bucket: OpenBucket, options: ShipOptions) -> Shipper<BucketDestination> {
        shipper(self.recorded.path(), bucket, options)
    }

    /// Sends all runs through a store of the bucket.
    pub(crate) async fn push_to(
        &self,
        store: impl ObjectStore,
        options: ShipOptions,
    ) -> std::result::Result<ShipSummary, ShipError> {
        self.shipper(bucket(store), options)
            .ship(&RunSelection::All, std::future::pending(), &mut |_| {})
            .await
    }

    pub(crate) async fn push_with(
        &self,
        options: ShipOptions,
    ) -> std::result::Result<ShipSummary, ShipError> {
        self.push_to(Arc::clone(&self.memory), options).await
    }

    pub(crate) async fn push(&self) -> std::result::Result<ShipSummary, ShipError> {
        self.push_with(ShipOptions::default()).await
    }

    /// All objects, by their names below the prefix.
    pub(crate) async fn objects(&self) -> Vec<(String, Vec<u8>)> {
        objects(&self.memory).await
    }

    /// Makes all facts those of a day that has passed.
    pub(crate) async fn age_facts(&self, date: &str) {
        for (name, bytes) in self.objects().await {
            let is_recent = name.starts_with("facts/") && !name.contains(date);
            if let Some((_, rest)) = name.rsplit_once('/').filter(|_| is_recent) {
                let old = Path::from(format!("agents/{name}"));
                let new = Path::from(format!("agents/facts/date={date}/{rest}"));
                self.memory.put(&new, bytes.into()).await.unwrap();
                self.memory.delete(&old).await.unwrap();
            }
        }
    }

    /// Each of this number of runs is there once, whole, and listed once.
    pub(crate) async fn assert_whole(&self, runs: u32) {
        let (found, listed) = readable(&self.objects().await);
        assert_eq!(found.len(), runs as usize);
        for number in 1..=runs {
            let log = fs::read(self.recorded.run(number).join("spans.jsonl")).unwrap();
            assert!(found[&id(number)] == log, "the log of run {number}");
            assert_eq!(listed[&id(number)], [1], "the facts of run {number}");
        }
        assert_eq!(listed.len(), runs as usize);
    }
}

pub(crate) fn shipper(
    data_dir: &FilePath,
    bucket: OpenBucket,
    options: ShipOptions,
) -> Shipper<BucketDestination> {
    let settings = Settings::with_data_dir(data_dir);
    Shipper::open(data_dir, BucketDestination::new(bucket, &settings), options).unwrap()
}

/// Does work with a clock that does not wait.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(work)
}

/// Whoever is killed: from a request on, nothing is done.
pub(crate) fn killed_at(kill: usize, done: bool) -> impl FnMut(&Request) -> Fate + Send {
    move |request| match request.number.cmp(&kill) {
        Ordering::Less => Fate::Done,
        // Whether the last request arrived, nobody knows.
        Ordering::Equal if done => Fate::AnswerLost,
        _ => Fate::Lost(Kind::Denied),
    }
}

/// All lines of facts that this version understands.
pub(crate) fn facts_rows(objects: &[(String, Vec<u8>)]) -> Vec<Value> {
    let mut rows = Vec::new();
    for (_, bytes) in objects.iter().filter(|(name, _)| name.starts_with("facts/")) {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let parsed = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.extend(parsed.filter(|row| row["version"] == 2));
    }
    rows
}

/// What a reader finds: of each run that is committed its log, whole; and how often the facts list it.
pub(crate) fn readable(
    objects: &[(String, Vec<u8>)],
) -> (BTreeMap<String, Vec<u8>>, BTreeMap<String, Vec<u64>>) {
    let (mut runs, mut listed) = (BTreeMap::new(), BTreeMap::<String, Vec<u64>>::new());
    let get = |name: &str| {
        objects
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, bytes)| bytes.clone())
    };
    for (name, bytes) in objects {
        if let Some(folder) = name.strip_suffix("/meta.json") {
            let stored = CommittedRun::parse(bytes).expect("a run");
            let log = get(&format!("{folder}/{}", stored.stored.spans)).expect("its spans");
            let hash = sha256_hex(&log);
            assert_eq!(
                (hash, log.len() as u64),
                (stored.stored.sha256, stored.stored.bytes)
            );
            runs.insert(folder.rsplit('/').next().unwrap().to_owned(), log);
        }
    }
    for row in facts_rows(objects) {
        let run = row["trace_id"].as_str().unwrap().to_owned();
        let generation = row["generation"].as_u64().unwrap();
        listed.entry(run).or_default().push(generation);
    }
    (runs, listed)
}

pub(crate) fn id(number: u32) -> String {
    format!("{number:08x}000000000000000000000001")
}

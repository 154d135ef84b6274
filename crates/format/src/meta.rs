//! `meta.json`: what a run is, when it ran, how it ended and what it counted (specification, *meta.json*).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{SPEC_VERSION, StoredTime, TraceId};

words! {
    /// Status of a run on disk (specification, *States and transitions*).
    ///
    /// ```
    /// use tracer_sdk::format::RecordedStatus;
    ///
    /// let status = RecordedStatus::from_word("error").unwrap();
    /// assert_eq!(status, RecordedStatus::Error);
    /// assert!(status.is_completed());
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum RecordedStatus in tracer_sdk::format {
        /// The run has not ended, or its process died before it could say so.
        Running = "running",
        /// The run ended well.
        Ok = "ok",
        /// The run ended with an error, a panic, a guardrail or a cancellation.
        Error = "error",
    }
}

impl RecordedStatus {
    /// Returns whether the run has ended.
    ///
    /// ```
    /// use tracer_sdk::format::RecordedStatus;
    ///
    /// assert!(RecordedStatus::Error.is_completed());
    /// assert!(!RecordedStatus::Running.is_completed());
    /// ```
    #[must_use]
    pub const fn is_completed(self) -> bool {
        !matches!(self, Self::Running)
    }
}

/// Number of records of each type in the projection of a run (decisions, section 4).
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// assert_eq!((run.meta.counts.tool_calls, run.meta.counts.llm_calls), (1, 0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Model calls, failed ones included.
    pub llm_calls: u64,
    /// Tool calls, failed ones included.
    pub tool_calls: u64,
    /// `ERROR` records; a failed call is not one.
    pub errors: u64,
    /// Loop warnings.
    pub loop_warnings: u64,
}

impl Counts {
    /// Adds as many records as `more`.
    pub fn add(&mut self, more: Self) {
        self.llm_calls += more.llm_calls;
        self.tool_calls += more.tool_calls;
        self.errors += more.errors;
        self.loop_warnings += more.loop_warnings;
    }

    /// Subtracts the earlier counts `before`.
    #[must_use]
    pub fn saturating_sub(self, before: Self) -> Self {
        Self {
            llm_calls: self.llm_calls.saturating_sub(before.llm_calls),
            tool_calls: self.tool_calls.saturating_sub(before.tool_calls),
            errors: self.errors.saturating_sub(before.errors),
            loop_warnings: self.loop_warnings.saturating_sub(before.loop_warnings),
        }
    }
}

/// Spans that could not be written, and why the first of them could not (decisions, section 5).
///
/// ```
/// use tracer_sdk::format::Dropped;
///
/// let dropped = Dropped { spans: 3, reason: "No space left on device".to_owned() };
/// assert_eq!(
///     serde_json::to_string(&dropped)?,
///     r#"{"spans":3,"reason":"No space left on device"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dropped {
    /// Number of spans that are missing from the log.
    pub spans: u64,
    /// Why the first one is missing.
    pub reason: String,
}

/// The metadata of a run, with every key that this version does not know kept as it was.
///
/// ```
/// use tracer_sdk::format::{RecordedStatus, SPEC_VERSION};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| ());
/// assert_eq!(run.meta.run_name.as_deref(), Some("captured"));
/// assert_eq!(run.meta.status, RecordedStatus::Ok);
/// assert_eq!(run.meta.spec_version.as_deref(), Some(SPEC_VERSION));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunMeta {
    /// The declared version; absent in legacy `0.2` directories.
    #[cfg_attr(
        feature = "schema",
        schemars(
            skip_serializing_if = "Option::is_none",
            schema_with = "super::schema::readable_version"
        )
    )]
    pub spec_version: Option<String>,
    /// The run's ID, also the name of its directory.
    pub trace_id: TraceId,
    /// The run's label.
    pub run_name: Option<String>,
    /// When the run started.
    pub started_at: StoredTime,
    /// When the run ended.
    pub ended_at: Option<StoredTime>,
    /// Duration of the run, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Status of the run.
    pub status: RecordedStatus,
    /// Counts of the run when the file was last written.
    pub counts: Counts,
    /// Keys that this version does not know, kept when the file is rewritten.
    #[cfg_attr(feature = "schema", schemars(flatten, with = "super::schema::AdditiveKeys"))]
    pub additional: Map<String, Value>,
}

/// The additive keys of `meta.json` that say what became of a run's records.
/// The key of `meta.json` that is `false` where readers count the log.
pub const COUNTS_EXACT: &str = "counts_exact";
/// The key of `meta.json` that counts the spans which could not be written.
pub const DROPPED: &str = "dropped";
/// The key of `meta.json` that counts the parts of records which exceed what a record keeps.
pub const LEFT_OUT: &str = "left_out";
/// The key of `meta.json` that counts the spans which ended after their run.
pub const LATE_SPANS: &str = "late_spans";
/// The key of `meta.json` that lists the spans which were open when the run ended.
pub const UNFINISHED_SPANS: &str = "unfinished_spans";
/// The key of `meta.json` that counts the records which found no run while this one and others were live.
pub const UNATTACHED: &str = "unattached";
/// The key of `meta.json` that counts the loops among the blocks that were warned of, so that a list of runs need not read their spans.
pub const LOOPS: &str = "loops";

impl RunMeta {
    /// The metadata of a run that has started.
    ///
    /// ```
    /// use tracer_sdk::format::{RecordedStatus, RunMeta};
    ///
    /// let id = "10000000000000000000000000000001".parse()?;
    /// let meta = RunMeta::running(id, Some("ask".to_owned()), "2026-01-01T00:00:00.000000Z".parse()?);
    /// assert_eq!((meta.status, meta.ended_at), (RecordedStatus::Running, None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn running(trace_id: TraceId, run_name: Option<String>, started_at: StoredTime) -> Self {
        Self {
            spec_version: Some(SPEC_VERSION.to_owned()),
            trace_id,
            run_name,
            started_at,
            ended_at: None,
            duration_ms: None,
            status: RecordedStatus::Running,
            counts: Counts::default(),
            additional: Map::new(),
        }
    }

    /// Sets an additive key.
    ///
    /// ```
    /// let mut meta = tracer_sdk::testing::capture(|| ()).meta;
    /// meta.set("loops", 2);
    /// assert_eq!(meta.loops(), Some(2));
    /// ```
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.additional.insert(key.to_owned(), value.into());
    }

    /// Returns whether `counts` are those of the run's records. The process that ended the run did not see the lines
    /// that other processes wrote into its log: such a run is counted by its readers, and spans of processes that died
    /// may be missing as parents.
    ///
    /// ```
    /// assert!(tracer_sdk::testing::capture(|| ()).meta.has_exact_counts());
    /// ```
    #[must_use]
    pub fn has_exact_counts(&self) -> bool {
        self.additional.get(COUNTS_EXACT) != Some(&Value::Bool(false))
    }

    /// The spans that the emitter could not write; `None` when it wrote all.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// assert_eq!(capture(|| ()).meta.dropped(), None);
    /// ```
    #[must_use]
    pub fn dropped(&self) -> Option<Dropped> {
        let dropped = self.additional.get(DROPPED)?;
        let reason = dropped.get("reason").and_then(Value::as_str);
        Some(Dropped {
            spans: dropped.get("spans")?.as_u64()?,
            reason: reason.unwrap_or("no reason is given").to_owned(),
        })
    }

    /// Number of parts of records that were left out, because they exceed the limits of a record: attributes, logs,
    /// links, errors of the run, pieces of a streamed answer.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    /// use tracer_sdk::tool_call;
    ///
    /// let run = capture(|| {
    ///     let call = (0..130).fold(tool_call("search"), |call, number| call.attribute(&format!("key {number}"), &1));
    ///     call.record()
    /// });
    /// assert_eq!(run.meta.left_out(), 2);
    /// ```
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.additive_count(LEFT_OUT)
    }

    /// Number of spans that ended after the run had ended, in tasks and threads that outlived it.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("ask").config(&config).start();
    /// let context = run.context().unwrap();
    /// let directory = run.dir().unwrap();
    /// run.finish();
    /// context.in_scope(|| tracer_sdk::tool_call("log").record())?;
    /// assert_eq!(tracer_runs::LoadedRun::read(&directory)?.meta.late_spans(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn late_spans(&self) -> u64 {
        self.additive_count(LATE_SPANS)
    }

    /// Number of spans that had not ended when the run did, and have not ended since.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("ask").config(&config).start();
    /// let call = tracer_sdk::llm_call("gpt-5").start()?;
    /// let directory = run.dir().unwrap();
    /// run.finish();
    /// assert_eq!(tracer_runs::LoadedRun::read(&directory)?.meta.unfinished_spans(), 1);
    /// call.end()?;
    /// assert_eq!(tracer_runs::LoadedRun::read(&directory)?.meta.unfinished_spans(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unfinished_spans(&self) -> u64 {
        self.additive_count(UNFINISHED_SPANS)
    }

    /// Number of records of the process that found no run while this one was live: there were several live runs, and
    /// none was set for the thread or task.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// assert_eq!(capture(|| ()).meta.unattached_records(), 0);
    /// ```
    #[must_use]
    pub fn unattached_records(&self) -> u64 {
        self.additive_count(UNATTACHED)
    }

    /// Time by which the first span of an imported run began before the root, as their clocks differ, in milliseconds.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// assert_eq!(capture(|| ()).meta.began_before_root_ms(), 0);
    /// ```
    #[must_use]
    pub fn began_before_root_ms(&self) -> u64 {
        self.imported_count("began_before_root_ms")
    }

    /// Number of loop warnings that are loops, as counted by the emitter that saw all of the run.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let read = |file: &str| tracer_sdk::tool_call("read").args(&file).record();
    /// let three_files = capture(|| ["a.rs", "b.rs", "c.rs"].into_iter().try_for_each(read));
    /// assert_eq!((three_files.meta.counts.loop_warnings, three_files.meta.loops()), (1, Some(0)));
    /// ```
    #[must_use]
    pub fn loops(&self) -> Option<u64> {
        self.additional.get(LOOPS).and_then(Value::as_u64)
    }

    fn imported_count(&self, key: &str) -> u64 {
        let imported = self.additional.get("imported");
        imported
            .and_then(|imported| imported.get(key)?.as_u64())
            .unwrap_or(0)
    }

    fn additive_count(&self, key: &str) -> u64 {
        self.additional.get(key).and_then(Value::as_u64).unwrap_or(0)
    }
}

impl Serialize for RunMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(version) = &self.spec_version {
            map.serialize_entry("spec_version", version)?;
        }
        map.serialize_entry("trace_id", &self.trace_id)?;
        map.serialize_entry("run_name", &self.run_name)?;
        map.serialize_entry("started_at", &self.started_at)?;
        map.serialize_entry("ended_at", &self.ended_at)?;
        map.serialize_entry("duration_ms", &self.duration_ms)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("counts", &self.counts)?;
        for (key, value) in &self.additional {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

//! `GET /api/diff`: two runs, or a run and a baseline, compared; the model and the words of `tracer diff`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tracer_insight::comparison::{Call, CallChange, CallPair, Comparison, MetricChange, Side};
use tracer_insight::profile::RunProfile;
use tracer_runs::{RunReader, Strictness};
use tracer_sdk::format::TraceId;

use super::super::answer::{ApiError, json_response};
use super::super::run::stamp::RunStamp;
use super::super::viewer::Viewer;
use super::baselines;
use super::policy::{Against, PolicyAnswer, ProjectPolicy};
use super::request::{Query, trace_id};
use tracer_insight::comparison::words;
use tracer_insight::{metric_words, text};

/// Largest page of pairs of calls.
const MAX_PAIRS: usize = 2_000;
/// Default page of pairs of calls.
const DEFAULT_PAIRS: usize = 500;
/// Changed calls whose arguments are compared.
const MAX_COMPARED_CALLS: usize = 500;
/// A longer value is cut.
const MAX_VALUE_BYTES: usize = 4_000;

/// In what two sides differ.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffAnswer<'a> {
    /// The side before.
    before: &'a Side,
    /// The side after.
    after: &'a Side,
    /// True when both sides are equal in everything but time.
    is_same: bool,
    /// The comparison in one sentence.
    summary: String,
    /// The numbers of both, those that are the same included.
    metrics: Vec<MetricJson<'a>>,
    /// The changes of tools and models, a sentence for each.
    name_changes: Vec<String>,
    /// The judgement of the project's policy on the side after; null without a policy.
    policy: Option<&'a PolicyAnswer>,
    /// Number of pairs of calls.
    pair_count: usize,
    /// Pairs of calls, in the order in which one reads them.
    calls: Vec<PairJson<'a>>,
    /// The `from` of the pairs that follow; null when these are the last.
    next: Option<usize>,
}

/// A number of both sides, with its words.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MetricJson<'a> {
    #[serde(flatten)]
    values: &'a MetricChange,
    /// The name that people read.
    label: &'a str,
    /// The value before and the value after with their units.
    shown: [String; 2],
    /// `+5 (+83 %)`; empty when both are the same.
    difference: String,
}

/// A call of each side, or of one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PairJson<'a> {
    /// Its change.
    change: CallChange,
    /// The sign of the change.
    sign: &'static str,
    /// Details that sign and names leave open.
    remarks: Vec<String>,
    before: Option<Call<'a>>,
    after: Option<Call<'a>>,
    /// In what the arguments differ, of the first calls that changed.
    differences: Vec<FieldJson<'a>>,
}

/// A field that differs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FieldJson<'a> {
    /// `order.items[2]`; empty for the value itself.
    path: &'a str,
    /// The value before, a long one cut; null when it was absent.
    before: Option<Value>,
    /// The value after, a long one cut; null when it is absent.
    after: Option<Value>,
}

/// The last comparison, by its key: a page requests its pairs a part at a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastComparison(Arc<Mutex<Keyed>>);

/// The key of a comparison, and what it found.
type Keyed = Option<(String, Arc<Compared>)>;

impl LastComparison {
    fn get(&self, key: &str) -> Option<Arc<Compared>> {
        let last = self.0.lock();
        let (known, compared) = last.as_ref()?;
        (known == key).then(|| Arc::clone(compared))
    }

    fn set(&self, key: String, compared: Compared) -> Arc<Compared> {
        let compared = Arc::new(compared);
        *self.0.lock() = Some((key, Arc::clone(&compared)));
        compared
    }
}

/// The result of a comparison.
#[derive(Debug)]
pub(crate) struct Compared {
    comparison: Comparison,
    policy: Option<PolicyAnswer>,
}

/// Compares.
pub(crate) async fn diff(
    State(viewer): State<Viewer>,
    Extension(last): Extension<LastComparison>,
    query: Query,
) -> Result<Response, ApiError> {
    let a = query
        .get("a")
        .ok_or_else(|| ApiError::bad_request("invalid_parameter", "`a` has to be given: the ID of a run"))?;
    let a = trace_id(a)?;
    let b = query.get("b").map(trace_id).transpose()?;
    let baseline = query.get("baseline").map(str::to_owned);
    let from = query.from()?;
    let limit = query.limit("limit", DEFAULT_PAIRS, MAX_PAIRS)?;
    let read = viewer.read(move |viewer| {
        let compared = match (&baseline, b) {
            (Some(name), _) => with_baseline(viewer, a, name)?,
            (None, Some(b)) => of_runs(viewer, &last, a, b)?,
            (None, None) => {
                return Err(ApiError::not_found(
                    "nothing_to_compare",
                    "name what to compare with: `b`, the ID of a run, or `baseline`",
                ));
            }
        };
        Ok(json_response(&answer(&compared, from, limit)))
    });
    read.await
}

fn open(viewer: &Viewer, id: TraceId) -> Result<RunReader, ApiError> {
    let directory = viewer.runs().directory(id)?;
    RunReader::open(&directory.path, Strictness::Strict).map_err(ApiError::invalid_run)
}

fn metrics(viewer: &Viewer, run: &RunReader) -> Result<RunProfile, ApiError> {
    let meta = run.require_meta().map_err(ApiError::invalid_run)?;
    let profile = RunProfile::read(meta, run.records.clone()).map_err(ApiError::unreadable)?;
    Ok(profile.priced(viewer.runs().prices()))
}

fn of_runs(
    viewer: &Viewer,
    last: &LastComparison,
    a: TraceId,
    b: TraceId,
) -> Result<Arc<Compared>, ApiError> {
    let stamps = [a, b].map(|id| viewer.runs().directory(id).map(|run| RunStamp::of(&run.path)));
    let [before, after] = stamps;
    let policy = ProjectPolicy::read();
    let policy_version = policy.as_ref().and_then(ProjectPolicy::version);
    let key = before?.version(&(a, b, after?, policy_version));
    if let Some(known) = last.get(&key) {
        return Ok(known);
    }
    let (mut before, mut after) = (open(viewer, a)?, open(viewer, b)?);
    let (was, is) = (metrics(viewer, &before)?, metrics(viewer, &after)?);
    let mut comparison = Comparison::of_runs(&was, &is);
    if let Some(meta) = &after.meta {
        comparison.note_fork(meta);
    }
    comparison
        .look_up_differences(&mut before.records, &mut after.records, MAX_COMPARED_CALLS)
        .map_err(ApiError::unreadable)?;
    let policy = policy.map(|policy| policy.judge(Against::Run(&was), is));
    Ok(last.set(key, Compared { comparison, policy }))
}

fn with_baseline(viewer: &Viewer, a: TraceId, name: &str) -> Result<Arc<Compared>, ApiError> {
    let baseline = baselines::read(name)?;
    let run = open(viewer, a)?;
    let metrics = metrics(viewer, &run)?;
    let comparison = baseline.compare(&metrics);
    let policy = ProjectPolicy::read().map(|policy| policy.judge(Against::Baseline(&baseline), metrics));
    Ok(Arc::new(Compared { comparison, policy }))
}

fn answer(compared: &Compared, from: usize, limit: usize) -> DiffAnswer<'_> {
    let comparison = &compared.comparison;
    let pairs = comparison.calls.pairs();
    let pair_count = pairs.len();
    let end = from.saturating_add(limit);
    DiffAnswer {
        before: &comparison.before,
        after: &comparison.after,
        is_same: comparison.is_same,
        summary: words::summary(comparison),
        metrics: comparison.metrics.iter().map(MetricJson::from).collect(),
        name_changes: words::name_changes(comparison),
        policy: compared.policy.as_ref(),
        pair_count,
        calls: pairs.skip(from).take(limit).map(PairJson::from).collect(),
        next: (end < pair_count).then_some(end),
    }
}

impl<'a> From<&'a MetricChange> for MetricJson<'a> {
    fn from(change: &'a MetricChange) -> Self {
        let (metric, before, after) = (change.metric.as_str(), change.before, change.after);
        Self {
            values: change,
            label: metric_words::label(metric),
            shown: [before, after].map(|value| metric_words::value(metric, value)),
            difference: metric_words::change(metric, before, after),
        }
    }
}

impl<'a> From<CallPair<'a>> for PairJson<'a> {
    fn from(pair: CallPair<'a>) -> Self {
        let fields = pair.differences.iter().map(|difference| FieldJson {
            path: &difference.path,
            before: difference.before.as_ref().map(shortened),
            after: difference.after.as_ref().map(shortened),
        });
        Self {
            change: pair.change,
            sign: words::sign(pair.change).0,
            remarks: words::remarks(&pair),
            before: pair.before,
            after: pair.after,
            differences: fields.collect(),
        }
    }
}

fn shortened(value: &Value) -> Value {
    let is_long = match value {
        Value::String(text) => text.len() > MAX_VALUE_BYTES,
        Value::Array(_) | Value::Object(_) => value.to_string().len() > MAX_VALUE_BYTES,
        _ => false,
    };
    if !is_long {
        return value.clone();
    }
    let long = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Value::String(format!(
        "{}{}",
        text::beginning(&long, MAX_VALUE_BYTES),
        text::ELLIPSIS
    ))
}

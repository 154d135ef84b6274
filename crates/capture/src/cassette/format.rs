//! The lines of a cassette (capture, section 6): a head, then an exchange per line. A cassette comes from elsewhere: sizes,
//! depths, counts, headers and paths have limits, and what breaks one is refused with its place.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tracer_sdk::format::Timestamp;

use super::error::FieldProblem;
use super::frames::{Framing, Json, StreamFrame};
use super::recorded::{RecordedBody, RecordedExchange, RecordedResponse};
use crate::exchange::is_kept_header;
use tracer_providers::ModelApi;

/// The version of the format that is written; a later one is refused.
pub const FORMAT_VERSION: u64 = 1;
/// The longest line, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// The most exchanges of a cassette.
pub(super) const MAX_EXCHANGES: usize = 10_000;

/// Head of a cassette: its first line, but for the version.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Head {
    /// The version of the tracer that recorded it.
    pub tracer: String,
    /// When it was recorded, as RFC 3339 has it.
    pub recorded_at: String,
    /// The command that was recorded.
    pub command: Vec<String>,
    /// JSON Pointers of what matching ignores, with `*` for every item.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Regular expressions of what matching masks in texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mask: Vec<String>,
    /// `true` when matching ignores the results of tools.
    #[serde(skip_serializing_if = "is_false")]
    pub ignore_tool_results: bool,
}

impl Head {
    /// Age of the recording; `None` when the cassette has no date.
    ///
    /// ```
    /// use tracer_capture::cassette::Head;
    ///
    /// let mut head = Head::default();
    /// assert_eq!(head.age("2026-11-24T00:00:00Z".parse()?), None);
    /// head.recorded_at = "2026-11-23T00:00:00Z".to_owned();
    /// assert_eq!(head.age("2026-11-24T00:00:00Z".parse()?), Some(std::time::Duration::from_secs(24 * 3600)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        let recorded: Timestamp = self.recorded_at.parse().ok()?;
        let microseconds = now
            .unix_microseconds()
            .saturating_sub(recorded.unix_microseconds());
        Some(Duration::from_micros(u64::try_from(microseconds).unwrap_or(0)))
    }

    /// The line, without its end.
    pub(super) fn line(&self) -> String {
        text(&CassetteHeadLine {
            cassette: FORMAT_VERSION,
            head: self,
        })
    }

    /// Reads the first line; gives its version when that is a later one.
    pub(super) fn read(line: &str) -> Result<Result<Self, u64>, FieldProblem> {
        let VersionField { cassette: version } = fields(line)?;
        let version =
            version.ok_or_else(|| FieldProblem::new("cassette", "is missing: this is no cassette"))?;
        if version > FORMAT_VERSION {
            return Ok(Err(version));
        }
        if version == 0 {
            return Err(FieldProblem::new("cassette", "is no version of the format"));
        }
        Ok(Ok(fields(line)?))
    }
}

/// Field that every version of the format has.
#[derive(Deserialize)]
struct VersionField {
    cassette: Option<u64>,
}

/// The first line.
#[derive(Serialize)]
struct CassetteHeadLine<'a> {
    cassette: u64,
    #[serde(flatten)]
    head: &'a Head,
}

/// The line of an exchange.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct ExchangeFields {
    n: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Json>,
    response: Option<ResponseFields>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    replaced: Vec<String>,
    #[serde(skip_serializing_if = "is_false")]
    repeat: bool,
}

/// An answer; its body is in one of `body`, `text`, `base64`, and `frames` of a `stream`.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct ResponseFields {
    status: u16,
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<Framing>,
    #[serde(skip_serializing)]
    line_end: Option<LineEnd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<Vec<FrameFields>>,
    #[serde(skip_serializing_if = "is_false")]
    breaks_off: bool,
    #[serde(skip_serializing_if = "is_false")]
    cut: bool,
    #[serde(skip_serializing_if = "is_false")]
    hides_usage: bool,
}

/// A frame: `data` with the text before it, or what came as it is. Older cassettes have the name of an event, and leave out
/// what is the same in each one.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct FrameFields {
    #[serde(skip_serializing)]
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Line ending of a stream in an older cassette.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    const fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The text of a line. What a cassette holds can always be written.
fn text(fields: &impl Serialize) -> String {
    serde_json::to_string(fields).unwrap_or_default()
}

/// The fields of a line. Its error names the place and no value.
fn fields<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, FieldProblem> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let read = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "line".to_owned() } else { path };
        FieldProblem::new(field, "is not what the format has there, or is there twice")
    })?;
    let end = deserializer.end();
    end.map_err(|_| FieldProblem::new("line", "goes on behind its end"))?;
    Ok(read)
}

impl RecordedExchange {
    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        text(&ExchangeFields {
            n: Some(self.number),
            api: self.api.map(|api| api.name().to_owned()),
            provider: self.provider.clone(),
            method: Some(self.method.clone()),
            path: self.path.clone(),
            query: self.query.clone(),
            request: self.request.as_ref().and_then(raw_json),
            response: Some(ResponseFields::of(&self.response)),
            replaced: self.replaced.clone(),
            repeat: self.repeats,
        })
    }

    pub(super) fn read(line: &str) -> Result<Self, FieldProblem> {
        let fields: ExchangeFields = fields(line)?;
        let api = match fields.api {
            None => None,
            Some(name) => Some(
                ModelApi::from_name(&name)
                    .ok_or_else(|| FieldProblem::new("api", "names no API that this tracer knows"))?,
            ),
        };
        let path = fields.path;
        if !path.starts_with('/') || path.chars().any(char::is_control) {
            return Err(FieldProblem::new("path", "is no path"));
        }
        let method = fields.method.unwrap_or_else(|| "POST".to_owned());
        let request = fields.request.map(|raw| value("request", &raw)).transpose()?;
        let response = fields
            .response
            .ok_or_else(|| FieldProblem::new("response", "is missing"))?;
        Ok(Self {
            number: fields.n.ok_or_else(|| FieldProblem::new("n", "is missing"))?,
            api,
            provider: fields.provider,
            method,
            path,
            query: crate::exchange::kept_query(&fields.query),
            request,
            response: response.read().map_err(|problem| problem.within("response"))?,
            replaced: fields.replaced,
            repeats: fields.repeat,
        })
    }
}

impl ResponseFields {
    fn of(response: &RecordedResponse) -> Self {
        let mut fields = Self {
            status: response.status,
            headers: response.headers.iter().cloned().collect(),
            breaks_off: response.breaks_off,
            cut: response.is_cut,
            hides_usage: response.hides_usage,
            ..Self::default()
        };
        match &response.body {
            RecordedBody::Json(json) => fields.body = Some(json.clone()),
            RecordedBody::Text(text) => fields.text = Some(text.clone()),
            RecordedBody::Bytes(bytes) => fields.base64 = Some(STANDARD.encode(bytes)),
            RecordedBody::Stream { framing, frames } => {
                fields.stream = Some(*framing);
                fields.frames = Some(frames.iter().map(FrameFields::of).collect());
            }
        }
        fields
    }

    fn read(self) -> Result<RecordedResponse, FieldProblem> {
        if !(200..=599).contains(&self.status) {
            return Err(FieldProblem::new("status", "is no status code from 200 to 599"));
        }
        // A cassette may not set cookies, or what belongs to the connection.
        if !self.headers.keys().all(|name| is_kept_header(name)) {
            return Err(FieldProblem::new("headers", "has a header that is not replayed"));
        }
        let body = match (self.stream, self.body, self.base64) {
            (Some(framing), ..) => {
                let frames = self
                    .frames
                    .ok_or_else(|| FieldProblem::new("frames", "is missing"))?;
                let end = self.line_end.map_or("\n", LineEnd::text);
                let frames = frames.into_iter().enumerate().map(|(position, frame)| {
                    let read = frame.read(framing, end);
                    read.map_err(|problem| problem.within(&format!("frames[{position}]")))
                });
                RecordedBody::Stream {
                    framing,
                    frames: frames.collect::<Result<Vec<_>, _>>()?.concat(),
                }
            }
            (None, Some(json), _) => {
                value("body", &json)?;
                RecordedBody::Json(json)
            }
            (None, None, Some(text)) => RecordedBody::Bytes(decoded(&text)?),
            (None, None, None) => RecordedBody::Text(self.text.unwrap_or_default()),
        };
        Ok(RecordedResponse {
            status: self.status,
            headers: self.headers.into_iter().collect(),
            body,
            breaks_off: self.breaks_off,
            is_cut: self.cut,
            hides_usage: self.hides_usage,
        })
    }
}

impl FrameFields {
    fn of(frame: &StreamFrame) -> Self {
        let mut fields = Self::default();
        match frame {
            StreamFrame::Item { before, json } => {
                fields.before = Some(before.clone());
                fields.data = Some(json.clone());
            }
            StreamFrame::Text(raw) => fields.raw = Some(raw.clone()),
            StreamFrame::Bytes(bytes) => fields.base64 = Some(STANDARD.encode(bytes)),
        }
        fields
    }

    /// The frame; of an older cassette with `end`, the line ending that it leaves out.
    fn read(self, framing: Framing, end: &str) -> Result<Vec<StreamFrame>, FieldProblem> {
        if let Some(text) = self.raw {
            return Ok(vec![StreamFrame::Text(text)]);
        }
        if let Some(text) = self.base64 {
            return Ok(vec![StreamFrame::Bytes(decoded(&text)?)]);
        }
        let json = self.data.ok_or_else(|| FieldProblem::new("data", "is missing"))?;
        let parsed = value("data", &json)?;
        let is_item = self.before.is_some() || framing == Framing::Array;
        let name = self.event.map(|name| format!("event: {name}{end}"));
        let (before, behind) = match framing {
            _ if is_item => (self.before.unwrap_or_default(), String::new()),
            Framing::Events => (format!("{}data: ", name.unwrap_or_default()), end.repeat(2)),
            Framing::Lines | Framing::Array => (String::new(), end.to_owned()),
        };
        match parsed {
            Value::String(text) if framing == Framing::Events && !is_item => {
                Ok(vec![StreamFrame::Text(format!("{before}{text}{behind}"))])
            }
            Value::Object(_) | Value::Array(_) => {
                let frames = [StreamFrame::Item { before, json }, StreamFrame::Text(behind)];
                Ok(frames.into_iter().take(if is_item { 1 } else { 2 }).collect())
            }
            _ => Err(FieldProblem::new("data", "is no object")),
        }
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, FieldProblem> {
    STANDARD
        .decode(text)
        .map_err(|_| FieldProblem::new("base64", "is no base64"))
}

/// A value that can be read whole: what is nested too deeply cannot.
fn value(field: &str, raw: &RawValue) -> Result<Value, FieldProblem> {
    serde_json::from_str(raw.get()).map_err(|_| FieldProblem::new(field, "is nested too deeply"))
}

/// The text of a value as JSON that is kept as it is.
pub(super) fn raw_json(value: &Value) -> Option<Json> {
    to_raw_value(value).ok()
}

//! The lines of a cassette (capture, section 6): a head, then an exchange per line. A cassette comes from elsewhere: sizes,
//! depths, counts, headers and paths have limits, and what breaks one is refused with its place.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tracer_sdk::format::Timestamp;

use super::error::FieldProblem;
use super::frames::{Framing, LineEnd, StreamFrame};
use super::recorded::{RecordedBody, RecordedExchange, RecordedRequest, RecordedResponse};
use super::rules::Rules;
use crate::exchange::is_kept_header;
use tracer_providers::ModelApi;

/// The version of the format that is written; a later one is refused.
pub const FORMAT_VERSION: u64 = 1;
/// The longest line, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// The most exchanges of a cassette.
pub(super) const MAX_EXCHANGES: usize = 10_000;
/// The most frames of an answer.
const MAX_FRAMES: usize = 500_000;
/// The most headers of an answer.
const MAX_HEADERS: usize = 64;
/// The longest header, path or name, in bytes.
const MAX_NAME_BYTES: usize = 4096;
/// The longest time that a frame or an exchange takes.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// What a cassette says of itself.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Head {
    /// The version of the tracer that recorded it.
    pub tracer: String,
    /// When it was recorded, as RFC 3339 has it.
    pub recorded_at: String,
    /// The command that was recorded.
    pub command: Vec<String>,
    /// What matching ignores and masks.
    pub rules: Rules,
}

impl Head {
    /// How long ago the cassette was recorded; `None` where it does not say.
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
        let mut head = json!({
            "cassette": FORMAT_VERSION,
            "tracer": self.tracer,
            "recorded_at": self.recorded_at,
            "command": self.command,
        });
        let (ignore, mask) = self.rules.sources();
        if let Value::Object(head) = &mut head {
            for (key, rules) in [("ignore", ignore), ("mask", mask)] {
                if !rules.is_empty() {
                    head.insert(key.to_owned(), rules.into());
                }
            }
        }
        head.to_string()
    }

    /// Reads the first line; gives its version when that is a later one.
    pub(super) fn read(line: &str) -> Result<Result<Self, u64>, FieldProblem> {
        let fields = JsonFields::read(line)?;
        let version = fields
            .integer("cassette")?
            .ok_or_else(|| FieldProblem::new("cassette", "is missing: this is no cassette"))?;
        if version > FORMAT_VERSION {
            return Ok(Err(version));
        }
        if version == 0 {
            return Err(FieldProblem::new("cassette", "is no version of the format"));
        }
        Ok(Ok(Self {
            tracer: fields.text("tracer")?.unwrap_or_default(),
            recorded_at: fields.text("recorded_at")?.unwrap_or_default(),
            command: fields.texts("command")?,
            rules: Rules::new(&fields.texts("ignore")?, &fields.texts("mask")?)?,
        }))
    }
}

impl RecordedExchange {
    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        let mut fields: Vec<(&str, String)> = vec![("n", self.number.to_string())];
        let mut text = |key, value: &str| {
            if !value.is_empty() {
                fields.push((key, Value::from(value).to_string()));
            }
        };
        text("api", self.api.map_or("", ModelApi::name));
        text("provider", &self.provider);
        text("method", &self.method);
        text("path", &self.path);
        text("query", &self.query);
        match &self.request {
            RecordedRequest::Empty => {}
            RecordedRequest::Json(body) => fields.push(("request", body.to_string())),
            RecordedRequest::Digest(digest) => {
                fields.push(("request_sha256", Value::from(digest.as_str()).to_string()));
            }
        }
        fields.push(("response", response_text(&self.response)));
        for (key, time) in [("first_ms", self.first), ("total_ms", self.total)] {
            fields.push((key, time.as_millis().to_string()));
        }
        if !self.replaced.is_empty() {
            fields.push(("replaced", Value::from(self.replaced.clone()).to_string()));
        }
        if self.repeats {
            fields.push(("repeat", "true".to_owned()));
        }
        object_text(&fields)
    }

    pub(super) fn read(line: &str) -> Result<Self, FieldProblem> {
        let fields = JsonFields::read(line)?;
        let api = match fields.text("api")? {
            None => None,
            Some(name) => Some(
                ModelApi::from_name(&name)
                    .ok_or_else(|| FieldProblem::new("api", "names no API that this tracer knows"))?,
            ),
        };
        let path = fields.text("path")?.unwrap_or_default();
        if !path.starts_with('/') || path.len() > MAX_NAME_BYTES || path.chars().any(char::is_control) {
            return Err(FieldProblem::new("path", "is no path"));
        }
        let method = fields.text("method")?.unwrap_or_else(|| "POST".to_owned());
        if method.is_empty() || method.len() > 16 || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(FieldProblem::new("method", "is no method"));
        }
        let provider = fields.text("provider")?.unwrap_or_default();
        if !provider
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err(FieldProblem::new("provider", "is no name of a provider"));
        }
        let request = match (fields.raw("request"), fields.text("request_sha256")?) {
            (Some(raw), _) => RecordedRequest::Json(value(raw).map_err(|problem| problem.within("request"))?),
            (None, Some(digest)) => RecordedRequest::Digest(digest),
            (None, None) => RecordedRequest::Empty,
        };
        let response = fields
            .raw("response")
            .ok_or_else(|| FieldProblem::new("response", "is missing"))?;
        Ok(Self {
            number: fields
                .integer("n")?
                .ok_or_else(|| FieldProblem::new("n", "is missing"))?,
            api,
            provider,
            method,
            path,
            query: crate::exchange::kept_query(&fields.text("query")?.unwrap_or_default()),
            request,
            response: read_response(response).map_err(|problem| problem.within("response"))?,
            first: fields.time("first_ms")?,
            total: fields.time("total_ms")?,
            replaced: fields.texts("replaced")?,
            repeats: fields.flag("repeat")?,
        })
    }
}

fn response_text(response: &RecordedResponse) -> String {
    let mut fields: Vec<(&str, String)> = vec![("status", response.status.to_string())];
    let headers: Map<String, Value> = response
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect();
    fields.push(("headers", Value::Object(headers).to_string()));
    match &response.body {
        RecordedBody::Json(json) => fields.push(("body", json.get().to_owned())),
        RecordedBody::Text(text) => fields.push(("text", Value::from(text.as_str()).to_string())),
        RecordedBody::Bytes(bytes) => {
            fields.push(("base64", Value::from(STANDARD.encode(bytes)).to_string()));
        }
        RecordedBody::Stream {
            framing,
            line_end,
            frames,
        } => {
            fields.push(("stream", Value::from(framing.name()).to_string()));
            if *line_end == LineEnd::CrLf {
                fields.push(("line_end", "\"crlf\"".to_owned()));
            }
            let frames: Vec<String> = frames
                .iter()
                .map(|(after, frame)| frame_text(*after, frame))
                .collect();
            fields.push(("frames", format!("[{}]", frames.join(","))));
        }
    }
    for (key, is_set) in [
        ("breaks_off", response.breaks_off),
        ("cut", response.is_cut),
        ("hides_usage", response.hides_usage),
    ] {
        if is_set {
            fields.push((key, "true".to_owned()));
        }
    }
    object_text(&fields)
}

fn frame_text(after: Duration, frame: &StreamFrame) -> String {
    let mut fields: Vec<(&str, String)> = Vec::new();
    if after.as_millis() > 0 {
        fields.push(("ms", after.as_millis().to_string()));
    }
    let text = |text: &str| Value::from(text).to_string();
    let named = |name: &Option<String>| name.as_ref().map(|name| ("event", text(name)));
    match frame {
        StreamFrame::Event { name, data } => {
            fields.extend(named(name));
            fields.push(("data", data.get().to_owned()));
        }
        StreamFrame::TextEvent { name, data } => {
            fields.extend(named(name));
            fields.push(("data", text(data)));
        }
        StreamFrame::Line(json) => fields.push(("data", json.get().to_owned())),
        StreamFrame::Item { before, json } => {
            fields.push(("before", text(before)));
            fields.push(("data", json.get().to_owned()));
        }
        StreamFrame::Text(raw) => fields.push(("raw", text(raw))),
        StreamFrame::Bytes(bytes) => fields.push(("base64", text(&STANDARD.encode(bytes)))),
    }
    object_text(&fields)
}

fn object_text(fields: &[(&str, String)]) -> String {
    let members: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn read_response(raw: &RawValue) -> Result<RecordedResponse, FieldProblem> {
    let fields = JsonFields::read(raw.get())?;
    let status = fields
        .integer("status")?
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (200..=599).contains(status))
        .ok_or_else(|| FieldProblem::new("status", "is no status code from 200 to 599"))?;
    Ok(RecordedResponse {
        status,
        headers: read_headers(&fields)?,
        body: read_body(&fields)?,
        breaks_off: fields.flag("breaks_off")?,
        is_cut: fields.flag("cut")?,
        hides_usage: fields.flag("hides_usage")?,
    })
}

fn read_headers(fields: &JsonFields<'_>) -> Result<Vec<(String, String)>, FieldProblem> {
    let Some(raw) = fields.raw("headers") else {
        return Ok(Vec::new());
    };
    let headers = JsonFields::read(raw.get()).map_err(|problem| problem.within("headers"))?;
    if headers.members.len() > MAX_HEADERS {
        return Err(FieldProblem::new("headers", "has too many members"));
    }
    let read = headers.members.keys().map(|name| {
        // A cassette may not set cookies, or what belongs to the connection.
        if !is_kept_header(name) {
            return Err(FieldProblem::new("headers", "has a header that is not replayed"));
        }
        let value = headers.text(name).map_err(|problem| problem.within("headers"))?;
        let value = value.unwrap_or_default();
        let is_valid = value.len() <= MAX_NAME_BYTES && axum::http::HeaderValue::from_str(&value).is_ok();
        if !is_valid {
            return Err(FieldProblem::new(
                "headers",
                "has a value that no header can have",
            ));
        }
        Ok((name.clone(), value))
    });
    read.collect()
}

fn read_body(fields: &JsonFields<'_>) -> Result<RecordedBody, FieldProblem> {
    if let Some(name) = fields.text("stream")? {
        let framing = Framing::from_name(&name)
            .ok_or_else(|| FieldProblem::new("stream", "is none of events, lines and array"))?;
        let line_end = match fields.text("line_end")?.as_deref() {
            None | Some("lf") => LineEnd::Lf,
            Some("crlf") => LineEnd::CrLf,
            Some(_) => return Err(FieldProblem::new("line_end", "is neither lf nor crlf")),
        };
        let raw = fields
            .raw("frames")
            .ok_or_else(|| FieldProblem::new("frames", "is missing"))?;
        let items: Vec<&RawValue> =
            serde_json::from_str(raw.get()).map_err(|_| FieldProblem::new("frames", "is no list"))?;
        if items.len() > MAX_FRAMES {
            return Err(FieldProblem::new("frames", "has too many items"));
        }
        let frames = items.iter().enumerate().map(|(position, item)| {
            read_frame(framing, item).map_err(|problem| problem.within(&format!("frames[{position}]")))
        });
        return Ok(RecordedBody::Stream {
            framing,
            line_end,
            frames: frames.collect::<Result<_, _>>()?,
        });
    }
    if let Some(raw) = fields.raw("body") {
        value(raw).map_err(|problem| problem.within("body"))?;
        return Ok(RecordedBody::Json(raw.to_owned()));
    }
    if let Some(text) = fields.text("base64")? {
        return Ok(RecordedBody::Bytes(decoded(&text)?));
    }
    Ok(RecordedBody::Text(fields.text("text")?.unwrap_or_default()))
}

fn read_frame(framing: Framing, raw: &RawValue) -> Result<(Duration, StreamFrame), FieldProblem> {
    let fields = JsonFields::read(raw.get())?;
    let after = fields.time("ms")?;
    if let Some(text) = fields.text("raw")? {
        return Ok((after, StreamFrame::Text(text)));
    }
    if let Some(text) = fields.text("base64")? {
        return Ok((after, StreamFrame::Bytes(decoded(&text)?)));
    }
    let data = fields
        .raw("data")
        .ok_or_else(|| FieldProblem::new("data", "is missing"))?;
    let parsed = value(data).map_err(|problem| problem.within("data"))?;
    let name = fields.text("event")?;
    if name.as_ref().is_some_and(|name| name.contains(['\n', '\r'])) {
        return Err(FieldProblem::new("event", "has more than one line"));
    }
    let frame = match (framing, parsed) {
        (Framing::Events, Value::String(data)) => StreamFrame::TextEvent { name, data },
        (Framing::Events, Value::Object(_) | Value::Array(_)) if fields.raw("before").is_none() => {
            StreamFrame::Event {
                name,
                data: data.to_owned(),
            }
        }
        (Framing::Lines, Value::Object(_) | Value::Array(_)) => StreamFrame::Line(data.to_owned()),
        (Framing::Events | Framing::Array, Value::Object(_) | Value::Array(_)) => StreamFrame::Item {
            before: fields.text("before")?.unwrap_or_default(),
            json: data.to_owned(),
        },
        _ => return Err(FieldProblem::new("data", "is no object")),
    };
    Ok((after, frame))
}

fn decoded(text: &str) -> Result<Vec<u8>, FieldProblem> {
    STANDARD
        .decode(text)
        .map_err(|_| FieldProblem::new("base64", "is no base64"))
}

/// A value that can be read whole: what is nested too deeply cannot.
fn value(raw: &RawValue) -> Result<Value, FieldProblem> {
    serde_json::from_str(raw.get()).map_err(|_| FieldProblem::new("value", "is nested too deeply or no JSON"))
}

/// The members of an object, each as the text that it is.
struct JsonFields<'a> {
    members: BTreeMap<String, &'a RawValue>,
}

impl<'a> JsonFields<'a> {
    fn read(text: &'a str) -> Result<Self, FieldProblem> {
        let UniqueMembers(members) = serde_json::from_str(text)
            .map_err(|_| FieldProblem::new("line", "is no JSON object, or has a member twice"))?;
        Ok(Self { members })
    }

    fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.members.get(key).copied().filter(|raw| raw.get() != "null")
    }

    fn typed<T: Deserialize<'a>>(&self, key: &str, problem: &'static str) -> Result<Option<T>, FieldProblem> {
        let read = self.raw(key).map(|raw| serde_json::from_str(raw.get()));
        read.transpose().map_err(|_| FieldProblem::new(key, problem))
    }

    fn text(&self, key: &str) -> Result<Option<String>, FieldProblem> {
        self.typed(key, "is no text")
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, FieldProblem> {
        Ok(self.typed(key, "is no list of texts")?.unwrap_or_default())
    }

    fn integer(&self, key: &str) -> Result<Option<u64>, FieldProblem> {
        self.typed(key, "is no whole number")
    }

    fn flag(&self, key: &str) -> Result<bool, FieldProblem> {
        Ok(self.typed(key, "is neither true nor false")?.unwrap_or_default())
    }

    fn time(&self, key: &str) -> Result<Duration, FieldProblem> {
        let time = Duration::from_millis(self.integer(key)?.unwrap_or_default());
        if time > MAX_TIME {
            return Err(FieldProblem::new(key, "is longer than a day"));
        }
        Ok(time)
    }
}

/// An object without duplicate members: a reviewer and a reader must see the same.
struct UniqueMembers<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for UniqueMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UniqueMembersVisitor;
        impl<'de> Visitor<'de> for UniqueMembersVisitor {
            type Value = UniqueMembers<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, raw)) = map.next_entry::<String, &'de RawValue>()? {
                    if members.insert(key, raw).is_some() {
                        return Err(de::Error::custom("a duplicate member"));
                    }
                }
                Ok(UniqueMembers(members))
            }
        }
        deserializer.deserialize_map(UniqueMembersVisitor)
    }
}

/// The text of a value as JSON that is kept as it is.
pub(super) fn raw_json(value: &Value) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

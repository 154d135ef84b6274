//! Exchanges on their way to the disk: redacted, divided into frames, and appended to the run's own file and to a cassette.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tracer_insight::units;
use tracer_sdk::disk::private_file;
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;

use super::error::CassetteError;
use super::file::{Cassette, EXCHANGES_FILE};
use super::format::Head;
use super::frames;
use super::recorded::{RecordedBody, RecordedExchange, RecordedResponse};
use super::replacing;
use super::shapes::Places;
use crate::exchange::{ExchangeEnd, ExchangeSink, FinishedExchange, kept_query};
use tracer_providers::{answer_asked_again, error_body};

/// Places of secrets that are listed; more are counted.
const MAX_REPLACED: usize = 100;
/// Path endings of requests that do not call a model, and can be answered again any number of times.
const REPEATABLE: [&str; 4] = ["/count_tokens", ":countTokens", "/api/show", "/tokenize"];

/// Redaction of exchanges, and the folders of the program that made them: the same for recording and for replay.
#[derive(Debug, Clone)]
pub struct Scrubbing {
    /// Redaction of secrets.
    pub redaction: Arc<Redaction>,
    /// The folders of the program.
    pub places: Places,
}

impl Scrubbing {
    /// Scrubbing for a program that runs in `directory`, with these settings and the environment of this process.
    #[must_use]
    pub fn of_program(settings: &Settings, directory: &Path) -> Self {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let environment = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        Self {
            redaction: Arc::new(Redaction::new(settings, environment)),
            places: Places {
                directory: Some(directory.display().to_string()),
                home: std::env::home_dir().map(|home| home.display().to_string()),
            },
        }
    }

    /// A request as a cassette holds it: what a recorded one is compared with.
    #[must_use]
    pub fn request(&self, body: &[u8]) -> Option<Value> {
        replacing::request(body, &self.redaction, &self.places)
    }

    /// The head of what this version records of a command.
    #[must_use]
    pub fn head(&self, command: impl IntoIterator<Item = String>) -> Head {
        let command = self.redaction.arguments(command).into_iter();
        Head {
            tracer: env!("CARGO_PKG_VERSION").to_owned(),
            recorded_at: units::now().to_string(),
            command: command.map(|word| self.places.text(&word).into_owned()).collect(),
            ..Head::default()
        }
    }
}

/// A file that exchanges are appended to.
#[derive(Debug)]
pub struct CassetteFile {
    path: PathBuf,
    head: Head,
    file: Option<File>,
    next: u64,
    takes_replayed: bool,
    /// `true` when the file lies next to the log of a run.
    is_of_run: bool,
}

impl CassetteFile {
    fn new(path: PathBuf, head: Head, file: Option<File>) -> Self {
        Self {
            path,
            head,
            file,
            next: 1,
            takes_replayed: true,
            is_of_run: false,
        }
    }

    /// The file next to the log of a run in `directory`, created at the first exchange, readable for its user alone.
    #[must_use]
    pub(crate) fn beside_run(directory: &Path, head: Head) -> Self {
        Self {
            is_of_run: true,
            ..Self::new(directory.join(EXCHANGES_FILE), head, None)
        }
    }

    /// A new cassette; one that is there is replaced only when `replaces`.
    ///
    /// # Errors
    ///
    /// [`CassetteError::Exists`], and [`CassetteError::Io`] when it cannot be made.
    pub fn create(path: &Path, head: &Head, replaces: bool) -> Result<Self, CassetteError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(CassetteError::at(path))?;
        }
        // Opening a pipe waits for a reader.
        if replaces && path.metadata().is_ok_and(|there| !there.is_file()) {
            let error = io::Error::other("it is no regular file, and not replaced");
            return Err(CassetteError::at(path)(error));
        }
        let mut options = OpenOptions::new();
        options.write(true);
        if replaces {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        let mut file = options.open(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => CassetteError::Exists {
                path: path.to_owned(),
            },
            _ => CassetteError::at(path)(source),
        })?;
        write_line(&mut file, &head.line()).map_err(CassetteError::at(path))?;
        Ok(Self::new(path.to_owned(), head.clone(), Some(file)))
    }

    /// Continues a cassette: exchanges that were not in it are appended.
    ///
    /// # Errors
    ///
    /// [`CassetteError::Io`] when it cannot be written.
    pub fn append(cassette: &Cassette) -> Result<Self, CassetteError> {
        let path = &cassette.path;
        if cassette.is_torn {
            std::fs::write(path, cassette.text()).map_err(CassetteError::at(path))?;
        }
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(CassetteError::at(path))?;
        let last = cassette.exchanges.iter().map(|exchange| exchange.number).max();
        Ok(Self {
            next: last.unwrap_or(0) + 1,
            takes_replayed: false,
            ..Self::new(path.clone(), cassette.head.clone(), Some(file))
        })
    }

    /// Writes exchanges that are redacted already.
    ///
    /// # Errors
    ///
    /// [`CassetteError::Io`] when the file cannot be written.
    pub fn copy(&mut self, exchanges: &[RecordedExchange]) -> Result<(), CassetteError> {
        for exchange in exchanges {
            self.write(exchange)
                .map_err(|source| CassetteError::at(&self.path)(source))?;
        }
        Ok(())
    }

    fn write(&mut self, exchange: &RecordedExchange) -> io::Result<()> {
        let file = if let Some(file) = &mut self.file {
            file
        } else {
            let mut file = private_file().write(true).create_new(true).open(&self.path)?;
            write_line(&mut file, &self.head.line())?;
            self.file.insert(file)
        };
        let numbered = RecordedExchange {
            number: self.next,
            ..exchange.clone()
        };
        write_line(file, &numbered.line())?;
        self.next += 1;
        Ok(())
    }
}

/// A line in one write, so that what is there ends with a whole line unless the disk is full.
fn write_line(file: &mut File, line: &str) -> io::Result<()> {
    file.write_all(format!("{line}\n").as_bytes())
}

/// Summary of the kept exchanges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptSummary {
    /// Calls of models that were kept.
    pub calls: u64,
    /// Exchanges that were kept without content, so that they cannot be replayed.
    pub without_content: u64,
    /// Secrets that were replaced in answers: the number of the exchange, and the place.
    pub replaced: Vec<(u64, String)>,
    /// Why the first one was not written.
    pub error: Option<String>,
}

/// Keeps the exchanges of a proxy in files.
#[derive(Debug)]
pub struct ExchangeKeeper {
    scrubbing: Scrubbing,
    files: Vec<CassetteFile>,
    summary: Arc<Mutex<KeptSummary>>,
    count: u64,
}

/// Handle on a keeper's summary, readable during the recording and at its end.
#[derive(Debug, Clone)]
pub struct KeptHandle(Arc<Mutex<KeptSummary>>);

impl KeptHandle {
    /// Summary of the exchanges kept so far.
    #[must_use]
    pub fn read(&self) -> KeptSummary {
        self.0.lock().clone()
    }
}

impl ExchangeKeeper {
    /// Keeps exchanges in these files.
    #[must_use]
    pub fn new(scrubbing: Scrubbing, files: Vec<CassetteFile>) -> (Self, KeptHandle) {
        let summary = Arc::new(Mutex::new(KeptSummary::default()));
        let handle = KeptHandle(Arc::clone(&summary));
        let keeper = Self {
            scrubbing,
            files,
            summary,
            count: 0,
        };
        (keeper, handle)
    }
}

impl ExchangeSink for ExchangeKeeper {
    fn keep(&mut self, exchange: &FinishedExchange<'_>) -> Option<u64> {
        let recorded = recorded(exchange, &self.scrubbing)?;
        self.count += 1;
        let mut summary = self.summary.lock();
        summary.calls += u64::from(recorded.api.is_some());
        summary.without_content += u64::from(recorded.response.is_cut);
        for place in &recorded.replaced {
            if summary.replaced.len() < MAX_REPLACED {
                summary.replaced.push((self.count, place.clone()));
            }
        }
        let mut number = None;
        for file in self
            .files
            .iter_mut()
            .filter(|file| file.takes_replayed || !exchange.is_replayed)
        {
            match file.write(&recorded) {
                Ok(()) if file.is_of_run && recorded.api.is_some() => number = Some(summary.calls),
                Ok(()) => {}
                Err(error) => {
                    let path = file.path.display();
                    summary.error.get_or_insert_with(|| format!("{path}: {error}"));
                }
            }
        }
        number
    }
}

/// The exchange as a cassette has it; `None` when there is nothing to keep, as the client was gone before the answer came.
fn recorded(exchange: &FinishedExchange<'_>, scrubbing: &Scrubbing) -> Option<RecordedExchange> {
    let request = exchange.request;
    if exchange.status.is_none() && *exchange.end == ExchangeEnd::ClientGone {
        return None;
    }
    let repeats = request.api.is_none()
        && (matches!(request.method, "GET" | "DELETE")
            || answer_asked_again(request.method, request.path).is_some()
            || REPEATABLE.iter().any(|ending| request.path.ends_with(ending)));
    let has_content = (request.api.is_some() || repeats) && !exchange.is_cut;
    let mut response = if has_content {
        response(exchange)
    } else {
        let status = exchange.status.unwrap_or(UNREACHABLE);
        RecordedResponse {
            is_cut: true,
            ..RecordedResponse::new(status, RecordedBody::Text(String::new()))
        }
    };
    let replaced = replacing::body(&mut response.body, &scrubbing.redaction);
    for (_, value) in &mut response.headers {
        *value = scrubbing.redaction.text(value).into_owned();
    }
    let body = if request.api.is_some() || repeats {
        scrubbing.request(request.body)
    } else {
        None
    };
    Some(RecordedExchange {
        number: 0,
        api: request.api,
        provider: request.provider.to_owned(),
        method: request.method.to_owned(),
        path: scrubbing.redaction.text(request.path).into_owned(),
        query: kept_query(request.query.unwrap_or_default()),
        request: body,
        response,
        replaced,
        repeats,
    })
}

/// The status that a client gets when the provider cannot be reached.
const UNREACHABLE: u16 = 502;

fn response(exchange: &FinishedExchange<'_>) -> RecordedResponse {
    let Some(status) = exchange.status else {
        let message = "tracer: the provider could not be reached";
        let body = error_body(None, UNREACHABLE, "upstream_failed", message);
        return RecordedResponse {
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            ..RecordedResponse::new(UNREACHABLE, RecordedBody::Text(body.to_string()))
        };
    };
    RecordedResponse {
        headers: exchange.headers.to_vec(),
        breaks_off: *exchange.end != ExchangeEnd::Whole,
        hides_usage: exchange.hides_usage,
        ..RecordedResponse::new(status, body(exchange))
    }
}

fn body(exchange: &FinishedExchange<'_>) -> RecordedBody {
    let bytes = exchange.response;
    let content_type = exchange.headers.iter().find(|(name, _)| name == "content-type");
    let content_type = content_type.map_or("", |(_, value)| value.as_str());
    if let Some(framing) = frames::framing_of(exchange.request.api, content_type, bytes) {
        let frames = frames::divide(framing, bytes);
        return RecordedBody::Stream { framing, frames };
    }
    match std::str::from_utf8(bytes) {
        // An answer that broke off in a document is sent again in the chunks that it came in.
        Ok(text) => match text
            .starts_with(['{', '['])
            .then(|| serde_json::from_str::<frames::Json>(text))
        {
            Some(Ok(json)) if json.get() == text && !text.contains(['\n', '\r']) => RecordedBody::Json(json),
            _ => RecordedBody::Text(text.to_owned()),
        },
        Err(_) => RecordedBody::Bytes(bytes.to_vec()),
    }
}

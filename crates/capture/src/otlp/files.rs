//! Files of OTLP, as collectors and SDKs write them: a JSON document or JSON lines, plain or compressed with gzip.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;

use super::decode::{DecodeError, DecodedRequest, Encoding, decode_logs, decode_spans};
use super::{json, schema};

/// The largest document of a file, in bytes: a line, a message, or the file when it is one document.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024 * 1024;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes at the start of a file that are read to detect its format.
const HEAD_BYTES: u64 = 64 * 1024;

/// Content of a document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FileContent {
    /// Spans.
    Spans(DecodedRequest<ResourceSpans>),
    /// Log records.
    Logs(DecodedRequest<ResourceLogs>),
    /// Metrics, which no run needs.
    Metrics,
}

/// Error in a document. The ones after it can be read all the same, unless reading the file failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read, or its compressed stream is damaged or cut.
    #[error("failed to read the file")]
    Unreadable(#[source] io::Error),
    /// The document is no OTLP.
    #[error("{place}: {source}")]
    Malformed {
        /// Which document.
        place: DocumentPlace,
        /// The decoding error.
        #[source]
        source: DecodeError,
    },
    /// The document holds neither spans nor logs nor metrics.
    #[error("{place}: neither spans (resourceSpans) nor logs (resourceLogs)")]
    Foreign {
        /// Which document.
        place: DocumentPlace,
    },
    /// The file is something else, such as protobuf.
    #[error("the file is no JSON: OTLP is read as one JSON document, or as JSON lines")]
    NotJson,
    /// The document is too large.
    #[error("{place}: larger than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge {
        /// Which document.
        place: DocumentPlace,
    },
}

/// Place of a document in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentPlace {
    /// The file is one document.
    File,
    /// A line, from 1.
    Line(u64),
}

impl std::fmt::Display for DocumentPlace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File => formatter.write_str("the file"),
            Self::Line(number) => write!(formatter, "line {number}"),
        }
    }
}

/// Reads the documents of a file one by one, whatever its form is: the content decides, not its name.
///
/// ```
/// use tracer_capture::otlp::files::{FileContent, OtlpFile};
///
/// let lines = br#"{"resourceSpans": [{"scopeSpans": []}]}
/// {"resourceLogs": []}
/// "#;
/// let documents: Vec<FileContent> = OtlpFile::new(&lines[..]).collect::<Result<_, _>>()?;
/// assert!(matches!(documents[0], FileContent::Spans(_)));
/// assert!(matches!(documents[1], FileContent::Logs(_)));
/// # Ok::<(), tracer_capture::otlp::files::FileError>(())
/// ```
pub struct OtlpFile<'a> {
    reader: Box<dyn BufRead + 'a>,
    form: Option<DocumentForm>,
    next_number: u64,
    has_ended: bool,
}

impl std::fmt::Debug for OtlpFile<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("OtlpFile")
            .field("form", &self.form)
            .field("next_number", &self.next_number)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentForm {
    Document,
    Lines,
    Other,
}

impl<'a> OtlpFile<'a> {
    /// The documents of `reader`, which may be compressed with gzip.
    pub fn new(reader: impl Read + 'a) -> Self {
        Self {
            reader: Box::new(BufReader::with_capacity(64 * 1024, reader)),
            form: None,
            next_number: 1,
            has_ended: false,
        }
    }

    /// Finds out what the file is, once.
    fn form(&mut self) -> Result<DocumentForm, FileError> {
        if let Some(form) = self.form {
            return Ok(form);
        }
        let head = self.reader.fill_buf().map_err(FileError::Unreadable)?;
        if head.starts_with(&GZIP_MAGIC) {
            let compressed = std::mem::replace(&mut self.reader, Box::new(io::empty()));
            self.reader = Box::new(BufReader::with_capacity(
                64 * 1024,
                MultiGzDecoder::new(compressed),
            ));
        }
        let form = self.plain_form()?;
        self.form = Some(form);
        Ok(form)
    }

    fn plain_form(&mut self) -> Result<DocumentForm, FileError> {
        let reader = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        // The bytes read for detection are read again afterwards.
        let (head, reader) = looked_at(reader).map_err(FileError::Unreadable)?;
        self.reader = reader;
        Ok(form_of(&head))
    }

    fn document(&mut self) -> Option<Result<FileContent, FileError>> {
        let form = match self.form() {
            Ok(form) => form,
            Err(error) => return Some(self.ended_with(error)),
        };
        match form {
            DocumentForm::Document => self.whole(),
            DocumentForm::Lines => self.line(),
            DocumentForm::Other => Some(self.ended_with(FileError::NotJson)),
        }
    }

    /// Nothing after it can be read.
    fn ended_with(&mut self, error: FileError) -> Result<FileContent, FileError> {
        self.has_ended = true;
        Err(error)
    }

    fn whole(&mut self) -> Option<Result<FileContent, FileError>> {
        self.has_ended = true;
        let mut bytes = Vec::new();
        match read_at_most(&mut self.reader, MAX_DOCUMENT_BYTES, &mut bytes) {
            Err(error) => return Some(Err(FileError::Unreadable(error))),
            Ok(false) => {
                return Some(Err(FileError::TooLarge {
                    place: DocumentPlace::File,
                }));
            }
            Ok(true) => {}
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        Some(content(&bytes, DocumentPlace::File))
    }

    fn line(&mut self) -> Option<Result<FileContent, FileError>> {
        loop {
            let place = DocumentPlace::Line(self.next_number);
            let mut line = Vec::new();
            let limit = u64::try_from(MAX_DOCUMENT_BYTES).unwrap_or(u64::MAX);
            match self.reader.by_ref().take(limit).read_until(b'\n', &mut line) {
                Err(error) => return Some(self.ended_with(FileError::Unreadable(error))),
                Ok(0) => {
                    self.has_ended = true;
                    return None;
                }
                Ok(_) => {}
            }
            if line.len() == MAX_DOCUMENT_BYTES && line.last() != Some(&b'\n') {
                return Some(self.ended_with(FileError::TooLarge { place }));
            }
            self.next_number += 1;
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(content(&line, place));
            }
        }
    }
}

impl Iterator for OtlpFile<'_> {
    type Item = Result<FileContent, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        self.document()
    }
}

/// The beginning of a file; of JSON the whole first line, because its end decides between lines and one document.
fn looked_at<'a>(mut reader: Box<dyn BufRead + 'a>) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'a>)> {
    let mut head = Vec::new();
    reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    if is_json(&head) && !first_line(&head).ends_with(b"\n") {
        let limit = u64::try_from(MAX_DOCUMENT_BYTES).unwrap_or(u64::MAX);
        reader.by_ref().take(limit).read_until(b'\n', &mut head)?;
    }
    let again = io::Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(again)))
}

/// The first line that is not empty.
fn first_line(head: &[u8]) -> &[u8] {
    let mut lines = head.split_inclusive(|byte| *byte == b'\n');
    lines
        .find(|line| !line.iter().all(u8::is_ascii_whitespace))
        .unwrap_or_default()
}

fn form_of(head: &[u8]) -> DocumentForm {
    if head.iter().all(u8::is_ascii_whitespace) {
        return DocumentForm::Lines;
    }
    if !is_json(head) {
        return DocumentForm::Other;
    }
    match first_line(head).trim_ascii_end().last() {
        Some(b'}') => DocumentForm::Lines,
        _ => DocumentForm::Document,
    }
}

/// Returns whether it is JSON. Protobuf may begin with a line feed and a brace too, but holds control characters.
fn is_json(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_text = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace();
    first == Some(&b'{') && text.iter().all(is_text)
}

/// Reads to the end, or `limit` bytes; whether the end was reached within them.
fn read_at_most(reader: &mut (impl Read + ?Sized), limit: usize, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let allowed = u64::try_from(limit).unwrap_or(u64::MAX);
    let before = bytes.len();
    reader.take(allowed.saturating_add(1)).read_to_end(bytes)?;
    Ok(bytes.len() - before <= limit)
}

fn content(bytes: &[u8], place: DocumentPlace) -> Result<FileContent, FileError> {
    match decode_spans(Encoding::Json, bytes) {
        Ok(spans) => Ok(FileContent::Spans(spans)),
        Err(DecodeError::LogsAmongSpans) => {
            let logs = decode_logs(Encoding::Json, bytes);
            logs.map(FileContent::Logs)
                .map_err(|source| FileError::Malformed { place, source })
        }
        Err(DecodeError::Foreign) if schema::METRICS.is_among(&json::keys(bytes)) => Ok(FileContent::Metrics),
        Err(DecodeError::Foreign) => Err(FileError::Foreign { place }),
        Err(source) => Err(FileError::Malformed { place, source }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::otlp::packed::gzip;

    const SPAN_LINE: &str = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"a"}]}]}]}"#;
    const LOG_LINE: &str = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"5"}]}]}]}"#;

    /// What each document is, as one letter: spans, logs, metrics, or an error.
    fn kinds(bytes: &[u8]) -> String {
        OtlpFile::new(bytes)
            .map(|document| match document {
                Ok(FileContent::Spans(_)) => 's',
                Ok(FileContent::Logs(_)) => 'l',
                Ok(FileContent::Metrics) => 'm',
                Err(_) => 'e',
            })
            .collect()
    }

    #[rstest]
    #[case::lines(format!("{SPAN_LINE}\n\n{LOG_LINE}\r\n{{\"resourceMetrics\":[{{}}]}}"), "slm")]
    #[case::one_line(SPAN_LINE.to_owned(), "s")]
    #[case::document(SPAN_LINE.replace(':', ":\n  "), "s")]
    #[case::behind_empty_lines(format!("\n\n{LOG_LINE}\n"), "l")]
    #[case::marked(format!("\u{feff}{SPAN_LINE}"), "s")]
    #[case::torn_at_the_end(format!("{SPAN_LINE}\n{}", &LOG_LINE[..30]), "se")]
    #[case::damaged_in_the_middle(format!("{SPAN_LINE}\n}}{{\n{LOG_LINE}\n"), "sel")]
    #[case::foreign("{\"data\": []}\n".to_owned(), "e")]
    #[case::empty(String::new(), "")]
    #[case::blank(" \n\n".to_owned(), "")]
    #[case::text("no OTLP at all".to_owned(), "e")]
    fn json_files_are_read_by_content(#[case] text: String, #[case] expected: &str) {
        assert_eq!(kinds(text.as_bytes()), expected);
        assert_eq!(kinds(&gzip(text.as_bytes())), expected, "compressed");
    }

    #[test]
    fn another_file_is_refused_as_no_json() {
        for other in [&b"\x0a\x06\x12\x04\x12\x02\x1a\x00"[..], b"\0\0\0\x08", b"PK"] {
            let documents: Vec<_> = OtlpFile::new(other).collect();
            assert!(
                matches!(documents[..], [Err(FileError::NotJson)]),
                "{documents:?}"
            );
        }
    }

    #[test]
    fn a_compressed_file_that_was_cut_says_so() {
        let compressed = gzip(SPAN_LINE.as_bytes());
        assert_eq!(kinds(&compressed[..compressed.len() - 6]), "e");
    }

    #[test]
    fn errors_name_the_line() {
        let text = format!("{SPAN_LINE}\n{{\"resourceSpans\": [{{\"scopeSpans\": \"secret\"}}]}}\n");
        let error = OtlpFile::new(text.as_bytes()).nth(1).unwrap().unwrap_err();
        let report = error.to_string();
        assert!(report.starts_with("line 2: "), "{report}");
        assert!(!report.contains("secret"), "{report}");
    }
}

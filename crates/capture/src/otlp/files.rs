//! Files of OTLP, as collectors and SDKs write them: a JSON document or JSON lines, plain or compressed with gzip.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;

use super::decode::{DecodeError, DecodedRequest, Encoding, decode_logs, decode_spans};
use super::{json, schema};

/// The largest document of a file, in bytes: a line, a message, or the file when it is one document.
const MAX_DOCUMENT_BYTES: u64 = 256 * 1024 * 1024;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BUFFER_BYTES: usize = 64 * 1024;

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
    /// The lines that were read.
    line: u64,
    /// Each line is a document.
    is_lines: bool,
}

impl std::fmt::Debug for OtlpFile<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("OtlpFile")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl<'a> OtlpFile<'a> {
    /// The documents of `reader`, which may be compressed with gzip.
    pub fn new(reader: impl Read + 'a) -> Self {
        let mut plain = BufReader::with_capacity(BUFFER_BYTES, reader);
        // A file that cannot be read says so with its first document.
        let is_packed = plain.fill_buf().is_ok_and(|head| head.starts_with(&GZIP_MAGIC));
        let reader: Box<dyn BufRead + 'a> = if is_packed {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(plain)))
        } else {
            Box::new(plain)
        };
        Self {
            reader,
            line: 0,
            is_lines: false,
        }
    }

    /// The bytes of the next document; `None` behind the last.
    fn document(&mut self) -> Result<Option<(Vec<u8>, DocumentPlace)>, FileError> {
        let mut bytes = Vec::new();
        while bytes.trim_ascii().is_empty() {
            bytes.clear();
            self.line += 1;
            let mut limited = (&mut self.reader).take(MAX_DOCUMENT_BYTES + 1);
            let read = limited.read_until(b'\n', &mut bytes);
            if read.map_err(FileError::Unreadable)? == 0 {
                return Ok(None);
            }
        }
        let mut place = DocumentPlace::Line(self.line);
        if !self.is_lines {
            if !is_json(&bytes) {
                return Err(FileError::NotJson);
            }
            // The first line says by its end whether it is a document of its own.
            self.is_lines = bytes.trim_ascii_end().ends_with(b"}");
            if !self.is_lines {
                place = DocumentPlace::File;
                let mut limited = (&mut self.reader).take(MAX_DOCUMENT_BYTES);
                limited.read_to_end(&mut bytes).map_err(FileError::Unreadable)?;
            }
        }
        if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
            return Err(FileError::TooLarge { place });
        }
        Ok(Some((bytes, place)))
    }
}

impl Iterator for OtlpFile<'_> {
    type Item = Result<FileContent, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.document().transpose()?;
        if read.is_err() {
            // Nothing after it can be read.
            self.reader = Box::new(io::empty());
        }
        Some(read.and_then(|(bytes, place)| content(&bytes, place)))
    }
}

/// Returns whether it is JSON. Protobuf may begin with a line feed and a brace too, but holds control characters.
fn is_json(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let is_text = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace();
    text.trim_ascii_start().starts_with(b"{") && text.iter().all(is_text)
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
    use crate::tests::gzip;

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

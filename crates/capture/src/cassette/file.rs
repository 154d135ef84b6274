//! [`Cassette`]: a cassette that was read, checked whole before anything of it is used.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use tracer_runs::open_input;

use super::error::{CassetteError, FieldProblem};
use super::format::{Head, MAX_EXCHANGES, MAX_LINE_BYTES};
use super::recorded::RecordedExchange;
use super::rules::Rules;

/// Name of the file next to a run's log that holds its exchanges.
pub const EXCHANGES_FILE: &str = "exchanges.jsonl";
/// The largest cassette, in bytes.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// Recorded exchanges, in the order in which they ended.
///
/// ```
/// use tracer_capture::cassette::Cassette;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("refund.jsonl");
/// std::fs::write(&path, concat!(
///     r#"{"cassette":1,"tracer":"0.1.0"}"#, "\n",
///     r#"{"n":1,"api":"openai.chat","path":"/v1/chat/completions","request":{"model":"gpt-5"},"#,
///     r#""response":{"status":200,"headers":{},"body":{"choices":[]}}}"#, "\n",
/// ))?;
/// let cassette = Cassette::read(&path)?;
/// assert_eq!(cassette.exchanges[0].model(), Some("gpt-5"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cassette {
    /// The file.
    pub path: PathBuf,
    /// The head: tracer's version, time, command and matching rules.
    pub head: Head,
    pub(super) rules: Rules,
    /// The exchanges.
    pub exchanges: Vec<RecordedExchange>,
    /// `true` when the last line was cut short: the recording was ended while it was written. It is left out.
    pub is_torn: bool,
}

impl Cassette {
    /// Reads a cassette.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] with the line and the field; nothing is used of a cassette that breaks one rule. Only a last line
    /// without an end that is no JSON is left out, and reported.
    pub fn read(path: &Path) -> Result<Self, CassetteError> {
        let file = open_input(path, MAX_BYTES).map_err(CassetteError::at(path))?;
        let mut lines = CassetteLines {
            path,
            reader: BufReader::new(file.take(MAX_BYTES)),
            number: 0,
        };
        let Some((line, _)) = lines.next()? else {
            return Err(CassetteError::Empty {
                path: path.to_owned(),
            });
        };
        let head = match Head::read(&line).map_err(|problem| lines.problem(problem))? {
            Ok(head) => head,
            Err(version) => {
                return Err(CassetteError::FromTheFuture {
                    path: path.to_owned(),
                    version,
                });
            }
        };
        let rules = Rules::new(&head).map_err(|problem| lines.problem(problem))?;
        let mut cassette = Self {
            path: path.to_owned(),
            head,
            rules,
            exchanges: Vec::new(),
            is_torn: false,
        };
        while let Some((line, has_end)) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            if !has_end && serde_json::from_str::<serde::de::IgnoredAny>(&line).is_err() {
                cassette.is_torn = true;
                continue;
            }
            if cassette.exchanges.len() >= MAX_EXCHANGES {
                return Err(lines.problem(FieldProblem::new(
                    "line",
                    "is one too many: 10,000 exchanges are the most",
                )));
            }
            let exchange = RecordedExchange::read(&line).map_err(|problem| lines.problem(problem))?;
            if cassette
                .exchanges
                .iter()
                .any(|other| other.number == exchange.number)
            {
                return Err(lines.problem(FieldProblem::new("n", "is the number of an earlier line")));
            }
            cassette.exchanges.push(exchange);
        }
        Ok(cassette)
    }

    /// Reads the calls that a run kept in its directory; `None` where it kept none.
    ///
    /// # Errors
    ///
    /// [`CassetteError`], also when nothing is in the file.
    pub fn of_run(directory: &Path) -> Result<Option<Self>, CassetteError> {
        let path = directory.join(EXCHANGES_FILE);
        if !path.exists() {
            return Ok(None);
        }
        if path.is_symlink() {
            // A file of a run is no link: one would lead out of the data directory.
            return Err(CassetteError::at(&path)(io::Error::other(
                "it is a symbolic link",
            )));
        }
        Self::read_filled(&path).map(Some)
    }

    /// As [`Cassette::read`], of one that holds a call.
    ///
    /// # Errors
    ///
    /// [`CassetteError`], also when nothing is in it.
    pub fn read_filled(path: &Path) -> Result<Self, CassetteError> {
        let cassette = Self::read(path)?;
        if cassette.exchanges.is_empty() {
            return Err(CassetteError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(cassette)
    }

    /// The providers whose calls it holds, by their segments of the proxy's path.
    #[must_use]
    pub fn providers(&self) -> Vec<String> {
        let mut providers: Vec<String> = self
            .exchanges
            .iter()
            .map(|exchange| exchange.provider.clone())
            .collect();
        providers.sort_unstable();
        providers.dedup();
        providers
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.exchanges.iter().map(RecordedExchange::line);
        [self.head.line()]
            .into_iter()
            .chain(lines)
            .map(|line| line + "\n")
            .collect()
    }
}

struct CassetteLines<'a, R> {
    path: &'a Path,
    reader: R,
    number: usize,
}

impl<R: BufRead> CassetteLines<'_, R> {
    /// The next line, and whether it has an end.
    fn next(&mut self) -> Result<Option<(String, bool)>, CassetteError> {
        let mut bytes = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let length = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut bytes)
            .map_err(CassetteError::at(self.path))?;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        let has_end = bytes.last() == Some(&b'\n');
        if !has_end && length > MAX_LINE_BYTES {
            return Err(self.problem(FieldProblem::new("line", "is longer than 64 MiB")));
        }
        match String::from_utf8(bytes) {
            Ok(line) => Ok(Some((line, has_end))),
            // A torn line may end within a character.
            Err(error) if !has_end => Ok(Some((
                String::from_utf8_lossy(error.as_bytes()).into_owned(),
                false,
            ))),
            Err(_) => Err(self.problem(FieldProblem::new("line", "is no UTF-8"))),
        }
    }

    fn problem(&self, FieldProblem { field, problem }: FieldProblem) -> CassetteError {
        CassetteError::Line {
            path: self.path.to_owned(),
            line: self.number,
            field,
            problem,
        }
    }
}

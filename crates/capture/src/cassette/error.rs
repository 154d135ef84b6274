//! Why a cassette cannot be used: the file, the line, the field, never what is in it.

use std::io;
use std::path::{Path, PathBuf};

/// A cassette that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// There is a file already, and it is not to be replaced.
    #[error("{} is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is of a later version of the format.
    #[error("{}: the cassette has format version {version}, and this tracer reads version 1", path.display())]
    FromTheFuture {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// A line is not what the format says.
    #[error("{}:{line}: {field}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field: `response.frames[3]`.
        field: String,
        /// Description of the problem.
        problem: &'static str,
    },
    /// It holds no exchange.
    #[error("{}: the cassette holds no call", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl CassetteError {
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// A field that is not what the format says; the reader adds the file and the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldProblem {
    pub(super) field: String,
    pub(super) problem: &'static str,
}

impl FieldProblem {
    pub(super) fn new(field: impl Into<String>, problem: &'static str) -> Self {
        Self {
            field: field.into(),
            problem,
        }
    }

    /// The same, of a field within another.
    pub(super) fn within(mut self, outer: &str) -> Self {
        self.field = if self.field.starts_with('[') {
            format!("{outer}{}", self.field)
        } else {
            format!("{outer}.{}", self.field)
        };
        self
    }
}

//! A data directory that belongs to one test.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tracer_runs::RunStore;
use tracer_sdk::{Config, Run};

use crate::Finished;

/// A data directory that is removed with the test.
#[derive(Debug)]
pub struct DataDir {
    folder: TempDir,
}

impl Default for DataDir {
    fn default() -> Self {
        Self::new()
    }
}

impl DataDir {
    /// An empty one, which the first run creates.
    #[must_use]
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Where runs are recorded.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Settings that record here.
    pub fn config(&self) -> Config {
        Config::new().data_dir(self.path())
    }

    /// A run that is recorded here.
    #[track_caller]
    pub fn run(&self, name: &'static str) -> Run {
        Run::new(name).config(&self.config())
    }

    /// The directories of the runs.
    #[must_use]
    pub fn run_dirs(&self) -> Vec<PathBuf> {
        match RunStore::new(self.path()).list_directories() {
            Ok(directories) => directories.into_iter().map(|directory| directory.path).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// All runs, each of which must have ended and be valid.
    #[must_use]
    pub fn finished_runs(&self) -> Vec<Finished> {
        self.run_dirs()
            .iter()
            .map(|directory| Finished::open(directory))
            .collect()
    }

    /// The only run, which must have ended and be valid.
    #[must_use]
    pub fn finished(&self) -> Finished {
        let mut runs = self.finished_runs();
        assert_eq!(runs.len(), 1, "one run was expected");
        runs.remove(0)
    }

    /// The content of every file below, with its path.
    #[must_use]
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(self.folder.path(), &mut files);
        files
    }
}

/// Records within a run, and reads the run back.
pub fn recorded(record: impl FnOnce()) -> Finished {
    let data = DataDir::new();
    data.run("recorders").in_scope(record);
    data.finished()
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}

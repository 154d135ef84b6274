//! Running an example program and reading back what it recorded.

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use tracer_runs::LoadedRun;

/// What one execution of an example left behind.
pub(crate) struct Execution {
    /// What the program said, and its exit code.
    pub(crate) output: Output,
    /// `meta.json` of its only run.
    pub(crate) meta: Value,
    /// The projected records of the run, as an export holds them.
    pub(crate) records: Vec<Value>,
}

impl Execution {
    /// Runs the program with a data directory of its own, and reads the one run that must be in it.
    pub(crate) fn of(program: &str, arguments: &[&str]) -> Self {
        Self::with_environment(program, arguments, &[])
    }

    /// Likewise, with these environment variables.
    pub(crate) fn with_environment(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let data = TempDir::new().unwrap();
        let output = Command::new(program)
            .args(arguments)
            .env("TRACER_DATA_DIR", data.path())
            .env("RUST_BACKTRACE", "0")
            .env("HOME", data.path())
            .env_remove("TRACER_RUN_NAME")
            .env_remove("TRACER_ENABLED")
            .env_remove("OPENAI_BASE_URL")
            .env_remove("OPENAI_API_KEY")
            .env_remove("OPENAI_MODEL")
            .envs(environment.iter().copied())
            .output()
            .unwrap();

        let runs: Vec<_> = std::fs::read_dir(data.path().join("runs"))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let [directory] = runs.as_slice() else {
            panic!("one run, not {}", runs.len())
        };
        let files: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect();
        assert_eq!(
            files.len(),
            2,
            "an ended run is meta.json and spans.jsonl: {files:?}"
        );
        let run = LoadedRun::read(&directory.path()).unwrap();
        let meta = std::fs::read_to_string(directory.path().join("meta.json")).unwrap();
        Self {
            output,
            meta: serde_json::from_str(&meta).unwrap(),
            records: run
                .records()
                .iter()
                .map(|record| serde_json::to_value(record).unwrap())
                .collect(),
        }
    }

    /// What the program printed.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// What the program printed beside it.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }

    /// Each record's event type and name, as `TOOL_CALL compute`, in order.
    pub(crate) fn story(&self) -> Vec<String> {
        let text = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
        self.records
            .iter()
            .map(|record| format!("{} {}", text(record, "event_type"), text(record, "name")))
            .collect()
    }

    /// The payloads of the records of one type, in order.
    pub(crate) fn payloads(&self, event_type: &str) -> Vec<&Value> {
        let of_type = self
            .records
            .iter()
            .filter(|record| record["event_type"] == event_type);
        of_type.map(|record| &record["payload"]).collect()
    }

    /// The program's exit code.
    pub(crate) fn code(&self) -> Option<i32> {
        self.output.status.code()
    }
}

/// The keys of an object, in order.
pub(crate) fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

//! Traced programs in processes of their own.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};

use crate::DataDir;

/// A program to be started, with an environment in which nothing but its data directory is set for the tracer.
#[derive(Debug)]
pub struct Program {
    command: Command,
}

impl Program {
    /// An executable that records into a data directory.
    #[must_use]
    pub fn new(executable: &str, data: &DataDir) -> Self {
        let mut command = Command::new(executable);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRACER_"))
        {
            command.env_remove(name);
        }
        command.env("TRACER_DATA_DIR", data.path());
        Self { command }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs the program to its end.
    #[must_use]
    pub fn output(mut self) -> Output {
        self.command.output().unwrap()
    }

    /// Runs the program to its end, which must be a good one, in silence.
    pub fn succeed(self) {
        let output = self.output();
        assert!(output.status.success(), "{output:?}");
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Starts the program, with its standard streams as pipes.
    #[must_use]
    pub fn start(self) -> Child {
        self.start_with_errors_to(Stdio::piped())
    }

    /// Starts the program, and waits until it prints that it is ready.
    #[must_use]
    pub fn start_ready(self) -> Child {
        let mut child = self.start();
        let mut line = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
        child
    }

    /// Starts the program, with a standard error of the test's own; the other streams are pipes.
    #[must_use]
    pub fn start_with_errors_to(mut self, errors: impl Into<Stdio>) -> Child {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap()
    }
}

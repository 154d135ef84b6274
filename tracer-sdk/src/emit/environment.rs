//! Facts about the program that the root span records.
//!
//! Compiler, platform, working directory, arguments, default run name.

use chrono::{DateTime, Local};

/// The compiler that built the program, in the field that Python emitters use for their interpreter.
const COMPILER: &str = env!("TRACER_RUSTC_VERSION");

/// `darwin`, `linux` or `win32`, whatever Rust calls it (specification, `RUN_START`).
const PLATFORM: &str = if cfg!(any(target_os = "macos", target_os = "ios")) {
    "darwin"
} else if cfg!(windows) {
    "win32"
} else {
    "linux"
};

/// Facts about the program, for the root span.
#[derive(Debug, Clone)]
pub(crate) struct ProgramFacts {
    pub(crate) compiler: &'static str,
    pub(crate) platform: &'static str,
    /// Working directory when the run started; empty when it was deleted or may not be read.
    pub(crate) working_directory: String,
    /// Command-line arguments; those that are not Unicode are converted lossily.
    pub(crate) arguments: Vec<String>,
}

impl ProgramFacts {
    /// This program.
    pub(crate) fn here() -> Self {
        Self {
            compiler: COMPILER,
            platform: PLATFORM,
            working_directory: std::env::current_dir()
                .map(|path| path.to_string_lossy().into_owned())
                .unwrap_or_default(),
            arguments: std::env::args_os()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect(),
        }
    }

    /// The same on every machine.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn anywhere() -> Self {
        Self {
            compiler: "rustc",
            platform: "linux",
            working_directory: String::new(),
            arguments: Vec::new(),
        }
    }
}

/// `<path>:<function> - <YYYY-MM-DD HH:MM>`, in local time.
pub(crate) fn default_run_name(path: &str, function: &str, now: DateTime<Local>) -> String {
    format!("{path}:{function} - {}", now.format("%Y-%m-%d %H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    #[test]
    fn the_default_run_name_is_path_function_and_local_minute() {
        let now = Local.with_ymd_and_hms(2026, 1, 2, 3, 4, 59).unwrap();
        assert_eq!(
            default_run_name("src/main.rs", "main", now),
            "src/main.rs:main - 2026-01-02 03:04"
        );
    }

    #[test]
    fn the_compiler_is_recorded_with_its_version() {
        assert!(COMPILER.starts_with("rustc 1."), "{COMPILER}");
    }
}

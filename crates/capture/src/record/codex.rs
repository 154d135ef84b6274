//! What makes the Codex CLI export: it takes its telemetry settings from arguments and never from the environment.

use std::ffi::OsString;

use super::environment::OtlpEndpoints;
use super::program::{Program, ProgramKind};

/// The options to put directly behind the program of a command that is `codex`, so that it sends logs to a receiver, which
/// report its calls; its spans, hundreds in a short session, are of its own internals and hold no content. None when it is another program, or when the command sets the telemetry itself.
#[must_use]
pub fn codex_options(program: &Program, command: &[OsString], endpoints: &OtlpEndpoints) -> Vec<OsString> {
    let is_set = |word: &OsString| {
        let word = word.to_string_lossy();
        let word = word
            .strip_prefix("--config=")
            .or(word.strip_prefix("-c"))
            .unwrap_or(&word);
        word.trim_start().starts_with("otel.")
    };
    if program.kind != ProgramKind::Codex || command.iter().any(is_set) {
        return Vec::new();
    }
    let endpoint = format!("{}/v1/logs", endpoints.http);
    let settings = [
        format!(r#"otel.exporter={{otlp-http={{endpoint="{endpoint}",protocol="binary"}}}}"#),
        "otel.log_user_prompt=true".to_owned(),
    ];
    settings
        .into_iter()
        .flat_map(|setting| [OsString::from("-c"), OsString::from(setting)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn options(command: &str) -> Vec<String> {
        let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let program = Program::of_command(&command, Path::new("/nonexistent"));
        let endpoints = OtlpEndpoints {
            http: "http://127.0.0.1:1".to_owned(),
            grpc: "http://127.0.0.1:2".to_owned(),
        };
        let options = codex_options(&program, &command, &endpoints);
        options
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn the_logs_of_codex_go_to_the_receiver() {
        let expected = [
            "-c",
            r#"otel.exporter={otlp-http={endpoint="http://127.0.0.1:1/v1/logs",protocol="binary"}}"#,
            "-c",
            "otel.log_user_prompt=true",
        ];
        assert_eq!(options("codex exec hello"), expected);
        assert_eq!(options("npx -y @openai/codex exec hello"), expected);
    }

    #[test]
    fn a_command_that_sets_the_telemetry_stays_as_it_is() {
        for command in [
            "codex -c otel.exporter=none exec hello",
            "codex -cotel.exporter=none exec hello",
            "codex --config=otel.exporter=none",
            "claude -p hello",
        ] {
            assert_eq!(options(command), [""; 0], "{command}");
        }
    }
}

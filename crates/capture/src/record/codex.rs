//! Options that lead the Codex CLI to the receiver and the proxy.
//!
//! It takes its settings from arguments and its own files, and never from the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::environment::{Inherited, OtlpEndpoints};
use super::program::{Program, ProgramKind};
use crate::small_file;

/// The variable of [`model_base_urls`](super::model_base_urls) whose value Codex is given as an option.
const BASE_URL: &str = "OPENAI_BASE_URL";
/// The setting that takes it.
const BASE_URL_SETTING: &str = "openai_base_url";

/// The options to put directly behind the program of a command that is `codex`: those by which it sends logs to a receiver,
/// and those by which its calls of models go to a proxy. Its spans, hundreds in a short session, are of its own internals and
/// hold no content. None of a kind that the command sets itself, and none when it is another program.
///
/// Its calls do not go to the proxy where its own settings say where they go, or where somebody is logged in with `ChatGPT`,
/// whose calls no key of the API answers.
#[must_use]
pub fn codex_options(
    program: &Program,
    command: &[OsString],
    inherited: &Inherited,
    endpoints: Option<&OtlpEndpoints>,
    base_urls: &[(&'static str, String)],
) -> Vec<OsString> {
    if program.kind != ProgramKind::Codex {
        return Vec::new();
    }
    let sets = |setting: &str| {
        command.iter().any(|word| {
            let word = word.to_string_lossy();
            let word = word
                .strip_prefix("--config=")
                .or(word.strip_prefix("-c"))
                .unwrap_or(&word);
            word.trim_start().starts_with(setting)
        })
    };
    let mut settings = Vec::new();
    if let Some(endpoints) = endpoints.filter(|_| !sets("otel.")) {
        let endpoint = format!("{}/v1/logs", endpoints.http);
        settings.push(format!(
            r#"otel.exporter={{otlp-http={{endpoint="{endpoint}",protocol="binary"}}}}"#
        ));
        settings.push("otel.log_user_prompt=true".to_owned());
    }
    let base_url = base_urls.iter().find(|(name, _)| *name == BASE_URL);
    if let Some((_, base_url)) = base_url
        && !sets(BASE_URL_SETTING)
        && !CodexHome::of(inherited).is_answered_elsewhere()
    {
        settings.push(format!(r#"{BASE_URL_SETTING}="{base_url}""#));
    }
    settings
        .into_iter()
        .flat_map(|setting| [OsString::from("-c"), OsString::from(setting)])
        .collect()
}

/// Codex's own files.
struct CodexHome(Option<PathBuf>);

impl CodexHome {
    fn of(inherited: &Inherited) -> Self {
        let named = inherited.get("CODEX_HOME").map(PathBuf::from);
        let usual = || Some(Path::new(inherited.get("HOME")?).join(".codex"));
        Self(named.or_else(usual))
    }

    fn read(&self, name: &str) -> Option<String> {
        small_file::text(&self.0.as_ref()?.join(name))
    }

    /// Returns whether a server other than that of the API answers.
    fn is_answered_elsewhere(&self) -> bool {
        let sets_it = |line: &str| line.trim_start().starts_with(BASE_URL_SETTING);
        let settings = self.read("config.toml").unwrap_or_default();
        if settings.lines().any(sets_it) {
            return true;
        }
        // Which kind of login it is, and nothing of it.
        let login: Option<Value> = self
            .read("auth.json")
            .and_then(|text| serde_json::from_str(&text).ok());
        login.is_some_and(|login| {
            let has = |key| login.get(key).is_some_and(|value| !value.is_null());
            has("tokens") && !has("OPENAI_API_KEY")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn options_with(home: &Path, command: &str, has_receiver: bool, has_proxy: bool) -> Vec<String> {
        let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let program = Program::of_command(&command, Path::new("/nonexistent"));
        let endpoints = OtlpEndpoints {
            http: "http://127.0.0.1:1".to_owned(),
            grpc: "http://127.0.0.1:2".to_owned(),
        };
        let base_urls = [
            (
                "ANTHROPIC_BASE_URL",
                "http://127.0.0.1:3/r/t/anthropic".to_owned(),
            ),
            (BASE_URL, "http://127.0.0.1:3/r/t/openai/v1".to_owned()),
        ];
        let options = codex_options(
            &program,
            &command,
            &Inherited::new([("CODEX_HOME", home.to_str().unwrap())]),
            has_receiver.then_some(&endpoints),
            if has_proxy { &base_urls } else { &[] },
        );
        options
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    fn options(command: &str) -> Vec<String> {
        options_with(Path::new("/nonexistent"), command, true, true)
    }

    const LOGS: [&str; 4] = [
        "-c",
        r#"otel.exporter={otlp-http={endpoint="http://127.0.0.1:1/v1/logs",protocol="binary"}}"#,
        "-c",
        "otel.log_user_prompt=true",
    ];
    const CALLS: [&str; 2] = ["-c", r#"openai_base_url="http://127.0.0.1:3/r/t/openai/v1""#];

    #[test]
    fn logs_and_calls_of_codex_come_here() {
        let all = [&LOGS[..], &CALLS[..]].concat();
        assert_eq!(options("codex exec hello"), all);
        assert_eq!(options("npx -y @openai/codex exec hello"), all);
        let home = Path::new("/nonexistent");
        assert_eq!(options_with(home, "codex exec hello", true, false), LOGS);
        assert_eq!(options_with(home, "codex exec hello", false, true), CALLS);
    }

    #[test]
    fn what_a_command_sets_itself_stays_as_it_is() {
        for command in [
            "codex -c otel.exporter=none exec hello",
            "codex -cotel.exporter=none exec hello",
            "codex --config=otel.exporter=none",
        ] {
            assert_eq!(options(command), CALLS, "{command}");
        }
        for command in [
            "codex -c openai_base_url=http://a/v1 exec hello",
            "codex --config=openai_base_url=http://a/v1",
        ] {
            assert_eq!(options(command), LOGS, "{command}");
        }
        assert_eq!(options("claude -p hello"), [""; 0]);
    }

    #[test]
    fn calls_that_the_api_does_not_answer_stay_away_from_the_proxy() {
        for (file, text, expected) in [
            ("auth.json", r#"{"OPENAI_API_KEY":"k"}"#, true),
            ("auth.json", r#"{"OPENAI_API_KEY":"k","tokens":{}}"#, true),
            ("auth.json", r#"{"OPENAI_API_KEY":null,"tokens":{}}"#, false),
            ("auth.json", "no JSON", true),
            ("config.toml", "model = \"gpt-5\"", true),
            ("config.toml", "openai_base_url = \"http://a/v1\"", false),
        ] {
            let home = tempfile::tempdir().unwrap();
            std::fs::write(home.path().join(file), text).unwrap();
            let options = options_with(home.path(), "codex exec hello", false, true);
            assert_eq!(!options.is_empty(), expected, "{file}: {text}");
        }
    }
}

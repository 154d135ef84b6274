//! What real programs sent over OTLP (`tests/data/otlp`), imported: every model call once, no token twice, and record by
//! record the model, the prompt, the answer, the tools with their arguments and results, the nesting and the failures.

mod transcript;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rstest::rstest;
use serde_json::Value;
use tracer_capture::OtlpSink;
use tracer_capture::otlp::files::{FileContent, OtlpFile};
use tracer_capture::runs::{CollectorOptions, RunCollector, RunEnding, RunIdentity, TraceRuns};
use tracer_insight::conversation::{Conversation, MessagePart};
use tracer_runs::{LoadedRun, RunReader, RunStore, Strictness};
use tracer_sdk::format::{EventType, Payload, Record, RecordedStatus, Timestamp, Usage};
use tracer_sdk::settings::Settings;
use tracer_tests::{DataDir, Program};

use transcript::transcript;

const TRACER: &str = env!("CARGO_BIN_EXE_tracer_under_test");
/// All that was captured happened between these, in microseconds of Unix time.
const BEFORE: i64 = 1_795_000_000_000_000;
const AFTER: i64 = 1_800_000_000_000_000;

/// What one execution of a program sent, and what the stand-in for the model served meanwhile.
struct Capture {
    framework: String,
    scenario: String,
    file: PathBuf,
    /// The model calls that were served, in their order.
    served: Vec<Value>,
}

impl Capture {
    fn name(&self) -> String {
        format!("{}/{}", self.framework, self.scenario)
    }

    /// The calls that were answered: with this many tokens each.
    fn answered(&self) -> impl Iterator<Item = &Value> {
        self.served.iter().filter(|call| call["status"] == 200)
    }

    /// Whether the program sends spans for tools: two of them instrument nothing but the client of the model.
    fn has_tool_spans(&self) -> bool {
        !["openllmetry", "opentelemetry"].contains(&self.framework.as_str())
    }

    /// The calls as the program reports them. Claude Code reports a call that it tried again and again as one.
    fn reported(&self) -> Vec<&Value> {
        match (self.framework.as_str(), self.scenario.as_str()) {
            ("claude_code", "failed-call") => self.served.iter().take(1).collect(),
            _ => self.served.iter().collect(),
        }
    }

    /// Imports the file into a data directory of its own, and reads the runs back.
    fn import(&self) -> (DataDir, Vec<LoadedRun>) {
        let data = DataDir::new();
        self.import_into(&data);
        let runs = runs(&data);
        (data, runs)
    }

    /// Makes a run of each trace. Instrumentations that are combined do not always share one: `tracer record` makes one run of
    /// them, and so does this.
    fn import_into(&self, data: &DataDir) {
        let mut options = CollectorOptions::new(&Settings::with_data_dir(data.path()));
        if self.scenario == "combined" {
            let mut identity = RunIdentity::new("combined", Timestamp::from_unix_microseconds(BEFORE));
            identity.trace_id = "0af7651916cd43dd8448eb211c80319c".parse().unwrap();
            options.into = TraceRuns::OneRun(identity);
        }
        let collector = RunCollector::open(options).unwrap();
        for document in OtlpFile::new(File::open(&self.file).unwrap()) {
            let accepted = match document.unwrap() {
                FileContent::Spans(spans) => collector.accept_spans(spans.resources),
                FileContent::Logs(logs) => collector.accept_logs(logs.resources),
                content => panic!("{content:?}"),
            };
            assert_eq!(accepted.unwrap().rejected, 0, "{}", self.name());
        }
        collector
            .end_run(&RunEnding::new(Timestamp::from_unix_microseconds(AFTER)))
            .unwrap();
        assert_eq!(collector.close().last_error, None, "{}", self.name());
    }
}

/// The runs of a data directory, in the order in which they began; each must be valid.
fn runs(data: &DataDir) -> Vec<LoadedRun> {
    let mut runs: Vec<LoadedRun> = RunStore::new(data.path())
        .list_directories()
        .unwrap()
        .iter()
        .map(|directory| LoadedRun::read(&directory.path).unwrap_or_else(|invalid| panic!("{invalid:#?}")))
        .collect();
    runs.sort_by_key(|run| run.meta.started_at.instant());
    runs
}

fn captures() -> Vec<Capture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/otlp");
    let mut files: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|file| Capture {
            framework: file
                .parent()
                .unwrap()
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
            scenario: file.file_stem().unwrap().to_str().unwrap().to_owned(),
            served: serde_json::from_slice(&fs::read(file.with_extension("served.json")).unwrap()).unwrap(),
            file,
        })
        .collect()
}

fn of_type(runs: &[LoadedRun], event_type: EventType) -> Vec<Record> {
    runs.iter()
        .flat_map(LoadedRun::records)
        .filter(|record| record.event_type() == event_type)
        .collect()
}

fn model_call(record: &Record) -> (&str, &Usage, RecordedStatus) {
    let Payload::LlmCall {
        model, usage, status, ..
    } = &record.payload
    else {
        panic!("not a model call: {record:?}")
    };
    (model, usage, *status)
}

#[test]
fn every_framework_has_its_captures() {
    let captures = captures();
    let mut frameworks: Vec<&str> = captures
        .iter()
        .map(|capture| capture.framework.as_str())
        .collect();
    frameworks.dedup();
    assert_eq!(
        frameworks,
        [
            "ai_sdk_6",
            "ai_sdk_7",
            "claude_code",
            "codex",
            "gemini_cli",
            "google_adk",
            "langgraph",
            "openai_agents",
            "openllmetry",
            "opentelemetry",
            "pydantic_ai",
        ]
    );
    assert!(captures.iter().all(|capture| !capture.served.is_empty()));
}

#[test]
fn one_execution_is_one_run() {
    for capture in captures() {
        let (_data, runs) = capture.import();
        assert_eq!(runs.len(), 1, "{}", capture.name());
    }
}

#[test]
fn every_model_call_is_recorded_once() {
    for capture in captures() {
        let (_data, runs) = capture.import();
        let calls = of_type(&runs, EventType::LlmCall);
        let reported = capture.reported();
        assert_eq!(calls.len(), reported.len(), "{}", capture.name());
        for (call, served) in calls.iter().zip(reported) {
            let (model, usage, status) = model_call(call);
            let name = format!("{}, call {}", capture.name(), served["call"]);
            let is_answered = served["status"] == 200;
            assert_eq!(
                status == RecordedStatus::Ok,
                is_answered,
                "{name}: {:?}",
                call.payload
            );
            assert_eq!(usage.prompt_tokens, served["input_tokens"].as_u64(), "{name}");
            assert_eq!(
                usage.completion_tokens,
                served["output_tokens"].as_u64(),
                "{name}"
            );
            if is_answered {
                // The instrumentation of the Agents SDK learns the model from the answer; others name the requested one.
                assert!(
                    model.starts_with(served["model"].as_str().unwrap()),
                    "{name}: {model}"
                );
            }
        }
    }
}

#[test]
fn no_token_is_counted_twice() {
    for capture in captures() {
        let (data, runs) = capture.import();
        let sum = |key: &str| {
            capture
                .answered()
                .filter_map(|call| call[key].as_u64())
                .sum::<u64>()
        };
        let (input, output) = (sum("input_tokens"), sum("output_tokens"));
        if input == 0 {
            continue;
        }
        for (summary, run) in RunStore::new(data.path()).list().unwrap().iter().zip(&runs) {
            let read = RunReader::open(&summary.directory.path, Strictness::Lenient).unwrap();
            assert_eq!(
                read.tokens.total_tokens,
                Some(input + output),
                "{}",
                capture.name()
            );
            let shown = Program::new(TRACER, &data)
                .args(["show", &run.meta.trace_id.to_string()])
                .output();
            let shown = String::from_utf8(shown.stdout).unwrap();
            let words = format!("{} tokens ({input} in, {output} out", input + output);
            assert!(shown.contains(&words), "{}: {shown}", capture.name());
        }
    }
}

#[test]
fn cached_and_reasoning_tokens_are_kept() {
    for capture in captures().iter().filter(|capture| {
        // The spans of the Gemini CLI name none.
        capture.scenario == "tools" && capture.framework != "gemini_cli"
    }) {
        let (_data, runs) = capture.import();
        for call in of_type(&runs, EventType::LlmCall) {
            let payload = serde_json::to_value(&call.payload).unwrap();
            assert_eq!(
                payload["usage"]["cache_read_tokens"],
                64,
                "{}: {}",
                capture.name(),
                payload["usage"]
            );
        }
    }
}

#[test]
fn every_answer_can_be_read() {
    // Codex logs no answers: what it prints is nowhere in its telemetry.
    for capture in captures().iter().filter(|capture| capture.framework != "codex") {
        let (_data, runs) = capture.import();
        let calls = of_type(&runs, EventType::LlmCall);
        for (call, served) in calls.iter().zip(&capture.served) {
            let Some(text) = served["text"].as_str() else {
                continue;
            };
            let conversation = Conversation::from_payload(&call.payload).unwrap();
            let said: String = conversation
                .answer
                .iter()
                .flat_map(|message| &message.parts)
                .filter_map(|part| match part {
                    MessagePart::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(said, text, "{}", capture.name());
        }
    }
}

#[test]
fn every_tool_call_has_arguments_and_result() {
    for capture in captures().iter().filter(|capture| capture.has_tool_spans()) {
        let (_data, runs) = capture.import();
        let tools = of_type(&runs, EventType::ToolCall);
        let asked: Vec<&Value> = capture
            .answered()
            .flat_map(|call| call["tool_calls"].as_array().unwrap())
            .collect();
        assert_eq!(tools.len(), asked.len(), "{}: {tools:#?}", capture.name());
        for asked in asked {
            let argument = asked["arguments"].as_object().unwrap().values().next().unwrap();
            let argument = argument.as_str().unwrap();
            // Tools of one answer run at the same time, in any order.
            let has_argument = |tool: &&Record| matches!(&tool.payload, Payload::ToolCall { args, .. } if args.to_string().contains(argument));
            let tool = tools.iter().find(has_argument);
            let tool =
                tool.unwrap_or_else(|| panic!("{}: no tool has {argument}: {tools:#?}", capture.name()));
            let Payload::ToolCall {
                tool_name,
                result,
                status,
                ..
            } = &tool.payload
            else {
                unreachable!()
            };
            let name = format!("{}: {:?}", capture.name(), tool.payload);
            assert_eq!(*tool_name, asked["name"], "{name}");
            if capture.scenario == "failed-tool" {
                // A framework that hands the error to the model reports it as a result.
                assert!(
                    *status == RecordedStatus::Error
                        || result.to_string().contains("the weather service is down"),
                    "{name}"
                );
            } else {
                assert!(result.to_string().contains('7'), "the result: {name}");
                assert_eq!(*status, RecordedStatus::Ok, "{name}");
            }
        }
    }
}

#[test]
fn importing_again_changes_nothing() {
    // A recording begins a run of its own each time.
    for capture in captures().iter().filter(|capture| capture.scenario != "combined") {
        let (data, _runs) = capture.import();
        let before = data.files();
        capture.import_into(&data);
        assert!(before == data.files(), "{}", capture.name());
    }
}

#[rstest]
#[case("ai_sdk_6")]
#[case("ai_sdk_7")]
#[case("claude_code")]
#[case("codex")]
#[case("gemini_cli")]
#[case("google_adk")]
#[case("langgraph")]
#[case("openai_agents")]
#[case("openllmetry")]
#[case("opentelemetry")]
#[case("pydantic_ai")]
fn records_read_as_the_program_ran(#[case] framework: &str) {
    let mut text = String::new();
    for capture in captures().iter().filter(|capture| capture.framework == framework) {
        let (_data, runs) = capture.import();
        text.extend(["# ", &capture.scenario, "\n"]);
        for run in &runs {
            text.push_str(&transcript(run));
        }
        text.push('\n');
    }
    insta::assert_snapshot!(framework, text);
}

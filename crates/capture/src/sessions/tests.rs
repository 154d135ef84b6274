//! Sessions of real agents, whole and damaged: what becomes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use tracer_runs::LoadedRun;
use tracer_sdk::format::{RecordedStatus, SpanRecord, StatusCode};
use tracer_sdk::settings::Settings;

use super::{AgentSession, FoundSessions, ImportTally, SessionFinder, SessionImporter, SessionOutcome};
use crate::runs::CodingAgent;

const CLAUDE: &str = "207f2d10-0b4e-4037-869f-1bffcfa7cc7f";
const CLAUDE_RESUMED: &str = "4c67178d-bad3-46cc-96dd-02e152f3f926";
const CLAUDE_FORK: &str = "8dbb5be8-3ab6-48a8-9250-f1f18b87ea81";
const CLAUDE_SUB_AGENT: &str = "6cdefd7f-653f-4dc5-b491-21508fadd76f";
const CODEX: &str = "01a21a27-4976-72c0-bb94-fb9c682af3d5";
const CODEX_RESUMED: &str = "01a22865-3f13-7290-8cee-a2ac8d724a75";
const CODEX_SUB_AGENT: &str = "01a22867-99d1-7300-875b-777b0da90a28";
const GEMINI: &str = "59501931-0a4a-4430-b706-08ac44165ae1";
const GEMINI_RESUMED: &str = "c143979f-0690-4371-85cc-692950a8ef1e";

/// A data directory, and transcripts that a test may change.
struct Machine {
    folder: tempfile::TempDir,
    agent: CodingAgent,
}

impl Machine {
    fn empty(agent: CodingAgent) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("transcripts")).unwrap();
        Self { folder, agent }
    }

    /// With the recorded sessions of an agent, which have been quiet for long.
    fn recorded(agent: CodingAgent) -> Self {
        let machine = Self::empty(agent);
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/data/sessions")
            .join(agent.as_str());
        copy(&from, &machine.transcripts());
        machine
    }

    fn transcripts(&self) -> PathBuf {
        self.folder.path().join("transcripts")
    }

    fn write(&self, name: &str, text: &[u8]) {
        let path = self.transcripts().join(name);
        fs::write(&path, text).unwrap();
        age(&path);
    }

    fn settings(&self) -> Settings {
        Settings::with_data_dir(self.folder.path().join("data"))
    }

    fn sessions(&self) -> Vec<AgentSession> {
        SessionFinder::default().find(self.agent, &[self.transcripts()])
    }

    fn import(&self) -> ImportTally {
        let mut tally = ImportTally::default();
        let mut importer = SessionImporter::new(&self.settings(), false);
        importer.import_all(&self.sessions(), false, &mut tally, || ());
        tally
    }

    fn run(&self, session: &str) -> LoadedRun {
        let sessions = self.sessions();
        let session = sessions.iter().find(|found| found.id == session).unwrap();
        let runs = self.folder.path().join("data/runs");
        LoadedRun::read(&runs.join(session.run().to_string())).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
            age(&to);
        }
    }
}

/// Makes a file one that nobody has written to for an hour.
fn age(path: &Path) {
    let hour = Duration::from_secs(3600);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(SystemTime::now() - hour)
        .unwrap();
}

fn number(span: &SpanRecord, key: &str) -> u64 {
    span.attributes.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn tokens(run: &LoadedRun) -> (u64, u64, u64) {
    let sum = |key: &str| run.spans.iter().map(|span| number(span, key)).sum();
    (
        sum("gen_ai.usage.input_tokens"),
        sum("gen_ai.usage.output_tokens"),
        sum("gen_ai.usage.cache_read.input_tokens"),
    )
}

/// What a run says, whatever order it was written in.
fn content(run: &LoadedRun) -> BTreeMap<String, Value> {
    let spans = run.spans.iter();
    spans
        .map(|span| (span.span_id.to_string(), serde_json::to_value(span).unwrap()))
        .collect()
}

#[rstest]
#[case(CodingAgent::ClaudeCode, CLAUDE, (2, 1), (223, 43, 0))]
#[case(CodingAgent::ClaudeCode, CLAUDE_RESUMED, (4, 2), (406, 46, 128))]
#[case(CodingAgent::ClaudeCode, CLAUDE_SUB_AGENT, (4, 2), (410, 50, 64))]
#[case(CodingAgent::Codex, CODEX, (2, 1), (209, 29, 0))]
#[case(CodingAgent::Codex, CODEX_RESUMED, (4, 2), (406, 46, 128))]
#[case(CodingAgent::Codex, CODEX_SUB_AGENT, (2, 1), (203, 23, 64))]
#[case(CodingAgent::GeminiCli, GEMINI, (2, 1), (217, 37, 0))]
#[case(CodingAgent::GeminiCli, GEMINI_RESUMED, (7, 3), (718, 88, 192))]
fn a_session_has_its_calls_tools_and_tokens_once(
    #[case] agent: CodingAgent,
    #[case] session: &str,
    #[case] (model_calls, tool_calls): (u64, u64),
    #[case] counted: (u64, u64, u64),
) {
    let machine = Machine::recorded(agent);
    let tally = machine.import();
    assert_eq!((tally.unreadable(), tally.unknown()), (0, BTreeMap::new()));
    let run = machine.run(session);
    assert_eq!(
        (run.meta.counts.llm_calls, run.meta.counts.tool_calls),
        (model_calls, tool_calls)
    );
    assert_eq!(tokens(&run), counted);
    assert_eq!(run.meta.status, RecordedStatus::Ok);
    let origin = run.meta.transcript().unwrap();
    assert_eq!(
        (origin.agent.as_str(), origin.session.as_str(), origin.is_open),
        (agent.as_str(), session, false)
    );
    assert!(tracer_runs::validate(&run.directory).is_valid());
}

#[rstest]
fn importing_again_changes_nothing(
    #[values(CodingAgent::ClaudeCode, CodingAgent::Codex, CodingAgent::GeminiCli)] agent: CodingAgent,
) {
    let machine = Machine::recorded(agent);
    let first = machine.import();
    let begun = first.count(SessionOutcome::Begun);
    assert!(begun > 1 && first.spans() > 5);
    let again = machine.import();
    assert_eq!(
        (again.spans(), again.count(SessionOutcome::Unchanged)),
        (0, begun)
    );
}

#[test]
fn a_forked_session_repeats_no_call() {
    let machine = Machine::recorded(CodingAgent::ClaudeCode);
    machine.import();
    let [original, fork] = [CLAUDE_RESUMED, CLAUDE_FORK].map(|session| content(&machine.run(session)));
    let shared: Vec<&String> = original.keys().filter(|id| fork.contains_key(*id)).collect();
    assert_eq!(shared, Vec::<&String>::new());
    assert_eq!(machine.run(CLAUDE_FORK).meta.counts.llm_calls, 2);
}

#[rstest]
#[case(CodingAgent::ClaudeCode, CLAUDE_SUB_AGENT, "Agent", 3)]
#[case(CodingAgent::GeminiCli, GEMINI_RESUMED, "invoke_agent", 4)]
fn a_sub_agent_is_below_the_tool_that_started_it(
    #[case] agent: CodingAgent,
    #[case] session: &str,
    #[case] tool: &str,
    #[case] below: usize,
) {
    let machine = Machine::recorded(agent);
    machine.import();
    let run = machine.run(session);
    let of_tool = |span: &&SpanRecord| span.attributes.get("tracer.tool_name") == Some(&json!(tool));
    let starter = run.spans.iter().find(of_tool).unwrap().span_id;
    assert_eq!(
        run.spans
            .iter()
            .filter(|span| span.parent_span_id == Some(starter))
            .count(),
        below
    );
}

#[test]
fn a_failed_tool_has_its_error() {
    let machine = Machine::recorded(CodingAgent::ClaudeCode);
    machine.import();
    let run = machine.run(CLAUDE_RESUMED);
    let failed: Vec<&str> = run
        .spans
        .iter()
        .map(|span| span.status_description.as_str())
        .collect();
    assert!(failed.contains(&"Exit code 3\n7\noops"), "{failed:?}");
}

/// The names of the files of the recorded sessions that are one file each.
fn single_files() -> [(CodingAgent, &'static str, &'static str); 3] {
    [
        (
            CodingAgent::ClaudeCode,
            CLAUDE,
            "207f2d10-0b4e-4037-869f-1bffcfa7cc7f.jsonl",
        ),
        (
            CodingAgent::Codex,
            CODEX,
            "rollout-2026-11-26T23-18-32-01a21a27-4976-72c0-bb94-fb9c682af3d5.jsonl",
        ),
        (
            CodingAgent::GeminiCli,
            GEMINI,
            "session-2026-11-26T23-18-59501931.jsonl",
        ),
    ]
}

fn recorded_file(agent: CodingAgent, file: &str) -> Vec<u8> {
    fs::read(Machine::recorded(agent).transcripts().join(file)).unwrap()
}

fn imported_whole(agent: CodingAgent, session: &str, file: &str, text: &[u8]) -> BTreeMap<String, Value> {
    let machine = Machine::empty(agent);
    machine.write(file, text);
    machine.import();
    content(&machine.run(session))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_session_that_was_read_while_it_grew_is_the_same_run(which in 0_usize..3, cuts in prop::collection::btree_set(0_usize..1000, 0..4)) {
        let (agent, session, file) = single_files()[which];
        let text = recorded_file(agent, file);
        let machine = Machine::empty(agent);
        for cut in cuts {
            let cut = text.len() * cut / 1000;
            fs::write(machine.transcripts().join(file), &text[..cut]).unwrap();
            let tally = machine.import();
            prop_assert_eq!(tally.unreadable(), 0);
        }
        machine.write(file, &text);
        machine.import();
        prop_assert_eq!(content(&machine.run(session)), imported_whole(agent, session, file, &text));
    }

    #[test]
    fn repeated_records_add_no_call(which in 0_usize..2, repeated in prop::collection::vec(0_usize..20, 1..6)) {
        let (agent, session, file) = [single_files()[0], single_files()[2]][which];
        let text = String::from_utf8(recorded_file(agent, file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mut longer = lines.clone();
        longer.extend(repeated.iter().map(|line| lines[line % lines.len()]));
        let longer = longer.join("\n") + "\n";
        let calls = |content: BTreeMap<String, Value>| {
            let ids: BTreeSet<String> = content.into_keys().collect();
            ids
        };
        prop_assert_eq!(
            calls(imported_whole(agent, session, file, longer.as_bytes())),
            calls(imported_whole(agent, session, file, text.as_bytes()))
        );
    }
}

#[test]
fn running_totals_that_are_repeated_count_once() {
    let (agent, session, file) = single_files()[1];
    let text = String::from_utf8(recorded_file(agent, file)).unwrap();
    let lines = text.lines().filter(|line| !line.contains("token_usage_record"));
    let repeated = lines.flat_map(|line| vec![line; if line.contains("token_count") { 3 } else { 1 }]);
    let older = repeated.collect::<Vec<_>>().join("\n") + "\n";
    let machine = Machine::empty(agent);
    machine.write(file, older.as_bytes());
    machine.import();
    let run = machine.run(session);
    assert_eq!((tokens(&run), run.meta.counts.llm_calls), ((209, 29, 0), 2));
}

#[test]
fn an_unknown_record_is_kept_and_counted_and_a_damaged_line_named() {
    let machine = Machine::empty(CodingAgent::ClaudeCode);
    let mut text =
        String::from_utf8(recorded_file(CodingAgent::ClaudeCode, &format!("{CLAUDE}.jsonl"))).unwrap();
    for record in [
        json!({"type": "mood", "mood": "bright", "sessionId": CLAUDE}).to_string(),
        json!({"type": "mood", "mood": "\u{1b}[2Jdark"}).to_string(),
        json!({"type": "../../weather"}).to_string(),
        "{\"type\": \"user\", \"secret words\"}".to_owned(),
        "[".repeat(10_000),
    ] {
        text.push_str(&record);
        text.push('\n');
    }
    machine.write(&format!("{CLAUDE}.jsonl"), text.as_bytes());
    let tally = machine.import();
    assert_eq!(
        tally.unknown(),
        BTreeMap::from([("../../weather", 1), ("mood", 2)])
    );
    assert_eq!(
        tally.notes(),
        ["3 records of 2 unknown kinds, the first 32 of a session kept: ../../weather, mood"]
    );
    let problems: Vec<String> = tally.problem_words().collect();
    assert!(
        problems[0].contains(".jsonl: line 14: not JSON") && problems[1].contains("line 15"),
        "{problems:?}"
    );
    assert!(!problems.concat().contains("secret"), "{problems:?}");
    let run = machine.run(CLAUDE);
    let root = run
        .spans
        .iter()
        .find(|span| span.parent_span_id.is_none())
        .unwrap();
    assert_eq!(root.events.len(), 3);
    assert_eq!(root.events[0].attributes["kind"], "mood");
    assert_eq!(run.meta.counts.llm_calls, 2);
}

#[test]
fn a_session_that_goes_on_has_an_open_run_until_it_is_quiet() {
    let (agent, session, file) = single_files()[0];
    let text = recorded_file(agent, file);
    let machine = Machine::empty(agent);
    let path = machine.transcripts().join(file);
    let mut importer = SessionImporter::new(&machine.settings(), false);
    let import = |importer: &mut SessionImporter, stays_open: bool| {
        let sessions = machine.sessions();
        importer.import(&sessions[0], &sessions, stays_open).unwrap()
    };
    // The tool was asked for, and has not ended.
    let half = text
        .windows(13)
        .position(|window| window == b"toolUseResult")
        .unwrap();
    fs::write(&path, &text[..half]).unwrap();
    let first = import(&mut importer, true);
    assert_eq!((first.outcome, first.is_open), (SessionOutcome::Begun, true));
    assert_eq!(import(&mut importer, true).spans, 0);
    let mut other = SessionImporter::new(&machine.settings(), false);
    assert_eq!(import(&mut other, false).outcome, SessionOutcome::Busy);
    fs::write(&path, &text).unwrap();
    let grown = import(&mut importer, true);
    assert!(grown.spans > 0 && !grown.is_open);
    assert_eq!(import(&mut importer, false).spans, 0);
    let run = machine.run(session);
    assert_eq!(
        (run.meta.status, run.meta.counts.llm_calls),
        (RecordedStatus::Ok, 2)
    );
}

#[test]
fn a_session_that_stopped_in_a_turn_is_interrupted() {
    let (agent, session, file) = single_files()[0];
    let text = recorded_file(agent, file);
    let machine = Machine::empty(agent);
    let half = text
        .windows(13)
        .position(|window| window == b"toolUseResult")
        .unwrap();
    machine.write(file, &text[..half]);
    let tally = machine.import();
    assert_eq!(tally.open(), 1);
    assert_eq!(
        tally.notes(),
        ["1 session whose last turn has not ended: interrupted, or still going on"]
    );
    let run = machine.run(session);
    assert_eq!(run.meta.status, RecordedStatus::Running);
    assert!(run.meta.transcript().unwrap().is_open);
}

#[test]
fn hostile_ids_reach_no_other_file() {
    let machine = Machine::empty(CodingAgent::GeminiCli);
    let header = json!({"sessionId": "../../../../escape", "projectHash": "x", "startTime": "2026-11-26T23:18:42.043Z", "kind": "main"});
    let call = json!({"id": "../m", "timestamp": "2026-11-26T23:18:43.043Z", "type": "gemini", "content": "hi", "model": "../x",
        "toolCalls": [{"id": "/etc/passwd", "name": "../../tool", "args": {}, "status": "success", "agentId": "../../../agent"}]});
    machine.write("session-1.jsonl", format!("{header}\n{call}\n").as_bytes());
    let tally = machine.import();
    assert_eq!((tally.count(SessionOutcome::Begun), tally.unreadable()), (1, 0));
    let made: Vec<_> = fs::read_dir(machine.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(made.len(), 2, "{made:?}");
}

/// A line that Claude Code writes of a message.
fn claude_line(uuid: &str, role: &str, content: &Value) -> Value {
    json!({"type": role, "uuid": uuid, "sessionId": CLAUDE, "timestamp": "2026-11-26T23:18:42.043Z",
        "message": {"id": uuid, "role": role, "content": content, "stop_reason": "end_turn"}})
}

fn claude_file(lines: &[Value]) -> Vec<u8> {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    lines.collect::<String>().into_bytes()
}

#[rstest]
#[case::of_the_sub_agent(false, RecordedStatus::Ok)]
#[case::of_the_session(true, RecordedStatus::Error)]
fn a_failure_fails_the_session_whose_own_it_is(#[case] is_own: bool, #[case] status: RecordedStatus) {
    let machine = Machine::empty(CodingAgent::ClaudeCode);
    let of = |is_sub_agent: bool| {
        let mut answer = claude_line(&format!("a{is_sub_agent}"), "assistant", &json!("said"));
        answer["isApiErrorMessage"] = json!(is_own != is_sub_agent);
        let mut lines = [
            claude_line(&format!("u{is_sub_agent}"), "user", &json!("ask")),
            answer,
        ];
        if is_sub_agent {
            for line in &mut lines {
                line["isSidechain"] = json!(true);
                line["agentId"] = json!("x");
            }
        }
        claude_file(&lines)
    };
    machine.write(&format!("{CLAUDE}.jsonl"), &of(false));
    machine.write("agent-x.jsonl", &of(true));
    machine.import();
    let run = machine.run(CLAUDE);
    assert_eq!((run.meta.status, run.meta.counts.llm_calls), (status, 2));
}

#[test]
fn without_content_no_file_has_the_prompt() {
    let (agent, session, file) = single_files()[0];
    let machine = Machine::empty(agent);
    machine.write(file, &recorded_file(agent, file));
    let mut importer = SessionImporter::new(&machine.settings(), true);
    importer.import_all(&machine.sessions(), false, &mut ImportTally::default(), || ());
    let run = machine.run(session);
    assert_eq!(run.meta.run_name.as_deref(), Some("claude-code 207f2d10"));
    for entry in fs::read_dir(&run.directory).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("please"), "{}", path.display());
    }
}

#[test]
fn what_was_busy_or_unreadable_is_tried_again() {
    let (agent, _, file) = single_files()[0];
    let machine = Machine::empty(agent);
    let path = machine.transcripts().join(file);
    let text = recorded_file(agent, file);
    // Its last turn has not ended.
    let half = text
        .windows(13)
        .position(|window| window == b"toolUseResult")
        .unwrap();
    fs::write(&path, &text[..half]).unwrap();
    let sessions = machine.sessions();
    let [mut other, mut importer] = [(); 2].map(|()| SessionImporter::new(&machine.settings(), false));
    let away = machine.folder.path().join("away");
    fs::rename(&path, &away).unwrap();
    importer.import(&sessions[0], &sessions, true).unwrap_err();
    fs::rename(&away, &path).unwrap();
    other.import(&sessions[0], &sessions, true).unwrap();
    let mut tally = ImportTally::default();
    importer.import_all(&sessions, true, &mut tally, || ());
    assert_eq!(tally.count(SessionOutcome::Busy), 1);
    drop(other);
    let mut later = ImportTally::default();
    importer.import_all(&sessions, false, &mut later, || ());
    assert_eq!(later.count(SessionOutcome::Unchanged), 1);
    tally.join(later);
    assert_eq!(tally.count(SessionOutcome::Busy), 0);
}

#[test]
fn a_last_line_that_stays_torn_is_named() {
    let (agent, _, file) = single_files()[0];
    let machine = Machine::empty(agent);
    let mut text = recorded_file(agent, file);
    text.extend(b"{\"type\": \"user\", \"secret");
    fs::write(machine.transcripts().join(file), &text).unwrap();
    assert_eq!(machine.import().unreadable(), 0);
    age(&machine.transcripts().join(file));
    let tally = machine.import();
    let problems: Vec<String> = tally.problem_words().collect();
    assert_eq!((tally.unreadable(), problems.len()), (1, 1));
    assert!(
        problems[0].ends_with(".jsonl: line 11: the last line is cut short"),
        "{problems:?}"
    );
}

#[test]
fn a_session_without_a_call_is_not_offered_again() {
    let machine = Machine::empty(CodingAgent::ClaudeCode);
    let found = |machine: &Machine| {
        let importer = SessionImporter::new(&machine.settings(), false);
        FoundSessions::of(machine.agent, Vec::new(), &machine.sessions(), &importer)
    };
    let lines = [claude_line("u", "user", &json!("ask"))];
    machine.write(&format!("{CLAUDE}.jsonl"), &claude_file(&lines));
    let empty = found(&machine);
    assert_eq!((empty.sessions, empty.left_out, empty.has_new()), (1, 1, false));
    let [prompt] = lines;
    let lines = [prompt, claude_line("a", "assistant", &json!("said"))];
    machine.write(&format!("{CLAUDE}.jsonl"), &claude_file(&lines));
    assert!(found(&machine).has_new());
    machine.import();
    assert!(!found(&machine).has_new());
}

#[test]
fn an_answer_may_be_a_plain_text() {
    let machine = Machine::empty(CodingAgent::ClaudeCode);
    let lines = [
        claude_line("u", "user", &json!("ask")),
        claude_line("a", "assistant", &json!("said plainly")),
    ];
    machine.write(&format!("{CLAUDE}.jsonl"), &claude_file(&lines));
    machine.import();
    let content = json!(content(&machine.run(CLAUDE))).to_string();
    assert!(content.contains("said plainly"), "{content}");
}

#[test]
fn a_tool_of_an_mcp_server_that_fails_has_failed() {
    let (agent, session, file) = single_files()[1];
    let text = String::from_utf8(recorded_file(agent, file)).unwrap();
    let mut lines = Vec::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let payload = &record["payload"];
        if payload["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("_call_output"))
        {
            lines.push(
                json!({"type": "event_msg", "timestamp": record["timestamp"], "payload": {
                "type": "mcp_tool_call_end", "call_id": payload["call_id"], "result": {"Err": "no server"}}}),
            );
        }
        lines.push(record);
    }
    let machine = Machine::empty(agent);
    machine.write(file, &claude_file(&lines));
    machine.import();
    let run = machine.run(session);
    let failed = run
        .spans
        .iter()
        .filter(|span| span.status_code == StatusCode::Error);
    let failed: Vec<&str> = failed.map(|span| span.name.as_str()).collect();
    assert!(
        matches!(failed[..], [tool] if tool.starts_with("execute_tool")),
        "{failed:?}"
    );
}

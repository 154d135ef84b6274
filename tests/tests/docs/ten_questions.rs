//! *Ten questions of a debugging day* shows what its commands print, for the runs that are written here.
//!
//! `TRACER_WRITE_GUIDES=1 cargo test -p tracer-tests --test docs ten_questions` rewrites the outputs in the guide.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};
use serde_json::{Value, json};

const TRACER: &str = env!("CARGO_BIN_EXE_tracer_under_test");
/// The terminal of the guide.
const COLUMNS: u16 = 108;
/// The section of the guide whose runs these are.
const HEADING: &str = "## Ten questions of a debugging day\n";
/// What a block of the guide begins with that shows a command and what it prints.
const PROMPT: &str = "$ ";

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/read-runs.md")
}

/// A run that is written span after span.
struct Run {
    id: String,
    name: &'static str,
    start: &'static str,
    attributes: Value,
    spans: Vec<Value>,
    /// Milliseconds since the start.
    at: u64,
    error: Option<(&'static str, &'static str)>,
    loops: u64,
}

const ROOT: &str = "00000000000000ff";

impl Run {
    fn new(id: &str, name: &'static str, start: &'static str, commit: &str) -> Self {
        Self {
            id: format!("{id:0<32}"),
            name,
            start,
            attributes: json!({"tracer.run_name": name, "tracer.tag.commit": commit}),
            spans: Vec::new(),
            at: 0,
            error: None,
            loops: 0,
        }
    }

    fn time(&self, milliseconds: u64) -> String {
        let (minute, second) = (milliseconds / 60_000, milliseconds / 1_000 % 60);
        format!(
            "{}:{minute:02}:{second:02}.{:03}000Z",
            self.start,
            milliseconds % 1_000
        )
    }

    fn event(&self, name: &str, attributes: &Value) -> Value {
        json!({"name": name, "timestamp": self.time(self.at), "attributes": attributes})
    }

    fn span(mut self, name: &str, took: u64, attributes: &Value, events: &[Value]) -> Self {
        let failed = attributes["tracer.status"] == "error";
        let (start, end) = (self.time(self.at), self.time(self.at + took));
        self.spans.push(json!({
            "trace_id": self.id, "span_id": format!("{:016x}", self.spans.len() + 1), "parent_span_id": ROOT, "name": name,
            "kind": "INTERNAL", "start_time": start, "end_time": end, "duration_ms": took,
            "attributes": attributes, "events": events,
            "status_code": if failed { "ERROR" } else { "OK" }, "status_description": "",
        }));
        self.at += took + 2;
        self
    }

    fn tool(self, name: &str, took: u64, arguments: &Value, result: &Value) -> Self {
        let events = vec![
            self.event("tracer.tool.args", &json!({"args": arguments.to_string()})),
            self.event("tracer.tool.result", &json!({"result": result.to_string()})),
        ];
        let attributes = json!({"tracer.tool_name": name, "tracer.status": "ok"});
        self.span(name, took, &attributes, &events)
    }

    fn failing(self, name: &str, took: u64, arguments: &Value, error: (&str, &str)) -> Self {
        let events = vec![self.event("tracer.tool.args", &json!({"args": arguments.to_string()}))];
        let attributes = json!({
            "tracer.tool_name": name, "tracer.status": "error",
            "tracer.error_type": error.0, "tracer.error_message": error.1,
        });
        self.span(name, took, &attributes, &events)
    }

    /// A model call with its input, cached and output tokens.
    fn model(self, model: &str, took: u64, tokens: [u64; 3], prompt: &str, answer: &str) -> Self {
        let [input, cached, output] = tokens;
        let mut events = vec![self.event("gen_ai.user.message", &json!({"content": prompt}))];
        if !answer.is_empty() {
            events.push(self.event("gen_ai.assistant.message", &json!({"content": answer})));
        }
        let mut attributes = json!({
            "gen_ai.system": if model.starts_with("gpt") { "openai" } else { "anthropic" },
            "gen_ai.operation.name": "chat", "gen_ai.request.model": model, "tracer.status": "ok",
            "gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output,
        });
        if cached > 0 {
            attributes["gen_ai.usage.cache_read.input_tokens"] = json!(cached);
        }
        self.span(model, took, &attributes, &events)
    }

    /// The warning that the last three calls of a tool are a loop.
    fn loop_warning(mut self, tool: &str, repetitions: u64) -> Self {
        self.loops += 1;
        let calls = self
            .spans
            .iter()
            .rev()
            .take(3)
            .map(|span| span["span_id"].clone());
        let evidence: Vec<Value> = calls.collect();
        let events = vec![self.event(
            "tracer.loop.warning",
            &json!({
                "pattern": format!("TOOL_CALL:{tool}"), "pattern_type": "repeated_call", "pattern_length": 1,
                "repetitions": repetitions, "window_size": 12,
                "evidence_event_ids": serde_json::to_string(&evidence).unwrap(),
            }),
        )];
        self.span(
            "loop_warning",
            0,
            &json!({"tracer.event_type": "LOOP_WARNING"}),
            &events,
        )
    }

    fn failed(mut self, error: &'static str, message: &'static str) -> Self {
        self.error = Some((error, message));
        self
    }

    fn write(self, data_dir: &Path) {
        let directory = data_dir.join("runs").join(&self.id);
        fs::create_dir_all(&directory).unwrap();
        let (start, end) = (self.time(0), self.time(self.at));
        let events: Vec<Value> = self
            .error
            .iter()
            .map(|(error, message)| {
                let attributes = json!({"tracer.error_type": error, "tracer.error_message": message});
                self.event("exception", &attributes)
            })
            .collect();
        let status = if self.error.is_some() { "error" } else { "ok" };
        let root = json!({
            "trace_id": self.id, "span_id": ROOT, "parent_span_id": null, "name": self.name, "kind": "INTERNAL",
            "start_time": start, "end_time": end, "duration_ms": self.at, "attributes": self.attributes, "events": events,
            "status_code": status.to_uppercase(), "status_description": "",
        });
        let calls = |key: &str| {
            self.spans
                .iter()
                .filter(|span| span["attributes"].get(key).is_some())
                .count()
        };
        let meta = json!({
            "spec_version": "0.2.0", "trace_id": self.id, "run_name": self.name, "started_at": start, "ended_at": end,
            "duration_ms": self.at, "status": status,
            "counts": {
                "llm_calls": calls("gen_ai.request.model"), "tool_calls": calls("tracer.tool_name"),
                "errors": events.len(), "loop_warnings": self.loops,
            },
        });
        let lines = self
            .spans
            .iter()
            .chain([&root])
            .map(|span| span.to_string() + "\n");
        fs::write(directory.join("spans.jsonl"), lines.collect::<String>()).unwrap();
        fs::write(directory.join("meta.json"), meta.to_string()).unwrap();
    }
}

/// Three days of two agents.
fn write_runs(data_dir: &Path) {
    let mini = "gpt-5-mini";
    let sonnet = "claude-sonnet-4-5";
    let policy = json!({"query": "refund policy pro plan"});
    let hits = json!({"hits": 2, "top": "refunds.md"});
    let order = json!({"order": "ORD-1042"});
    let refund = json!({"order": "ORD-1042", "cents": 4900});
    let question = "ORD-1042: where is my refund?";
    Run::new("41c0aa17", "support-agent", "2026-01-05T09", "3f9c2ab")
        .tool(
            "lookup_customer",
            46,
            &order,
            &json!({"name": "Ada", "plan": "pro"}),
        )
        .tool("search_kb", 212, &policy, &hits)
        .model(
            mini,
            1_840,
            [2_410, 0, 184],
            question,
            "Dear Ada, your refund arrives within 3 days.",
        )
        .tool("send_reply", 28, &json!({"to": "Ada"}), &json!("queued"))
        .write(data_dir);
    Run::new("9be07d52", "support-agent", "2026-01-05T14", "3f9c2ab")
        .tool(
            "lookup_customer",
            44,
            &json!({"order": "ORD-1077"}),
            &json!({"name": "Bo", "plan": "free"}),
        )
        .tool(
            "search_kb",
            187,
            &json!({"query": "parcel to Norway"}),
            &json!({"hits": 1, "top": "shipping.md"}),
        )
        .model(
            mini,
            1_512,
            [2_288, 1_024, 141],
            "What does a parcel to Norway cost?",
            "It costs 18 euros.",
        )
        .tool("send_reply", 31, &json!({"to": "Bo"}), &json!("queued"))
        .write(data_dir);
    let late = ("TimeoutError", "the refund service did not answer in 10 s");
    Run::new("c2d4f690", "billing-agent", "2026-01-06T10", "3f9c2ab")
        .model(
            sonnet,
            6_310,
            [18_420, 0, 1_204],
            "Refund ORD-1042",
            "I refund it now.",
        )
        .failing("refund_api", 10_002, &refund, late)
        .failing("refund_api", 10_004, &refund, late)
        .failed("AgentError", "gave up after 2 attempts at refund_api")
        .write(data_dir);
    let mut looped = Run::new("7a51e3b8", "support-agent", "2026-01-06T16", "8d41e07").model(
        mini,
        1_655,
        [2_502, 2_048, 77],
        question,
        "I look for the policy.",
    );
    for _ in 0..6 {
        looped = looped.tool("search_kb", 204, &policy, &json!({"hits": 0}));
    }
    looped
        .loop_warning("search_kb", 6)
        .tool("escalate_to_human", 12, &json!({"ticket": 7}), &json!("queued"))
        .write(data_dir);
    let busy = ("RateLimited", "429: try again in 1 s");
    Run::new("e80b2c41", "billing-agent", "2026-01-07T09", "8d41e07")
        .model(
            sonnet,
            4_120,
            [18_655, 16_384, 688],
            "Refund ORD-1042",
            "I refund it now.",
        )
        .failing("refund_api", 310, &refund, busy)
        .failing("refund_api", 290, &refund, busy)
        .tool("refund_api", 884, &refund, &json!({"refunded": 4900}))
        .model(
            sonnet,
            2_030,
            [19_410, 18_432, 212],
            "refunded",
            "ORD-1042 is refunded: 49.00 euros.",
        )
        .write(data_dir);
    Run::new("5f3396da", "support-agent", "2026-01-07T11", "8d41e07")
        .tool(
            "lookup_customer",
            51,
            &order,
            &json!({"name": "Ada", "plan": "pro"}),
        )
        .tool("search_kb", 198, &policy, &hits)
        .model(
            mini,
            1_701,
            [2_431, 2_304, 166],
            question,
            "Dear Ada, it was refunded today.",
        )
        .tool("send_reply", 27, &json!({"to": "Ada"}), &json!("queued"))
        .write(data_dir);
    Run::new("b6107e2f", "research-agent", "2026-01-07T15", "8d41e07")
        .model(
            "qwen3-local",
            3_200,
            [5_120, 0, 640],
            "Compare three carriers",
            "I read their prices.",
        )
        .tool(
            "read_page",
            2_450,
            &json!({"url": "https://carrier.example"}),
            &json!({"bytes": 48_210}),
        )
        .model("qwen3-local", 240, [9_870, 0, 0], "48210 bytes", "")
        .write(data_dir);
}

/// What a command prints on a terminal, without colours.
fn printed(command: &str, folder: &Path) -> String {
    let size = Winsize {
        ws_row: 50,
        ws_col: COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(&size, None).unwrap();
    let mut program = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()))
        .env("HOME", folder)
        .env("LANG", "C.UTF-8")
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env("TRACER_DATA_DIR", folder.join("data"))
        .stdin(Stdio::null())
        .stdout(terminal.slave)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut bytes = Vec::new();
    // A terminal whose programs have ended answers with an error.
    let mut master = fs::File::from(terminal.master);
    let mut block = [0; 4096];
    while let Ok(read @ 1..) = master.read(&mut block) {
        bytes.extend_from_slice(&block[..read]);
    }
    let mut errors = String::new();
    program
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert!(program.wait().unwrap().success(), "{command}\n{errors}");
    let lines = String::from_utf8(bytes).unwrap();
    lines
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn the_guide_shows_what_its_ten_questions_print() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    fs::create_dir(path.join("bin")).unwrap();
    symlink(TRACER, path.join("bin/tracer")).unwrap();
    write_runs(&path.join("data"));

    let text = fs::read_to_string(guide()).unwrap();
    let (before, section) = text.split_once(HEADING).unwrap();
    let (section, after) = section.split_once("\n## ").unwrap();
    let mut shown = before.to_owned() + HEADING;
    let mut questions = 0;
    let mut lines = section.lines().peekable();
    while let Some(line) = lines.next() {
        shown += line;
        shown += "\n";
        let Some(command) = line.strip_prefix(PROMPT) else {
            continue;
        };
        questions += 1;
        shown += &printed(command, &path);
        while lines.next_if(|line| !line.starts_with("```")).is_some() {}
    }
    shown = shown + "\n## " + after;
    if std::env::var_os("TRACER_WRITE_GUIDES").is_some() {
        fs::write(guide(), &shown).unwrap();
        return;
    }
    assert!(questions >= 6, "{questions} commands with their output");
    assert_eq!(
        text, shown,
        "the guide is not what its commands print; rewrite it: \
         TRACER_WRITE_GUIDES=1 cargo test -p tracer-tests --test docs ten_questions"
    );
}

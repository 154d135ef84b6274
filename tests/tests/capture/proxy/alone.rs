//! `tracer receive --models`: the executable on its own, and the programs that use it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tracer_runs::{LoadedRun, RunStore};
use tracer_sdk::format::{EventType, Payload};
use tracer_tests::model_server::{begin_post, post, whole_answer};
use tracer_tests::{DataDir, ModelServer, wait_until};

const TRACER: &str = env!("CARGO_BIN_EXE_tracer_under_test");

fn tracer(data: &DataDir, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut tracer = Command::new(TRACER);
    tracer
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C.UTF-8")
        .env("TRACER_DATA_DIR", data.path())
        .envs(variables.iter().copied())
        .args(["receive", "--models"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    tracer
}

/// The proxy as a process. Killed when it is dropped.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    variables: Vec<(String, String)>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(data: &DataDir, variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        let mut child = tracer(data, variables, arguments).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut exported: Vec<(String, String)> = Vec::new();
        // The last one that it prints.
        while !exported.iter().any(|(name, _)| name == "GEMINI_CLI_NO_RELAUNCH") {
            let mut line = String::new();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "{exported:?}");
            let assignment = line.trim_end().strip_prefix("export ").unwrap();
            let (name, value) = assignment.split_once('=').unwrap();
            exported.push((name.to_owned(), value.trim_matches('\'').to_owned()));
        }
        Self {
            child,
            stdout,
            variables: exported,
        }
    }

    fn variable(&self, name: &str) -> &str {
        let found = self.variables.iter().find(|(known, _)| known == name);
        &found.unwrap().1
    }

    fn ask(&self, headers: &[(&str, &str)], messages: &Value) {
        let url = format!("{}/chat/completions", self.variable("OPENAI_BASE_URL"));
        let body = json!({"model": "gpt-5", "messages": messages}).to_string();
        let response = post(&url, headers, body.as_bytes());
        assert_eq!(response.status, 200, "{response:?}");
    }

    /// Presses Ctrl-C; the exit code, what it printed meanwhile, and its messages.
    fn interrupt(mut self) -> (Option<i32>, String, String) {
        kill(
            Pid::from_raw(i32::try_from(self.child.id()).unwrap()),
            Signal::SIGINT,
        )
        .unwrap();
        let (mut printed, mut messages) = (String::new(), String::new());
        self.stdout.read_to_string(&mut printed).unwrap();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut messages)
            .unwrap();
        (self.child.wait().unwrap().code(), printed, messages)
    }
}

fn provider() -> ModelServer {
    ModelServer::with_json(&json!({
        "id": "chatcmpl-1", "model": "gpt-5-2026",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Good day"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10},
    }))
}

fn completed(data: &DataDir) -> usize {
    let runs = RunStore::new(data.path()).list().unwrap_or_default();
    let is_completed =
        |run: &tracer_runs::RunSummary| run.meta.as_ref().is_ok_and(|meta| meta.status.is_completed());
    runs.iter().filter(|run| is_completed(run)).count()
}

fn failed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn each_agent_becomes_a_run() {
    let server = provider();
    let data = DataDir::new();
    let upstream = format!("{}/v1", server.base());
    let running = Running::start(&data, &[("OPENAI_BASE_URL", &upstream)], &["--idle", "0.7"]);
    let agent = [
        ("user-agent", "OpenAI/Python 3.54.0"),
        ("authorization", "Bearer sk-not-recorded"),
    ];
    let question = json!({"role": "user", "content": "Hello"});
    running.ask(&agent, &json!([question]));
    running.ask(
        &agent,
        &json!([question, {"role": "assistant", "content": "Good day"}, {"role": "user", "content": "Bye"}]),
    );
    // The first agent is done when nothing is called any more.
    wait_until("the first run is completed", || completed(&data) == 1);
    running.ask(&agent, &json!([{"role": "user", "content": "Something else"}]));
    let (code, printed, messages) = running.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    assert_eq!(printed.matches("OpenAI/Python").count(), 2, "{printed}");
    assert!(
        messages.contains("recorded 3 model calls in 2 runs"),
        "{messages}"
    );
    assert!(
        messages.contains("OPENAI_BASE_URL is set: its requests go on to 127.0.0.1:"),
        "{messages}"
    );
    let mut runs = data.finished_runs();
    runs.sort_by_key(|run| run.all(EventType::LlmCall).len());
    let calls: Vec<usize> = runs.iter().map(|run| run.all(EventType::LlmCall).len()).collect();
    assert_eq!(calls, [1, 2]);
    for (_, bytes) in data.files() {
        assert!(!String::from_utf8_lossy(&bytes).contains("sk-not-recorded"));
    }
}

#[test]
fn a_trace_that_clients_send_is_their_run() {
    let server = provider();
    let data = DataDir::new();
    let upstream = format!("{}/v1", server.base());
    let running = Running::start(
        &data,
        &[("OPENAI_BASE_URL", &upstream), ("TRACER_RUN_NAME", "shop")],
        &[],
    );
    let traces = ["ab".repeat(16), "cd".repeat(16)];
    for trace in [&traces[0], &traces[1], &traces[0]] {
        let parent = format!("00-{trace}-1234567890abcdef-01");
        running.ask(
            &[("traceparent", &parent)],
            &json!([{"role": "user", "content": "Hello"}]),
        );
    }
    let (code, printed, messages) = running.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    assert_eq!(printed.matches("shop").count(), 2, "{printed}");
    let mut runs = data.finished_runs();
    runs.sort_by_key(|run| run.run.meta.trace_id);
    let found: Vec<(String, usize)> = runs
        .iter()
        .map(|run| {
            (
                run.run.meta.trace_id.to_string(),
                run.all(EventType::LlmCall).len(),
            )
        })
        .collect();
    assert_eq!(found, [(traces[0].clone(), 2), (traces[1].clone(), 1)]);
}

/// The model calls of the only run, and their tokens.
fn calls(data: &DataDir) -> (usize, u64) {
    let runs = RunStore::new(data.path()).list().unwrap();
    assert_eq!(runs.len(), 1);
    let run = LoadedRun::read(&runs[0].directory.path).unwrap();
    let usages = run
        .records()
        .into_iter()
        .filter_map(|record| match record.payload {
            Payload::LlmCall { usage, .. } => Some(usage.total_tokens.unwrap_or(0)),
            _ => None,
        });
    usages.fold((0, 0), |(calls, tokens), of_call| (calls + 1, tokens + of_call))
}

#[test]
fn a_killed_proxy_leaves_what_was_answered_and_the_next_one_goes_on() {
    let (arrived, arrivals) = std::sync::mpsc::channel();
    let arrived = std::sync::Mutex::new(arrived);
    let answered = json!({
        "id": "chatcmpl-1", "model": "gpt-5-2026",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Good day"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10},
    });
    let answered = whole_answer("application/json", answered.to_string().as_bytes());
    let server = ModelServer::start(move |request, stream| {
        if String::from_utf8_lossy(&request.body).contains("Never answered") {
            arrived.lock().unwrap().send(()).unwrap();
            // Until the proxy is gone.
            let _ = stream.read(&mut [0]);
        } else {
            let _ = stream.write_all(&answered);
        }
    });
    let data = DataDir::new();
    let upstream = format!("{}/v1", server.base());
    let variables = [("OPENAI_BASE_URL", &*upstream)];
    let parent = format!("00-{}-1234567890abcdef-01", "ab".repeat(16));
    let headers = [("traceparent", &*parent)];
    let hello = json!([{"role": "user", "content": "Hello"}]);
    let mut running = Running::start(&data, &variables, &[]);
    running.ask(&headers, &hello);
    let url = format!("{}/chat/completions", running.variable("OPENAI_BASE_URL"));
    let body =
        json!({"model": "gpt-5", "messages": [{"role": "user", "content": "Never answered"}]}).to_string();
    let in_flight = begin_post(&url, &headers, body.as_bytes());
    arrivals.recv().unwrap();
    wait_until("the first call is written", || {
        data.files()
            .iter()
            .any(|(_, bytes)| String::from_utf8_lossy(bytes).contains("Good day"))
    });
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    drop((running, in_flight));
    let next = Running::start(&data, &variables, &[]);
    next.ask(&headers, &hello);
    wait_until("the run is there", || calls(&data) == (2, 20));
    let (code, _, messages) = next.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    assert_eq!(calls(&data), (2, 20));
}

#[test]
fn what_is_no_model_call_is_no_run() {
    let server = provider();
    let data = DataDir::new();
    let upstream = format!("{}/v1", server.base());
    let running = Running::start(&data, &[("OPENAI_BASE_URL", &upstream)], &[]);
    let url = format!("{}/batches", running.variable("OPENAI_BASE_URL"));
    assert_eq!(post(&url, &[], b"{}").status, 200);
    let (code, _, messages) = running.interrupt();
    assert_eq!(code, Some(0));
    assert!(
        messages.contains("recorded 0 model calls in 0 runs"),
        "{messages}"
    );
    assert!(
        messages.contains("1 request of an API that is not known"),
        "{messages}"
    );
    assert!(data.run_dirs().is_empty());
}

#[test]
fn variables_are_for_a_shell() {
    let data = DataDir::new();
    let output = tracer(&data, &[], &["--print-env", "--port", "4320", "--token", "mine"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let script = format!(
        "{}\nprintf %s \"$OPENAI_BASE_URL\"",
        String::from_utf8(output.stdout).unwrap()
    );
    let shell = Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert_eq!(
        String::from_utf8(shell.stdout).unwrap(),
        "http://127.0.0.1:4320/r/mine/openai/v1"
    );
    let without = tracer(&data, &[], &["--print-env", "--token", "mine"])
        .output()
        .unwrap();
    assert!(failed(&without).contains("--port"));
}

#[test]
fn its_own_variables_are_no_upstream() {
    let data = DataDir::new();
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
        .to_string();
    let own = format!("http://127.0.0.1:{free}/r/mine/openai/v1");
    let running = Running::start(
        &data,
        &[("OPENAI_BASE_URL", &own)],
        &["--port", &free, "--token", "mine"],
    );
    assert_eq!(running.variable("OPENAI_BASE_URL"), own);
    let (code, _, messages) = running.interrupt();
    assert_eq!(code, Some(0));
    assert!(!messages.contains("go on to"), "{messages}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let data = DataDir::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = tracer(&data, &[], &["--port", &port]).output().unwrap();
    let message = failed(&output);
    assert!(
        message.contains("the proxy cannot listen") && message.contains("--port PORT"),
        "{message}"
    );
}

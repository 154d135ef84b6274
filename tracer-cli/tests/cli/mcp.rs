//! `tracer mcp`: the protocol over the standard streams of the real executable.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{FIRST, SECOND, Sandbox, meta, spans};

/// A client that writes a line for each message and reads one for each answer.
pub(crate) struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u32,
}

impl Client {
    fn start(sandbox: &Sandbox) -> Self {
        let mut server = sandbox
            .command(&["mcp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        Self {
            server,
            input,
            output: BufReader::new(output),
            last_id: 0,
        }
    }

    pub(crate) fn initialized(sandbox: &Sandbox) -> (Self, Value) {
        let mut client = Self::start(sandbox);
        let hello = client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (client, hello)
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    /// The answer to a request: its whole message.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).expect("nothing but messages is on standard output");
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The text that a tool answers, and whether it is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    /// Ends the connection; what was still written, and the exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        drop(self.input);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        (rest, self.server.wait().unwrap().code())
    }
}

fn two_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(SECOND, "second", 2, "error");
    sandbox
}

#[test]
fn a_client_lists_tools_and_calls_them() {
    let sandbox = two_runs();
    let (mut client, hello) = Client::initialized(&sandbox);
    assert_eq!(hello["result"]["serverInfo"]["name"], "tracer", "{hello}");
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
    let listed = client.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected = [
        "list_runs",
        "search_runs",
        "get_run",
        "get_step",
        "compare_runs",
        "stats",
        "explain_failure",
        "explain_value",
    ];
    assert_eq!(names, expected);
    assert!(
        tools
            .iter()
            .all(|tool| tool["annotations"]["readOnlyHint"] == true)
    );
    for (tool, arguments, part) in [
        ("list_runs", json!({}), "⟦second⟧ failed"),
        ("search_runs", json!({"query": "refund"}), "#1 tool ⟦search_kb⟧"),
        ("get_run", json!({"run_id": FIRST, "budget": 300}), "cause: none"),
        (
            "get_step",
            json!({"run_id": FIRST, "step": 2}),
            "answer, message 1 of 1",
        ),
        (
            "compare_runs",
            json!({"before": FIRST, "after": SECOND}),
            "after aaaa",
        ),
        ("stats", json!({"by": "model"}), "⟦demo-model⟧: 2 calls in 2 runs"),
        ("explain_failure", json!({}), "cause ("),
        (
            "get_run",
            json!({"run_id": FIRST, "context": true}),
            "⟦user: Draft a reply⟧ (412 tokens) was sent once",
        ),
        (
            "explain_value",
            json!({"run_id": FIRST, "value": "Dear Ada"}),
            "⟦Dear Ada⟧ is in no input before #2 ⟦demo-model⟧: the model made it up",
        ),
    ] {
        let (text, is_error) = client.call(tool, &arguments);
        assert!(!is_error && text.contains(part), "{tool}: {text}");
        assert!(text.len() <= 8_000);
    }
    assert_eq!(client.end(), (String::new(), Some(0)));
}

#[test]
fn errors_are_those_of_the_protocol() {
    let sandbox = two_runs();
    let (mut client, _) = Client::initialized(&sandbox);
    let unknown = client.ask("tools/call", &json!({"name": "delete_run", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let method = client.ask("runs/delete", &json!({}));
    assert_eq!(method["error"]["code"], -32601, "{method}");
    // What the model can mend is an answer of the tool.
    let (text, is_error) = client.call("list_runs", &json!({"query": "tol:x"}));
    assert!(is_error && text.contains("did you mean `tool`"), "{text}");
    let (text, is_error) = client.call("get_run", &json!({"run_id": "nobody"}));
    assert!(is_error && text.contains("list_runs lists the runs"), "{text}");
    let (text, is_error) = client.call("get_run", &json!({}));
    assert!(
        !is_error && text.contains("⟦second⟧"),
        "the server goes on: {text}"
    );
    assert_eq!(client.end().1, Some(0));
}

#[test]
fn runs_that_come_later_are_found() {
    let sandbox = Sandbox::without_data_directory();
    let (mut client, _) = Client::initialized(&sandbox);
    let (text, is_error) = client.call("list_runs", &json!({}));
    assert!(is_error, "{text}");
    sandbox.run(FIRST, "first", 1, "ok");
    let (text, is_error) = client.call("list_runs", &json!({}));
    assert!(!is_error && text.contains("⟦first⟧ ok"), "{text}");
    client.end();
}

#[test]
fn a_client_that_speaks_something_else_is_refused() {
    let sandbox = two_runs();
    let mut client = Client::start(&sandbox);
    client.input.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let (said, code) = client.end();
    assert_ne!(code, Some(0), "{said}");
    let (client, _) = Client::initialized(&sandbox);
    assert_eq!(client.end().1, Some(0));
}

#[test]
fn runs_are_listed_with_what_is_known_of_their_cost() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "unknown", 1, "ok");
    let sold = spans(SECOND, "known", 2, "ok")
        .replace("demo-model", "gpt-5-mini")
        .replace("\"local\"", "\"openai\"")
        .replace("412", "400000")
        .replace(":35", ":10000");
    sandbox.files(SECOND, &meta(SECOND, "known", 2, "ok").to_string(), &sold);
    let (mut client, _) = Client::initialized(&sandbox);
    let (list, _) = client.call("list_runs", &json!({"query": "name:known"}));
    assert!(list.contains("tokens, $0.12"), "{list}");
    let (list, _) = client.call("list_runs", &json!({"query": "name:unknown"}));
    assert!(list.contains("tokens, cost unknown"), "{list}");
    let (search, _) = client.call("search_runs", &json!({"query": "kind:llm", "sort": "cost"}));
    assert!(
        search.contains("⟦gpt-5-mini⟧ $0.12: ⟦") && !search.contains("demo-model"),
        "{search}"
    );
    let (stats, _) = client.call("stats", &json!({"by": "model", "sort": "cost"}));
    let place = |model: &str| stats.find(model).unwrap();
    assert!(place("gpt-5-mini") < place("demo-model"), "{stats}");
}

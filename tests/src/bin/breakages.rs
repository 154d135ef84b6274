//! A small agent that breaks in one of ten ways: `breakages <hand|attribute|outside> <case>`. Its model answers as the case
//! says; its calls are recorded by hand, by the attribute, or not at all, for `tracer record` to see them from outside.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::exit,
    reason = "an agent of the tests, which breaks"
)]

use std::future::pending;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};
use tracer_sdk::{Context, Guardrails, Run, TraceFutureExt as _, agent, llm_call, tool_call, trace};

/// The way in which the agent is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Recording {
    Hand,
    Attribute,
    Outside,
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let mut arguments = std::env::args().skip(1);
    let recording = match arguments.next().as_deref() {
        Some("hand") => Recording::Hand,
        Some("attribute") => Recording::Attribute,
        _ => Recording::Outside,
    };
    let case = arguments.next().unwrap_or_default();
    let work = tokio::task::LocalSet::new();
    match recording {
        Recording::Hand => {
            let limits = Guardrails::new().max_llm_calls(4).stop_on_loop(true);
            let run = Run::new("breaking").guardrails(limits);
            work.block_on(&runtime, run.try_instrument(broken(recording, case)))
        }
        Recording::Attribute => work.block_on(&runtime, traced(recording, case)),
        Recording::Outside => work.block_on(&runtime, broken(recording, case)),
    }
}

#[trace("breaking", max_llm_calls = 4, stop_on_loop)]
async fn traced(recording: Recording, case: String) -> anyhow::Result<()> {
    broken(recording, case).await
}

/// One case.
async fn broken(recording: Recording, case: String) -> anyhow::Result<()> {
    let mut talk = Talk::begin(recording);
    match &*case {
        "panic" => {
            talk.ask(&calls("read", READ_A))?;
            talk.read(async { panic!("index 7 is out of range") }).await?;
        }
        "time-limit" => {
            talk.ask(&calls("read", READ_A))?;
            talk.read_in_time(pending()).await?;
        }
        "sub-agent-loops" => talk.code().await?,
        "cut-stream" => talk.cut_stream()?,
        "bad-json" => {
            talk.ask(&calls("read", "{\"path\": "))?;
            talk.answer("error: the arguments do not parse");
            talk.ask(&says("I give up."))?;
        }
        "budget" => {
            for part in 1..=4 {
                talk.messages
                    .push(json!({"role": "user", "content": format!("Part {part}?")}));
                talk.ask(&says(&format!("It is {}.", part * part)))?;
            }
            if recording == Recording::Outside {
                bail!("4 calls are allowed");
            }
            let further = async move { talk.ask(&says("One too many.")) };
            tokio::task::spawn_local(further.in_current_run()).await??;
        }
        "ctrl-c" => {
            talk.ask(&calls("read", READ_A))?;
            tokio::select! {
                biased;
                read = talk.read(pending()) => drop(read?),
                // In the place of the signal.
                () = tokio::time::sleep(Duration::from_millis(20)) => std::process::exit(130),
            }
        }
        "kill" => {
            talk.ask(&calls("read", READ_A))?;
            let waiting = async {
                println!("{}", std::process::id());
                std::io::stdout().flush()?;
                std::thread::sleep(Duration::from_secs(60));
                bail!("it was not killed")
            };
            talk.read(waiting).await?;
        }
        "recursion" => deeper(&mut talk, 12)?,
        "swallowed" => {
            talk.ask(&calls("read", READ_A))?;
            let text = talk.read(async { bail!("no such file: a") }).await.ok();
            talk.answer(&text.map_or_else(|| "nothing".to_owned(), |text| text.to_string()));
            talk.ask(&says("The file is empty."))?;
        }
        _ => panic!("no case is called {case}"),
    }
    Ok(())
}

/// Calls itself, each time as an agent, until it fails.
fn deeper(talk: &mut Talk, levels: usize) -> anyhow::Result<()> {
    if levels == 0 {
        talk.ask(&says("Deeper."))?;
        bail!("too deep");
    }
    match talk.recording {
        Recording::Hand => {
            let mut level = agent(format!("level {levels}")).start();
            let outcome = level.in_scope(|| deeper(talk, levels - 1));
            if let Err(error) = &outcome {
                level.fail(error);
            }
            outcome
        }
        Recording::Attribute => traced_level(talk, levels),
        Recording::Outside => deeper(talk, levels - 1),
    }
}

#[trace(agent, name = format!("level {levels}"))]
fn traced_level(talk: &mut Talk, levels: usize) -> anyhow::Result<()> {
    deeper(talk, levels - 1)
}

const READ_A: &str = "{\"path\": \"a\"}";

/// A conversation with the model.
struct Talk {
    recording: Recording,
    messages: Vec<Value>,
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn calls(tool: &str, arguments: &str) -> Value {
    let call =
        json!({"id": "call_1", "type": "function", "function": {"name": tool, "arguments": arguments}});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

impl Talk {
    fn begin(recording: Recording) -> Self {
        let messages = vec![json!({"role": "user", "content": "What is in a?"})];
        Self { recording, messages }
    }

    /// The request, which says itself how the model of the test is to answer.
    fn request(&self, answer: &Value) -> Value {
        let tool =
            json!({"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}});
        json!({"model": "gpt-5", "messages": self.messages, "tools": [tool], "stand_in": answer})
    }

    fn ask(&mut self, answer: &Value) -> anyhow::Result<()> {
        let request = self.request(answer);
        match self.recording {
            Recording::Hand => {
                let mut call = llm_call("gpt-5").provider("openai").prompt(&request).start()?;
                call.response(answer);
                call.end()?;
            }
            Recording::Attribute => drop(asked(request, answer)?),
            Recording::Outside => drop(post(&request)?),
        }
        self.messages.push(answer.clone());
        Ok(())
    }

    /// Gives the model the result of its call.
    fn answer(&mut self, result: &str) {
        self.messages
            .push(json!({"role": "tool", "tool_call_id": "call_1", "content": result}));
    }

    /// The tool.
    async fn read(&self, work: impl Future<Output = anyhow::Result<Value>>) -> anyhow::Result<Value> {
        match self.recording {
            Recording::Hand => tool_call("read").id("call_1").json_args(READ_A).run(work).await,
            Recording::Attribute => read("a", work).await,
            Recording::Outside => work.await,
        }
    }

    /// The tool with a time limit.
    async fn read_in_time(&self, work: impl Future<Output = anyhow::Result<Value>>) -> anyhow::Result<Value> {
        let limit = Duration::from_millis(20);
        match self.recording {
            Recording::Hand => {
                let call = tool_call("read").id("call_1").json_args(READ_A);
                call.timeout(tokio::time::sleep(limit)).run(work).await
            }
            _ => Ok(tokio::time::timeout(limit, self.read(work)).await??),
        }
    }

    /// A sub-agent that reads the same file again and again.
    async fn code(&mut self) -> anyhow::Result<()> {
        match self.recording {
            Recording::Hand => {
                let mut coder = agent("coder").start();
                let outcome = coder.instrument(self.read_often()).await;
                if let Err(error) = &outcome {
                    coder.fail(error);
                }
                outcome
            }
            Recording::Attribute => coder("Mend a", self).await,
            Recording::Outside => self.ask_often(),
        }
    }

    /// The same as a recorder outside sees it: the model asks for the same file again and again.
    fn ask_often(&mut self) -> anyhow::Result<()> {
        for _ in 0..8 {
            self.ask(&calls("read", READ_A))?;
            self.answer("the same");
        }
        self.ask(&says("I give up."))
    }

    async fn read_often(&mut self) -> anyhow::Result<()> {
        for _ in 0..8 {
            self.read(async { Ok(json!("the same")) }).await?;
        }
        Ok(())
    }

    /// The connection ends in the middle of an answer.
    fn cut_stream(&self) -> anyhow::Result<()> {
        let request = self.request(&says("cut"));
        match self.recording {
            Recording::Hand => {
                let mut call = llm_call("gpt-5").provider("openai").prompt(&request).start()?;
                call.chunk("The file has");
                call.fail(&std::io::Error::other("the stream was cut"));
                call.end()?;
            }
            Recording::Attribute => drop(streamed(request)?),
            Recording::Outside => drop(post(&request)?),
        }
        bail!("the stream was cut")
    }
}

#[trace(llm, model = "gpt-5", provider = "openai", args(request), result)]
fn asked(request: Value, answer: &Value) -> anyhow::Result<Value> {
    Ok(answer.clone())
}

#[trace(llm, model = "gpt-5", provider = "openai", args(request))]
fn streamed(request: Value) -> anyhow::Result<()> {
    bail!("the stream was cut")
}

#[trace(tool, args(path), result)]
async fn read(path: &str, work: impl Future<Output = anyhow::Result<Value>>) -> anyhow::Result<Value> {
    if let Some(call) = Context::current() {
        call.attribute("open.path", path);
    }
    work.await
}

#[trace(agent, args(task), result)]
async fn coder(task: &str, talk: &mut Talk) -> anyhow::Result<()> {
    talk.read_often().await
}

/// Asks the model at the base URL of the environment.
fn post(request: &Value) -> anyhow::Result<String> {
    let base = std::env::var("OPENAI_BASE_URL")?;
    let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = request.to_string();
    let mut stream = TcpStream::connect(host)?;
    let head = format!(
        "POST /{path}/chat/completions HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer sk-not-recorded\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

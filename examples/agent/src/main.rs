//! An agent that answers questions from a folder of files, traced from end to end.

use std::{env, error::Error, fs, io};

use serde_json::{Value, json};
use tracer_sdk::Usage;

/// The loop: ask the model, run the tools that it asks for, send their results back, until it answers.
#[tracer_sdk::trace("parcel-agent", max_llm_calls = 10)]
async fn answer(question: &str) -> Result<String, Box<dyn Error>> {
    let system =
        json!({"role": "system", "content": "Search the files, read what you found, name the file."});
    let mut messages = vec![system, json!({"role": "user", "content": question})];
    loop {
        let message = ask(&messages).await?;
        messages.push(message.clone());
        let Some(calls) = message["tool_calls"].as_array() else {
            return Ok(message["content"].as_str().unwrap_or_default().to_owned());
        };
        for call in calls {
            let arguments: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or("{}"))?;
            let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
            let result = match call["function"]["name"].as_str() {
                Some("search_files") => search_files(argument("word")),
                Some("read_file") => read_file(argument("name")),
                _ => Err(io::Error::other("there is no such tool")),
            };
            // The model learns of a failure and may find another way.
            let content = result.unwrap_or_else(|error| format!("error: {error}"));
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
        }
    }
}

/// One call of the model, by the API of chat completions.
async fn ask(messages: &[Value]) -> Result<Value, Box<dyn Error>> {
    let set = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let model = set("OPENAI_MODEL", "gpt-5-mini");
    let url = set("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions";
    let tools: Value = serde_json::from_str(include_str!("tools.json"))?;
    let request = json!({"model": model, "messages": messages, "tools": tools});
    let mut call = tracer_sdk::llm_call(&model).prompt(&request).start()?;
    let post = reqwest::Client::new()
        .post(url)
        .bearer_auth(set("OPENAI_API_KEY", ""));
    let response = post.json(&request).send().await?.error_for_status()?;
    let response: Value = response.json().await?;
    call.response(&response["choices"][0]["message"]);
    let tokens = |name: &str| response["usage"][name].as_u64();
    if let (Some(input), Some(output)) = (tokens("prompt_tokens"), tokens("completion_tokens")) {
        call.usage(Usage::new(input, output));
    }
    call.end()?;
    Ok(response["choices"][0]["message"].clone())
}

#[tracer_sdk::trace(tool, args(word), result)]
fn search_files(word: &str) -> io::Result<String> {
    let mut found = String::new();
    for entry in fs::read_dir("data")? {
        let path = entry?.path();
        if fs::read_to_string(&path)?.to_lowercase().contains(word) {
            found += &format!("{}\n", path.display());
        }
    }
    Ok(found)
}

#[tracer_sdk::trace(tool, args(name), result)]
fn read_file(name: &str) -> io::Result<String> {
    fs::read_to_string(format!("data/{}", name.rsplit('/').next().unwrap_or_default()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    println!("{}", answer(&env::args().nth(1).unwrap_or_default()).await?);
    Ok(())
}

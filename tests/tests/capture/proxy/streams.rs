//! Every stream arrives byte for byte, and the record is what the stream amounts to.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use serde_json::Value;
use tracer_capture::cassette::{CassetteFile, ExchangeKeeper, Replay, Scrubbing};
use tracer_capture::proxy::ProxyOptions;
use tracer_insight::conversation::{MessagePart, answer_messages};
use tracer_providers::{ModelApi, ResponseFacts, assemble};
use tracer_sdk::format::{EventType, Payload};
use tracer_sdk::settings::Settings;
use tracer_tests::ModelServer;
use tracer_tests::model_server::{chunk, chunked_head, post};
use tracer_tests::model_streams::{self, ModelAnswer, ModelStream};

use super::Proxied;

/// The reasoning, the text and the tool calls of an answer, whatever its API; IDs that the API has not are empty.
fn read_answer(response: &Value) -> (String, String, Vec<(String, Value)>) {
    let (mut reasoning, mut text, mut calls) = (String::new(), String::new(), Vec::new());
    for part in answer_messages(response)
        .into_iter()
        .flat_map(|message| message.parts)
    {
        match part {
            MessagePart::Reasoning(more) => reasoning.push_str(&more),
            MessagePart::Text(more) => text.push_str(&more),
            MessagePart::ToolCall { name, arguments, .. } => {
                // Some APIs send arguments as JSON text.
                let arguments = match arguments {
                    Value::String(json) => serde_json::from_str(&json).unwrap(),
                    arguments => arguments,
                };
                calls.push((name, arguments));
            }
            _ => {}
        }
    }
    (reasoning, text, calls)
}

fn expected(answer: &ModelAnswer) -> (String, String, Vec<(String, Value)>) {
    let calls = answer.tool_calls.iter();
    let calls = calls
        .map(|(_, name, arguments)| (name.clone(), arguments.clone()))
        .collect();
    (answer.reasoning.clone(), answer.text.clone(), calls)
}

fn question(stream: &ModelStream) -> String {
    format!("Send the stream {}", stream.id)
}

/// A provider that sends the stream that it is asked for, each byte as a chunk of its own.
fn provider(streams: Arc<Vec<ModelStream>>) -> ModelServer {
    ModelServer::start(move |request, connection| {
        let body = String::from_utf8_lossy(&request.body);
        let stream = streams
            .iter()
            .find(|stream| body.contains(&format!("{}\"", question(stream))))
            .unwrap();
        // Many small writes would be one in any case: what cuts the stream for whoever parses it are the chunks.
        let mut answer = chunked_head(stream.api.content_type());
        for byte in &stream.bytes {
            answer.extend(chunk(&[*byte]));
        }
        answer.extend(chunk(b""));
        let half = answer.len() / 2;
        connection.write_all(&answer[..half]).unwrap();
        connection.flush().unwrap();
        connection.write_all(&answer[half..]).unwrap();
    })
}

#[test]
fn streams_pass_unchanged_and_are_recorded() {
    let streams = Arc::new(model_streams::all());
    assert!(streams.len() >= 200, "{} streams", streams.len());
    let server = provider(Arc::clone(&streams));
    let proxied = Proxied::new(&server.base());
    ask_for_all(&streams, |variable| proxied.base_url(variable));
    let (summary, run, _data) = proxied.finish();
    assert_eq!((summary.model_calls, summary.lost), (streams.len() as u64, 0));
    let recorded: HashMap<String, &Payload> = run
        .all(EventType::LlmCall)
        .into_iter()
        .filter_map(|record| match &record.payload {
            Payload::LlmCall { prompt, .. } => {
                let prompt = prompt.to_string();
                let id = prompt.split("Send the stream ").nth(1)?.split('"').next()?;
                Some((id.to_owned(), &record.payload))
            }
            _ => None,
        })
        .collect();
    assert_eq!(recorded.len(), streams.len());
    for stream in streams.iter() {
        let Payload::LlmCall {
            response,
            usage,
            stop_reason,
            error,
            model,
            ..
        } = recorded[&stream.id]
        else {
            panic!("a model call")
        };
        let (name, answer) = (&stream.name, &stream.answer);
        assert_eq!(read_answer(response), expected(answer), "{name}");
        assert_eq!(usage.prompt_tokens, Some(answer.input_tokens), "{name}");
        assert_eq!(usage.completion_tokens, Some(answer.output_tokens), "{name}");
        let reason = stream.api.finish_reason(answer);
        assert_eq!(stop_reason.as_deref(), Some(reason), "{name}");
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(model, "model-1", "{name}");
    }
}

#[test]
fn streams_are_replayed_byte_for_byte() {
    let streams = Arc::new(model_streams::all());
    let server = provider(Arc::clone(&streams));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("streams.jsonl");
    let settings = Settings::with_data_dir(folder.path());
    let scrubbing = Scrubbing::of_program(&settings, folder.path());
    let file = CassetteFile::create(&path, &scrubbing.head(["agent".to_owned()]), false).unwrap();
    let (keeper, kept) = ExchangeKeeper::new(scrubbing, vec![file]);
    let mut options = ProxyOptions::default();
    options.exchanges = Some(Box::new(keeper));
    let proxied = Proxied::with(&server.base(), options);
    ask_for_all(&streams, |variable| proxied.base_url(variable));
    proxied.finish();
    let kept = kept.read();
    assert_eq!(
        (kept.calls, kept.without_content, kept.replaced),
        (streams.len() as u64, 0, Vec::new())
    );
    let asked = server.requests().len();
    let replay = Replay::start(&path).unwrap();
    let variables = replay.variables();
    ask_for_all(&streams, |name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.unwrap().1.clone()
    });
    let outcome = replay.finish();
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(outcome.served, streams.len() as u64);
    assert_eq!(server.requests().len(), asked, "the provider was not asked");
}

/// Asks for each stream, and gets it as it was sent.
fn ask_for_all(streams: &[ModelStream], base_url: impl Fn(&str) -> String) {
    for stream in streams {
        let url = format!(
            "{}{}",
            base_url(stream.api.base_url_variable()),
            stream.api.path()
        );
        let request = stream.api.request(&question(stream)).to_string();
        let response = post(&url, &[], request.as_bytes());
        assert_eq!(
            (response.status, response.is_whole),
            (200, true),
            "{}",
            stream.name
        );
        assert!(
            response.body == stream.bytes,
            "{}: other bytes than were sent",
            stream.name
        );
    }
}

#[test]
fn streams_cut_at_any_byte_are_beginnings() {
    for stream in model_streams::all() {
        let path = stream.api.path().split('?').next().unwrap();
        let api = ModelApi::from_path(path).unwrap();
        let whole = assemble(api, stream.api.content_type(), &stream.bytes);
        assert!(whole.is_complete, "{}", stream.name);
        let (reasoning, text, calls) = read_answer(&whole.body);
        // Every byte of a stream of each API, and some of the others.
        let step = if stream.name.ends_with(" lf text") { 1 } else { 97 };
        for cut in (0..stream.bytes.len()).step_by(step) {
            let part = assemble(api, stream.api.content_type(), &stream.bytes[..cut]);
            let _ = ResponseFacts::from_answer(&part);
            assert!(part.chunks <= whole.chunks, "{} at {cut}", stream.name);
            if part.chunks == 0 {
                // The beginning of the first value, as it came.
                let is_beginning = part
                    .body
                    .as_str()
                    .is_some_and(|text| text.starts_with(['{', '[']));
                assert!(
                    part.body.is_null() || is_beginning,
                    "{} at {cut}: {}",
                    stream.name,
                    part.body
                );
                continue;
            }
            let messages = answer_messages(&part.body);
            let mut seen = (String::new(), String::new());
            for part in messages.into_iter().flat_map(|message| message.parts) {
                match part {
                    MessagePart::Reasoning(more) => seen.0.push_str(&more),
                    MessagePart::Text(more) => seen.1.push_str(&more),
                    MessagePart::ToolCall { name, .. } => {
                        assert!(
                            calls.iter().any(|(known, _)| *known == name),
                            "{} at {cut}",
                            stream.name
                        );
                    }
                    _ => {}
                }
            }
            assert!(
                reasoning.starts_with(&seen.0),
                "{} at {cut}: {:?}",
                stream.name,
                seen.0
            );
            assert!(
                text.starts_with(&seen.1),
                "{} at {cut}: {:?}",
                stream.name,
                seen.1
            );
        }
    }
}

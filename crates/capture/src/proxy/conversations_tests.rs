//! Conversations at once, nested, tried again and edited, through the code that writes what the proxy saw.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tracer_sdk::format::{SpanId, SpanRecord};
use tracer_sdk::loops::{self, Trail};
use tracer_sdk::spans_to_events;

use super::conversations::{Conversations, RequestPlace, WireCall};
use super::exchange::{Exchange, ModelCall};
use super::history::History;
use super::run_groups::RunGroups;
use super::stream_usage::StreamUsage;
use super::{ProxiedRuns, ProxyContext};
use crate::exchange::ExchangeEnd;
use crate::runs::random_span_id;
use tracer_providers::ModelApi;

/// A run whose requests are recorded when they end.
struct Wire {
    run: RunGroups,
    spans: Vec<SpanRecord>,
}

/// When a request came and when its answer had come, in milliseconds.
type Times = (u64, u64);

impl Wire {
    fn new() -> Self {
        let context = ProxyContext {
            trace_id: "01".repeat(16).parse().unwrap(),
            root_span_id: "02".repeat(8).parse().unwrap(),
        };
        Self {
            run: RunGroups::new(ProxiedRuns::One(context)),
            spans: Vec::new(),
        }
    }

    /// Records a request and its answer; an answer that is no object is an HTTP status.
    fn ask(&mut self, times: Times, request: &Value, answer: &Value) {
        self.ask_until(times, request, answer, ExchangeEnd::Whole);
    }

    fn ask_until(&mut self, (from, to): Times, request: &Value, answer: &Value, end: ExchangeEnd) {
        let at = |milliseconds| SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000 + milliseconds);
        let status = answer
            .as_u64()
            .map_or(200, |status| u16::try_from(status).unwrap());
        let api = ModelApi::ChatCompletions;
        let exchange = Exchange {
            segment: "openai",
            query: None,
            headers: Vec::new(),
            is_replayed: false,
            stream_usage: StreamUsage::default(),
            call_number: None,
            reservation: None,
            refused_by: None,
            is_held: false,
            client_model: None,
            span_id: random_span_id(),
            sent_context: None,
            user_agent: String::new(),
            api: Some(api),
            asked_again: None,
            provider: "openai",
            server: "api.openai.com".to_owned(),
            method: "POST".to_owned(),
            path: "/v1/chat/completions".to_owned(),
            request: request.to_string().into_bytes().into(),
            request_encoding: String::new(),
            arrived: at(from),
            status: Some(status),
            content_type: "application/json".to_owned(),
            content_encoding: String::new(),
            response: if answer.is_object() {
                answer.to_string().into_bytes()
            } else {
                Vec::new()
            },
            is_cut: false,
            first_byte: None,
            ended: at(to),
            end,
        };
        let call = ModelCall::read(&exchange, api);
        self.spans.extend(self.run.spans(&exchange, Some((api, &call))));
    }

    fn finish(mut self) -> Vec<SpanRecord> {
        self.spans.extend(self.run.finish());
        self.spans
    }
}

fn text(span: &SpanRecord, key: &str) -> Option<String> {
    let in_events = span.events.iter().map(|event| &event.attributes);
    let mut attributes = [&span.attributes].into_iter().chain(in_events);
    Some(match attributes.find_map(|attributes| attributes.get(key))? {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    })
}

fn is_tool(span: &SpanRecord) -> bool {
    text(span, "tracer.derived").is_some()
}

fn is_row(span: &SpanRecord) -> bool {
    text(span, "tracer.inferred").as_deref() == Some("span")
}

/// The arguments and the result of each tool, sorted.
fn tools(spans: &[SpanRecord]) -> Vec<(String, Option<String>)> {
    let tools = spans.iter().filter(|span| is_tool(span));
    let mut tools: Vec<_> = tools
        .map(|span| (text(span, "args").unwrap(), text(span, "result")))
        .collect();
    tools.sort();
    tools
}

/// The conversation of each model call, in the order recorded.
fn threads(spans: &[SpanRecord]) -> Vec<String> {
    spans
        .iter()
        .filter(|span| !is_tool(span) && !is_row(span))
        .filter_map(|span| text(span, "tracer.thread"))
        .collect()
}

/// How many failed calls of models no other call tries again.
fn failed_for_good(spans: &[SpanRecord]) -> usize {
    let retried: HashSet<String> = spans
        .iter()
        .filter_map(|span| text(span, "tracer.retry_of"))
        .collect();
    let failed = spans
        .iter()
        .filter(|span| !is_tool(span) && text(span, "tracer.error_type").is_some());
    failed
        .filter(|span| !retried.contains(&span.span_id.to_string()))
        .count()
}

/// How a provider tells of the calls of tools.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ids {
    Own,
    Equal,
    None,
    Gemini,
}

/// A conversation as its client sends it.
#[derive(Clone)]
struct Talk {
    ids: Ids,
    messages: Vec<Value>,
}

impl Talk {
    fn new(ids: Ids, system: &str, question: &str) -> Self {
        let messages = match ids {
            Ids::Gemini => vec![json!({"role": "user", "parts": [{"text": question}]})],
            _ => vec![
                json!({"role": "system", "content": system}),
                json!({"role": "user", "content": question}),
            ],
        };
        Self { ids, messages }
    }

    fn request(&self) -> Value {
        match self.ids {
            Ids::Gemini => json!({"contents": self.messages}),
            _ => json!({"model": "m", "messages": self.messages}),
        }
    }

    /// An answer that asks for the weather of these places; the history has it, then.
    fn asks(&mut self, cities: &[&str]) -> Value {
        let salt = self.messages.len();
        let calls = cities.iter().enumerate().map(|(number, city)| {
            if self.ids == Ids::Gemini {
                return json!({"functionCall": {"name": "weather", "args": {"city": city}}});
            }
            let mut call = json!({"type": "function", "function": {"name": "weather", "arguments": json!({"city": city}).to_string()}});
            match self.ids {
                Ids::Own => call["id"] = format!("{city}-{salt}-{number}").into(),
                Ids::Equal => call["id"] = format!("weather:{number}").into(),
                _ => {}
            }
            call
        });
        let calls: Vec<Value> = calls.collect();
        self.answers(if self.ids == Ids::Gemini {
            json!({"role": "model", "parts": calls})
        } else {
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        })
    }

    fn says(&mut self, said: &str) -> Value {
        self.answers(if self.ids == Ids::Gemini {
            json!({"role": "model", "parts": [{"text": said}]})
        } else {
            json!({"role": "assistant", "content": said})
        })
    }

    fn answers(&mut self, message: Value) -> Value {
        let answer = if self.ids == Ids::Gemini {
            json!({"candidates": [{"content": message, "finishReason": "STOP"}]})
        } else {
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        };
        self.messages.push(message);
        answer
    }

    /// Adds the results of the calls in the last answer.
    fn brings(&mut self, results: &[String]) {
        let calls = self.messages.last().unwrap()["tool_calls"].clone();
        if self.ids == Ids::Gemini {
            let parts = results.iter().map(
                |result| json!({"functionResponse": {"name": "weather", "response": {"result": result}}}),
            );
            self.messages
                .push(json!({"role": "user", "parts": parts.collect::<Vec<_>>()}));
            return;
        }
        for (number, result) in results.iter().enumerate() {
            let mut message = json!({"role": "tool", "content": result});
            if let Some(id) = calls[number].get("id") {
                message["tool_call_id"] = id.clone();
            }
            self.messages.push(message);
        }
    }
}

#[test]
fn results_stay_in_their_conversation() {
    for ids in [Ids::Own, Ids::Equal, Ids::None, Ids::Gemini] {
        let mut wire = Wire::new();
        let mut oslo = Talk::new(ids, "Be brief.", "Weather in Oslo?");
        let mut paris = Talk::new(ids, "Be brief.", "Weather in Paris?");
        let (request, answer) = (oslo.request(), oslo.asks(&["Oslo", "Bergen"]));
        wire.ask((0, 10), &request, &answer);
        let (request, answer) = (paris.request(), paris.asks(&["Paris"]));
        wire.ask((1, 11), &request, &answer);
        paris.brings(&["Paris: 7 C".to_owned()]);
        wire.ask((20, 30), &paris.request(), &paris.clone().says("Warm."));
        oslo.brings(&["Oslo: 1 C".to_owned(), "Bergen: 2 C".to_owned()]);
        wire.ask((21, 31), &oslo.request(), &oslo.clone().says("Cold."));
        let spans = wire.finish();
        assert_eq!(threads(&spans), ["1", "2", "2", "1"], "{ids:?}");
        let found = tools(&spans);
        assert_eq!(found.len(), 3, "{ids:?}");
        for (arguments, result) in found {
            let city = arguments.split('"').nth(3).unwrap().to_owned();
            assert!(
                result.as_ref().is_some_and(|result| result.contains(&city)),
                "{ids:?}: {arguments} {result:?}"
            );
        }
    }
}

#[test]
fn results_that_come_late_are_those_of_their_calls() {
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let answer =
        |text: &str| json!({"choices": [{"index": 0, "message": said(text), "finish_reason": "stop"}]});
    for is_in_its_place in [false, true] {
        let mut wire = Wire::new();
        let mut talk = Talk::new(Ids::Own, "You know the weather.", "What is the weather?");
        let request = talk.request();
        wire.ask((0, 10), &request, &talk.asks(&["Oslo", "Rome"]));
        let asked = &talk.messages[2]["tool_calls"];
        let result = |number: usize, text: &str| json!({"role": "tool", "tool_call_id": asked[number]["id"], "content": text});
        let (oslo, rome) = (result(0, "7 C"), result(1, "21 C"));
        let mut messages = talk.messages.clone();
        messages.push(rome);
        let ask = |wire: &mut Wire, from: u64, messages: &[Value], text: &str| {
            wire.ask(
                (from, from + 10),
                &json!({"model": "m", "messages": messages}),
                &answer(text),
            );
        };
        ask(&mut wire, 20, &messages, "Oslo is slow.");
        messages.extend([
            said("Oslo is slow."),
            json!({"role": "user", "content": "Wait for it."}),
        ]);
        ask(&mut wire, 40, &messages, "I wait.");
        messages.push(said("I wait."));
        if is_in_its_place {
            messages.insert(3, oslo);
            messages.push(json!({"role": "user", "content": "And now?"}));
        } else {
            messages.push(oslo);
        }
        ask(&mut wire, 60, &messages, "7 C and 21 C.");
        let spans = wire.finish();
        let found: Vec<Option<String>> = tools(&spans).into_iter().map(|(_, result)| result).collect();
        assert_eq!(
            found,
            [Some("7 C".to_owned()), Some("21 C".to_owned())],
            "{is_in_its_place}"
        );
        assert_eq!(threads(&spans), ["1"; 4], "{is_in_its_place}");
    }
}

#[test]
fn a_retry_names_the_request_that_failed() {
    let mut wire = Wire::new();
    let mut oslo = Talk::new(Ids::Own, "Be brief.", "Weather in Oslo?");
    let mut paris = Talk::new(Ids::Own, "Be brief.", "Weather in Paris?");
    let (request, answer) = (paris.request(), paris.asks(&["Paris"]));
    wire.ask((0, 10), &request, &answer);
    wire.ask((1, 12), &oslo.request(), &json!(429));
    // The tool of another conversation, and a call of it, are between the two attempts.
    paris.brings(&["7 C".to_owned()]);
    wire.ask((20, 30), &paris.request(), &json!(429));
    let request = oslo.request();
    wire.ask((40, 50), &request, &json!(500));
    wire.ask((60, 70), &request, &oslo.says("Cold."));
    let spans = wire.finish();
    assert_eq!(threads(&spans), ["1", "2", "1", "2", "2"]);
    assert_eq!(failed_for_good(&spans), 1);
}

#[test]
fn other_instructions_are_no_next_attempt() {
    let asked = |instructions: &str| Talk::new(Ids::Own, instructions, "Is this contract sound?").request();
    let answer = Talk::new(Ids::Own, "", "").says("It is.");
    for (first, second, attempts) in [
        ("You are a lawyer.", "You are a doctor.", 0),
        ("You are reviewer 1.", "You are reviewer 2.", 0),
        ("It is 12:00:01 now.", "It is 12:00:09 now.", 1),
        (
            "The time: 2026-11-27T12:00:01Z",
            "The time: 2026-11-27T12:00:09Z",
            1,
        ),
        ("Started at 1764201601.", "Started at 1764201609.", 1),
        ("It is 9:05 AM.", "It is 9:06 AM.", 1),
        ("Help customer 4015550001.", "Help customer 4015550002.", 0),
        ("Order ORD-2026112700001.", "Order ORD-2026112700002.", 0),
        ("Draw in 16:9.", "Draw in 4:3.", 0),
        ("Seats 1 23.", "Seats 12 3.", 0),
    ] {
        let mut wire = Wire::new();
        wire.ask((0, 10), &asked(first), &json!(500));
        wire.ask((20, 30), &asked(second), &answer);
        assert_eq!(failed_for_good(&wire.finish()), 1 - attempts, "{second}");
    }
}

#[test]
fn the_day_in_the_instructions_is_no_break() {
    let mut wire = Wire::new();
    let mut talk = Talk::new(Ids::Own, "Today is Monday.", "Weather in Oslo?");
    let request = talk.request();
    wire.ask((0, 10), &request, &talk.asks(&["Oslo"]));
    talk.brings(&["7 C".to_owned()]);
    talk.messages[0] = json!({"role": "system", "content": "Today is Tuesday."});
    wire.ask((20, 30), &talk.request(), &talk.clone().says("Cold."));
    let spans = wire.finish();
    assert_eq!(threads(&spans), ["1", "1"]);
    assert_eq!(tools(&spans)[0].1.as_deref(), Some("7 C"));
}

#[test]
fn an_answer_asked_for_again_asked_for_nothing() {
    let broken_off = || ExchangeEnd::BrokenOff("reset".to_owned());
    for (first, second) in [
        (((0, 10), broken_off()), ((20, 30), ExchangeEnd::Whole)),
        (((0, 25), ExchangeEnd::ClientGone), ((10, 30), ExchangeEnd::Whole)),
        (((10, 30), ExchangeEnd::Whole), ((0, 35), ExchangeEnd::ClientGone)),
    ] {
        let mut wire = Wire::new();
        let mut talk = Talk::new(Ids::Own, "", "Weather in Oslo?");
        let request = talk.request();
        let mut other = talk.clone();
        let mut answers = [other.asks(&["Oslo", "Paris"]), talk.asks(&["Oslo"])];
        if first.1 == ExchangeEnd::Whole {
            answers.reverse();
        }
        for ((times, end), answer) in [first, second].into_iter().zip(&answers) {
            wire.ask_until(times, &request, answer, end);
        }
        talk.brings(&["7 C".to_owned()]);
        wire.ask((40, 50), &talk.request(), &talk.clone().says("Cold."));
        let oslo = (json!({"city": "Oslo"}).to_string(), Some("7 C".to_owned()));
        assert_eq!(tools(&wire.finish()), [oslo]);
    }
}

#[test]
fn what_cannot_run_is_no_tool() {
    let weather = json!({"type": "function", "function": {"name": "weather", "parameters": {}}});
    let script = json!({"type": "custom", "custom": {"name": "script", "description": "Runs code."}});
    for (name, arguments, spans_seen) in [
        ("weather", "{\"city\": \"Oslo\"}", 1),
        ("weather", "{\"city\":", 0),
        ("erase", "{}", 0),
        ("mcp__weather", "{}", 1),
        ("script", "[x for x in y]", 1),
    ] {
        for is_answered in [true, false] {
            let mut wire = Wire::new();
            let call =
                json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}});
            let answer = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            let mut request =
                json!({"messages": [{"role": "user", "content": "?"}], "tools": [weather, script]});
            let body = json!({"choices": [{"index": 0, "message": answer, "finish_reason": "tool_calls"}]});
            wire.ask((0, 10), &request, &body);
            if is_answered {
                let result = json!({"role": "tool", "tool_call_id": "c1", "content": "no such thing"});
                let messages = request["messages"].as_array_mut().unwrap();
                messages.extend([answer, result]);
                wire.ask((20, 30), &request, &Talk::new(Ids::Own, "", "").says("So."));
            }
            assert_eq!(
                tools(&wire.finish()).len(),
                spans_seen,
                "{name} {arguments} {is_answered}"
            );
        }
    }
}

#[test]
fn results_alone_continue_their_conversation() {
    let mut wire = Wire::new();
    let call = json!([{"type": "function_call", "call_id": "call_7", "name": "f", "arguments": "{}"}]);
    let said = json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}]);
    wire.ask(
        (0, 10),
        &json!({"model": "m", "input": "A"}),
        &json!({"output": call}),
    );
    wire.ask(
        (11, 20),
        &json!({"model": "m", "input": "B"}),
        &json!({"output": said}),
    );
    let results = json!([{"type": "function_call_output", "call_id": "call_7", "output": "7 C"}]);
    wire.ask(
        (30, 40),
        &json!({"model": "m", "input": results}),
        &json!({"output": said}),
    );
    let spans = wire.finish();
    assert_eq!(threads(&spans), ["1", "2", "1"]);
    assert_eq!(tools(&spans), [("{}".to_owned(), Some("7 C".to_owned()))]);
}

#[test]
fn a_form_has_no_conversation_below_it() {
    let mut wire = Wire::new();
    let mut talk = Talk::new(Ids::Own, "", "Name a place.");
    let mut request = talk.request();
    request["tool_choice"] = json!({"type": "function", "function": {"name": "weather"}});
    wire.ask((0, 10), &request, &talk.asks(&["the fjords of Norway"]));
    let other = Talk::new(Ids::Own, "", "the fjords of Norway");
    wire.ask((20, 30), &other.request(), &other.clone().says("Deep."));
    let spans = wire.finish();
    assert_eq!(
        (spans.len(), &spans[0].parent_span_id),
        (2, &spans[1].parent_span_id)
    );
}

#[test]
fn long_questions_are_kept_in_part() {
    let long = "é".repeat(500_000);
    let history = History::of(
        &json!({"messages": [{"role": "user", "content": long}, {"role": "user", "content": long}]}),
    );
    assert_eq!((history.question.len(), history.texts.len()), (16_385, 16_385));
}

#[test]
fn the_oldest_calls_are_forgotten() {
    let request = |text: &str| History::of(&json!({"messages": [{"role": "user", "content": text}]}));
    let mut known = Conversations::default();
    let add = |known: &mut Conversations, history: &History| {
        let conversation = known.begin(history, "03".repeat(8).parse().unwrap());
        let call = WireCall {
            conversation,
            span_id: random_span_id(),
            parent: "03".repeat(8).parse().unwrap(),
            times: (0, 10),
            has_failed: true,
            was_left: false,
            background: None,
            continues: None,
            instructions: history.instructions,
            ids: 0,
            is_continued: false,
        };
        known.add(history, RequestPlace::default(), call);
        conversation
    };
    let first = request("first");
    add(&mut known, &first);
    assert_eq!(known.place_of(&first, 20).conversation, Some(0));
    let others = request("others");
    for _ in 0..50_000 {
        add(&mut known, &others);
    }
    assert_eq!(known.place_of(&first, 20).conversation, None);
    let last = request("last");
    let conversation = add(&mut known, &last);
    assert_eq!(conversation, 50_001);
    assert_eq!(known.place_of(&last, 20).conversation, Some(conversation));
    assert_eq!(
        (known.parent(0), known.parent(conversation).is_some()),
        (None, true)
    );
}

#[test]
fn requests_at_once_are_no_attempts() {
    let mut wire = Wire::new();
    let mut talk = Talk::new(Ids::Own, "Be brief.", "Weather in Oslo?");
    let request = talk.request();
    wire.ask((10, 20), &request, &talk.says("Cold."));
    wire.ask_until((0, 21), &request, &Value::Null, ExchangeEnd::ClientGone);
    // The same question once more is another conversation.
    wire.ask((40, 50), &request, &talk.says("Cold."));
    let spans = wire.finish();
    assert_eq!(threads(&spans), ["1", "1", "2"]);
    assert!(spans.iter().all(|span| text(span, "tracer.retry_of").is_none()));
    assert_eq!(text(&spans[1], "tracer.error_type").as_deref(), Some("Cancelled"));
}

#[test]
fn a_hedge_names_the_request_that_was_left_for_it() {
    for (to, end, is_named) in [
        (20, ExchangeEnd::ClientGone, true),
        // Another failure is one, whatever was made meanwhile.
        (20, ExchangeEnd::BrokenOff("reset".to_owned()), false),
        // Before it: what was left is tried again.
        (4, ExchangeEnd::ClientGone, true),
    ] {
        let mut wire = Wire::new();
        let mut talk = Talk::new(Ids::Own, "Be brief.", "Weather in Oslo?");
        let request = talk.request();
        wire.ask_until((0, to), &request, &Value::Null, end);
        wire.ask((5, 30), &request, &talk.says("Cold."));
        let spans = wire.finish();
        assert_eq!(threads(&spans), ["1", "1"]);
        assert_eq!(text(&spans[1], "tracer.retry_of").is_some(), is_named, "{to}");
    }
}

#[test]
fn each_of_several_hedges_names_the_one_before() {
    let mut wire = Wire::new();
    let mut talk = Talk::new(Ids::Own, "Be brief.", "Weather in Oslo?");
    let request = talk.request();
    wire.ask_until((0, 20), &request, &Value::Null, ExchangeEnd::ClientGone);
    wire.ask_until((5, 21), &request, &Value::Null, ExchangeEnd::ClientGone);
    wire.ask((6, 30), &request, &talk.says("Cold."));
    let spans = wire.finish();
    let named = |at: usize| text(&spans[at], "tracer.retry_of");
    let id = |at: usize| spans[at].span_id.to_string();
    assert_eq!((named(1), named(2)), (Some(id(0)), Some(id(1))));
}

/// The rows of conversations that asked twice at these times, and of one that asked once at others.
fn rows(twice: &[[Times; 2]], once: &[Times]) -> Vec<String> {
    let mut wire = Wire::new();
    let mut requests: Vec<(Times, usize)> = Vec::new();
    for (talk, times) in twice.iter().enumerate() {
        requests.extend(times.iter().map(|times| (*times, talk)));
    }
    requests.extend((twice.len()..).zip(once).map(|(talk, times)| (*times, talk)));
    requests.sort_unstable();
    let talks = 0..twice.len() + once.len();
    let mut talks: Vec<Talk> = talks
        .map(|talk| Talk::new(Ids::None, "Be brief.", &format!("Question {talk}?")))
        .collect();
    for (times, talk) in requests {
        let talk = &mut talks[talk];
        let request = talk.request();
        wire.ask(times, &request, &talk.asks(&["Oslo"]));
        talk.brings(&["7 C".to_owned()]);
    }
    let spans = wire.finish();
    let rows = spans.iter().filter(|span| is_row(span));
    for row in rows.clone() {
        let number = text(row, "tracer.thread");
        let mut calls = spans
            .iter()
            .filter(|span| !is_row(span) && text(span, "tracer.thread") == number);
        let start = |span: &SpanRecord| span.start_time.instant();
        assert!(calls.all(|call| start(row) < start(call)), "{row:?}");
    }
    rows.map(|row| row.name.clone()).collect()
}

#[test]
fn conversations_at_once_have_rows() {
    let at_once = [[(0, 10), (20, 30)], [(5, 15), (25, 35)], [(12, 22), (40, 50)]];
    assert_eq!(
        rows(&at_once, &[]),
        ["conversation 1", "conversation 2", "conversation 3"]
    );
    let none: [&str; 0] = [];
    // As the one call that Claude Code makes for a title.
    assert_eq!(rows(&at_once[..1], &[(5, 8)]), none);
    assert_eq!(
        rows(&at_once[..2], &[(0, 100)]),
        ["conversation 1", "conversation 3"]
    );
    assert_eq!(rows(&at_once[..1], &[]), none);
    assert_eq!(rows(&[], &[(0, 10), (5, 15)]), none);
    assert_eq!(
        rows(&[[(0, 10), (20, 30)], [(30, 40), (50, 60)]], &[(70, 80)]),
        none
    );
    // The others overlap with the first alone.
    let around = [[(0, 10), (80, 90)], [(20, 25), (26, 30)], [(40, 45), (46, 50)]];
    assert_eq!(rows(&around, &[]).len(), 3);
}

#[test]
fn edited_histories_continue_their_conversation() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let request = |messages: &[Value]| json!({"model": "m", "messages": messages});
    let answered =
        |text: &str| json!({"choices": [{"index": 0, "message": said(text), "finish_reason": "stop"}]});
    let begun = |wire: &mut Wire| {
        wire.ask((0, 10), &request(&[user("A")]), &answered("a"));
        wire.ask(
            (20, 30),
            &request(&[user("A"), said("a"), user("B")]),
            &answered("b"),
        );
        wire.ask((40, 50), &request(&[user("X")]), &answered("x"));
    };
    for (edited, thread) in [
        // A window, a compaction that keeps the question, white space and reasoning.
        (vec![user("B"), said("b"), user("C")], "1"),
        (vec![user("A"), said("In short: a, b"), user("C")], "1"),
        (
            vec![
                user(" A"),
                said("<think>"),
                said("a"),
                user("B"),
                said("b \n"),
                user("C"),
            ],
            "1",
        ),
        (vec![user("Z"), said("z"), user("C")], "3"),
    ] {
        let mut wire = Wire::new();
        begun(&mut wire);
        wire.ask((60, 70), &request(&edited), &answered("c"));
        assert_eq!(threads(&wire.finish()), ["1", "1", "2", thread], "{edited:?}");
    }
}

#[test]
fn a_failure_in_the_only_message_continues() {
    let mut wire = Wire::new();
    let mut talk = Talk::new(Ids::Own, "", "Extract the city.");
    let request = talk.request();
    wire.ask((0, 10), &request, &talk.asks(&["Oslo"]));
    let again = Talk::new(
        Ids::Own,
        "",
        "Extract the city.\nThe call of weather failed: no such city.",
    );
    wire.ask((20, 30), &again.request(), &again.clone().asks(&["Bergen"]));
    assert_eq!(threads(&wire.finish()), ["1", "1"]);
}

#[test]
fn examples_before_the_question_are_no_history() {
    let mut wire = Wire::new();
    let example = [
        json!({"role": "user", "content": "Example"}),
        json!({"role": "assistant", "content": "Like this."}),
    ];
    for (number, question) in ["A", "B", "C"].iter().enumerate() {
        let mut messages = example.to_vec();
        messages.push(json!({"role": "user", "content": question}));
        let request = json!({"model": "m", "messages": messages});
        let answer = json!({"choices": [{"message": {"role": "assistant", "content": question}, "finish_reason": "stop"}]});
        let from = 20 * number as u64;
        wire.ask((from, from + 10), &request, &answer);
    }
    assert_eq!(threads(&wire.finish()), ["1", "2", "3"]);
}

#[test]
fn a_demanded_function_is_the_form_of_the_answer() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
    let (one, two) = (json!([tool("weather")]), json!([tool("weather"), tool("time")]));
    let named = json!({"type": "function", "function": {"name": "weather"}});
    for (choice, offered, tools_seen) in [
        (named, &two, 0),
        (json!("required"), &one, 0),
        (json!({"type": "any"}), &one, 0),
        (json!({"type": "tool", "name": "weather"}), &two, 0),
        (json!("required"), &two, 1),
        (json!("auto"), &one, 1),
        (json!({"type": "function", "function": {"name": "time"}}), &two, 1),
    ] {
        let mut wire = Wire::new();
        let mut talk = Talk::new(Ids::Own, "", "Weather in Oslo?");
        let mut request = talk.request();
        request["tool_choice"] = choice.clone();
        request["tools"] = offered.clone();
        wire.ask((0, 10), &request, &talk.asks(&["Oslo"]));
        assert_eq!(tools(&wire.finish()).len(), tools_seen, "{choice}");
    }
}

#[test]
fn references_replace_what_was_before() {
    let mut wire = Wire::new();
    let answer = |id: &str, output: Value| json!({"id": id, "output": output});
    let call = json!([{"type": "function_call", "call_id": "call_7", "name": "f", "arguments": "{}"}]);
    let said = json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}]);
    wire.ask(
        (0, 10),
        &json!({"model": "m", "input": "A"}),
        &answer("resp_1", call),
    );
    wire.ask(
        (11, 20),
        &json!({"model": "m", "input": "B"}),
        &answer("resp_2", said.clone()),
    );
    let result = json!([{"type": "function_call_output", "call_id": "call_7", "output": "7 C"}]);
    let request = json!({"model": "m", "previous_response_id": "resp_1", "input": result});
    wire.ask((30, 40), &request, &answer("resp_3", said.clone()));
    let request = json!({"model": "m", "previous_response_id": "resp_2", "input": "And?"});
    wire.ask((50, 60), &request, &answer("resp_4", said));
    let spans = wire.finish();
    assert_eq!(threads(&spans), ["1", "2", "1", "2"]);
    assert_eq!(tools(&spans), [("{}".to_owned(), Some("7 C".to_owned()))]);
}

#[test]
fn a_conversation_in_a_tool_is_below_it() {
    let mut wire = Wire::new();
    let mut main = Talk::new(Ids::Own, "Plan.", "Write about places.");
    let request = main.request();
    wire.ask(
        (0, 10),
        &request,
        &main.asks(&["the fjords of Norway", "the lakes of Sweden"]),
    );
    let mut fjords = Talk::new(
        Ids::Own,
        "You find the weather.",
        "Tell of the fjords of Norway, please.",
    );
    let mut lakes = Talk::new(Ids::Own, "You find the weather.", "the lakes of Sweden");
    let other = Talk::new(Ids::Own, "", "Are there fjords of Norway?");
    wire.ask((100, 110), &fjords.request(), &fjords.says("Deep."));
    wire.ask((101, 111), &lakes.request(), &lakes.says("Wide."));
    wire.ask((102, 112), &other.request(), &other.clone().says("Yes."));
    main.brings(&["Deep.".to_owned(), "Wide.".to_owned()]);
    wire.ask((200, 210), &main.request(), &main.says("There."));
    let spans = wire.finish();
    let names: HashMap<SpanId, String> = spans
        .iter()
        .map(|span| (span.span_id, text(span, "args").unwrap_or_default()))
        .collect();
    let above: Vec<&str> = spans
        .iter()
        .filter(|span| !is_tool(span) && !is_row(span))
        .map(|span| {
            names
                .get(&span.parent_span_id.unwrap())
                .map_or("root", String::as_str)
        })
        .collect();
    let of = |place: &str| json!({"city": place}).to_string();
    assert_eq!(
        above,
        [
            "root",
            &of("the fjords of Norway"),
            &of("the lakes of Sweden"),
            "root",
            "root"
        ]
    );
    assert_eq!(text(&spans[1], "tracer.inferred").as_deref(), Some("parent"));
}

/// Numbers that look like chance and follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % end
    }
}

#[test]
fn generated_programs_are_understood() {
    const CITIES: [&str; 3] = ["Oslo", "Paris", "Rome"];
    for seed in 0..500 {
        let mut dice = Dice(seed);
        let ids = [Ids::Own, Ids::Equal, Ids::None, Ids::Gemini][usize::try_from(dice.below(4)).unwrap()];
        let (are_equal, are_at_once) = (dice.below(4) == 0, dice.below(3) > 0);
        let mut requests: BTreeMap<(u64, u64), (u64, u64, Value, Value)> = BTreeMap::new();
        let (mut given_up, mut now, mut expected) = (0, 0, Vec::new());
        for talk_number in 0..=dice.below(3) {
            now = if are_at_once { dice.below(8) } else { now + 200 };
            let question = if are_equal {
                "The weather?".to_owned()
            } else {
                format!("Weather {talk_number}?")
            };
            let mut talk = Talk::new(ids, "Be brief.", &question);
            let turns = 1 + dice.below(3);
            for turn in 0..turns {
                let mut ask = |now: &mut u64, dice: &mut Dice, request: Value, answer: Value| {
                    let took = 10 + dice.below(20);
                    requests.insert(
                        (*now + took, requests.len() as u64),
                        (talk_number, *now, request, answer),
                    );
                    *now += took + 1 + dice.below(20);
                };
                for _ in 0..[0, 0, 0, 1, 2][usize::try_from(dice.below(5)).unwrap()] {
                    ask(&mut now, &mut dice, talk.request(), json!(429));
                }
                if dice.below(20) == 0 {
                    ask(&mut now, &mut dice, talk.request(), json!(500));
                    given_up += 1;
                    break;
                }
                let request = talk.request();
                if turn + 1 == turns {
                    ask(&mut now, &mut dice, request, talk.says("That is all."));
                    break;
                }
                let cities: Vec<&str> = (0..=dice.below(2))
                    .map(|_| CITIES[usize::try_from(dice.below(3)).unwrap()])
                    .collect();
                ask(&mut now, &mut dice, request, talk.asks(&cities));
                let results: Vec<String> = cities
                    .iter()
                    .enumerate()
                    .map(|(number, city)| format!("{city}: {talk_number} {turn} {number}"))
                    .collect();
                talk.brings(&results);
                // Who asks equal questions at once may get equal answers; one that is given up brings no results.
                expected.push((talk_number, turn, results));
            }
        }
        let mut wire = Wire::new();
        let (mut talks, mut brought) = (Vec::new(), String::new());
        for ((ended, _), (talk, arrived, request, answer)) in requests {
            talks.push(talk);
            brought.push_str(&request.to_string());
            wire.ask((arrived, ended), &request, &answer);
        }
        let spans = wire.finish();
        let mut wanted: Vec<String> = expected.into_iter().flat_map(|(.., results)| results).collect();
        wanted.retain(|result| brought.contains(result.as_str()));
        wanted.sort();
        let found = tools(&spans);
        for (arguments, result) in &found {
            let city = arguments.split('"').nth(3).unwrap();
            assert!(
                result.as_ref().is_none_or(|result| result.contains(city)),
                "{seed} {ids:?}: {arguments} {result:?}"
            );
        }
        let plain = |result: String| match serde_json::from_str::<Value>(&result) {
            Ok(json) => json["result"].as_str().unwrap_or_default().to_owned(),
            Err(_) => result,
        };
        let mut results: Vec<String> = found
            .into_iter()
            .filter_map(|(_, result)| result.map(plain))
            .collect();
        results.sort();
        assert_eq!(results, wanted, "{seed} {ids:?}");
        if are_equal {
            // The same question of another conversation may be taken for the next attempt.
            assert!(failed_for_good(&spans) <= given_up, "{seed} {ids:?}");
        } else {
            assert_eq!(failed_for_good(&spans), given_up, "{seed} {ids:?}");
            let mut pairs: Vec<_> = threads(&spans).into_iter().zip(talks).collect();
            pairs.sort();
            pairs.dedup();
            let threads: HashSet<&String> = pairs.iter().map(|(thread, _)| thread).collect();
            let talks: HashSet<u64> = pairs.iter().map(|(_, talk)| *talk).collect();
            assert_eq!(
                (pairs.len(), pairs.len()),
                (threads.len(), talks.len()),
                "{seed} {ids:?}: {pairs:?}"
            );
        }
    }
}

/// The evidence of each loop of a run whose reports are these: the conversations of its calls.
fn looping_conversations(spans: &[SpanRecord]) -> Vec<Vec<u64>> {
    let (mut trail, mut conversations) = (Trail::default(), Vec::new());
    for record in spans_to_events(spans) {
        let before = trail.entries().len();
        trail.take(&record, &loops::of_scalar);
        if trail.entries().len() > before {
            conversations.push(record.meta["conversation_number"].as_u64().unwrap());
        }
    }
    let loops = trail.loops(12, 3).into_iter();
    let evidence = loops.map(|warning| warning.evidence_event_ids.into_iter());
    let of_evidence = evidence.map(|places| places.map(|place| conversations[place]).collect());
    of_evidence.collect()
}

#[test]
fn conversations_at_once_are_no_loop_and_one_that_loops_is_found_among_them() {
    const CITIES: [&str; 6] = ["Oslo", "Paris", "Rome", "Graz", "Bonn", "Lund"];
    for seed in 0..1_000 {
        let mut dice = Dice(seed);
        let ids = [Ids::Own, Ids::Equal, Ids::None, Ids::Gemini][usize::try_from(dice.below(4)).unwrap()];
        let talks = 2 + dice.below(7);
        let looping = (seed % 2 == 1).then(|| dice.below(talks));
        let are_equal = looping.is_none() && dice.below(4) == 0;
        let mut requests: BTreeMap<(u64, u64), (u64, u64, Value, Value)> = BTreeMap::new();
        for talk_number in 0..talks {
            let question = if are_equal { 0 } else { talk_number };
            let mut talk = Talk::new(ids, "Be brief.", &format!("Weather {question}?"));
            let mut now = dice.below(10);
            let mut ask = |dice: &mut Dice, request: Value, answer: Value| {
                let took = 10 + dice.below(20);
                let key = (now + took, requests.len() as u64);
                requests.insert(key, (talk_number, now, request, answer));
                now += took + 1 + dice.below(20);
            };
            let first = usize::try_from(dice.below(6)).unwrap();
            let mut cities = CITIES.iter().cycle().skip(first).copied();
            let turns = if looping == Some(talk_number) {
                4 + dice.below(4)
            } else {
                dice.below(4)
            };
            for _ in 0..turns {
                let (request, of_turn) = (talk.request(), 1 + dice.below(2));
                let asked: Vec<&str> = if looping == Some(talk_number) {
                    vec!["Oslo"]
                } else {
                    cities.by_ref().take(usize::try_from(of_turn).unwrap()).collect()
                };
                ask(&mut dice, request, talk.asks(&asked));
                let results: Vec<String> = asked.iter().map(|city| format!("{city}: 7 C")).collect();
                talk.brings(&results);
            }
            let request = talk.request();
            ask(&mut dice, request, talk.says("That is all."));
        }
        let (mut wire, mut talks) = (Wire::new(), Vec::new());
        for ((ended, _), (talk, arrived, request, answer)) in requests {
            talks.push(talk);
            wire.ask((arrived, ended), &request, &answer);
        }
        let spans = wire.finish();
        let threads = threads(&spans);
        let found = looping_conversations(&spans);
        let Some(looping) = looping else {
            assert_eq!(found, Vec::<Vec<u64>>::new(), "{seed} {ids:?}");
            continue;
        };
        let of_talk = threads.iter().zip(talks).find(|(_, talk)| *talk == looping);
        let conversation: u64 = of_talk.unwrap().0.parse().unwrap();
        let [evidence] = &found[..] else {
            panic!("{seed} {ids:?}: {found:?}");
        };
        assert!(
            evidence.iter().all(|of| *of == conversation),
            "{seed} {ids:?}: {found:?}"
        );
    }
}

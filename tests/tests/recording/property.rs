//! Whatever is recorded, the run is valid and its projection gives it back (issue: *It must show*, 7).

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use tracer_sdk::format::EventType;
use tracer_sdk::{Run, Usage, llm_call, span, state, tool_call};
use tracer_tests::any_value::{AnyValue, any_float, any_text, any_value, float_as_json};
use tracer_tests::finished::payload;
use tracer_tests::{DataDir, recorded};

/// Something that a program records.
#[derive(Debug, Clone)]
enum Recording {
    Llm {
        model: String,
        prompt: AnyValue,
        response: AnyValue,
        tokens: Option<(u64, u64)>,
        temperature: f64,
    },
    Tool {
        name: String,
        arguments: AnyValue,
        result: AnyValue,
        error: Option<String>,
    },
    State {
        state: AnyValue,
        diff: Option<AnyValue>,
    },
    Span {
        name: String,
        attributes: BTreeMap<String, AnyValue>,
        meta: BTreeMap<String, AnyValue>,
    },
}

fn any_recording() -> impl Strategy<Value = Recording> {
    let llm = (
        any_text(),
        any_value(),
        any_value(),
        any::<Option<(u64, u64)>>(),
        any_float(),
    )
        .prop_map(|(model, prompt, response, tokens, temperature)| Recording::Llm {
            model,
            prompt,
            response,
            tokens,
            temperature,
        });
    let tool = (
        any_text(),
        any_value(),
        any_value(),
        proptest::option::of(any_text()),
    )
        .prop_map(|(name, arguments, result, error)| Recording::Tool {
            name,
            arguments,
            result,
            error,
        });
    let state = (any_value(), proptest::option::of(any_value()))
        .prop_map(|(state, diff)| Recording::State { state, diff });
    let entries = || proptest::collection::btree_map(any_text(), any_value(), 0..4);
    let span = (any_text(), entries(), entries()).prop_map(|(name, attributes, meta)| Recording::Span {
        name,
        attributes,
        meta,
    });
    prop_oneof![llm, tool, state, span]
}

impl Recording {
    fn record(&self) {
        match self.clone() {
            Self::Llm {
                model,
                prompt,
                response,
                tokens,
                temperature,
            } => {
                let call = llm_call(model)
                    .prompt(&prompt)
                    .response(&response)
                    .temperature(temperature);
                let usage = tokens.map(|(prompt, completion)| Usage::new(prompt, completion));
                call.usage(usage.unwrap_or_default()).record().unwrap();
            }
            Self::Tool {
                name,
                arguments,
                result,
                error,
            } => {
                let call = tool_call(name).args(&arguments).result(&result);
                match error {
                    Some(error) => call.fail(&error).record().unwrap(),
                    None => call.record().unwrap(),
                }
            }
            Self::State { state: value, diff } => match diff {
                Some(diff) => state(&value).diff(&diff).record().unwrap(),
                None => state(&value).record().unwrap(),
            },
            Self::Span {
                name,
                attributes,
                meta,
            } => {
                let mut builder = span(name).meta(&meta);
                for (key, value) in &attributes {
                    builder = builder.attribute(key, value);
                }
                builder.start().end();
            }
        }
    }

    /// The payload that the projection has to give.
    fn expected(&self) -> Value {
        match self {
            Self::Llm {
                model,
                prompt,
                response,
                tokens,
                temperature,
            } => json!({
                "model": model,
                "prompt": prompt.as_payload(),
                "response": response.as_payload(),
                "usage": {
                    "prompt_tokens": tokens.map(|tokens| tokens.0),
                    "completion_tokens": tokens.map(|tokens| tokens.1),
                    "total_tokens": tokens.map(|(prompt, completion)| prompt.saturating_add(completion)),
                },
                "provider": "unknown",
                "temperature": Some(float_as_json(*temperature)).filter(Value::is_number),
                "stop_reason": null,
                "status": "ok",
                "error": null,
            }),
            Self::Tool {
                name,
                arguments,
                result,
                error,
            } => json!({
                "tool_name": name,
                "args": arguments.as_payload(),
                "result": result.as_payload(),
                "status": if error.is_some() { "error" } else { "ok" },
                "error": error.as_ref().map(|error| json!({"error_type": "Error", "message": error, "stack": null})),
            }),
            Self::State { state, diff } => match diff {
                Some(diff) => json!({"state": state.as_payload(), "diff": diff.as_payload()}),
                None => json!({"state": state.as_payload()}),
            },
            Self::Span { attributes, meta, .. } => {
                let attributes = attributes
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), value.as_attribute()?)));
                let meta = AnyValue::Object(meta.clone()).as_json().to_string();
                let meta = [("tracer.meta".to_owned(), meta.into())];
                json!({"attributes": attributes.chain(meta).collect::<BTreeMap<_, _>>(), "status": "ok", "error": null})
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_recorded_comes_back(run_name in any_text(), recordings in proptest::collection::vec(any_recording(), 0..8)) {
        let data = DataDir::new();
        let run = Run::new(run_name.clone()).config(&data.config());
        run.in_scope(|| recordings.iter().for_each(Recording::record));
        let finished = data.finished();
        let start = finished.payload(EventType::RunStart);
        prop_assert_eq!(&start["run_name"], &json!(run_name));
        let is_recorded = |event_type| {
            !matches!(event_type, EventType::RunStart | EventType::RunEnd | EventType::LoopWarning)
        };
        let given: Vec<Value> =
            finished.records.iter().filter(|record| is_recorded(record.event_type())).map(payload).collect();
        let expected: Vec<Value> = recordings.iter().map(Recording::expected).collect();
        prop_assert_eq!(given, expected);
    }

    #[test]
    fn structures_are_kept_to_ten_levels(depth in 0_usize..300, as_list in any::<bool>()) {
        let mut value = AnyValue::Text("inside".to_owned());
        for _ in 0..depth {
            value = if as_list { AnyValue::List(vec![value]) } else { AnyValue::Object(BTreeMap::from([("in".to_owned(), value)])) };
        }
        let finished = recorded(|| tool_call("deep").args(&value).record().unwrap());
        let stored = &finished.span(finished.only(EventType::ToolCall)).events[0].attributes["args"];
        let text = stored.as_str().unwrap();
        let levels = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
        prop_assert_eq!(levels, depth.min(10));
        prop_assert_eq!(text.contains("inside"), depth <= 10);
        prop_assert_eq!(text.contains("__TRUNCATED__"), depth > 10);
    }

    #[test]
    fn long_texts_are_cut_between_characters(
        texts in proptest::collection::vec(any_text(), 1..40), limit in 100_u64..400,
    ) {
        let text = texts.concat();
        let data = DataDir::new();
        let run = data.run("long").config(&data.config().max_field_bytes(limit));
        run.in_scope(|| llm_call("m").prompt(&text).response(&json!({"answer": text})).record().unwrap());
        let payload = data.finished().payload(EventType::LlmCall);
        for shown in [&payload["prompt"], &payload["response"]["answer"]] {
            let shown = shown.as_str().unwrap();
            if text.len() as u64 <= limit {
                prop_assert_eq!(shown, &text);
            } else {
                prop_assert!(shown.len() as u64 <= limit, "{} bytes", shown.len());
                let kept = shown.strip_suffix("__TRUNCATED__").unwrap();
                prop_assert!(text.starts_with(kept));
                prop_assert!(kept.len() as u64 + 13 + 4 > limit, "no more is cut than has to be: {}", kept.len());
            }
        }
    }
}

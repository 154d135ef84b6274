//! Makes the callbacks again that a library made: the same spans, fields and events in the same order.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use tracing::callsite::{Callsite, Identifier};
use tracing::field::{Empty, FieldSet, debug};
use tracing::metadata::Kind;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Span, callsite, dispatcher};

/// A callsite that is made when it is needed, and lives as long as the process, as those of macros do.
struct MadeCallsite(OnceLock<Metadata<'static>>);

impl Callsite for MadeCallsite {
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        self.0.get().unwrap()
    }
}

fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// The metadata of a callsite, registered with the current subscriber.
fn metadata(
    name: &str,
    target: &str,
    level: &str,
    fields: Vec<&'static str>,
    kind: Kind,
) -> &'static Metadata<'static> {
    let made: &'static MadeCallsite = Box::leak(Box::new(MadeCallsite(OnceLock::new())));
    let level: Level = level.parse().unwrap();
    let fields = FieldSet::new(Box::leak(fields.into_boxed_slice()), Identifier(made));
    let metadata = Metadata::new(
        leaked(name),
        leaked(target),
        level,
        None,
        None,
        None,
        fields,
        kind,
    );
    made.0.set(metadata).unwrap();
    callsite::register(made);
    made.0.get().unwrap()
}

/// Calls `with` with the values of the fields that the metadata declares, in the types that `tracing` gives them.
fn with_values<R>(
    metadata: &'static Metadata<'static>,
    values: &Map<String, Value>,
    with: impl FnOnce(&tracing::field::ValueSet<'_>) -> R,
) -> R {
    const MAX_FIELDS: usize = 40;
    let texts: HashMap<&str, String> = values
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?.to_owned())))
        .collect();
    let any = metadata.fields().iter().next();
    let Some(any) = any else {
        return with(
            &metadata
                .fields()
                .value_set(&[] as &[(_, Option<&dyn tracing::Value>); 0]),
        );
    };
    let fields: Vec<_> = metadata.fields().iter().collect();
    assert!(fields.len() <= MAX_FIELDS, "{}", metadata.name());
    let boxed: Vec<Box<dyn tracing::Value>> = fields
        .iter()
        .map(|field| -> Box<dyn tracing::Value> {
            match values.get(field.name()) {
                Some(Value::Bool(flag)) => Box::new(*flag),
                Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
                    (Some(number), _) => Box::new(number),
                    (None, number) => Box::new(number.unwrap()),
                },
                // As `%value` and messages arrive.
                Some(Value::String(text)) if field.name() == "message" => {
                    Box::new(debug(Plain(text.clone())))
                }
                Some(Value::String(_)) => Box::new(texts[field.name()].clone()),
                _ => Box::new(Empty),
            }
        })
        .collect();
    let values: [(&tracing::field::Field, Option<&dyn tracing::Value>); MAX_FIELDS] =
        std::array::from_fn(|index| match (fields.get(index), boxed.get(index)) {
            (Some(field), Some(value)) => (field, Some(value.as_ref())),
            _ => (&any, None::<&dyn tracing::Value>),
        });
    with(&metadata.fields().value_set(&values))
}

/// Text whose debug form is the text itself, as that of `format_args!` is.
struct Plain(String);

impl std::fmt::Debug for Plain {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Replays a case of `callbacks.json`.
pub(crate) fn replay(case: &str) {
    let file: Value = serde_json::from_str(include_str!("callbacks.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let case = cases
        .iter()
        .find(|found| found["case"] == case)
        .unwrap_or_else(|| panic!("no case {case}"));
    let mut spans: HashMap<u64, (Span, &'static Metadata<'static>)> = HashMap::new();
    for callback in case["log"].as_array().unwrap() {
        let text = |key: &str| callback[key].as_str().unwrap_or_default();
        let fields = |key: &str| callback[key].as_object().cloned().unwrap_or_default();
        match text("op") {
            "new_span" => {
                let declared = callback["declared"].as_array().unwrap();
                let declared = declared
                    .iter()
                    .map(|name| leaked(name.as_str().unwrap()))
                    .collect();
                let metadata = metadata(text("name"), text("target"), text("level"), declared, Kind::SPAN);
                let span = new_span(callback, metadata, &fields("fields_at_creation"), &spans);
                spans.insert(callback["uid"].as_u64().unwrap(), (span, metadata));
            }
            "record" => {
                let (span, metadata) = &spans[&callback["uid"].as_u64().unwrap()];
                with_values(metadata, &fields("fields"), |values| {
                    span.with_subscriber(|(id, subscriber)| {
                        subscriber.record(id, &tracing::span::Record::new(values));
                    });
                });
            }
            "event" => {
                let fields = fields("fields");
                let declared = fields.keys().map(|name| leaked(name)).collect();
                let metadata = metadata("event", text("target"), text("level"), declared, Kind::EVENT);
                let span = callback["span"].as_u64().and_then(|uid| spans.get(&uid));
                with_values(metadata, &fields, |values| {
                    if dispatcher::get_default(|subscriber| subscriber.enabled(metadata)) {
                        match span {
                            Some((span, _)) => span.in_scope(|| Event::dispatch(metadata, values)),
                            None => Event::dispatch(metadata, values),
                        }
                    }
                });
            }
            "close" => {
                spans.remove(&callback["uid"].as_u64().unwrap());
            }
            "follows_from" => {}
            other => panic!("{other}"),
        }
    }
}

fn new_span(
    callback: &Value,
    metadata: &'static Metadata<'static>,
    fields: &Map<String, Value>,
    spans: &HashMap<u64, (Span, &'static Metadata<'static>)>,
) -> Span {
    let parent = callback["parent"].as_u64().and_then(|uid| spans.get(&uid));
    with_values(metadata, fields, |values| {
        // As the macros do: a span that nobody wants is none.
        let enabled = || dispatcher::get_default(|subscriber| subscriber.enabled(metadata));
        match (callback["parent_kind"].as_str().unwrap(), parent) {
            ("explicit", Some((parent, _))) if enabled() => Span::child_of(parent.id(), metadata, values),
            ("explicit_root", _) if enabled() => Span::new_root(metadata, values),
            ("contextual", Some((parent, _))) => parent.in_scope(|| {
                if enabled() {
                    Span::new(metadata, values)
                } else {
                    Span::none()
                }
            }),
            ("contextual", None) if enabled() => Span::new(metadata, values),
            _ => Span::none(),
        }
    })
}

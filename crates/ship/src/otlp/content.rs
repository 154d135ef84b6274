//! Removal of content from spans: shapes, sizes, tokens, names and times stay.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use tracer_sdk::format::may_hold_content;

/// Removes what was said: every text that is not known to be a name, lists and maps, and descriptions of errors.
pub(super) fn strip(span: &mut Span) {
    span.attributes.retain(is_kept);
    for event in &mut span.events {
        event.attributes.retain(is_kept);
    }
    for link in &mut span.links {
        link.attributes.retain(is_kept);
    }
    if let Some(status) = &mut span.status {
        status.message.clear();
    }
}

fn is_kept(attribute: &KeyValue) -> bool {
    let value = attribute.value.as_ref();
    value.is_none_or(|value| is_number(value) || !may_hold_content(&attribute.key))
}

fn is_number(value: &AnyValue) -> bool {
    matches!(
        value.value,
        None | Some(Any::BoolValue(_) | Any::IntValue(_) | Any::DoubleValue(_))
    )
}

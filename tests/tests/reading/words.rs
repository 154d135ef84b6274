//! Enums whose values have a word each: JSON has the word that options, columns and reports have.

use serde::Serialize;
use tracer_gate::policy::Aggregate;
use tracer_gate::statistics::IntervalMethod;
use tracer_gate::{CheckKind, CheckMode, Direction, Verdict};
use tracer_insight::comparison::{CallChange, SideKind};
use tracer_insight::step_kind::StepKind;
use tracer_sdk::format::{EventType, RecordedStatus, SpanKind, StatusCode};

/// Each value, with its word.
fn assert_same_words<T: Serialize + Copy>(values: &[T], word: fn(T) -> &'static str) {
    for value in values {
        assert_eq!(serde_json::to_value(value).unwrap(), word(*value));
    }
}

#[test]
fn json_has_the_word_that_a_value_has() {
    assert_same_words(&SpanKind::ALL, SpanKind::as_str);
    assert_same_words(&StatusCode::ALL, StatusCode::as_str);
    assert_same_words(&EventType::ALL, EventType::as_str);
    assert_same_words(&RecordedStatus::ALL, RecordedStatus::as_str);
    assert_same_words(&StepKind::ALL, StepKind::as_str);
    assert_same_words(&CallChange::ALL, CallChange::as_str);
    assert_same_words(&SideKind::ALL, SideKind::as_str);
    assert_same_words(&Verdict::ALL, Verdict::as_str);
    assert_same_words(&CheckKind::ALL, CheckKind::as_str);
    assert_same_words(&CheckMode::ALL, CheckMode::as_str);
    assert_same_words(&Direction::ALL, Direction::as_str);
    assert_same_words(&Aggregate::ALL, Aggregate::as_str);
    assert_same_words(&IntervalMethod::ALL, IntervalMethod::as_str);
}

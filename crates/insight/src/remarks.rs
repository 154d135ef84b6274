//! What a run's metadata says of its recording: what is missing from it, and what came after its end.

use tracer_sdk::format::RunMeta;

use crate::text;

/// The remarks, each a sentence without its full stop; none where everything was recorded in time.
pub fn of(meta: &RunMeta) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(dropped) = meta.dropped() {
        let spans = text::counted(dropped.spans, "span");
        remarks.push(format!("{spans} could not be written: {}", dropped.reason));
    }
    if meta.unattached_records() > 0 {
        let records = text::counted(meta.unattached_records(), "record");
        remarks.push(format!(
            "{records} found no run: several runs were live, and the thread or task was given none of them"
        ));
    }
    if meta.unfinished_spans() > 0 {
        let spans = text::counted(meta.unfinished_spans(), "span");
        remarks.push(format!("{spans} had not ended when the run did"));
    }
    if meta.late_spans() > 0 {
        let spans = text::counted(meta.late_spans(), "span");
        remarks.push(format!("{spans} ended after the run had ended"));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tracer_sdk::format::{Counts, RecordedStatus};

    use super::*;

    fn meta_with(additional: Value) -> RunMeta {
        RunMeta {
            spec_version: None,
            trace_id: "0123456789abcdef0123456789abcdef".parse().unwrap(),
            run_name: None,
            started_at: "2026-11-21T01:14:27Z".parse().unwrap(),
            ended_at: None,
            duration_ms: None,
            status: RecordedStatus::Ok,
            counts: Counts::default(),
            additional: serde_json::from_value(additional).unwrap(),
        }
    }

    #[test]
    fn what_is_missing_and_what_came_late_is_said_and_nothing_else() {
        let said = |additional: Value| of(&meta_with(additional));
        assert_eq!(said(json!({})), Vec::<String>::new());
        assert_eq!(
            said(json!({"late_spans": 0, "unattached": "x", "dropped": 1})),
            Vec::<String>::new()
        );
        assert_eq!(
            said(json!({
                "dropped": {"spans": 1, "reason": "the disk is full"},
                "unattached": 2,
                "unfinished_spans": 1,
                "late_spans": 3,
            })),
            [
                "1 span could not be written: the disk is full",
                "2 records found no run: several runs were live, and the thread or task was given none of them",
                "1 span had not ended when the run did",
                "3 spans ended after the run had ended",
            ]
        );
        assert_eq!(
            said(json!({"dropped": {"spans": 2}})),
            ["2 spans could not be written: no reason is given"]
        );
    }
}

//! The causes of a run's failure, the main one first, with missing and damaged data.

use tracer_sdk::format::RunMeta;

use crate::cause_kind::CauseKind;
use crate::failure::{FailureCause, failure, of_loop};
use crate::marked_text::MarkedText;
use crate::run_head::RunHead;
use crate::status::RunStatus;
use crate::steps::Step;
use crate::text;

/// Bytes of a reason.
const MAX_REASON_BYTES: usize = 300;

/// All that went wrong, the main cause first, then a loop, then missing or damaged data; empty for a healthy run. `meta` is the
/// run's metadata, where that can be read.
pub(super) fn causes(head: &RunHead, meta: Option<&RunMeta>, steps: &[Step<'_>]) -> Vec<FailureCause> {
    let mut causes: Vec<FailureCause> = failure(head.status, steps).into_iter().collect();
    if head.status == RunStatus::Failed {
        causes.extend(of_loop(steps, ""));
    }
    causes.extend(of_recording(head, meta));
    causes
}

/// Damaged or missing parts of the recording.
fn of_recording(head: &RunHead, meta: Option<&RunMeta>) -> Vec<FailureCause> {
    let mut causes = Vec::new();
    let mut push = |kind: CauseKind, sentence: MarkedText| {
        causes.push(FailureCause::new(kind, sentence, []));
    };
    let problems = head.problem_count();
    if problems > 0 || head.status == RunStatus::Damaged {
        let kind = CauseKind::DamagedLog;
        let sentence = MarkedText::own(kind.words());
        push(
            kind,
            match head.problems.first() {
                Some(first) => sentence
                    .with(format!(" ({}): ", text::counted(problems, "problem")))
                    .with_content(&first.to_string(), MAX_REASON_BYTES),
                None => sentence,
            },
        );
    }
    // While a run is still running, its last line may be about to be written.
    if let Some(bytes) = head.cut_tail.filter(|_| head.status != RunStatus::Running) {
        let kind = CauseKind::TornTail;
        let left_out = text::counted(bytes, "byte");
        push(
            kind,
            MarkedText::own(format!("{} and left out ({left_out})", kind.words())),
        );
    }
    let Some(meta) = meta else { return causes };
    if let Some(dropped) = meta.dropped() {
        let kind = CauseKind::LostSpans;
        let sentence = MarkedText::own(format!("{} ({}): ", kind.words(), dropped.spans));
        push(kind, sentence.with_content(&dropped.reason, MAX_REASON_BYTES));
    }
    let counts = [
        (CauseKind::UnattachedRecords, meta.unattached_records()),
        (CauseKind::UnfinishedSpans, meta.unfinished_spans()),
    ];
    for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        push(kind, MarkedText::own(format!("{} ({count})", kind.words())));
    }
    causes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::run_head::tests::meta_with;

    fn head(status: RunStatus) -> RunHead {
        RunHead::of_meta(None, status)
    }

    #[test]
    fn what_is_damaged_or_missing_is_named() {
        let found = |head: &RunHead, additional: Value| -> Vec<&'static str> {
            let causes = causes(head, Some(&meta_with(additional)), &[]);
            causes.iter().map(|cause| cause.kind.code()).collect()
        };
        let ok = head(RunStatus::Ok);
        assert_eq!(
            found(&ok, json!({"dropped": {"spans": 2, "reason": "full"}})),
            ["lost_spans"]
        );
        assert_eq!(found(&ok, json!({"unattached": 2})), ["unattached_records"]);
        assert_eq!(found(&ok, json!({"unfinished_spans": 2})), ["unfinished_spans"]);
        let torn = RunHead {
            cut_tail: Some(7),
            ..head(RunStatus::Ok)
        };
        assert_eq!(found(&torn, json!({})), ["torn_tail"]);
        assert_eq!(found(&head(RunStatus::Damaged), json!({})), ["damaged_log"]);
        let killed = RunHead {
            cut_tail: Some(7),
            ..head(RunStatus::Interrupted)
        };
        assert_eq!(
            found(&killed, json!({})),
            ["killed", "torn_tail"],
            "the cause comes first"
        );
        let running = RunHead {
            status: RunStatus::Running,
            ..killed
        };
        assert_eq!(
            found(&running, json!({})),
            Vec::<&str>::new(),
            "its last line is being written"
        );
    }
}

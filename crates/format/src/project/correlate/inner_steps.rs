//! Inner steps of libraries: spans that are no rows.

use std::collections::HashMap;

use super::report::CallReport;
use crate::{Outcome, SpanId};

/// The spans that are no rows, each with the one that it is in: inner steps that did not fail, and a bare one in a bare one or an
/// agent that has its name.
pub(super) fn find(reports: &[CallReport]) -> HashMap<SpanId, SpanId> {
    let structure = reports
        .iter()
        .filter(|report| report.is_bare || report.agent.is_some());
    let structure: HashMap<SpanId, &CallReport> = structure.map(|report| (report.span_id, report)).collect();
    let repeats_parent = |report: &CallReport, parent: SpanId| {
        let is_named_agent = report.agent.is_some_and(|name| name != 0);
        let outer = structure
            .get(&parent)
            .filter(|_| report.is_bare && !is_named_agent);
        outer.is_some_and(|outer| (outer.name, outer.source) == (report.name, report.source))
    };
    let mut found = HashMap::new();
    for report in reports {
        if let Some(parent) = report.parent.filter(|parent| *parent != report.span_id)
            && report.span_outcome != Outcome::Failed
            && (report.is_inner_step || repeats_parent(report, parent))
        {
            found.insert(report.span_id, parent);
        }
    }
    found
}

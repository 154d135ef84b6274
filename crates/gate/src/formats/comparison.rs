//! A comparison as Markdown, of bounded size and with everything from the runs inert.

use tracer_insight::comparison::{Comparison, Side, words};
use tracer_insight::markdown::code;

use crate::formats::MARKDOWN_LIMIT;
use crate::formats::size_budget::{self, ReportSection};
use crate::words::comparison as tables;

/// The comparison as a document of its own.
pub fn document(comparison: &Comparison) -> String {
    let mut sections = vec![ReportSection::new([
        "## What changed".to_owned(),
        String::new(),
        format!("- before: {}", side(&comparison.before)),
        format!("- after: {}", side(&comparison.after)),
        String::new(),
        format!("**{}**", words::summary(comparison)),
    ])];
    let section = ReportSection::default;
    sections.push(section().table("metric", &tables::metrics(comparison)));
    let calls = tables::calls(comparison);
    if !calls.rows.is_empty() {
        sections.push(section().table("row", &calls));
    }
    size_budget::document(&sections, MARKDOWN_LIMIT)
}

fn side(side: &Side) -> String {
    let id = code(&words::short_id(side));
    let name = side
        .run_name
        .as_deref()
        .map(|name| format!(" {}", code(name)))
        .unwrap_or_default();
    format!(
        "{} {id}{name}, ended {}",
        side.kind.as_str(),
        code(side.run_status.as_str())
    )
}

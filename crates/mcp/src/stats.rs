//! `stats`: statistics over the runs that a query selects, as a whole or by group.

use tracer_catalog::FactsStore;
use tracer_catalog::query::RunQuery;
use tracer_catalog::stats::GroupStats;
use tracer_insight::marked_text::MarkedText;
use tracer_insight::{cost, metric_words, text, units};

use crate::arguments::Stats;
use crate::error::ToolError;
use crate::page::AnswerPage;
use crate::selection;

/// The usual budget, in tokens.
pub(crate) const BUDGET: usize = 1_500;
const MAX_NAME_BYTES: usize = 80;

pub(crate) fn answer(store: &FactsStore, asked: &Stats) -> Result<String, ToolError> {
    let query: RunQuery = asked.query.parse()?;
    let by = asked.by;
    let runs = selection::all(store)?;
    let mut found = runs.stats(&selection::matching(&runs, &query, asked.trials)?, by)?;
    if let Some(column) = asked.sort {
        found.sort(column, false, by);
    }
    let is_of_calls = by.is_some_and(tracer_catalog::stats::Grouping::is_of_calls);
    let mut page = AnswerPage::new(asked.budget.tokens(BUDGET));
    let _ = page.add(&line(&found.all, MarkedText::own("all"), false));
    page.list_from(asked.cursor.as_deref(), &found.groups, |group| {
        let name = match &group.group {
            Some(name) => MarkedText::default().with_content(name, MAX_NAME_BYTES),
            None => MarkedText::own("(none)"),
        };
        line(group, name, is_of_calls)
    })
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// `⟦search_kb⟧: 12 calls in 3 runs, 2 failed calls, p50 20 ms, p95 1.2 s`; of models also tokens and cost
fn line(group: &GroupStats, name: MarkedText, is_of_calls: bool) -> String {
    let runs = text::counted(group.runs, "run");
    let calls = text::counted(group.calls, "call");
    let mut words = if is_of_calls {
        vec![format!("{calls} in {runs}")]
    } else {
        let rate = group
            .failure_rate
            .map(|rate| format!(" ({})", metric_words::percent(rate)));
        let failed = format!("{} failed{}", group.failed_runs, rate.unwrap_or_default());
        vec![runs, failed, text::counted(group.loops, "loop"), calls]
    };
    words.extend(group.errors.map(|errors| format!("the error {}", times(errors))));
    words.push(text::counted(group.failed_calls, "failed call"));
    words.extend(group.p50_us.map(|time| format!("p50 {}", units::duration(time))));
    words.extend(group.p95_us.map(|time| format!("p95 {}", units::duration(time))));
    words.extend(group.total_tokens.map(|tokens| text::counted(tokens, "token")));
    words.extend(group.cost.as_ref().and_then(cost::words));
    words.extend(
        group
            .cached_share
            .map(|share| format!("{} of input cached", metric_words::percent(share))),
    );
    name.with(format!(": {}", words.join(", "))).marked()
}

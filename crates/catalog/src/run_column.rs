//! [`RunColumn`]: the columns of every list of runs: their headings, cells, fields and orders.

use tracer_insight::line::Tone;
use tracer_insight::run_head::UNNAMED;
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::{cost, step_summary, text, units};
use tracer_sdk::format::{Timestamp, Usd};
use tracer_sdk::prices::CostSum;

use crate::query::{MODEL_CALLS, NumberField};
use crate::run_row::{FURTHER, RunRow};
use crate::store::ListedRun;

/// Columns of the name of a model or a tool.
const MAX_CALLED_COLUMNS: usize = 32;

tracer_sdk::words! {
    /// A column of a list of runs, and what runs are sorted by. Numbers come from the largest to the smallest, runs whose number
    /// is not known last; names from A to Z.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum RunColumn in tracer_catalog {
        /// Its start; the newest first.
        #[default]
        Started = "started",
        /// Its duration, until now while it is running.
        Duration = "duration",
        /// Number of steps.
        Steps = "steps",
        /// All tokens.
        Tokens = "tokens",
        /// The known cost of its model calls.
        Cost = "cost",
        /// Model calls.
        LlmCalls = "llm_calls",
        /// Tool calls.
        ToolCalls = "tool_calls",
        /// Recorded errors.
        Errors = "errors",
        /// Loop warnings.
        LoopWarnings = "loop_warnings",
        /// Failed calls.
        Failures = "failures",
        /// Calls that were tried again.
        Retries = "retries",
        /// The label.
        Name = "name",
        /// The name of the model with the most calls.
        Model = "model",
        /// The name of the tool with the most calls.
        Tool = "tool",
        /// The status; what asks for a look first.
        Status = "status",
        /// The ID.
        Id = "id",
        /// The bucket that it was read from.
        Origin = "origin",
    }
}

impl RunColumn {
    /// The origin of a run that is in no bucket.
    pub const THIS_MACHINE: &str = "this machine";
    /// The columns of a table for people; the name follows them.
    pub const OF_TABLE: [Self; 10] = [
        Self::Status,
        Self::Id,
        Self::Started,
        Self::Duration,
        Self::Steps,
        Self::Tokens,
        Self::Cost,
        Self::LlmCalls,
        Self::ToolCalls,
        Self::Errors,
    ];
    /// The columns of the viewer's table.
    pub const OF_PAGE: [Self; 9] = [
        Self::Status,
        Self::Name,
        Self::Started,
        Self::Duration,
        Self::Steps,
        Self::Tokens,
        Self::Cost,
        Self::Model,
        Self::Tool,
    ];
    /// The fields of a line for programs.
    pub const OF_LINE: [Self; 9] = [
        Self::Status,
        Self::Id,
        Self::Started,
        Self::Duration,
        Self::LlmCalls,
        Self::ToolCalls,
        Self::Errors,
        Self::LoopWarnings,
        Self::Name,
    ];

    /// Its heading in a table for people.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Started => "Started",
            Self::Duration => "Duration",
            Self::Steps => "Steps",
            Self::Tokens => "Tokens",
            Self::Cost => "Cost",
            Self::LlmCalls => "LLM calls",
            Self::ToolCalls => "Tool calls",
            Self::Errors => "Errors",
            Self::LoopWarnings => "Loops",
            Self::Failures => "Failed",
            Self::Retries => "Retries",
            Self::Name => "Run",
            Self::Model => "Model",
            Self::Tool => "Tools",
            Self::Status => "Status",
            Self::Id => "ID",
            Self::Origin => "From",
        }
    }

    /// Its key in lines for programs.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Started => "started_at",
            Self::Duration => "duration_ms",
            Self::Name => "run_name",
            Self::Id => "run_id",
            column => column.as_str(),
        }
    }

    /// The cell of a run in a table for people; empty where there is nothing, or nothing is known. Of a running one, a
    /// plus says that more is to come.
    #[must_use]
    pub fn cell(self, run: &ListedRun, now: Timestamp) -> (String, Tone) {
        let plain = |text: String| (text, Tone::Plain);
        match self {
            Self::Status => (run.status.as_str().to_owned(), run.status.tone()),
            Self::Id => plain(run.directory.trace_id.to_string()),
            Self::Origin => {
                let place = if run.origin().is_some() { "bucket" } else { "here" };
                (place.to_owned(), Tone::Muted)
            }
            _ if run.problem().is_some() => plain(String::new()),
            Self::Started => {
                let ago = run.started().map(|started| units::ago(started, now));
                (ago.unwrap_or_default(), Tone::Muted)
            }
            Self::Name => match &run.row.name {
                Some(name) => {
                    let mark = if run.row.is_from_transcript() {
                        " (transcript)"
                    } else {
                        ""
                    };
                    (text::one_line(name, 200) + mark, Tone::Strong)
                }
                None => (UNNAMED.to_owned(), Tone::Muted),
            },
            Self::Cost => plain(shown_cost(run).map(cost::cell).unwrap_or_default()),
            Self::Model | Self::Tool => {
                let name = self.text(run).unwrap_or_default();
                plain(text::one_line(&name, MAX_CALLED_COLUMNS))
            }
            Self::Steps => plain(of_steps(run, Some(run.row.steps))),
            Self::Tokens => plain(of_steps(run, run.row.tokens.total_tokens)),
            Self::Duration => {
                let more = if run.status == RunStatus::Running { "+" } else { "" };
                let taken = run.duration_until(now).map(units::duration);
                plain(taken.map(|taken| taken + more).unwrap_or_default())
            }
            Self::Errors if run.row.errors > 0 => (units::quantity(run.row.errors), Tone::Bad),
            _ => plain(self.number(run, now).map(units::quantity).unwrap_or_default()),
        }
    }

    /// The field of a run in a line for programs: nothing shortened, nothing relative, empty where it is unknown.
    #[must_use]
    pub fn field(self, run: &ListedRun) -> String {
        match self {
            Self::Status => run.status.as_str().to_owned(),
            Self::Origin => run.origin().unwrap_or(Self::THIS_MACHINE).to_owned(),
            Self::Id => run.directory.trace_id.to_string(),
            _ if run.problem().is_some() => String::new(),
            Self::Started => run
                .started()
                .map(|started| started.to_string())
                .unwrap_or_default(),
            Self::Duration => {
                let milliseconds = run.row.duration_us.map(|duration| duration / 1_000);
                milliseconds
                    .map(|milliseconds| milliseconds.to_string())
                    .unwrap_or_default()
            }
            Self::Name | Self::Model | Self::Tool => {
                text::printable(&self.text(run).unwrap_or_default()).into_owned()
            }
            Self::Cost => {
                let usd = run.row.cost.as_ref().and_then(CostSum::usd);
                usd.map(Usd::to_decimal).unwrap_or_default()
            }
            _ => {
                let number = self.number(run, Timestamp::from_unix_microseconds(0));
                number.map(|number| number.to_string()).unwrap_or_default()
            }
        }
    }

    /// The same of a run in a sentence, with its unit: `880 ms`, `11 steps`, `412→35 tokens`; `None` where there is nothing to
    /// say, or nothing is known.
    #[must_use]
    pub fn words(self, run: &ListedRun) -> Option<String> {
        let facts = &run.row;
        match self {
            Self::Status => Some(run.status.as_str().to_owned()),
            Self::Started => run.started().map(units::moment),
            Self::Duration => facts.duration_us.map(units::duration),
            Self::Steps => Some(text::counted(facts.steps, "step")),
            Self::Failures => {
                (facts.failed_calls > 0).then(|| text::counted(facts.failed_calls, "failed call"))
            }
            Self::Tokens => step_summary::tokens(&facts.tokens).map(|tokens| format!("{tokens} tokens")),
            Self::Cost => shown_cost(run).and_then(cost::words),
            column => Some(column.field(run)).filter(|words| !words.is_empty()),
        }
    }

    /// True of a column that is sorted from its first word to its last; numbers come from the largest to the smallest.
    #[must_use]
    pub const fn is_ascending(self) -> bool {
        matches!(
            self,
            Self::Status | Self::Name | Self::Model | Self::Tool | Self::Id | Self::Origin
        )
    }

    /// The expression of SQL that runs are sorted by; NULL where that is unknown.
    pub(crate) fn sort_key(self, now: Timestamp) -> Option<String> {
        let most_called = |calls: &str| {
            format!(
                "(SELECT key FROM json_each(facts, '$.{calls}') ORDER BY key = '{FURTHER}', value ->> '$.n' DESC, key LIMIT 1)"
            )
        };
        match self {
            Self::Started => None,
            Self::Id => Some("trace_id".to_owned()),
            Self::Origin => Some("nullif(origin, 0)".to_owned()),
            Self::Name => Some("folded(name)".to_owned()),
            Self::Model => Some(format!("folded({})", most_called("m"))),
            Self::Tool => Some(format!("folded({})", most_called("t"))),
            Self::Status => {
                let ranked = RunStatus::ALL.into_iter().enumerate();
                let ranked = ranked.map(|(rank, status)| format!("WHEN '{}' THEN {rank}", status.as_str()));
                let ranked: Vec<String> = ranked.collect();
                Some(format!("CASE current_status {} END", ranked.join(" ")))
            }
            // By its known part: a run with an unknown part costs at least that.
            Self::Cost => Some(format!("known_cost({MODEL_CALLS})")),
            Self::LoopWarnings => Some("loop_warnings".to_owned()),
            column => NumberField::from_word(column.as_str()).map(|field| field.column(now)),
        }
    }

    /// The terms of `ORDER BY` with that as `key`; of equal runs the newest comes first. `is_reversed` turns all of it round.
    pub(crate) fn order_by(self, is_reversed: bool) -> String {
        let (up, down, unknown) = if is_reversed {
            ("DESC", "ASC", "FIRST")
        } else {
            ("ASC", "DESC", "LAST")
        };
        let key = match self {
            Self::Started => String::new(),
            column if column.is_ascending() => format!("key {up} NULLS {unknown}, "),
            _ => format!("key {down} NULLS {unknown}, "),
        };
        format!("{key}placed {down}, trace_id {up}")
    }

    /// The number of a run.
    fn number(self, run: &ListedRun, now: Timestamp) -> Option<u64> {
        let facts = &run.row;
        match self {
            Self::Duration => run.duration_until(now),
            Self::Steps => Some(facts.steps),
            Self::Tokens => facts.tokens.total_tokens,
            Self::LlmCalls => Some(facts.llm_calls),
            Self::ToolCalls => Some(facts.tool_calls),
            Self::Errors => Some(facts.errors),
            Self::LoopWarnings => Some(facts.loop_warnings),
            Self::Failures => Some(facts.failed_calls),
            Self::Retries => Some(facts.retries),
            _ => None,
        }
    }

    fn text(self, run: &ListedRun) -> Option<String> {
        let most_called = |names: fn(&RunRow) -> Vec<&str>| Some((*names(&run.row).first()?).to_owned());
        match self {
            Self::Name => run.row.name.clone(),
            Self::Model => most_called(RunRow::models_by_calls),
            Self::Tool => most_called(RunRow::tools_by_calls),
            Self::Id => Some(run.directory.trace_id.to_string()),
            Self::Origin => run.origin().map(str::to_owned),
            _ => None,
        }
    }
}

/// A number of the steps of a run; a plus says that there are more.
fn of_steps(run: &ListedRun, number: Option<u64>) -> String {
    let more = if run.status == RunStatus::Running { "+" } else { "" };
    let number = number.filter(|_| run.is_read());
    number.map_or_else(String::new, |number| units::quantity(number) + more)
}

/// The cost of a run that is shown: nothing of one that reports no tokens either.
fn shown_cost(run: &ListedRun) -> Option<&CostSum> {
    let cost = run.row.cost.as_ref();
    cost.filter(|cost| cost::is_shown(cost, &run.row.tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_catalog::RunOrder;
    use crate::tests::support::{chats, ordered, seconds};

    #[test]
    fn runs_are_sorted_both_ways() {
        let (_sandbox, runs) = chats();
        let sorted = |column, is_reversed| {
            let order = RunOrder {
                column,
                is_reversed,
                ..RunOrder::default()
            };
            seconds(&ordered(&runs, "", order))
        };
        for (order, expected) in [
            (RunColumn::Started, [6, 5, 4, 3, 2, 1]),
            (RunColumn::Steps, [3, 6, 1, 5, 4, 2]),
            (RunColumn::Name, [3, 6, 5, 4, 2, 1]),
            (RunColumn::Tool, [3, 1, 6, 5, 4, 2]),
            (RunColumn::Model, [6, 5, 4, 3, 2, 1]),
            (RunColumn::Errors, [6, 5, 4, 3, 2, 1]),
            (RunColumn::ToolCalls, [3, 1, 6, 5, 4, 2]),
            (RunColumn::Id, [1, 2, 3, 4, 5, 6]),
        ] {
            assert_eq!(sorted(order, false), expected, "{order:?}");
            assert!(sorted(order, true).into_iter().rev().eq(expected), "{order:?}");
        }
        for order in RunColumn::ALL {
            assert_eq!(RunColumn::from_word(order.as_str()), Some(order));
        }
    }

    #[test]
    fn a_run_has_a_cell_and_a_field_in_every_column() {
        let (_sandbox, runs) = chats();
        let run = &ordered(&runs, "", RunOrder::default())[3];
        let cell = |column: RunColumn| column.cell(run, units::now()).0;
        assert_eq!(cell(RunColumn::Tool), "Read");
        assert_eq!(cell(RunColumn::Model), "");
        assert_eq!(cell(RunColumn::Failures), "0");
        assert_eq!(cell(RunColumn::Steps), "3");
        assert_eq!(cell(RunColumn::Cost), "", "it asked no model");
        assert_eq!(cell(RunColumn::Name), "Alone");
        for column in RunColumn::ALL {
            assert_eq!(RunColumn::from_word(column.as_str()), Some(column));
            assert!(!column.field(run).contains(['\t', '\n']));
        }
        assert_eq!(RunColumn::Duration.field(run), "400");
        assert_eq!(RunColumn::Steps.words(run).as_deref(), Some("3 steps"));
        assert_eq!(RunColumn::Failures.words(run), None);
    }
}

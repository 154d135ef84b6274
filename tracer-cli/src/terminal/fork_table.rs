//! Forks of one run with several models, as a table.

use tracer_capture::record::{ModelFork, exit_words};
use tracer_catalog::{ListedRun, RunColumn};
use tracer_insight::line::{Line, Tone};
use tracer_insight::table::Column;
use tracer_insight::text;
use tracer_sdk::format::Timestamp;

use crate::terminal::layout::Table;

const COLUMNS: [RunColumn; 5] = [
    RunColumn::Id,
    RunColumn::Status,
    RunColumn::Steps,
    RunColumn::Tokens,
    RunColumn::Cost,
];
/// Columns of a model's name.
const MAX_MODEL_COLUMNS: usize = 40;
/// Columns that the last cell needs.
const MIN_LAST_COLUMNS: usize = 16;

/// The forks, each with its run, as a table of at most `width` columns, with IDs shortened to `id_length` characters.
pub fn table(forks: &[(ModelFork, ListedRun)], id_length: usize, now: Timestamp, width: usize) -> Vec<Line> {
    let of_model = ["", "model"].map(|heading| Column::text(heading, None));
    let of_run = COLUMNS.map(|column| match column {
        RunColumn::Id | RunColumn::Status => Column::text(column.heading(), None),
        _ => Column::number(column.heading(), None),
    });
    let columns: Vec<Column> = of_model.into_iter().chain(of_run).collect();
    let mut table = Table::new(&columns);
    for (fork, run) in forks {
        let (sign, tone) = if fork.is_success() {
            ("✓", Tone::Good)
        } else {
            ("✗", Tone::Bad)
        };
        let model = fork.model.as_deref().unwrap_or("as recorded");
        let cells = COLUMNS.iter().map(|column| {
            let (mut text, tone) = column.cell(run, now);
            if *column == RunColumn::Id {
                text.truncate(id_length);
            }
            Line::of(text, tone)
        });
        let model = Line::of(text::one_line(model, MAX_MODEL_COLUMNS), Tone::Strong);
        table.push([Line::of(sign, tone), model].into_iter().chain(cells).collect());
    }
    let verified = forks
        .iter()
        .map(|(fork, _)| Line::of(verified(fork), Tone::Plain));
    table.lines(width, MIN_LAST_COLUMNS, "VERIFIED", verified)
}

fn verified(fork: &ModelFork) -> String {
    match fork.verified {
        _ if !fork.fork.outcome.is_verified() => "no: it left the recorded calls".to_owned(),
        _ if fork.fork.outcome.live == 0 && !fork.asked_its_model() => {
            "no: the model was not asked".to_owned()
        }
        _ if !fork.asked_its_model() => "no: not every call asked the model".to_owned(),
        None => "not asked".to_owned(),
        Some(exit) if exit.is_success() => "yes".to_owned(),
        Some(exit) => format!("no: {}", exit_words(exit)),
    }
}

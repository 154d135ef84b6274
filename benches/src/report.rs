//! The table: for each work, every contestant beside the bare write.

use std::fmt::Write;

use crate::contestants::ContestantKind;
use crate::machine;
use crate::measure::{EmitPlan, Series};
use crate::work::SpanWork;

/// How tables are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Markdown,
}

const NOTE: &str = "\
Medians of interleaved rounds. `ns` is the time per span until all spans are in the file, `in the call` the part of it \
that the program waits for with one thread, `processor` the processor time of all threads for it, `x` the median of the rounds' ratios to the bare write; with 4 threads the \
time is that of all spans divided by their number. `lost` are spans of a burst that are not in the file \
afterwards. Allocations are counted per span in that burst, the caller's own included. Read the ratios: the absolute times move with the \
machine's load, and ratios below 1.1 apart are noise.";

/// The whole report as text.
pub fn report(plan: &EmitPlan, all: &[Series], style: Style) -> String {
    let mut text = machine::facts(&plan.directory);
    let _ = writeln!(
        text,
        "{} rounds of {} spans each; a burst is {} spans.\n\n{NOTE}",
        plan.rounds, plan.spans, plan.burst
    );
    for &work in &plan.works {
        let heading = if style == Style::Markdown { "### " } else { "" };
        let _ = writeln!(text, "\n{heading}{}\n", capitalised(work.title()));
        text.push_str(&draw(&rows(plan, all, work), style));
    }
    text
}

fn rows(plan: &EmitPlan, all: &[Series], work: SpanWork) -> Vec<Vec<String>> {
    let mut header = vec!["recorder".to_owned()];
    for threads in &plan.threads {
        let threads = if *threads == 1 {
            "1 thread".to_owned()
        } else {
            format!("{threads} threads")
        };
        header.extend([format!("{threads}, ns"), "x".to_owned()]);
    }
    header.extend(["in the call", "processor", "lost", "bytes", "allocations"].map(str::to_owned));

    let of_work: Vec<&Series> = all.iter().filter(|series| series.work == work).collect();
    let Some(first_threads) = plan.threads.first() else {
        return vec![header];
    };
    let mut rows = vec![header];
    for first in of_work.iter().filter(|series| series.threads == *first_threads) {
        let same: Vec<&&Series> = of_work
            .iter()
            .filter(|series| series.contestant.name == first.contestant.name)
            .collect();
        let mut row = vec![first.contestant.name.to_owned()];
        for series in &same {
            let bare = of_work.iter().find(|bare| bare.threads == series.threads);
            row.push(nanoseconds(median(&series.whole)));
            row.push(bare.map_or_else(String::new, |bare| {
                ratio(median_ratio(&series.whole, &bare.whole))
            }));
        }
        row.push(nanoseconds(median(&first.calls)));
        row.push(nanoseconds(median(&first.processor)));
        let burst = first.burst;
        let is_idle = first.contestant.kind == ContestantKind::Idle;
        row.push(if is_idle {
            "-".to_owned()
        } else {
            lost(burst.recorded, burst.written)
        });
        row.push(if is_idle {
            "-".to_owned()
        } else {
            (burst.bytes / burst.written.max(1)).to_string()
        });
        row.push(format!("{:.2}", burst.allocations));
        rows.push(row);
    }
    rows
}

fn lost(recorded: u64, written: u64) -> String {
    match recorded.saturating_sub(written) {
        0 => "0".to_owned(),
        lost => format!("{:.1} %", 100.0 * lost as f64 / recorded as f64),
    }
}

/// Draws rows as a table, the first of them its header.
pub fn draw(rows: &[Vec<String>], style: Style) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        let cells: Vec<String> = cells.collect();
        let _ = match style {
            Style::Plain => writeln!(text, "{}", cells.join("  ").trim_end()),
            Style::Markdown => writeln!(text, "| {} |", cells.join(" | ")),
        };
        if number == 0 && style == Style::Markdown {
            let rule: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(column, &width)| {
                    if column == 0 {
                        "-".repeat(width)
                    } else {
                        format!("{}:", "-".repeat(width - 1))
                    }
                })
                .collect();
            let _ = writeln!(text, "| {} |", rule.join(" | "));
        }
    }
    text
}

fn nanoseconds(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn ratio(value: f64) -> String {
    if value < 0.1 {
        format!("{value:.3}")
    } else {
        format!("{value:.1}")
    }
}

fn median_ratio(values: &[f64], bare: &[f64]) -> f64 {
    let ratios: Vec<f64> = values
        .iter()
        .zip(bare)
        .map(|(value, bare)| value / bare)
        .collect();
    median(&ratios)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

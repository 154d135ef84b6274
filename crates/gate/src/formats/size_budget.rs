//! A document of bounded size: rows that do not fit are counted.

use crate::words::outcome::CheckOutcome;
use crate::words::table::{ReportCell, ReportRow, ReportTable};
use tracer_insight::text;

/// A part of a document. Its opening and closing lines are always kept, and as many of its rows as fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportSection {
    open: Vec<String>,
    rows: Vec<String>,
    /// More rows, which are only counted.
    left_out: u64,
    close: Vec<String>,
    noun: &'static str,
    more: &'static str,
}

impl ReportSection {
    /// A section with these lines before its rows.
    pub fn new(open: impl IntoIterator<Item = String>) -> Self {
        Self {
            open: open.into_iter().collect(),
            noun: "row",
            ..Self::default()
        }
    }

    /// The section with rows, called by this noun when they are counted.
    #[must_use]
    pub fn rows(mut self, noun: &'static str, rows: impl IntoIterator<Item = String>) -> Self {
        self.noun = noun;
        self.rows.extend(rows);
        self
    }

    /// The section with a table, whose rows are called by this noun when they are counted.
    #[must_use]
    pub fn table(mut self, noun: &'static str, table: &ReportTable) -> Self {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let columns = table.columns.iter();
        self.open.push(line(
            columns.clone().map(|column| column.heading.to_owned()).collect(),
        ));
        let rules = columns.map(|column| if column.is_number { "--:" } else { "---" });
        self.open
            .push(format!("|{}|", rules.collect::<Vec<_>>().join("|")));
        let row = |row: &ReportRow| {
            let mut cells: Vec<String> = row.cells.iter().map(cell).collect();
            if let Some(last) = cells.last_mut() {
                for detail in &row.details {
                    last.push_str("<br>");
                    last.push_str(&detail.markdown());
                }
            }
            line(cells)
        };
        self.left_out = table.left_out;
        self.rows(noun, table.rows.iter().map(row)).more_begins_with("| ")
    }

    /// The section with these lines behind its rows.
    #[must_use]
    pub fn close(mut self, close: impl IntoIterator<Item = String>) -> Self {
        self.close.extend(close);
        self
    }

    /// The section with this before the line that counts what is left out: a bullet, the beginning of a table's row.
    #[must_use]
    pub fn more_begins_with(mut self, more: &'static str) -> Self {
        self.more = more;
        self
    }

    /// Its size without any row, the line that counts included.
    fn least(&self) -> usize {
        let lines = self.open.iter().chain(&self.close);
        lines.map(|line| line.len() + 1).sum::<usize>() + self.reported(u64::MAX).len() + 2
    }

    fn reported(&self, left_out: u64) -> String {
        format!("{}… and {} more", self.more, text::counted(left_out, self.noun))
    }
}

fn cell(cell: &ReportCell) -> String {
    match cell {
        ReportCell::Outcome(CheckOutcome::Reported) => CheckOutcome::Reported.word().to_owned(),
        ReportCell::Outcome(outcome) => outcome.picture().to_owned(),
        ReportCell::Text(text) => text.markdown(),
    }
}

/// The sections one after the other, an empty line between them, in at most `limit` bytes and so in at most as many
/// characters. The first sections get the room first, each at most half of what is left; the last one, and one of
/// a single row, all of it. What opens and closes the sections must fit by itself.
pub fn document(sections: &[ReportSection], limit: usize) -> String {
    let mut room = limit.saturating_sub(sections.iter().map(ReportSection::least).sum());
    let last = sections.iter().rposition(|section| !section.rows.is_empty());
    let mut document = String::new();
    for (number, section) in sections.iter().enumerate() {
        // A block is shown whole or not at all.
        let is_block = section.rows.len() == 1;
        let kept = if is_block || last == Some(number) {
            0
        } else {
            room / 2
        };
        if !document.is_empty() {
            document.push('\n');
        }
        let mut shown = 0;
        for row in &section.rows {
            let rest = room.checked_sub(row.len() + 1);
            let Some(rest) = rest.filter(|rest| *rest >= kept) else {
                break;
            };
            room = rest;
            shown += 1;
        }
        let left_out = section.left_out + (section.rows.len() - shown) as u64;
        let more = (left_out > 0).then(|| section.reported(left_out));
        let rows = section.rows.iter().take(shown).chain(&more);
        for line in section.open.iter().chain(rows).chain(&section.close) {
            document.push_str(line);
            document.push('\n');
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section(rows: usize) -> ReportSection {
        ReportSection::new(["## Steps".to_owned(), String::new()])
            .rows("step", (0..rows).map(|number| format!("- {number}")))
            .more_begins_with("- ")
            .close(["</details>".to_owned()])
    }

    #[test]
    fn what_fits_is_shown_whole() {
        assert_eq!(
            document(&[section(2)], 1_000),
            "## Steps\n\n- 0\n- 1\n</details>\n"
        );
    }

    #[test]
    fn what_is_left_out_is_counted_whoever_left_it_out() {
        let two_left_out = || ReportSection {
            left_out: 2,
            ..section(3)
        };
        assert_eq!(
            document(&[two_left_out()], 1_000),
            "## Steps\n\n- 0\n- 1\n- 2\n- … and 2 steps more\n</details>\n"
        );
        let room_for_one = section(3).least() + 4;
        assert_eq!(
            document(&[two_left_out()], room_for_one),
            "## Steps\n\n- 0\n- … and 4 steps more\n</details>\n"
        );
    }

    #[test]
    fn a_long_section_leaves_half_of_the_room_to_the_others() {
        let sections = [section(500), section(500)];
        let limit = sections.iter().map(ReportSection::least).sum::<usize>() + 400;
        let document = document(&sections, limit);
        let shown = document
            .split("</details>")
            .map(|section| section.matches("\n- ").count());
        assert_eq!(shown.collect::<Vec<_>>()[..2], [43, 43]);
    }

    #[test]
    fn a_single_row_may_have_all_the_room() {
        let block = ReportSection::default().rows("command", ["x".repeat(300)]);
        let sections = [block, section(500)];
        let limit = sections.iter().map(ReportSection::least).sum::<usize>() + 400;
        let document = document(&sections, limit);
        assert!(document.contains("xxx"), "{document}");
    }

    proptest! {
        #[test]
        fn a_document_never_exceeds_its_limit(
            sizes in prop::collection::vec(0usize..40, 0..6),
            beyond in 0usize..300,
        ) {
            let sections: Vec<ReportSection> = sizes.iter().map(|rows| section(*rows)).collect();
            let limit = sections.iter().map(ReportSection::least).sum::<usize>() + beyond;
            prop_assert!(document(&sections, limit).len() <= limit);
        }
    }
}

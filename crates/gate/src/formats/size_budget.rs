//! A document of bounded size: rows that do not fit are counted.

use tracer_insight::text;

/// A part of a document. Its opening and closing lines are always kept, and as many of its rows as fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportSection {
    open: Vec<String>,
    rows: Vec<String>,
    close: Vec<String>,
    noun: &'static str,
    most: usize,
    left_out_already: u64,
    more: &'static str,
}

impl ReportSection {
    /// A section with these lines before its rows.
    pub fn new(open: impl IntoIterator<Item = String>) -> Self {
        Self {
            open: open.into_iter().collect(),
            noun: "row",
            most: usize::MAX,
            ..Self::default()
        }
    }

    /// The section with rows, called by this noun when they are counted, and never more than `most` of them.
    #[must_use]
    pub fn rows(mut self, noun: &'static str, most: usize, rows: impl IntoIterator<Item = String>) -> Self {
        self.noun = noun;
        self.most = most;
        for row in rows {
            if self.rows.len() < most {
                self.rows.push(row);
            } else {
                self.left_out_already += 1;
            }
        }
        self
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

/// The sections one after the other, an empty line between them, in at most `limit` bytes and so in at most as many
/// characters. The first sections get the room first. What opens and closes the sections must fit by itself.
pub fn document(sections: &[ReportSection], limit: usize) -> String {
    let mut room = limit.saturating_sub(sections.iter().map(ReportSection::least).sum());
    let mut document = String::new();
    for section in sections {
        if !document.is_empty() {
            document.push('\n');
        }
        let mut shown = 0;
        for row in &section.rows {
            let Some(rest) = room.checked_sub(row.len() + 1) else {
                break;
            };
            room = rest;
            shown += 1;
        }
        let left_out = section.left_out_already + (section.rows.len() - shown) as u64;
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

    fn section(rows: usize, most: usize) -> ReportSection {
        ReportSection::new(["## Steps".to_owned(), String::new()])
            .rows("step", most, (0..rows).map(|number| format!("- {number}")))
            .more_begins_with("- ")
            .close(["</details>".to_owned()])
    }

    #[test]
    fn what_fits_is_shown_whole() {
        assert_eq!(
            document(&[section(2, 9)], 1_000),
            "## Steps\n\n- 0\n- 1\n</details>\n"
        );
    }

    #[test]
    fn what_is_left_out_is_counted_whoever_left_it_out() {
        assert_eq!(
            document(&[section(5, 3)], 1_000),
            "## Steps\n\n- 0\n- 1\n- 2\n- … and 2 steps more\n</details>\n"
        );
        let room_for_one = section(5, 3).least() + 4;
        assert_eq!(
            document(&[section(5, 3)], room_for_one),
            "## Steps\n\n- 0\n- … and 4 steps more\n</details>\n"
        );
    }

    proptest! {
        #[test]
        fn a_document_never_exceeds_its_limit(
            sizes in prop::collection::vec((0usize..40, 0usize..50), 0..6),
            beyond in 0usize..300,
        ) {
            let sections: Vec<ReportSection> = sizes.iter().map(|(rows, most)| section(*rows, *most)).collect();
            let limit = sections.iter().map(ReportSection::least).sum::<usize>() + beyond;
            prop_assert!(document(&sections, limit).len() <= limit);
        }
    }
}

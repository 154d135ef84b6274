//! [`AnswerPage`]: an answer in lines within a budget, and the cursor of the next one.

use tracer_insight::marked_text::LEGEND;
use tracer_insight::outline::TokenBudget;

use crate::error::ToolError;

/// Room for the last line: a cursor is at most this long.
const LAST_LINE_BYTES: usize = 120;

/// Lines within a budget.
#[derive(Debug)]
pub(crate) struct AnswerPage {
    text: String,
    bytes: usize,
}

impl AnswerPage {
    /// A page that begins with the legend of its marks.
    pub(crate) fn new(budget: TokenBudget) -> Self {
        Self {
            text: format!("{LEGEND}\n"),
            bytes: budget.bytes().saturating_sub(LAST_LINE_BYTES),
        }
    }

    /// Adds a line, if there is room for it.
    pub(crate) fn add(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() < self.bytes;
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
        }
        fits
    }

    /// Adds the lines of a list from the place that the cursor of the page before names, while there is room.
    pub(crate) fn list_from<T>(
        mut self,
        cursor: Option<&str>,
        list: &[T],
        line: impl Fn(&T) -> String,
    ) -> Result<String, ToolError> {
        let first: usize = match cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| ToolError::Cursor)?,
        };
        if first > list.len() {
            return Err(ToolError::Cursor);
        }
        for (place, item) in list.iter().enumerate().skip(first) {
            if !self.add(&line(item)) {
                return Ok(self.finish(Some(place.to_string())));
            }
        }
        Ok(self.finish(None))
    }

    /// The page with lines, the most important first, within the room; then the number of the others.
    pub(crate) fn with_all(mut self, lines: impl IntoIterator<Item = String>, what: &str) -> String {
        let mut lines = lines.into_iter();
        let left_out = lines.find(|line| !self.add(line));
        let more = lines.count() + usize::from(left_out.is_some());
        let mut text = self.finish(None);
        if more > 0 {
            let what = tracer_insight::text::counted(more as u64, what);
            text.extend(["and ", &what, "; raise `budget`\n"]);
        }
        text
    }

    /// The text, with the cursor of the next page where there is more.
    pub(crate) fn finish(mut self, next: Option<String>) -> String {
        if let Some(cursor) = next.filter(|cursor| cursor.len() + 32 < LAST_LINE_BYTES) {
            self.text.push_str("more: call again with cursor \"");
            self.text.push_str(&cursor);
            self.text.push_str("\"\n");
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_room_are_counted() {
        let text = |tokens: usize| {
            let lines = (0..500).map(|number| format!("a line with the number {number}"));
            AnswerPage::new(TokenBudget::new(tokens)).with_all(lines, "more line")
        };
        let short = text(200);
        let shown = short.matches("a line with").count();
        assert!(shown > 0, "{short}");
        let last = format!("and {} more lines; raise `budget`\n", 500 - shown);
        assert!(short.ends_with(&last), "{short}");
        assert!(!text(100_000).contains("raise"));
    }
}

//! A line to be shown: pieces of safe text, each with a tone that says what it means, not how it is coloured.

use crate::text;

/// The meaning of a piece of text. A surface decides how that looks; no meaning hangs on the look alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// Found by the eye first.
    Strong,
    /// To be skipped.
    Muted,
    /// It went well.
    Good,
    /// It failed.
    Bad,
    /// Something to check: a loop, an interruption, damage.
    Warning,
    /// It is going on.
    Active,
    /// A model call.
    Llm,
    /// A tool call.
    Tool,
    /// A state.
    State,
}

/// Text with one tone, free of control characters by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    text: String,
    tone: Tone,
}

impl Piece {
    /// The text, made safe to show.
    pub fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self {
            text: text::printable(text.as_ref()).into_owned(),
            tone,
        }
    }

    /// The safe text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its meaning.
    pub fn tone(&self) -> Tone {
        self.tone
    }

    /// Number of columns that it takes.
    pub fn width(&self) -> usize {
        text::width(&self.text)
    }
}

/// One line of output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pieces: Vec<Piece>,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one piece.
    pub fn of(text: impl AsRef<str>, tone: Tone) -> Self {
        Self::new().with(text, tone)
    }

    /// The line with a piece added.
    #[must_use]
    pub fn with(mut self, text: impl AsRef<str>, tone: Tone) -> Self {
        self.push(Piece::new(text, tone));
        self
    }

    /// The line with `columns` spaces added.
    #[must_use]
    pub fn space(self, columns: usize) -> Self {
        self.with(" ".repeat(columns), Tone::Plain)
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// Adds the pieces of another line.
    pub fn append(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }

    /// The line with a label at `column` in the place of the spaces there.
    #[must_use]
    pub(crate) fn with_label(mut self, label: &str, column: usize) -> Self {
        let mut labelled = Self::new().space(column).with(label, Tone::Muted);
        if let Some(first) = self.pieces.first_mut() {
            first.text = first.text.get(labelled.width()..).unwrap_or_default().to_owned();
        }
        labelled.pieces.append(&mut self.pieces);
        labelled
    }

    /// The pieces from left to right.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Number of columns that the line takes.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(Piece::width).sum()
    }

    /// The line cut to at most `columns` with an ellipsis, and without spaces at its end.
    #[must_use]
    pub fn fitted(self, columns: usize) -> Self {
        let line = self.trimmed();
        if line.width() <= columns {
            return line;
        }
        let mut left = columns.saturating_sub(text::width(text::ELLIPSIS));
        let mut pieces = Vec::with_capacity(line.pieces.len() + 1);
        for mut piece in line.pieces {
            let kept = text::start(&piece.text, left).len();
            let cut = kept < piece.text.len();
            piece.text.truncate(kept);
            left -= piece.width();
            pieces.push(piece);
            if cut {
                break;
            }
        }
        let mut cut = Self { pieces }.trimmed();
        let tone = cut.pieces.last().map_or(Tone::Plain, Piece::tone);
        cut.push(Piece::new(text::fit(text::ELLIPSIS, columns), tone));
        cut
    }

    /// Without spaces at its end.
    fn trimmed(mut self) -> Self {
        while self
            .pieces
            .last()
            .is_some_and(|piece| piece.text.trim_end().is_empty())
        {
            self.pieces.pop();
        }
        if let Some(last) = self.pieces.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        self
    }

    /// The bare text.
    pub fn text(&self) -> String {
        self.pieces.iter().map(Piece::text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_cannot_hold_a_control_character() {
        assert_eq!(Piece::new("a\x1b[31mb\n", Tone::Plain).text(), "a␛[31mb␊");
    }

    #[test]
    fn a_line_is_cut_across_its_pieces_and_ends_without_spaces() {
        let line = Line::of("search", Tone::Tool)
            .space(2)
            .with("query=refund", Tone::Plain);
        assert_eq!(line.clone().fitted(12).text(), "search  que…");
        assert_eq!(line.clone().fitted(8).text(), "search…");
        assert_eq!(line.clone().fitted(6).text(), "searc…");
        assert_eq!(line.clone().fitted(0).text(), "");
        assert_eq!(line.space(4).fitted(80).text(), "search  query=refund");
    }
}

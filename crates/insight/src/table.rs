//! Columns of the tables that a terminal, Markdown and the page show.

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The heading, in small letters.
    pub heading: &'static str,
    /// It holds numbers, which are aligned on the right.
    pub is_number: bool,
    /// Order in which columns go where there is no room: 1 before 2; `None` stays.
    pub dropped: Option<u8>,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub const fn text(heading: &'static str, dropped: Option<u8>) -> Self {
        Self {
            heading,
            is_number: false,
            dropped,
        }
    }

    /// A column of numbers.
    #[must_use]
    pub const fn number(heading: &'static str, dropped: Option<u8>) -> Self {
        Self {
            heading,
            is_number: true,
            dropped,
        }
    }
}

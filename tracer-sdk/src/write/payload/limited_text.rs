//! What a value's `Display` prints, up to a limit: it may be endless.

use std::fmt::{self, Write};

use crate::write::redact::character_boundary;

/// Collects at most so many bytes, then refuses more.
#[derive(Debug)]
pub(super) struct LimitedText {
    text: String,
    most: usize,
    full: bool,
}

impl LimitedText {
    /// What `value` prints, or its first `most` bytes.
    pub(super) fn of(value: &(impl fmt::Display + ?Sized), most: usize) -> Result<String, fmt::Error> {
        let mut limited = Self {
            text: String::new(),
            most,
            full: false,
        };
        match write!(limited, "{value}") {
            Err(error) if !limited.full => Err(error),
            _ => Ok(limited.text),
        }
    }
}

impl Write for LimitedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.most.saturating_sub(self.text.len());
        let kept = character_boundary(part, room);
        self.text.push_str(part.get(..kept).unwrap_or_default());
        if kept < part.len() {
            self.full = true;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

//! Possibly endless output of a `Display` or `Debug`, up to a limit.

use std::fmt::{self, Write};

use crate::redact::character_boundary;

/// Collects at most this many bytes, then refuses more, which ends the formatting.
#[derive(Debug)]
pub(crate) struct LimitedText {
    text: String,
    max_bytes: usize,
    is_full: bool,
}

impl LimitedText {
    /// An empty text that takes `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            is_full: false,
        }
    }

    /// The output of `value`, or its first `max_bytes`.
    pub(crate) fn of(value: fmt::Arguments<'_>, max_bytes: usize) -> Result<String, fmt::Error> {
        let mut limited = Self::new(max_bytes);
        match limited.write_fmt(value) {
            Err(error) if !limited.is_full => Err(error),
            _ => Ok(limited.text),
        }
    }

    /// Returns whether something did not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the collected text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl Write for LimitedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        // Once something did not fit nothing later does: the text is a beginning of what the value prints.
        if self.is_full {
            return Err(fmt::Error);
        }
        let room = self.max_bytes.saturating_sub(self.text.len());
        let kept = character_boundary(part, room);
        self.text.push_str(part.get(..kept).unwrap_or_default());
        if kept < part.len() {
            self.is_full = true;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints for ever, and goes on a while after it was refused.
    struct Deaf;

    impl fmt::Display for Deaf {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            for _ in 0..10 {
                let _ = formatter.write_str("ä");
            }
            formatter.write_str("x")
        }
    }

    #[test]
    fn a_text_is_cut_at_a_character_and_stays_a_beginning() {
        assert_eq!(LimitedText::of(format_args!("{Deaf}"), 5).as_deref(), Ok("ää"));
        assert_eq!(
            LimitedText::of(format_args!("{:>9}", 'x'), 4).as_deref(),
            Ok("    ")
        );
        assert_eq!(LimitedText::of(format_args!("whole"), 5).as_deref(), Ok("whole"));
    }
}

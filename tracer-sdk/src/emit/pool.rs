//! Buffers that spans use again, so that recording in a steady stream does not allocate.

use std::cell::{Cell, RefCell};

use super::open_span::Contents;
use crate::loops::{self, ShapeWriter};

thread_local! {
    static CONTENTS: Waiting<Contents> = const { Waiting::new() };
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static SIGNATURE: Cell<Option<Box<SignatureBuffers>>> = const { Cell::new(None) };
}

/// How much a line buffer may keep between spans.
const KEPT_LINE_BYTES: usize = 256 * 1024;

/// As many boxes wait per thread as spans are open within each other, as a rule.
const KEPT_BOXES: usize = 4;

/// Boxes that wait to be used again. What is in them is the SDK's own: dropping it runs no user code.
pub(crate) struct Waiting<T>(RefCell<Vec<Box<T>>>);

impl<T: Default> Waiting<T> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// One that waits, or a new one.
    pub(crate) fn take(&self) -> Box<T> {
        let taken = self.0.try_borrow_mut().ok().and_then(|mut waiting| waiting.pop());
        taken.unwrap_or_default()
    }

    /// Keeps a box, unless enough of them wait.
    pub(crate) fn give(&self, given: Box<T>) {
        // It is in use only when the program's own allocator records something.
        if let Ok(mut waiting) = self.0.try_borrow_mut()
            && waiting.len() < KEPT_BOXES
        {
            waiting.push(given);
        }
    }
}

/// Empty contents for a span.
pub(crate) fn take_contents() -> Box<Contents> {
    CONTENTS.try_with(Waiting::take).unwrap_or_default()
}

/// Gives contents back to be used again by this thread.
pub(crate) fn give_contents(mut contents: Box<Contents>) {
    contents.clear();
    // A thread that is ending has no pool any more.
    let _ = CONTENTS.try_with(|pool| pool.give(contents));
}

/// Runs `write` with this thread's line buffer.
pub(crate) fn with_line_buffer<R>(write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut line = LINE.try_with(Cell::take).unwrap_or_default();
    let result = write(&mut line);
    line.clear();
    line.shrink_to(KEPT_LINE_BYTES);
    let _ = LINE.try_with(|pool| pool.set(line));
    result
}

/// What is needed to put a signature together.
#[derive(Debug, Default)]
pub(crate) struct SignatureBuffers {
    pub(crate) signature: String,
    shape: String,
    shape_writer: ShapeWriter,
}

impl SignatureBuffers {
    /// Writes the signature of a tool call with these arguments, JSON text, and gives the number of the arguments.
    /// Arguments that are null are no arguments.
    pub(crate) fn tool_signature(&mut self, tool: &str, arguments: Option<&[u8]>) -> Option<u64> {
        self.shape.clear();
        // What is not one JSON value has no shape; ours always is one.
        let number = arguments
            .filter(|text| *text != b"null")
            .and_then(|text| self.shape_writer.append_json(text, &mut self.shape));
        loops::tool_signature(tool, number.map(|_| self.shape.as_str()), &mut self.signature);
        number
    }

    /// The number of a value, JSON text; `None` when it is null.
    pub(crate) fn number(&mut self, text: &[u8]) -> Option<u64> {
        (text != b"null").then(|| self.shape_writer.number(text))?
    }

    /// The numbers of a prompt and of its last message.
    pub(crate) fn prompt(&mut self, text: &[u8], is_json: bool) -> Option<(u64, u64)> {
        if is_json {
            return (text != b"null").then(|| self.shape_writer.prompt(text))?;
        }
        let number = loops::of_text(text);
        Some((number, number))
    }
}

/// Runs `write` with this thread's signature buffers.
pub(crate) fn with_signature_buffers<R>(write: impl FnOnce(&mut SignatureBuffers) -> R) -> R {
    let mut buffers = SIGNATURE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    buffers.signature.clear();
    let result = write(&mut buffers);
    let _ = SIGNATURE.try_with(|pool| pool.set(Some(buffers)));
    result
}

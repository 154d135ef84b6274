//! Buffers that spans use again, so that recording in a steady stream does not allocate. Without them a tool call takes 61 % more
//! instructions.

use std::cell::Cell;

use crate::loops::{self, ShapeWriter, WrittenText};

thread_local! {
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static SIGNATURE: Cell<Option<Box<SignatureBuffers>>> = const { Cell::new(None) };
}

/// How much a line buffer may keep between spans.
const KEPT_LINE_BYTES: usize = 256 * 1024;

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
    /// UTF-8, as the shape is.
    pub(crate) signature: Vec<u8>,
    shape: Vec<u8>,
    shape_writer: ShapeWriter,
}

impl SignatureBuffers {
    /// Writes the signature of a tool call with these arguments, JSON text, and gives the number of the arguments.
    /// Arguments that are null are no arguments.
    pub(crate) fn tool_signature(&mut self, tool: &str, arguments: Option<WrittenText<'_>>) -> Option<u64> {
        self.shape.clear();
        // What is not one JSON value has no shape; ours always is one.
        let number = arguments
            .filter(|text| text.bytes() != b"null")
            .and_then(|text| self.shape_writer.append_json(text, &mut self.shape));
        loops::tool_signature(tool, number.map(|_| self.shape.as_slice()), &mut self.signature);
        number
    }

    /// The number of a value, JSON text; `None` when it is null.
    pub(crate) fn number(&mut self, text: WrittenText<'_>) -> Option<u64> {
        (text.bytes() != b"null").then(|| self.shape_writer.number(text))?
    }

    /// The numbers of a prompt and of its last message.
    pub(crate) fn prompt(&mut self, text: WrittenText<'_>, is_json: bool) -> Option<(u64, u64)> {
        if is_json {
            return (text.bytes() != b"null").then(|| self.shape_writer.prompt(text))?;
        }
        let number = loops::of_text(text.bytes());
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

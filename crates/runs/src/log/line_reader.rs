//! Reading a log at places: [`LineReader`] reads single lines again, mostly in the order of the file.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::cancel;
use tracer_format::project::LinePlace;

/// Size of one read while lines follow each other, in bytes.
const WINDOW_BYTES: u64 = 256 * 1024;

/// A log, read by places. Its clones read the same file, each on its own.
#[derive(Debug, Clone)]
pub(crate) struct LineReader {
    /// `None` of a log that is all in the window.
    file: Option<Arc<File>>,
    /// The window's offset in the file, and its bytes.
    window_offset: u64,
    window: Vec<u8>,
    /// A line from elsewhere, so that the window stays where it is.
    aside: Vec<u8>,
    /// The end of that line: when the next one follows it, the window moves there.
    aside_end: u64,
}

impl LineReader {
    pub(crate) fn new(file: Option<Arc<File>>) -> Self {
        Self {
            file,
            window_offset: 0,
            window: Vec::new(),
            aside: Vec::new(),
            aside_end: 0,
        }
    }

    /// The bytes of a line; an error when the file is no longer that long.
    pub(crate) fn read(&mut self, place: LinePlace) -> io::Result<&[u8]> {
        let window_end = self.window_offset + self.window.len() as u64;
        let end = place.offset.saturating_add(u64::from(place.length));
        let is_inside = place.offset >= self.window_offset && end <= window_end;
        if !is_inside {
            let file = self.file.as_deref().ok_or(io::ErrorKind::UnexpectedEof)?;
            cancel::check_current()?;
            // A line a little behind the window moves it on; one from elsewhere, and the first, does not, until another follows it.
            let follows =
                |end: u64| end > 0 && place.offset >= end && place.offset <= end.saturating_add(WINDOW_BYTES);
            let moves_on = follows(window_end) || follows(self.aside_end);
            if !moves_on {
                self.aside_end = end;
                let length = u64::from(place.length);
                read_at(file, place.offset, length, &mut self.aside)?;
                return whole(&self.aside, 0, place);
            }
            let length = WINDOW_BYTES.max(u64::from(place.length));
            self.window_offset = place.offset;
            read_at(file, place.offset, length, &mut self.window)?;
        }
        whole(&self.window, place.offset - self.window_offset, place)
    }
}

/// Fills a buffer with up to `length` bytes from a place, independently of other readers of the file.
pub(crate) fn read_at(file: &File, offset: u64, length: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    // One line of many megabytes must not keep its memory for ever.
    buffer.truncate(length);
    buffer.shrink_to(usize::try_from(WINDOW_BYTES).map_or(length, |window| window.max(length)));
    if buffer.len() < length {
        // The allocator's zeros: a build for tests would write 256 KiB of them byte by byte.
        *buffer = vec![0; length];
    }
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match read_once(file, rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(())
}

#[cfg(not(windows))]
fn read_once(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Moves the file's position, too, which nothing else uses.
#[cfg(windows)]
fn read_once(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

fn whole(buffer: &[u8], start: u64, place: LinePlace) -> io::Result<&[u8]> {
    usize::try_from(start)
        .ok()
        .and_then(|start| buffer.get(start..start.checked_add(place.length as usize)?))
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_line_is_read_in_whatever_order(order in prop::collection::vec(0usize..3_000, 1..200)) {
            let mut file = tempfile::tempfile().unwrap();
            let lines: Vec<String> = (0..3_000).map(|number| format!("{number}").repeat(1 + number % 190)).collect();
            file.write_all(lines.join("\n").as_bytes()).unwrap();
            let mut offset = 0;
            let places: Vec<LinePlace> = (1..)
                .zip(&lines)
                .map(|(line, text)| {
                    let place = LinePlace { offset, length: u32::try_from(text.len()).unwrap(), line };
                    offset += text.len() as u64 + 1;
                    place
                })
                .collect();
            let mut reader = LineReader::new(Some(Arc::new(file)));
            for number in order {
                prop_assert_eq!(reader.read(places[number]).unwrap(), lines[number].as_bytes());
            }
            let behind = LinePlace { offset, length: 5, line: 0 };
            prop_assert_eq!(reader.read(behind).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}

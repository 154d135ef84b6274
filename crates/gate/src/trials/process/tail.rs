//! Tail of the output of a program, which is read at once.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Bytes of the tail in memory: more than is shown, so that secrets are whole for redaction.
const KEPT_BYTES: usize = 64 * 1024;

/// The end of a stream that a thread reads.
#[derive(Debug)]
pub(crate) struct Tail {
    end: Receiver<Vec<u8>>,
}

impl Tail {
    /// Reads a stream to its end, which comes when the last process that has it closes it.
    pub(crate) fn of(stream: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, end) = mpsc::channel();
        thread::Builder::new()
            .name("trial output".to_owned())
            .spawn(move || {
                // The receiver may be gone.
                let _ = sender.send(read_tail(stream));
            })?;
        Ok(Self { end })
    }

    /// The last lines, as text. Nothing, when a process that could not be ended keeps the stream open for longer
    /// than `patience`.
    pub(crate) fn text(self, patience: Duration) -> String {
        let bytes = self.end.recv_timeout(patience).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn read_tail(mut stream: impl Read) -> Vec<u8> {
    let mut kept = Vec::with_capacity(3 * KEPT_BYTES);
    let mut buffer = vec![0; KEPT_BYTES];
    let mut was_cut = false;
    loop {
        let length = match stream.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // What was read until now is all there is to tell.
            Err(_) => 0,
        };
        let Some(read) = buffer.get(..length).filter(|read| !read.is_empty()) else {
            break;
        };
        kept.extend_from_slice(read);
        // Not at every reading, which may be short: what is kept moves to the front each time.
        if kept.len() > 2 * KEPT_BYTES {
            was_cut |= keep_end(&mut kept);
        }
    }
    was_cut |= keep_end(&mut kept);
    if was_cut {
        // The first line may lack its beginning, and with it what tells that it is a secret.
        let after_first_line = kept.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
        kept.drain(..after_first_line.unwrap_or(kept.len()));
    }
    kept
}

/// Cuts the beginning off, and tells whether there was one to cut.
fn keep_end(kept: &mut Vec<u8>) -> bool {
    let too_many = kept.len().saturating_sub(KEPT_BYTES);
    kept.drain(..too_many);
    too_many > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_output_is_kept_whole() {
        assert_eq!(read_tail(&b"one\ntwo"[..]), b"one\ntwo");
        assert_eq!(read_tail(io::empty()), b"");
    }

    #[test]
    fn of_much_output_the_last_whole_lines_are_kept() {
        let line = [b'x'; 999];
        let much: Vec<u8> = (0..500)
            .flat_map(|_| [&line[..], b"\n"].concat())
            .chain(*b"the end\n")
            .collect();
        let kept = read_tail(&much[..]);
        assert!(kept.ends_with(b"\nthe end\n"));
        assert!(kept.starts_with(b"xxx"));
        assert_eq!((kept.len() - 8) % 1000, 0, "no part of a line");
        assert!(kept.len() <= KEPT_BYTES && kept.len() > KEPT_BYTES - 1001);
    }

    #[test]
    fn a_line_that_never_ends_holds_no_memory_and_shows_no_half_secret() {
        let endless = io::repeat(b'x').take(10 * KEPT_BYTES as u64);
        assert_eq!(read_tail(endless), b"");
    }

    #[test]
    fn a_stream_that_stays_open_is_not_waited_for() {
        let (reader, _writer) = io::pipe().unwrap();
        let tail = Tail::of(reader).unwrap();
        assert_eq!(tail.text(Duration::ZERO), "");
    }
}

//! Tail of the output of a program, which is read at once.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// Bytes of the tail in memory: more than is shown, so that secrets are whole for redaction.
const KEPT_BYTES: usize = 64 * 1024;

/// The end of a stream that a thread reads.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<KeptOutput>>,
    /// Closed at the end of the stream.
    end: Receiver<()>,
}

/// The end of what was read until now.
#[derive(Debug, Default)]
struct KeptOutput {
    bytes: Vec<u8>,
    was_cut: bool,
}

impl Tail {
    /// Reads a stream to its end, which comes when the last process that has it closes it.
    pub(crate) fn of(stream: impl Read + Send + 'static) -> io::Result<Self> {
        let kept = Arc::default();
        let (open, end) = mpsc::channel();
        let reader = Arc::clone(&kept);
        thread::Builder::new()
            .name("trial output".to_owned())
            .spawn(move || {
                read(stream, &reader);
                drop(open);
            })?;
        Ok(Self { kept, end })
    }

    /// Returns whether the beginning of what was read is no longer there.
    pub(crate) fn was_cut(&self) -> bool {
        let mut kept = locked(&self.kept);
        kept.cut();
        kept.was_cut
    }

    /// The last lines, as text: the whole ones until `deadline`, when a process that was not ended keeps the stream open
    /// for longer.
    pub(crate) fn text(&self, deadline: Instant) -> String {
        let patience = deadline.saturating_duration_since(Instant::now());
        // Nothing is ever sent: either the end of the stream or that of the patience comes.
        let is_open = self.end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
        let mut kept = locked(&self.kept);
        let mut lines = kept.last_lines();
        if is_open {
            // The last line may lack its end, and half a secret is not known for one.
            let end = lines
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            lines = lines.get(..end).unwrap_or_default();
        }
        String::from_utf8_lossy(lines).into_owned()
    }
}

fn read(mut stream: impl Read, kept: &Mutex<KeptOutput>) {
    let mut buffer = vec![0; KEPT_BYTES];
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
        locked(kept).push(read);
    }
}

/// The tail behind a lock, also of a reader that panicked: its bytes are still right.
fn locked(kept: &Mutex<KeptOutput>) -> MutexGuard<'_, KeptOutput> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeptOutput {
    fn push(&mut self, read: &[u8]) {
        self.bytes.extend_from_slice(read);
        // Not at every reading, which may be short: what is kept moves to the front each time.
        if self.bytes.len() > 2 * KEPT_BYTES {
            self.cut();
        }
    }

    /// The last whole lines.
    fn last_lines(&mut self) -> &[u8] {
        self.cut();
        if !self.was_cut {
            return &self.bytes;
        }
        // The first line may lack its beginning, and with it what tells that it is a secret.
        let mut lines = self.bytes.splitn(2, |byte| *byte == b'\n');
        lines.nth(1).unwrap_or_default()
    }

    /// Cuts off what is too much at the beginning.
    fn cut(&mut self) {
        let too_many = self.bytes.len().saturating_sub(KEPT_BYTES);
        self.bytes.drain(..too_many);
        self.was_cut |= too_many > 0;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    fn read_tail(stream: impl Read) -> Vec<u8> {
        let kept = Mutex::default();
        read(stream, &kept);
        kept.into_inner().unwrap().last_lines().to_vec()
    }

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
    fn what_is_too_long_is_known_to_be_cut() {
        for (length, was_cut) in [(KEPT_BYTES, false), (KEPT_BYTES + 1, true)] {
            let tail = Tail::of(io::repeat(b'x').take(length as u64)).unwrap();
            tail.text(Instant::now() + Duration::from_secs(60));
            assert_eq!(tail.was_cut(), was_cut, "{length}");
        }
    }

    #[test]
    fn a_line_that_never_ends_holds_no_memory_and_shows_no_half_secret() {
        let endless = io::repeat(b'x').take(10 * KEPT_BYTES as u64);
        assert_eq!(read_tail(endless), b"");
    }

    #[test]
    fn of_a_stream_that_stays_open_there_is_what_came_until_the_deadline() {
        let (reader, mut writer) = io::pipe().unwrap();
        let tail = Tail::of(reader).unwrap();
        assert_eq!(tail.text(Instant::now()), "");
        writer.write_all(b"boom\nhalf a li").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while tail.text(Instant::now()).is_empty() && Instant::now() < deadline {}
        assert_eq!(tail.text(Instant::now()), "boom\n");
        writer.write_all(b"ne").unwrap();
        drop(writer);
        assert_eq!(tail.text(deadline), "boom\nhalf a line");
    }
}

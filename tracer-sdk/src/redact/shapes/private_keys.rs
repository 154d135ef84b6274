//! Private key blocks: `-----BEGIN … PRIVATE KEY-----` to its end, whole or cut short.

use crate::process::Computed;

use memchr::memmem::{self, Finder};

use super::{Beside, SecretPlace, Sign, SignSink};
use crate::redact::keys::RedactKeys;
use crate::redact::text::Text;

const BEGIN: &[u8] = b"-----BEGIN ";
const LABEL: &[u8] = b"PRIVATE KEY";
const END: &[u8] = b"-----END ";

/// What finds it.
static FIND_END: Computed<Finder<'static>> = Computed::new(|| Finder::new(END));

/// The longest label: `PGP PRIVATE KEY BLOCK` and the like.
const MAX_LABEL_BYTES: usize = 40;

/// The longest block that is looked for.
const MAX_BLOCK_BYTES: usize = 64 * 1024;

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    notice(Sign {
        pair: *b"-B",
        beside: Beside::Before(b"-"),
    });
}

pub(super) fn find(text: &Text<'_>, at: usize, _: &RedactKeys) -> Option<SecretPlace> {
    let start = at.checked_sub(4).filter(|&start| text.has(start, BEGIN))?;
    let label = start + BEGIN.len();
    let label_end = text.run_within(label, MAX_LABEL_BYTES + 1, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let is_private = memmem::find(text.slice(label, label_end), LABEL).is_some();
    if !is_private || label_end - label > MAX_LABEL_BYTES || !text.has(label_end, b"-----") {
        return None;
    }
    let body = label_end + 5;
    let end = closing_line(text, body).unwrap_or_else(|| end_of_cut_block(text, body));
    (end > body).then_some(SecretPlace::new(start, end))
}

/// The end of the line that closes the block, when something is between.
fn closing_line(text: &Text<'_>, body: usize) -> Option<usize> {
    let closing = text.next_of(&text.key_end, body, &FIND_END);
    if closing >= text.len() || closing - body > MAX_BLOCK_BYTES {
        return None;
    }
    let seen = text.run_within(body, closing - body, |byte| !byte.is_ascii_alphanumeric());
    if seen == closing || text.next_marker(body) < closing {
        return None;
    }
    let label_end = text.run_within(closing + END.len(), MAX_LABEL_BYTES, |byte| {
        byte.is_ascii_uppercase() || byte == b' '
    });
    Some(text.run(label_end, |byte| byte == b'-'))
}

/// A block without its closing line: as far as it goes on in lines of base64 or `Name: value`.
fn end_of_cut_block(text: &Text<'_>, body: usize) -> usize {
    let mut end = body;
    loop {
        let line = text.run(end, |byte| byte.is_ascii_whitespace() || byte == b'\\');
        // The `n` or `r` of an escaped line end is part of what is between lines.
        let line = if text.before(line) == b'\\' && matches!(text.at(line), b'n' | b'r') {
            line + 1
        } else {
            line
        };
        let line_end = text.run(line, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
        });
        if text.at(line_end) == b'-' || text.at(line_end) == b':' {
            let is_in_line = |byte: u8| !matches!(byte, b'\n' | b'\\' | b'"');
            let name_end = text.run_within(line, MAX_LABEL_BYTES, is_in_line);
            if memmem::find(text.slice(line, name_end), b": ").is_none() {
                return end;
            }
            end = text.run(name_end, is_in_line);
        } else if line_end - line >= 16 || (line > end && line_end > line && end > body) {
            end = line_end;
        } else if line > end && line_end == line && matches!(text.before(line), b'n' | b'r') {
            end = line;
        } else {
            return end;
        }
    }
}

//! Private key blocks: `-----BEGIN … PRIVATE KEY-----` to its end, whole or cut short.

use memchr::memmem;

use super::{Beside, Found, Notice, Sign};
use crate::write::redact::keys::Keys;
use crate::write::redact::text::Text;

const BEGIN: &[u8] = b"-----BEGIN ";
const LABEL: &[u8] = b"PRIVATE KEY";
const END: &[u8] = b"-----END ";

/// The longest label: `PGP PRIVATE KEY BLOCK` and the like.
const LONGEST_LABEL: usize = 40;

/// The longest block that is looked for.
const LONGEST_BLOCK: usize = 64 * 1024;

pub(super) fn noticed_by(notice: &mut Notice<'_>) {
    notice(Sign {
        pair: *b"-B",
        beside: Beside::Before(b"-"),
    });
}

pub(super) fn find(text: &Text<'_>, at: usize, _: &Keys) -> Option<Found> {
    let start = at.checked_sub(4).filter(|&start| text.has(start, BEGIN))?;
    let label = start + BEGIN.len();
    let label_end = text.run(label, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let is_private = memmem::find(text.slice(label, label_end), LABEL).is_some();
    if !is_private || label_end - label > LONGEST_LABEL || !text.has(label_end, b"-----") {
        return None;
    }
    let body = label_end + 5;
    let end = closing_line(text, body).unwrap_or_else(|| end_of_cut_block(text, body));
    (end > body).then_some(Found::new(start, end))
}

/// The end of the line that closes the block, when something is between.
fn closing_line(text: &Text<'_>, body: usize) -> Option<usize> {
    let closing = body + memmem::find(text.slice(body, (body + LONGEST_BLOCK).min(text.len())), END)?;
    let has_body = text.slice(body, closing).iter().any(u8::is_ascii_alphanumeric);
    let label_end = text.run(closing + END.len(), |byte| {
        byte.is_ascii_uppercase() || byte == b' '
    });
    let end = text.run(label_end, |byte| byte == b'-');
    (has_body && text.before_marker(body, closing) == closing).then_some(end)
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
            let header_end = text.run(line, |byte| !matches!(byte, b'\n' | b'\\' | b'"'));
            if memmem::find(text.slice(line, header_end), b": ").is_none() {
                return end;
            }
            end = header_end;
        } else if line_end - line >= 16 || (line > end && line_end > line && end > body) {
            end = line_end;
        } else if line > end && line_end == line && matches!(text.before(line), b'n' | b'r') {
            end = line;
        } else {
            return end;
        }
    }
}

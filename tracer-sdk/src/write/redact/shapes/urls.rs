//! Passwords in URLs: `scheme://user:password@host`. Query parameters are assignments.

use memchr::{memchr, memrchr};

use super::values::{is_number, is_placeholder, looks_random};
use super::{Beside, Found, Notice, Sign};
use crate::write::redact::keys::Keys;
use crate::write::redact::text::Text;

pub(super) fn noticed_by(notice: &mut Notice<'_>) {
    notice(Sign {
        pair: *b"//",
        beside: Beside::Before(b":"),
    });
}

pub(super) fn find(text: &Text<'_>, at: usize, _: &Keys) -> Option<Found> {
    if text.before(at) != b':' {
        return None;
    }
    let start = at + 2;
    let authority = text.run(start, |byte| is_url(byte) && !matches!(byte, b'/' | b'?' | b'#'));
    let mut login_end = memrchr(b'@', text.slice(start, authority)).map(|offset| start + offset);
    if login_end.is_none() {
        // A password may hold a sign that it should not; then what looks like a port is none.
        let colon = start + memchr(b':', text.slice(start, authority))?;
        let port = text.slice(colon + 1, authority);
        let all = text.run(start, is_url);
        if port.is_empty() || is_number(port) || is_placeholder(port) {
            return None;
        }
        login_end = memchr(b'@', text.slice(authority, all)).map(|offset| authority + offset);
        if login_end.is_none() && text.is_open_end(all) {
            login_end = Some(all);
        }
    }
    let login_end = login_end?;
    let login = text.slice(start, login_end);
    let Some(colon) = memchr(b':', login) else {
        return (looks_random(login) && !is_placeholder(login)).then_some(Found::new(start, login_end));
    };
    let password = login.get(colon + 1..).unwrap_or_default();
    (!is_placeholder(password)).then_some(Found::new(start + colon + 1, login_end))
}

fn is_url(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | 0)
}

//! Passwords in URLs: `scheme://user:password@host`. Query parameters are assignments.

use crate::process::Computed;

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use super::{Beside, SecretPlace, Sign, SignSink};
use crate::redact::byte_set::ByteSet;
use crate::redact::keys::RedactKeys;
use crate::redact::text::Text;
use crate::redact::values::{is_number, is_placeholder, looks_random};

/// What finds the end of a login.
static AT_SIGN: Computed<Finder<'static>> = Computed::new(|| Finder::new(b"@"));

/// The work of searching for the signs that divide a URL, beside what is looked at for it.
const SIGNS_WORK: usize = 8;

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    notice(Sign {
        pair: *b"//",
        beside: Beside::Before(b":"),
    });
}

pub(super) fn find(text: &Text<'_>, at: usize, _: &RedactKeys) -> Option<SecretPlace> {
    if text.before(at) != b':' {
        return None;
    }
    let start = at + 2;
    // Another URL begins behind a slash, so this part belongs to no other.
    let authority = text.run(start, |byte| is_url(byte) && !matches!(byte, b'/' | b'?' | b'#'));
    text.spend(SIGNS_WORK);
    let mut login_end = memrchr(b'@', text.slice(start, authority)).map(|offset| start + offset);
    if login_end.is_none() {
        // A password may hold a sign that it should not; then what looks like a port is none.
        let colon = start + memchr(b':', text.slice(start, authority))?;
        let port = text.slice(colon + 1, authority);
        if port.is_empty() || is_number(port) {
            return None;
        }
        let [of_url, ..] = &text.runs;
        let all = text.run_remembered(of_url, authority, is_url);
        login_end = Some(text.next_of(&text.at_sign, authority, &AT_SIGN)).filter(|&at_sign| at_sign < all);
        if login_end.is_none() && text.is_open_end(all) {
            login_end = Some(all);
        }
        if login_end.is_none() || is_placeholder(port) {
            return None;
        }
    }
    let login_end = login_end?;
    let login = text.slice(start, login_end);
    let is_secret = |start: usize, judge: fn(&[u8]) -> bool| judge(text.judged(start, login_end));
    match memchr(b':', text.slice(start, authority.min(login_end))) {
        None => is_secret(start, |login| looks_random(login) && !is_placeholder(login))
            .then(|| SecretPlace::new(start, start + login.len())),
        Some(colon) => {
            let password = start + colon + 1;
            is_secret(password, |password| !is_placeholder(password))
                .then(|| SecretPlace::new(password, login_end))
        }
    }
}

fn is_url(byte: u8) -> bool {
    static URL: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'`<>\\\0");
    URL.has(byte)
}

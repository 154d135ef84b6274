//! Keys with a published prefix: `sk-…`, `AKIA…`, `ghp_…` and the like.

use super::Found;
use crate::write::redact::keys::Keys;
use crate::write::redact::text::{Text, is_alphanumeric, is_url_safe};

/// A published token format.
struct Format {
    prefix: &'static [u8],
    /// What the rest is made of.
    body: fn(u8) -> bool,
    /// The shortest rest.
    shortest: usize,
    /// Whether the prefix is so short that it must begin a word and the rest must look random.
    ambiguous: bool,
}

const fn distinct(prefix: &'static str, body: fn(u8) -> bool, shortest: usize) -> Format {
    Format {
        prefix: prefix.as_bytes(),
        body,
        shortest,
        ambiguous: false,
    }
}

const fn ambiguous(prefix: &'static str, body: fn(u8) -> bool, shortest: usize) -> Format {
    Format {
        prefix: prefix.as_bytes(),
        body,
        shortest,
        ambiguous: true,
    }
}

/// Longer prefixes before the shorter ones that they begin with.
const FORMATS: &[Format] = &[
    distinct("sk-ant-", is_url_safe, 20),
    distinct("sk-proj-", is_url_safe, 20),
    ambiguous("sk-", is_url_safe, 20),
    ambiguous("AKIA", is_upper_or_digit, 16),
    ambiguous("ASIA", is_upper_or_digit, 16),
    distinct("ghp_", is_alphanumeric, 30),
    distinct("gho_", is_alphanumeric, 30),
    distinct("ghu_", is_alphanumeric, 30),
    distinct("ghs_", is_alphanumeric, 30),
    distinct("ghr_", is_alphanumeric, 30),
    distinct("github_pat_", is_word, 30),
    distinct("xoxb-", is_url_safe, 16),
    distinct("AIza", is_url_safe, 35),
];

fn is_upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn noticed_by(notice: &mut dyn FnMut([u8; 2])) {
    for format in FORMATS {
        if let Some(&pair) = format.prefix.first_chunk() {
            notice(pair);
        }
    }
}

pub(super) fn find(text: &Text<'_>, at: usize, _: &Keys) -> Option<Found> {
    let format = FORMATS.iter().find(|format| text.has(at, format.prefix))?;
    let body = at + format.prefix.len();
    let end = text.run(body, format.body);
    let long_enough = end - body >= format.shortest || text.is_open_end(end);
    let fits = !format.ambiguous || text.is_token_start(at);
    (long_enough && fits).then_some(Found::new(at, end))
}

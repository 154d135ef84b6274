//! Keys with a published prefix: `sk-…`, `AKIA…`, `ghp_…` and the like.
//!
//! A prefix is noticed by its last two bytes, which ordinary text has more seldom than the first two.

use super::formats::{FORMATS, TokenFormat};
use super::{ANY, Beside, SecretPlace, Sign, SignSink};
use crate::process::Computed;
use crate::redact::keys::RedactKeys;
use crate::redact::text::{Text, is_url_safe};
use crate::redact::values::{MAX_JUDGED, MIN_RANDOM_BYTES, is_blank, looks_random};

/// How far behind a prefix one sign is looked at before all are. No prefix is followed by itself within it as part of a key, and
/// a place that is rejected by it is within what [`scan`](crate::redact::scan) looks at again.
const FIRST_LOOK: usize = 3;

/// The formats by the last two bytes of their prefix ([`slot`]), the longest prefix first.
static BY_PAIR: Computed<Vec<Vec<KeyCandidate>>> = Computed::new(|| {
    let mut slots: Vec<Vec<KeyCandidate>> = (0..256).map(|_| Vec::new()).collect();
    for format in FORMATS {
        if let Some(slot) = last_pair(format).and_then(|pair| slots.get_mut(slot(pair))) {
            let before = before_last_pair(format).copied();
            slot.push(KeyCandidate { before, format });
        }
    }
    for slot in &mut slots {
        slot.sort_by_key(|candidate| std::cmp::Reverse(candidate.format.prefix.len()));
    }
    slots
});

/// A format that was noticed.
struct KeyCandidate {
    /// The byte before the last two of the prefix: a quick no, because ordinary words have these two as well.
    before: Option<u8>,
    format: &'static TokenFormat,
}

/// Spreads the pairs, so that few prefixes are compared for one that is noticed.
const fn slot([first, last]: [u8; 2]) -> usize {
    (first.wrapping_mul(31) ^ last) as usize
}

fn last_pair(format: &TokenFormat) -> Option<[u8; 2]> {
    format.prefix.last_chunk().copied()
}

/// The byte before the last two of the prefix.
fn before_last_pair(format: &'static TokenFormat) -> Option<&'static u8> {
    format.prefix.iter().rev().nth(2)
}

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    for format in FORMATS {
        let Some(pair) = last_pair(format) else { continue };
        let beside = match (pair, before_last_pair(format)) {
            // Words have these signs more seldom than the two letters before them.
            ([_, b'-' | b'_' | b'$' | b'/'], _) => Beside::After(&ANY),
            (_, Some(before)) => Beside::Before(std::slice::from_ref(before)),
            (_, None) => Beside::Before(&ANY),
        };
        notice(Sign { pair, beside });
    }
}

pub(super) fn find(text: &Text<'_>, at: usize, _: &RedactKeys) -> Option<SecretPlace> {
    let body = at + 2;
    let candidates = BY_PAIR.get(slot([text.at(at), text.at(at + 1)]))?;
    let before = text.before(at);
    candidates.iter().find_map(|candidate| {
        if candidate.before.is_some_and(|expected| expected != before) {
            return None;
        }
        let format = candidate.format;
        let start = body.checked_sub(format.prefix.len())?;
        if text.slice(start, body) != format.prefix {
            return None;
        }
        // That of the published formats is their first part.
        let begins_random =
            || text.run_within(body, MIN_RANDOM_BYTES, is_url_safe) - body == MIN_RANDOM_BYTES;
        if format.is_common
            && !(text.is_token_start(start)
                && (begins_random() || text.is_open_end(text.len().min(body + MIN_RANDOM_BYTES))))
        {
            return None;
        }
        // What repeats a prefix is no key, and is passed by one look at the sign behind the next ones.
        let beyond = body + FIRST_LOOK;
        if beyond < text.len() && format.shortest > FIRST_LOOK && !format.body.has(text.at(beyond)) {
            return None;
        }
        let in_body = |byte| format.body.has(byte);
        let seen = text.run_within(body, MAX_JUDGED.max(format.shortest), in_body);
        let is_open = text.is_open_end(seen);
        let rest = text.slice(body, seen);
        let is_long = rest.len() >= format.shortest || (is_open && !rest.is_empty());
        if !is_long {
            return None;
        }
        let fits = if format.is_common {
            is_open || looks_random(text.judged(body, seen))
        } else {
            !is_blank(rest) && !rest.starts_with(b"your")
        };
        fits.then(|| SecretPlace::new(start, text.run(seen, in_body)))
    })
}

//! The scan for secrets in a string: one pass of an automaton over the anchors of the rules.
//!
//! At each anchor a rule reads at most [`BACK`](super::text::BACK) bytes back and [`AHEAD`](super::text::AHEAD) bytes
//! ahead, and the scan continues behind the secret that it finds: the cost is linear in the length of the text,
//! whatever the text.

use std::borrow::Cow;
use std::sync::Arc;

use aho_corasick::automaton::OverlappingState;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};

use super::Cleaned;
use super::environment::EnvironmentSecrets;
use super::keys::{DEFAULTS, RedactKeys};
use super::place::{SecretPlace, SecretPlaces};
use super::rules::{AnchorRule, anchors};
use super::text::{AHEAD, BACK, Text};
use super::truncate::cut;
use super::{assignment, commands, forms};
use tracer_format::Computed;
use tracer_format::names::markers::REDACTED;

/// The automaton of the anchors.
#[derive(Debug)]
struct Anchors {
    automaton: Option<AhoCorasick>,
    rules: Vec<AnchorRule>,
}

impl Anchors {
    fn new(keys: &RedactKeys, environment: &EnvironmentSecrets) -> Self {
        let mut anchors = anchors(keys.own_letters());
        anchors.extend(
            environment
                .anchors()
                .map(|anchor| (anchor.to_vec(), AnchorRule::Environment)),
        );
        let (patterns, rules): (Vec<Vec<u8>>, Vec<AnchorRule>) = anchors.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&patterns);
        Self {
            // More states than fit into 32 bits are not reached: anchors are few and short.
            automaton: automaton.ok(),
            rules,
        }
    }
}

/// The anchors of the default keys, without an environment.
static DEFAULT_ANCHORS: Computed<Arc<Anchors>> =
    Computed::new(|| Arc::new(Anchors::new(&DEFAULTS, &EnvironmentSecrets::default())));

/// Finds secrets.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    anchors: Arc<Anchors>,
    environment: EnvironmentSecrets,
}

impl Scanner {
    pub(super) fn new(environment: EnvironmentSecrets, keys: &RedactKeys) -> Self {
        let anchors = if environment.is_empty() && keys.own_letters().next().is_none() {
            Arc::clone(&DEFAULT_ANCHORS)
        } else {
            Arc::new(Anchors::new(keys, &environment))
        };
        Self { anchors, environment }
    }

    /// The secrets of the environment that are known.
    pub(super) fn environment(&self) -> &EnvironmentSecrets {
        &self.environment
    }

    /// `text` without secrets, then cut to `max_bytes`.
    pub(super) fn clean<'a>(&self, text: &'a str, max_bytes: usize, keys: &RedactKeys) -> Cleaned<'a> {
        let places = self.places(text.as_bytes(), max_bytes, keys);
        let (text, redacted) = replaced(text, places, max_bytes);
        let (text, truncated) = cut(text, max_bytes);
        Cleaned {
            text,
            redacted,
            truncated,
        }
    }

    /// The secrets in what is kept of `bytes`, in their order.
    fn places(&self, bytes: &[u8], max_bytes: usize, keys: &RedactKeys) -> Vec<SecretPlace> {
        let mut places = SecretPlaces::default();
        self.scan(Text(bytes), max_bytes, keys, &mut places);
        places.all.sort_unstable();
        places.all
    }

    fn scan(&self, text: Text<'_>, max_bytes: usize, keys: &RedactKeys, places: &mut SecretPlaces) {
        let Some(automaton) = &self.anchors.automaton else {
            // Without anchors nothing is known to be harmless.
            places.push(SecretPlace::new(0, text.0.len()));
            return;
        };
        // Markers in the places of secrets make room for more of the text.
        let until = |places: &SecretPlaces| max_bytes.saturating_add(places.saved + BACK).min(text.0.len());
        let mut input = Input::new(text.0).range(..until(places));
        let mut state = OverlappingState::start();
        let mut rejected = 0;
        loop {
            automaton.find_overlapping(input.clone(), &mut state);
            let Some(hit) = state.get_match() else {
                let until = until(places);
                if until <= input.end() {
                    return;
                }
                input.set_end(until);
                continue;
            };
            // Within a secret nothing else begins.
            if places.covered.contains(&hit.start()) && hit.end() <= places.covered.end {
                continue;
            }
            let Some(rule) = self.anchors.rules.get(hit.pattern().as_usize()) else {
                continue;
            };
            let found = match *rule {
                AnchorRule::Named { ends_word } => {
                    assignment::find(text, hit.range(), ends_word, keys, places);
                    None
                }
                AnchorRule::Environment => self
                    .environment
                    .find(text.0, hit.start())
                    .map(|end| SecretPlace::new(hit.start(), end)),
                AnchorRule::Command(command) => {
                    commands::passwords(text, hit.range(), command, places);
                    None
                }
                AnchorRule::LoginOption => {
                    commands::password_of_login(text, hit.end()).filter(|_| text.has(hit.start(), " -u"))
                }
                AnchorRule::Identified => commands::identified_by(text, hit.end()),
                AnchorRule::Token(format) => forms::token(text, hit.range(), format, places.covered.end),
                AnchorRule::PrivateKey => forms::private_key(text, hit.range()),
                AnchorRule::Login => forms::login(text, hit.end()),
                AnchorRule::Parts(parts) => forms::parts(text, hit.range(), parts, &mut rejected),
                AnchorRule::Scheme(scheme) => forms::scheme(text, hit.end(), scheme),
            };
            if let Some(place) = found.filter(|place| place.end > place.start) {
                places.push(place);
            }
        }
    }
}

/// The beginning of `text`, at least `max_bytes` of it, with markers in these places; and how many there are.
fn replaced(text: &str, places: Vec<SecretPlace>, max_bytes: usize) -> (Cow<'_, str>, u32) {
    if places.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let mut result = String::with_capacity(text.len().min(max_bytes.saturating_add(AHEAD)));
    let (mut copied, mut redacted) = (0, 0);
    for place in places {
        if place.end <= copied || !text.is_char_boundary(place.end) {
            continue;
        }
        if place.start < copied {
            copied = place.end;
            continue;
        }
        let Some(before) = text.get(copied..place.start) else {
            continue;
        };
        if result.len().saturating_add(before.len()) > max_bytes {
            break;
        }
        let quotes = text.get(place.quotes.0..place.quotes.1).unwrap_or_default();
        result.extend([before, quotes, REDACTED, quotes]);
        copied = place.end;
        redacted += 1;
    }
    let room = max_bytes.saturating_add(1).saturating_sub(result.len());
    let end = super::character_boundary(text, copied.saturating_add(room.saturating_add(4)));
    result.push_str(text.get(copied..end).unwrap_or_default());
    (Cow::Owned(result), redacted)
}

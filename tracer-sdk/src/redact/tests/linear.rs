//! Rules look at bytes in proportion to the length of the text, whatever the text (decisions, section 6).

use proptest::prelude::*;

use super::hostile_texts::{ARRANGEMENTS, TRIGGERS, hostile, json, prose};
use crate::redact::rules::FORMATS;
use crate::redact::text::looked;
use crate::redact::{RedactionSettings, Redactor};
use tracer_format::names::markers::TRUNCATED;

/// How long the texts are, and twice as long.
const BYTES: usize = 4_000;

/// What the first anchors of a text may look at, beyond its share.
const FREE: usize = 4_000;

fn redactor(max_field_bytes: usize) -> Redactor {
    let settings = RedactionSettings {
        max_field_bytes,
        ..RedactionSettings::default()
    };
    Redactor::new(&settings, [("A_SECRET".to_owned(), "password=pass".to_owned())])
}

fn looked_at(redactor: &Redactor, text: &str) -> usize {
    looked::during(|| drop(redactor.text(text)))
}

/// The bytes that rules look at in a text and in its double, where those are more than 2.2 times as many.
fn complaint(redactor: &Redactor, make: impl Fn(usize) -> String) -> Option<String> {
    let (text, double) = (make(BYTES), make(2 * BYTES));
    let (once, twice) = (looked_at(redactor, &text), looked_at(redactor, &double));
    let is_linear = twice * 10 * text.len() <= (once + FREE) * 11 * double.len();
    (!is_linear).then(|| {
        let shown: String = text.chars().take(60).collect();
        format!("{} -> {once}, {} -> {twice}: {shown:?}", text.len(), double.len())
    })
}

#[test]
fn twice_the_text_takes_twice_the_work_whatever_it_is_made_of() {
    assert!(TRIGGERS.len() * ARRANGEMENTS.len() >= 60);
    let redactor = redactor(usize::MAX);
    let mut complaints = Vec::new();
    for trigger in 0..TRIGGERS.len() {
        for (name, arrange) in ARRANGEMENTS {
            if let Some(complaint) = complaint(&redactor, |bytes| hostile(trigger, *arrange, bytes)) {
                complaints.push(format!("{name}: {complaint}"));
            }
        }
    }
    assert!(
        complaints.is_empty(),
        "{}\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

#[test]
fn every_published_prefix_takes_linear_work() {
    let redactor = redactor(usize::MAX);
    let mut complaints = Vec::new();
    for prefix in FORMATS.iter().map(|format| format.prefix) {
        for unit in [
            prefix.to_owned(),
            format!("{prefix}a"),
            format!(".{prefix}"),
            format!("{prefix}xxxxxxxx"),
            format!(" {prefix}abc/"),
        ] {
            complaints.extend(complaint(&redactor, |bytes| unit.repeat(bytes / unit.len() + 1)));
        }
    }
    assert!(
        complaints.is_empty(),
        "{}\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

/// Triggers whose lists of secrets begin before the cut, and are followed to their end, item by item.
const LISTS: &[&str] = &[
    "token: ",
    "\"secret\": {\"a\": \"aB3dE5fG7hI9jK1l\", ",
    "passwords:\n  - ",
    "credentials:\n  value: ",
];

#[test]
fn a_text_that_is_cut_takes_what_is_kept_of_it() {
    let redactor = redactor(500);
    let mut complaints = Vec::new();
    for (trigger, text) in TRIGGERS.iter().enumerate() {
        for (name, arrange) in ARRANGEMENTS {
            let [short, long] = [2_000, 60_000].map(|bytes| hostile(trigger, *arrange, bytes));
            let (short, long) = (looked_at(&redactor, &short), looked_at(&redactor, &long));
            let is_list = LISTS.contains(text);
            let most = if is_list {
                20 * (short + FREE)
            } else {
                2 * (short + FREE)
            };
            // A secret that begins before the cut is passed to its end, by at most two rules.
            if long > most + 2 * 60_000 {
                complaints.push(format!("{name} {text:?}: {short}, {long}"));
            }
        }
    }
    assert!(
        complaints.is_empty(),
        "{}\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

/// Texts of about this length that hold no secret, as programs write them.
fn ordinary_texts(bytes: usize) -> Vec<String> {
    let json = json(bytes);
    let mut texts = vec![prose(bytes), json.clone(), json.replace('"', "\\\"")];
    texts.extend(
        [
            "A",
            "<td class=\"name\">Ada</td>\n",
            "\"id\":1,\"n\":2,",
            "00:a6:3b:e4:5f:",
            "1:2:",
            "a=b=",
            "a.b.c\",\"d\",",
            "std::fmt::Display --all -p x ",
        ]
        .map(|unit| unit.repeat(bytes / unit.len())),
    );
    texts
}

#[test]
fn ordinary_texts_of_any_length_stay_whole() {
    let redactor = redactor(usize::MAX);
    for text in ordinary_texts(500_000) {
        assert!(redactor.text(&text) == text, "{}", &text[..40]);
    }
}

#[test]
fn ordinary_texts_that_are_cut_stay_whole_before_the_cut() {
    let redactor = redactor(usize::MAX);
    for bytes in [20_000, 500_000] {
        for text in ordinary_texts(bytes) {
            let cleaned = redactor.clean_to(&text, 16 * 1024);
            let kept = cleaned.text.strip_suffix(TRUNCATED).unwrap();
            assert!(text.starts_with(kept) && kept.len() > 16_000, "{}", &text[..40]);
        }
    }
}

#[test]
fn rules_look_at_few_bytes_of_prose_and_json() {
    let redactor = redactor(usize::MAX);
    let prose = looked_at(&redactor, &prose(BYTES));
    assert!(prose <= BYTES / 4, "{prose}");
    let json = looked_at(&redactor, &json(BYTES));
    assert!(json <= BYTES / 4, "{json}");
}

proptest! {
    #[test]
    fn any_mixture_of_triggers_takes_linear_work(
        triggers in proptest::collection::vec(proptest::sample::select(TRIGGERS), 1..6),
        between in "[ \n\"a1=.:\\\\]{0,3}",
    ) {
        let redactor = redactor(usize::MAX);
        let unit = triggers.join(&between) + &between;
        let complaint = complaint(&redactor, |bytes| unit.repeat(bytes / unit.len() + 1));
        prop_assert_eq!(complaint, None);
    }
}

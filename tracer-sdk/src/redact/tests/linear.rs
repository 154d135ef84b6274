//! Looking for secrets takes work linear in the length of the text, whatever the text (decisions, section 6).

use proptest::prelude::*;

use super::hostile_texts::{ARRANGEMENTS, TRIGGERS, hostile, json, prose};
use crate::format::names::markers::TRUNCATED;
use crate::redact::scan::work;
use crate::redact::shapes::prefixes;
use crate::redact::{RedactionSettings, Redactor};

/// How long the texts are, and twice as long.
const BYTES: usize = 4_000;

/// The work that any text may take, and for each byte of it, in nanoseconds. [`Scanner`](crate::redact::scan) allows its four passes 3,000
/// and 6.5 for each byte, and each of them the last place that it looked at; the rest is looked up once for a part of the
/// text in each pass: the ends of runs, and the next marker or sign.
const FREE: usize = 8_000;
const MAX_PER_BYTE: usize = 16;

fn redactor(max_field_bytes: usize) -> Redactor {
    let settings = RedactionSettings {
        max_field_bytes,
        ..RedactionSettings::default()
    };
    Redactor::new(&settings, [("A_SECRET".to_owned(), "password=pass".to_owned())])
}

fn work_for(redactor: &Redactor, text: &str) -> usize {
    work::during(|| drop(redactor.text(text)))
}

/// What is wrong with the work for a text and for its double, if anything.
fn complaint(redactor: &Redactor, make: impl Fn(usize) -> String) -> Option<String> {
    let (text, double) = (make(BYTES), make(2 * BYTES));
    let (once, twice) = (work_for(redactor, &text), work_for(redactor, &double));
    let is_linear = twice * 10 * text.len() <= (once + FREE) * 11 * double.len();
    let is_cheap = twice <= FREE + MAX_PER_BYTE * double.len();
    (!is_linear || !is_cheap).then(|| {
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
    for prefix in prefixes() {
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

#[test]
fn a_run_is_not_looked_at_far_behind_a_marker() {
    let redactor = redactor(usize::MAX);
    // Every pass meets a URL whose run the marker ends a few bytes on.
    let text = "://a:bxoxb-DB_PASSWORD=".repeat(180);
    let work = work_for(&redactor, &text);
    assert!(work <= 12 * text.len(), "{} -> {work}", text.len());
}

#[test]
fn a_text_that_is_cut_costs_what_is_kept_of_it() {
    let redactor = redactor(500);
    for trigger in 0..TRIGGERS.len() {
        for (name, arrange) in ARRANGEMENTS {
            let text = hostile(trigger, *arrange, 30_000);
            // The first pass looks past the cut, those after it at what was kept.
            let most = MAX_PER_BYTE * (17_000 + 4 * 500) + FREE;
            let work = work_for(&redactor, &text);
            assert!(work <= most, "{name} {trigger}: {work}");
        }
    }
}

#[test]
fn what_takes_too_much_work_is_redacted_from_there_on() {
    let redactor = redactor(usize::MAX);
    let secret = "tr0ub4dor-and-3";
    // Each value is judged as part of those around it: `password: "password: "password: "…`. Where a colour may begin no shape is asked.
    for unit in [
        "pwd=",
        "password: \"",
        "'token': '",
        "Bearer \"password=",
        "\x1b[",
    ] {
        let text = format!("{}{secret}", unit.repeat(20_000));
        let cleaned = redactor.clean_to(&text, usize::MAX);
        assert!(!cleaned.text.contains(secret), "{unit}");
        assert!(
            cleaned.redacted > 0 && cleaned.text.ends_with("__REDACTED__"),
            "{unit}"
        );
        assert_eq!(redactor.text(&cleaned.text), cleaned.text, "{unit}");
    }
}

/// Texts of about this length that hold no secret, as programs write them.
fn ordinary_texts(bytes: usize) -> Vec<String> {
    let json = json(bytes);
    let mut texts = vec![
        prose(bytes),
        json.clone(),
        json.replace('"', "\\\""),
        json.replace('"', "&quot;"),
        json.replace('"', "\\u0022"),
        json.replace('"', "%22")
            .replace(':', "%3A")
            .replace(',', "%2C")
            .replace(' ', "%20"),
        json.replace('"', "\x1b[33m\"\x1b[0m")
            .replace(':', "\x1b[2m:\x1b[0m"),
    ];
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
fn prose_and_json_take_little_work() {
    let redactor = redactor(usize::MAX);
    let prose = work_for(&redactor, &prose(BYTES));
    assert!(prose <= BYTES / 4, "{prose}");
    let json = work_for(&redactor, &json(BYTES));
    assert!(json <= 5 * BYTES, "{json}");
}

proptest! {
    /// Where judging again comes to its limit a mixture may go on a little dearer or cheaper than before, so that the
    /// ratio of two lengths says less here than the bound that holds for every length.
    #[test]
    fn any_mixture_of_triggers_takes_little_work_for_each_byte(
        triggers in proptest::collection::vec(proptest::sample::select(TRIGGERS), 1..6),
        between in "[ \n\"a1=.:\\\\]{0,3}",
    ) {
        let redactor = redactor(usize::MAX);
        let unit = triggers.join(&between) + &between;
        for bytes in [BYTES, 4 * BYTES] {
            let text = unit.repeat(bytes / unit.len() + 1);
            let work = work_for(&redactor, &text);
            prop_assert!(work <= FREE + MAX_PER_BYTE * text.len(), "{} -> {work}: {unit:?}", text.len());
        }
    }
}

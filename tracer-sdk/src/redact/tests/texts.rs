//! Strings: every shape goes, the text around it stays, and cleaning twice is cleaning once.

use std::borrow::Cow;

use super::fake_secrets::{Dice, SHAPES, fakes, leak};
use super::redactor;
use crate::redact::{RedactionSettings, Redactor};

#[test]
fn there_are_sixty_shapes() {
    assert!(SHAPES.len() >= 60, "{}", SHAPES.len());
}

#[test]
fn every_shape_goes_and_the_text_around_it_stays() {
    let redactor = redactor();
    let mut failures = Vec::new();
    for fake in fakes(1, SHAPES.len() * 20) {
        let text = format!("before it\n{}\nafter it", fake.text);
        let clean = redactor.text(&text);
        let stays = clean.starts_with("before it\n") && clean.ends_with("\nafter it");
        if leak(&fake.secret, &clean).is_some() || !stays || redactor.text(&clean) != clean {
            failures.push(format!("{}: {text} -> {clean}", fake.shape));
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_names_a_secret_stays_readable() {
    let redactor = redactor();
    let mut dice = Dice::new(2);
    let mut secret = || dice.of("abcdefghijkmnopqrstuvwxyz0123456789ABCDEFGH", 32);
    let cases = [
        ("Authorization: Bearer ", secret(), "\r\nHost: x"),
        ("curl -H 'X-Api-Key: ", secret(), "' https://x"),
        ("postgres://app:", secret(), "@db/app"),
        ("https://x/?token=", secret(), "&page=2"),
        (r#"{"a": 1, "password": ""#, secret(), r#"", "b": 2}"#),
        (r#"{\"api_key\": \""#, secret(), r#"\", \"b\": 2}"#),
        ("GITHUB_TOKEN=", secret(), " cargo publish"),
        ("os.environ[\"API_KEY\"] = \"", secret(), "\""),
        ("--secret ", secret(), " --loud"),
        (r#"{\"cookies\": [\""#, secret(), r#"\"], \"c\": 3}"#),
    ];
    for (before, secret, after) in cases {
        let clean = redactor.text(&format!("{before}{secret}{after}")).into_owned();
        assert_eq!(clean, format!("{before}__REDACTED__{after}"));
    }
}

#[test]
fn a_number_in_json_text_becomes_a_string_under_a_key_of_the_users_own() {
    let settings = RedactionSettings {
        redact_keys: vec!["pin".into()],
        ..RedactionSettings::default()
    };
    let redactor = Redactor::new(&settings, []);
    assert_eq!(
        redactor.text(r#"{"pin": 12345678}"#),
        r#"{"pin": "__REDACTED__"}"#
    );
    assert_eq!(
        redactor.text(r#"{\"pin\":12345678,"#),
        r#"{\"pin\":\"__REDACTED__\","#
    );
    // Under a default key numbers are counts, in a text as in a structure.
    let counts = r#"{"token": 12345678, "secret": 1, "pass": 12345678, "password": 12345678}"#;
    assert_eq!(self::redactor().text(counts), counts);
}

#[test]
fn literal_values_of_secret_variables_go_wherever_they_are() {
    let environment = [
        ("MY_SERVICE_KEY", "plain words here"),
        ("DB_PASSWORD", "quote\"inside it"),
        ("HOME", "/home/somebody"),
        ("SHORT_TOKEN", "1234567"),
        ("MAX_TOKENS", "100000000"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let redactor = Redactor::new(&RedactionSettings::default(), environment);
    assert_eq!(redactor.text("xplain words herex"), "x__REDACTED__x");
    assert_eq!(
        redactor.text(r#"quote"inside it, quote\"inside it"#),
        "__REDACTED__, __REDACTED__"
    );
    let kept = "/home/somebody 1234567 100000000";
    assert_eq!(redactor.text(kept), kept);
}

#[test]
fn a_redactor_is_shared_by_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&redactor());
}

#[test]
fn what_does_not_change_is_borrowed() {
    let redactor = redactor();
    assert!(matches!(redactor.text("plain: text = 1"), Cow::Borrowed(_)));
    assert!(matches!(redactor.text(""), Cow::Borrowed("")));
}

#[test]
fn what_fits_once_secrets_are_gone_is_not_cut() {
    let redactor = redactor();
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
        "aB3dE5fG7hI9jK1l".repeat(600)
    );
    let text = format!(
        "{}{key}{}password=hunter2hunter2",
        "a ".repeat(2_000),
        " b".repeat(5_500)
    );
    assert!(text.len() > 20_000);
    let clean = redactor.clean_to(&text, 20_000);
    assert!(!clean.truncated && clean.redacted == 2, "{}", clean.redacted);
    assert!(clean.text.starts_with("a a ") && clean.text.ends_with("__REDACTED__"));
    let longer = format!("{text}{}", " b".repeat(6_000));
    let clean = redactor.clean_to(&longer, 20_000);
    assert!(clean.truncated && clean.text.ends_with("__TRUNCATED__") && clean.text.len() <= 20_000);
}

#[test]
fn a_huge_string_is_cut_without_a_half_secret() {
    let redactor = redactor();
    for (number, fake) in fakes(3, SHAPES.len() * 2).enumerate() {
        let cut = 20_000 - 12;
        let offset = cut - (number * 7) % (fake.text.len() + 20);
        let text = format!(
            "{}\n{}\n{}",
            "a ".repeat(offset / 2),
            fake.text,
            "b ".repeat(50_000)
        );
        let clean = redactor.text(&text);
        assert_eq!(
            leak(&fake.secret, &clean),
            None,
            "{}: {}",
            fake.shape,
            &clean[clean.len() - 200..]
        );
        assert!(clean.ends_with("__TRUNCATED__") && clean.len() <= 20_000);
        assert_eq!(redactor.text(&clean), clean, "{}", fake.shape);
    }
}

#[test]
fn a_secret_longer_than_everything_goes_whole() {
    let redactor = redactor();
    let mut dice = Dice::new(4);
    let long = dice.of("ABCDEFGHabcdefgh0123456789", 100_000);
    for text in [
        format!("-----BEGIN {} KEY-----\n{long}", "PRIVATE"),
        format!("Cookie: a={long}"),
        format!("\"password\": \"{long}\""),
        format!("postgres://u:{long}@host"),
        format!("{}{}{long}", "gh", "p_"),
        format!("https://{long}@host"),
        format!("got eyJ{long}.eyJ{}.{}", &long[..100], &long[..86]),
        format!("got eyJ{}.eyJ{}.{}", &long[..600], &long[..100], &long[..86]),
        format!("https://{}@host", &long[..520]),
    ] {
        assert_eq!(leak(&long, &redactor.text(&text)), None, "{}", &text[..30]);
    }
}

#[test]
fn markers_are_no_secrets() {
    let redactor = redactor();
    for text in [
        "password=__REDACTED__",
        "Authorization: Bearer __REDACTED__",
        r#"{"password": "__REDACTED__", "token": "__TRUNCATED__"}"#,
        "https://u:__REDACTED__@host/?token=__REDACTED__&b=1",
        "API_KEY=__TRUNCATED__",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

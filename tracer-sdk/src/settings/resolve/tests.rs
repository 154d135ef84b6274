//! Which value wins, what a project file may do, and what is reported of values that cannot be used.

use std::ffi::OsString;
use std::time::Duration;

use proptest::prelude::*;

use super::super::{AllowedValues, Flush, SETTINGS};
use super::*;
use crate::guardrails::Guardrails;
#[cfg(feature = "prices")]
use tracer_format::Usd;

fn file(path: &str, text: &str) -> SettingsFile {
    SettingsFile {
        path: path.into(),
        text: Ok(text.to_owned()),
    }
}

fn sources(environment: &[(&str, &str)], project: &str, user: &str) -> Sources {
    Sources {
        environment: environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
            .collect(),
        working_directory: "/home/me/agent/src".into(),
        home: Some("/home/me".into()),
        project: Some(file("/home/me/agent/.tracer/config.toml", project)),
        user: Some(file("/home/me/.tracer/config.toml", user)),
    }
}

fn resolved(environment: &[(&str, &str)], project: &str, user: &str) -> (Settings, Vec<String>) {
    let (settings, problems) = resolve(&Config::new(), &sources(environment, project, user));
    (settings, problems.iter().map(ToString::to_string).collect())
}

fn in_force(environment: &[(&str, &str)], project: &str, user: &str) -> Settings {
    let (settings, problems) = resolved(environment, project, user);
    assert_eq!(problems, Vec::<String>::new());
    settings
}

#[test]
fn each_source_wins_over_those_below_it() {
    let environment = [("TRACER_LOOP_WINDOW", "40"), ("TRACER_MAX_EVENTS", "4")];
    let project = "loop_window = 30\nloop_repetitions = 3\n[guardrails]\nmax_events = 3\nmax_tool_calls = 3";
    let user = "loop_window = 20\nloop_repetitions = 2\nflush = \"batched\"\nguardrails.max_llm_calls = 2\nguardrails.max_events = 2";
    let code = Config::new()
        .loop_window(50)
        .guardrails(Guardrails::new().max_events(5));

    let (settings, problems) = resolve(&code, &sources(&environment, project, user));
    assert_eq!(problems, []);
    assert_eq!(settings.loop_window, 50);
    assert_eq!(settings.guardrails.max_events, Some(5));

    let settings = in_force(&environment, project, user);
    assert_eq!((settings.loop_window, settings.loop_repetitions), (40, 3));
    assert_eq!(settings.flush, Flush::Batched);
    let expected = Guardrails::new().max_events(4).max_tool_calls(3).max_llm_calls(2);
    assert_eq!(settings.guardrails, expected);
}

#[test]
fn nothing_given_gives_the_defaults() {
    assert_eq!(in_force(&[], "", ""), Settings::with_data_dir("/home/me/.tracer"));
    assert_eq!(
        in_force(&[("TRACER_REDACT", " "), ("TRACER_DATA_DIR", "")], "", "")
            .redact_keys
            .len(),
        20
    );
}

#[test]
fn the_defaults_of_the_table_are_those_in_force() {
    let lines = SETTINGS
        .iter()
        .filter_map(|setting| Some(format!("{} = {}\n", setting.key, setting.default?)));
    let mut settings = in_force(&[], "", &lines.collect::<String>());
    let loops = Guardrails::new()
        .stop_on_loop(false)
        .stop_on_loop_min_repetitions(3);
    assert_eq!(std::mem::take(&mut settings.guardrails), loops);
    assert_eq!(settings, Settings::with_data_dir("/home/me/.tracer"));
}

#[test]
fn every_setting_of_the_table_is_read_from_the_environment_and_from_files() {
    for setting in SETTINGS {
        let (text, toml) = match setting.allowed {
            AllowedValues::Path => ("/elsewhere", "'/elsewhere'"),
            AllowedValues::Switch if setting.default == Some("true") => ("Off", "false"),
            AllowedValues::Switch => ("1", "true"),
            AllowedValues::SwitchOr(words) => (words[0], "'shape'"),
            AllowedValues::Names => ("ssn, iban", "['ssn', 'iban']"),
            AllowedValues::Whole(_) | AllowedValues::Between(..) => ("999", "0x3e7"),
            AllowedValues::Seconds | AllowedValues::Dollars => ("1.5", "1.5"),
            AllowedValues::Bucket => (" s3://team/agents", "'s3://team/agents'"),
            AllowedValues::Word(words) => (words[1], "'batched'"),
        };
        let variable = setting.variable();
        let by_environment = in_force(&[(variable.as_str(), text)], "", "");
        let by_file = in_force(&[], "", &format!("{} = {toml}", setting.key));
        assert_eq!(by_environment, by_file, "{}", setting.key);
        assert_ne!(by_file, in_force(&[], "", ""), "{}", setting.key);
    }
}

#[test]
fn every_setting_refuses_what_is_not_allowed_and_never_repeats_it() {
    for setting in SETTINGS {
        let variable = setting.variable();
        let (bad_text, bad_toml): (&[&str], &[&str]) = match setting.allowed {
            AllowedValues::Path => (&[], &["7123", "''", "['hunter2']"]),
            AllowedValues::Switch | AllowedValues::SwitchOr(_) => {
                (&["hunter2", "7123"], &["'hunter2'", "7123"])
            }
            AllowedValues::Names => (&[",", " , "], &["'hunter2'", "[7123]", "['']"]),
            AllowedValues::Whole(0) => (&["hunter2", "-7123", "7.123"], &["'hunter2'", "-7123", "7.123"]),
            AllowedValues::Between(..) => (&["hunter2", "1", "-7123", "1048577"], &["1", "1048577", "'712'"]),
            AllowedValues::Whole(_) => (
                &["hunter2", "1", "-7123"],
                &["1", "99999999999999999999999", "'7123'"],
            ),
            AllowedValues::Seconds => (
                &["hunter2", "-7123", "inf", "nan"],
                &["'7123'", "-7.123", "inf", "nan", "1e300"],
            ),
            AllowedValues::Dollars => (
                &["hunter2", "-7123", "inf", "nan", "$7123", "7,123"],
                &["'7123'", "-7.123", "inf", "nan", "1e300"],
            ),
            AllowedValues::Bucket => (
                &["hunter2", "s3://", "s3://key:hunter2@team", "s3://team?hunter2=1"],
                &["7123", "'hunter2'", "'s3://key:hunter2@team'"],
            ),
            AllowedValues::Word(_) => (&["hunter2"], &["'hunter2'", "true"]),
        };
        for text in bad_text {
            let (settings, problems) = resolved(&[(variable.as_str(), text)], "", "");
            assert_eq!(settings, in_force(&[], "", ""), "{variable}={text}");
            assert_eq!(
                problems,
                [format!("environment: {variable} must be {}", setting.allowed)]
            );
        }
        for toml in bad_toml {
            let (settings, problems) = resolved(&[], "", &format!("\n {} = {toml}", setting.key));
            assert_eq!(settings, in_force(&[], "", ""), "{} = {toml}", setting.key);
            let column = 2 + setting.key.len() - setting.name().len();
            let place = format!("/home/me/.tracer/config.toml:2:{column}");
            assert_eq!(
                problems,
                [format!("{place}: {} must be {}", setting.key, setting.allowed)]
            );
        }
    }
}

#[test]
fn a_project_file_names_no_bucket() {
    let (settings, problems) = resolved(&[], "store = 's3://theirs/hunter2'", "store = 's3://ours/x'");
    assert_eq!(settings.store.as_deref(), Some("s3://ours/x"));
    assert_eq!(
        problems,
        [
            "/home/me/agent/.tracer/config.toml:1:1: store must not be in a project file: set it in ~/.tracer/config.toml or in \
          TRACER_STORE"
        ]
    );
    let (settings, problems) = resolved(&[], "store_cache_mb = 9000000", "store_cache_mb = 1");
    assert_eq!((settings.store_cache_bytes, problems.len()), (1024 * 1024, 1));
    let settings = in_force(&[("TRACER_STORE_CACHE_MB", "0")], "", "store_cache_mb = 1");
    assert_eq!(settings.store_cache_bytes, 0);
    let settings = in_force(&[("TRACER_STORE", "gs://ci/runs")], "", "store = 's3://ours/x'");
    assert_eq!(settings.store.as_deref(), Some("gs://ci/runs"));
}

#[test]
fn values_in_code_are_checked_as_well() {
    let code = Config::new()
        .data_dir("")
        .max_field_bytes(99)
        .loop_window(3)
        .loop_repetitions(1)
        .guardrails(Guardrails::new().stop_on_loop_min_repetitions(1).max_llm_calls(0));
    let (settings, problems) = resolve(&code, &sources(&[("TRACER_LOOP_WINDOW", "5")], "", ""));
    let mut expected = Settings::with_data_dir("/home/me/.tracer");
    expected.loop_window = 5;
    expected.guardrails = Guardrails::new().max_llm_calls(0);
    assert_eq!(settings, expected);
    assert_eq!(problems.len(), 5);
    assert_eq!(
        problems[1].to_string(),
        "settings in code: max_field_bytes must be a whole number from 100 to 1048576"
    );
}

#[test]
fn a_project_file_can_tighten_redaction() {
    let user = "redact = false\nredact_keys = ['token']\nmax_field_bytes = 5000";
    let project = "redact = true\nredact_keys = ['patient', 'token']\nmax_field_bytes = 1000";
    let settings = in_force(&[], project, user);
    assert!(settings.redact);
    assert_eq!(settings.redact_keys, ["token", "patient"]);
    assert_eq!(settings.max_field_bytes, 1000);

    let keys = in_force(&[("TRACER_REDACT_KEYS", "ssn")], project, user).redact_keys;
    assert_eq!(keys, ["ssn", "patient", "token"]);
}

#[test]
fn a_project_file_cannot_loosen_redaction() {
    let project = "redact = false\nredact_keys = []\nmax_field_bytes = 20001";
    let (settings, problems) = resolved(&[], project, "");
    assert_eq!(settings, in_force(&[], "", ""));
    assert_eq!(problems.len(), 2);
    assert_eq!(
        problems[0],
        "/home/me/agent/.tracer/config.toml:1:1: redact must not be false in a project file: it can tighten redaction, not loosen it"
    );
    assert!(
        problems[1]
            .starts_with("/home/me/agent/.tracer/config.toml:3:1: max_field_bytes must be at most 20000 ")
    );

    let (settings, problems) = resolved(&[], "max_field_bytes = 5001", "max_field_bytes = 5000");
    assert_eq!((settings.max_field_bytes, problems.len()), (5000, 1));
}

#[test]
fn the_user_can_turn_redaction_off() {
    assert!(!in_force(&[], "", "redact = false").redact);
    assert!(!in_force(&[("TRACER_REDACT", "no")], "", "").redact);
    assert!(
        !resolve(&Config::new().redact(false), &sources(&[], "", ""))
            .0
            .redact
    );
}

#[test]
fn a_switch_that_cannot_be_read_leaves_redaction_on() {
    assert!(
        resolved(&[("TRACER_REDACT", "flase")], "", "redact = false")
            .0
            .redact
    );
    assert!(resolved(&[], "redact = 'no'", "redact = false").0.redact);
    assert!(resolved(&[], "redact = ", "redact = false").0.redact);

    let mut unreadable = sources(&[], "", "redact = false");
    unreadable.project.as_mut().unwrap().text = Err("permission denied".to_owned());
    let (settings, problems) = resolve(&Config::new(), &unreadable);
    assert!(settings.redact);
    assert_eq!(
        problems[0].to_string(),
        "/home/me/agent/.tracer/config.toml: cannot be read: permission denied"
    );
}

#[test]
fn a_file_that_is_not_toml_is_reported_by_line_and_ignored() {
    let (settings, problems) = resolved(&[], "", "loop_window = 20\npassword = hunter2\n");
    assert_eq!(settings, in_force(&[], "", ""));
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("/home/me/.tracer/config.toml:2:12: not valid TOML"),
        "{problems:?}"
    );
    assert!(!problems[0].contains("hunter2"));
}

#[test]
fn an_unknown_key_is_reported_with_the_nearest_name() {
    let user = "loop_window = 20\nloop_repetition = 4\ncolour = 1\n[guardrails]\nmax_llm_call = 1\nmax_llm_calls = 7\n[other]\nx = 1";
    let (settings, mut problems) = resolved(&[], "max_events = 5", user);
    assert_eq!(settings.loop_window, 20);
    assert_eq!(settings.guardrails, Guardrails::new().max_llm_calls(7));
    problems.sort();
    assert_eq!(
        problems,
        [
            "/home/me/.tracer/config.toml:2:1: loop_repetition is not a setting; did you mean loop_repetitions?",
            "/home/me/.tracer/config.toml:3:1: colour is not a setting",
            "/home/me/.tracer/config.toml:5:1: guardrails.max_llm_call is not a setting; did you mean guardrails.max_llm_calls?",
            "/home/me/.tracer/config.toml:7:2: other is not a setting",
            "/home/me/agent/.tracer/config.toml:1:1: max_events is not a setting; did you mean guardrails.max_events?",
        ]
    );
    let (_, problems) = resolved(&[], "", "guardrails = 5");
    assert_eq!(
        problems,
        ["/home/me/.tracer/config.toml:1:1: guardrails must be a table"]
    );
}

#[test]
fn an_unknown_key_is_shown_short_and_printable() {
    let (_, problems) = resolved(&[], "", &format!("\"\\u001b[31m{}\" = 1", "x".repeat(1000)));
    assert!(
        problems[0].contains("\\u{1b}[31mxxx") && problems[0].len() < 200,
        "{problems:?}"
    );
}

#[test]
fn relative_paths_start_where_they_were_written() {
    let data_dir = |environment: &[(&str, &str)], project: &str, user: &str| {
        in_force(environment, project, user).data_dir
    };
    let from_code = |path: &str| {
        resolve(&Config::new().data_dir(path), &sources(&[], "", ""))
            .0
            .data_dir
    };
    assert_eq!(
        data_dir(&[("TRACER_DATA_DIR", "runs")], "", ""),
        Path::new("/home/me/agent/src/runs")
    );
    assert_eq!(
        data_dir(&[("TRACER_DATA_DIR", "~/runs")], "", ""),
        Path::new("/home/me/runs")
    );
    assert_eq!(
        data_dir(&[("TRACER_DATA_DIR", "~other/runs")], "", ""),
        Path::new("/home/me/agent/src/~other/runs")
    );
    assert_eq!(
        data_dir(&[], "data_dir = 'runs'", ""),
        Path::new("/home/me/agent/runs")
    );
    assert_eq!(data_dir(&[], "", "data_dir = 'runs'"), Path::new("/home/me/runs"));
    assert_eq!(
        data_dir(&[], "", "data_dir = '/var/runs'"),
        Path::new("/var/runs")
    );
    assert_eq!(from_code("runs"), Path::new("/home/me/agent/src/runs"));
    assert_eq!(from_code("~"), Path::new("/home/me/agent/src/~"));
}

#[test]
fn a_project_file_can_only_name_a_data_directory_inside_the_project() {
    let inside = |path: &str| in_force(&[], &format!("data_dir = '{path}'"), "").data_dir;
    assert_eq!(inside("runs"), Path::new("/home/me/agent/runs"));
    assert_eq!(inside("./a/../runs"), Path::new("/home/me/agent/runs"));
    assert_eq!(inside("~/agent/runs"), Path::new("/home/me/agent/runs"));
    assert_eq!(inside("/home/me/agent"), Path::new("/home/me/agent"));
    for path in [
        "..",
        "../other",
        "a/../../b",
        "/",
        "/var/runs",
        "~",
        "~/.ssh",
        "/home/me/agent-2",
    ] {
        let (settings, problems) = resolved(&[], &format!("\ndata_dir = '{path}'"), "data_dir = '/srv/runs'");
        assert_eq!(settings.data_dir, Path::new("/srv/runs"), "{path}");
        assert_eq!(
            problems,
            [
                "/home/me/agent/.tracer/config.toml:2:1: data_dir must be a folder inside the project, and no link may lead out of it"
            ],
            "{path}"
        );
    }
    // It is a problem even where another source decides.
    let (settings, problems) = resolved(&[("TRACER_DATA_DIR", "/mine")], "data_dir = '/theirs'", "");
    assert_eq!(
        (settings.data_dir.as_path(), problems.len()),
        (Path::new("/mine"), 1)
    );
}

#[test]
fn settings_that_cost_memory_have_a_maximum() {
    let most = Config::new()
        .max_field_bytes(u64::MAX)
        .loop_window(u64::MAX)
        .loop_repetitions(u64::MAX);
    let (settings, problems) = resolve(&most, &sources(&[], "", ""));
    assert_eq!(settings, Settings::with_data_dir("/home/me/.tracer"));
    assert_eq!(problems.len(), 3);
    let allowed = Config::new()
        .max_field_bytes(1024 * 1024)
        .loop_window(1000)
        .loop_repetitions(1000);
    let (settings, problems) = resolve(&allowed, &sources(&[], "", ""));
    assert_eq!(problems, []);
    assert_eq!(
        (settings.max_field_bytes, settings.loop_window),
        (1024 * 1024, 1000)
    );
}

#[test]
fn without_a_home_directory_runs_are_kept_in_the_working_directory() {
    let mut homeless = sources(&[], "", "");
    (homeless.home, homeless.user) = (None, None);
    assert_eq!(
        resolve(&Config::new(), &homeless).0.data_dir,
        Path::new("/home/me/agent/src/.tracer")
    );
    homeless
        .environment
        .insert("TRACER_DATA_DIR".to_owned(), "~/runs".into());
    let (settings, problems) = resolve(&Config::new(), &homeless);
    assert_eq!(settings.data_dir, Path::new("/home/me/agent/src/.tracer"));
    assert_eq!(problems.len(), 1);
}

#[test]
fn the_environment_can_turn_recording_off_whatever_the_code_says() {
    let on = Config::new().enabled(true);
    assert!(
        !resolve(&on, &sources(&[("TRACER_ENABLED", "0")], "", ""))
            .0
            .enabled
    );
    assert!(resolve(&on, &sources(&[], "enabled = false", "")).0.enabled);
    assert!(in_force(&[("TRACER_ENABLED", "1")], "enabled = false", "").enabled);
    assert!(!in_force(&[], "enabled = false", "").enabled);
}

#[test]
fn seconds_may_have_a_fraction_and_may_be_whole() {
    let limit = |text: &str| {
        in_force(&[], "", &format!("guardrails.max_duration_s = {text}"))
            .guardrails
            .max_duration
    };
    assert_eq!(limit("0.25"), Some(Duration::from_millis(250)));
    assert_eq!(limit("1_000"), Some(Duration::from_secs(1000)));
}

#[cfg(feature = "prices")]
#[test]
fn dollars_are_exact() {
    let limit = |text: &str| {
        in_force(&[], "", &format!("guardrails.max_cost_usd = {text}"))
            .guardrails
            .max_cost_usd
    };
    assert_eq!(limit("0.1"), "0.1".parse().ok());
    assert_eq!(limit("0.30"), Some(Usd::from_cents(30)));
    assert_eq!(limit("1_000"), Some(Usd::from_cents(100_000)));
    assert_eq!(limit("0"), Some(Usd::ZERO));
}

#[cfg(unix)]
#[test]
fn a_path_need_not_be_unicode_and_other_values_must() {
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(b"/runs/\xff".to_vec());
    let mut given = sources(&[], "", "");
    given
        .environment
        .insert("TRACER_DATA_DIR".to_owned(), odd.clone());
    given.environment.insert("TRACER_REDACT".to_owned(), odd.clone());
    let (settings, problems) = resolve(&Config::new(), &given);
    assert_eq!(settings.data_dir, PathBuf::from(odd));
    assert!(settings.redact);
    assert_eq!(problems.len(), 1);
}

/// Settings files, most of them almost right.
fn any_file() -> impl Strategy<Value = String> {
    let line = (
        prop::sample::select(vec![
            "redact",
            "redact_keys",
            "max_field_bytes",
            "enabled",
            "guardrails",
            "x",
        ]),
        prop::sample::select(vec![
            "false",
            "true",
            "0",
            "[]",
            "['k']",
            "'off'",
            "100",
            "9999999",
            "{redact = false}",
            "nan",
            "[",
        ]),
    )
        .prop_map(|(key, value)| format!("{key} = {value}"));
    prop_oneof![
        4 => prop::collection::vec(line, 0..4).prop_map(|lines| lines.join("\n")),
        1 => ".{0,40}",
    ]
}

proptest! {
    #[test]
    fn no_project_file_loosens_what_the_user_has(project in any_file(), user in any_file()) {
        let (without, _) = resolved(&[], "", &user);
        let (with, _) = resolved(&[], &project, &user);
        prop_assert!(with.redact || !without.redact);
        prop_assert!(with.max_field_bytes <= without.max_field_bytes);
        prop_assert!(without.redact_keys.iter().all(|key| with.redact_keys.contains(key)));
    }
}

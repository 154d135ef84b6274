//! Usage, help and settings.

use std::fs;

use rstest::rstest;

use crate::sandbox::{FIRST, Sandbox};

#[test]
fn help_and_version_are_data() {
    let sandbox = Sandbox::new();
    for arguments in [&["--help"][..], &["help", "export"], &["--version"]] {
        let outcome = sandbox.tracer(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        assert!(outcome.stdout.contains("tracer"), "{}", outcome.stdout);
    }
}

#[test]
fn the_first_screen_has_every_group_with_an_example() {
    let help = Sandbox::new().tracer(&["--help"]).stdout;
    assert!(help.lines().count() <= 40, "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    for group in ["Record", "Read", "Gate", "Replay", "Share", "Tidy"] {
        let is_group = |line: &&str| line.starts_with(group) && line.contains(" tracer ");
        assert_eq!(help.lines().filter(is_group).count(), 1, "{group}: {help}");
    }
    assert!(!help.contains("completions"), "{help}");
}

#[test]
fn a_global_option_that_a_command_would_ignore_is_refused() {
    let sandbox = Sandbox::new();
    sandbox
        .tracer(&["prune", "--keep", "1", "--store", "file:///srv"])
        .fails(2, &["`tracer prune` reads no bucket"]);
    sandbox
        .tracer(&["--json", "demo"])
        .fails(2, &["`tracer demo` prints no JSON"]);
}

#[rstest]
#[case::ignored(&["record", "push"], false)]
#[case::used(&["show", "stats"], true)]
fn a_help_lists_the_global_options_that_the_command_takes(
    #[case] commands: &[&str],
    #[case] are_listed: bool,
) {
    for command in commands {
        let help = Sandbox::new().tracer(&[command, "--help"]).stdout;
        for option in ["--store <URL>", "--json"] {
            assert_eq!(help.contains(option), are_listed, "{command} {option}: {help}");
        }
        assert!(help.contains("--data-dir <DIR>"), "{command}: {help}");
    }
}

#[rstest]
#[case::statistics(&["stats", "--csv", "--json"], "two formats")]
#[case::comparison(&["diff", "a", "b", "--format", "markdown", "--json"], "two formats")]
#[case::gate(&["run", "--format", "markdown", "--json", "--", "true"], "two formats")]
#[case::variables(&["receive", "--models", "--print-env", "--port", "5", "--token", "a", "--json"], "no JSON")]
fn of_two_formats_none_is_ignored(#[case] arguments: &[&str], #[case] reason: &str) {
    Sandbox::new().tracer(arguments).fails(2, &[reason]);
}

#[test]
fn quiet_leaves_data_and_errors() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let quiet = sandbox.tracer(&["show", "-q"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    assert!(quiet.stdout.contains("first"));
    sandbox.tracer(&["show", "nothing", "-q"]).fails(2, &["error: "]);
}

#[rstest]
#[case::no_command(&[])]
#[case::unknown_command(&["nonsense"])]
#[case::limit_that_is_no_number(&["list", "--limit", "x"])]
#[case::limit_of_zero(&["list", "--limit", "0"])]
#[case::two_runs(&["show", "a", "b"])]
fn bad_usage_exits_with_two(#[case] arguments: &[&str]) {
    Sandbox::new().tracer(arguments).fails(2, &[]);
}

#[test]
fn a_bad_setting_stops_with_the_file_and_the_key() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    fs::create_dir(sandbox.path(".tracer")).unwrap();
    fs::write(sandbox.path(".tracer/config.toml"), "max_field_bytes = 3\n").unwrap();
    sandbox
        .tracer(&["list"])
        .fails(2, &["config.toml", "max_field_bytes", "100"]);
}

#[test]
fn the_data_directory_may_come_from_a_settings_file() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let settings = format!("data_dir = {:?}\n", sandbox.data_dir().display().to_string());
    fs::create_dir(sandbox.path(".tracer")).unwrap();
    fs::write(sandbox.path(".tracer/config.toml"), settings).unwrap();
    let output = sandbox
        .command(&["list"])
        .env_remove("TRACER_DATA_DIR")
        .output()
        .unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains(FIRST));
}

#[cfg(unix)]
#[rstest]
#[case::parent_folder("..", false)]
#[case::link_outside("link", false)]
#[case::absolute_path("/var/tmp", false)]
#[case::runs_linked_outside("linked", false)]
#[case::folder_inside("runs", true)]
fn a_project_keeps_its_runs_inside(#[case] data_dir: &str, #[case] allowed: bool) {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let project = sandbox.path("agent");
    fs::create_dir_all(project.join(".tracer")).unwrap();
    fs::create_dir_all(project.join("runs/runs")).unwrap();
    fs::create_dir(project.join("linked")).unwrap();
    std::os::unix::fs::symlink(sandbox.data_dir(), project.join("link")).unwrap();
    std::os::unix::fs::symlink(sandbox.data_dir().join("runs"), project.join("linked/runs")).unwrap();
    let settings = format!("data_dir = '{data_dir}'\n");
    fs::write(project.join(".tracer/config.toml"), settings).unwrap();
    let output = sandbox
        .command(&["list"])
        .env_remove("TRACER_DATA_DIR")
        .current_dir(&project)
        .output()
        .unwrap();
    let reported = String::from_utf8(output.stderr).unwrap();
    let problem = "config.toml:1:1: data_dir must be a folder inside the project";
    assert_eq!(reported.contains(problem), !allowed, "{data_dir}: {reported}");
    assert_eq!(
        output.status.code() == Some(2),
        !allowed,
        "{data_dir}: {reported}"
    );
    assert!(
        !String::from_utf8(output.stdout).unwrap().contains(FIRST),
        "{data_dir}"
    );
}

#[cfg(unix)]
#[test]
fn a_data_directory_that_is_a_file_cannot_be_read() {
    let sandbox = Sandbox::without_data_directory();
    fs::write(sandbox.data_dir(), "a file").unwrap();
    let path = sandbox.data_dir().display().to_string();
    sandbox.tracer(&["list"]).fails(2, &["error: ", &path, "hint: "]);
}

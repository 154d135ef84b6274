//! Usage, help and settings.

use std::fs;

use crate::sandbox::{FIRST, Sandbox};

#[test]
fn help_and_version_are_data() {
    let sandbox = Sandbox::new();
    for arguments in [&["--help"][..], &["help", "export"], &["--version"]] {
        let outcome = sandbox.tracer(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        assert!(outcome.stdout.contains("tracer"), "{}", outcome.stdout);
    }
    let help = sandbox.tracer(&["--help"]).stdout;
    for command in ["demo", "list", "show", "export", "validate-trace"] {
        assert!(
            help.contains(&format!("  {command} ")),
            "{command} is not in {help}"
        );
    }
}

#[test]
fn bad_usage_ends_with_two() {
    let sandbox = Sandbox::new();
    for arguments in [
        &[][..],
        &["nonsense"],
        &["list", "--limit", "x"],
        &["list", "--limit", "0"],
        &["show", "a", "b"],
    ] {
        sandbox.tracer(arguments).fails(2, &[]);
    }
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
#[test]
fn a_project_cannot_send_runs_out_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let project = sandbox.path("agent");
    fs::create_dir_all(project.join(".tracer")).unwrap();
    fs::create_dir_all(project.join("runs/runs")).unwrap();
    std::os::unix::fs::symlink(sandbox.data_dir(), project.join("link")).unwrap();
    for (data_dir, allowed) in [
        ("..", false),
        ("link", false),
        ("/var/tmp", false),
        ("runs", true),
    ] {
        let settings = format!("data_dir = '{data_dir}'\n");
        fs::write(project.join(".tracer/config.toml"), settings).unwrap();
        let output = sandbox
            .command(&["list"])
            .env_remove("TRACER_DATA_DIR")
            .current_dir(&project)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        let problem = "config.toml:1:1: data_dir must be a folder inside the project";
        assert_eq!(told.contains(problem), !allowed, "{data_dir}: {told}");
        assert_eq!(output.status.code() == Some(2), !allowed, "{data_dir}: {told}");
        assert!(
            !String::from_utf8(output.stdout).unwrap().contains(FIRST),
            "{data_dir}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_data_directory_that_is_a_file_cannot_be_read() {
    let sandbox = Sandbox::without_data_directory();
    fs::write(sandbox.data_dir(), "a file").unwrap();
    let path = sandbox.data_dir().display().to_string();
    sandbox.tracer(&["list"]).fails(2, &["error: ", &path, "hint: "]);
}

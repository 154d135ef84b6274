//! Trials do not meet: each has a workspace, a data directory and temporary files of its own, and nothing to read.

use std::fs;

use super::workshop::Workshop;

#[test]
fn each_trial_starts_from_the_same_workspace() {
    let agent = r#"
test ! -e left-behind && test "$(cat notes.txt)" = original || exit 9
echo changed > notes.txt; touch left-behind
exec "$TRACED" wait"#;
    let workshop = Workshop::new(agent);
    workshop.write("notes.txt", "original", 0o644);
    workshop.gate(&["--trials", "2"]).is("pass");
    let notes = fs::read_to_string(workshop.workspace().join("notes.txt")).unwrap();
    assert_eq!(notes, "original");
}

// gate, *Trials*
#[test]
fn each_trial_has_its_number_its_folders_and_an_empty_input() {
    let agent = r#"
if read -r line; then exit 9; fi
tr '\0' '\n' < /proc/$$/environ | grep -qx "PWD=$(pwd -P)" || exit 6
test "$TRACER_DATA_DIR" = "$MAIDA_DATA_DIR" && test "$TRACER_DATA_DIR" = "$AGENTDBG_DATA_DIR" || exit 8
echo "$TRACER_TRIAL_INDEX" > "$(mktemp)"
test "$(cat "$TMPDIR"/*)" = "$TRACER_TRIAL_INDEX" || exit 7
echo "trial $TRACER_TRIAL_INDEX, folder $TMPDIR, data $TRACER_DATA_DIR" >&2
exec "$TRACED" wait"#;
    let workshop = Workshop::new(agent);
    let outcome = workshop.gate(&["--trials", "2", "--jobs", "2"]);
    let said: Vec<&str> = outcome
        .is("pass")
        .trials()
        .iter()
        .map(|trial| trial["stderr_tail"].as_str().unwrap())
        .collect();
    assert!(
        said[0].starts_with("trial 1, ") && said[1].starts_with("trial 2, "),
        "{said:?}"
    );
    assert_ne!(said[0].replace("trial 1", "trial 2"), said[1]);
}

#[test]
fn in_place_means_in_the_workspace_itself() {
    let workshop = Workshop::new("echo changed > notes.txt; exec \"$TRACED\" wait");
    workshop.gate(&["--trials", "1", "--in-place"]).is("pass");
    let notes = fs::read_to_string(workshop.workspace().join("notes.txt")).unwrap();
    assert_eq!(notes, "changed\n");
}

// gate, *Trials*
#[test]
fn a_program_that_the_workspace_ignores_is_called_where_it_is() {
    let workshop = Workshop::new("exit 9");
    workshop.write(
        "target/release/agent",
        "#!/bin/sh\nexec \"$TRACED\" wait\n",
        0o755,
    );
    let outcome = workshop.gate_of(&["--trials", "1"], &["target/release/agent"]);
    outcome.is("pass");
}

#[test]
fn each_trial_records_its_own_run() {
    let workshop = Workshop::new(r#"exec "$TRACED" wait"#);
    let parent = "00-10000000000000000000000000000001-00f067aa0ba902b7-01";
    let environment = [("TRACER_TRACEPARENT", parent), ("TRACER_ENABLED", "0")];
    workshop.gate_with(&["--trials", "1"], &environment).is("pass");
}

#[test]
fn what_cannot_be_run_is_refused_before_the_first_trial() {
    let workshop = Workshop::new(r#"exec "$TRACED" wait"#);
    workshop.write("notes.txt", "", 0o644);
    for (options, command, said) in [
        (&[][..], "./absent", "there is no program ./absent"),
        (&[], "./notes.txt", "./notes.txt cannot be run"),
        (
            &[],
            "no-such-program-anywhere",
            "there is no program no-such-program-anywhere",
        ),
        (&["--trials", "0"], "./agent.sh", "--trials"),
        (&["--timeout", "0"], "./agent.sh", "--timeout"),
        (&["--baseline", "absent.json"], "./agent.sh", "absent.json"),
        (
            &["--junit", "/dev/null/junit.xml"],
            "./agent.sh",
            "/dev/null/junit.xml",
        ),
    ] {
        let outcome = workshop.gate_of(options, &[command]);
        assert_eq!(outcome.code, Some(2), "{outcome:#?}");
        assert!(
            outcome.stderr.contains(said),
            "{said:?} is not in {}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains("hint: ") || outcome.stderr.contains("--help"),
            "{outcome:#?}"
        );
    }
    assert!(workshop.runs().is_empty());
}

#[test]
fn files_behind_linked_folders_stay() {
    let workshop = Workshop::new(r#"exec "$TRACED" wait"#);
    workshop.write("data/notes.txt", "tracked", 0o644);
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(arguments)
            .current_dir(workshop.workspace())
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    let outside = workshop.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("notes.txt"), "precious").unwrap();
    fs::remove_dir_all(workshop.workspace().join("data")).unwrap();
    std::os::unix::fs::symlink(&outside, workshop.workspace().join("data")).unwrap();
    workshop.gate(&["--trials", "2", "--jobs", "2"]).is("pass");
    assert_eq!(fs::read_to_string(outside.join("notes.txt")).unwrap(), "precious");
}

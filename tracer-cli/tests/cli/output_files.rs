//! What a command writes never takes the place of what it was not meant for: a run's own files, what standard output
//! appends to, what a link leads to. And a removal that fails hides nothing.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sandbox::{FIRST, Outcome, SECOND, Sandbox, contents};

/// Every option that names a file to write, each with a place for the name.
fn writers(file: &str) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut all: Vec<Vec<String>> = ["envelope", "ndjson", "otlp-json", "chrome", "folded", "html"]
        .iter()
        .map(|format| words(&["export", FIRST, "--format", format, "--out", file]))
        .collect();
    all.push(words(&["baseline", FIRST, "--out", file]));
    all.push(words(&["baseline", FIRST, "--force", "--out", file]));
    all.push(words(&["assert", FIRST, "--json-out", file]));
    all.push(words(&["assert", FIRST, "--junit", file]));
    all.push(words(&["run", "--json-out", file, "--", "/bin/true"]));
    all
}

fn tracer(sandbox: &Sandbox, arguments: &[String]) -> Outcome {
    sandbox.tracer(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn two() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "support-agent", 1, "ok");
    sandbox.run(SECOND, "other-agent", 2, "ok");
    assert_eq!(sandbox.tracer(&["init"]).code, Some(0));
    sandbox
}

#[test]
fn no_output_lands_in_a_run() {
    let sandbox = two();
    symlink(sandbox.run_dir(FIRST), sandbox.path("linked-run")).unwrap();
    symlink(
        sandbox.run_dir(FIRST).join("spans.jsonl"),
        sandbox.path("linked-log"),
    )
    .unwrap();
    let runs = sandbox.data_dir().join("runs");
    let before = contents(&runs);
    let names = [
        format!("data/runs/{FIRST}/spans.jsonl"),
        format!("data/runs/{FIRST}/meta.json"),
        format!("data/runs/{FIRST}/.live"),
        format!("data/runs/{SECOND}/meta.json"),
        format!("data/runs/../runs/{SECOND}/new.json"),
        runs.join(FIRST).join("spans.jsonl").display().to_string(),
        "linked-run/meta.json".to_owned(),
        "linked-log".to_owned(),
    ];
    for name in &names {
        for arguments in writers(name) {
            let outcome = tracer(&sandbox, &arguments);
            assert_eq!(outcome.code, Some(2), "{arguments:?} {outcome:?}");
            let described = ["in the folder of a run", "symbolic link", "exists already"];
            assert!(
                described
                    .iter()
                    .any(|described| outcome.stderr.contains(described)),
                "{outcome:?}"
            );
            assert!(
                contents(&runs) == before,
                "{arguments:?} changed a run: {outcome:?}"
            );
        }
    }
}

/// Runs a command whose standard output is a file, and gives what is in that file then.
fn with_output_to(sandbox: &Sandbox, arguments: &[&str], append: bool) -> String {
    let path = sandbox.path("log.txt");
    fs::write(&path, "before\n").unwrap();
    let output = if append {
        OpenOptions::new().append(true).open(&path).unwrap()
    } else {
        // What was written here already, somebody else's position is behind.
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap();
        file
    };
    let status = sandbox
        .command(arguments)
        .stdout(output)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0), "{arguments:?}");
    fs::read_to_string(path).unwrap()
}

#[test]
fn what_standard_output_leads_to_is_appended_to_and_not_replaced() {
    let sandbox = two();
    let expected = sandbox.tracer(&["export", FIRST, "--out", "-"]).stdout;
    for append in [true, false] {
        for out in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "log.txt"] {
            let written = with_output_to(&sandbox, &["export", FIRST, "--out", out], append);
            assert_eq!(written, format!("before\n{expected}"), "{out} append: {append}");
        }
        let reported = [
            "assert",
            FIRST,
            "--json-out",
            "/dev/stdout",
            "--format",
            "markdown",
        ];
        let written = with_output_to(&sandbox, &reported, append);
        let (before, rest) = written.split_once('\n').unwrap();
        assert!(
            before == "before" && rest.starts_with('{') && rest.contains("\n}\n"),
            "{written}"
        );
    }
    // A pipe is what it was.
    assert_eq!(
        sandbox.tracer(&["export", FIRST, "--out", "/dev/stdout"]).stdout,
        expected
    );
}

#[test]
fn standard_error_is_appended_to_as_well() {
    let sandbox = two();
    let path = sandbox.path("errors.txt");
    fs::write(&path, "before\n").unwrap();
    let status = sandbox
        .command(&["export", FIRST, "--format", "ndjson", "--out", "/dev/stderr"])
        .stderr(OpenOptions::new().append(true).open(&path).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    let written = fs::read_to_string(path).unwrap();
    assert!(
        written.starts_with("before\n{") && written.contains("exported aaaa1111"),
        "{written}"
    );
}

#[test]
fn what_a_link_in_a_project_leads_to_is_never_written() {
    let sandbox = two();
    fs::write(sandbox.path("victim"), "mine").unwrap();
    let untouched = |outcome: &Outcome, case: &str| {
        assert_eq!(outcome.code, Some(2), "{case}: {outcome:?}");
        assert!(
            outcome.stderr.contains("symbolic link") || outcome.stderr.contains("exists already"),
            "{case}: {outcome:?}"
        );
        assert_eq!(
            fs::read_to_string(sandbox.path("victim")).unwrap(),
            "mine",
            "{case}"
        );
        assert!(!sandbox.path("nothing").exists(), "{case}");
    };
    for target in ["victim", "nothing"] {
        let link = sandbox.path("link.json");
        let _ = fs::remove_file(&link);
        symlink(sandbox.path(target), &link).unwrap();
        for arguments in writers("link.json")
            .into_iter()
            .filter(|arguments| arguments[0] != "export")
        {
            untouched(
                &tracer(&sandbox, &arguments),
                &format!("{arguments:?} to {target}"),
            );
            assert!(link.is_symlink());
        }
    }

    // The usual places of a project: the file itself, and every folder on the way to it.
    sandbox.tracer(&["baseline", FIRST]);
    let usual = sandbox.path(".tracer/baselines/support-agent.json");
    assert!(usual.is_file());
    let baseline = ["baseline", FIRST, "--force"];
    fs::remove_file(&usual).unwrap();
    symlink(sandbox.path("victim"), &usual).unwrap();
    untouched(&sandbox.tracer(&baseline), "the baseline is a link");
    fs::create_dir(sandbox.path("outside")).unwrap();
    for folder in [".tracer/baselines", ".tracer", ".github/workflows", ".github"] {
        for made in [".tracer", ".github"] {
            let _ = fs::remove_file(sandbox.path(made));
            let _ = fs::remove_dir_all(sandbox.path(made));
        }
        let link = sandbox.path(folder);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(sandbox.path("outside"), &link).unwrap();
        let arguments: &[&str] = match folder {
            ".tracer/baselines" => &baseline,
            ".tracer" => &["init", "--force"],
            _ => &["init", "--github", "--force"],
        };
        untouched(&sandbox.tracer(arguments), folder);
        assert_eq!(
            fs::read_dir(sandbox.path("outside")).unwrap().count(),
            0,
            "{folder}"
        );
    }
}

#[test]
fn accepting_a_change_does_not_write_through_a_link_either() {
    let sandbox = two();
    sandbox.tracer(&["baseline", FIRST, "--out", "real.json"]);
    let before = fs::read(sandbox.path("real.json")).unwrap();
    symlink("real.json", sandbox.path("link.json")).unwrap();
    let log = sandbox.run_dir(SECOND).join("spans.jsonl");
    let changed = fs::read_to_string(&log).unwrap().replace("search_kb", "escalate");
    fs::write(log, changed).unwrap();
    sandbox
        .tracer(&[
            "accept",
            SECOND,
            "--baseline",
            "link.json",
            "--reason",
            "better",
            "--force",
        ])
        .fails(2, &["link.json", "symbolic link"]);
    assert_eq!(fs::read(sandbox.path("real.json")).unwrap(), before);
}

/// Makes a folder from which nothing can be removed, whoever tries: something is mounted in it. `false` where that is not
/// allowed.
fn cannot_be_removed(folder: &Path) -> bool {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(folder)
        .stderr(Stdio::null())
        .status();
    mounted.is_ok_and(|status| status.success())
}

#[test]
fn a_run_that_cannot_be_deleted_is_still_listed_and_whole() {
    let sandbox = two();
    let inside = sandbox.run_dir(FIRST).join("more");
    fs::create_dir(&inside).unwrap();
    if nobody_is_root() {
        File::create(inside.join("kept")).unwrap();
        set_mode(&inside, 0o500);
    } else if !cannot_be_removed(&inside) {
        // The rule is kept by `a_removal_that_fails_anywhere_hides_nothing`, on every machine.
        return;
    }
    let outcomes = [
        sandbox.tracer(&["delete", FIRST, "--yes"]),
        sandbox.tracer(&["prune", "--keep", "0", "--yes"]),
    ];
    let listed = sandbox.tracer(&["list", "--json"]).json();
    let shown = sandbox.tracer(&["show", FIRST]);
    if nobody_is_root() {
        set_mode(&inside, 0o700);
    } else {
        Command::new("umount").arg(&inside).status().unwrap();
    }
    for outcome in outcomes {
        outcome.fails(2, &["failed to remove", FIRST, "more"]);
    }
    let ids: Vec<&str> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["trace_id"].as_str().unwrap())
        .collect();
    assert!(ids.contains(&FIRST), "{listed}");
    assert_eq!(listed["damaged"].as_array().map(Vec::len), Some(0), "{listed}");
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(
        sandbox.tracer(&["delete", FIRST, "--yes"]).code,
        Some(0),
        "it can be tried again"
    );
    assert!(!sandbox.run_dir(FIRST).exists());
}

fn nobody_is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout != b"0\n"
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

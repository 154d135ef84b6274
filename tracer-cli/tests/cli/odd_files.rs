//! Every file that a clone can bring, replaced by everything that is no small regular file: no command waits for it or
//! reads more than is allowed, and the error names the file.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::sandbox::{FIRST, Outcome, SECOND, Sandbox};
use crate::view::client::Viewer;

/// What can be in the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Odd {
    Pipe,
    Device,
    Folder,
    Socket,
    /// 1 TiB that take no room on the disk.
    Sparse,
    LinkToNowhere,
    LinkToItself,
    /// To a large file outside of the project.
    LinkOutside,
    Unreadable,
    Empty,
}

impl Odd {
    /// Puts it in the place of a file.
    fn put(self, path: &Path, outside: &Path) {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            fs::remove_dir(path).unwrap();
        } else {
            let _ = fs::remove_file(path);
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let sparse = |path: &Path| File::create(path).unwrap().set_len(1 << 40).unwrap();
        match self {
            Self::Pipe => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
            Self::Device => symlink("/dev/zero", path).unwrap(),
            Self::Folder => fs::create_dir(path).unwrap(),
            Self::Socket => drop(UnixListener::bind(path).unwrap()),
            Self::Sparse => sparse(path),
            Self::LinkToNowhere => symlink("/nowhere/at/all", path).unwrap(),
            Self::LinkToItself => symlink(path.file_name().unwrap(), path).unwrap(),
            Self::LinkOutside => {
                let target = outside.join("outside");
                sparse(&target);
                symlink(target, path).unwrap();
            }
            Self::Unreadable => {
                fs::write(path, "x").unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
            }
            Self::Empty => fs::write(path, "").unwrap(),
        }
    }

    fn is_no_regular_file(self) -> bool {
        matches!(self, Self::Pipe | Self::Device | Self::Folder | Self::Socket)
    }
}

/// How much a command reads besides the file: the executable's libraries, the other files.
const BESIDES: u64 = 2 * 1024 * 1024;
const MIB: u64 = 1024 * 1024;

/// Runs a command with little memory, and gives how many bytes it read. A command that waits fails the test.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> (Outcome, u64) {
    let command = sandbox.command(arguments);
    let counts = sandbox.path("io.txt");
    // A process that was waited for has its counts added to those of whoever waited.
    let script = r#"ulimit -v 4000000; "$0" "$@"; code=$?; cat /proc/$$/io > "$COUNTS"; exit $code"#;
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(script)
        .arg(command.get_program())
        .args(command.get_args());
    shell.env_clear().current_dir(sandbox.path("."));
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell.env("PATH", "/usr/bin:/bin").env("COUNTS", &counts);
    let mut child = shell
        .stdin(Stdio::null())
        .stdout(File::create(sandbox.path("stdout.txt")).unwrap())
        .stderr(File::create(sandbox.path("stderr.txt")).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("{arguments:?} waits");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let outcome = Outcome {
        code: status.code(),
        stdout: fs::read_to_string(sandbox.path("stdout.txt")).unwrap(),
        stderr: fs::read_to_string(sandbox.path("stderr.txt")).unwrap(),
    };
    let counts = fs::read_to_string(counts).unwrap();
    let read = counts
        .lines()
        .find_map(|line| line.strip_prefix("rchar: "))
        .unwrap();
    (outcome, read.parse().unwrap())
}

/// A project with runs, a policy, a baseline, one that waits, and a report.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "support-agent", 1, "ok");
    sandbox.run(SECOND, "support-agent", 2, "ok");
    for arguments in [
        &["init"][..],
        &["baseline", FIRST, "--out", "b.json"],
        &["baseline", SECOND, "--out", "b.json.new"],
        &["assert", FIRST, "--json-out", "report.json"],
    ] {
        let outcome = sandbox.tracer(arguments);
        assert!(
            sandbox.path("b.json").exists() || outcome.code == Some(0),
            "{outcome:?}"
        );
    }
    fs::create_dir_all(sandbox.path(".tracer/baselines")).unwrap();
    fs::copy(
        sandbox.path("b.json"),
        sandbox.path(".tracer/baselines/agent.json"),
    )
    .unwrap();
    assert!(sandbox.path("report.json").exists());
    sandbox
}

#[rstest]
#[case::default_policy(".tracer/policy.yaml", MIB, &["assert", FIRST])]
#[case::policy("p.yaml", MIB, &["assert", FIRST, "--policy", "p.yaml"])]
#[case::baseline_to_assert("b.json", 64 * MIB, &["assert", FIRST, "--baseline", "b.json"])]
#[case::baseline_to_compare("b.json", 64 * MIB, &["diff", FIRST, "--baseline", "b.json"])]
#[case::baseline_to_replace("b.json", 64 * MIB, &["accept", FIRST, "--baseline", "b.json", "--reason", "x"])]
#[case::pending_baseline("b.json.new", 64 * MIB, &["accept", "--baseline", "b.json", "--reason", "x"])]
#[case::report("report.json", 64 * MIB, &["baseline", "--from-report", "report.json", "--out", "new.json"])]
#[case::settings(".tracer/config.toml", MIB / 4, &["list"])]
fn project_files_must_be_regular_and_bounded(
    #[case] file: &str,
    #[case] max_bytes: u64,
    #[case] arguments: &[&str],
    #[values(
        Odd::Pipe,
        Odd::Device,
        Odd::Folder,
        Odd::Socket,
        Odd::Sparse,
        Odd::LinkToNowhere,
        Odd::LinkToItself,
        Odd::LinkOutside,
        Odd::Unreadable,
        Odd::Empty
    )]
    odd: Odd,
) {
    let sandbox = project();
    odd.put(&sandbox.path(file), &sandbox.path("."));
    let (outcome, read) = run(&sandbox, arguments);
    let case = format!("{odd:?} in the place of {file}, {arguments:?}: {outcome:?}");
    assert!(read <= max_bytes + BESIDES, "{read} bytes are read: {case}");
    // Root reads whatever it wants to, and of some files nothing is enough.
    let is_read = matches!(odd, Odd::Unreadable | Odd::Empty);
    let is_absent = odd == Odd::LinkToNowhere && file == ".tracer/config.toml";
    if !is_read && !is_absent {
        assert_eq!(outcome.code, Some(2), "{case}");
        assert!(outcome.stderr.contains(file), "{case}");
    }
    let is_large = matches!(odd, Odd::Sparse | Odd::LinkOutside);
    if odd.is_no_regular_file() || is_large {
        assert!(outcome.stderr.contains("a regular file of at most"), "{case}");
    }
}

/// A recorded call of a model.
const CASSETTE: &str = concat!(
    r#"{"cassette":1,"tracer":"0.1.0"}"#,
    "\n",
    r#"{"n":1,"api":"openai.chat","path":"/v1/chat/completions","request":{"model":"gpt-5"},"#,
    r#""response":{"status":200,"headers":{},"body":{"choices":[]}}}"#,
    "\n",
);

#[rstest]
#[case::shown("c.jsonl", 2, &["replay", "c.jsonl", "--show"])]
#[case::replayed("c.jsonl", 125, &["replay", "c.jsonl", "--", "true"])]
#[case::gated("c.jsonl", 2, &["run", "--cassette", "c.jsonl", "--", "true"])]
#[case::answer("answer.json", 125, &["fork", FIRST, "--at", "1", "--edit", "1:answer.json", "--yes", "--", "true"])]
#[case::system_prompt("system.txt", 125, &["fork", FIRST, "--at", "1", "--system", "system.txt", "--yes", "--", "true"])]
#[case::kept_calls("exchanges.jsonl", 125, &["fork", FIRST, "--print-answer", "1"])]
fn recorded_calls_and_edits_must_be_regular_and_bounded(
    #[case] file: &str,
    #[case] code: i32,
    #[case] arguments: &[&str],
    #[values(
        Odd::Pipe,
        Odd::Device,
        Odd::Folder,
        Odd::Socket,
        Odd::Sparse,
        Odd::LinkToNowhere,
        Odd::LinkToItself,
        Odd::LinkOutside
    )]
    odd: Odd,
) {
    let sandbox = project();
    let kept = sandbox.path("data/runs").join(FIRST).join("exchanges.jsonl");
    assert!(kept.parent().unwrap().is_dir());
    for path in [&sandbox.path("c.jsonl"), &kept] {
        fs::write(path, CASSETTE).unwrap();
    }
    for name in ["answer.json", "system.txt"] {
        fs::write(sandbox.path(name), "{}").unwrap();
    }
    let is_kept = file == "exchanges.jsonl";
    let path = if is_kept { kept } else { sandbox.path(file) };
    odd.put(&path, &sandbox.path("."));
    let (outcome, read) = run(&sandbox, arguments);
    let case = format!("{odd:?} in the place of {file}, {arguments:?}: {outcome:?}");
    assert!(read <= MIB + BESIDES, "{read} bytes are read: {case}");
    assert_eq!(outcome.code, Some(code), "{case}");
    assert!(is_kept || outcome.stderr.contains(file), "{case}");
    let is_large = matches!(odd, Odd::Sparse | Odd::LinkOutside);
    if !is_kept && (odd.is_no_regular_file() || is_large) {
        assert!(outcome.stderr.contains("a regular file of at most"), "{case}");
    }
}

#[rstest]
fn a_cassette_replaces_a_regular_file_only(
    #[values(Odd::Pipe, Odd::Device, Odd::Folder, Odd::Socket)] odd: Odd,
) {
    let sandbox = project();
    odd.put(&sandbox.path("c.jsonl"), &sandbox.path("."));
    let (outcome, _) = run(
        &sandbox,
        &["record", "--force", "--cassette", "c.jsonl", "--", "true"],
    );
    assert_eq!(outcome.code, Some(125), "{odd:?}: {outcome:?}");
    assert!(
        outcome.stderr.contains("c.jsonl: it is no regular file"),
        "{odd:?}: {outcome:?}"
    );
}

#[rstest]
#[case::metadata("meta.json", "ok")]
#[case::log("spans.jsonl", "ok")]
#[case::log_of_a_running_run("spans.jsonl", "running")]
#[case::live_file(".live", "running")]
fn run_files_must_be_regular_and_bounded(
    #[case] file: &str,
    #[case] status: &str,
    #[values(
        Odd::Pipe,
        Odd::Device,
        Odd::Folder,
        Odd::Socket,
        Odd::Sparse,
        Odd::LinkToNowhere,
        Odd::LinkToItself,
        Odd::LinkOutside,
        Odd::Unreadable,
        Odd::Empty
    )]
    odd: Odd,
) {
    // Of a log without line breaks so much is read: the longest line, and what is passed over behind it.
    let most = |file: &str| match file {
        "spans.jsonl" => 3 * 128 * MIB,
        _ => 16 * MIB,
    };
    let commands: [&[&str]; 8] = [
        &["list"],
        &["list", "--json"],
        &["show", FIRST],
        &["show", FIRST, "--json"],
        &["validate-trace"],
        &["export", FIRST, "--out", "-"],
        &["assert", FIRST],
        &["repair", FIRST],
    ];
    // What a small file is, the others show; a log of this size is read in several of them.
    for arguments in commands {
        let sandbox = Sandbox::new();
        let directory = sandbox.run(FIRST, "support-agent", 1, status);
        odd.put(&directory.join(file), &sandbox.path("."));
        let path = directory.display().to_string();
        let with_path = [arguments, &[path.as_str()]].concat();
        let is_validation = arguments[0] == "validate-trace";
        let (outcome, read) = run(&sandbox, if is_validation { &with_path } else { arguments });
        let case =
            format!("{odd:?} in the place of {file} of a run that is {status}, {arguments:?}: {outcome:?}");
        // The index and the list are made of two looks.
        assert!(read <= 2 * most(file) + BESIDES, "{read} bytes are read: {case}");
        assert!(matches!(outcome.code, Some(0..=2)), "{case}");
        let is_refused = odd.is_no_regular_file()
            || matches!(odd, Odd::LinkToNowhere | Odd::LinkToItself | Odd::LinkOutside);
        if is_refused && file != ".live" && is_validation {
            assert!(matches!(outcome.code, Some(1 | 2)), "{case}");
            let reported = format!("{file}: is not a regular file");
            assert!(
                outcome.stdout.contains(&reported) || outcome.stderr.contains(&reported),
                "{case}"
            );
        }
        if arguments == ["list"] && file != ".live" && (is_refused || odd == Odd::Sparse) && status == "ok" {
            assert!(outcome.stdout.contains("damaged\t"), "{case}");
        }
    }
}

#[rstest]
#[case::policy(".tracer/policy.yaml")]
#[case::baseline(".tracer/baselines/agent.json")]
#[case::page("page/page.css")]
fn the_viewer_answers_with_odd_project_files(
    #[case] file: &str,
    #[values(
        Odd::Pipe,
        Odd::Device,
        Odd::Folder,
        Odd::Socket,
        Odd::Sparse,
        Odd::LinkToNowhere,
        Odd::LinkToItself,
        Odd::LinkOutside,
        Odd::Unreadable,
        Odd::Empty
    )]
    odd: Odd,
) {
    let sandbox = project();
    fs::create_dir(sandbox.path("page")).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/view/page");
    for entry in fs::read_dir(page).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), sandbox.path("page").join(entry.file_name())).unwrap();
    }
    odd.put(&sandbox.path(file), &sandbox.path("."));
    let viewer = Viewer::start_with(&sandbox, &["--page-files", "page"]);
    let read_before = read_by(&viewer);
    for path in [
        format!("/api/diff?a={FIRST}&b={SECOND}"),
        format!("/api/diff?a={FIRST}&baseline=agent"),
        "/api/baselines".to_owned(),
        "/assets/x/page.css".to_owned(),
        "/api/runs".to_owned(),
    ] {
        let response = viewer.get(&path);
        assert!(
            (200..500).contains(&response.status),
            "{odd:?} {file} {path}: {response:?}"
        );
    }
    let read = read_by(&viewer) - read_before;
    assert!(
        read <= 2 * 64 * MIB + BESIDES,
        "{read} bytes are read: {odd:?} {file}"
    );
    if odd.is_no_regular_file() && file == ".tracer/policy.yaml" {
        let answer = viewer.json(&format!("/api/diff?a={FIRST}&b={SECOND}"));
        let message = answer["policy"]["problem"]["message"].as_str().unwrap();
        assert!(
            message.contains("policy.yaml") && message.contains("a regular file of at most"),
            "{message}"
        );
    }
}

fn read_by(viewer: &Viewer) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{}/io", viewer.child.id())).unwrap();
    let read = counts
        .lines()
        .find_map(|line| line.strip_prefix("rchar: "))
        .unwrap();
    read.parse().unwrap()
}

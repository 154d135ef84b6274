//! Disks that really fail: read-only, full, gone, in the way. The traced program goes well each time, says so at most once
//! on standard error, and every span is accounted for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use tracer_runs::{Liveness, LoadedRun, RunReader, Strictness, probe_liveness};
use tracer_sdk::format::RecordedStatus;
use tracer_sdk::settings::Flush;
use tracer_sdk::{Run, RunGuard, tool_call};
use tracer_tests::{DataDir, Finished};

const AGENT: &str = env!("CARGO_BIN_EXE_disk_agent");
/// What the agent records: three rounds of calls, and the run itself.
const SPANS: u64 = 3 * 40 + 1;
/// A user of whom the system knows nothing, no home either.
const UNKNOWN_USER: u32 = 54_321;

/// What the agent said.
struct AgentOutput {
    directory: PathBuf,
    written: u64,
    dropped: u64,
    warnings: usize,
}

/// Runs the agent in an environment with nothing but a home; it must go well.
fn run_agent(command: &mut Command) -> AgentOutput {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRACER_")) {
        if !command.get_envs().any(|(given, _)| given == name) {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {errors}");
    let reported: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(reported["answer"], 42);
    let number = |key: &str| reported[key].as_u64().unwrap();
    assert_eq!(number("written") + number("dropped"), SPANS, "{reported}");
    let warnings = errors.lines().filter(|line| line.starts_with("tracer: ")).count();
    assert_eq!(warnings, errors.lines().count(), "{errors}");
    AgentOutput {
        directory: PathBuf::from(reported["directory"].as_str().unwrap()),
        written: number("written"),
        dropped: number("dropped"),
        warnings,
    }
}

/// Runs the agent as another user, where that is allowed and that user may run it.
fn become_another_user(command: &mut Command) -> bool {
    let mut trial = Command::new(AGENT);
    trial
        .uid(UNKNOWN_USER)
        .env("TRACER_ENABLED", "0")
        .current_dir("/");
    let may = trial.output().is_ok_and(|trial| trial.status.success());
    if may {
        command.uid(UNKNOWN_USER);
    }
    may
}

/// Says aloud that a test could not be done here.
#[expect(clippy::print_stdout, reason = "who runs the test reads it")]
fn skip(why: &str) {
    println!("SKIPPED: {why}");
}

#[test]
fn a_data_directory_that_cannot_be_written_loses_everything_and_hurts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = Command::new(AGENT);
    command
        .env("TRACER_DATA_DIR", locked.join("data"))
        .current_dir("/");
    // Permissions mean nothing to the superuser.
    if nix::unistd::Uid::effective().is_root() && !become_another_user(&mut command) {
        return skip("another user may not run the test programs");
    }
    let reported = run_agent(&mut command);
    assert_eq!(
        (reported.written, reported.dropped, reported.warnings),
        (0, SPANS, 1)
    );
    assert_eq!(fs::read_dir(&locked).unwrap().count(), 0);
}

#[test]
fn a_file_in_the_place_of_the_data_directory_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    fs::write(&file, "mine").unwrap();
    let reported = run_agent(Command::new(AGENT).env("TRACER_DATA_DIR", &file));
    assert_eq!(
        (reported.written, reported.dropped, reported.warnings),
        (0, SPANS, 1)
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_home_that_is_not_there_hurts_nothing() {
    let reported = run_agent(Command::new(AGENT).env("HOME", "/dev/null"));
    assert_eq!(
        (reported.written, reported.dropped, reported.warnings),
        (0, SPANS, 1)
    );
}

#[test]
fn without_a_home_runs_are_kept_in_the_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(AGENT);
    command.env_remove("HOME").current_dir(folder.path());
    if !become_another_user(&mut command) {
        // The system knows the home of whoever runs this, whatever the environment says.
        return skip("only the superuser can run a program as a user without a home");
    }
    let reported = run_agent(&mut command);
    assert_eq!(
        (reported.written, reported.dropped, reported.warnings),
        (SPANS, 0, 0)
    );
    let kept = fs::canonicalize(folder.path()).unwrap().join(".tracer");
    assert!(reported.directory.starts_with(kept));
    assert_eq!(Finished::open(&reported.directory).status(), RecordedStatus::Ok);
}

/// A run with one call before something happens to its files, and one after.
fn interrupted_by(data: &DataDir, harm: impl FnOnce(&Path)) -> (RunGuard, PathBuf) {
    let run = Run::new("harmed").config(&data.config()).start();
    let directory = run.dir().unwrap();
    tool_call("before").record().unwrap();
    harm(&directory);
    tool_call("after").record().unwrap();
    (run, directory)
}

#[test]
fn what_was_written_into_a_directory_that_vanished_is_not_claimed() {
    let data = DataDir::new();
    let (run, directory) = interrupted_by(&data, |directory| fs::remove_dir_all(directory).unwrap());
    let stats = run.finish();
    assert_eq!((stats.written, stats.dropped), (0, 3));
    assert!(!directory.exists(), "a run that was deleted stays deleted");
}

#[test]
fn a_run_that_was_moved_away_is_not_claimed_and_stays_readable() {
    let data = DataDir::new();
    let elsewhere = data.path().join("elsewhere");
    let (run, _) = interrupted_by(&data, |directory| fs::rename(directory, &elsewhere).unwrap());
    let stats = run.finish();
    assert_eq!((stats.written, stats.dropped), (0, 3));
    assert_eq!(
        RunReader::open(&elsewhere, Strictness::Lenient)
            .unwrap()
            .span_count,
        3
    );
}

#[test]
fn a_deleted_log_interrupts_the_run() {
    let data = DataDir::new();
    let (run, directory) = interrupted_by(&data, |directory| {
        fs::remove_file(directory.join("spans.jsonl")).unwrap();
    });
    let stats = run.finish();
    assert_eq!((stats.written, stats.dropped), (0, 3));
    let run = LoadedRun::read(&directory).unwrap();
    assert_eq!((run.meta.status, run.spans.len()), (RecordedStatus::Running, 0));
    assert_eq!(run.meta.additional["dropped"]["spans"], 3);
    assert_eq!(
        probe_liveness(&directory, RecordedStatus::Running),
        Liveness::Interrupted
    );
}

fn cut(log: &Path, length: u64) {
    fs::OpenOptions::new()
        .write(true)
        .open(log)
        .unwrap()
        .set_len(length)
        .unwrap();
}

fn append(log: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    fs::OpenOptions::new()
        .append(true)
        .open(log)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

/// Where the lines end.
fn lines(log: &Path) -> Vec<usize> {
    let text = fs::read(log).unwrap();
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(end, _)| end).collect()
}

/// What the change does to the log, which says what must be reported.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Harm {
    Empties,
    Changes,
    Replaces,
}

#[rstest]
#[case::emptied(Harm::Empties, |log: &Path| fs::write(log, "").unwrap())]
#[case::cut_after_its_first_line(Harm::Changes, |log: &Path| cut(log, lines(log)[0] as u64 + 1))]
#[case::cut_within_its_last_line(Harm::Changes, |log: &Path| cut(log, fs::metadata(log).unwrap().len() - 7))]
#[case::cut_within_its_first_line(Harm::Changes, |log: &Path| cut(log, 20))]
#[case::grown_by_what_is_no_span(Harm::Changes, |log: &Path| append(log, b"a note\n"))]
#[case::grown_by_part_of_a_line(Harm::Changes, |log: &Path| append(log, b"{\"trace_id\":\""))]
#[case::emptied_and_filled_with_zeros(Harm::Empties, |log: &Path| {
    let length = fs::metadata(log).unwrap().len();
    cut(log, 0);
    cut(log, length + 10);
})]
#[case::moved_away(Harm::Replaces, |log: &Path| fs::rename(log, log.with_extension("1")).unwrap())]
#[case::replaced_by_its_copy(Harm::Replaces, |log: &Path| {
    fs::copy(log, log.with_extension("copy")).unwrap();
    fs::rename(log.with_extension("copy"), log).unwrap();
})]
fn a_changed_log_is_never_reported_as_whole(#[case] harm: Harm, #[case] change: fn(&Path)) {
    /// A span, three rounds of a step with two calls, and the run.
    const SPANS: u64 = 1 + 3 * 3 + 1;
    for when in 0..=3 {
        for flush in [Flush::Each, Flush::Batched] {
            for shared in [false, true] {
                let reported = format!("before round {when}, {flush:?}, shared: {shared}");
                let data = DataDir::new();
                let run = Run::new("harmed").config(&data.config().flush(flush)).start();
                let directory = run.dir().unwrap();
                let log = directory.join("spans.jsonl");
                if shared {
                    let _ = run.context().unwrap().share();
                }
                tracer_sdk::span("before").start().end();
                run.flush();
                for round in 0..4 {
                    if round == when {
                        change(&log);
                    }
                    if round == 3 {
                        break;
                    }
                    let step = tracer_sdk::span("step").start();
                    step.in_scope(|| {
                        // Names of their own, so that nothing looks like a loop.
                        tool_call(format!("first {round}")).record().unwrap();
                        tool_call(format!("second {round}")).record().unwrap();
                    });
                    step.end();
                    run.flush();
                }
                let stats = run.finish();
                assert_eq!(stats.written + stats.dropped, SPANS, "{reported}: {stats:?}");
                let meta: Value =
                    serde_json::from_slice(&fs::read(directory.join("meta.json")).unwrap()).unwrap();
                let dropped = meta["dropped"]["spans"].as_u64().unwrap_or(0);
                assert_eq!(dropped, stats.dropped, "{reported}");
                if meta["status"] == "running" {
                    continue;
                }
                if shared {
                    // What other processes wrote is not known here: readers tell what is no span of the run.
                    continue;
                }
                let run =
                    LoadedRun::read(&directory).unwrap_or_else(|invalid| panic!("{reported}: {invalid:#?}"));
                let is_own =
                    |span: &&tracer_sdk::format::SpanRecord| !span.attributes.contains_key("tracer.lost");
                assert_eq!(
                    run.spans.iter().filter(is_own).count() as u64,
                    stats.written,
                    "{reported}"
                );
                assert_eq!(
                    run.meta.counts,
                    tracer_runs::count_records(&run.records()),
                    "{reported}"
                );
                assert!(harm != Harm::Empties || stats.dropped > 0, "{reported}");
                assert!(harm != Harm::Replaces, "{reported}");
            }
        }
    }
}

#[test]
fn an_emptied_log_interrupts_the_run() {
    let data = DataDir::new();
    let run = Run::new("emptied").config(&data.config()).start();
    let directory = run.dir().unwrap();
    let step = tracer_sdk::span("step").start();
    step.in_scope(|| tool_call("before").record().unwrap());
    let context = step.context();
    step.end();
    fs::write(directory.join("spans.jsonl"), "").unwrap();
    // Its parent is gone with the file.
    context.unwrap().in_scope(|| tool_call("after").record().unwrap());
    run.finish();
    let meta: Value = serde_json::from_slice(&fs::read(directory.join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["status"], "running", "what is gone is not known");
}

/// Runs a shell script in a mount namespace of its own, where it may mount; `None`, and said aloud, where that is not
/// allowed.
fn with_mounts(script: &str, arguments: &[&Path]) -> Option<Command> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-ec", script, "sh"]);
        command
    };
    let folder = tempfile::tempdir().unwrap();
    let trial = unshare("mount -t tmpfs tmpfs \"$1\"").arg(folder.path()).output();
    if !trial.is_ok_and(|trial| trial.status.success()) {
        skip("nothing can be mounted here");
        return None;
    }
    let mut command = unshare(script);
    command.args(arguments);
    Some(command)
}

/// Fills a disk of `size` under a run to its last byte and frees it again; what the agent said, and the run.
fn on_a_disk_that_fills_up(size: &str, flush: &str) -> Option<(AgentOutput, Finished)> {
    let (mount, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // The mount is gone with the script, so what is left on it is copied.
    let script =
        "mount -t tmpfs -o size=$1 tmpfs \"$2\"; \"$3\" --fill \"$2/filler\"; cp -r \"$2/data/.\" \"$4\"";
    let arguments = [Path::new(size), mount.path(), Path::new(AGENT), copy.path()];
    let mut command = with_mounts(script, &arguments)?;
    command
        .env("TRACER_DATA_DIR", mount.path().join("data"))
        .env("TRACER_FLUSH", flush);
    let reported = run_agent(&mut command);
    let run = Finished::open(
        &copy
            .path()
            .join("runs")
            .join(reported.directory.file_name().unwrap()),
    );
    assert_eq!(run.status(), RecordedStatus::Ok, "{size}");
    assert_eq!(run.run.spans.len() as u64, reported.written, "{size}");
    Some((reported, run))
}

#[test]
fn a_full_disk_costs_only_its_spans() {
    for size in ["128k", "200k", "1m"] {
        let Some((reported, run)) = on_a_disk_that_fills_up(size, "each") else {
            return;
        };
        assert_eq!(reported.warnings, 1, "{size}");
        assert!(reported.dropped > 0, "the disk was never full: {size}");
        assert!(
            reported.written > SPANS - 41,
            "only the second round may be lost: {size}"
        );
        assert_eq!(
            run.run.meta.additional["dropped"]["spans"], reported.dropped,
            "{size}"
        );
    }
}

#[test]
fn a_batch_waits_for_a_disk_that_is_full_for_a_while() {
    let Some((reported, run)) = on_a_disk_that_fills_up("200k", "batched") else {
        return;
    };
    assert_eq!(
        (reported.written, reported.dropped, reported.warnings),
        (SPANS, 0, 0)
    );
    assert_eq!(run.run.meta.additional.get("dropped"), None);
}

#[test]
fn a_file_system_that_becomes_read_only_loses_what_comes_after() {
    let mount = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs tmpfs \"$1\"; mount -o remount,ro \"$1\"; exec \"$2\"";
    let Some(mut command) = with_mounts(script, &[mount.path(), Path::new(AGENT)]) else {
        return;
    };
    let reported = run_agent(command.env("TRACER_DATA_DIR", mount.path().join("data")));
    assert_eq!(
        (reported.written, reported.dropped, reported.warnings),
        (0, SPANS, 1)
    );
}

#[test]
fn a_limit_on_the_size_of_files_costs_what_does_not_fit() {
    let data = DataDir::new();
    // A shell's unit is 512 bytes. A program that does not ignore the signal is ended by the system itself.
    let script = "trap '' XFSZ; ulimit -f 32; exec \"$1\"";
    let mut command = Command::new("sh");
    command
        .args(["-ec", script, "sh", AGENT])
        .env("TRACER_DATA_DIR", data.path());
    let reported = run_agent(&mut command);
    assert!(reported.written > 0 && reported.dropped > 0);
    assert_eq!(reported.warnings, 1);
    let run = LoadedRun::read(&reported.directory).unwrap();
    assert_eq!(
        run.meta.status,
        RecordedStatus::Running,
        "there is no room for the run's own span"
    );
    assert_eq!(run.spans.len() as u64, reported.written);
    assert_eq!(run.meta.additional["dropped"]["spans"], reported.dropped);
    assert_eq!(
        probe_liveness(&reported.directory, RecordedStatus::Running),
        Liveness::Interrupted
    );
}

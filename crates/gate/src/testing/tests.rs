//! Tests of agents against baselines.

use std::fs;
use std::path::Path;

use super::BaselineTest;
use tracer_sdk::{Usage, llm_call, tool_call};

fn good() -> bool {
    let done = tool_call("search").args(&"refunds").record();
    llm_call("gpt-5").usage(Usage::new(40, 6)).record().is_ok() && done.is_ok()
}

fn test(package: &Path) -> BaselineTest {
    BaselineTest::new(package, "support agent").trials(3)
}

fn baseline(package: &Path) -> std::path::PathBuf {
    package.join(".tracer/baselines/support-agent.json")
}

fn pending(package: &Path) -> std::path::PathBuf {
    package.join(".tracer/baselines/support-agent.json.new")
}

/// A package whose baseline is what `good` does.
fn accepted() -> tempfile::TempDir {
    let package = tempfile::tempdir().unwrap();
    test(package.path()).outcome_where(good, false).unwrap_err();
    fs::rename(pending(package.path()), baseline(package.path())).unwrap();
    package
}

#[test]
fn without_a_baseline_what_was_seen_waits_to_be_accepted() {
    let package = tempfile::tempdir().unwrap();
    let message = test(package.path()).outcome_where(good, false).unwrap_err();
    let (path, new) = (baseline(package.path()), pending(package.path()));
    let (path, new) = (path.display(), new.display());
    assert_eq!(
        message,
        format!(
            "`support agent` has no baseline yet; it ran 3 times to make one\n\
             seen: 2 steps, 1 model call, 1 tool call, 46 tokens\ntools: search\n\
             what was seen is in {new}; when it is right, check it in:\n  mv '{new}' '{path}'"
        )
    );
    let text = fs::read(pending(package.path())).unwrap();
    assert_eq!(crate::Baseline::parse(&text).unwrap().trials.len(), 3);
}

#[test]
fn the_same_behaviour_passes_and_clears_what_waited() {
    let package = accepted();
    fs::write(pending(package.path()), "out of date").unwrap();
    test(package.path()).outcome_where(good, true).unwrap();
    assert!(pending(package.path()).exists(), "on CI nothing is touched");
    test(package.path()).outcome_where(good, false).unwrap();
    assert!(!pending(package.path()).exists());
}

#[test]
fn worse_behaviour_fails_with_what_changed_and_the_command_that_accepts_it() {
    let package = accepted();
    let worse = || good() && (0..3).all(|_| tool_call("escalate").args(&"again").record().is_ok());
    let message = test(package.path()).outcome_where(worse, false).unwrap_err();
    let (path, new) = (baseline(package.path()), pending(package.path()));
    let (path, new) = (path.display(), new.display());
    assert_eq!(
        message,
        format!(
            "`support agent` behaves worse than its baseline, a sample of 3 runs:
  ✗ step_count: failed; allowed: at most 3 (baseline 2); seen: 6 in all trials; trials: 1–3
  ✗ tool_call_count: failed; allowed: at most 1.5 (baseline 1); seen: 4 in all trials; trials: 1–3
  ✗ no_loops: failed; allowed: no calls are repeated in a loop; seen: broken in 3 of 3 trials: escalate ×3, steps 3 to 5; trials: 1–3
  ✗ no_new_tools: failed; allowed: no tool is called that the baseline does not know; seen: broken in 3 of 3 trials: called escalate; trials: 1–3
what changed:
  calls a new tool: escalate, in all 3 trials
  calls escalate up to 3 times, in all 3 trials
  repeats up to 1 call (was 0), in all 3 trials
  steps: 2 → 6, the median, +4 (+200 %)
  tool calls: 1 → 4, the median, +3 (+300 %)
  loop warnings: 0 → 1, the median, +1 (was none)
what was seen is in {new}; when it is right:
  tracer accept --baseline '{path}' --reason 'why it is right'"
        )
    );
    let text = fs::read(pending(package.path())).unwrap();
    assert_eq!(crate::Baseline::parse(&text).unwrap().trials.len(), 3);
    // What is checked in is never touched.
    test(package.path()).outcome_where(good, false).unwrap();
}

#[test]
fn calls_that_found_no_run_are_no_baseline() {
    let package = tempfile::tempdir().unwrap();
    let detached = || {
        let tool = std::thread::spawn(|| tool_call("search").record().is_ok());
        tool.join().unwrap() && llm_call("gpt-5").usage(Usage::new(40, 6)).record().is_ok()
    };
    let message = test(package.path()).outcome_where(detached, false).unwrap_err();
    assert!(
        message.starts_with("`support agent` has no tool call, and "),
        "{message}"
    );
    assert!(message.contains(".in_current_run()"), "{message}");
    assert!(!pending(package.path()).exists(), "nothing to accept");
}

#[test]
fn nothing_is_written_on_ci() {
    let package = tempfile::tempdir().unwrap();
    let message = test(package.path()).outcome_where(good, true).unwrap_err();
    assert!(
        message.contains("nothing was written, because the environment variable CI is set"),
        "{message}"
    );
    assert_eq!(fs::read_dir(package.path()).unwrap().count(), 0);
}

#[test]
fn an_agent_that_does_not_succeed_fails() {
    let package = accepted();
    let message = test(package.path()).outcome_where(|| !good(), false).unwrap_err();
    assert!(message.contains("stop_condition_reached"), "{message}");
    assert!(
        message.contains("ends error (was ok), in all 3 trials"),
        "{message}"
    );
}

#[test]
fn a_value_that_is_no_longer_known_does_not_pass() {
    let package = accepted();
    let untold =
        || tool_call("search").args(&"refunds").record().is_ok() && llm_call("gpt-5").record().is_ok();
    let message = test(package.path()).outcome_where(untold, false).unwrap_err();
    assert!(
        message.starts_with("`support agent` cannot be compared with its baseline"),
        "{message}"
    );
    assert!(
        message.contains("? cost_tokens: undecided; allowed: at most 69 (baseline 46); seen: unknown; trials: unknown in 1–3"),
        "{message}"
    );
}

#[test]
fn another_policy_can_be_given() {
    let package = accepted();
    let policy =
        "version: 2\ntrials: 2\nmetrics:\n  required_tools: {kind: invariant, all_of: [send_reply]}\n";
    let test = |policy: &str| BaselineTest::new(package.path(), "support agent").policy(policy);
    let message = test(policy).outcome_where(good, false).unwrap_err();
    assert!(
        message.contains(
            "allowed: all of these tools are called: send_reply; seen: broken in 2 of 2 trials: no call of send_reply"
        ),
        "{message}"
    );
    let message = test("version: 2\nmetrics: {no_loop: {}}\n")
        .outcome_where(good, false)
        .unwrap_err();
    assert!(
        message.starts_with("the policy of `support agent` cannot be used: 2:11: metrics.no_loop"),
        "{message}"
    );
}

#[test]
fn a_baseline_that_was_edited_is_refused_before_the_agent_runs() {
    let package = accepted();
    let text = fs::read_to_string(baseline(package.path())).unwrap();
    fs::write(
        baseline(package.path()),
        text.replace("\"forced\": false", "\"forced\": true"),
    )
    .unwrap();
    let message = test(package.path())
        .outcome_where(|| panic!("it runs"), false)
        .unwrap_err();
    assert!(
        message.starts_with("the baseline of `support agent` cannot be used:"),
        "{message}"
    );
    let hint = "\nhint: delete the file, run the test again, and check in what it writes";
    assert!(message.ends_with(hint), "{message}");
}

#[test]
fn names_that_are_no_file_names_stay_in_the_folder() {
    let package = tempfile::tempdir().unwrap();
    let message = BaselineTest::new(package.path(), "../../team/agent: x")
        .outcome_where(good, false)
        .unwrap_err();
    assert!(
        message.contains(".tracer/baselines/team-agent-x.json.new"),
        "{message}"
    );
}

#[cfg(unix)]
#[test]
fn a_baseline_that_is_no_small_regular_file_fails_the_test_at_once_and_by_name() {
    type Put = fn(&Path);
    let odd: [(&str, Put); 4] = [
        ("a pipe", |path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }),
        ("a device", |path| {
            std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        }),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("longer than 64 MiB", |path| {
            fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
        }),
    ];
    for (what, put) in odd {
        let package = tempfile::tempdir().unwrap();
        let path = baseline(package.path());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path);
        let message = test(package.path()).outcome_where(good, true).unwrap_err();
        let reported = format!("support-agent.json: it is {what}; a regular file of at most 64 MiB is read");
        assert!(message.contains(&reported), "{message}");
    }
}

//! `tracer init`: a policy and a workflow that are never written over what is there.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sandbox::Sandbox;

#[test]
fn it_writes_a_policy_and_with_an_option_a_workflow() {
    let sandbox = Sandbox::without_data_directory();
    let outcome = sandbox.tracer(&["init"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stdout, "✓ wrote .tracer/policy.yaml\n");
    assert!(outcome.stderr.contains("tracer run -- "), "{outcome:?}");
    assert!(!sandbox.path(".github").exists());

    let sandbox = Sandbox::without_data_directory();
    let outcome = sandbox.tracer(&["init", "--github", "--", "python", "my agent.py"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let workflow = fs::read_to_string(sandbox.path(".github/workflows/tracer.yml")).unwrap();
    assert!(workflow.contains("-- python 'my agent.py' >"), "{workflow}");
    assert!(!workflow.contains("@COMMAND@") && !workflow.contains("@MARKER@"));
    assert!(!workflow.contains("secrets."), "a workflow that needs a secret");
}

#[test]
fn what_runs_recorded_is_gated_on() {
    let sandbox = Sandbox::without_data_directory();
    sandbox.tracer(&["demo"]);
    let outcome = sandbox.tracer(&["init"]);
    assert!(
        outcome
            .stderr
            .contains("turned on what the runs here recorded: tool_call_count and cost_tokens"),
        "{outcome:?}"
    );
    let policy = fs::read_to_string(sandbox.path(".tracer/policy.yaml")).unwrap();
    assert!(policy.contains("\n  tool_call_count: {"), "{policy}");
    assert!(policy.contains("\n  cost_tokens: {"), "{policy}");
}

#[test]
fn agents_that_do_not_record_themselves_are_captured_by_the_gate() {
    let sandbox = Sandbox::without_data_directory();
    sandbox.tracer(&["demo"]);
    assert!(!sandbox.tracer(&["init"]).stderr.contains("--capture"));
    sandbox.tracer(&["record", "--", env!("CARGO_BIN_EXE_tracer"), "--version"]);
    let outcome = sandbox.tracer(&["init", "--force"]);
    assert!(outcome.stderr.contains("tracer run --capture -- "), "{outcome:?}");
}

#[test]
fn what_is_there_is_not_written_over_without_force() {
    let sandbox = Sandbox::without_data_directory();
    let policy = sandbox.path(".tracer/policy.yaml");
    fs::create_dir(sandbox.path(".tracer")).unwrap();
    fs::write(&policy, "mine").unwrap();
    sandbox.tracer(&["init"]).fails(
        2,
        &["error: `.tracer/policy.yaml` exists already", "hint: ", "--force"],
    );
    let outcome = sandbox.tracer(&["init", "--github"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stdout, "✓ wrote .github/workflows/tracer.yml\n");
    assert!(
        outcome
            .stderr
            .contains("kept .tracer/policy.yaml: it exists already")
    );
    assert_eq!(fs::read_to_string(&policy).unwrap(), "mine");
    sandbox
        .tracer(&["init", "--github"])
        .fails(2, &["exists already"]);

    let outcome = sandbox.tracer(&["init", "--force"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(fs::read_to_string(&policy).unwrap().contains("version: 2"));
}

#[test]
fn a_command_that_does_not_fit_into_the_workflow_is_refused() {
    let sandbox = Sandbox::without_data_directory();
    sandbox
        .tracer(&["init", "--github", "--", "sh", "-c", "one\ntwo"])
        .fails(2, &["control character", "hint: "]);
    sandbox.tracer(&["init", "--", "agent"]).fails(2, &["--github"]);
    assert!(!sandbox.path(".tracer").exists());
}

#[test]
fn its_policy_passes_a_healthy_agent_as_it_is() {
    let sandbox = Sandbox::without_data_directory();
    assert_eq!(sandbox.tracer(&["init"]).code, Some(0));
    let agent = env!("CARGO_BIN_EXE_tracer");
    let outcome = sandbox.tracer(&["run", "--jobs", "3", "--", agent, "demo"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with("✓ PASS"), "{outcome:?}");
    // A name that stands in for the user's own checks nothing, and counts as nothing.
    assert!(!outcome.stdout.contains("forbidden_tools"), "{outcome:?}");
}

/// The step of a workflow with this name, or that uses this action the `n`-th time: where it begins, and its script.
fn step(workflow: &str, name: &str) -> (usize, String) {
    let begin = workflow.find(name).unwrap_or_else(|| panic!("no step {name}"));
    let rest = &workflow[begin..];
    let end = rest.find("\n\n      ").unwrap_or(rest.len());
    let script = rest[..end]
        .split_once("run: |\n")
        .map_or("", |(_, script)| script);
    (
        begin,
        script
            .lines()
            .map(|line| line.trim_start_matches("          ").to_owned() + "\n")
            .collect(),
    )
}

/// A repository with a policy in its base commit, and a change that would loosen it; the steps of the workflow run in it.
struct Runner {
    sandbox: Sandbox,
    workflow: String,
}

impl Runner {
    /// With what the base commit has below `.tracer`.
    fn new(base_policy: Option<&str>) -> Self {
        let sandbox = Sandbox::new();
        let agent = format!("'{}' demo > /dev/null", env!("CARGO_BIN_EXE_tracer"));
        assert_eq!(
            sandbox
                .tracer(&["init", "--github", "--", "sh", "-c", &agent])
                .code,
            Some(0)
        );
        let workflow = fs::read_to_string(sandbox.path(".github/workflows/tracer.yml")).unwrap();
        let runner = Self { sandbox, workflow };
        for folder in ["temp", "repository/.tracer", "bin"] {
            fs::create_dir_all(runner.sandbox.path(folder)).unwrap();
        }
        // Stands in for what installs from a repository: what it is asked for is the program of this build.
        let cargo = format!(
            "#!/bin/sh\npwd > '{0}/installed-in'; echo \"$@\" > '{0}/installed'\n\
             mkdir -p '{0}/temp/tracer/bin' && ln -s '{1}' '{0}/temp/tracer/bin/tracer'\n",
            runner.sandbox.path("").display(),
            env!("CARGO_BIN_EXE_tracer")
        );
        runner.write("bin/cargo", &cargo);
        runner.shell("chmod +x bin/cargo && cd repository && git init --quiet && git config user.name ada && git config user.email a@b.c");
        if let Some(policy) = base_policy {
            runner.write("repository/.tracer/policy.yaml", policy);
        }
        runner.write("repository/README.md", "");
        runner.commit();
        runner
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.sandbox.path(name), text).unwrap();
    }

    fn commit(&self) {
        self.shell("cd repository && git add . && git commit --quiet --message next");
    }

    fn shell(&self, script: &str) {
        let output = self.command(self.sandbox.path("").as_path(), script, &[]);
        assert!(output.status.success(), "{script}: {output:?}");
    }

    fn command(&self, folder: &Path, script: &str, environment: &[(&str, &str)]) -> std::process::Output {
        let path = format!(
            "{}:{}",
            self.sandbox.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        Command::new("bash")
            .args(["-e", "-c", script])
            .current_dir(folder)
            .env("PATH", path)
            .env("RUNNER_TEMP", self.sandbox.path("temp"))
            .env("GITHUB_WORKSPACE", self.sandbox.path("repository"))
            .env("GITHUB_OUTPUT", self.sandbox.path("output"))
            .env("TRACER_DATA_DIR", self.sandbox.path("data"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    /// Runs the script of a step in the repository.
    fn step(&self, name: &str, environment: &[(&str, &str)]) -> std::process::Output {
        let (_, script) = step(&self.workflow, name);
        assert!(!script.is_empty(), "{name}");
        let folder = if name.contains("Install") {
            "temp"
        } else {
            "repository"
        };
        self.command(&self.sandbox.path(folder), &script, environment)
    }

    /// The steps before the agent is built, with the change checked out where the workflow does that.
    fn prepare(&self, change: impl FnOnce(&Self)) -> String {
        let filled_in = [
            ("TRACER_GIT", "https://example.org/tracer"),
            ("TRACER_REV", REVISION),
        ];
        assert!(
            self.step("- name: Take policy and baseline", &[])
                .status
                .success()
        );
        let installed = self.step("- name: Install tracer", &filled_in);
        assert!(installed.status.success(), "{installed:?}");
        change(self);
        self.commit();
        let first = self.step("- name: Take the first policy", &[]);
        assert!(first.status.success(), "{first:?}");
        let output = fs::read_to_string(self.sandbox.path("output")).unwrap();
        output.trim().strip_prefix("digest=").unwrap().to_owned()
    }

    fn gate(&self, digest: &str) -> std::process::Output {
        self.step("- name: Gate\n", &[("DIGEST", digest)])
    }
}

const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";
const STRICT: &str =
    "version: 2\ntrials: 1\nmetrics: {required_tools: {kind: invariant, all_of: [no_such_tool]}}\n";
const LOOSE: &str = "version: 2\ntrials: 1\nmetrics: {stop_condition_reached: {kind: invariant}}\n";

#[test]
fn the_workflow_takes_rules_from_the_base() {
    let runner = Runner::new(Some(STRICT));
    let order = [
        "ref: ${{ github.event.pull_request.base.sha }}",
        "- name: Take policy and baseline",
        "- name: Install tracer",
        "# Now the change",
        "- name: Take the first policy",
        "- name: Build the agent",
        "- name: Gate\n",
    ];
    let places: Vec<usize> = order.iter().map(|name| step(&runner.workflow, name).0).collect();
    assert!(places.is_sorted(), "{places:?}");

    let digest = runner.prepare(|runner| runner.write("repository/.tracer/policy.yaml", LOOSE));
    let gate = runner.gate(&digest);
    assert_eq!(
        gate.status.code(),
        Some(1),
        "the rules of the base hold: {gate:?}"
    );
    let comment = fs::read_to_string(runner.sandbox.path("temp/result/comment.md")).unwrap();
    assert!(comment.contains("`required_tools`"), "{comment}");
}

#[test]
fn the_change_that_brings_the_first_policy_is_judged_by_its_own() {
    let runner = Runner::new(None);
    let digest = runner.prepare(|runner| runner.write("repository/.tracer/policy.yaml", LOOSE));
    let gate = runner.gate(&digest);
    assert_eq!(gate.status.code(), Some(0), "{gate:?}");
}

#[test]
fn here_and_in_ci_the_policy_says_what_inconclusive_means() {
    let starter = fs::read_to_string(Runner::new(None).sandbox.path(".tracer/policy.yaml")).unwrap();
    let outcomes = [("", 0), ("inconclusive: pass\n", 0), ("inconclusive: fail\n", 1)];
    for (said, code) in outcomes {
        assert_eq!(codes_of_inconclusive(said), [code; 2], "{said}");
    }
    assert!(starter.contains("\ninconclusive: fail\n"), "{starter}");
}

/// The exit codes of an INCONCLUSIVE gate by a policy that ends so, in the workflow and by hand.
fn codes_of_inconclusive(said: &str) -> [i32; 2] {
    let undecided = said.to_owned()
        + "version: 2\ntrials: 1\nmetrics:\n  \
         task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}\n  \
         cost_tokens: {kind: measured, direction: upper, limit: 1000000}\n";
    let runner = Runner::new(Some(&undecided));
    let lossy = r#"
data="$TRACER_DATA_DIR"; "$0" demo > /dev/null
for meta in "$data"/runs/*/meta.json; do sed -i 's/"counts"/"dropped": {"spans": 3, "reason": "full"}, "counts"/' "$meta"; done"#;
    let agent = format!(
        "exec sh -c '{}' '{}'",
        lossy.replace('\'', "'\\''"),
        env!("CARGO_BIN_EXE_tracer")
    );
    let digest = runner.prepare(|runner| runner.write("repository/agent.sh", &agent));
    let (_, script) = step(&runner.workflow, "- name: Gate\n");
    let command = script.rfind(" -- ").unwrap();
    let script = format!(
        "{} -- sh agent.sh > \"$RUNNER_TEMP/result/comment.md\"",
        &script[..command]
    );
    let repository = runner.sandbox.path("repository");
    let in_ci = runner.command(&repository, &script, &[("DIGEST", &digest)]);
    let comment = fs::read_to_string(runner.sandbox.path("temp/result/comment.md")).unwrap();
    assert!(comment.contains("INCONCLUSIVE"), "{comment} {in_ci:?}");
    let by_hand = runner.command(
        &repository,
        &format!("'{}' run -- sh agent.sh", env!("CARGO_BIN_EXE_tracer")),
        &[],
    );
    [in_ci, by_hand].map(|ended| ended.status.code().unwrap())
}

#[test]
fn the_workflow_pins_what_it_installs() {
    let runner = Runner::new(Some(LOOSE));
    for (git, revision) in [
        ("", REVISION),
        ("https://example.org/tracer", ""),
        ("https://example.org/tracer", "main"),
        ("https://example.org/tracer", &REVISION[..12]),
    ] {
        let refused = runner.step(
            "- name: Install tracer",
            &[("TRACER_GIT", git), ("TRACER_REV", revision)],
        );
        assert_eq!(refused.status.code(), Some(1), "{git} {revision}");
        assert!(
            String::from_utf8_lossy(&refused.stdout).contains("::error::fill in"),
            "{refused:?}"
        );
    }
    runner.prepare(|runner| runner.write("repository/README.md", "changed"));
    let installed = fs::read_to_string(runner.sandbox.path("installed")).unwrap();
    assert!(
        installed.starts_with(&format!(
            "install --locked --git https://example.org/tracer --rev {REVISION} --root "
        )),
        "{installed}"
    );
    let place = fs::read_to_string(runner.sandbox.path("installed-in")).unwrap();
    assert!(place.trim().ends_with("/temp"), "{place}");
    // Every action is pinned to a commit.
    for used in runner
        .workflow
        .lines()
        .filter_map(|line| line.split_once("uses: "))
    {
        let revision = used.1.split_once('@').unwrap().1.split(' ').next().unwrap();
        assert!(
            revision.len() == 40 && revision.chars().all(|char| char.is_ascii_hexdigit()),
            "{used:?}"
        );
    }
    assert!(
        !runner.workflow.contains("cargo install --locked tracer-cli"),
        "it is not published"
    );
}

#[test]
fn a_build_that_changes_the_rules_is_found() {
    let runner = Runner::new(Some(STRICT));
    let digest = runner.prepare(|runner| runner.write("repository/README.md", "changed"));
    runner.write("temp/rules/.tracer/policy.yaml", LOOSE);
    let gate = runner.gate(&digest);
    assert_eq!(gate.status.code(), Some(1), "{gate:?}");
    assert!(
        String::from_utf8_lossy(&gate.stdout).contains("changed the rules"),
        "{gate:?}"
    );
}

#[test]
fn its_policy_finds_new_and_missing_steps() {
    let sandbox = Sandbox::without_data_directory();
    assert_eq!(sandbox.tracer(&["init"]).code, Some(0));
    let agent = env!("CARGO_BIN_EXE_tracer");
    let first = sandbox.tracer(&["run", "--json-out", "report.json", "--", agent, "demo"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(
        first
            .stdout
            .contains("no_new_tools, still_called: not checked, because there is no baseline yet"),
        "{first:?}"
    );
    let made = sandbox.tracer(&["baseline", "--from-report", "report.json", "--out", "b.json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let again = sandbox.tracer(&["run", "--baseline", "b.json", "--", agent, "demo"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    for reported in ["✓ no_new_tools", "✓ still_called"] {
        assert!(again.stdout.contains(reported), "{again:?}");
    }
    // The same agent with another tool in the place of one.
    let changed = format!(
        "'{agent}' demo > /dev/null; sed -i 's/search_kb/search_web/g' \"$TRACER_DATA_DIR\"/runs/*/spans.jsonl"
    );
    let output = sandbox
        .command(&["run", "--baseline", "b.json", "--", "sh", "-c", &changed])
        .env("PATH", std::env::var("PATH").unwrap())
        .output()
        .unwrap();
    let worse = crate::sandbox::Outcome::from(output);
    assert_eq!(worse.code, Some(1), "{worse:?}");
    for reported in ["called search_web", "no call of search_kb"] {
        assert!(worse.stdout.contains(reported), "{worse:?}");
    }
}

//! `tracer init`: a policy and a workflow that are never written over what is there.

use std::fs;

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
fn what_is_there_is_not_written_over_without_force() {
    let sandbox = Sandbox::without_data_directory();
    let policy = sandbox.path(".tracer/policy.yaml");
    fs::create_dir(sandbox.path(".tracer")).unwrap();
    fs::write(&policy, "mine").unwrap();
    sandbox.tracer(&["init"]).fails(
        2,
        &["error: .tracer/policy.yaml exists already", "hint: ", "--force"],
    );
    let outcome = sandbox.tracer(&["init", "--github"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stdout, "✓ wrote .github/workflows/tracer.yml\n");
    assert!(outcome.stderr.contains(".tracer/policy.yaml was there already"));
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
}

//! What the layer reports to `tracer doctor -- COMMAND`, in a process of its own: the variable is read once.

use std::process::Command;

use serde_json::Value;
use tracing::info_span;

use crate::setup::runs;

const VARIABLE: &str = "TRACER_DOCTOR";
const CHILD: &str = "report::agent_of_the_child_process";

/// Does nothing but in the child process.
#[test]
fn agent_of_the_child_process() {
    if std::env::var_os(VARIABLE).is_some() {
        let _ = runs(|| {
            let _agent = info_span!("agent", agent.name = "calc").entered();
            info_span!("chat", gen_ai.operation.name = "chat").in_scope(|| ());
        });
    }
}

#[test]
fn an_observed_program_reports_what_its_layer_saw() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact"])
        .env(VARIABLE, file.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    let report = std::fs::read_to_string(file.path()).unwrap();
    let lines: Vec<Value> = report
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let what: Vec<_> = lines.iter().map(|line| line["what"].as_str().unwrap()).collect();
    assert_eq!(what[..2], ["layer_made", "layer_installed"]);
    assert_eq!(lines[0]["static_max_level"], "trace");
    let recorded = lines
        .iter()
        .filter(|line| line["what"] == "span" && line["is_recorded"] == true);
    assert_eq!(recorded.count(), 2);
    assert!(what.contains(&"callsite"), "{report}");
}

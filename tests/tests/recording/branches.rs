//! Loops within one branch: agents and tasks at the same time are no loop together (decisions, section 7).

use proptest::prelude::*;
use tracer_insight::profile::RunProfile;
use tracer_runs::first_loop;
use tracer_sdk::format::{EventType, Payload, Record};
use tracer_sdk::guardrails::StopOnLoop;
use tracer_sdk::testing::{Captured, capture};
use tracer_sdk::{Guardrails, agent, llm_call, span, tool_call};
use tracer_tests::DataDir;

/// The calls of one branch: a tool with a file, or a model.
type Script = Vec<Option<&'static str>>;

/// A sub-agent that reads two files, each once, as every other one does.
fn healthy() -> Script {
    vec![None, Some("README.md"), None, Some("src/lib.rs"), None]
}

/// A sub-agent that reads the same file again and again.
fn looping() -> Script {
    vec![
        None,
        Some("stuck.rs"),
        None,
        Some("stuck.rs"),
        None,
        Some("stuck.rs"),
        None,
    ]
}

fn call(file: Option<&str>) {
    let outcome = match file {
        Some(file) => tool_call("read_file").args(&file).result("text").record(),
        None => llm_call("gpt-5").record(),
    };
    outcome.unwrap();
}

/// Records branches that are open at the same time. `turns` says which one makes its next call.
fn record(scripts: &[Script], turns: &[usize], are_agents: bool) -> Captured<()> {
    capture(|| {
        let spans: Vec<_> = scripts
            .iter()
            .map(|_| {
                if are_agents {
                    agent("reader")
                } else {
                    span("reader")
                }
                .start()
            })
            .collect();
        let mut next = vec![0; scripts.len()];
        let all = (0..scripts.len()).cycle().take(scripts.len() * 8);
        for branch in turns.iter().map(|turn| turn % scripts.len()).chain(all) {
            if let Some(file) = scripts[branch].get(next[branch]) {
                spans[branch].in_scope(|| call(*file));
                next[branch] += 1;
            }
        }
    })
}

fn has_loop(records: &[Record]) -> bool {
    first_loop(&records.iter().collect::<Vec<_>>()).is_some()
}

fn warnings(records: &[Record]) -> Vec<&Record> {
    let is_warning = |record: &&Record| record.event_type() == EventType::LoopWarning;
    records.iter().filter(is_warning).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn healthy_branches_at_once_are_no_loop(
        count in 2_usize..=8,
        turns in prop::collection::vec(0_usize..8, 0..60),
        are_agents: bool,
    ) {
        let run = record(&vec![healthy(); count], &turns, are_agents);
        prop_assert_eq!(warnings(&run.records).len(), 0);
        let profile = RunProfile::new(&run.meta, run.records.clone());
        prop_assert!(profile.repeats.is_empty(), "{:?}", profile.repeats);
    }

    #[test]
    fn one_looping_branch_among_healthy_ones_is_found(
        count in 2_usize..=8,
        looping_one in 0_usize..8,
        turns in prop::collection::vec(0_usize..8, 0..60),
        are_agents: bool,
    ) {
        let mut scripts = vec![healthy(); count];
        scripts[looping_one % count] = looping();
        let run = record(&scripts, &turns, are_agents);
        prop_assert!(has_loop(&run.records));
        let warned = warnings(&run.records);
        prop_assert_eq!(warned.len(), 1);
        let Payload::LoopWarning { evidence_event_ids, .. } = &warned[0].payload else { unreachable!() };
        let evidence = run.records.iter().filter(|record| evidence_event_ids.contains(&record.event_id));
        let mut parents: Vec<_> = evidence.map(|record| &record.parent_id).collect();
        prop_assert_eq!(parents.len(), evidence_event_ids.len());
        parents.dedup();
        prop_assert_eq!(parents.len(), 1, "the evidence is of one branch");
        let profile = RunProfile::new(&run.meta, run.records.clone());
        prop_assert_eq!(profile.repeats.len(), 1);
        prop_assert_eq!(&profile.repeats[0].pattern, &["read_file"]);
    }
}

#[test]
fn steps_in_sequence_are_one_branch() {
    let run = capture(|| {
        for _ in 0..3 {
            let step = span("step").start();
            step.in_scope(|| call(Some("stuck.rs")));
            step.end();
        }
    });
    assert_eq!(warnings(&run.records).len(), 1);
    assert!(has_loop(&run.records));
}

#[test]
fn agents_in_sequence_are_a_branch_each() {
    let run = capture(|| {
        for _ in 0..3 {
            agent("reader").start().in_scope(|| call(Some("README.md")));
        }
    });
    assert_eq!(warnings(&run.records).len(), 0);
    let profile = RunProfile::new(&run.meta, run.records);
    assert!(profile.repeats.is_empty(), "{:?}", profile.repeats);
}

#[test]
fn stop_on_loop_spares_healthy_branches() {
    let data = DataDir::new();
    let limits = Guardrails::new().stop_on_loop(StopOnLoop::Calls);
    data.run("parallel").guardrails(limits).in_scope(|| {
        let readers: Vec<_> = (0..4).map(|_| span("reader").start()).collect();
        for file in ["README.md", "src/lib.rs"] {
            for reader in &readers {
                reader.in_scope(|| call(Some(file)));
            }
        }
    });
    assert_eq!(data.finished().meta.counts.loop_warnings, 0);
}

#[test]
fn two_looping_branches_are_two_findings() {
    let run = record(&[looping(), looping()], &[0, 1, 0, 1, 0, 1, 0, 1], false);
    let profile = RunProfile::new(&run.meta, run.records);
    assert_eq!(profile.repeats.len(), 2, "{:?}", profile.repeats);
}

//! The agent behaves as its baseline, `.tracer/baselines/support-agent.json`: same tools, no loop, as many tokens.

#[test]
fn the_support_agent_behaves_as_it_did() {
    tracer_gate::assert_baseline!("support-agent", trials = 3, || example_gate::answer(
        "Where is my order?"
    ));
}

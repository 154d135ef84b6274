//! `tracer demo`: records a simulated support agent, and says where its run is and what to type next.

use tracer_sdk::Run;

use super::Verdict;
use crate::demo_agent;
use crate::error::CliError;
use crate::render::line::{Line, Tone};
use crate::session::{Session, shown};

/// Records the demo.
pub fn run(session: &mut Session) -> Result<Verdict, CliError> {
    let data_dir = session.data_dir()?;
    let question = format!(
        "A simulated support agent answers {:?} (no network, no keys) …",
        demo_agent::QUESTION
    );
    session.ui.note(&Line::of(question, Tone::Muted));

    let run = Run::new(demo_agent::NAME).config(&session.config()).start();
    let (Some(id), Some(directory)) = (run.trace_id(), run.dir()) else {
        return Err(
            CliError::input("recording is turned off").with_hint("unset TRACER_ENABLED, and try again")
        );
    };
    let stopped = run.observe(demo_agent::answer_ticket()).err();
    let dropped = run.stats().dropped;
    run.finish();

    if dropped > 0 || !directory.join(tracer_sdk::format::META_FILE).is_file() {
        return Err(
            CliError::input(format!("the run cannot be written to {}", shown(&data_dir)))
                .with_hint("name a data directory that you can write to: --data-dir DIR, or TRACER_DATA_DIR"),
        );
    }
    if let Some(guardrail) = stopped {
        let told = format!("a guardrail in your settings stopped it: {guardrail}");
        session.ui.note(&Line::of(told, Tone::Warning));
    }
    let id: String = id.to_string().chars().take(8).collect();
    session.ui.lines(&[Line::of("✓ ", Tone::Good)
        .with("recorded ", Tone::Plain)
        .with(demo_agent::NAME, Tone::Strong)
        .with(format!("  {id}  in {}", directory.display()), Tone::Plain)])?;
    for (what, next) in [
        ("what it did:   ", format!("show {id}")),
        ("all runs:      ", "list".to_owned()),
        ("as one file:   ", format!("export {id} --out run.json")),
    ] {
        let next = session.command(&next);
        session.ui.note(
            &Line::of("  ", Tone::Plain)
                .with(what, Tone::Muted)
                .with(next, Tone::Strong),
        );
    }
    Ok(Verdict::Done)
}

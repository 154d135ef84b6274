//! Recording of the demo agent, done as in any other program.

use std::path::PathBuf;

use tracer_sdk::{GuardrailExceeded, Run};

use crate::demo_agent;
use crate::error::CliError;
use crate::session::Session;
use tracer_insight::text::path_below_home as shown;

/// IDs and place of a recorded run.
pub(super) struct DemoRun {
    pub(super) trace_id: String,
    pub(super) short_id: String,
    pub(super) directory: PathBuf,
}

/// Records a run of the agent.
pub(super) fn record(
    agent: impl FnOnce() -> Result<(), GuardrailExceeded>,
    session: &mut Session,
) -> Result<DemoRun, CliError> {
    let data_dir = session.data_dir()?;
    let run = Run::new(demo_agent::NAME).config(&session.config()).start();
    let (Some(id), Some(directory)) = (run.trace_id(), run.dir()) else {
        return Err(
            CliError::input("recording is turned off").with_hint("unset TRACER_ENABLED and try again")
        );
    };
    let stopped = run.observe(agent()).err();
    let dropped = run.stats().dropped;
    run.finish();

    if dropped > 0 || !directory.join(tracer_sdk::format::META_FILE).is_file() {
        return Err(
            CliError::input(format!("failed to write the run to `{}`", shown(&data_dir)))
                .with_hint("choose a writable data directory: --data-dir DIR, or TRACER_DATA_DIR"),
        );
    }
    if let Some(guardrail) = stopped {
        let note = format!("a guardrail in your settings stopped it: {guardrail}");
        session.ui.warn(note);
    }
    let trace_id = id.to_string();
    Ok(DemoRun {
        short_id: trace_id.chars().take(8).collect(),
        trace_id,
        directory,
    })
}

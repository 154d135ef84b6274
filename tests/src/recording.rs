//! Runs code within a run of its own and reads back what it recorded.

use tracer_sdk::Guardrails;

use crate::{DataDir, Finished};

/// What `work` records, in a run named `test` without limits.
pub fn recorded(work: impl FnOnce()) -> Finished {
    recorded_within(Guardrails::new(), work)
}

/// What `work` records, in a run named `test` with these limits.
pub fn recorded_within(limits: Guardrails, work: impl FnOnce()) -> Finished {
    let data = DataDir::new();
    data.run("test").guardrails(limits).in_scope(work);
    data.finished()
}

/// Runs a future on this thread.
pub fn block_on<Output>(future: impl Future<Output = Output>) -> Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

//! `tracer show --context`: what the context of a run was made of, and what each block of it cost.

use tracer_insight::context_bill::ContextBill;
use tracer_insight::text;

use super::OpenedRun;
use crate::error::CliError;
use crate::session::Session;
use crate::terminal::context_bill;

/// Blocks that are listed unless all are wanted.
const MAX_BLOCKS: usize = 20;

/// Prints the bill.
pub(super) fn show(shown: &OpenedRun, all: bool, session: &mut Session) -> Result<(), CliError> {
    let bill = ContextBill::of_run(&shown.contents)?;
    if session.is_json() {
        return session.ui.json(&bill);
    }
    let bill = bill.limited(if all { usize::MAX } else { MAX_BLOCKS });
    session
        .ui
        .lines(&context_bill::lines(&bill, session.ui.width()))?;
    if bill.more_blocks > 0 {
        let left_out = text::counted(bill.more_blocks, "more block");
        let all = session.command(&format!("show {} --context --all", shown.short_id));
        session.ui.warn(format!("{left_out}; show all: {all}"));
    }
    Ok(())
}

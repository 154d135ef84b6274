//! `tracer demo`
use super::Verdict;
use crate::error::CliError;
use crate::session::Session;
/// x
pub fn run(_: &mut Session) -> Result<Verdict, CliError> {
    Ok(Verdict::Done)
}

//! Asks whether runs may leave this machine.

use crate::error::CliError;
use crate::session::Session;

/// Whether these runs may be sent there. Without a terminal to ask on it is an error.
pub(crate) fn may_send(what: &str, destination: &str, session: &mut Session) -> Result<bool, CliError> {
    if !session.ui.can_ask() {
        return Err(CliError::input(format!(
            "sending runs to {destination} needs a confirmation, and there is no terminal to ask on"
        ))
        .with_hint("confirm with --yes; it is remembered"));
    }
    session
        .ui
        .ask(&format!("send {what} to {destination}? It is asked once."))
}

//! Sessions that coding agents wrote to disk, as runs.
//!
//! [`SessionFinder`] finds their transcripts, [`SessionImporter`] makes runs of them and adds what is new. A reader for each
//! agent turns records into the spans of a `SessionTranscript`: pure, and the same for the same records, however often they are
//! read and however many of them there are yet.

mod claude_code;
mod codex;
mod discover;
mod gemini_cli;
mod importer;
mod lines;
mod tally;
mod transcript;

#[cfg(test)]
mod tests;

pub use discover::{AgentSession, SessionFinder, default_places};
pub use importer::{SessionError, SessionImport, SessionImporter, SessionOutcome};
pub use tally::{FoundSessions, ImportTally};

use serde_json::Value;

use crate::runs::CodingAgent;
use transcript::{AgentThread, SessionTranscript};

/// Reader of one agent's records: the files of a session one after the other, those of sub-agents last.
trait RecordReader {
    /// Takes a record of the file of a thread.
    fn take(&mut self, record: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript);

    /// The file has ended. Nothing more is expected of one that is quiet.
    fn end_file(&mut self, is_quiet: bool, thread: &mut AgentThread, transcript: &mut SessionTranscript);
}

fn record_reader(agent: CodingAgent) -> Box<dyn RecordReader> {
    match agent {
        CodingAgent::ClaudeCode => Box::<claude_code::ClaudeCode>::default(),
        CodingAgent::Codex => Box::<codex::Codex>::default(),
        CodingAgent::GeminiCli => Box::<gemini_cli::GeminiCli>::default(),
    }
}

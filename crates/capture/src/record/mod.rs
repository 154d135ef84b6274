//! Recording a command that knows nothing of it: what it is started with, how it is run, and why nothing may have arrived
//! (capture, section 4).
//!
//! | what | where |
//! |---|---|
//! | the variables that the command is started with | `environment`, `models`, `codex` |
//! | what can be seen of the program, and of its environment | `program`, `findings` |
//! | the process | `child` |
//! | what receives its spans | `receiver` |
//! | all of it together | `recording` |
//! | forks with one model after the other | `fork_models` |
//! | why there is no model call, and what to do | `reasons`, `frameworks` |

mod child;
mod codex;
mod environment;
mod findings;
mod fork_models;
mod frameworks;
mod models;
mod options;
mod program;
mod reasons;
mod receiver;
mod recording;

pub use child::{
    NOT_EXECUTABLE, NOT_FOUND, RunningCommand, Signals, StartError, Survivor, check_program, exit_words,
    survivors,
};
pub use codex::codex_options;
pub use environment::{ChildEnvironment, Inherited, OtlpEndpoints, Variable};
pub use findings::{EnvironmentFindings, switches};
pub use fork_models::{ForkedRun, ModelFork, fork_models, verification};
pub use frameworks::{Framework, frameworks_of};
pub use models::model_base_urls;
pub use options::RecordOptions;
pub use program::{Program, ProgramKind};
pub use reasons::{Observation, likely_reasons};
pub use recording::{CommandEnd, FinishedRecording, Recording, RecordingError};

//! Running a command several times, each time on its own, and collecting what each time left: a gate's trials.
//!
//! | what | where |
//! |---|---|
//! | what belongs to the workspace, and a copy of it | `workspace` |
//! | the program that a command names | `program` |
//! | the folder of a trial | `scratch` |
//! | recording it from outside, answers of a cassette | `captured` |
//! | running a program, and ending it with all that it started | `process` |
//! | what the trial left | `evidence`, `output` |
//! | commands that judge a run, and what else is left of a trial | `command_judge` |
//! | one trial | `attempt` |
//! | trials side by side, in order | `schedule`, `stop` |
//! | all trials of a gate, judged as they end, and its report | `gate_run`, `environment`, `notices` |

mod attempt;
mod captured;
mod command_judge;
mod environment;
mod evidence;
mod gate_run;
mod notices;
mod output;
mod process;
mod program;
mod schedule;
mod scratch;
mod stop;
mod workspace;

pub use attempt::TrialCommand;
pub use captured::TrialCapture;
pub use command_judge::CommandJudge;
pub use gate_run::{GateProgress, GateRun, TrialDisplay};
pub use output::OutputCleaner;
pub use program::TrialProgram;
pub use stop::Stop;
pub use workspace::Workspace;

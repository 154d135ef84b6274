//! What reading costs: the real `tracer` executable as a child process, on generated data, beside the limits and, if it
//! is named, beside the Python implementation on the same files.

mod cases;
pub mod child;
pub mod generate;
mod report;

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::report::Style;
use cases::Case;
pub use cases::{empty_caches, thousands};
use child::CommandUsage;

/// How much is measured, on what, and where.
#[derive(Debug)]
pub struct ReadPlan {
    /// How often each command runs.
    pub rounds: usize,
    /// How many runs the stores have, one store for each number.
    pub runs: Vec<usize>,
    /// How many spans the smaller and the larger run have.
    pub spans: [usize; 2],
    /// The `tracer` executable; `None` is the one of the workspace's release build.
    pub tracer: Option<PathBuf>,
    /// The `maida` executable, if there is one.
    pub python: Option<PathBuf>,
    /// Whether Python exports the larger run too, which takes minutes.
    pub is_python_patient: bool,
    /// Whether `list` runs with nothing in the system's caches too, which slows the whole machine for a while.
    pub is_cold: bool,
    /// Where the data is written, and found again; `None` is a folder that is removed again.
    pub folder: Option<PathBuf>,
}

/// What was measured of one case.
#[derive(Debug)]
struct MeasuredCase {
    case: Case,
    tracer: CommandUsage,
    python: Option<CommandUsage>,
}

/// Generates the data, measures everything in the plan and gives the report.
pub fn measure(plan: &ReadPlan, style: Style) -> Result<String, Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder: &Path = plan.folder.as_deref().unwrap_or_else(|| temporary.path());
    let tracer = executable(plan.tracer.as_deref())?;
    let mut all = Vec::new();
    for case in cases::of(plan) {
        case.subject.generate(folder)?;
        eprint!("\r{:<60}", case.name());
        all.push(MeasuredCase {
            tracer: case.tracer(&tracer, folder, plan.rounds)?,
            python: match &plan.python {
                Some(python) => case.python(python, folder, plan)?,
                None => None,
            },
            case,
        });
    }
    eprintln!();
    Ok(report::report(plan, folder, &all, style))
}

/// The executable with this path, or what the workspace's release build makes.
///
/// # Errors
///
/// It is not there.
pub fn executable(named: Option<&Path>) -> Result<PathBuf, String> {
    let tracer = named.map_or_else(default_executable, Path::to_owned);
    if tracer.is_file() {
        return Ok(tracer);
    }
    let missing = tracer.display();
    Err(format!(
        "{missing} is not there: build it with `cargo build --release -p tracer-cli`, or name another with --tracer"
    ))
}

fn default_executable() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
        PathBuf::from,
    );
    target
        .join("release")
        .join(format!("tracer{}", std::env::consts::EXE_SUFFIX))
}

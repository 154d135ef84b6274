//! What viewing costs: generated runs, the real `tracer view`, and the page in headless Chromium.
//!
//! The data is made here, as for reading; what a page costs only a browser can tell, so the measuring is done by
//! `tests/browser/budgets`, with the browser of the browser tests.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine;
use crate::reading::{executable, generate};
use crate::report::Style;

/// How many runs the page with all runs shows.
const STORE: usize = 500;

/// What is measured, and where.
#[derive(Debug)]
pub struct ViewPlan {
    /// How many spans each run has.
    pub spans: Vec<usize>,
    /// How often everything is measured.
    pub rounds: usize,
    /// The `tracer` executable; `None` is the one of the workspace's release build.
    pub tracer: Option<PathBuf>,
    /// The `maida` executable, if there is one.
    pub python: Option<PathBuf>,
    /// Where the data is written, and found again; `None` is a folder that is removed again.
    pub folder: Option<PathBuf>,
}

/// Generates the data and has the browser measure; its report goes to standard output.
pub fn measure(plan: &ViewPlan, style: Style) -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder: &Path = plan.folder.as_deref().unwrap_or_else(|| temporary.path());
    let tracer = executable(plan.tracer.as_deref())?;
    generate::store(&folder.join("store"), STORE)?;
    for spans in &plan.spans {
        generate::run(&folder.join(format!("run-{spans}")), *spans)?;
    }
    eprintln!();
    print!("{}", machine::facts(folder));
    let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/browser");
    let mut command = Command::new("node");
    command
        .arg(browser.join("budgets/main.js"))
        .arg("--folder")
        .arg(folder)
        .arg("--tracer")
        .arg(tracer)
        .arg("--rounds")
        .arg(plan.rounds.to_string());
    for spans in &plan.spans {
        command.arg("--spans").arg(spans.to_string());
    }
    if let Some(python) = &plan.python {
        command.arg("--python").arg(python);
    }
    if matches!(style, Style::Markdown) {
        command.arg("--markdown");
    }
    let status = command
        .status()
        .map_err(|error| format!("cannot run node: {error}; see tests/browser/README.md"))?;
    if !status.success() {
        return Err("the measuring in the browser failed; see tests/browser/README.md".into());
    }
    Ok(())
}

//! Exports from the page. File formats are the command's; the viewer is given what writes them.

use std::fmt::Debug;
use std::io::{self, Write};

use tracer_insight::run_steps::RunSteps;
use tracer_insight::step_filter::StepFilter;

/// Writes a run as an HTML file that needs no server.
pub trait HtmlExport: Debug + Send + Sync {
    /// Writes the steps that pass the filter.
    ///
    /// # Errors
    ///
    /// The error of reading the run or of writing the file.
    fn write(&self, steps: &mut RunSteps, filter: &StepFilter, writer: &mut dyn Write) -> io::Result<()>;
}

//! Why nothing, or less than expected, is recorded: the environment, the settings, the project, and a program that runs
//! under observation.

mod environment;
mod program;
mod project;

use std::path::Path;

use tracer_sdk::settings::Config;

use crate::record::Inherited;

pub use crate::cause::Cause;
pub use program::NotObserved;

/// Every cause that is found in this folder by a command with these settings; with a program, also those in it.
///
/// # Errors
///
/// [`NotObserved`] when the program cannot be started, or what it reported cannot be read.
pub fn examine(config: &Config, program: &[String]) -> Result<Vec<Cause>, NotObserved> {
    let mut causes = environment::causes(config, &Inherited::of_process());
    causes.extend(project::causes(Path::new(".")));
    if let Some((program, arguments)) = program.split_first() {
        causes.extend(program::causes(program, arguments)?);
    }
    Ok(causes)
}

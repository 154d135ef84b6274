//! Survivors on systems that hide the environment of other processes.
//!
//! No process is known to have outlived the command there.

/// A process that outlived the command which started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its process ID.
    pub id: u32,
    /// The name of its program.
    pub name: String,
}

/// None that could be found.
#[must_use]
pub fn survivors(_marks: &[(&str, &str)]) -> Vec<Survivor> {
    Vec::new()
}

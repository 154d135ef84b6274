//! The modules of a crate and the arrows between them, read from its sources; and the files that other checks read.
//!
//! An arrow goes from the module that writes a path to the module that *defines* what the path names: re-exports are
//! followed, so that `crate::Run` counts as `emit`. Code under `#[cfg(test)]` does not count.

mod arrows;
mod files;
mod paths;
mod tree;

pub use arrows::{Arrow, circles, sibling_arrows};
pub use files::files;
pub use tree::{CrateModules, Module};

//! Orphans on systems without adoption of processes: unknown.

/// The orphans that trials leave: none that one could tell.
#[derive(Debug)]
pub struct Orphans;

impl Orphans {
    pub fn adopt() -> Self {
        Self
    }

    pub fn end(self) -> bool {
        let Self = self;
        true
    }
}

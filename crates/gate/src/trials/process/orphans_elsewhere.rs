//! Where no process can adopt those that lost their parent, nothing is known of them.

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

//! Where no process can adopt those that lost their parent, nothing is known of them.

/// The orphans that trials leave: none that one could tell.
#[derive(Debug)]
pub(crate) struct Orphans;

impl Orphans {
    pub(crate) fn adopt() -> Self {
        Self
    }

    pub(crate) fn end(self) -> bool {
        let Self = self;
        true
    }
}

//! Where no process can adopt those that lost their parent, nothing is known of them.

pub(crate) fn adopt_orphans() {}

pub(crate) fn end_orphans() -> bool {
    true
}

//! Groups of reports: disjoint sets with their members and the reporters that have a part in each.

use super::report::CallReport;

/// The groups that reports form.
pub(super) struct Groups {
    up: Vec<usize>,
    /// The members of each group, at the place of its root.
    members: Vec<Vec<usize>>,
    /// Reporters of the members of each group, at the index of its root.
    sources: Vec<Vec<u64>>,
}

impl Groups {
    /// Each report by itself.
    pub(super) fn of(reports: &[CallReport]) -> Self {
        Self {
            up: (0..reports.len()).collect(),
            members: (0..reports.len()).map(|at| vec![at]).collect(),
            sources: reports.iter().map(|report| vec![report.source]).collect(),
        }
    }

    pub(super) fn root(&mut self, at: usize) -> usize {
        let mut root = at;
        while let Some(up) = self.up.get(root).copied().filter(|up| *up != root) {
            root = up;
        }
        let mut at = at;
        while let Some(up) = self.up.get_mut(at).filter(|up| **up != root) {
            at = std::mem::replace(up, root);
        }
        root
    }

    /// The members of the group of a report.
    pub(super) fn members(&mut self, at: usize) -> Vec<usize> {
        let root = self.root(at);
        self.members.get(root).cloned().unwrap_or_default()
    }

    /// Number of reporters in the group of a report.
    pub(super) fn sources(&mut self, at: usize) -> usize {
        let root = self.root(at);
        self.sources.get(root).map_or(0, Vec::len)
    }

    /// Returns whether two groups may be one call: no reporter reports a call twice.
    pub(super) fn may_join(&mut self, one: usize, other: usize) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        let sources = |at: usize| self.sources.get(at).map(Vec::as_slice).unwrap_or_default();
        one != other && !sources(one).iter().any(|source| sources(other).contains(source))
    }

    /// Makes two groups one.
    pub(super) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (kept, moved) = (one.min(other), one.max(other));
        if kept == moved {
            return;
        }
        if let Some(up) = self.up.get_mut(moved) {
            *up = kept;
        }
        let members = self.members.get_mut(moved).map(std::mem::take);
        if let (Some(kept), Some(members)) = (self.members.get_mut(kept), members) {
            kept.extend(members);
        }
        let sources = self.sources.get_mut(moved).map(std::mem::take);
        if let (Some(kept), Some(sources)) = (self.sources.get_mut(kept), sources) {
            for source in sources {
                if !kept.contains(&source) {
                    kept.push(source);
                }
            }
        }
    }

    /// The groups of two and more.
    pub(super) fn into_joined(self) -> impl Iterator<Item = Vec<usize>> {
        self.members.into_iter().filter(|members| members.len() > 1)
    }
}

//! Groups of reports: disjoint sets with their members.

use super::report::CallReport;

/// The groups that reports form.
pub(super) struct Groups<'a> {
    reports: &'a [CallReport],
    /// The member by which the group of each report is known.
    roots: Vec<usize>,
    /// The members of each group, at the place of that one.
    members: Vec<Vec<usize>>,
}

impl<'a> Groups<'a> {
    /// Each report by itself.
    pub(super) fn of(reports: &'a [CallReport]) -> Self {
        Self {
            reports,
            roots: (0..reports.len()).collect(),
            members: (0..reports.len()).map(|at| vec![at]).collect(),
        }
    }

    pub(super) fn root(&self, at: usize) -> usize {
        self.roots.get(at).copied().unwrap_or(at)
    }

    /// The members of the group of a report.
    pub(super) fn members(&self, at: usize) -> &[usize] {
        let members = self.members.get(self.root(at));
        members.map(Vec::as_slice).unwrap_or_default()
    }

    fn sources(&self, at: usize) -> impl Iterator<Item = u64> {
        let members = self.members(at).iter();
        members.filter_map(|at| Some(self.reports.get(*at)?.source))
    }

    /// Returns whether a reporter has a part in the group of a report.
    pub(super) fn has_source(&self, at: usize, source: u64) -> bool {
        self.sources(at).any(|known| known == source)
    }

    /// Returns whether two groups may be one call: no reporter reports a call twice.
    pub(super) fn may_join(&self, one: usize, other: usize) -> bool {
        let mut sources = self.sources(other);
        self.root(one) != self.root(other) && !sources.any(|source| self.has_source(one, source))
    }

    /// Makes two groups one.
    pub(super) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if one == other {
            return;
        }
        let is_smaller = self.members(one).len() < self.members(other).len();
        let (kept, moved) = if is_smaller { (other, one) } else { (one, other) };
        let members = self
            .members
            .get_mut(moved)
            .map(std::mem::take)
            .unwrap_or_default();
        for member in &members {
            if let Some(root) = self.roots.get_mut(*member) {
                *root = kept;
            }
        }
        if let Some(kept) = self.members.get_mut(kept) {
            kept.extend(members);
        }
    }

    /// The groups of two and more.
    pub(super) fn into_joined(self) -> impl Iterator<Item = Vec<usize>> {
        self.members.into_iter().filter(|members| members.len() > 1)
    }
}

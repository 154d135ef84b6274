//! Groups of reports: disjoint sets with their members.

use super::report::NumberedReport;

/// The groups that reports form.
pub(super) struct Groups<'a> {
    /// The report by which the group of each one is known.
    roots: Vec<usize>,
    /// The members of each group, at the place of that one.
    members: Vec<Vec<NumberedReport<'a>>>,
}

impl<'a> Groups<'a> {
    /// Each report by itself.
    pub(super) fn of(reports: &[NumberedReport<'a>]) -> Self {
        Self {
            roots: (0..reports.len()).collect(),
            members: reports.iter().map(|report| vec![*report]).collect(),
        }
    }

    pub(super) fn root(&self, report: NumberedReport<'_>) -> usize {
        self.roots.get(report.at).copied().unwrap_or(report.at)
    }

    /// The members of the group of a report.
    pub(super) fn members(&self, report: NumberedReport<'_>) -> &[NumberedReport<'a>] {
        let members = self.members.get(self.root(report));
        members.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns whether a reporter has a part in the group of a report.
    pub(super) fn has_source(&self, report: NumberedReport<'_>, source: u64) -> bool {
        self.members(report).iter().any(|member| member.source == source)
    }

    /// Returns whether two groups may be one call: no reporter reports a call twice.
    pub(super) fn may_join(&self, one: NumberedReport<'_>, other: NumberedReport<'_>) -> bool {
        let mut others = self.members(other).iter();
        self.root(one) != self.root(other) && !others.any(|other| self.has_source(one, other.source))
    }

    /// Makes two groups one.
    pub(super) fn join(&mut self, one: NumberedReport<'_>, other: NumberedReport<'_>) {
        if self.root(one) == self.root(other) {
            return;
        }
        let is_smaller = self.members(one).len() < self.members(other).len();
        let (kept, moved) = if is_smaller { (other, one) } else { (one, other) };
        let (kept, moved) = (self.root(kept), self.root(moved));
        let members = self
            .members
            .get_mut(moved)
            .map(std::mem::take)
            .unwrap_or_default();
        for member in &members {
            if let Some(root) = self.roots.get_mut(member.at) {
                *root = kept;
            }
        }
        if let Some(kept) = self.members.get_mut(kept) {
            kept.extend(members);
        }
    }

    /// The groups of two and more.
    pub(super) fn into_joined(self) -> impl Iterator<Item = Vec<NumberedReport<'a>>> {
        self.members.into_iter().filter(|members| members.len() > 1)
    }
}

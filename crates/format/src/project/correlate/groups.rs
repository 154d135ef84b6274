//! Groups of reports: disjoint sets, each with a ring of its members.

use super::report::{CallReport, NumberedReport};

/// The groups that reports form.
pub(super) struct Groups<'a> {
    reports: &'a [CallReport],
    /// The report by which the group of each one is known.
    roots: Vec<usize>,
    /// The next member of the group of each report; behind the last one comes the first one.
    next: Vec<usize>,
    /// Number of members of each group, at the place of its root.
    sizes: Vec<usize>,
}

impl<'a> Groups<'a> {
    /// Each report by itself.
    pub(super) fn of(reports: &'a [CallReport]) -> Self {
        Self {
            reports,
            roots: (0..reports.len()).collect(),
            next: (0..reports.len()).collect(),
            sizes: vec![1; reports.len()],
        }
    }

    pub(super) fn root(&self, report: NumberedReport<'_>) -> usize {
        self.roots.get(report.at).copied().unwrap_or(report.at)
    }

    /// Number of members of the group of a report.
    pub(super) fn size(&self, report: NumberedReport<'_>) -> usize {
        self.sizes.get(self.root(report)).copied().unwrap_or(1)
    }

    /// The members of the group of a report, that one first.
    pub(super) fn members(&self, report: NumberedReport<'_>) -> impl Iterator<Item = NumberedReport<'a>> {
        let first = report.at;
        let follows = move |at: &usize| self.next.get(*at).copied().filter(|next| *next != first);
        let places = std::iter::successors(Some(first), follows);
        places.filter_map(|at| NumberedReport::get(self.reports, at))
    }

    /// Returns whether a reporter has a part in the group of a report.
    pub(super) fn has_source(&self, report: NumberedReport<'_>, source: u64) -> bool {
        self.members(report).any(|member| member.source == source)
    }

    /// Returns whether two groups may be one call: no reporter reports a call twice.
    pub(super) fn may_join(&self, one: NumberedReport<'_>, other: NumberedReport<'_>) -> bool {
        let mut others = self.members(other);
        self.root(one) != self.root(other) && !others.any(|other| self.has_source(one, other.source))
    }

    /// Makes two groups one.
    pub(super) fn join(&mut self, one: NumberedReport<'_>, other: NumberedReport<'_>) {
        if self.root(one) == self.root(other) {
            return;
        }
        let is_smaller = self.size(one) < self.size(other);
        let (kept, moved) = if is_smaller { (other, one) } else { (one, other) };
        let (root, more) = (self.root(kept), self.size(moved));
        for member in self.members(moved).collect::<Vec<_>>() {
            if let Some(of_member) = self.roots.get_mut(member.at) {
                *of_member = root;
            }
        }
        self.next.swap(kept.at, moved.at);
        if let Some(size) = self.sizes.get_mut(root) {
            *size += more;
        }
    }

    /// The groups of two and more.
    pub(super) fn joined(&self) -> impl Iterator<Item = Vec<&'a CallReport>> {
        let roots = self.roots.iter().enumerate();
        let roots = roots.filter(|(at, root)| at == *root && self.sizes.get(*at) > Some(&1));
        roots.filter_map(|(at, _)| {
            let first = NumberedReport::get(self.reports, at)?;
            Some(self.members(first).map(NumberedReport::report).collect())
        })
    }
}

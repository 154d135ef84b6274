//! The order of steps: arranged as they are nested. Every surface nests here.

/// Placeholder for a step that is not there.
pub const NONE: u32 = u32::MAX;

/// An item in its place among nested ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nested {
    /// The item, by its index.
    pub item: u32,
    /// The place of the item that it is nested in; [`NONE`] at the top.
    pub parent: u32,
    /// Number of items that it is nested in.
    pub depth: u16,
    /// Set when others are nested in it.
    pub has_children: bool,
}

/// Arranges items so that each comes after the item that it is nested in, siblings in their order.
///
/// `parents` has the parent of each item, [`NONE`] for none; of the items at the top, one that `is_run` comes first, even
/// where a damaged log says that something began before it. Members of a cycle, which only a damaged run has, are at the
/// top.
pub(crate) fn for_each_nested(
    parents: &[u32],
    is_run: impl Fn(usize) -> bool,
    mut place: impl FnMut(Nested),
) {
    // Each item's first child and next sibling: lists of children without a list for each.
    let mut first_child = vec![NONE; parents.len()];
    let mut next_sibling = vec![NONE; parents.len()];
    let mut tops = Vec::new();
    for (item, parent) in parents.iter().enumerate().rev() {
        let Ok(number) = u32::try_from(item) else { continue };
        match first_child.get_mut(*parent as usize) {
            Some(first) => {
                if let Some(next) = next_sibling.get_mut(item) {
                    *next = *first;
                }
                *first = number;
            }
            None => tops.push(number),
        }
    }
    tops.reverse();
    tops.sort_by_key(|top| !is_run(*top as usize));
    let mut placed = vec![false; parents.len()];
    let mut position_count = 0;
    let all = 0..u32::try_from(parents.len()).unwrap_or(NONE);
    // A run may be nested deeper than the call stack is.
    let mut waiting: Vec<(u32, u32, u16)> = Vec::new();
    for top in tops.into_iter().chain(all) {
        waiting.push((top, NONE, 0));
        while let Some((item, parent, depth)) = waiting.pop() {
            let at = item as usize;
            let Some(is_placed) = placed.get_mut(at) else {
                continue;
            };
            // The siblings of a child follow when it and what is in it has been placed.
            if parent != NONE
                && let Some(sibling) = next_sibling.get(at).copied().filter(|next| *next != NONE)
            {
                waiting.push((sibling, parent, depth));
            }
            if std::mem::replace(is_placed, true) {
                continue;
            }
            let child = first_child.get(at).copied().filter(|child| *child != NONE);
            place(Nested {
                item,
                parent,
                depth,
                has_children: child.is_some(),
            });
            if let Some(child) = child {
                waiting.push((child, position_count, depth.saturating_add(1)));
            }
            position_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_one_place_even_in_a_cycle() {
        let mut order = Vec::new();
        for_each_nested(
            &[1, 0, NONE, 2],
            |item| item == 2,
            |nested| {
                order.push((nested.item, nested.parent, nested.depth));
            },
        );
        assert_eq!(order, [(2, NONE, 0), (3, 0, 1), (0, NONE, 0), (1, 2, 1)]);
    }
}

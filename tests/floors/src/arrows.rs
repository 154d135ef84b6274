//! Arrows between the modules of one folder, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::CrateModules;

/// A module that refers to one beside it, itself or through the modules below.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The module that refers, such as `write::line`.
    pub from: String,
    /// The module that is referred to, with the same parent.
    pub to: String,
    /// The first place that refers: file, line and path.
    pub place: String,
}

impl fmt::Display for Arrow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} → {}  ({})", self.from, self.to, self.place)
    }
}

/// One arrow for each pair of modules with the same parent.
///
/// A folder's own file belongs to the folder: what it shares with the modules below is no arrow.
#[must_use]
pub fn sibling_arrows(modules: &CrateModules) -> Vec<Arrow> {
    let mut arrows: BTreeMap<(String, String), String> = BTreeMap::new();
    for (index, module) in modules.modules.iter().enumerate() {
        for reference in &module.references {
            let Some(target) = modules.resolve(index, &reference.path) else {
                continue;
            };
            let Some(pair) = siblings(&module.path, &modules.modules[target].path) else {
                continue;
            };
            arrows.entry(pair).or_insert_with(|| {
                format!(
                    "{}:{}: {}",
                    module.file.display(),
                    reference.line,
                    reference.path.join("::")
                )
            });
        }
    }
    let arrows = arrows.into_iter();
    arrows
        .map(|((from, to), place)| Arrow { from, to, place })
        .collect()
}

/// The two modules below their nearest common folder, if neither is that folder.
fn siblings(from: &str, to: &str) -> Option<(String, String)> {
    let split = |path: &str| -> Vec<String> {
        path.split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (from, to) = (split(from), split(to));
    let common = from
        .iter()
        .zip(&to)
        .take_while(|(one, other)| one == other)
        .count();
    if common == from.len() || common == to.len() {
        return None;
    }
    Some((from[..=common].join("::"), to[..=common].join("::")))
}

/// The groups of modules that reach each other, with the arrows that close each circle.
#[must_use]
pub fn circles(arrows: &[Arrow]) -> Vec<Vec<&Arrow>> {
    let mut reachable: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for arrow in arrows {
        let mut found = BTreeSet::new();
        let mut open = vec![arrow.from.as_str()];
        while let Some(module) = open.pop() {
            let next = arrows.iter().filter(|arrow| arrow.from == module);
            open.extend(next.map(|arrow| arrow.to.as_str()).filter(|to| found.insert(*to)));
        }
        reachable.insert(&arrow.from, found);
    }
    let reaches = |from: &str, to: &str| reachable.get(from).is_some_and(|found| found.contains(to));
    let mut groups: BTreeMap<BTreeSet<&str>, Vec<&Arrow>> = BTreeMap::new();
    for arrow in arrows.iter().filter(|arrow| reaches(&arrow.to, &arrow.from)) {
        let group = reachable
            .keys()
            .filter(|module| reaches(&arrow.from, module) && reaches(module, &arrow.from));
        groups.entry(group.copied().collect()).or_default().push(arrow);
    }
    groups.into_values().collect()
}

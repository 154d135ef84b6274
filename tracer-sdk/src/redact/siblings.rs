//! Meaning of the values before one in an array or object, for that one.

use super::keys::{Confidence, Meanings, NameMeaning, NameRole, Neighbours};
use super::{Member, Redactor};

/// Meaning of the values so far of an open array or object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Siblings {
    /// Number of items of an array that were begun.
    items: usize,
    /// In an array: meaning of the last item, and whether it is an option.
    last: Option<(NameMeaning, bool)>,
    /// In an object: meaning of its members: `{"name": "password", "value": …}`.
    members: Neighbours,
}

/// Hint about a value, in addition to the verdict on its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hint {
    meanings: Meanings,
    /// Set when an array or object there is a secret as a whole.
    hides_containers: bool,
}

impl Hint {
    const fn new(meaning: NameMeaning, confidence: Confidence) -> Self {
        Self {
            meanings: [Some((meaning, confidence)), None],
            hides_containers: false,
        }
    }

    /// Says whether a text is a secret; an option is none, behind another one.
    pub(crate) fn hides(self, text: &str) -> bool {
        self.meanings.into_iter().flatten().any(|(meaning, confidence)| {
            let is_option = confidence == Confidence::Explicit && text.starts_with("--");
            !is_option && meaning.hides(text.as_bytes(), confidence)
        })
    }

    /// Says whether an array or object is a secret as a whole.
    pub(crate) const fn hides_container(self) -> bool {
        self.hides_containers
    }
}

impl Siblings {
    /// Begins the next item of an array, which may be an item of an array itself: then it is a pair, or more.
    pub(crate) fn item(&mut self, in_array: bool) -> Option<Hint> {
        let is_second = self.items == 1;
        self.items = self.items.saturating_add(1);
        let (meaning, is_option) = self.last.take()?;
        Some(match (is_option, in_array && is_second) {
            (true, _) => Hint::new(meaning, Confidence::Explicit),
            (false, true) => Hint::new(meaning, Confidence::Structured),
            // In a list there are more names than values.
            (false, false) => Hint::new(NameMeaning::Key, Confidence::Likely),
        })
    }

    /// Hint about the value of a member.
    pub(crate) fn member(&self, member: &Member<'_>) -> Option<Hint> {
        if member.role.is_value() {
            let meanings = self.members.meanings(member.role);
            let mut known = meanings.into_iter().flatten().peekable();
            known.peek()?;
            return Some(Hint {
                meanings,
                hides_containers: known.any(|(meaning, confidence)| {
                    confidence >= Confidence::Structured && meaning >= NameMeaning::Token
                }),
            });
        }
        member.name.map(|name| Hint::new(name, Confidence::Likely))
    }

    /// Adds a text: an item of an array, or the value of a member with this role.
    pub(crate) fn add(&mut self, text: &str, role: Option<NameRole>, redactor: &Redactor) {
        let name = redactor.name_of_neighbour(text);
        match role {
            None => self.last = name.map(|name| (name, text.starts_with('-'))),
            Some(role) => name.into_iter().for_each(|name| self.members.add(role, name)),
        }
    }
}

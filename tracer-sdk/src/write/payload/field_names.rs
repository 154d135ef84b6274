//! Names of fields that were written before, ready to be written again: a program's own types come again and again. Without
//! them a tool call whose values have five fields takes 12 % more instructions.
//!
//! A name that the compiler gave is known by its address: what is there never changes.

use std::cell::RefCell;

use crate::loops;
use crate::redact::{MAX_REMEMBERED_BYTES, NameRole, RedactorId};

/// How many names are remembered by a thread, each in the one place that it may have.
const PLACES: usize = 128;

/// The most that a name takes: as a key with its colon, within a JSON string.
const WRITTEN: usize = MAX_REMEMBERED_BYTES + r#"\"\":"#.len();

/// A harmless name of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct RememberedField {
    /// The redactor that found it harmless.
    redactor: RedactorId,
    name: &'static str,
    /// What it says of a neighbour.
    pub(super) role: NameRole,
    /// The number of its text.
    pub(super) number: u64,
    length: u8,
    written: [u8; WRITTEN],
}

impl RememberedField {
    const NOTHING: Self = Self {
        redactor: RedactorId::NONE,
        name: "",
        role: NameRole::Other,
        number: 0,
        length: 0,
        written: [0; WRITTEN],
    };

    /// Appends it as a key within a JSON string, with its colon.
    #[inline]
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        let written = self.written.get(..usize::from(self.length));
        out.extend_from_slice(written.unwrap_or_default());
    }
}

thread_local! {
    static NAMES: RefCell<[RememberedField; PLACES]> = const { RefCell::new([RememberedField::NOTHING; PLACES]) };
}

/// Does something with the name that `redactor` found harmless before, if this thread remembers it.
#[inline]
pub(super) fn with_known<T>(
    redactor: RedactorId,
    name: &'static str,
    work: impl FnOnce(&RememberedField) -> T,
) -> Option<T> {
    let done = NAMES.try_with(|names| {
        let names = names.borrow();
        let known = &names[place(name)];
        (known.redactor == redactor && std::ptr::eq(known.name, name)).then(|| work(known))
    });
    // A thread that is ending remembers nothing.
    done.unwrap_or_default()
}

/// Remembers a name that `redactor` found harmless: as long as what it remembers itself, and without anything to escape.
pub(super) fn remember(redactor: RedactorId, name: &'static str, role: NameRole) {
    let mut known = RememberedField {
        redactor,
        name,
        role,
        number: loops::of_text(name.as_bytes()),
        ..RememberedField::NOTHING
    };
    let parts: [&[u8]; 3] = [br#"\""#, name.as_bytes(), br#"\":"#];
    let mut end = 0;
    for part in parts {
        let Some(room) = known.written.get_mut(end..end + part.len()) else {
            return;
        };
        room.copy_from_slice(part);
        end += part.len();
    }
    known.length = u8::try_from(end).unwrap_or_default();
    let _ = NAMES.try_with(|names| names.borrow_mut()[place(name)] = known);
}

/// The place that a name may have. The names of one type lie behind each other, so that none takes another one's.
#[inline]
fn place(name: &'static str) -> usize {
    name.as_ptr().addr() / 4 % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(redactor: RedactorId, name: &'static str) -> Option<RememberedField> {
        with_known(redactor, name, |known| *known)
    }

    #[test]
    fn a_name_is_known_to_the_redactor_that_found_it_harmless_and_by_its_place() {
        let [one, other] = [RedactorId::new(), RedactorId::new()];
        let names: &'static str = "customer_id,customer_id";
        let (name, same) = (&names[..11], &names[12..]);
        remember(one, name, NameRole::Value);
        let mut out = b"{".to_vec();
        let found = known(one, name).unwrap();
        found.push(&mut out);
        assert_eq!(out, br#"{\"customer_id\":"#);
        assert_eq!(found.role, NameRole::Value);
        assert!(known(other, name).is_none());
        assert!(known(one, &name[..10]).is_none());
        assert!(known(one, same).is_none());
    }

    #[test]
    fn names_that_do_not_fit_are_not_remembered() {
        let redactor = RedactorId::new();
        let longest = &*"n".repeat(MAX_REMEMBERED_BYTES).leak();
        let longer = &*"n".repeat(MAX_REMEMBERED_BYTES + 1).leak();
        remember(redactor, longest, NameRole::Other);
        remember(redactor, longer, NameRole::Other);
        assert!(known(redactor, longest).is_some());
        assert!(known(redactor, longer).is_none());
    }
}

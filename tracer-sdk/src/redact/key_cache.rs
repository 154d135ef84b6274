//! Short texts that were found harmless before: a program's field names, tools, models and states come again and again.
//! Without them a tool call takes 2.5 times the instructions.
//!
//! Each thread remembers a few, for the redactor that it worked with last. What is remembered is compared as a whole,
//! so that a name is taken for harmless only when this very name was.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::keys::NameRole;

/// Longer names are not remembered.
pub(super) const MAX_REMEMBERED_BYTES: usize = 30;

/// Number of names that are remembered, each in the one place that it may have.
const PLACES: usize = 256;

/// Tells one redactor, with the secrets that it knows, from another for as long as the process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RedactorId(u64);

impl RedactorId {
    /// ID of no redactor.
    const NONE: Self = Self(0);

    pub(super) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A name, filled up with zeros; empty where none is remembered.
#[derive(Debug, Clone, Copy)]
struct Remembered {
    length: u8,
    /// Role of the name, as that of a member.
    role: NameRole,
    bytes: [u8; MAX_REMEMBERED_BYTES],
}

#[derive(Debug)]
struct Harmless {
    redactor: RedactorId,
    names: [Remembered; PLACES],
}

const NOTHING: Remembered = Remembered {
    length: 0,
    role: NameRole::Other,
    bytes: [0; MAX_REMEMBERED_BYTES],
};

thread_local! {
    static HARMLESS: RefCell<Harmless> = const {
        RefCell::new(Harmless { redactor: RedactorId::NONE, names: [NOTHING; PLACES] })
    };
}

/// Knowledge of a thread about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameVerdict {
    /// The redactor found it harmless before; as a name of a member it has this role.
    Harmless(NameRole),
    /// Nothing, and nothing else is in its place.
    Nothing,
    /// Nothing, and another name is in its place.
    Another,
}

/// Knowledge of this thread about `name` from this redactor.
#[inline]
pub(super) fn look(redactor: RedactorId, name: &str) -> NameVerdict {
    let known = HARMLESS.try_with(|harmless| {
        let harmless = harmless.borrow();
        let remembered = &harmless.names[place(name)];
        if harmless.redactor != redactor || remembered.length == 0 {
            NameVerdict::Nothing
        } else if usize::from(remembered.length) == name.len()
            && remembered.bytes.starts_with(name.as_bytes())
        {
            NameVerdict::Harmless(remembered.role)
        } else {
            NameVerdict::Another
        }
    });
    // A thread that is ending remembers nothing.
    known.unwrap_or(NameVerdict::Another)
}

/// Says whether `redactor` found `name`, of whatever length, harmless before.
pub(super) fn is_harmless(redactor: RedactorId, name: &str) -> bool {
    name.len() <= MAX_REMEMBERED_BYTES && matches!(look(redactor, name), NameVerdict::Harmless(_))
}

/// Remembers that `redactor` found `name` harmless, in the place of another one.
pub(super) fn remember(redactor: RedactorId, name: &str, role: NameRole) {
    let Ok(length @ 1..) = u8::try_from(name.len()) else {
        return;
    };
    let _ = HARMLESS.try_with(|harmless| {
        let mut harmless = harmless.borrow_mut();
        if harmless.redactor != redactor {
            harmless.redactor = redactor;
            harmless.names = [NOTHING; PLACES];
        }
        let mut remembered = Remembered {
            length,
            role,
            ..NOTHING
        };
        if let Some(bytes) = remembered.bytes.get_mut(..name.len()) {
            bytes.copy_from_slice(name.as_bytes());
            harmless.names[place(name)] = remembered;
        }
    });
}

/// The place that `name` may have, by its length, its ends and its middle.
#[inline]
fn place(name: &str) -> usize {
    let bytes = name.as_bytes();
    let at = |position: usize| bytes.get(position).copied().unwrap_or_default();
    let sample = [
        bytes.len().to_le_bytes()[0],
        at(0),
        at(bytes.len() / 2),
        at(bytes.len().wrapping_sub(1)),
    ];
    // Multiplying spreads what names differ in over the high bits.
    (u32::from_le_bytes(sample).wrapping_mul(0x9e37_79b1) >> (u32::BITS - PLACES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_harmless(redactor: RedactorId, name: &str) -> bool {
        look(redactor, name) == NameVerdict::Harmless(NameRole::Other)
    }

    #[test]
    fn a_name_is_known_to_the_redactor_that_found_it_harmless() {
        let [one, other] = [RedactorId::new(), RedactorId::new()];
        remember(one, "customer", NameRole::Other);
        assert!(is_harmless(one, "customer"));
        assert!(!is_harmless(other, "customer"));
        remember(other, "order", NameRole::Other);
        assert!(
            !is_harmless(one, "customer"),
            "what another redactor found is forgotten"
        );
        assert!(!is_harmless(other, "customer"));
        assert!(is_harmless(other, "order"));
    }

    #[test]
    fn only_the_very_name_is_harmless() {
        let redactor = RedactorId::new();
        remember(redactor, "customer_id", NameRole::Other);
        for other in ["cuxtomer_id", "cxstomer_id", "customer_xd"] {
            assert_eq!(
                place(other),
                place("customer_id"),
                "the places do not tell them apart"
            );
            assert!(!is_harmless(redactor, other), "{other}");
        }
    }

    #[test]
    fn long_names_and_empty_ones_are_not_remembered() {
        let redactor = RedactorId::new();
        let longest = "n".repeat(MAX_REMEMBERED_BYTES);
        remember(redactor, &longest, NameRole::Other);
        assert!(is_harmless(redactor, &longest));
        for name in [
            String::new(),
            "n".repeat(MAX_REMEMBERED_BYTES + 1),
            "n".repeat(300),
        ] {
            remember(redactor, &name, NameRole::Other);
            assert!(!is_harmless(redactor, &name), "{} bytes", name.len());
        }
    }

    #[test]
    fn a_place_that_another_name_has_is_reported() {
        let redactor = RedactorId::new();
        assert_eq!(look(redactor, "customer_id"), NameVerdict::Nothing);
        remember(redactor, "customer_id", NameRole::Other);
        assert_eq!(look(redactor, "cxstomer_id"), NameVerdict::Another);
        assert_eq!(look(RedactorId::new(), "cxstomer_id"), NameVerdict::Nothing);
    }
}

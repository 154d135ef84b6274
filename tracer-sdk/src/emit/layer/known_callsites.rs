//! Lock-free cache of the filter's findings, by callsite.
//!
//! A lookup takes a few nanoseconds.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use once_cell::race::OnceRef;
use tracing::Metadata;

/// Maximum number of cached callsites, a power of two; those past it are found out again each time.
const PLACES: usize = 2048;
/// Number of places that a callsite may have.
const MAX_TRIES: usize = 8;

/// The layer's interest in a callsite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Callsite {
    /// Its spans or events are recorded.
    Recorded,
    /// A span of the program, which counts where it is the outermost one; other layers want it anyway.
    MaybeRoot,
    /// As [`Callsite::MaybeRoot`], and no other layer wants it.
    OursAlone,
    /// Nothing.
    Ignored,
}

/// Findings by callsites, whose metadata lives as long as the program.
pub(super) struct KnownCallsites(Box<[RememberedCallsite]>);

/// A callsite and what it was found to be.
struct RememberedCallsite {
    metadata: OnceRef<'static, Metadata<'static>>,
    found: AtomicU8,
}

impl KnownCallsites {
    pub(super) fn new() -> Self {
        let empty = || RememberedCallsite {
            metadata: OnceRef::new(),
            found: AtomicU8::new(0),
        };
        Self(std::iter::repeat_with(empty).take(PLACES).collect())
    }

    /// Caches a finding for a callsite, if there is a place for it; `None` is to be found out at the next lookup.
    pub(super) fn remember(&self, metadata: &'static Metadata<'static>, found: Option<Callsite>) {
        for place in self.places(metadata) {
            // Another thread may take the place at the same moment.
            let _ = place.metadata.set(metadata);
            if place
                .metadata
                .get()
                .is_some_and(|known| std::ptr::eq(known, metadata))
            {
                place.found.store(number(found), Ordering::Relaxed);
                return;
            }
        }
    }

    /// Returns the cached finding for a callsite.
    #[inline]
    pub(super) fn get(&self, metadata: &Metadata<'_>) -> Option<Callsite> {
        let (place, _) = self.place(metadata)?;
        match place.found.load(Ordering::Relaxed) {
            1 => Some(Callsite::Recorded),
            2 => Some(Callsite::MaybeRoot),
            3 => Some(Callsite::OursAlone),
            4 => Some(Callsite::Ignored),
            _ => None,
        }
    }

    /// The metadata itself, of a callsite that has a place.
    pub(super) fn lasting(&self, metadata: &Metadata<'_>) -> Option<&'static Metadata<'static>> {
        Some(self.place(metadata)?.1)
    }

    #[inline]
    fn place(&self, metadata: &Metadata<'_>) -> Option<(&RememberedCallsite, &'static Metadata<'static>)> {
        for place in self.places(metadata) {
            let known = place.metadata.get()?;
            if std::ptr::eq::<Metadata<'_>>(known, metadata) {
                return Some((place, known));
            }
        }
        None
    }

    /// The places that a callsite may have.
    #[inline]
    fn places(&self, metadata: &Metadata<'_>) -> impl Iterator<Item = &RememberedCallsite> {
        // The golden ratio spreads addresses that are near each other.
        let address = std::ptr::from_ref(metadata).addr() as u64;
        let spread = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2());
        // Below the number of places, so that it fits.
        let first = usize::try_from(spread).unwrap_or(0);
        (first..first + MAX_TRIES).filter_map(|place| self.0.get(place % PLACES))
    }
}

/// Stored form of a finding; zero is none.
fn number(found: Option<Callsite>) -> u8 {
    match found {
        None => 0,
        Some(Callsite::Recorded) => 1,
        Some(Callsite::MaybeRoot) => 2,
        Some(Callsite::OursAlone) => 3,
        Some(Callsite::Ignored) => 4,
    }
}

impl fmt::Debug for KnownCallsites {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KnownCallsites").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tracing::callsite::Identifier;
    use tracing::field::FieldSet;
    use tracing::metadata::Kind;
    use tracing::subscriber::Interest;
    use tracing::{Callsite as TracingCallsite, Level};

    use super::*;

    struct Site;

    impl TracingCallsite for Site {
        fn set_interest(&self, _: Interest) {}
        fn metadata(&self) -> &Metadata<'_> {
            unreachable!("nobody asks for it")
        }
    }

    fn metadata() -> Metadata<'static> {
        let fields = FieldSet::new(&[], Identifier(&Site));
        Metadata::new("count", "shop", Level::INFO, None, None, None, fields, Kind::SPAN)
    }

    fn lasting() -> &'static Metadata<'static> {
        Box::leak(Box::new(metadata()))
    }

    #[test]
    fn a_callsite_is_what_it_was_found_to_be_last() {
        let known = KnownCallsites::new();
        let found = [
            Callsite::Recorded,
            Callsite::MaybeRoot,
            Callsite::OursAlone,
            Callsite::Ignored,
        ];
        let sites: Vec<_> = (0..200).map(|number| (lasting(), found[number % 4])).collect();
        for (site, found) in &sites {
            assert_eq!(known.get(site), None);
            known.remember(site, Some(*found));
            assert_eq!(known.get(site), Some(*found));
            known.remember(site, None);
            assert_eq!(known.get(site), None);
            known.remember(site, Some(*found));
        }
        for (site, found) in &sites {
            assert_eq!(known.get(site), Some(*found));
            assert!(std::ptr::eq(known.lasting(site).unwrap(), *site));
        }
        let taken = known.0.iter().filter(|place| place.metadata.get().is_some());
        assert_eq!(taken.count(), sites.len(), "each has one place");
    }

    #[test]
    fn metadata_of_a_moment_is_no_callsite() {
        let known = KnownCallsites::new();
        (0..100).for_each(|_| known.remember(lasting(), Some(Callsite::Recorded)));
        assert_eq!(known.get(&metadata()), None);
        assert!(known.lasting(&metadata()).is_none());
    }

    #[test]
    fn more_callsites_than_places_are_forgotten_and_never_confused() {
        let known = KnownCallsites::new();
        let sites: Vec<_> = (0..PLACES * 2).map(|_| lasting()).collect();
        let found = |number: usize| {
            if number.is_multiple_of(2) {
                Callsite::Recorded
            } else {
                Callsite::Ignored
            }
        };
        for (number, site) in sites.iter().enumerate() {
            known.remember(site, Some(found(number)));
        }
        for (number, site) in sites.iter().enumerate() {
            assert!(
                known
                    .get(site)
                    .is_none_or(|remembered| remembered == found(number))
            );
        }
        assert!(sites.iter().any(|site| known.get(site).is_some()));
    }
}

//! How long the facts say that a run was removed.
//!
//! Compaction leaves a removal out once it is [`MIN_REMOVAL_AGE`] old and no other line says anything of the run. A reader learns
//! of every removal that is younger than where it stopped; one that was away for longer than [`MAX_READER_PAUSE`] reads all facts
//! again, and forgets the runs that they list no more. All times are by the store's clock: compaction writes a mark before
//! it leaves anything out, whose time every reader asks for after it has listed what is new.

use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How old a removal is at least before it is left out. What is between this and [`MAX_READER_PAUSE`] is for readers that
/// are just reading.
pub(crate) const MIN_REMOVAL_AGE: Duration = DAY.saturating_mul(120);
/// How long a reader may have been away that goes on where it stopped.
pub(crate) const MAX_READER_PAUSE: Duration = DAY.saturating_mul(90);
/// Longer than listing what is new takes: what was named before a mark, and by as much, is listed by who finds the mark
/// afterwards.
pub(crate) const MAX_LISTING: Duration = DAY;

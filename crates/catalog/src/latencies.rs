//! [`Latencies`]: how long many calls took, in little room: percentiles within half a percent.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The ratio of the bounds of a bucket: a value in the middle is at most half a percent from either.
const RATIO: f64 = 1.01;

/// The durations of calls, each in the bucket of those that are within a percent of it. Sums of them are exact to the
/// bucket, in whatever order they are added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    buckets: BTreeMap<u16, u64>,
}

impl Latencies {
    /// Adds a call that took this long, in microseconds.
    pub fn add(&mut self, microseconds: u64) {
        *self.buckets.entry(bucket(microseconds)).or_default() += 1;
    }

    /// Adds the calls of others.
    pub fn merge(&mut self, others: &Self) {
        for (bucket, count) in &others.buckets {
            let sum = self.buckets.entry(*bucket).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// The duration in microseconds that `percent` of the calls did not exceed; `None` without calls.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let count: u64 = self.buckets.values().copied().fold(0, u64::saturating_add);
        let rank = rank(count, percent)?;
        let mut before = 0_u64;
        self.buckets.iter().find_map(|(bucket, count)| {
            before = before.saturating_add(*count);
            (before > rank).then(|| middle(*bucket))
        })
    }

    /// The duration of the slowest call in microseconds, to half a percent; `None` without calls.
    #[must_use]
    pub fn slowest(&self) -> Option<u64> {
        self.buckets.keys().next_back().map(|bucket| middle(*bucket))
    }

    /// Number of calls.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.values().copied().fold(0, u64::saturating_add)
    }
}

/// The place, from 0, of a percentile among sorted values: the nearest rank; `None` among none.
pub(crate) fn rank(count: u64, percent: f64) -> Option<u64> {
    let last = count.checked_sub(1)?;
    #[expect(clippy::cast_precision_loss, reason = "a rank is exact to 2^53 calls")]
    let rank = (count as f64 * percent / 100.0).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the count"
    )]
    let rank = rank.max(1.0) as u64 - 1;
    Some(rank.min(last))
}

/// 0 for less than a microsecond, then a bucket for each percent.
fn bucket(microseconds: u64) -> u16 {
    if microseconds == 0 {
        return 0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a bucket is a percent wide")]
    let number = (microseconds as f64).ln() / RATIO.ln();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the logarithm of 2^64 to this base is 4458"
    )]
    let number = number.round() as u16;
    number + 1
}

/// The shortest duration in the bucket of this one; [`Latencies::percentile`] gives its middle.
pub(crate) fn shortest_like(microseconds: u64) -> u64 {
    let wanted = bucket(microseconds);
    // The bounds of buckets are no whole numbers: what rounds into the bucket decides.
    let mut shortest = microseconds;
    let mut step = microseconds / 100;
    while step > 0 {
        if bucket(shortest.saturating_sub(step)) == wanted {
            shortest -= step;
        } else {
            step /= 2;
        }
    }
    while shortest > 0 && bucket(shortest - 1) == wanted {
        shortest -= 1;
    }
    shortest
}

fn middle(bucket: u16) -> u64 {
    let Some(number) = bucket.checked_sub(1) else {
        return 0;
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a power of a positive number; what is too large is cut to the largest"
    )]
    let middle = RATIO.powi(i32::from(number)).round() as u64;
    middle
}

/// A list of pairs, in which a bucket is its distance from the one before.
impl Serialize for Latencies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut before = 0;
        serializer.collect_seq(self.buckets.iter().flat_map(|(bucket, count)| {
            let distance = u64::from(bucket - before);
            before = *bucket;
            [distance, *count]
        }))
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = Vec::<u64>::deserialize(deserializer)?;
        let mut latencies = Self::default();
        let mut before = 0_u16;
        for pair in numbers.chunks(2) {
            let &[distance, count] = pair else {
                return Err(serde::de::Error::custom("a bucket without a count"));
            };
            before = u16::try_from(distance)
                .ok()
                .and_then(|distance| before.checked_add(distance))
                .ok_or_else(|| serde::de::Error::custom("no such bucket"))?;
            latencies.buckets.insert(before, count);
        }
        Ok(latencies)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_calls_have_no_percentile() {
        assert_eq!(Latencies::default().percentile(50.0), None);
        let mut one = Latencies::default();
        one.add(0);
        assert_eq!((one.percentile(50.0), one.percentile(99.0)), (Some(0), Some(0)));
    }

    proptest! {
        #[test]
        fn percentiles_are_within_half_a_percent(
            mut durations in prop::collection::vec(0_u64..10_000_000_000, 1..200),
            percent in 0.0_f64..=100.0,
            split in any::<prop::sample::Index>(),
        ) {
            let mut parts = [Latencies::default(), Latencies::default()];
            let split = split.index(durations.len());
            for (number, duration) in durations.iter().enumerate() {
                parts[usize::from(number >= split)].add(*duration);
            }
            let [mut all, others] = parts;
            all.merge(&others);
            durations.sort_unstable();
            let place = usize::try_from(rank(durations.len() as u64, percent).unwrap()).unwrap();
            let found = all.percentile(percent).unwrap();
            prop_assert!(found.abs_diff(durations[place]) <= durations[place] / 199 + 1);
        }

        #[test]
        fn the_shortest_like_a_duration_is_in_its_bucket(duration in 0_u64..10_000_000_000) {
            let shortest = shortest_like(duration);
            prop_assert!(shortest <= duration && bucket(shortest) == bucket(duration));
            prop_assert!(shortest == 0 || bucket(shortest - 1) < bucket(duration));
        }

        #[test]
        fn what_is_kept_is_what_was_counted(durations in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut latencies = Latencies::default();
            for duration in durations {
                latencies.add(duration);
            }
            let text = serde_json::to_string(&latencies).unwrap();
            prop_assert_eq!(serde_json::from_str::<Latencies>(&text).unwrap(), latencies);
        }

        #[test]
        fn odd_texts_are_refused_without_a_panic(numbers in prop::collection::vec(any::<u64>(), 0..9)) {
            let read = serde_json::from_str::<Latencies>(&serde_json::to_string(&numbers).unwrap());
            if let Ok(latencies) = read {
                let _ = latencies.percentile(50.0);
            }
        }
    }
}

//! The number that stands for a sample (the contract of the gate, section 7.2).

use crate::policy::Aggregate;

/// The aggregate of values; `None` of no values.
pub(crate) fn aggregate(values: &[f64], by: Aggregate) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    match by {
        Aggregate::Median => {
            let (low, high) = (sorted.get(last / 2)?, sorted.get(sorted.len() / 2)?);
            // The plain mean, not `midpoint`: a value that is infinite stands for one that is not known.
            Some(if last % 2 == 0 { *low } else { (low + high) / 2.0 })
        }
        Aggregate::Max => sorted.get(last).copied(),
        Aggregate::P90 => sorted.get(nearest_rank(sorted.len())).copied(),
    }
}

/// The index of the smallest of `count` values that nine tenths do not exceed.
pub(super) fn nearest_rank(count: usize) -> usize {
    // In whole numbers: 0.9 · 10 is 9, not a little more.
    (count * 9).div_ceil(10).saturating_sub(1)
}

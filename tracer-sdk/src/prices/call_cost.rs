//! [`CallCost`]: what one model call costs; [`CostSum`]: what several cost together, with what is not known of it.

use super::NoPrice;
use super::rates::Charge;
use tracer_format::Usd;

/// Cost of a model call: exact, a lower bound, or unknown.
///
/// ```
/// use tracer_sdk::prices::Prices;
/// use tracer_sdk::testing::capture;
/// use tracer_sdk::{Usage, llm_call};
///
/// let run = capture(|| llm_call("gpt-4o").provider("openai").usage(Usage::new(12_000, 800)).record());
/// let cost = Prices::default().cost(&run.records[1]).unwrap();
/// assert_eq!(cost.usd()?.to_string(), "$0.038");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCost {
    /// The price of its tokens.
    pub priced: Result<Usd, NoPrice>,
    /// `true` when more is charged than these: the call costs at least the price.
    pub is_least: bool,
    /// `true` when a recorded answer answered the call: then it cost nothing, and `priced` is what it would have cost.
    pub is_replayed: bool,
}

impl CallCost {
    pub(crate) fn new(charge: Result<Charge, NoPrice>, is_replayed: bool) -> Self {
        Self {
            priced: charge.map(|charge| charge.usd),
            is_least: charge.is_ok_and(|charge| charge.is_least),
            is_replayed,
        }
    }

    /// Returns the cost: zero where a recorded answer answered the call.
    ///
    /// ```
    /// use tracer_sdk::prices::{NoPrice, Prices};
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("my-model").record());
    /// let cost = Prices::default().cost(&run.records[1]).unwrap();
    /// assert_eq!(cost.usd(), Err(NoPrice::UnknownModel));
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoPrice`]: why it is not known.
    pub const fn usd(self) -> Result<Usd, NoPrice> {
        match self.priced {
            _ if self.is_replayed => Ok(Usd::ZERO),
            Ok(_) if self.is_least => Err(NoPrice::InPart),
            priced => priced,
        }
    }
}

/// Total cost of model calls: exact, or a lower bound.
///
/// ```
/// use tracer_sdk::prices::{CostSum, Prices};
/// use tracer_sdk::testing::capture;
/// use tracer_sdk::{Usage, llm_call};
///
/// let run = capture(|| {
///     llm_call("gpt-4o").provider("openai").usage(Usage::new(12_000, 800)).record()?;
///     llm_call("my-model").usage(Usage::new(12_000, 800)).record()
/// });
/// let mut sum = CostSum::default();
/// for record in run.records {
///     sum.extend(Prices::default().cost(&record));
/// }
/// assert_eq!((sum.known.to_string().as_str(), sum.priced, sum.unpriced), ("$0.038", 1, 1));
/// assert_eq!(sum.usd(), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CostSum {
    /// Sum of the known costs.
    pub known: Usd,
    /// Number of calls whose cost is known, without replayed ones.
    pub priced: u64,
    /// Calls whose cost is not known, or not all of it.
    pub unpriced: u64,
    /// Those of them whose cost is known in part, and that part is in the sum.
    pub partly: u64,
    /// Calls that recorded answers answered, so that they cost nothing.
    pub replayed: u64,
    /// Sum of what these would have cost, where that is known.
    pub replayed_known: Usd,
    /// Those of them where that is not known.
    pub replayed_unpriced: u64,
}

impl CostSum {
    /// Returns whether the sum has a known cost of calls that were not replayed.
    ///
    /// ```
    /// assert!(!tracer_sdk::prices::CostSum::default().has_known());
    /// ```
    #[must_use]
    pub const fn has_known(&self) -> bool {
        self.priced > 0 || self.partly > 0
    }

    /// Cost of all calls; `None` where one of them has an unknown cost.
    ///
    /// ```
    /// use tracer_sdk::format::Usd;
    /// use tracer_sdk::prices::CostSum;
    ///
    /// assert_eq!(CostSum::default().usd(), Some(Usd::ZERO)); // no call, no cost
    /// ```
    #[must_use]
    pub fn usd(&self) -> Option<Usd> {
        (self.unpriced == 0).then_some(self.known)
    }

    /// Number of all calls.
    ///
    /// ```
    /// assert_eq!(tracer_sdk::prices::CostSum::default().calls(), 0);
    /// ```
    #[must_use]
    pub const fn calls(&self) -> u64 {
        self.priced
            .saturating_add(self.unpriced)
            .saturating_add(self.replayed)
    }

    /// Adds the cost of calls, each the same.
    pub(super) fn add_calls(&mut self, cost: CallCost, calls: u64, together: Usd) {
        let (known, priced, unpriced) = if cost.is_replayed {
            self.replayed = self.replayed.saturating_add(calls);
            (&mut self.replayed_known, None, &mut self.replayed_unpriced)
        } else {
            (&mut self.known, Some(&mut self.priced), &mut self.unpriced)
        };
        if cost.priced.is_ok() {
            *known = known.saturating_add(together);
        }
        match (cost.priced.is_ok() && !cost.is_least, priced) {
            (true, None) => {}
            (true, Some(priced)) => *priced = priced.saturating_add(calls),
            (false, _) => *unpriced = unpriced.saturating_add(calls),
        }
        if cost.is_least && !cost.is_replayed {
            self.partly = self.partly.saturating_add(calls);
        }
    }

    /// Adds the cost of other calls.
    ///
    /// ```
    /// use tracer_sdk::prices::CostSum;
    ///
    /// let mut sum = CostSum::default();
    /// sum.add(&CostSum::default());
    /// assert_eq!(sum, CostSum::default());
    /// ```
    pub fn add(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.priced = self.priced.saturating_add(other.priced);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.partly = self.partly.saturating_add(other.partly);
        self.replayed = self.replayed.saturating_add(other.replayed);
        self.replayed_known = self.replayed_known.saturating_add(other.replayed_known);
        self.replayed_unpriced = self.replayed_unpriced.saturating_add(other.replayed_unpriced);
    }
}

impl Extend<CallCost> for CostSum {
    fn extend<Costs: IntoIterator<Item = CallCost>>(&mut self, costs: Costs) {
        for cost in costs {
            self.add_calls(cost, 1, cost.priced.unwrap_or_default());
        }
    }
}

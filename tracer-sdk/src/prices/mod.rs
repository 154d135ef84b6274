//! Cost of model calls: price tables, rates, sums; feature `prices`.
//!
//! [`Prices`] finds the price of a model at a time, exactly or not at all: [`NoPrice`] says why. The table is made from
//! the public package `genai-prices` by `tests/prices/make_table.py`; `[prices]` in a settings file adds to it and
//! overrides it, see [`read_prices`](crate::settings::read_prices). Nothing here is stored with a run: a cost is
//! computed on request.
//!
//! ```
//! use tracer_sdk::Usage;
//! use tracer_sdk::prices::Prices;
//!
//! let at = "2026-11-01T12:00:00Z".parse()?;
//! let usage = Usage::new(12_000, 800).cache_read(10_000);
//! let cost = Prices::default().call_cost("openai", "gpt-4o-2024-08-06", None, &usage, Some(at));
//! assert_eq!(cost.usd()?.to_string(), "$0.026");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call_cost;
mod call_groups;
mod clause;
mod find;
mod logged_call;
mod no_price;
mod own;
mod period;
mod rates;
mod refused;
mod table;

pub use call_cost::{CallCost, CostSum};
pub use call_groups::CallGroups;
#[doc(hidden)]
pub use call_groups::CallPriceKey;
#[doc(hidden)]
pub use find::cost_at;
pub use find::{Price, PriceSource, Prices};
pub(crate) use logged_call::LoggedCall;
pub use no_price::NoPrice;
pub use own::OwnPrice;
pub(crate) use own::WILDCARD;
pub use period::Day;
pub use rates::{Rate, RateKind, Rates};
#[doc(hidden)]
pub use refused::is_refusal;
pub use table::Release;

#[cfg(test)]
mod tests;

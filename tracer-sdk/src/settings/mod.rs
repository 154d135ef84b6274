//! Settings (decisions, section 9): what they are, where they come from, which value wins.
//!
//! Highest first: values in code ([`Config`]), environment variables `TRACER_<SETTING>`, `.tracer/config.toml` of the
//! project, `config.toml` in `~/.tracer`, defaults. [`SETTINGS`] is the one table of names, defaults and allowed values.
//! [`Sources::read`] reads the process's environment and files; [`resolve`] decides.

mod files;
mod inside;
mod layer;
#[cfg(feature = "prices")]
mod price_list;
mod problem;
mod resolve;
mod resolved;
mod setting;
pub(crate) mod table;
mod unknown_keys;
mod value;
pub(crate) mod words;

pub use files::{SettingsFile, Sources};
#[cfg(feature = "prices")]
pub use price_list::read_prices;
pub use problem::{Position, SettingProblem, SettingSource};
pub use resolve::{load, resolve};
pub(crate) use resolved::DEFAULT_REDACT_KEYS;
pub use resolved::Settings;
pub use setting::{AllowedValues, Setting};
pub use table::{Config, SETTINGS};
pub(crate) use words::MIN_FIELD_BYTES;
pub use words::{BATCH_INTERVAL, BATCH_SPANS, Flush};

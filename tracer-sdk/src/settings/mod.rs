//! Settings (decisions, section 9): what they are, where they come from, which value wins.
//!
//! Highest first: values in code ([`Config`]), environment variables `TRACER_<SETTING>`, `.tracer/config.toml` of the
//! project, `config.toml` in `~/.tracer`, defaults. [`SETTINGS`] is the one table of names, defaults and allowed values.
//! [`Sources::read`] reads the process's environment and files; [`resolve`] decides.

mod config;
mod files;
mod given;
mod inside;
mod layer;
mod nearest;
#[cfg(feature = "prices")]
mod price_list;
mod problem;
mod resolve;
mod resolved;
mod table;
mod toml_file;

pub use config::Config;
pub use files::{SettingsFile, Sources};
#[cfg(feature = "prices")]
pub use price_list::read_prices;
pub use problem::{Position, SettingProblem, SettingSource};
pub use resolve::{load, resolve};
pub use resolved::{BATCH_INTERVAL, BATCH_SPANS, Flush, Settings};
pub(crate) use resolved::{DEFAULT_REDACT_KEYS, MIN_FIELD_BYTES};
pub use table::{AllowedValues, SETTINGS, Setting};

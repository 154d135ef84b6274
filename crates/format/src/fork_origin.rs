//! The mark of a run that was forked from another one: the additive key `fork` of `meta.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RunMeta, TraceId};

/// The key in `meta.json`.
pub const FORK_KEY: &str = "fork";

/// Which run a run was forked from, and what was changed (capture, section 6).
///
/// ```
/// use tracer_sdk::format::ForkOrigin;
///
/// let origin = ForkOrigin {
///     run: "4bf92f3577b34da6a3ce929d0e0e4736".parse()?,
///     at: 3,
///     changes: vec!["edited answer of call 3".to_owned()],
/// };
/// assert!(serde_json::to_string(&origin).unwrap().ends_with(r#""at":3,"changes":["edited answer of call 3"]}"#));
/// # Ok::<(), tracer_sdk::format::InvalidId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Fork"))]
pub struct ForkOrigin {
    /// The run that it was forked from.
    pub run: TraceId,
    /// The first of that run's model calls that was not answered as recorded, from 1.
    pub at: u64,
    /// Changes from that point on, in words; empty when there are none.
    #[serde(default)]
    pub changes: Vec<String>,
}

impl RunMeta {
    /// The run that this one was forked from; `None` for a run that was not.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let mut meta = capture(|| ()).meta;
    /// assert_eq!(meta.fork(), None);
    ///
    /// let fork = serde_json::json!({"run": "4bf92f3577b34da6a3ce929d0e0e4736", "at": 3});
    /// meta.additional.insert("fork".to_owned(), fork);
    /// assert_eq!(meta.fork().unwrap().at, 3);
    /// ```
    #[must_use]
    pub fn fork(&self) -> Option<ForkOrigin> {
        let mark: &Value = self.additional.get(FORK_KEY)?;
        ForkOrigin::deserialize(mark).ok()
    }
}

//! The mark of a run that was made by a gate: the additive key `gate` of `meta.json`.

use serde::Serialize;
use serde_json::Value;

use super::RunMeta;

/// The key in `meta.json`.
pub const GATE_KEY: &str = "gate";

/// The gate that a run is a trial of, and the number of the trial.
///
/// ```
/// use tracer_sdk::format::GateTrial;
///
/// let mark = GateTrial { id: "5f0c2a9e".to_owned(), trial: 2 };
/// assert_eq!(serde_json::to_string(&mark)?, r#"{"id":"5f0c2a9e","trial":2}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Gate"))]
pub struct GateTrial {
    /// The gate.
    pub id: String,
    /// The number of the trial, from 1.
    pub trial: u64,
}

impl RunMeta {
    /// The trial that the run is; `None` for a run that no gate made.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let mut meta = capture(|| ()).meta;
    /// assert_eq!(meta.gate(), None);
    ///
    /// meta.additional.insert("gate".to_owned(), serde_json::json!({"id": "5f0c2a9e", "trial": 2}));
    /// assert_eq!(meta.gate().unwrap().trial, 2);
    /// ```
    #[must_use]
    pub fn gate(&self) -> Option<GateTrial> {
        let mark = self.additional.get(GATE_KEY)?;
        Some(GateTrial {
            id: mark.get("id").and_then(Value::as_str)?.to_owned(),
            trial: mark.get("trial").and_then(Value::as_u64)?,
        })
    }
}

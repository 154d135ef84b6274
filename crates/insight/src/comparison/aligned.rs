//! The calls of two runs side by side, and what became of each.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Call, CallList};
use crate::value_differences;

/// Every call of two runs, in the order in which one reads them: what was removed precedes what came in its place.
///
/// ```
/// use tracer_insight::comparison::{AlignedCalls, CallChange, CallList};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let calls = CallList::of(&run.records);
/// let aligned = AlignedCalls::new(CallList::default(), calls);
/// assert_eq!(aligned.pairs().next().unwrap().change, CallChange::Added);
/// ```
#[derive(Debug, Clone, Default)]
pub struct AlignedCalls {
    pub(crate) before: CallList,
    pub(crate) after: CallList,
    pub(crate) pairs: Vec<AlignedPair>,
    /// By the number of the pair.
    pub(crate) differences: BTreeMap<usize, Vec<ArgumentDifference>>,
}

/// A pair by the numbers of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlignedPair {
    pub(crate) change: CallChange,
    pub(crate) before: Option<u32>,
    pub(crate) after: Option<u32>,
}

tracer_sdk::words! {
    /// Kind of change of a call between the two sides.
    ///
    /// ```
    /// use tracer_insight::comparison::CallChange;
    ///
    /// assert_eq!(serde_json::to_string(&CallChange::Moved)?, r#""moved""#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum CallChange in tracer_insight::comparison {
        /// Both sides have it, asked the same, ended the same.
        Same = "same",
        /// Both sides have it, with other arguments, another model, or another end.
        Changed = "changed",
        /// Only now.
        Added = "added",
        /// No longer.
        Removed = "removed",
        /// Both sides have it, in another place; it is listed where it is now.
        Moved = "moved",
        /// Only now, and the same as a call that there is already.
        Repeated = "repeated",
    }
}

/// A call of each side, or of one.
///
/// ```
/// use tracer_insight::comparison::{AlignedCalls, CallList};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let calls = CallList::of(&run.records);
/// let aligned = AlignedCalls::new(calls.clone(), calls);
/// let pair = aligned.pairs().next().unwrap();
/// assert_eq!(pair.before, pair.after);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CallPair<'a> {
    /// The kind of change.
    pub change: CallChange,
    /// The call before; null when there was none.
    pub before: Option<Call<'a>>,
    /// The call now; null when there is none.
    pub after: Option<Call<'a>>,
    /// In what the arguments differ, where that was looked up.
    pub differences: &'a [ArgumentDifference],
}

/// A field in which the arguments of two calls differ.
///
/// ```
/// use serde_json::json;
/// use tracer_insight::comparison::ArgumentDifference;
///
/// let found = ArgumentDifference::between(&json!({"page": 1}), &json!({"page": 2}));
/// assert_eq!((found[0].path.as_str(), &found[0].after), ("page", &Some(json!(2))));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ArgumentDifference {
    /// Path of the field, `order.items[2]`; empty for the value itself.
    pub path: String,
    /// The value before; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value now; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

impl ArgumentDifference {
    /// The fields in which two values differ; none when they are the same. Very deep values are compared as a whole, and
    /// of very many differences the first are given.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_insight::comparison::ArgumentDifference;
    ///
    /// let found = ArgumentDifference::between(&json!({"q": ["a"], "n": 1}), &json!({"q": ["a", "b"]}));
    /// let paths: Vec<&str> = found.iter().map(|difference| difference.path.as_str()).collect();
    /// assert_eq!(paths, ["n", "q[1]"]);
    /// ```
    #[must_use]
    pub fn between(before: &Value, after: &Value) -> Vec<Self> {
        let found = value_differences::differing(&[before, after], str::to_owned).into_iter();
        found
            .map(|(path, values)| Self {
                path,
                before: values.first().copied().flatten().cloned(),
                after: values.last().copied().flatten().cloned(),
            })
            .collect()
    }
}

impl AlignedCalls {
    /// The pairs, in order.
    ///
    /// ```
    /// use tracer_insight::comparison::AlignedCalls;
    ///
    /// assert_eq!(AlignedCalls::default().pairs().count(), 0);
    /// ```
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = CallPair<'_>> + Clone {
        self.pairs.iter().enumerate().map(|(number, pair)| CallPair {
            change: pair.change,
            before: pair.before.and_then(|number| self.before.get(number as usize)),
            after: pair.after.and_then(|number| self.after.get(number as usize)),
            differences: self.differences.get(&number).map_or(&[], Vec::as_slice),
        })
    }
}

impl Serialize for AlignedCalls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.pairs())
    }
}

impl schemars::JsonSchema for AlignedCalls {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AlignedCalls".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Every call of both runs, in the order in which one reads them.",
            "type": "array",
            "items": generator.subschema_for::<CallPair<'_>>(),
        })
    }
}

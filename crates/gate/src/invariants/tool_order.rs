//! `tool_order`: tools are called in this order.

use serde::Deserialize;
use tracer_insight::profile::RunProfile;

use super::{Invariant, InvariantSpec, tools};
use crate::{Baseline, Finding};
use tracer_insight::marked_text::MarkedText;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolOrder {
    /// The calls: a tool, or `{any: [a, b]}` for one of several.
    #[serde(deserialize_with = "calls")]
    #[schemars(length(min = 1))]
    order: Vec<OrderedCall>,
    /// Comparison with the calls of a run.
    #[serde(default, rename = "match")]
    matching: OrderMatch,
}

/// The comparison of the order with the calls of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OrderMatch {
    /// In this order, with other calls before, between and after.
    #[default]
    Subsequence,
    /// These calls in this order, and no other.
    Strict,
    /// In any order, with other calls.
    Unordered,
}

#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "must be a list of tools, or of {any: [a, b]}")]
enum OrderedCall {
    One(String),
    Any(AnyOf),
}

#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnyOf {
    #[serde(deserialize_with = "tools::names")]
    any: Vec<String>,
}

fn calls<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<OrderedCall>, D::Error> {
    let calls = Vec::<OrderedCall>::deserialize(deserializer)?;
    if calls.is_empty() || calls.iter().any(|call| call.names().iter().all(String::is_empty)) {
        return Err(serde::de::Error::custom("must name a tool"));
    }
    Ok(calls)
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<ToolOrder>("tool_order").labelled();

impl OrderedCall {
    fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Any(several) => &several.any,
        }
    }

    fn is(&self, tool: &str) -> bool {
        self.names().iter().any(|name| name == tool)
    }

    fn words(&self) -> String {
        self.names().join(" or ")
    }
}

impl ToolOrder {
    /// The first call that is not where it should be: a demanded one, or one too many.
    fn misplaced(&self, called: &[String]) -> Option<String> {
        match self.matching {
            OrderMatch::Subsequence => {
                let mut rest = called.iter();
                let missing = self.order.iter().find(|call| !rest.any(|tool| call.is(tool)));
                missing.map(OrderedCall::words)
            }
            OrderMatch::Strict => {
                let mut rest = called.iter();
                let wrong = |call: &&OrderedCall| rest.next().is_none_or(|tool| !call.is(tool));
                let wrong = self.order.iter().find(wrong).map(OrderedCall::words);
                wrong.or_else(|| called.get(self.order.len()).cloned())
            }
            OrderMatch::Unordered => {
                let mut taken = vec![None; called.len()];
                let unmatched = (0..self.order.len()).find(|call| {
                    let mut seen = vec![false; called.len()];
                    !self.assign(*call, called, &mut taken, &mut seen)
                });
                unmatched
                    .and_then(|call| self.order.get(call))
                    .map(OrderedCall::words)
            }
        }
    }

    /// Assigns a demanded call to one that was made, moving earlier assignments where needed (Kuhn's algorithm).
    fn assign(&self, call: usize, called: &[String], taken: &mut [Option<usize>], seen: &mut [bool]) -> bool {
        let Some(demanded) = self.order.get(call) else {
            return false;
        };
        for (place, tool) in called.iter().enumerate() {
            let Some(seen_here) = seen.get_mut(place).filter(|seen| !**seen && demanded.is(tool)) else {
                continue;
            };
            *seen_here = true;
            let holder = taken.get(place).copied().flatten();
            if holder.is_none_or(|other| self.assign(other, called, taken, seen)) {
                if let Some(place) = taken.get_mut(place) {
                    *place = Some(call);
                }
                return true;
            }
        }
        false
    }
}

impl Invariant for ToolOrder {
    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        // Calls that are missing, or that only a stricter reading finds, may complete an order, or disturb a strict one.
        let is_whole = run.missing.is_none() && run.possible_tools.is_empty();
        match self.misplaced(&run.signature.tools) {
            None if is_whole || self.matching != OrderMatch::Strict => Finding::kept(),
            Some(place) if is_whole => {
                Finding::broken(MarkedText::own("the order breaks at ").with_value(place))
            }
            _ => Finding::default(),
        }
    }

    fn description(&self) -> String {
        let order: Vec<String> = self.order.iter().map(OrderedCall::words).collect();
        let order = order.join(", ");
        match self.matching {
            OrderMatch::Subsequence => format!("these tools are called in this order: {order}"),
            OrderMatch::Strict => format!("exactly these tools are called, in this order: {order}"),
            OrderMatch::Unordered => format!("these calls are made, in any order: {order}"),
        }
    }
}

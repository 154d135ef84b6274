//! [`ForkPlan`]: where a run is forked and what is changed from there on, checked against the calls that it kept.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tracer_insight::text::counted;

/// Failure that replaces the answer of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// An error with this status.
    Status(u16),
    /// Nothing comes, for longer than clients wait.
    Timeout,
    /// The recorded answer breaks off half way.
    Cut,
}

/// A text that names no [`CallFault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is none of a status from 400 to 599, timeout and cut")]
pub struct UnknownCallFault;

impl FromStr for CallFault {
    type Err = UnknownCallFault;

    /// ```
    /// use tracer_capture::cassette::CallFault;
    ///
    /// assert_eq!("429".parse(), Ok(CallFault::Status(429)));
    /// assert!("200".parse::<CallFault>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, UnknownCallFault> {
        match text {
            "timeout" => Ok(Self::Timeout),
            "cut" => Ok(Self::Cut),
            text => text
                .parse()
                .ok()
                .filter(|status| (400..=599).contains(status))
                .map(Self::Status)
                .ok_or(UnknownCallFault),
        }
    }
}

/// Call at which a run is forked, and the changes from there on. Calls of models are numbered from 1.
#[derive(Debug, Clone, Default)]
pub struct ForkPlan {
    /// The first call that is not answered as recorded.
    pub at: u64,
    /// Edited answers: the API's document, whatever way the request wants it, or a whole stream.
    pub edits: BTreeMap<u64, String>,
    /// Calls that fail.
    pub faults: BTreeMap<u64, CallFault>,
    /// Model of the calls from there on.
    pub model: Option<String>,
    /// The system prompt from there on.
    pub system_prompt: Option<String>,
}

/// Why a run cannot be forked like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// The run kept no call of a model.
    #[error("the run kept no call of a model")]
    NoCalls,
    /// There is no such call.
    #[error("there is no call {call}: the run has {}", counted(*calls, "model call"))]
    NoSuchCall {
        /// Number of the requested call.
        call: u64,
        /// Number of calls in the run.
        calls: u64,
    },
    /// A change before the fork.
    #[error("call {call} comes before call {at}, where the run is forked: it is answered as recorded")]
    BeforeFork {
        /// The call that is to change.
        call: u64,
        /// Call at which the run is forked.
        at: u64,
    },
    /// A call is to be edited and to fail.
    #[error("call {call} cannot both be edited and fail")]
    TwoChanges {
        /// The call.
        call: u64,
    },
    /// A recorded answer that is needed is not there.
    #[error("call {call} was kept without its content")]
    WithoutContent {
        /// The call.
        call: u64,
    },
    /// An edited answer that is none.
    #[error("the edited answer of call {call} is neither a JSON object nor a stream")]
    NoAnswer {
        /// The call.
        call: u64,
    },
}

impl ForkPlan {
    /// Checks the plan against a run with this number of calls.
    pub(super) fn check(&self, calls: u64) -> Result<(), ForkError> {
        if calls == 0 {
            return Err(ForkError::NoCalls);
        }
        let cut = self.faults.iter().filter(|(_, fault)| **fault == CallFault::Cut);
        let recorded = [self.at].into_iter().chain(cut.map(|(call, _)| *call));
        for call in recorded {
            if call == 0 || call > calls {
                return Err(ForkError::NoSuchCall { call, calls });
            }
        }
        let at = self.at;
        if let Some(call) = self.changed_calls().find(|call| *call < at) {
            return Err(ForkError::BeforeFork { call, at });
        }
        match self.edits.keys().find(|call| self.faults.contains_key(call)) {
            Some(call) => Err(ForkError::TwoChanges { call: *call }),
            None => Ok(()),
        }
    }

    /// The calls whose answers are changed.
    pub(super) fn changed_calls(&self) -> impl Iterator<Item = u64> + '_ {
        self.edits.keys().chain(self.faults.keys()).copied()
    }

    /// Descriptions of the changes; empty when the run only continues with the provider.
    ///
    /// ```
    /// use tracer_capture::cassette::{CallFault, ForkPlan};
    ///
    /// let plan = ForkPlan {
    ///     at: 3,
    ///     faults: [(3, CallFault::Status(429))].into(),
    ///     model: Some("gpt-6".to_owned()),
    ///     ..ForkPlan::default()
    /// };
    /// assert_eq!(plan.changes(), ["status 429 for call 3", "model gpt-6"]);
    /// ```
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        let edits = self
            .edits
            .keys()
            .map(|call| format!("edited answer of call {call}"));
        let faults = self.faults.iter().map(|(call, fault)| match fault {
            CallFault::Status(status) => format!("status {status} for call {call}"),
            CallFault::Timeout => format!("no answer to call {call}"),
            CallFault::Cut => format!("answer of call {call} cut short"),
        });
        let model = self.model.iter().map(|model| format!("model {model}"));
        let prompt = self
            .system_prompt
            .iter()
            .map(|_| "another system prompt".to_owned());
        edits.chain(faults).chain(model).chain(prompt).collect()
    }
}

impl fmt::Display for CallFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "{status}"),
            Self::Timeout => formatter.write_str("timeout"),
            Self::Cut => formatter.write_str("cut"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_done_is_planned() {
        let plan = |at, edits: &[u64], faults: &[(u64, CallFault)]| ForkPlan {
            at,
            edits: edits.iter().map(|call| (*call, "{}".to_owned())).collect(),
            faults: faults.iter().copied().collect(),
            ..ForkPlan::default()
        };
        let fails = CallFault::Status(500);
        for (plan, expected) in [
            (plan(1, &[], &[]), Ok(())),
            (plan(3, &[3, 9], &[(4, fails), (8, CallFault::Timeout)]), Ok(())),
            (
                plan(0, &[], &[]),
                Err(ForkError::NoSuchCall { call: 0, calls: 3 }),
            ),
            (
                plan(4, &[], &[]),
                Err(ForkError::NoSuchCall { call: 4, calls: 3 }),
            ),
            (
                plan(1, &[], &[(4, CallFault::Cut)]),
                Err(ForkError::NoSuchCall { call: 4, calls: 3 }),
            ),
            (plan(2, &[1], &[]), Err(ForkError::BeforeFork { call: 1, at: 2 })),
            (
                plan(2, &[], &[(1, fails)]),
                Err(ForkError::BeforeFork { call: 1, at: 2 }),
            ),
            (
                plan(2, &[2], &[(2, fails)]),
                Err(ForkError::TwoChanges { call: 2 }),
            ),
        ] {
            assert_eq!(plan.check(3), expected, "{plan:?}");
        }
        assert_eq!(plan(1, &[], &[]).check(0), Err(ForkError::NoCalls));
    }

    #[test]
    fn faults_are_read_as_they_are_written() {
        for fault in [
            CallFault::Status(429),
            CallFault::Status(599),
            CallFault::Timeout,
            CallFault::Cut,
        ] {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
        for text in ["", "399", "600", "99999999", "Cut", "-1"] {
            assert_eq!(text.parse::<CallFault>(), Err(UnknownCallFault), "{text}");
        }
    }
}

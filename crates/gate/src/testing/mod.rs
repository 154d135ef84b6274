//! The gate as a test: an agent runs in captured runs, and is compared with a checked-in baseline.

mod explain;
mod files;
mod test_case;

#[cfg(test)]
mod tests;

pub use test_case::BaselineTest;

/// Fails the test when an agent behaves worse than its checked-in baseline (gate; feature `testing`).
///
/// ```no_run
/// use tracer_sdk::{GuardrailExceeded, tool_call};
///
/// fn answer(question: &str) -> Result<(), GuardrailExceeded> {
///     tool_call("search").args(&question).record()?;
///     tool_call("send_reply").record()
/// }
///
/// // In an ordinary `#[test]`:
/// tracer_gate::assert_baseline!("support-agent", trials = 5, || answer("Where is my order?"));
/// ```
///
/// The agent runs `trials` times (once, when nothing is said), each time as a captured run (see
/// [`capture`](tracer_sdk::testing::capture)) that nothing else of the machine plays a part in. An `Err` that it returns makes
/// the run end with status `error`; a panic is handed on.
///
/// The baseline is `.tracer/baselines/<name>.json` in the folder of the package, the file that `tracer baseline` writes
/// and `tracer accept` replaces. When there is none, or the agent behaves worse, the test fails, shows what changed, and
/// writes what it saw next to the baseline as `<name>.json.new`, with the command that accepts it. Nothing is written
/// when the environment variable `CI` is set.
///
/// The demands: the run ends with status `ok`, without a loop, a guardrail or a tool that the baseline does not
/// know, still calls every tool that all runs of the baseline call, and takes at most half as many steps, tool calls and tokens more. Time is not judged. Another policy is given as
/// the text of a policy file:
///
/// ```no_run
/// fn answer() {
///     // … the agent …
/// }
///
/// tracer_gate::assert_baseline!(
///     "support-agent",
///     trials = 5,
///     policy = "
/// version: 2
/// metrics:
///   required_tools: {kind: invariant, all_of: [send_reply]}
///   step_count: {kind: measured, direction: upper, tolerance: {absolute: 1}}
/// ",
///     || answer(),
/// );
/// ```
///
/// Panics also when the policy or the baseline cannot be used, with the reason.
#[macro_export]
macro_rules! assert_baseline {
    ($name:expr, trials = $trials:expr, policy = $policy:expr, $agent:expr $(,)?) => {
        $crate::assert_baseline!(@check $name, [trials($trials)] [policy($policy)], $agent)
    };
    ($name:expr, trials = $trials:expr, $agent:expr $(,)?) => {
        $crate::assert_baseline!(@check $name, [trials($trials)], $agent)
    };
    ($name:expr, policy = $policy:expr, $agent:expr $(,)?) => {
        $crate::assert_baseline!(@check $name, [policy($policy)], $agent)
    };
    ($name:expr, $agent:expr $(,)?) => {
        $crate::assert_baseline!(@check $name, , $agent)
    };
    (@check $name:expr, $([$option:ident($value:expr)])*, $agent:expr) => {{
        let mut agent = $agent;
        $crate::testing::BaselineTest::new(::core::env!("CARGO_MANIFEST_DIR"), $name)
            $(.$option($value))*
            .check(|| {
                #[allow(unused_imports, reason = "one of them fits the type that the agent returns")]
                use $crate::__private::{
                    AnyOutcome as _, DebugOutcome as _, DisplayOutcome as _, ErrorOutcome as _, ResultOutcome as _,
                    WrappedErrorOutcome as _,
                };
                let returned = agent();
                (&&&&&&$crate::__private::Outcome(&returned)).tracer_error("assert_baseline").is_none()
            });
    }};
}

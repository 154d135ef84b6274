//! The arguments of the tools, with their JSON Schemas.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracer_catalog::SearchOrder;
use tracer_catalog::stats::{Grouping, StatsColumn};
use tracer_insight::outline::TokenBudget;

use crate::error::ToolError;

/// The largest budget of an answer, in tokens: clients cut or refuse longer ones.
pub(crate) const MAX_BUDGET: usize = 20_000;

/// The budget of an answer.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct GivenBudget(
    /// The most tokens that the answer may have, each of four bytes.
    #[schemars(range(min = 300, max = 20_000))]
    Option<u32>,
);

impl GivenBudget {
    /// The budget, or the usual one.
    pub(crate) fn tokens(self, usual: usize) -> TokenBudget {
        let given = self
            .0
            .map_or(usual, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
        TokenBudget::new(given.min(MAX_BUDGET))
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ListRuns {
    /// Only runs that match, such as `status:failed since:7d tool:search_kb error:Timeout tokens>10k`.
    pub(crate) query: String,
    /// Also list the trials of gates.
    pub(crate) trials: bool,
    /// The most tokens that the answer may have.
    pub(crate) budget: GivenBudget,
    /// The cursor that the answer before ended with.
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchRuns {
    /// The text to look for in steps, or conditions such as `tool:search_kb args~refund`, `error:Timeout`,
    /// `prompt~"be brief"`, also together with conditions on runs.
    pub(crate) query: String,
    /// The order of hits, from the largest to the smallest, over all runs: the costliest model call is the first of
    /// `kind:llm` by `cost`; left out, they come by run.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("enum" = or_null(SearchOrder::ALL.map(SearchOrder::as_str))))]
    pub(crate) sort: Option<SearchOrder>,
    /// Also search the trials of gates.
    #[serde(default)]
    pub(crate) trials: bool,
    /// The most tokens that the answer may have.
    #[serde(default)]
    pub(crate) budget: GivenBudget,
    /// The cursor that the answer before ended with.
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OneRun {
    /// The run: its ID or the beginning of it, its name, `latest`, or `latest~N`; left out, the latest.
    pub(crate) run_id: Option<String>,
    /// The most tokens that the answer may have.
    pub(crate) budget: GivenBudget,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GetRun {
    /// The run: its ID or the beginning of it, its name, `latest`, or `latest~N`; left out, the latest.
    pub(crate) run_id: Option<String>,
    /// Instead of the outline, list what the context was made of: each message, tool result and tool definition with its
    /// tokens, how often it was sent and its cost, the costliest first.
    pub(crate) context: bool,
    /// The most tokens that the answer may have.
    pub(crate) budget: GivenBudget,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetStep {
    /// The run: its ID or the beginning of it, its name, `latest`, or `latest~N`; left out, the latest.
    #[serde(default)]
    pub(crate) run_id: Option<String>,
    /// The number of the step, as `get_run` shows it.
    #[schemars(range(min = 1))]
    pub(crate) step: usize,
    /// The most tokens that the answer may have.
    #[serde(default)]
    pub(crate) budget: GivenBudget,
    /// The cursor that the answer before ended with.
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainValue {
    /// The run: its ID or the beginning of it, its name, `latest`, or `latest~N`; left out, the latest.
    #[serde(default)]
    pub(crate) run_id: Option<String>,
    /// The value: a text, a number, a date.
    pub(crate) value: String,
    /// The step that used it, as `get_run` shows it; left out, the first call that was passed the value.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) step: Option<usize>,
    /// The most tokens that the answer may have.
    #[serde(default)]
    pub(crate) budget: GivenBudget,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareRuns {
    /// The run before the change: its ID, its name, `latest~1`.
    pub(crate) before: String,
    /// The run after the change; left out, the latest.
    #[serde(default)]
    pub(crate) after: Option<String>,
    /// The most tokens that the answer may have.
    #[serde(default)]
    pub(crate) budget: GivenBudget,
    /// The cursor that the answer before ended with.
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Stats {
    /// Only runs that match, such as `since:7d model:gpt-5*`.
    pub(crate) query: String,
    /// The grouping; left out, all runs together.
    #[schemars(with = "Option<String>", extend("enum" = or_null(Grouping::ALL.map(Grouping::as_str))))]
    pub(crate) by: Option<Grouping>,
    /// The order of groups, from the largest to the smallest; left out, by their number.
    #[schemars(with = "Option<String>", extend("enum" = or_null(StatsColumn::ALL.map(StatsColumn::as_str))))]
    pub(crate) sort: Option<StatsColumn>,
    /// Also count the trials of gates.
    pub(crate) trials: bool,
    /// The most tokens that the answer may have.
    pub(crate) budget: GivenBudget,
    /// The cursor that the answer before ended with.
    pub(crate) cursor: Option<String>,
}

/// The words of an argument that may be left out.
fn or_null<const N: usize>(words: [&'static str; N]) -> Vec<Option<&'static str>> {
    words.map(Some).to_vec()
}

/// The arguments of a call; none are an empty object.
pub(crate) fn parse<T: DeserializeOwned>(arguments: Option<Map<String, Value>>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default()))
        .map_err(|error| ToolError::Arguments(error.to_string()))
}

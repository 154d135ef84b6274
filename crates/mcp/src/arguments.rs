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
    #[schemars(schema_with = "search_order_schema")]
    pub(crate) sort: Option<String>,
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
    #[schemars(schema_with = "grouping_schema")]
    pub(crate) by: Option<String>,
    /// The order of groups, from the largest to the smallest; left out, by their number.
    #[schemars(schema_with = "stats_column_schema")]
    pub(crate) sort: Option<String>,
    /// Also count the trials of gates.
    pub(crate) trials: bool,
    /// The most tokens that the answer may have.
    pub(crate) budget: GivenBudget,
    /// The cursor that the answer before ended with.
    pub(crate) cursor: Option<String>,
}

impl SearchRuns {
    /// The order of hits.
    pub(crate) fn order(&self) -> Result<Option<SearchOrder>, ToolError> {
        let words = SearchOrder::ALL.map(SearchOrder::as_str);
        one_of("sort", self.sort.as_deref(), SearchOrder::from_word, &words)
    }
}

/// The value of a word among those that are allowed.
fn one_of<T>(
    name: &str,
    word: Option<&str>,
    from_word: impl Fn(&str) -> Option<T>,
    words: &[&str],
) -> Result<Option<T>, ToolError> {
    let Some(word) = word else { return Ok(None) };
    let refused = || ToolError::Arguments(format!("`{name}` is one of {}", words.join(", ")));
    from_word(word).map(Some).ok_or_else(refused)
}

impl Stats {
    /// The order of groups.
    pub(crate) fn column(&self) -> Result<Option<StatsColumn>, ToolError> {
        let words = StatsColumn::ALL.map(StatsColumn::as_str);
        one_of("sort", self.sort.as_deref(), StatsColumn::from_word, &words)
    }

    /// The grouping.
    pub(crate) fn grouping(&self) -> Result<Option<Grouping>, ToolError> {
        let words = Grouping::ALL.map(Grouping::as_str);
        one_of("by", self.by.as_deref(), Grouping::from_word, &words)
    }
}

fn grouping_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["string", "null"], "enum": Grouping::ALL.map(|by| Some(by.as_str())).to_vec()})
}

fn stats_column_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let words = StatsColumn::ALL.map(|column| Some(column.as_str()));
    schemars::json_schema!({"type": ["string", "null"], "enum": words.to_vec()})
}

fn search_order_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let words = SearchOrder::ALL.map(|order| Some(order.as_str()));
    schemars::json_schema!({"type": ["string", "null"], "enum": words.to_vec()})
}

/// The arguments of a call; none are an empty object.
pub(crate) fn parse<T: DeserializeOwned>(arguments: Option<Map<String, Value>>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default()))
        .map_err(|error| ToolError::Arguments(error.to_string()))
}

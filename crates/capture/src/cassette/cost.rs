//! [`Cassette::cost`]: what its calls cost when they were recorded, counted as the calls of the recorded run are.

use tracer_sdk::format::Timestamp;
use tracer_sdk::prices::{CallCost, CostSum, Prices};

use super::file::Cassette;
use super::recorded::RecordedExchange;
use crate::proxy::Provider;
use tracer_providers::{ResponseFacts, assemble};

impl Cassette {
    /// Cost of its calls at the provider, at the prices of the time when it was recorded.
    ///
    /// ```
    /// use tracer_capture::cassette::Cassette;
    /// use tracer_sdk::prices::Prices;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("refund.jsonl");
    /// std::fs::write(&path, concat!(
    ///     r#"{"cassette":1,"tracer":"0.1.0","recorded_at":"2026-11-01T12:00:00Z"}"#, "\n",
    ///     r#"{"n":1,"api":"openai.chat","provider":"openai","path":"/v1/chat/completions","request":{"model":"gpt-4o"},"#,
    ///     r#""response":{"status":200,"headers":{},"body":{"usage":{"prompt_tokens":12000,"completion_tokens":800}}}}"#, "\n",
    /// ))?;
    /// assert_eq!(Cassette::read(&path)?.cost(&Prices::default()).usd().unwrap().to_string(), "$0.038");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cost(&self, prices: &Prices) -> CostSum {
        let at: Option<Timestamp> = self.head.recorded_at.parse().ok();
        let mut sum = CostSum::default();
        sum.extend(
            self.exchanges
                .iter()
                .filter_map(|exchange| exchange.cost(prices, at)),
        );
        sum
    }
}

impl RecordedExchange {
    /// Cost of the call; `None` when it is no call of a model.
    fn cost(&self, prices: &Prices, at: Option<Timestamp>) -> Option<CallCost> {
        let api = self.api?;
        let content_type = self.response.header("content-type").unwrap_or_default();
        let facts = ResponseFacts::from_answer(&assemble(api, content_type, &self.response.body.bytes()));
        let model = self.model().or(facts.model.as_deref()).unwrap_or_default();
        let provider = Provider::of_segment(&self.provider).map_or("", |provider| provider.name);
        Some(prices.call_cost(provider, model, facts.model.as_deref(), &facts.usage, at))
    }
}

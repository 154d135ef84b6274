//! Cost of a call's input, apart from its output: of cached, written and fresh tokens.

use tracer_sdk::format::{Payload, Record, Usage, Usd};
use tracer_sdk::prices::{CallCost, Prices};

/// Cost of the input of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputCost {
    /// The known part of it.
    pub(super) whole: CallCost,
    /// Cost of the tokens read from the cache, and of those written to it.
    pub(super) cached: Usd,
    pub(super) written: Usd,
    /// Cost of the rest.
    pub(super) fresh: Usd,
}

impl InputCost {
    /// The cost of the input of a record's call, by what the whole call would cost with parts of its tokens.
    pub(super) fn of(record: &Record, prices: &Prices) -> Option<Self> {
        let usage = record.usage()?;
        let prompt = usage.prompt_tokens?;
        let service = record.marks.as_ref().and_then(|marks| marks.service.as_ref());
        let (provider, model, answered) = match (&record.payload, service) {
            (
                Payload::LlmCall {
                    provider,
                    model,
                    response_model,
                    ..
                },
                _,
            ) => (provider, model, response_model),
            (_, Some(service)) => (&service.provider, &service.model, &service.response_model),
            _ => return None,
        };
        let at = record.ts.parse().ok();
        let cost = |usage: &Usage| prices.call_cost(provider, model, answered.as_deref(), usage, at);
        let plain = Usage::new(prompt, 0);
        let mut input = *usage;
        (
            input.completion_tokens,
            input.total_tokens,
            input.reasoning_tokens,
        ) = (Some(0), None, None);
        input.web_searches = None;
        (
            input.output_audio_tokens,
            input.output_image_tokens,
            input.output_video_tokens,
        ) = (None, None, None);
        let mut written = plain;
        (written.cache_write_tokens, written.cache_write_1h_tokens) =
            (usage.cache_write_tokens, usage.cache_write_1h_tokens);
        let usd = |usage: &Usage| cost(usage).priced.unwrap_or_default();
        // A price for each request is none of its input.
        let request = usd(&Usage::new(0, 0));
        let fresh_price = usd(&plain).saturating_sub(request);
        let [read_tokens, written_tokens] =
            [usage.cache_read_tokens, usage.cache_write_tokens].map(Option::unwrap_or_default);
        // Compared with as many fresh tokens, the price of the prompt is the same whatever its length.
        let part = |other: &Usage, tokens: u64| {
            let others = fresh_price.saturating_sub(fresh_price.share(tokens, prompt));
            usd(other).saturating_sub(request).saturating_sub(others)
        };
        let cached = part(&plain.cache_read(read_tokens), read_tokens);
        let written = part(&written, written_tokens);
        let whole = cost(&input);
        let known = whole.priced.map(|usd| usd.saturating_sub(request));
        let fresh = known
            .unwrap_or_default()
            .saturating_sub(cached)
            .saturating_sub(written);
        Some(Self {
            whole: CallCost {
                priced: known,
                is_replayed: record.is_replayed(),
                ..whole
            },
            cached,
            written,
            fresh,
        })
    }
}

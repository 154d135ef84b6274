//! The tokens of a model call, once for all vocabularies (capture, section 1).

use serde_json::{Map, Value};

use super::classify::is_of_the_format;
use super::values::{Lookup, at_path, parsed, whole_number};
use crate::format::Usage;
use crate::read::vocabulary::{
    CACHE_BESIDE_INPUT, COUNTS, Count, DETAILS, FOREIGN, NESTED_COUNTS, NestedCounts, THOUGHTS_BESIDE_OUTPUT,
    TOKENS, USAGE_KEYS, USAGE_NAMESPACES, Vocabulary,
};

/// The counts of a call, as they are stored.
#[derive(Debug, Clone, Copy, Default)]
struct TokenCounts {
    input: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
    /// Whether input does not include what was cached, output does not include reasoning.
    is_cache_beside: bool,
    are_thoughts_beside: bool,
}

/// The tokens that a span reports. Input includes cached tokens and output includes reasoning, whatever the provider
/// counts; what is not known is not zero. A total that is given is kept, another one is the sum of what is known.
pub(crate) fn usage(attributes: &impl Lookup) -> Usage {
    let groups = attributes.groups();
    if groups & TOKENS == 0 {
        return Usage::default();
    }
    // The format's own counts are numbers: a text in their place is none.
    let are_texts_read = !is_of_the_format(attributes);
    let whole_number_at = |key: &str| {
        let is_read = are_texts_read || attributes.text_at(key).is_none();
        is_read.then(|| attributes.whole_number_at(key)).flatten()
    };
    let mut counts = TokenCounts::default();
    let is_foreign = groups & (FOREIGN | DETAILS) != 0;
    for (count, vocabulary, key) in COUNTS {
        let is_tried = is_foreign || matches!(vocabulary, Vocabulary::OtelGenAi | Vocabulary::OtelGenAiOld);
        let is_detail = matches!(count, Count::CacheRead | Count::CacheWrite | Count::Reasoning);
        if !is_tried || (is_detail && groups & DETAILS == 0) {
            continue;
        }
        let counted = counts.get_mut(*count);
        if counted.is_none() {
            *counted = whole_number_at(key);
        }
    }
    if groups & DETAILS != 0 {
        for nested in NESTED_COUNTS {
            if let Some(structure) = attributes.structure_at(nested.key) {
                counts.add_nested(nested, &structure);
            }
        }
        counts.are_thoughts_beside |= THOUGHTS_BESIDE_OUTPUT
            .iter()
            .any(|(_, key)| attributes.whole_number_at(key).is_some());
        counts.is_cache_beside = CACHE_BESIDE_INPUT.iter().any(|(_, input, cached)| {
            attributes.whole_number_at(cached).is_some()
                && attributes
                    .whole_number_at(input)
                    .is_some_and(|tokens| Some(tokens) == counts.input)
        });
    }
    counts.usage()
}

impl TokenCounts {
    fn get_mut(&mut self, count: Count) -> &mut Option<u64> {
        match count {
            Count::Input => &mut self.input,
            Count::Output => &mut self.output,
            Count::Total => &mut self.total,
            Count::CacheRead => &mut self.cache_read,
            Count::CacheWrite => &mut self.cache_write,
            Count::Reasoning => &mut self.reasoning,
        }
    }

    /// Adds what is not counted yet.
    fn add_nested(&mut self, nested: &NestedCounts, structure: &Value) {
        let Some(object) = nested.paths.iter().find_map(|path| at_path(structure, path)) else {
            return;
        };
        let is_output_open = self.output.is_none();
        for (count, key) in nested.counts {
            let counted = self.get_mut(*count);
            if counted.is_none() {
                *counted = object.get(key).and_then(whole_number);
            }
        }
        self.are_thoughts_beside |= nested.thoughts_beside_output && is_output_open && self.output.is_some();
    }

    fn usage(self) -> Usage {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        // A total that is the sum of what is given leaves nothing beside it.
        let is_whole = self.total.is_some() && self.total == both(self.input, self.output);
        let cached = both(self.cache_read, self.cache_write).filter(|_| self.is_cache_beside && !is_whole);
        let thoughts = self.reasoning.filter(|_| self.are_thoughts_beside && !is_whole);
        let prompt_tokens = self.input.map(|input| input.saturating_add(cached.unwrap_or(0)));
        let completion_tokens = self
            .output
            .map(|output| output.saturating_add(thoughts.unwrap_or(0)));
        Usage {
            prompt_tokens,
            completion_tokens,
            total_tokens: self.total.or_else(|| both(prompt_tokens, completion_tokens)),
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            reasoning_tokens: self.reasoning,
        }
    }
}

/// Removes what counts tokens, and what they cost, from the attributes of a span or of an event, in any vocabulary: for a span
/// that repeats a call.
///
/// ```
/// use serde_json::json;
///
/// let mut attributes = json!({"gen_ai.request.model": "gpt-5", "gen_ai.usage.input_tokens": 7, "llm.cost.total": 0.1});
/// tracer_sdk::read::remove_usage(attributes.as_object_mut().unwrap());
/// assert_eq!(attributes, json!({"gen_ai.request.model": "gpt-5"}));
/// ```
pub fn remove_usage(attributes: &mut Map<String, Value>) {
    attributes.retain(|key, _| {
        let is_count = COUNTS.iter().any(|(_, _, count)| key == count)
            || USAGE_KEYS.contains(&key.as_str())
            || USAGE_NAMESPACES
                .iter()
                .any(|namespace| key.starts_with(namespace));
        !is_count
    });
    for nested in NESTED_COUNTS {
        let Some(stored) = attributes.get_mut(nested.key) else {
            continue;
        };
        let is_text = stored.is_string();
        let mut structure = parsed(stored);
        for path in nested.paths {
            if let [key] = path
                && let Some(object) = structure.as_object_mut()
            {
                object.remove(*key);
            }
        }
        *stored = if is_text && !structure.is_string() {
            structure.to_string().into()
        } else {
            structure
        };
    }
}

/// Adds to the tokens of a call what another recording of it knows. Counts of two recordings are not mixed: where one
/// knows its input and output, the other adds shares alone.
pub(super) fn fill_usage(usage: &mut Usage, other: &Usage) {
    if (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (None, None, None) {
        usage.prompt_tokens = other.prompt_tokens;
        usage.completion_tokens = other.completion_tokens;
        usage.total_tokens = other.total_tokens;
    }
    let share = |known: &mut Option<u64>, other: Option<u64>| *known = known.or(other);
    share(&mut usage.cache_read_tokens, other.cache_read_tokens);
    share(&mut usage.cache_write_tokens, other.cache_write_tokens);
    share(&mut usage.reasoning_tokens, other.reasoning_tokens);
}

/// What in a usage cannot be: a total below its parts, a share above its whole.
pub(super) fn contradiction(usage: &Usage) -> Option<String> {
    let (input, output, total) = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens);
    let sum = input.unwrap_or(0).saturating_add(output.unwrap_or(0));
    if let Some(total) = total.filter(|total| *total < sum) {
        return Some(format!("total {total} is less than input and output, {sum}"));
    }
    let cached = usage
        .cache_read_tokens
        .unwrap_or(0)
        .saturating_add(usage.cache_write_tokens.unwrap_or(0));
    if let Some(input) = input.filter(|input| cached > *input) {
        return Some(format!("cached input {cached} is more than input {input}"));
    }
    let reasoning = usage.reasoning_tokens.unwrap_or(0);
    let output = output.filter(|output| reasoning > *output)?;
    Some(format!("reasoning {reasoning} is more than output {output}"))
}

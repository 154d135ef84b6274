//! The tokens of a model call, once for all vocabularies (capture, section 1).

use serde_json::{Map, Value};

use super::classify::{has_answer, is_of_the_format};
use super::token_counts::{TokenCounts, sum};
use super::usage_object::{UsageNumbers, is_usual};
use super::values::{Lookup, at_path, is_present, named, parsed};
use super::view::{SpanFacts, SpanView};
use crate::vocabulary::{
    CACHE_BESIDE_INPUT, COUNTS, Count, DETAILS, FOREIGN, FURTHER, NESTED_USAGES, THOUGHTS_BESIDE_OUTPUT,
    TOKENS, USAGE_KEYS, USAGE_NAMESPACES, Vocabulary,
};
use crate::{Usage, UsageGap, names};

/// The tokens of a call. Input includes cached tokens and output includes reasoning, whatever the provider counts. An
/// unknown count is not zero, and a zero on a call with an answer is an unknown count. A total that is given is kept,
/// another one is the sum of the known counts.
pub fn call_usage<S: SpanView>(span: &S, facts: &SpanFacts<'_, S::Attributes>) -> Usage {
    let mut usage = usage(facts);
    let sides = (usage.prompt_tokens, usage.completion_tokens);
    if (sides.0 != Some(0) && sides.1 != Some(0)) || !has_answer(span, facts) {
        return usage;
    }
    // A list of numbers is an answer without tokens.
    let has_no_output = named(names::OPERATION, facts)
        .is_some_and(|operation| WITHOUT_OUTPUT.iter().any(|word| operation.contains(word)));
    let known = |tokens: Option<u64>| tokens.filter(|tokens| *tokens > 0);
    usage.prompt_tokens = known(usage.prompt_tokens);
    if !has_no_output {
        usage.completion_tokens = known(usage.completion_tokens);
    }
    let sum = sides.0.unwrap_or(0).saturating_add(sides.1.unwrap_or(0));
    if (usage.prompt_tokens, usage.completion_tokens) != sides {
        usage.total_tokens = usage.total_tokens.filter(|total| *total > sum);
    }
    usage
}

/// Operations, by a part of their names, whose answer has no tokens.
const WITHOUT_OUTPUT: [&str; 3] = ["embed", "rerank", "moderat"];

/// The same by the attributes alone.
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
        if !is_tried || (count.is_detail() && groups & DETAILS == 0) {
            continue;
        }
        let counted = counts.get(*count);
        if counted.is_none_or(|tokens| tokens == 0 && count.is_detail()) {
            counts.set(*count, whole_number_at(key).or(counted));
        }
    }
    if groups & DETAILS != 0 {
        for nested in NESTED_USAGES {
            if let Some(structure) = attributes.structure_at(nested.key)
                && let Some(object) = nested.paths.iter().find_map(|path| at_path(&structure, path))
            {
                counts.fill(&UsageNumbers::of(nested.member, object).counts());
            }
        }
        if groups & FURTHER != 0 {
            counts.fill(&UsageNumbers::of_flat(attributes).counts());
        }
        counts.is_reasoning_beside |= THOUGHTS_BESIDE_OUTPUT
            .iter()
            .any(|(_, key)| attributes.whole_number_at(key).is_some());
        let is_cache_beside = CACHE_BESIDE_INPUT.iter().any(|(_, input, cached)| {
            attributes.whole_number_at(cached).is_some()
                && attributes
                    .whole_number_at(input)
                    .is_some_and(|tokens| Some(tokens) == counts.get(Count::Input))
        });
        counts.is_read_beside |= is_cache_beside;
        counts.is_write_beside |= is_cache_beside;
        if is_present(names::USAGE_NOT_COUNTED, attributes) {
            counts.gap = counts.gap.max(Some(UsageGap::Parts));
        }
        if named(names::SERVICE_TIER, attributes).is_some_and(|tier| !is_usual("service_tier", tier)) {
            counts.gap = Some(UsageGap::ServiceTier);
        }
    }
    counts.usage()
}

/// The numbers of a call's usage that have no count, by their names: the names of all, and the numbers of those that are whole.
pub(super) fn not_counted(attributes: &impl Lookup) -> (Vec<String>, Vec<(String, u64)>) {
    let named = named(names::USAGE_NOT_COUNTED, attributes).unwrap_or_default();
    let mut paths: Vec<String> = named
        .split(", ")
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    if attributes.groups() & FURTHER == 0 {
        return (paths, Vec::new());
    }
    let flat = UsageNumbers::of_flat(attributes);
    for path in flat.not_counted {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    (paths, flat.further)
}

/// Removes what counts tokens, and what they cost, from the attributes of a span or of an event, in any vocabulary: for a span
/// that repeats a call.
pub fn remove_usage(attributes: &mut Map<String, Value>) {
    attributes.retain(|key, _| {
        let is_count = COUNTS.iter().any(|(_, _, count)| key == count)
            || USAGE_KEYS.contains(&key.as_str())
            || USAGE_NAMESPACES
                .iter()
                .any(|namespace| key.starts_with(namespace));
        !is_count
    });
    for nested in NESTED_USAGES {
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
    const WHOLES: usize = 3;
    // Zero for a call is an unknown count.
    if !other.parts().into_iter().flatten().any(|tokens| tokens > 0) {
        return;
    }
    let mut known = usage.parts();
    let (wholes, shares) = known.split_at_mut(WHOLES);
    let (other_wholes, other_shares) = (
        other.parts().into_iter().take(WHOLES),
        other.parts().into_iter().skip(WHOLES),
    );
    if wholes.iter().all(Option::is_none) {
        for (known, other) in wholes.iter_mut().zip(other_wholes) {
            *known = other;
        }
    }
    for (known, other) in shares.iter_mut().zip(other_shares) {
        *known = known.or(other);
    }
    *usage = Usage {
        gap: usage.gap.max(other.gap),
        ..Usage::from_parts(known)
    };
}

/// Merges the usage of an answer that was fetched again: the larger usage is the answer's, and never their sum.
pub(super) fn take_larger(usage: &mut Usage, other: &Usage) {
    let size = |usage: &Usage| {
        usage
            .total_tokens
            .max(usage.prompt_tokens)
            .max(usage.completion_tokens)
    };
    if size(other) > size(usage) {
        let smaller = std::mem::replace(usage, *other);
        fill_usage(usage, &smaller);
    } else {
        fill_usage(usage, other);
    }
}

/// Describes an inconsistent usage: a total that is not the sum of its parts, a share above its whole.
pub(super) fn contradiction(usage: &Usage) -> Option<String> {
    let (input, output, total) = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens);
    let sum = sum((input, output)).unwrap_or(0);
    if let Some(total) = total.filter(|total| *total < sum) {
        return Some(format!("total {total} is less than input and output, {sum}"));
    }
    if let Some(total) = total.filter(|total| *total > sum && input.is_some() && output.is_some()) {
        return Some(format!("total {total} is more than input and output, {sum}"));
    }
    let both = |one: Option<u64>, other: Option<u64>| one.unwrap_or(0).saturating_add(other.unwrap_or(0));
    let media = |[audio, image, video]: [Option<u64>; 3]| both(Some(both(audio, image)), video);
    let cached = both(usage.cache_read_tokens, usage.cache_write_tokens);
    let heard = media([
        usage.input_audio_tokens,
        usage.input_image_tokens,
        usage.input_video_tokens,
    ]);
    let said = media([
        usage.output_audio_tokens,
        usage.output_image_tokens,
        usage.output_video_tokens,
    ]);
    [
        ("cached input", Some(cached), "input", input),
        ("input that is no text", Some(heard), "input", input),
        ("reasoning", usage.reasoning_tokens, "output", output),
        ("output that is no text", Some(said), "output", output),
        (
            "an hour's cache writes",
            usage.cache_write_1h_tokens,
            "cache writes",
            usage.cache_write_tokens,
        ),
    ]
    .into_iter()
    .find_map(|(part, tokens, name, whole)| {
        let (tokens, whole) = (tokens?, whole?);
        (tokens > whole).then(|| format!("{part} {tokens} is more than {name} {whole}"))
    })
}

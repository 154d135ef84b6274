//! The normal form of a model's name: what a report asked and what another one saw answered are one model by it.

/// Provider prefixes of a model name, with a colon: `openai:gpt-5`. In other names the part behind the colon is a size
/// or a variant: `qwen3:4b`.
const PROVIDERS: [&str; 24] = [
    "anthropic",
    "azure",
    "bedrock",
    "cerebras",
    "cohere",
    "deepseek",
    "fireworks",
    "gateway",
    "gemini",
    "google",
    "google-gla",
    "google-vertex",
    "groq",
    "huggingface",
    "litellm",
    "mistral",
    "moonshot",
    "ollama",
    "openai",
    "openrouter",
    "perplexity",
    "together",
    "vertexai",
    "xai",
];

/// Ways to run a model, behind a colon.
const VARIANTS: [&str; 11] = [
    "batch", "beta", "exacto", "extended", "fast", "floor", "free", "latest", "nitro", "online", "thinking",
];

/// A model's name in small letters and without what says where it is run, which version of it, and how: without provider and
/// router, variant, version and date. Reports of one call may name the model that was asked, and the version of it that
/// answered. A single digit belongs to the name, and so does a size.
#[must_use]
pub fn normal_model_name(model: &str) -> String {
    let whole = model.trim().to_ascii_lowercase();
    let mut name = without_place(&whole);
    while let Some(shorter) = without_version(name).filter(|shorter| !shorter.is_empty()) {
        name = shorter;
    }
    name.to_owned()
}

/// A name without what stands before it: paths, providers, regions.
fn without_place(name: &str) -> &str {
    let last = |name, separator| match str::rsplit_once(name, separator) {
        Some((_, last)) if !last.is_empty() => last,
        _ => name,
    };
    let mut name = last(last(name, "/"), "::");
    if let Some((provider, model)) = name.split_once(':')
        && PROVIDERS.contains(&provider)
        && model.starts_with(|char: char| char.is_ascii_alphabetic())
        && !VARIANTS.contains(&model)
    {
        name = model;
    }
    // Bedrock has the region and the vendor before the model; a word before a dot that has a digit is a version's.
    while let Some((before, model)) = name.split_once('.')
        && before.len() > 1
        && before.bytes().all(|byte| byte.is_ascii_alphabetic())
        && model.starts_with(|char: char| char.is_ascii_alphabetic())
    {
        name = model;
    }
    name
}

/// A name without the last mark of a version or a variant; `None` where it has none.
fn without_version(name: &str) -> Option<&str> {
    if let Some(name) = name.strip_suffix(']') {
        return name.rsplit_once('[').map(|(name, _)| name);
    }
    if let Some((name, _)) = name.rsplit_once('@') {
        return Some(name);
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((name, variant)) = name.rsplit_once(':') {
        if is_number(variant) {
            // Bedrock's `-v1:0`.
            let model = name.rsplit_once("-v").filter(|(_, version)| is_number(version));
            return Some(model.map_or(name, |(model, _)| model));
        }
        return VARIANTS.contains(&variant).then_some(name);
    }
    let (name, group) = name.rsplit_once('-')?;
    (group == "latest" || group.len() > 1 && is_number(group)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::normal_model_name;

    #[test]
    fn names_of_one_model_have_one_form() {
        for (model, names) in [
            (
                "gpt-5-mini",
                &[
                    "GPT-5-mini",
                    "openai/gpt-5-mini",
                    "openrouter/openai/gpt-5-mini:free",
                    "openai:gpt-5-mini",
                    "litellm:gpt-5-mini",
                    "gpt-5-mini-2025-08-07",
                    "gpt-5-mini-latest",
                    "rig::gpt-5-mini",
                    " gpt-5-mini ",
                ][..],
            ),
            (
                "claude-opus-4-8",
                &[
                    "claude-opus-4-8[1m]",
                    "anthropic/claude-opus-4-8",
                    "claude-opus-4-8@20260101",
                    "claude-opus-4-8-20260101",
                    "us.anthropic.claude-opus-4-8-20260101-v1:0",
                    "anthropic.claude-opus-4-8-v1:0",
                    "bedrock/us.anthropic.claude-opus-4-8-20260101-v1:0[1m]",
                ],
            ),
            (
                "gemini-3-flash",
                &[
                    "models/gemini-3-flash",
                    "gemini-3-flash-001",
                    "google-gla:gemini-3-flash",
                    "projects/p/locations/l/publishers/google/models/gemini-3-flash@default",
                ],
            ),
            ("gpt-4.1", &["gpt-4.1-2025-04-14", "azure/gpt-4.1"]),
            ("qwen2.5:3b", &["ollama/qwen2.5:3b", "ollama:qwen2.5:3b"]),
            ("llama3", &["llama3:latest", "ollama_chat/llama3"]),
            ("mistral:7b", &["mistral:7b", "ollama/mistral:7b"]),
        ] {
            for name in names {
                assert_eq!(normal_model_name(name), model, "{name}");
            }
            assert_eq!(normal_model_name(model), model, "a normal form is its own");
        }
    }

    #[test]
    fn names_of_two_models_stay_two() {
        for (one, other) in [
            ("gpt-4-1106", "gpt-5-1106"),
            ("claude-3-7", "claude-3-5"),
            ("claude-4", "claude"),
            ("gpt-4", "gpt-4-mini"),
            ("llama3:3b", "llama3:8b"),
            ("llama3:3b", "llama3"),
            ("gpt-4.1", "gpt-4"),
            ("o3", "o3-mini"),
        ] {
            assert_ne!(normal_model_name(one), normal_model_name(other), "{one}, {other}");
        }
    }

    #[test]
    fn a_name_of_nothing_but_versions_keeps_something() {
        for name in ["2026-01-31", "[1m]", "@001", ":free", "/", "latest", ""] {
            let normal = normal_model_name(name);
            assert_eq!(normal.is_empty(), name.is_empty(), "{name}: {normal}");
            assert_eq!(normal_model_name(&normal), normal, "{name}");
        }
    }
}

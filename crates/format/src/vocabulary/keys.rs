//! Which attribute keys a reader has to keep while it goes through a line, by the tables.

use super::Vocabulary::{self, OtelGenAi, OtelGenAiOld, Tracer};
use super::contents::{
    ANSWER, ANSWER_FIELDS, ARGUMENT_FIELDS, ARGUMENTS, Content, ContentForm, PROMPT, RESULT,
};
use super::fields::{
    AGENT_NAME, CALL_ID, ERROR_MESSAGE, ERROR_TYPE, EXIT_CODE, FAILURES, FINISH_REASON, FieldSource,
    IMPLIED_PROVIDERS, MODEL, PROVIDER, RESPONSE_ID, RESPONSE_MODEL, SOURCE, SUCCESSES, SourceForm,
    TOOL_NAME, UNFINISHED, WAITS,
};
use super::kinds::{INNER_STEPS, KINDS, Test};
use super::tokens::{CACHE_BESIDE_INPUT, COUNTS, FLAT_USAGES, NESTED_USAGES};
use crate::computed::Computed;
use crate::names::{self, Name};

/// The key is one of the format's own marks of a span's type or outcome.
pub(crate) const OWN: u8 = 1;
/// The key belongs to another emitter's vocabulary.
pub(crate) const FOREIGN: u8 = 2;
/// The key counts cached or reasoning tokens.
pub(crate) const DETAILS: u8 = 4;
/// The key counts tokens of any kind, or holds such counts.
pub(crate) const TOKENS: u8 = 8;

/// The key is in a namespace of counts, and no table has it: its number is read by its name, or said not to be counted.
pub(crate) const FURTHER: u8 = 16;

/// Use of the value under a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a use of its own")]
pub(crate) struct KeyUse {
    /// An outline needs its value.
    pub(crate) is_outlined: bool,
    /// An outline needs to know that it is there.
    pub(crate) is_noted: bool,
    /// An index needs its value.
    pub(crate) is_indexed: bool,
    /// The content inside it is needed, also where it is no text.
    pub(crate) is_structured: bool,
    /// Groups of the key itself.
    pub(crate) groups: u8,
}

/// The keys of one length.
type Bucket = Vec<(&'static str, KeyUse)>;

/// The keys by their lengths: a key is compared with the few that are as long. To compare it with all takes 19 % more instructions
/// of reading.
static KEYS: Computed<Vec<Bucket>> = Computed::new(KnownKeys::all);

/// Use of a key; `None` where it is not used.
pub(crate) fn key_use(key: &str) -> Option<KeyUse> {
    let bucket = KEYS.get(key.len()).map(Vec::as_slice).unwrap_or_default();
    let used = bucket.iter().find(|(known, _)| *known == key);
    used.map(|(_, used)| *used).or_else(|| flat_key_use(key))
}

/// Every key of the tables.
#[cfg(test)]
pub(crate) fn all_keys() -> Vec<String> {
    let keys = KEYS.iter().flatten();
    keys.map(|(key, _)| (*key).to_owned()).collect()
}

/// Use of a key of a flattened list, or of further counts.
fn flat_key_use(key: &str) -> Option<KeyUse> {
    if !["llm.", "gen_ai.", "ai."]
        .iter()
        .any(|root| key.starts_with(root))
    {
        return None;
    }
    if FLAT_USAGES.iter().any(|namespace| key.starts_with(namespace)) {
        return Some(KeyUse {
            is_outlined: true,
            groups: FURTHER | DETAILS | TOKENS,
            ..KeyUse::default()
        });
    }
    let is_in = |contents: &[Content]| {
        contents.iter().any(|content| {
            let rest = key
                .strip_prefix(content.key)
                .filter(|_| matches!(content.form, ContentForm::Flat));
            rest.is_some_and(|rest| rest.starts_with('.'))
        })
    };
    let is_prompt = is_in(PROMPT);
    (is_prompt || is_in(ANSWER)).then_some(KeyUse {
        is_noted: true,
        is_indexed: is_prompt,
        groups: FOREIGN,
        ..KeyUse::default()
    })
}

#[derive(Default)]
struct KnownKeys(Vec<Bucket>);

impl KnownKeys {
    fn all() -> Vec<Bucket> {
        let mut keys = Self::default();
        keys.own();
        keys.kinds();
        keys.counts();
        for sources in [
            MODEL,
            RESPONSE_MODEL,
            RESPONSE_ID,
            SOURCE,
            AGENT_NAME,
            FINISH_REASON,
        ] {
            keys.sources(sources, |used| used.is_outlined = true);
        }
        for mark in [names::DERIVED, names::UNFINISHED, names::AFTER_END] {
            keys.add(Tracer, mark.written(), |used| used.is_noted = true);
        }
        for name in [
            names::REPLAYED,
            names::CLIENT_MODEL,
            names::REQUEST_ID,
            names::INFERRED,
            names::THREAD,
            names::RETRY_OF,
            names::CONTEXT,
        ] {
            keys.add(Tracer, name.written(), |used| used.is_outlined = true);
        }
        for sources in [PROVIDER, TOOL_NAME, CALL_ID] {
            keys.sources(sources, |used| used.is_outlined = true);
        }
        keys.sources(ERROR_TYPE, |used| {
            used.is_outlined = true;
            used.is_indexed = true;
        });
        keys.sources(ERROR_MESSAGE, |used| used.is_indexed = true);
        keys.add(OtelGenAi, EXIT_CODE, |used| used.is_outlined = true);
        for contents in [PROMPT, ARGUMENTS] {
            keys.contents(contents, true);
        }
        for contents in [ANSWER, RESULT] {
            keys.contents(contents, false);
        }
        for (vocabulary, key, _) in ARGUMENT_FIELDS {
            keys.add(*vocabulary, key, |used| used.is_indexed = true);
        }
        for (vocabulary, key, _) in ANSWER_FIELDS {
            keys.add(*vocabulary, key, |used| used.is_noted = true);
        }
        for name in [names::SYSTEM_INSTRUCTIONS, names::INPUT_MESSAGES] {
            keys.name(name, |used| {
                used.is_noted = true;
                used.is_indexed = true;
            });
        }
        keys.name(names::OUTPUT_MESSAGES, |used| used.is_noted = true);
        keys.0
    }

    fn own(&mut self) {
        for name in [
            names::STATUS,
            names::TOOL_NAME,
            names::EVENT_TYPE,
            names::ERROR_TYPE,
        ] {
            for key in name.spellings() {
                let is_own = ["tracer.", "maida.", "agentdbg."]
                    .iter()
                    .any(|own| key.starts_with(own));
                self.add(Tracer, key, |used| {
                    used.is_outlined = true;
                    used.groups |= if is_own { OWN } else { 0 };
                });
            }
        }
        self.name(names::ERROR_MESSAGE, |used| used.is_indexed = true);
        self.name(names::OPERATION, |used| used.is_outlined = true);
    }

    fn kinds(&mut self) {
        let rules = KINDS.iter().map(|rule| (rule.vocabulary, rule.tests));
        let outcomes = [FAILURES, SUCCESSES, WAITS, UNFINISHED]
            .into_iter()
            .flatten()
            .copied();
        let implied = IMPLIED_PROVIDERS
            .iter()
            .map(|(vocabulary, tests, _)| (*vocabulary, *tests));
        let inner_steps = INNER_STEPS.iter().copied();
        for (vocabulary, tests) in rules.chain(outcomes).chain(implied).chain(inner_steps) {
            for test in tests {
                match test {
                    Test::Word(key, _) | Test::Text(key, _) | Test::HasNot(key) => {
                        self.add(vocabulary, key, |used| used.is_outlined = true);
                    }
                    Test::Has(keys) => {
                        for key in *keys {
                            self.add(vocabulary, key, |used| used.is_noted = true);
                        }
                    }
                    Test::Name(_) | Test::Method(..) => {}
                }
            }
        }
    }

    fn counts(&mut self) {
        for (count, vocabulary, key) in COUNTS {
            self.add(*vocabulary, key, |used| {
                used.is_outlined = true;
                used.groups |= if count.is_detail() {
                    DETAILS | TOKENS
                } else {
                    TOKENS
                };
            });
        }
        for (vocabulary, input, cached) in CACHE_BESIDE_INPUT {
            for key in [input, cached] {
                self.add(*vocabulary, key, |used| used.is_outlined = true);
            }
        }
        for name in [names::USAGE_NOT_COUNTED, names::SERVICE_TIER] {
            self.name(name, |used| {
                used.is_outlined = true;
                used.groups |= DETAILS | TOKENS;
            });
        }
        for nested in NESTED_USAGES {
            self.add(nested.vocabulary, nested.key, |used| {
                used.is_outlined = true;
                used.is_structured = true;
                used.groups |= DETAILS | TOKENS;
            });
        }
    }

    fn sources(&mut self, sources: &'static [FieldSource], mark: impl Fn(&mut KeyUse) + Copy) {
        for source in sources {
            self.add(source.vocabulary, source.key, |used| {
                mark(used);
                used.is_structured |= matches!(source.form, SourceForm::Within(_));
            });
        }
    }

    fn contents(&mut self, contents: &'static [Content], is_indexed: bool) {
        for content in contents {
            self.add(content.vocabulary, content.key, |used| {
                used.is_noted = true;
                used.is_indexed |= is_indexed;
            });
            if let ContentForm::Typed(mime) = content.form {
                self.add(content.vocabulary, mime, |_| {});
            }
        }
    }

    fn name(&mut self, name: Name, mark: impl Fn(&mut KeyUse) + Copy) {
        for key in name.spellings() {
            self.add(OtelGenAi, key, mark);
        }
    }

    fn add(&mut self, vocabulary: Vocabulary, key: &'static str, mark: impl FnOnce(&mut KeyUse)) {
        while self.0.len() <= key.len() {
            self.0.push(Bucket::new());
        }
        let Some(bucket) = self.0.get_mut(key.len()) else {
            return;
        };
        let place = bucket
            .iter()
            .position(|(known, _)| *known == key)
            .unwrap_or_else(|| {
                bucket.push((key, KeyUse::default()));
                bucket.len() - 1
            });
        let Some((_, used)) = bucket.get_mut(place) else {
            return;
        };
        mark(used);
        let is_general = matches!(vocabulary, Tracer | OtelGenAi | OtelGenAiOld) || is_shared(key);
        used.groups |= if is_general { 0 } else { FOREIGN };
    }
}

/// Returns whether a key that a vocabulary names is OpenTelemetry's all the same, so that it does not identify a
/// vocabulary.
fn is_shared(key: &str) -> bool {
    [
        "gen_ai.system",
        "gen_ai.request.model",
        "gen_ai.tool.name",
        "gen_ai.usage.input_tokens",
    ]
    .contains(&key)
        || names::INPUT_MESSAGES.is(key)
        || names::OUTPUT_MESSAGES.is(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::may_hold_content;
    use crate::vocabulary::RUN_NAME;

    #[test]
    fn what_the_tables_take_for_a_name_is_no_content() {
        let fields = [
            MODEL,
            RESPONSE_MODEL,
            RESPONSE_ID,
            PROVIDER,
            FINISH_REASON,
            TOOL_NAME,
            CALL_ID,
            RUN_NAME,
        ];
        let fields = fields.into_iter().chain([ERROR_TYPE]).flatten();
        let of_fields = fields
            .filter(|field| !matches!(field.form, SourceForm::Within(_)))
            .map(|field| field.key);
        let of_rules = KINDS
            .iter()
            .flat_map(|rule| rule.tests)
            .filter_map(|test| match test {
                Test::Word(key, _) => Some(*key),
                _ => None,
            });
        for key in of_fields.chain(of_rules) {
            assert!(!may_hold_content(key), "{key}");
        }
        for content in [PROMPT, ANSWER, ARGUMENTS, RESULT].into_iter().flatten() {
            assert!(may_hold_content(content.key), "{}", content.key);
        }
    }

    #[test]
    fn keys_of_every_table_are_kept() {
        let marks = |key| key_use(key).unwrap_or_default();
        assert_eq!(marks("tracer.status").groups, OWN);
        assert_eq!(marks("gen_ai.operation.name").groups, 0);
        assert_eq!(marks("openinference.span.kind").groups, FOREIGN);
        assert!(marks("gen_ai.usage.cache_read.input_tokens").groups & DETAILS != 0);
        assert_eq!(marks("gen_ai.usage.input_tokens").groups, TOKENS);
        assert!(marks("gcp.vertex.agent.llm_response").is_structured);
        assert!(marks("input.value").is_indexed && !marks("input.value").is_outlined);
        assert!(marks("gen_ai.output.messages").is_noted && !marks("gen_ai.output.messages").is_indexed);
        assert!(marks("llm.input_messages.3.message.content").is_indexed);
        assert!(!marks("gen_ai.completion.0.content").is_indexed);
        assert_eq!(key_use("gen_ai.prompting"), None);
        assert_eq!(key_use("customer.id"), None);
        assert_eq!(key_use(""), None);
        assert_eq!(key_use(&"k".repeat(5_000)), None);
    }
}

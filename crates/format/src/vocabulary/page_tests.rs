//! `docs/vocabularies.md`, written from the tables: what is understood of whom.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::Vocabulary;
use super::contents::{
    ANSWER, ANSWER_FIELDS, ARGUMENT_FIELDS, ARGUMENTS, CONTENT_EVENTS, Content, ContentEvent, ContentForm,
    MESSAGE_EVENTS, OUTPUT_EVENTS, PROMPT, RESULT,
};
use super::fields::{
    CALL_ID, ERROR_MESSAGE, ERROR_TYPE, FAILURES, FINISH_REASON, FIRST_CHUNK, FieldSource, IMPLIED_PROVIDERS,
    MODEL, NO_CALL_ID, PROVIDER, RESPONSE_ID, RESPONSE_MODEL, RUN_NAME, SourceForm, TEMPERATURE, TOOL_NAME,
};
use super::kinds::{INNER_STEPS, KINDS, Pattern, Test};
use super::remarks::{
    ANSWER_TOOL_OF_TYPE, ANSWER_TOOLS, FLAT_EVALUATIONS, HAND_OVER_BY_ARGUMENT, HAND_OVER_TOOLS, REMARKS,
};
use super::tokens::{CACHE_BESIDE_INPUT, COUNTS, Count, NESTED_USAGES, THOUGHTS_BESIDE_OUTPUT};
use super::usage_object::{Part, all_parts};

const INTRODUCTION: &str = "\
# Vocabularies

Which attributes of which emitter `tracer` understands, and as what. A span is stored as it was sent; these tables are
applied when a run is read, so that a name added here also helps runs recorded before.

This page is generated from the tables in `crates/format/src/vocabulary/`: edit those, then
`UPDATE_VOCABULARIES=1 cargo test -p tracer-format --lib vocabulary`.

How to read a run in general: [Read your runs](read-runs.md). The records: [The trace format](trace-format.md).

An attribute that is empty counts as absent. Structures may be native or JSON text, numbers may be text. The first
source that says something wins.
";

impl Vocabulary {
    fn title(self) -> &'static str {
        match self {
            Self::Tracer => "tracer",
            Self::OtelGenAi => "OpenTelemetry GenAI",
            Self::OtelGenAiOld => "OpenTelemetry GenAI, older",
            Self::Mcp => "OpenTelemetry MCP",
            Self::OpenInference => "OpenInference",
            Self::OpenLlmetry => "OpenLLMetry",
            Self::AiSdk => "AI SDK",
            Self::PydanticAi => "pydantic-ai, Logfire",
            Self::LangSmith => "LangSmith",
            Self::GoogleAdk => "Google ADK",
            Self::Strands => "Strands",
            Self::AgentFramework => "Microsoft Agent Framework",
            Self::Genkit => "Genkit",
            Self::Haystack => "Haystack",
            Self::VoltAgent => "VoltAgent",
            Self::Mastra => "Mastra",
            Self::LiveKit => "LiveKit",
            Self::Mlflow => "MLflow",
            Self::Langfuse => "Langfuse",
            Self::Rig => "rig",
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
        }
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", ")
}

fn test_words(test: &Test) -> String {
    match test {
        Test::Word(key, words) => format!("{} is {}", code(key), listed(words)),
        Test::Text(key, pattern) => format!("{} {}", code(key), pattern_words(*pattern)),
        Test::Has([key]) => format!("{} is present", code(key)),
        Test::Has(keys) => format!("one of {} is present", listed(keys)),
        Test::HasNot(key) => format!("{} is absent", code(key)),
        Test::Name(pattern) => format!("the span's name {}", pattern_words(*pattern)),
        Test::Method(classes, methods) => {
            format!("the span is a method {} of {}", listed(methods), listed(classes))
        }
    }
}

fn pattern_words(pattern: Pattern) -> String {
    match pattern {
        Pattern::Is(text) => format!("is {}", code(text)),
        Pattern::Begins(text) => format!("begins with {}", code(text)),
        Pattern::Word(beginning, "") => format!("has the first word {}…", code(beginning)),
        Pattern::Word(beginning, ending) => {
            format!("has the first word {}", code(&format!("{beginning}…{ending}")))
        }
    }
}

fn tests_words(tests: &[Test]) -> String {
    tests.iter().map(test_words).collect::<Vec<_>>().join(", and ")
}

/// A row of each table for each vocabulary: where it keeps what.
#[derive(Default)]
struct VocabularyRows(BTreeMap<Vocabulary, Vec<(&'static str, String)>>);

impl VocabularyRows {
    fn push(&mut self, vocabulary: Vocabulary, field: &'static str, source: String) {
        let rows = self.0.entry(vocabulary).or_default();
        match rows.iter_mut().find(|(known, _)| *known == field) {
            Some((_, sources)) => {
                sources.push_str(", ");
                sources.push_str(&source);
            }
            None => rows.push((field, source)),
        }
    }

    fn sources(&mut self, field: &'static str, sources: &[FieldSource]) {
        for source in sources {
            let words = match source.form {
                SourceForm::Plain => code(source.key),
                SourceForm::UpToDot => format!("{} up to its first dot", code(source.key)),
                SourceForm::AfterSlash => format!("{} after its first slash", code(source.key)),
                SourceForm::Within(path) => format!("{} in {}", code(&path.join(".")), code(source.key)),
            };
            self.push(source.vocabulary, field, words);
        }
    }

    fn contents(&mut self, field: &'static str, contents: &[Content]) {
        for content in contents {
            let words = match content.form {
                ContentForm::Value => code(content.key),
                ContentForm::Typed(mime) => format!("{} (as {} says)", code(content.key), code(mime)),
                ContentForm::Flat => code(&format!("{}.N.…", content.key)),
                ContentForm::Field(fields) => format!("{} in {}", listed(fields), code(content.key)),
            };
            self.push(content.vocabulary, field, words);
        }
    }

    fn events(&mut self, asked: &'static str, answered: &'static str, events: &[ContentEvent]) {
        for event in events {
            let field = if event.is_answer { answered } else { asked };
            self.push(
                event.vocabulary,
                field,
                format!("span event {}: {}", code(event.name), listed(event.keys)),
            );
        }
    }

    fn all() -> Self {
        let mut rows = Self::default();
        for name in ["gen_ai.system_instructions", "gen_ai.input.messages"] {
            rows.push(Vocabulary::OtelGenAi, "prompt", code(name));
        }
        rows.push(Vocabulary::OtelGenAi, "answer", code("gen_ai.output.messages"));
        rows.push(
            Vocabulary::OtelGenAi,
            "everything",
            format!(
                "attributes of the span event {}",
                code("gen_ai.client.inference.operation.details")
            ),
        );
        rows.sources("run name", RUN_NAME);
        rows.sources("model", MODEL);
        rows.sources("response model", RESPONSE_MODEL);
        rows.sources("response ID", RESPONSE_ID);
        rows.sources("provider", PROVIDER);
        for (vocabulary, tests, provider) in IMPLIED_PROVIDERS {
            rows.push(
                *vocabulary,
                "provider",
                format!("{} where {}", code(provider), tests_words(tests)),
            );
        }
        rows.sources("temperature", TEMPERATURE);
        rows.sources("finish reason", FINISH_REASON);
        for (vocabulary, key, unit) in FIRST_CHUNK {
            let unit = if *unit > 1_000.0 {
                "seconds"
            } else {
                "milliseconds"
            };
            rows.push(
                *vocabulary,
                "time to the first chunk",
                format!("{} ({unit})", code(key)),
            );
        }
        rows.contents("prompt", PROMPT);
        rows.contents("answer", ANSWER);
        for (vocabulary, key, field) in ANSWER_FIELDS {
            rows.push(*vocabulary, "answer", format!("{} ({field})", code(key)));
        }
        for event in MESSAGE_EVENTS {
            let field = if event.is_answer { "answer" } else { "prompt" };
            rows.push(
                event.vocabulary,
                field,
                format!("span event {} ({})", code(event.name), event.role),
            );
        }
        rows.events("prompt", "answer", CONTENT_EVENTS);
        for (count, vocabulary, key) in COUNTS {
            rows.push(*vocabulary, count_words(*count), code(key));
        }
        for nested in NESTED_USAGES {
            let place = match nested.paths {
                [[], ..] => code(nested.key),
                paths => {
                    let paths: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
                    format!("{} in {}", code(&paths.join("` or `")), code(nested.key))
                }
            };
            rows.push(nested.vocabulary, "usage object", place);
        }
        for (vocabulary, input, cached) in CACHE_BESIDE_INPUT {
            rows.push(
                *vocabulary,
                "input does not include cached tokens",
                format!("{} beside {}", code(cached), code(input)),
            );
        }
        for (vocabulary, key) in THOUGHTS_BESIDE_OUTPUT {
            rows.push(*vocabulary, "output does not include reasoning", code(key));
        }
        rows.sources("tool", TOOL_NAME);
        rows.sources("call ID", CALL_ID);
        for (vocabulary, text) in NO_CALL_ID {
            rows.push(*vocabulary, "call ID is not known", code(text));
        }
        rows.contents("arguments", ARGUMENTS);
        for (vocabulary, key, field) in ARGUMENT_FIELDS {
            rows.push(
                *vocabulary,
                "arguments",
                format!("{} (as {})", code(key), code(field)),
            );
        }
        rows.contents("result", RESULT);
        rows.events("arguments", "result", OUTPUT_EVENTS);
        for (vocabulary, tests) in FAILURES {
            rows.push(*vocabulary, "failure", tests_words(tests));
        }
        rows.sources("error type", ERROR_TYPE);
        rows.sources("error message", ERROR_MESSAGE);
        rows
    }
}

fn count_words(count: Count) -> &'static str {
    match count {
        Count::Input => "input tokens",
        Count::Output => "output tokens",
        Count::Total => "all tokens",
        Count::CacheRead => "input tokens read from the cache",
        Count::CacheWrite => "input tokens written to the cache",
        Count::Reasoning => "output tokens of reasoning",
        Count::CacheWrite1h => "input tokens written to the cache for an hour",
        Count::CacheReadAudio => "input tokens of sound read from the cache",
        Count::InputAudio => "input tokens of sound",
        Count::InputImage => "input tokens of images",
        Count::InputVideo => "input tokens of video",
        Count::OutputAudio => "output tokens of sound",
        Count::OutputImage => "output tokens of images",
        Count::OutputVideo => "output tokens of video",
        Count::WebSearches => "searches of the web",
    }
}

fn part_words(part: Part) -> &'static str {
    match part {
        Part::Counted(count) => count_words(count),
        Part::BesideInput => "tokens of the prompt beside the input",
        Part::WrittenFor5m => "input tokens written to the cache, where only lifetimes are counted",
        Part::Within => "a part of another number",
        Part::Uncharged => "no tokens",
        Part::Charged => "charged beside tokens: named as not counted",
    }
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str(
        "\n## The type of a span\n\nThe format's own marks decide first. Then the first rule that fits; a span that none fits is \
         `UNKNOWN`.\n\n| where | type | vocabulary |\n|---|---|---|\n",
    );
    for rule in KINDS {
        let (tests, gives) = (tests_words(rule.tests), rule.gives.as_str());
        let _ = writeln!(page, "| {tests} | `{gives}` | {} |", rule.vocabulary.title());
    }
    page.push_str(
        "\n## Remarks\n\nWhat is said about a step beside what it did is listed in the record's `meta`, shown with the step, and found by \
         its text. Events may be span events, or log records that name the span. Of these names OpenTelemetry has merged \
         `gen_ai.evaluation.*` alone; the others are proposals, and names of libraries.\n\n| in `meta` | field | from |\n|---|---|---|\n",
    );
    for kind in REMARKS {
        let events = kind
            .events
            .iter()
            .map(|(_, name)| format!("event {}", code(name)));
        let spans = kind.spans.iter().map(|(_, test)| test_words(test));
        let places: Vec<String> = events.chain(spans).collect();
        let _ = writeln!(page, "| `{}` | where | {} |", kind.key, places.join(", or "));
        for (field, keys) in kind.fields {
            let _ = writeln!(page, "| | {field} | {} |", listed(keys));
        }
    }
    let flat: Vec<String> = FLAT_EVALUATIONS
        .iter()
        .map(|(_, key)| code(&format!("{key}.N.…")))
        .collect();
    let _ = writeln!(
        page,
        "\nRatings are read from the flattened lists {}, too. A tool whose name is {}, or begins with {}, is the form of an \
         agent's answer; one whose name begins with {} (however the words are divided), or is {}, hands over to another agent: \
         without a result their outcome is not unknown. A tool that LangGraph's `ParentCommand` ended is a hand-over, \
         and has not failed.",
        flat.join(", "),
        listed(&ANSWER_TOOLS),
        code(ANSWER_TOOL_OF_TYPE),
        listed(&HAND_OVER_TOOLS),
        code(HAND_OVER_BY_ARGUMENT),
    );
    page.push_str(
        "\n## Inner steps of libraries\n\nSpans that a library writes for itself are no rows, unless they failed: what is in them stands in what \
         is around them. They stay in the log. Of two spans of OpenInference that have nothing but a kind and a name, one in the \
         other and with one name, the outer one is the row.\n\n",
    );
    for (_, tests) in INNER_STEPS {
        let _ = writeln!(page, "- {}", tests_words(tests));
    }
    page.push_str("\n## Fields, by vocabulary\n");
    for (vocabulary, rows) in VocabularyRows::all().0 {
        let _ = write!(
            page,
            "\n### {}\n\n| field | from |\n|---|---|\n",
            vocabulary.title()
        );
        for (field, sources) in rows {
            let _ = writeln!(page, "| {field} | {sources} |");
        }
    }
    page.push_str(
        "\n## Tokens\n\nInput includes what the provider read from its cache and wrote to it, output includes reasoning; providers \
         that count them beside are added up. A total that is given is kept, another one is the sum. Where input and output do not \
         add up to it, the one reading in which shares beside them do is taken; a contradiction is marked in \
         `meta.usage_contradiction`. Zero tokens beside an answer are not known. Tokens are summed over model calls: agents \
         repeat what their calls used. What asked a model for something else than an answer (`embeddings`, `rerank`, \
         `transcription`, `translation`, `speech`, `image_generation`, `image_edit`, `moderation`) is no model call; its tokens \
         and its price are in the totals where the proxy saw it, and only there, because libraries report one on several \
         levels.\n\n\
         ## Usage objects\n\nThe numbers of usage objects, in answers that `tracer record` keeps and in attributes that hold such an \
         object, in one spelling for all: `in` and `out` are the details of a side, and lists by modality are members of these. Any \
         other number that is not zero is named in `tracer.usage.not_counted`, and the call costs at least what its counts do.\n\n",
    );
    page.push_str("| number | read as |\n|---|---|\n");
    for (path, part) in all_parts() {
        let _ = writeln!(page, "| {} | {} |", code(path), part_words(part));
    }
    page.push_str(
        "\n## A call that was recorded more than once\n\nA library, the recorder around it, an exporter and the proxy may each \
         report one call. Reports that lie in each other and agree are one call. Others of different reporters are when they \
         have one ID (one that a library made up proves nothing), or count as many tokens of one model at the same time; a \
         report beside what the proxy saw, when it is of that model and time and nothing else tells it apart; a tool, when \
         its name or its arguments are those that the model asked for, between request and result. A report of a model call \
         that holds several of them, or is left beside what the proxy saw of its model, is a step and counts nothing. Agents are one where two reporters tell of the same calls in them or give them one name, \
         and where one of a reporter holds only another one with its name and calls.\n\n\
         The report that says most is the call, with what the others know besides (`meta.joined_with`), where one of them \
         says that it is; the others are `UNKNOWN` and name it in `meta.same_call`.\n\n\
         A `fetch_response` is the call that created the answer with its response ID, whoever recorded either and whenever it \
         asked: the largest usage is the answer's, its tokens are never summed, and the call lasts until the last time. Where \
         nothing else has that ID, the first one is the call. A call whose finish reason is `queued` or `in_progress` and whose \
         end nothing else saw has an unknown outcome.\n",
    );
    page
}

#[test]
fn the_page_of_vocabularies_is_that_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vocabularies.md");
    let page = page();
    if std::env::var_os("UPDATE_VOCABULARIES").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        stored, page,
        "run UPDATE_VOCABULARIES=1 cargo test -p tracer-format --lib vocabulary"
    );
}

//! What is looked for: `kind:tool name:search error:true dur:>1s "any text"`.

use tracer_sdk::format::EventType;

use tracer_insight::step_filter::StepFilter;
use tracer_insight::step_kind::StepKind;

/// Longer queries are refused.
const MAX_QUERY_CHARACTERS: usize = 1_000;

/// A query; every part of it has to fit.
#[derive(Debug, Default)]
pub(crate) struct SearchQuery {
    kinds: Vec<StepKind>,
    /// In lower case.
    name: Option<String>,
    failed: Option<bool>,
    /// In microseconds.
    longer_than: Option<f64>,
    shorter_than: Option<f64>,
    texts: Vec<StepFilter>,
    /// The parts of the texts that are in the log as they are typed, in lower case; see [`plain_part`].
    plain: Vec<String>,
}

impl SearchQuery {
    /// Reads a query, or says what is wrong with it.
    pub(crate) fn parse(query: &str) -> Result<Self, String> {
        if query.chars().count() > MAX_QUERY_CHARACTERS {
            return Err(format!("a query has at most {MAX_QUERY_CHARACTERS} characters"));
        }
        let mut parsed = Self::default();
        for (word, is_quoted) in words(query) {
            let term = word.split_once(':').filter(|_| !is_quoted);
            let term = term.map(|(name, value)| (name.to_lowercase(), value));
            match term.as_ref().map(|(name, value)| (name.as_str(), *value)) {
                Some(("kind", kinds)) => {
                    for kind in kinds.split(',') {
                        let known = StepKind::from_word(kind)
                            .ok_or("`kind:` is one of run, llm, tool, state, error, loop, other")?;
                        parsed.kinds.push(known);
                    }
                }
                Some(("name", name)) => parsed.name = Some(name.to_lowercase()),
                Some(("error", "true" | "yes")) => parsed.failed = Some(true),
                Some(("error", "false" | "no")) => parsed.failed = Some(false),
                Some(("error", _)) => return Err("`error:` is true or false".to_owned()),
                Some(("dur", bound)) => parsed.bound(bound)?,
                Some((name, value)) if is_filter_like(name, value) => {
                    return Err(format!(
                        "there is no filter `{name}:`, only kind, name, error and dur; in quotes it is a text"
                    ));
                }
                _ => parsed.text(&word),
            }
        }
        Ok(parsed)
    }

    fn bound(&mut self, bound: &str) -> Result<(), String> {
        let wrong = || "`dur:` is as >1s, <20ms or >=500us".to_owned();
        let (is_lower, rest) = match bound.strip_prefix('>') {
            Some(rest) => (true, rest),
            None => (false, bound.strip_prefix('<').ok_or_else(wrong)?),
        };
        let microseconds = duration(rest.strip_prefix('=').unwrap_or(rest)).ok_or_else(wrong)?;
        if is_lower {
            self.longer_than = Some(microseconds);
        } else {
            self.shorter_than = Some(microseconds);
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.texts.push(StepFilter::new(&[], false, Some(text)));
        self.plain.push(plain_part(&text.to_lowercase()).to_owned());
    }

    /// Whether steps have to be read to be found.
    pub(super) fn has_text(&self) -> bool {
        !self.texts.is_empty()
    }

    /// What every line has that holds all texts, the longest of it; empty when nothing is certain.
    pub(super) fn needle(&self) -> &str {
        self.plain
            .iter()
            .max_by_key(|part| part.len())
            .map_or("", String::as_str)
    }

    /// Whether a step matches as far as its columns show. A duration of -1 or that is no number is none.
    pub(super) fn fits(&self, kind: StepKind, name: &str, failed: bool, duration_us: f64) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && self.failed.is_none_or(|wanted| wanted == failed)
            && self
                .name
                .as_ref()
                .is_none_or(|wanted| name.to_lowercase().contains(wanted))
            && self.longer_than.is_none_or(|bound| duration_us >= bound)
            && self
                .shorter_than
                .is_none_or(|bound| duration_us >= 0.0 && duration_us <= bound)
    }

    /// Whether all texts are in the record.
    pub(super) fn is_said_in(&self, record: &tracer_sdk::format::Record) -> bool {
        let is_run = record.event_type() == EventType::RunStart;
        self.texts.iter().all(|text| text.passes(record)) && (!is_run || self.has_text())
    }
}

/// Whether a word is meant as a filter: `model:gpt-4`, but not `https://…`, `std::io`, `10:30` or `TimeoutError:`.
fn is_filter_like(name: &str, value: &str) -> bool {
    let is_word = !name.is_empty()
        && name
            .chars()
            .all(|char| char.is_ascii_alphabetic() || "_-".contains(char));
    let is_path = value.starts_with([':', '/', '\\']);
    is_word && !is_path && !value.is_empty()
}

/// The words of a query; a quoted text is one.
fn words(query: &str) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"');
        let (word, behind) = if let Some(quoted) = quoted {
            quoted.split_once('"').unwrap_or((quoted, ""))
        } else {
            rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()))
        };
        if !word.is_empty() {
            words.push((word.to_owned(), quoted.is_some()));
        }
        rest = behind.trim_start();
    }
    words
}

/// `1.5s`, `20ms`, `500us`, `2m`, `1h` in microseconds; without a unit, milliseconds.
fn duration(text: &str) -> Option<f64> {
    let end = text
        .find(|char: char| !char.is_ascii_digit() && char != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "us" | "µs" => 1.0,
        "" | "ms" => 1e3,
        "s" => 1e6,
        "m" | "min" => 6e7,
        "h" => 3.6e9,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some(number * factor)
}

/// The longest part of a text that any JSON holds as it is: neither escaped nor written another way.
fn plain_part(text: &str) -> &str {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || " _-.,:;!?=+*()[]{}<>@#$%^~|".contains(char);
    text.split(|char| !is_plain(char))
        .max_by_key(|part| part.len())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(query: &str) -> Vec<&'static str> {
        let query = SearchQuery::parse(query).unwrap();
        let rows = [
            ("search", StepKind::Tool, false, 2e6),
            ("Search_KB", StepKind::Tool, true, 5.0),
            ("gpt-5", StepKind::Llm, false, -1.0),
            ("state", StepKind::State, false, f64::NAN),
        ];
        let fitting = rows
            .into_iter()
            .filter(|(name, kind, failed, duration)| query.fits(*kind, name, *failed, *duration));
        fitting.map(|(name, ..)| name).collect()
    }

    #[test]
    fn every_part_of_a_query_has_to_fit() {
        assert_eq!(fits(""), ["search", "Search_KB", "gpt-5", "state"]);
        assert_eq!(fits("kind:tool"), ["search", "Search_KB"]);
        assert_eq!(fits("kind:llm,state"), ["gpt-5", "state"]);
        assert_eq!(fits("name:search error:true"), ["Search_KB"]);
        assert_eq!(fits("dur:>1s"), ["search"]);
        assert_eq!(fits("dur:<1ms"), ["Search_KB"]);
        assert_eq!(fits("dur:>1us error:false"), ["search"]);
    }

    #[test]
    fn a_query_without_a_meaning_is_refused() {
        for query in ["kind:nothing", "error:maybe", "dur:1s", "dur:>x"] {
            assert!(SearchQuery::parse(query).is_err(), "{query}");
        }
        // No filter becomes a text without a word.
        for query in [
            "knd:tool",
            "model:gpt-5",
            "status:failed",
            "tool-name:search",
            "a kind:tool b:c",
        ] {
            let refused = SearchQuery::parse(query).unwrap_err();
            assert!(
                refused.starts_with("there is no filter `") && refused.contains("in quotes"),
                "{refused}"
            );
        }
        assert_eq!(fits("KIND:tool Error:true"), ["Search_KB"]);
    }

    #[test]
    fn a_text_with_a_colon_is_no_filter() {
        for query in [
            "https://a.example/b",
            "std::io",
            "10:30",
            "TimeoutError:",
            "main.rs:12",
            "C:\\agent",
            "\"model:gpt-5\"",
            ":",
            "größe:1",
        ] {
            assert_eq!(SearchQuery::parse(query).unwrap().texts.len(), 1, "{query}");
        }
    }

    #[test]
    fn texts_are_words_or_stand_in_quotes() {
        let query = SearchQuery::parse("refund \"no: answer\" https://a").unwrap();
        assert_eq!(query.texts.len(), 3);
        assert_eq!(query.needle(), "no: answer");
        assert_eq!(SearchQuery::parse("é\"").unwrap().needle(), "");
    }
}

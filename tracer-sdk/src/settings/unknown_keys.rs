//! Unknown keys of a settings file, with the likely setting.

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::layer::{Layer, Values};
use super::problem::{Position, SettingProblem};
use super::setting::Setting;
use super::table::SETTINGS;

/// Length of an unknown key that is repeated in its problem, in characters.
const MAX_KEY_CHARACTERS: usize = 64;

/// The table that is no setting: prices.
pub(super) const PRICES_TABLE: &str = "prices";

/// Reports every key that is no setting.
pub(super) fn unknown_keys(layer: &Layer<'_>, problems: &mut Vec<SettingProblem>) {
    let Values::File { text, table } = &layer.values else {
        return;
    };
    let problem = |key: &Spanned<DeString<'_>>, full: &str, allowed: &str| {
        let shown = full.chars().take(MAX_KEY_CHARACTERS);
        let shown: String = shown.flat_map(char::escape_debug).collect();
        let position = Position::of(text, key.span().start);
        SettingProblem::new(&layer.source, Some(position), &shown, allowed)
    };
    let unknown = |key: &Spanned<DeString<'_>>, full: &str| {
        if SETTINGS.iter().any(|setting| setting.key == full) {
            return None;
        }
        let meant = nearest(full).map(|setting| format!("; did you mean {}?", setting.key));
        let allowed = format!("is not a setting{}", meant.unwrap_or_default());
        Some(problem(key, full, &allowed))
    };
    for (key, value) in table {
        let name: &str = key.get_ref();
        let is_table = SETTINGS.iter().any(|setting| setting.table() == Some(name));
        match value.get_ref() {
            _ if name == PRICES_TABLE => {}
            DeValue::Table(inner) if is_table => {
                problems.extend(
                    inner
                        .keys()
                        .filter_map(|key| unknown(key, &format!("{name}.{}", key.get_ref()))),
                );
            }
            _ if is_table => problems.push(problem(key, name, "must be a table")),
            _ => problems.extend(unknown(key, name)),
        }
    }
}

/// The setting whose name is nearest to the last part of `key`; `None` when none is near.
fn nearest(key: &str) -> Option<&'static Setting> {
    let name = key.rsplit('.').next().unwrap_or(key).to_lowercase();
    let (distance, setting) = SETTINGS
        .iter()
        .map(|setting| (edit_distance(&name, setting.name()), *setting))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= setting.name().len() / 3).then_some(setting)
}

/// Number of characters to insert, leave out or exchange to make one text the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (index, from_character) in from.chars().enumerate() {
        let mut previous = index;
        let mut left = index + 1;
        for (above, to_character) in row.iter_mut().skip(1).zip(to.chars()) {
            let exchanged = previous + usize::from(from_character != to_character);
            previous = *above;
            left = exchanged.min(previous + 1).min(left + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_edits() {
        for (from, to, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "axc", 1),
            ("loop_windw", "loop_window", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(from, to), distance, "{from} {to}");
        }
    }

    #[test]
    fn a_slip_and_a_wrong_table_are_recognised_and_a_stranger_is_not() {
        let key = |text| nearest(text).map(|setting| setting.key);
        assert_eq!(key("loop_windw"), Some("loop_window"));
        assert_eq!(key("max_llm_calls"), Some("guardrails.max_llm_calls"));
        assert_eq!(key("guardrails.Max_Tool_Call"), Some("guardrails.max_tool_calls"));
        assert_eq!(key("redact_key"), Some("redact_keys"));
        assert_eq!(key("colour"), None);
        assert_eq!(key(""), None);
    }
}

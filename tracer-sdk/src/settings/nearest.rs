//! The setting that somebody who wrote another name may have meant.

use super::{SETTINGS, Setting};

/// The setting whose name is nearest to the last part of `key`; `None` when none is near.
pub(super) fn nearest(key: &str) -> Option<&'static Setting> {
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

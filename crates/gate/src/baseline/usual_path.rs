//! Default path of a baseline, named after its agent.

use std::path::{Path, PathBuf};

use super::Baseline;

/// The folder of baselines, next to the policy.
pub const BASELINES_FOLDER: &str = ".tracer/baselines";
/// A longer name is cut.
const MAX_LENGTH: usize = 64;

/// The usual place of a baseline: `.tracer/baselines/<name>.json`.
pub fn usual_path(baseline: &Baseline) -> PathBuf {
    let id: String = baseline.first_run_id().chars().take(8).collect();
    path_of(
        baseline.agent.as_deref().unwrap_or_default(),
        &format!("run-{id}"),
    )
}

/// The place of the baseline of `agent`; `other` names the file where nothing of the name can.
pub(crate) fn path_of(agent: &str, other: &str) -> PathBuf {
    let name = match file_name(agent) {
        name if name.is_empty() => file_name(other),
        name => name,
    };
    Path::new(BASELINES_FOLDER).join(format!("{name}.json"))
}

/// A name that every file system takes: without anything but letters, digits, dots, dashes and underscores.
fn file_name(agent: &str) -> String {
    let mut name = String::new();
    for char in agent.chars().take(MAX_LENGTH * 4) {
        let is_plain = char.is_alphanumeric() || matches!(char, '.' | '_');
        match (is_plain, name.ends_with('-')) {
            (true, _) => name.push(char),
            (false, false) => name.push('-'),
            (false, true) => {}
        }
        if name.len() >= MAX_LENGTH {
            break;
        }
    }
    // A leading dot hides a file; a trailing one is lost on Windows.
    name.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_becomes_a_file_in_its_folder() {
        // gate, *Baseline*
        for (agent, file) in [
            ("support-agent", "support-agent"),
            ("team/agent: x", "team-agent-x"),
            ("src/main.rs:answer", "src-main.rs-answer"),
            ("../../etc/passwd", "etc-passwd"),
            ("..", ""),
            ("a\0b\nc", "a-b-c"),
            ("über agent", "über-agent"),
        ] {
            assert_eq!(file_name(agent), file);
        }
    }

    proptest! {
        #[test]
        fn whatever_the_name_the_file_stays_in_its_folder(name in any::<String>()) {
            let file = file_name(&name);
            prop_assert!(!file.contains(['/', '\\', ':', '\0']) && !file.starts_with('.'));
            prop_assert!(file.len() <= MAX_LENGTH + 4);
        }
    }
}

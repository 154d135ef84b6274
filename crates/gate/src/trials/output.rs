//! Redacted last lines of the output of a trial.

use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;

/// Number of lines.
const MAX_LINES: usize = 20;
/// Maximum length of a line in characters.
const MAX_CHARACTERS: usize = 400;
/// Stands in the place of what was cut.
const CUT: &str = "…";

/// Makes output fit to be kept.
#[derive(Debug)]
pub struct OutputCleaner {
    redaction: Redaction,
}

impl OutputCleaner {
    /// With the rules that recording follows. The trials have the environment of this process, and with it its secrets.
    pub fn new(settings: &Settings) -> Self {
        Self {
            redaction: Redaction::new(settings, environment()),
        }
    }

    /// The last lines of a failed trial: of standard error, or else of standard output, marked as such.
    pub(crate) fn last_words(&self, stderr: &str, stdout: &str) -> String {
        let reported = self.last_lines(stderr);
        if !reported.is_empty() {
            return reported;
        }
        match self.last_lines(stdout).as_str() {
            "" => String::new(),
            lines => format!("(nothing on standard error; standard output ended with)\n{lines}"),
        }
    }

    /// The arguments of a command without the values of secret-like options.
    pub fn arguments(&self, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
        self.redaction.arguments(arguments)
    }

    /// The last lines. Redacts before it cuts, so that no half of a secret stays.
    pub(crate) fn last_lines(&self, text: &str) -> String {
        let redacted = self.redaction.text(text);
        let lines: Vec<&str> = redacted.trim_end().lines().collect();
        let last = lines.len().saturating_sub(MAX_LINES);
        let kept: Vec<String> = lines.iter().skip(last).map(|line| shortened(line)).collect();
        kept.join("\n")
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}{CUT}", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// The variables that are text; a secret that is none cannot be found in text.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(stderr: &str, stdout: &str) -> String {
        OutputCleaner::new(&Settings::with_data_dir("unused")).last_words(stderr, stdout)
    }

    #[test]
    fn the_last_lines_are_kept_and_long_ones_cut() {
        let many: Vec<String> = (1..=30).map(|number| format!("line {number}")).collect();
        let kept = reported(&many.join("\n"), "ignored");
        assert!(
            kept.starts_with("line 11\n") && kept.ends_with("line 30"),
            "{kept}"
        );
        assert_eq!(reported(&"ü".repeat(500), "").chars().count(), MAX_CHARACTERS + 1);
    }

    #[test]
    fn secrets_are_replaced_before_lines_are_cut() {
        let line = format!("{} DB_PASSWORD=hunter2-and-more", "x".repeat(380));
        let kept = reported(&line, "");
        assert!(
            !kept.contains("hunter2") && kept.contains("DB_PASSWORD=_"),
            "{kept}"
        );
    }

    // gate, *Trials*: whichever stream the program complains on, it is reported.
    #[test]
    fn an_empty_standard_error_is_replaced_by_standard_output() {
        assert_eq!(
            reported(" \n", "Traceback\nboom\n"),
            "(nothing on standard error; standard output ended with)\nTraceback\nboom"
        );
        assert_eq!(reported("", ""), "");
    }
}

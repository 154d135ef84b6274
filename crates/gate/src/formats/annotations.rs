//! Workflow commands of GitHub Actions: what becomes an annotation of the change.

/// GitHub drops what is beyond ten errors of a step without saying so.
pub const MAX_ANNOTATIONS: usize = 10;
/// A longer message is cut; the report has it whole.
const MAX_LENGTH: usize = 1_000;

/// A problem to be shown at a file of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// True if it fails the step's check; a warning otherwise.
    pub is_error: bool,
    /// The file, relative to the repository, when there is one that the reader would open.
    pub file: Option<String>,
    /// The heading.
    pub title: String,
    /// The message.
    pub message: String,
}

impl Annotation {
    /// The workflow command, on one line whatever its parts hold.
    ///
    /// ```
    /// use tracer_gate::formats::annotations::Annotation;
    ///
    /// let annotation = Annotation {
    ///     is_error: true,
    ///     file: None,
    ///     title: "steps: too many".to_owned(),
    ///     message: "100 %\n::set-env::".to_owned(),
    /// };
    /// assert_eq!(annotation.command(), "::error title=steps%3A too many::100 %25%0A::set-env::");
    /// ```
    pub fn command(&self) -> String {
        let level = if self.is_error { "error" } else { "warning" };
        let file = self
            .file
            .as_deref()
            .map(|file| format!("file={},", property(file)))
            .unwrap_or_default();
        let message: String = self.message.chars().take(MAX_LENGTH).collect();
        format!(
            "::{level} {file}title={}::{}",
            property(&self.title),
            data(&message)
        )
    }
}

/// The commands for the annotations: errors first, at most ten, the last of them counting what is left out.
pub fn commands(mut annotations: Vec<Annotation>) -> Vec<String> {
    annotations.sort_by_key(|annotation| !annotation.is_error);
    let left_out = annotations.len().saturating_sub(MAX_ANNOTATIONS);
    if left_out > 0 {
        annotations.truncate(MAX_ANNOTATIONS - 1);
        annotations.push(Annotation {
            is_error: annotations.iter().all(|annotation| annotation.is_error),
            file: None,
            title: "tracer".to_owned(),
            message: format!("{} more; the job summary has them all", left_out + 1),
        });
    }
    annotations.iter().map(Annotation::command).collect()
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    let text: String = text.chars().take(MAX_LENGTH).collect();
    data(&text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn annotation(number: usize, is_error: bool) -> Annotation {
        Annotation {
            is_error,
            file: Some(".tracer/policy.yaml".to_owned()),
            title: format!("check {number}"),
            message: "failed".to_owned(),
        }
    }

    #[test]
    fn errors_come_first_and_what_github_would_drop_is_counted() {
        let mixed: Vec<Annotation> = (0..12)
            .map(|number| annotation(number, number % 2 == 1))
            .collect();
        let commands = commands(mixed);
        assert_eq!(commands.len(), MAX_ANNOTATIONS);
        assert_eq!(
            commands[0],
            "::error file=.tracer/policy.yaml,title=check 1::failed"
        );
        assert_eq!(
            commands[9],
            "::warning title=tracer::3 more; the job summary has them all"
        );
    }

    proptest! {
        #[test]
        fn a_command_is_one_line_and_one_command(title in any::<String>(), message in any::<String>()) {
            let command = Annotation { is_error: true, file: None, title, message }.command();
            prop_assert!(!command.contains(['\r', '\n']));
            // The title cannot end the properties, nor begin another one.
            let (properties, _) = command.strip_prefix("::error ").unwrap().split_once("::").unwrap();
            prop_assert!(properties.strip_prefix("title=").is_some_and(|title| !title.contains([':', ','])));
        }
    }
}

//! Errors as a trace tells them: type, message, and where they came from.

use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::recording::RecordingGuard;
use crate::redact::SEEN_PAST_THE_CUT;
use crate::write::limited_text::LimitedText;
use tracer_format::MAX_LINE_BYTES;
use tracer_format::names::markers;

/// Details of an error: the three things that the format keeps of one (specification, `ERROR`).
///
/// ```
/// use tracer_sdk::ErrorInfo;
///
/// let error = "x".parse::<u8>().unwrap_err();
/// let info = ErrorInfo::of(&error);
/// assert_eq!(info.error_type, "ParseIntError");
/// assert_eq!(info.message, "invalid digit found in string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The error's class, `ParseIntError`.
    pub error_type: String,
    /// The error's message.
    pub message: String,
    /// Origin of the error, one place or cause a line.
    pub stack: Option<String>,
}

impl ErrorInfo {
    /// An error of a type of your own naming.
    ///
    /// ```
    /// let info = tracer_sdk::ErrorInfo::new("QuotaExceeded", "no tokens are left today");
    /// assert_eq!((info.error_type.as_str(), info.stack), ("QuotaExceeded", None));
    /// ```
    pub fn new(error_type: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            error_type: error_type.into(),
            message: message.into(),
            stack: None,
        }
    }

    /// The type and the message of an error that can be displayed. The alternate form (`{:#}`) is used, in which some
    /// errors show their causes.
    ///
    /// ```
    /// let info = tracer_sdk::ErrorInfo::of(&std::io::Error::other("connection reset"));
    /// assert_eq!((info.error_type.as_str(), info.message.as_str()), ("Error", "connection reset"));
    /// ```
    pub fn of<E: fmt::Display + ?Sized>(error: &E) -> Self {
        Self::new(
            short_type_name::<E>(),
            user_text(format_args!("{error:#}"), MAX_TEXT_BYTES),
        )
    }

    /// The type, the message and the causes of an error.
    ///
    /// ```
    /// use tracer_runs::maintenance::MaintenanceError;
    ///
    /// let source = std::io::Error::other("the disk is full");
    /// let error = MaintenanceError::Io { path: "meta.json".into(), source };
    /// let info = tracer_sdk::ErrorInfo::with_causes(&error);
    /// assert_eq!(info.stack.as_deref(), Some("caused by: the disk is full"));
    /// ```
    pub fn with_causes<E: std::error::Error + ?Sized>(error: &E) -> Self {
        Self {
            stack: causes(error),
            ..Self::of(error)
        }
    }

    /// Adds the place where the error was seen, as the first line of the stack.
    ///
    /// ```
    /// let info = tracer_sdk::ErrorInfo::new("QuotaExceeded", "no tokens are left today").at("src/agent.rs:40");
    /// assert_eq!(info.stack.as_deref(), Some("at src/agent.rs:40"));
    /// ```
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        let place = user_text(format_args!("{place}"), MAX_TEXT_BYTES);
        self.stack = Some(match self.stack.take() {
            Some(stack) => format!("at {place}\n{stack}"),
            None => format!("at {place}"),
        });
        self
    }
}

/// The type of an error without a telling name.
pub(crate) const UNNAMED: &str = "Error";
/// A chain longer than this is not a chain but a circle.
const MAX_CAUSES: usize = 32;
/// The longest debug text in which a type is looked for, in bytes.
const MAX_TYPE_BYTES: usize = 200;
/// The longest text that is taken of a value, in bytes: no line holds more, and redaction sees what lies past the cut.
const MAX_TEXT_BYTES: usize = MAX_LINE_BYTES + SEEN_PAST_THE_CUT;

/// The text of a value that belongs to the user, whose `Display` or `Debug` may panic, fail or never end.
fn user_text(value: fmt::Arguments<'_>, max_bytes: usize) -> String {
    printed(value, max_bytes).unwrap_or_else(|mut beginning| {
        beginning.push_str(markers::UNSERIALIZABLE);
        beginning
    })
}

/// The debug text of a value that belongs to the user; `None` when it panics or fails.
pub(crate) fn debug_text(value: &impl fmt::Debug) -> Option<String> {
    printed(format_args!("{value:?}"), MAX_TEXT_BYTES).ok()
}

/// The same with a limit of its own.
#[cfg(feature = "tracing")]
pub(crate) fn debug_text_up_to(value: &impl fmt::Debug, max_bytes: usize) -> Option<String> {
    printed(format_args!("{value:?}"), max_bytes).ok()
}

/// Prints a value, cut where it is too long. The error is what was printed before the value panicked or failed.
fn printed(value: fmt::Arguments<'_>, max_bytes: usize) -> Result<String, String> {
    let _recording = RecordingGuard::mark();
    let mut limited = LimitedText::new(max_bytes);
    let outcome = catch_unwind(AssertUnwindSafe(|| limited.write_fmt(value)));
    let is_cut = limited.is_full();
    let mut text = limited.into_text();
    match outcome {
        _ if is_cut => {
            text.push_str(markers::TRUNCATED);
            Ok(text)
        }
        Ok(Ok(())) => Ok(text),
        _ => Err(text),
    }
}

/// The texts of the errors behind an error, one a line.
pub(crate) fn causes<E: std::error::Error + ?Sized>(error: &E) -> Option<String> {
    let _recording = RecordingGuard::mark();
    let chain = catch_unwind(AssertUnwindSafe(|| {
        let mut text = String::new();
        let mut cause = error.source();
        for _ in 0..MAX_CAUSES {
            let Some(current) = cause else { break };
            // The causes together are no longer than one text.
            let room = MAX_TEXT_BYTES.saturating_sub(text.len());
            if room == 0 {
                break;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str("caused by: ");
            text.push_str(&user_text(format_args!("{current:#}"), room));
            cause = current.source();
        }
        text
    }));
    chain.ok().filter(|text| !text.is_empty())
}

/// The type of the innermost error behind one whose own type says nothing, if its debug text names it.
pub(crate) fn root_type<E: std::error::Error + ?Sized>(error: &E) -> Option<String> {
    let _recording = RecordingGuard::mark();
    catch_unwind(AssertUnwindSafe(|| {
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        let text = match causes.take(MAX_CAUSES).last() {
            Some(root) => printed(format_args!("{root:?}"), MAX_TYPE_BYTES),
            None => printed(format_args!("{error:?}"), MAX_TYPE_BYTES),
        };
        let text = text.ok()?;
        let end = text.find([' ', '(', '{']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let last = name.rsplit("::").next().unwrap_or(name);
        let is_name = last.starts_with(|first: char| first.is_ascii_uppercase())
            && name
                .chars()
                .all(|char| char.is_alphanumeric() || matches!(char, '_' | ':'));
        let is_structure = rest.is_empty() || rest.starts_with(['(', '{']) || rest.starts_with(" {");
        let is_error = ["Error", "Exceeded", "Elapsed"]
            .iter()
            .any(|end| last.ends_with(end));
        (is_name && is_structure && is_error && last != "Error").then(|| last.to_owned())
    }))
    .ok()
    .flatten()
}

/// The type's name without its path and its parameters: `ParseIntError`. What has no telling name is an `Error`.
pub(crate) fn short_type_name<T: ?Sized>() -> String {
    let full = std::any::type_name::<T>().trim_start_matches('&');
    let full = full.strip_prefix("alloc::boxed::Box<").unwrap_or(full);
    let without_parameters = full.split(['<', '>', '+']).next().unwrap_or(full);
    let last = without_parameters
        .trim()
        .rsplit("::")
        .next()
        .unwrap_or(without_parameters)
        .trim();
    if last.is_empty() || full.starts_with("dyn ") || matches!(last, "str" | "String" | "Arguments") {
        UNNAMED.to_owned()
    } else {
        last.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);

    impl fmt::Display for Outer {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("cannot read the port")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    struct Panics;

    impl fmt::Display for Panics {
        fn fmt(&self, _formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("in the user's own Display")
        }
    }

    #[test]
    fn an_error_is_recorded_with_type_message_and_causes() {
        let info = ErrorInfo::with_causes(&Outer("x".parse::<u8>().unwrap_err())).at("main (src/main.rs:3)");
        assert_eq!(info.error_type, "Outer");
        assert_eq!(info.message, "cannot read the port");
        assert_eq!(
            info.stack.as_deref(),
            Some("at main (src/main.rs:3)\ncaused by: invalid digit found in string")
        );
    }

    #[test]
    fn an_error_without_a_telling_type_is_an_error() {
        let boxed: Box<dyn std::error::Error + Send + Sync> = "boom".into();
        for info in [
            ErrorInfo::of("boom"),
            ErrorInfo::of(&"boom".to_owned()),
            ErrorInfo::of(&boxed),
            ErrorInfo::of(&*boxed),
        ] {
            assert_eq!(
                (info.error_type.as_str(), info.message.as_str()),
                ("Error", "boom")
            );
        }
    }

    #[derive(Debug)]
    struct Endless;

    impl fmt::Display for Endless {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                formatter.write_str("on and on ")?;
            }
        }
    }

    impl std::error::Error for Endless {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }

    #[test]
    fn an_endless_text_of_the_user_is_cut_wherever_it_is_asked_for() {
        let limit = MAX_TEXT_BYTES + markers::TRUNCATED.len();
        let info = ErrorInfo::with_causes(&Endless).at(Endless);
        assert!(info.message.len() <= limit && info.message.ends_with(markers::TRUNCATED));
        // The place and all causes of a circle.
        let stack = info.stack.unwrap();
        assert!(stack.len() <= 2 * limit + 1024, "{}", stack.len());
        let padded = format_args!("{:>width$}", 'x', width = usize::from(u16::MAX)).to_string();
        assert_eq!(user_text(format_args!("{padded}"), MAX_TEXT_BYTES), padded);
    }

    #[test]
    fn a_panic_in_the_users_display_stays_inside() {
        assert_eq!(ErrorInfo::of(&Panics).message, markers::UNSERIALIZABLE);
        let stack = ErrorInfo::new("Lost", "no way").at(Panics).stack.unwrap();
        assert_eq!(stack, format!("at {}", markers::UNSERIALIZABLE));
    }
}

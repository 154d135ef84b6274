//! Tests of how a returned value tells its error.

use std::cell::Cell;
use std::fmt;

use super::*;

const PLACE: &str = "plan (src/agent.rs:12)";

/// What the attribute expands to.
macro_rules! error_of {
    ($value:expr) => {
        (&&&&&&Outcome(&$value)).tracer_error(PLACE)
    };
}

type Private<T> = Result<T, fmt::Error>;

#[derive(Debug)]
struct OnlyDebug {
    #[expect(dead_code, reason = "read by its Debug")]
    code: u8,
}

struct Silent;

struct Panics;

impl Debug for Panics {
    fn fmt(&self, _formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("in the user's own Debug")
    }
}

/// As `anyhow::Error`: not an error itself, but it derefs to one, and its debug text ends in a backtrace, which is resolved
/// then.
struct Holder {
    error: Box<dyn Error>,
    resolved: Cell<u32>,
}

impl Deref for Holder {
    type Target = dyn Error;

    fn deref(&self) -> &Self::Target {
        &*self.error
    }
}

impl Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if formatter.alternate() {
            formatter.write_str("outer: inner")
        } else {
            formatter.write_str("outer")
        }
    }
}

impl Debug for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resolved.set(self.resolved.get() + 1);
        formatter.write_str("outer\n\nStack backtrace:\n   0: main\n")
    }
}

#[test]
fn an_error_is_found_through_any_alias_of_result() {
    let failed: Private<u8> = Err(fmt::Error);
    let info = error_of!(failed).unwrap();
    assert_eq!(info.error_type, "Error");
    assert_eq!(info.message, fmt::Error.to_string());
    assert_eq!(info.stack.as_deref(), Some("at plan (src/agent.rs:12)"));
    assert_eq!(error_of!(Private::Ok(1)), None);
}

#[test]
fn a_generic_error_is_recorded_as_its_bounds_allow() {
    fn observe<E: Error>(value: &Result<u8, E>) -> Option<ErrorInfo> {
        error_of!(*value)
    }
    let info = observe(&"x".parse::<u8>()).unwrap();
    assert_eq!(
        (info.error_type.as_str(), info.message.as_str()),
        ("ParseIntError", "invalid digit found in string")
    );
}

#[test]
fn a_holder_of_errors_is_recorded_with_its_chain_and_no_backtrace() {
    let failed: Result<(), Holder> = Err(Holder {
        error: "x".parse::<u8>().unwrap_err().into(),
        resolved: Cell::new(0),
    });
    let info = error_of!(failed).unwrap();
    assert_eq!(info.message, "outer: inner");
    assert_eq!(info.stack.as_deref(), Some("at plan (src/agent.rs:12)"));
    assert!(failed.is_err_and(|holder| holder.resolved.get() == 0));
}

#[test]
fn the_innermost_error_names_what_has_no_type_of_its_own() {
    let known = |error: &dyn Error| root_type(error);
    let parsed = "x".parse::<u8>().unwrap_err();
    assert_eq!(known(&parsed).as_deref(), Some("ParseIntError"));
    let text: Box<dyn Error> = "TimeoutError: late".into();
    assert_eq!(known(&*text), None, "a text is no type");
    assert_eq!(known(&fmt::Error), None);
}

#[test]
fn texts_and_boxed_errors_are_of_the_type_error() {
    let text: Result<(), String> = Err("boom".to_owned());
    let borrowed: Result<(), &str> = Err("boom");
    let boxed: Result<(), Box<dyn Error + Send + Sync>> = Err("boom".into());
    for info in [error_of!(text), error_of!(borrowed), error_of!(boxed)].map(Option::unwrap) {
        assert_eq!(
            (info.error_type.as_str(), info.message.as_str()),
            ("Error", "boom")
        );
    }
}

#[test]
fn an_error_without_display_is_recorded_by_debug_text_or_type() {
    let debugged: Result<(), OnlyDebug> = Err(OnlyDebug { code: 7 });
    let info = error_of!(debugged).unwrap();
    assert_eq!(
        (info.error_type.as_str(), info.message.as_str()),
        ("OnlyDebug", "OnlyDebug { code: 7 }")
    );

    let silent: Result<(), Silent> = Err(Silent);
    let info = error_of!(silent).unwrap();
    assert_eq!(
        (info.error_type.as_str(), info.message.as_str()),
        ("Silent", NO_TEXT)
    );
}

#[test]
fn a_panic_in_the_users_debug_stays_inside() {
    let failed: Result<(), Panics> = Err(Panics);
    assert_eq!(error_of!(failed).unwrap().message, NO_TEXT);
}

#[test]
fn what_is_no_result_has_not_failed() {
    assert_eq!(error_of!(()), None);
    assert_eq!(error_of!(None::<u8>), None);
    assert_eq!(error_of!(Silent), None);
}

#[test]
fn an_endless_debug_text_is_cut() {
    struct Endless;
    impl Debug for Endless {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                formatter.write_str("on and on ")?;
            }
        }
    }
    let failed: Result<(), Endless> = Err(Endless);
    let message = error_of!(failed).unwrap().message;
    assert!(message.starts_with("on and on ") && message.len() < 2 * 1024 * 1024);
}

//! Functions that are not async.

use std::error::Error;
use std::fmt;
use std::panic::catch_unwind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use tracer_sdk::trace;
use tracer_tests::recording::recorded;

struct NoText;

type Private<T> = Result<T, fmt::Error>;

#[trace]
fn nothing() {}

#[trace("named")]
#[must_use]
#[inline]
fn doubled(number: u32) -> u32 {
    //! Documented inside.
    #![allow(clippy::needless_return)]
    return number * 2;
}

#[trace]
fn alias(fail: bool) -> Private<u8> {
    if fail {
        return Err(fmt::Error);
    }
    Ok(1)
}

#[trace]
fn with_anyhow(text: &str) -> anyhow::Result<u8> {
    Ok(text.parse::<u8>()?)
}

#[trace(span)]
fn boxed_error(text: &str) -> Result<u8, Box<dyn Error + Send + Sync>> {
    let number = text.parse()?;
    Ok(number)
}

#[trace]
fn silent_error() -> Result<(), NoText> {
    Err(NoText)
}

#[trace(tool, args, result)]
fn generic<T: Serialize + Clone, const N: usize>(value: T) -> Vec<T> {
    vec![value; N]
}

#[trace]
fn generic_error<E: Error>(error: E) -> Result<(), E> {
    Err(error)
}

#[trace]
fn iterator(limit: u32) -> impl Iterator<Item = u32> + Clone {
    (0..limit).filter(|number| number % 2 == 0)
}

#[trace(tool)]
fn iterator_or_error(limit: u32) -> Result<impl Iterator<Item = u32>, fmt::Error> {
    if limit == 0 {
        return Err(fmt::Error);
    }
    Ok(0..limit)
}

#[trace(tool, args)]
fn implied(text: impl AsRef<str> + Serialize, mut count: usize, (low, high): (u8, u8)) -> String {
    count += usize::from(high - low);
    text.as_ref().repeat(count)
}

#[trace]
fn object(large: bool) -> Box<dyn fmt::Display> {
    if large {
        return Box::new("large");
    }
    Box::new(1)
}

#[trace]
fn longest<'a>(one: &'a str, other: &'a str) -> &'a str {
    if one.len() > other.len() { one } else { other }
}

#[trace(tool, args(r#type), result)]
fn r#match(r#type: &str) -> usize {
    r#type.len()
}

#[trace(llm, model = "gpt-5", provider = String::from("openai"), args, result)]
fn complete(prompt: &str) -> String {
    prompt.to_uppercase()
}

#[trace]
extern "C" fn foreign(number: i32) -> i32 {
    number + 1
}

#[trace]
fn never() -> ! {
    panic!("on purpose")
}

#[trace(
    name = format!("agent for {user}"),
    max_llm_calls = LIMIT,
    max_tool_calls = u64::from(limit),
    max_events = 200,
    max_duration_s = 0.5,
    max_cost_usd = 0.5,
    stop_on_loop,
    stop_on_loop_min_repetitions = 3
)]
fn guarded(user: &str, limit: u32) -> String {
    format!("{user} {limit}")
}

const LIMIT: u64 = 10;

#[derive(Clone, Default)]
struct Agent {
    name: String,
    notes: Vec<String>,
}

impl Agent {
    #[trace]
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            notes: Vec::new(),
        }
    }

    #[trace(tool, result)]
    fn by_reference(&self) -> &str {
        &self.name
    }

    #[trace]
    fn reborrowed(&mut self, note: &str) -> &mut String {
        self.notes.push(note.to_owned());
        &mut self.notes[0]
    }

    #[trace]
    fn fallible(&mut self) -> Result<&mut String, fmt::Error> {
        self.notes.first_mut().ok_or(fmt::Error)
    }

    #[trace(llm, model = self.name.clone())]
    fn by_value(mut self) -> Vec<String> {
        self.notes.push(String::from("end"));
        self.notes
    }

    #[trace]
    fn in_box(self: Box<Self>) -> String {
        self.name
    }

    #[trace]
    fn in_rc(self: &Rc<Self>) -> usize {
        Rc::strong_count(self)
    }

    #[trace]
    fn in_arc(self: Arc<Self>) -> String {
        self.name.clone()
    }

    #[trace]
    fn pinned(mut self: Pin<&mut Self>) -> usize {
        self.as_mut().notes.push(String::new());
        self.notes.len()
    }
}

trait Greets {
    fn name(&self) -> String;

    #[trace]
    fn greet(&self) -> String {
        format!("hello {}", self.name())
    }
}

impl Greets for Agent {
    #[trace(span)]
    fn name(&self) -> String {
        self.name.clone()
    }
}

macro_rules! traced_function {
    ($name:ident, $type:ty, $value:expr) => {
        #[trace]
        fn $name() -> $type {
            $value
        }
    };
}

traced_function!(from_a_macro, Result<u8, String>, Ok(3));

#[test]
fn results_are_those_of_the_plain_function() {
    let _recording = recorded(|| {
        nothing();
        assert_eq!(doubled(2), 4);
        assert_eq!(alias(false), Ok(1));
        assert_eq!(alias(true), Err(fmt::Error));
        assert!(with_anyhow("x").is_err());
        assert!(boxed_error("7").is_ok_and(|number| number == 7));
        assert!(silent_error().is_err());
        assert_eq!(generic::<_, 2>('a'), vec!['a', 'a']);
        assert_eq!(generic_error(fmt::Error), Err(fmt::Error));
        assert_eq!(iterator(5).sum::<u32>(), 6);
        assert!(iterator_or_error(3).is_ok_and(|numbers| numbers.count() == 3));
        assert_eq!(implied("ab", 1, (1, 2)), "abab");
        assert_eq!(object(true).to_string() + &object(false).to_string(), "large1");
        assert_eq!(longest("one", "other"), "other");
        assert_eq!(r#match("abc"), 3);
        assert_eq!(complete("hi"), "HI");
        assert_eq!(foreign(1), 2);
        assert!(catch_unwind(|| never()).is_err());
        assert_eq!(guarded("ada", 2), "ada 2");
        assert_eq!(from_a_macro(), Ok(3));
    });
}

#[test]
fn methods_keep_their_receivers() {
    let _recording = recorded(|| {
        let mut agent = Agent::new("ada");
        assert_eq!(agent.by_reference(), "ada");
        assert_eq!(agent.reborrowed("note"), "note");
        assert!(agent.fallible().is_ok_and(|note| note == "note"));
        assert_eq!(Pin::new(&mut agent).pinned(), 2);
        assert_eq!(agent.greet(), "hello ada");
        assert_eq!(Rc::new(agent.clone()).in_rc(), 1);
        assert_eq!(Arc::new(agent.clone()).in_arc(), "ada");
        assert_eq!(Box::new(agent.clone()).in_box(), "ada");
        assert_eq!(agent.by_value().len(), 3);
    });
}

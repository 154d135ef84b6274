//! Values that panic, fail, never end, or hold themselves.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{text_of, written};
use crate::write::payload::MAX_VALUE_BYTES;

/// What happens at a chosen step.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Panic,
    Error,
}

/// A tree of arrays and objects of which the k-th value fails.
struct FailsAt<'s> {
    step: &'s Cell<usize>,
    fault: Fault,
    depth: usize,
}

impl Serialize for FailsAt<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.step.get() == 0 {
            match self.fault {
                Fault::Panic => panic!("as the test wants"),
                Fault::Error => return Err(S::Error::custom("as the test wants")),
            }
        }
        self.step.set(self.step.get() - 1);
        let child = FailsAt {
            depth: self.depth.saturating_sub(1),
            ..*self
        };
        match self.depth {
            0 => serializer.serialize_str("leaf"),
            depth if depth % 2 == 0 => serializer.collect_seq([&child, &child]),
            _ => serializer.collect_map([("left", &child), ("right", &child)]),
        }
    }
}

#[test]
fn a_panic_or_an_error_at_any_step_leaves_valid_json_and_a_marker() {
    const VALUES: usize = 31;
    for fault in [Fault::Panic, Fault::Error] {
        for step in 0..=VALUES {
            let step_left = Cell::new(step);
            let (text, reported) = written(&FailsAt {
                step: &step_left,
                fault,
                depth: 4,
            });
            assert_eq!(reported.failed, step < VALUES, "{text}");
            assert_eq!(text.contains("__UNSERIALIZABLE__"), step < VALUES, "{text}");
        }
    }
}

#[test]
fn what_follows_a_failed_member_stays() {
    #[derive(Serialize)]
    struct Mixed {
        before: u8,
        locked: RefCell<u8>,
        after: u8,
    }
    let mixed = Mixed {
        before: 1,
        locked: RefCell::new(0),
        after: 2,
    };
    let _held = mixed.locked.borrow_mut();
    assert_eq!(
        text_of(&mixed),
        r#"{"before":1,"locked":"__UNSERIALIZABLE__","after":2}"#
    );
}

struct EndlessSequence;

impl Serialize for EndlessSequence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(0_u64..)
    }
}

#[test]
fn an_endless_sequence_ends_at_the_budget() {
    let (text, reported) = written(&EndlessSequence);
    let read: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (read.len(), &read[9_998], &read[9_999]),
        (10_000, &json!(9998), &json!("__TRUNCATED__"))
    );
    assert!(reported.truncated && !reported.failed);
}

#[test]
fn an_endless_sequence_of_long_strings_ends_at_the_bytes() {
    struct Long;
    impl Serialize for Long {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(std::iter::repeat(
                "\u{1}\"é long enough to be many bytes".repeat(30),
            ))
        }
    }
    let (text, reported) = written(&Long);
    assert!(
        text.len() <= MAX_VALUE_BYTES && text.len() > MAX_VALUE_BYTES - 2000,
        "{}",
        text.len()
    );
    assert!(reported.truncated && !reported.failed);
}

struct EndlessNesting(u8);

impl Serialize for EndlessNesting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => serializer.collect_seq([Self(0), Self(0)]),
            1 => serializer.collect_map([("k", Self(1))]),
            2 => serializer.serialize_some(&Self(2)),
            3 => serializer.serialize_newtype_struct("N", &Self(3)),
            _ => serializer.serialize_newtype_variant("E", 0, "V", &Self(4)),
        }
    }
}

#[test]
fn endless_nesting_ends_at_ten_levels() {
    for kind in 0..5 {
        let (text, reported) = written(&EndlessNesting(kind));
        assert!(reported.truncated && !reported.failed, "{text}");
    }
    assert_eq!(text_of(&EndlessNesting(2)), r#""__TRUNCATED__""#);
}

#[test]
fn a_value_that_holds_itself_ends() {
    struct Node(RefCell<Vec<Rc<Node>>>);
    impl Serialize for Node {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("children", &*self.0.borrow())].map(|(key, nodes)| (key, Nodes(nodes))))
        }
    }
    struct Nodes<'n>(&'n [Rc<Node>]);
    impl Serialize for Nodes<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.iter().map(Rc::as_ref))
        }
    }
    let node = Rc::new(Node(RefCell::new(Vec::new())));
    node.0.borrow_mut().push(Rc::clone(&node));
    let (text, reported) = written(&*node);
    assert!(reported.truncated && !reported.failed);
    assert_eq!(text.matches("children").count(), 5, "{text}");
    node.0.borrow_mut().clear();
}

#[test]
fn an_endless_or_failing_display_ends() {
    struct Endless;
    impl fmt::Display for Endless {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                formatter.write_str("on and on ")?;
            }
        }
    }
    struct Fails;
    impl fmt::Display for Fails {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    struct Printed<T>(T);
    impl<T: fmt::Display> Serialize for Printed<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&self.0)
        }
    }
    let (text, reported) = written(&Printed(Endless));
    assert!(reported.truncated && !reported.failed && text.len() <= 20_002);
    let (text, reported) = written(&[Printed(Fails)]);
    assert_eq!(text, r#"["__UNSERIALIZABLE__"]"#);
    assert!(reported.failed);
}

#[test]
fn a_secret_is_never_visited() {
    #[derive(Serialize)]
    struct Login {
        password: EndlessSequence,
        after: u8,
    }
    let (text, reported) = written(&Login {
        password: EndlessSequence,
        after: 1,
    });
    assert_eq!(text, r#"{"password":"__REDACTED__","after":1}"#);
    assert!(!reported.failed && !reported.truncated);
}

#[test]
fn a_map_that_breaks_the_protocol_stays_valid() {
    struct ValueOnly;
    impl Serialize for ValueOnly {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_value(&1)?;
            map.serialize_key("first")?;
            map.serialize_key("second")?;
            map.end()
        }
    }
    let (text, reported) = written(&ValueOnly);
    let marker = "\"__UNSERIALIZABLE__\"";
    assert_eq!(
        text,
        format!(r#"{{{marker}:1,"first":{marker},"second":{marker}}}"#)
    );
    assert!(reported.failed);
}

#[test]
fn errors_that_the_value_swallows_do_not_break_the_text() {
    struct Swallows;
    impl Serialize for Swallows {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut elements = serializer.serialize_seq(None)?;
            for round in 0..20_000 {
                // A few panics that the value's own code catches, too: what they left open must not stay so.
                let fault = if round % 1_000 == 0 {
                    Fault::Panic
                } else {
                    Fault::Error
                };
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let step = Cell::new(2);
                    let _ = elements.serialize_element(&FailsAt {
                        step: &step,
                        fault,
                        depth: 3,
                    });
                }));
                drop(caught);
            }
            elements.end()
        }
    }
    let (text, reported) = written(&Swallows);
    assert!(text.len() <= MAX_VALUE_BYTES);
    assert!(reported.failed && reported.truncated);
}

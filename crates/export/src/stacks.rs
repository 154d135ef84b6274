//! From spans to the weight of each stack of names.
//!
//! A line of the format names every frame of its stack, so that a chain of n spans would take n² / 2 names. A stack ends
//! at a depth and a length that people still read: what lies deeper is one frame, and its weight is that of all of it.

use std::collections::HashMap;
use std::io::{self, Write};

use tracer_sdk::format::SpanId;

/// A span as a frame of a stack; times in microseconds.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) start: i64,
    pub(super) end: i64,
    /// Its weight; `None` for the time in which no child was at work.
    pub(super) own: Option<u64>,
    pub(super) name: String,
}

/// Frames, added in the order in which they start. Of each span only this is held: its place and numbers, its name once.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    names: Vec<String>,
    number_of_name: HashMap<String, u32>,
    spans: Vec<HeldStacks>,
    /// The place of a span among these.
    place_of: HashMap<SpanId, u32>,
}

#[derive(Debug)]
struct HeldStacks {
    parent: Option<SpanId>,
    start: i64,
    end: i64,
    own: Option<u64>,
    /// Until when its children so far were at work, and how long in all.
    covered_until: i64,
    covered: i64,
    name: u32,
    stack: Stack,
}

/// The stack of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stack {
    /// Not made yet.
    Unknown,
    /// Being made: a second visit is a cycle.
    Open,
    /// It has none, because its parents lead in a circle.
    Endless,
    /// The node with this number.
    Node(u32),
}

/// Frames of a stack, the one for what is deeper among them.
const MAX_FRAMES: u32 = 128;
/// Bytes of the names of a stack from which on no frame is added.
const MAX_BYTES: usize = 8 * 1024;
/// The frame for what lies deeper.
const DEEPER: &str = "(deeper)";

impl Stacks {
    /// Adds the frame that starts next. More than four billion have no number, and are left out.
    pub(super) fn add(&mut self, frame: Frame) {
        let Ok(place) = u32::try_from(self.spans.len()) else {
            return;
        };
        let name = if let Some(&number) = self.number_of_name.get(&frame.name) {
            number
        } else {
            // There are no more names than spans.
            let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            self.names.push(frame.name.clone());
            self.number_of_name.insert(frame.name, number);
            number
        };
        self.place_of.insert(frame.id, place);
        self.spans.push(HeldStacks {
            parent: frame.parent,
            start: frame.start,
            end: frame.end,
            own: frame.own,
            covered_until: frame.start,
            covered: 0,
            name,
            stack: Stack::Unknown,
        });
    }

    /// Writes the stacks that weigh something: each before those on top of it, these by name.
    pub(super) fn write(mut self, writer: &mut dyn Write) -> io::Result<()> {
        for place in 0..self.spans.len() {
            self.cover_parent(place);
        }
        let mut nodes = Nodes::default();
        for place in 0..self.spans.len() {
            let stack = self.stack_of(place, &mut nodes);
            if let (Some(number), Some(held)) = (stack, self.spans.get(place)) {
                nodes.add_weight(number, held.weight());
            }
        }
        nodes.write(&self.names, writer)
    }

    fn place(&self, id: SpanId) -> Option<usize> {
        self.place_of.get(&id).map(|place| *place as usize)
    }

    /// Notes at the parent when this span was at work. Time that several children share counts once.
    fn cover_parent(&mut self, place: usize) {
        let Some(&HeldStacks {
            parent: Some(parent),
            start,
            end,
            ..
        }) = self.spans.get(place)
        else {
            return;
        };
        let parent = self.place(parent);
        if let Some(parent) = parent.and_then(|place| self.spans.get_mut(place)) {
            let from = start.max(parent.covered_until);
            let until = end.min(parent.end);
            parent.covered += (until - from).max(0);
            parent.covered_until = parent.covered_until.max(until);
        }
    }

    /// The stack of a span, made from that of its parent. A span whose parent is not there is at the bottom. Every
    /// span is gone through once, however deep it lies.
    fn stack_of(&mut self, place: usize, nodes: &mut Nodes) -> Option<u32> {
        let mut path = Vec::new();
        let mut below = None;
        let mut is_endless = false;
        let mut next = Some(place);
        while let Some((place, held)) = next.and_then(|place| Some((place, self.spans.get_mut(place)?))) {
            match held.stack {
                Stack::Unknown => {}
                Stack::Node(number) => {
                    below = Some(number);
                    break;
                }
                Stack::Open | Stack::Endless => {
                    is_endless = true;
                    break;
                }
            }
            held.stack = Stack::Open;
            path.push(place);
            let parent = held.parent;
            next = parent.and_then(|parent| self.place(parent));
        }
        for place in path.into_iter().rev() {
            if let Some(held) = self.spans.get_mut(place) {
                held.stack = if is_endless {
                    Stack::Endless
                } else {
                    let name = self.names.get(held.name as usize).map_or(0, String::len);
                    let number = nodes.number(below, held.name, name);
                    below = Some(number);
                    Stack::Node(number)
                };
            }
        }
        below.filter(|_| !is_endless)
    }
}

impl HeldStacks {
    fn weight(&self) -> u64 {
        self.own
            .unwrap_or_else(|| u64::try_from(self.end - self.start - self.covered).unwrap_or(0))
    }
}

/// The name of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum FrameName {
    /// The name with this number.
    Named(u32),
    /// [`DEEPER`]
    Deeper,
}

/// A stack of names: that of its parent, and one more.
#[derive(Debug)]
struct StackNode {
    name: FrameName,
    /// Number of its frames.
    frames: u32,
    /// Bytes of its names with their separators.
    bytes: usize,
    weight: u64,
    above: Vec<u32>,
}

/// All stacks, each once.
#[derive(Debug, Default)]
struct Nodes {
    all: Vec<StackNode>,
    numbers: HashMap<(Option<u32>, FrameName), u32>,
    /// Those of one frame.
    bottom: Vec<u32>,
}

impl Nodes {
    /// The number of the stack that has the frame `name` on the stack `below`.
    fn number(&mut self, below: Option<u32>, name: u32, name_bytes: usize) -> u32 {
        let under = below.and_then(|below| Some((below, self.all.get(below as usize)?)));
        let (frames, bytes) = under.map_or((0, 0), |(_, node)| (node.frames, node.bytes));
        let name = match under {
            Some((number, node)) if node.name == FrameName::Deeper => return number,
            Some(_) if frames + 1 >= MAX_FRAMES || bytes >= MAX_BYTES => FrameName::Deeper,
            _ => FrameName::Named(name),
        };
        if let Some(number) = self.numbers.get(&(below, name)) {
            return *number;
        }
        // There are no more stacks than spans, and each of these has a number.
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(StackNode {
            name,
            frames: frames + 1,
            bytes: bytes.saturating_add(name_bytes + 1),
            weight: 0,
            above: Vec::new(),
        });
        self.numbers.insert((below, name), number);
        match below.and_then(|below| self.all.get_mut(below as usize)) {
            Some(below) => below.above.push(number),
            None => self.bottom.push(number),
        }
        number
    }

    fn add_weight(&mut self, number: u32, weight: u64) {
        if let Some(node) = self.all.get_mut(number as usize) {
            node.weight = node.weight.saturating_add(weight);
        }
    }

    /// Writes every stack with a weight. Of the text, only that of one stack is held.
    fn write(mut self, names: &[String], writer: &mut dyn Write) -> io::Result<()> {
        let name_of =
            |nodes: &[StackNode], number: u32| match nodes.get(number as usize).map(|node| node.name) {
                Some(FrameName::Named(name)) => names.get(name as usize).map_or("", String::as_str),
                _ => DEEPER,
            };
        let mut waiting = std::mem::take(&mut self.bottom);
        waiting.sort_unstable_by(|one, other| name_of(&self.all, *other).cmp(name_of(&self.all, *one)));
        let mut text = String::new();
        // End of the text of each frame of the current stack.
        let mut ends: Vec<usize> = Vec::new();
        while let Some(number) = waiting.pop() {
            let Some(node) = self.all.get_mut(number as usize) else {
                continue;
            };
            let (frames, weight) = (node.frames as usize, node.weight);
            let mut above = std::mem::take(&mut node.above);
            ends.truncate(frames - 1);
            text.truncate(ends.last().copied().unwrap_or(0));
            if !text.is_empty() {
                text.push(';');
            }
            text.push_str(name_of(&self.all, number));
            ends.push(text.len());
            if weight > 0 {
                writeln!(writer, "{text} {weight}")?;
            }
            above.sort_unstable_by(|one, other| name_of(&self.all, *other).cmp(name_of(&self.all, *one)));
            waiting.append(&mut above);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The lines of the spans, each an ID, a parent, a start and an end.
    fn lines(spans: impl IntoIterator<Item = (u64, u64, i64, i64)>) -> Vec<(String, u64)> {
        let mut stacks = Stacks::default();
        for (id, parent, start, end) in spans {
            stacks.add(Frame {
                id: SpanId::from_u64(id).unwrap(),
                parent: SpanId::from_u64(parent),
                start,
                end,
                own: None,
                name: format!("s{id}"),
            });
        }
        let mut written = Vec::new();
        stacks.write(&mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        let line = |line: &str| {
            let (stack, weight) = line.rsplit_once(' ').unwrap();
            (stack.to_owned(), weight.parse().unwrap())
        };
        written.lines().map(line).collect()
    }

    fn expected(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
        pairs
            .iter()
            .map(|(stack, weight)| ((*stack).to_owned(), *weight))
            .collect()
    }

    #[test]
    fn time_that_children_share_is_taken_from_their_parent_once() {
        assert_eq!(
            lines([(1, 0, 0, 100), (2, 1, 10, 60), (3, 1, 40, 70), (4, 1, 90, 120)]),
            expected(&[("s1", 30), ("s1;s2", 50), ("s1;s3", 30), ("s1;s4", 30)])
        );
    }

    #[test]
    fn a_parent_that_is_not_there_or_a_circle_stops_nothing() {
        assert_eq!(lines([(2, 9, 0, 5)]), expected(&[("s2", 5)]));
        let circle = [(2, 3, 0, 5), (3, 2, 0, 5), (4, 3, 0, 5), (5, 0, 0, 5)];
        assert_eq!(lines(circle), expected(&[("s5", 5)]));
    }

    #[test]
    fn what_lies_deeper_than_a_stack_may_be_is_one_frame_with_the_weight_of_all_of_it() {
        let chain = (1..=1_000u64).map(|id| (id, id - 1, 0, 1_001 - i64::try_from(id).unwrap()));
        let lines = lines(chain);
        assert_eq!(lines.len(), MAX_FRAMES as usize);
        let (deepest, weight) = lines.last().unwrap();
        assert!(
            deepest.starts_with("s1;s2;") && deepest.ends_with("s127;(deeper)"),
            "{deepest}"
        );
        assert_eq!(*weight, 1_000 - u64::from(MAX_FRAMES) + 1);
        assert_eq!(lines.iter().map(|(_, weight)| weight).sum::<u64>(), 1_000);
    }

    #[test]
    fn a_stack_of_long_names_ends_where_it_is_too_long() {
        let mut stacks = Stacks::default();
        for id in 1..=100 {
            stacks.add(Frame {
                id: SpanId::from_u64(id).unwrap(),
                parent: SpanId::from_u64(id - 1),
                start: 0,
                end: 1,
                own: Some(1),
                name: format!("{id:01000}"),
            });
        }
        let mut written = Vec::new();
        stacks.write(&mut written).unwrap();
        let longest = written.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert!(
            longest.unwrap() < MAX_BYTES + 1_000 + DEEPER.len() + 10,
            "{longest:?}"
        );
    }

    proptest! {
        #[test]
        fn children_one_after_the_other_add_up_to_their_root(lengths in prop::collection::vec(1i64..50, 1..20)) {
            let mut spans = vec![(1, 0, 0, lengths.iter().sum::<i64>() + 7)];
            let mut start = 0;
            for (length, number) in lengths.iter().zip(2u64..) {
                spans.push((number, 1, start, start + length));
                start += length;
            }
            let total: u64 = lines(spans).iter().map(|(_, weight)| weight).sum();
            prop_assert_eq!(i64::try_from(total).unwrap(), start + 7);
        }
    }
}

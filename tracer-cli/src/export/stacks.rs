//! From spans to the weight of each stack of names.

use std::collections::{BTreeMap, HashMap};

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
    spans: Vec<Held>,
    /// Where a span stands among these.
    place_of: HashMap<SpanId, u32>,
}

#[derive(Debug)]
struct Held {
    parent: Option<SpanId>,
    start: i64,
    end: i64,
    own: Option<u64>,
    /// Until when its children so far were at work, and how long in all.
    covered_until: i64,
    covered: i64,
    name: u32,
    /// [`UNKNOWN`] until it is made.
    stack: u32,
}

/// No stack has this number.
const UNKNOWN: u32 = u32::MAX;

/// A stack of names: that of its parent, and one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    below: Option<u32>,
    name: u32,
}

impl Stacks {
    /// Adds the frame that starts next. More than four billion cannot be told apart, and are left out.
    pub(super) fn add(&mut self, frame: Frame) {
        let Ok(place) = u32::try_from(self.spans.len()) else {
            return;
        };
        let name = if let Some(&number) = self.number_of_name.get(&frame.name) {
            number
        } else {
            // There are no more names than spans.
            let number = u32::try_from(self.names.len()).unwrap_or(UNKNOWN);
            self.names.push(frame.name.clone());
            self.number_of_name.insert(frame.name, number);
            number
        };
        self.place_of.insert(frame.id, place);
        self.spans.push(Held {
            parent: frame.parent,
            start: frame.start,
            end: frame.end,
            own: frame.own,
            covered_until: frame.start,
            covered: 0,
            name,
            stack: UNKNOWN,
        });
    }

    /// The stacks that weigh something, by name.
    pub(super) fn folded(mut self) -> BTreeMap<String, u64> {
        for place in 0..self.spans.len() {
            self.cover_parent(place);
        }
        let mut nodes = Nodes::default();
        let mut weights: BTreeMap<u32, u64> = BTreeMap::new();
        for place in 0..self.spans.len() {
            let node = self.stack_of(place, &mut nodes);
            if let (Some(node), Some(held)) = (node, self.spans.get(place)) {
                let weight = weights.entry(node).or_default();
                *weight = weight.saturating_add(held.weight());
            }
        }
        weights
            .into_iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|(node, weight)| (nodes.text(node, &self.names), weight))
            .collect()
    }

    fn place(&self, id: SpanId) -> Option<usize> {
        self.place_of.get(&id).map(|place| *place as usize)
    }

    /// Notes at the parent when this span was at work. Time that several children share counts once.
    fn cover_parent(&mut self, place: usize) {
        let Some(&Held {
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

    /// The stack of a span, made from that of its parent. A span whose parent is not there stands at the bottom.
    fn stack_of(&mut self, place: usize, nodes: &mut Nodes) -> Option<u32> {
        let mut path = Vec::new();
        let mut below = None;
        let mut next = Some(place);
        while let Some((place, held)) = next.and_then(|place| Some((place, self.spans.get(place)?))) {
            if held.stack != UNKNOWN {
                below = Some(held.stack);
                break;
            }
            // Parents that lead in a circle would never end.
            if path.len() > self.spans.len() {
                return None;
            }
            path.push(place);
            next = held.parent.and_then(|parent| self.place(parent));
        }
        for place in path.into_iter().rev() {
            if let Some(held) = self.spans.get_mut(place) {
                let node = nodes.number(Node {
                    below,
                    name: held.name,
                });
                held.stack = node;
                below = Some(node);
            }
        }
        below
    }
}

impl Held {
    fn weight(&self) -> u64 {
        self.own
            .unwrap_or_else(|| u64::try_from(self.end - self.start - self.covered).unwrap_or(0))
    }
}

/// All stacks, each once.
#[derive(Debug, Default)]
struct Nodes {
    nodes: Vec<Node>,
    numbers: HashMap<Node, u32>,
}

impl Nodes {
    fn number(&mut self, node: Node) -> u32 {
        *self.numbers.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            // There are no more stacks than spans.
            u32::try_from(self.nodes.len() - 1).unwrap_or(UNKNOWN)
        })
    }

    fn text(&self, node: u32, names: &[String]) -> String {
        let mut frames = Vec::new();
        let mut next = self.nodes.get(node as usize);
        while let Some(node) = next {
            frames.extend(names.get(node.name as usize).map(String::as_str));
            next = node.below.and_then(|below| self.nodes.get(below as usize));
        }
        frames.reverse();
        frames.join(";")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stacks(spans: &[(u64, u64, i64, i64)]) -> BTreeMap<String, u64> {
        let mut stacks = Stacks::default();
        for &(id, parent, start, end) in spans {
            stacks.add(Frame {
                id: SpanId::from_u64(id).unwrap(),
                parent: SpanId::from_u64(parent),
                start,
                end,
                own: None,
                name: format!("s{id}"),
            });
        }
        stacks.folded()
    }

    fn expected(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs
            .iter()
            .map(|(stack, weight)| ((*stack).to_owned(), *weight))
            .collect()
    }

    #[test]
    fn time_that_children_share_is_taken_from_their_parent_once() {
        assert_eq!(
            stacks(&[(1, 0, 0, 100), (2, 1, 10, 60), (3, 1, 40, 70), (4, 1, 90, 120)]),
            expected(&[("s1", 30), ("s1;s2", 50), ("s1;s3", 30), ("s1;s4", 30)])
        );
    }

    #[test]
    fn a_parent_that_is_not_there_or_a_circle_stops_nothing() {
        assert_eq!(stacks(&[(2, 9, 0, 5)]), expected(&[("s2", 5)]));
        assert_eq!(stacks(&[(2, 3, 0, 5), (3, 2, 0, 5)]), expected(&[]));
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
            let total: u64 = stacks(&spans).values().sum();
            prop_assert_eq!(i64::try_from(total).unwrap(), start + 7);
        }
    }
}

//! The conversations of one program: which answer a request continues, and which failed request it tries again.

use std::collections::{HashMap, VecDeque};

use tracer_insight::conversation::{Message, MessagePart};
use tracer_sdk::format::SpanId;

use super::history::{Ends, History, call_ids, reference_hash};

/// The most calls that are remembered; the oldest is forgotten first.
const MAX_TURNS: usize = 10_000;
/// The latest calls with one history among which a request finds its own.
const MAX_EQUAL: usize = 256;
/// The latest conversations among which that of an edited history is looked for.
const MAX_EDITED: usize = 256;

/// The number of a conversation within its run, in the order of their first requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ConversationNumber(pub(super) usize);

/// The number of a call of a model within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TurnNumber(pub(super) u64);

/// A place where a request stands in the conversations so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Continued {
    /// It tries a failed request again.
    Attempt(TurnNumber),
    /// It overlaps a request with the same history.
    Hedge(TurnNumber),
    /// It continues an answer.
    Answer(TurnNumber),
    /// It continues a conversation whose history its client edited.
    Edited(ConversationNumber),
}

/// A call of a model.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) conversation: ConversationNumber,
    pub(super) span_id: SpanId,
    pub(super) parent: SpanId,
    /// The answer that it continues.
    continues: Option<TurnNumber>,
    /// The history of a request whose answer is made in the background, and not there yet.
    background: Option<Box<History>>,
    instructions: u64,
    times: (u64, u64),
    has_failed: bool,
    /// Another request continues its answer, or tries it again.
    is_continued: bool,
    call_ids: u64,
    /// The keys by which it is found.
    keys: Vec<Key>,
}

/// A key by which a call is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// All that the request says.
    Whole(u64),
    Strict(u64),
    Loose(u64),
    Reference(u64),
}

/// A conversation.
#[derive(Debug)]
struct Conversation {
    parent: SpanId,
    /// When its last call ended.
    ended: u64,
    first: u64,
    /// Its first request repeats no answer.
    is_plain: bool,
    question: String,
    /// The last answer, with the message before it.
    latest: Option<u64>,
    /// The functions that the last answer asks for.
    asked: Vec<String>,
}

/// The conversations of a run.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: Vec<Conversation>,
    turns: VecDeque<Turn>,
    forgotten: u64,
    by_key: HashMap<Key, VecDeque<TurnNumber>>,
    unfinished: usize,
}

impl Conversations {
    /// The place of a request that arrived at `arrived`; `None` where it begins a conversation.
    pub(super) fn place_of(&self, history: &History, arrived: u64) -> Option<Continued> {
        if history.is_empty() {
            return None;
        }
        let first_of = |key: Key, is_one: &dyn Fn(&Turn) -> bool, rank: &dyn Fn(&Turn) -> u8| {
            let turns = self.by_key.get(&key)?.iter().rev().take(MAX_EQUAL).copied();
            let found = turns.filter_map(|number| Some((number, self.turn(number)?)));
            found
                .filter(|(_, turn)| is_one(turn))
                .min_by_key(|(number, turn)| (rank(turn), *number))
                .map(|(number, _)| number)
        };
        let other_instructions = |turn: &Turn| u8::from(turn.instructions != history.instructions);
        let whole = Key::Whole(history.whole());
        let failed = |turn: &Turn| turn.has_failed && turn.times.1 <= arrived && !turn.is_continued;
        let overlaps = |turn: &Turn| turn.times.1 > arrived && other_instructions(turn) == 0;
        let by_history = |ends: Ends| {
            let rank = |turn: &Turn| {
                4 * u8::from(turn.call_ids != history.call_ids)
                    + 2 * other_instructions(turn)
                    + u8::from(turn.is_continued)
            };
            first_of(Key::Strict(ends.strict), &|_| true, &rank)
                .or_else(|| first_of(Key::Loose(ends.loose), &|_| true, &rank))
        };
        let latest_of = |reference| self.by_key.get(&Key::Reference(reference))?.back().copied();
        first_of(whole, &failed, &other_instructions)
            .map(Continued::Attempt)
            .or_else(|| first_of(whole, &overlaps, &|_| 0).map(Continued::Hedge))
            .or_else(|| history.continues().and_then(by_history).map(Continued::Answer))
            .or_else(|| history.reference.and_then(latest_of).map(Continued::Answer))
            .or_else(|| self.edited(history, arrived).map(Continued::Edited))
    }

    /// The only conversation whose history a request may have edited, by the first sign that any has.
    fn edited(&self, history: &History, arrived: u64) -> Option<ConversationNumber> {
        let signs: [&dyn Fn(&Conversation) -> bool; 3] = [
            &|known| known.latest.is_some_and(|latest| history.repeats(latest)),
            &|known| known.is_plain && known.first == history.first && history.continues().is_some(),
            &|known| {
                let behind = history.question.strip_prefix(known.question.trim_end());
                behind.is_some_and(|behind| {
                    !known.question.is_empty() && known.asked.iter().any(|name| behind.contains(name))
                })
            },
        ];
        signs.iter().find_map(|has_sign| {
            let latest = self.all.iter().enumerate().rev().take(MAX_EDITED);
            let mut found = latest.filter(|(_, known)| known.ended <= arrived && has_sign(known));
            let (number, _) = found.next()?;
            Some(found.next().is_none().then_some(ConversationNumber(number)))
        })?
    }

    /// Begins a conversation whose calls are in `parent`.
    pub(super) fn begin(&mut self, history: &History, parent: SpanId) -> ConversationNumber {
        self.all.push(Conversation {
            parent,
            ended: 0,
            first: history.first,
            is_plain: history.continues().is_none(),
            question: history.question.clone(),
            latest: None,
            asked: Vec::new(),
        });
        if let Some(old) = self.all.iter_mut().rev().nth(MAX_EDITED) {
            old.question = String::new();
        }
        ConversationNumber(self.all.len() - 1)
    }

    /// The place of the calls of a conversation.
    pub(super) fn parent(&self, conversation: ConversationNumber) -> Option<SpanId> {
        self.all.get(conversation.0).map(|known| known.parent)
    }

    /// Adds a call: `place` is that of its request, and `failed` if it brought no answer.
    pub(super) fn add(&mut self, history: &History, turn: NewTurn) -> TurnNumber {
        let (_, continues) = self.continued(turn.place);
        let before = match turn.place {
            Some(Continued::Attempt(before) | Continued::Answer(before)) => Some(before),
            _ => None,
        };
        if let Some(before) = before.and_then(|before| self.turn_mut(before)) {
            before.is_continued = true;
        }
        if self.turns.len() >= MAX_TURNS {
            self.forget_oldest();
        }
        let number = TurnNumber(self.forgotten + self.turns.len() as u64);
        self.turns.push_back(Turn {
            conversation: turn.conversation,
            span_id: turn.span_id,
            parent: turn.parent,
            continues,
            background: turn.is_unfinished.then(|| Box::new(history.clone())),
            instructions: history.instructions,
            times: turn.times,
            has_failed: turn.has_failed,
            is_continued: false,
            call_ids: 0,
            keys: Vec::new(),
        });
        self.unfinished += usize::from(turn.is_unfinished);
        if !history.is_empty() {
            self.note(number, Key::Whole(history.whole()));
        }
        if let Some(known) = self.all.get_mut(turn.conversation.0) {
            known.ended = known.ended.max(turn.times.1);
        }
        number
    }

    /// Adds the answer to a call, with its ID; one that was made in the background may follow.
    pub(super) fn answer(
        &mut self,
        number: TurnNumber,
        history: &History,
        id: Option<&str>,
        answer: &[Message],
    ) {
        let ends = history.after(answer);
        let Some(turn) = self.turn_mut(number) else { return };
        turn.call_ids = call_ids(answer);
        let conversation = turn.conversation;
        if let (Some(known), Some(ends)) = (self.all.get_mut(conversation.0), ends) {
            let parts = answer.iter().flat_map(|message| &message.parts);
            known.latest = Some(ends.latest);
            known.asked = parts
                .filter_map(|part| match part {
                    MessagePart::ToolCall { name, .. } if !name.is_empty() => Some(name.clone()),
                    _ => None,
                })
                .collect();
        }
        let of_ends = ends.map(|ends| [Key::Strict(ends.strict), Key::Loose(ends.loose)]);
        let references = id.map(reference_hash).into_iter().chain(history.conversation);
        let keys = of_ends
            .into_iter()
            .flatten()
            .chain(references.map(Key::Reference));
        keys.for_each(|key| self.note(number, key));
    }

    /// The call that created the answer with this ID, or asked for it.
    pub(super) fn by_answer(&self, id: &str) -> Option<TurnNumber> {
        self.by_key
            .get(&Key::Reference(reference_hash(id)))?
            .front()
            .copied()
    }

    /// The history of a call whose answer is there now that was made in the background.
    pub(super) fn finish(&mut self, number: TurnNumber) -> Option<Box<History>> {
        let history = self.turn_mut(number)?.background.take()?;
        self.unfinished -= 1;
        Some(history)
    }

    /// The conversation of a place, and the answer that it continues.
    pub(super) fn continued(
        &self,
        place: Option<Continued>,
    ) -> (Option<ConversationNumber>, Option<TurnNumber>) {
        let (turn, is_same) = match place {
            None => return (None, None),
            Some(Continued::Edited(conversation)) => return (Some(conversation), None),
            Some(Continued::Answer(answer)) => (answer, false),
            Some(Continued::Attempt(same) | Continued::Hedge(same)) => (same, true),
        };
        let known = self.turn(turn);
        let answer = if is_same {
            known.and_then(|known| known.continues)
        } else {
            Some(turn)
        };
        (known.map(|known| known.conversation), answer)
    }

    /// True while an answer is made in the background.
    pub(super) fn waits(&self) -> bool {
        self.unfinished > 0
    }

    pub(super) fn turn(&self, number: TurnNumber) -> Option<&Turn> {
        self.turns.get(index(number, self.forgotten)?)
    }

    fn turn_mut(&mut self, number: TurnNumber) -> Option<&mut Turn> {
        self.turns.get_mut(index(number, self.forgotten)?)
    }

    fn note(&mut self, number: TurnNumber, key: Key) {
        if let Some(turn) = self.turn_mut(number).filter(|turn| !turn.keys.contains(&key)) {
            turn.keys.push(key);
            self.by_key.entry(key).or_default().push_back(number);
        }
    }

    fn forget_oldest(&mut self) {
        let Some(turn) = self.turns.pop_front() else {
            return;
        };
        for key in turn.keys {
            if let Some(known) = self.by_key.get_mut(&key) {
                known.pop_front();
                if known.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
        self.unfinished -= usize::from(turn.background.is_some());
        self.forgotten += 1;
    }
}

impl Turn {
    /// True while the answer is made in the background.
    pub(super) fn is_unfinished(&self) -> bool {
        self.background.is_some()
    }
}

fn index(number: TurnNumber, forgotten: u64) -> Option<usize> {
    usize::try_from(number.0.checked_sub(forgotten)?).ok()
}

/// What is known of a call when it is added.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewTurn {
    pub(super) place: Option<Continued>,
    pub(super) conversation: ConversationNumber,
    pub(super) span_id: SpanId,
    pub(super) parent: SpanId,
    pub(super) times: (u64, u64),
    pub(super) has_failed: bool,
    pub(super) is_unfinished: bool,
}

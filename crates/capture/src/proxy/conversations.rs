//! The conversations of one program: which answer a request continues, and which failed request it tries again.

use std::collections::{HashMap, HashSet, VecDeque};

use tracer_insight::conversation::{Message, MessagePart};
use tracer_sdk::format::SpanId;

use super::history::{History, hash};

/// The most calls that are remembered, then all are forgotten; and the latest conversations that are.
const MAX_TURNS: usize = 50_000;
/// The latest calls with one history among which a request finds its own.
const MAX_EQUAL: usize = 256;
/// The latest conversations among which that of an edited history is looked for.
const MAX_EDITED: usize = 256;

/// A place where a request stands in the conversations so far; calls and conversations by their numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestPlace {
    /// None where the request begins one.
    pub(super) conversation: Option<usize>,
    /// The call whose answer it continues.
    pub(super) answer: Option<usize>,
    /// The failed call that it tries again.
    pub(super) failed: Option<usize>,
    /// The call with the same history that it overlaps.
    pub(super) hedge: Option<usize>,
}

/// A call of a model.
#[derive(Debug)]
pub(super) struct WireCall {
    pub(super) conversation: usize,
    pub(super) span_id: SpanId,
    pub(super) parent: SpanId,
    /// When it was made and when it ended, in nanoseconds after 1970.
    pub(super) times: (u64, u64),
    pub(super) has_failed: bool,
    /// Its client left before the answer was there.
    pub(super) was_left: bool,
    /// The history of a request whose answer is made in the background, and not there yet.
    pub(super) background: Option<Box<History>>,
    pub(super) continues: Option<usize>,
    pub(super) instructions: u64,
    /// The hash of the IDs of the calls in its answer.
    pub(super) ids: u64,
    /// Another request continues its answer, or tries it again.
    pub(super) is_continued: bool,
}

/// A hash by which calls are found: all that a request says, all until the end of an answer, the ID of an answer or conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Request(u64),
    Answer(u64),
    Reference(u64),
}

#[derive(Debug)]
struct KnownConversation {
    parent: SpanId,
    /// When its first call was made.
    began: u64,
    /// When its last call ended.
    ended: u64,
    /// Number of its calls in `parent`, without further attempts at one.
    calls: usize,
    has_row: bool,
    first: u64,
    /// Its first request repeats no answer.
    is_plain: bool,
    question: String,
    /// The last answer, with the message before it.
    latest: u64,
    /// The functions that the last answer asks for.
    asked: Vec<String>,
}

/// A row around the calls of a conversation.
#[derive(Debug)]
pub(super) struct ConversationRow {
    pub(super) conversation: usize,
    pub(super) parent: SpanId,
    pub(super) times: (u64, u64),
}

/// The conversations of a run.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: VecDeque<KnownConversation>,
    /// The number of the first of them.
    first: usize,
    turns: Vec<WireCall>,
    forgotten: usize,
    by_key: HashMap<Key, Vec<usize>>,
}

impl Conversations {
    /// The place of a request that arrived at `arrived`.
    pub(super) fn place_of(&self, history: &History, arrived: u64) -> RequestPlace {
        let whole = history.whole();
        if whole == 0 {
            return RequestPlace::default();
        }
        let found = |key: Key, rank: &dyn Fn(&WireCall) -> Option<u8>| {
            let latest = self.by_key.get(&key)?.iter().rev().take(MAX_EQUAL);
            let ranked = latest.filter_map(|number| Some((rank(self.turn(*number)?)?, *number)));
            let (_, number) = ranked.min()?;
            Some((number, self.turn(number)?))
        };
        let differs = |turn: &WireCall| u8::from(turn.instructions != history.instructions);
        let has_failed = |turn: &WireCall| turn.has_failed && turn.times.1 <= arrived && !turn.is_continued;
        let of_answer = |turn: &WireCall, ids: u64| {
            4 * u8::from(turn.ids != ids) + 2 * differs(turn) + u8::from(turn.is_continued)
        };
        let again = |turn: &WireCall| {
            let overlaps = turn.times.1 > arrived;
            let rank = has_failed(turn).then_some(0);
            // Of several that were left each is named once.
            let is_named = turn.was_left && turn.is_continued;
            let rank =
                rank.or_else(|| overlaps.then_some(1 + u8::from(turn.has_failed) + u8::from(is_named)));
            rank.filter(|_| differs(turn) == 0)
        };
        if let Some((number, turn)) = found(Key::Request(whole), &again) {
            let failed = Some(number).filter(|_| has_failed(turn));
            return RequestPlace {
                conversation: Some(turn.conversation),
                answer: turn.continues,
                failed,
                hedge: Some(number).filter(|_| failed.is_none()),
            };
        }
        let by_history = history
            .end
            .and_then(|end| found(Key::Answer(end.all), &|turn| Some(of_answer(turn, end.ids))));
        let by_reference = || {
            let latest = *self.by_key.get(&Key::Reference(history.reference?))?.last()?;
            Some((latest, self.turn(latest)?))
        };
        let continued = by_history.or_else(by_reference);
        let conversation = continued.map(|(_, turn)| turn.conversation);
        RequestPlace {
            conversation: conversation.or_else(|| self.edited(history, arrived)),
            answer: continued.map(|(number, _)| number),
            ..RequestPlace::default()
        }
    }

    /// The only conversation whose history a request may have edited, by the first sign that any has.
    fn edited(&self, history: &History, arrived: u64) -> Option<usize> {
        let signs: [&dyn Fn(&KnownConversation) -> bool; 3] = [
            &|known| history.answers.contains(&known.latest),
            &|known| known.is_plain && known.first == history.first && history.end.is_some(),
            &|known| {
                let behind = history.question.strip_prefix(known.question.trim_end());
                !known.question.is_empty()
                    && behind.is_some_and(|behind| known.asked.iter().any(|name| behind.contains(name)))
            },
        ];
        signs.iter().find_map(|has_sign| {
            let latest = self.all.iter().enumerate().rev().take(MAX_EDITED);
            let mut found = latest.filter(|(_, known)| known.ended <= arrived && has_sign(known));
            let (number, _) = found.next()?;
            Some(found.next().is_none().then_some(self.first + number))
        })?
    }

    /// Begins a conversation whose calls are in `parent`.
    pub(super) fn begin(&mut self, history: &History, parent: SpanId) -> usize {
        if self.all.len() >= MAX_TURNS {
            self.all.pop_front();
            self.first += 1;
        }
        self.all.push_back(KnownConversation {
            parent,
            began: u64::MAX,
            ended: 0,
            calls: 0,
            has_row: false,
            first: history.first,
            is_plain: history.end.is_none(),
            question: history.question.clone(),
            latest: 0,
            asked: Vec::new(),
        });
        if let Some(old) = self.all.iter_mut().rev().nth(MAX_EDITED) {
            (old.question, old.asked) = (String::new(), Vec::new());
        }
        self.first + self.all.len() - 1
    }

    /// The place of the calls of a conversation in the tree.
    pub(super) fn parent(&self, conversation: usize) -> Option<SpanId> {
        let known = self.all.get(conversation.checked_sub(self.first)?)?;
        Some(known.parent)
    }

    /// Gives once each conversation that has a row of its own: it has several calls, and overlaps another one with several
    /// calls in the same place. A single call, as for a title, is no reason for a row.
    pub(super) fn rows(&mut self) -> Vec<ConversationRow> {
        let several = self.all.iter().enumerate().filter(|(_, known)| known.calls > 1);
        let mut by_time: Vec<(SpanId, u64, u64, usize)> = several
            .map(|(at, known)| (known.parent, known.began, known.ended, at))
            .collect();
        by_time.sort_unstable();
        let mut overlapping = HashSet::new();
        let mut latest: Option<(SpanId, u64, usize)> = None;
        for (parent, began, ended, at) in by_time {
            match latest.filter(|(other, until, _)| *other == parent && began < *until) {
                Some((_, until, other)) => {
                    overlapping.extend([at, other]);
                    latest = latest.filter(|_| ended <= until);
                }
                None => latest = None,
            }
            latest = latest.or(Some((parent, ended, at)));
        }
        let first = self.first;
        let known = self.all.iter_mut().enumerate();
        known
            .filter(|(at, known)| !known.has_row && overlapping.contains(at))
            .map(|(at, known)| {
                known.has_row = true;
                ConversationRow {
                    conversation: first + at,
                    parent: known.parent,
                    times: (known.began, known.ended),
                }
            })
            .collect()
    }

    fn known_mut(&mut self, conversation: usize) -> Option<&mut KnownConversation> {
        self.all.get_mut(conversation.checked_sub(self.first)?)
    }

    /// Adds a call whose request has this place; its number.
    pub(super) fn add(&mut self, history: &History, place: RequestPlace, turn: WireCall) -> usize {
        let left = place
            .hedge
            .filter(|left| self.turn(*left).is_some_and(|turn| turn.was_left));
        for before in [place.answer, place.failed, left].into_iter().flatten() {
            if let Some(before) = self.turn_mut(before) {
                before.is_continued = true;
            }
        }
        if self.turns.len() >= MAX_TURNS {
            self.forgotten += self.turns.len();
            self.turns.clear();
            self.by_key.clear();
        }
        if let Some(known) = self.known_mut(turn.conversation) {
            known.began = known.began.min(turn.times.0);
            known.ended = known.ended.max(turn.times.1);
            let is_attempt = place.failed.or(place.hedge).is_some();
            known.calls += usize::from(turn.parent == known.parent && !is_attempt);
        }
        self.turns.push(turn);
        let number = self.forgotten + self.turns.len() - 1;
        self.note(number, Key::Request(history.whole()));
        number
    }

    /// Adds the answer to a call, with its ID.
    pub(super) fn answer(&mut self, number: usize, history: &History, id: Option<&str>, answer: &[Message]) {
        let Some(turn) = self.turn_mut(number) else { return };
        let end = history.after(answer);
        turn.ids = end.map_or(0, |end| end.ids);
        let conversation = turn.conversation;
        if let Some(end) = end {
            let parts = answer.iter().flat_map(|message| &message.parts);
            let asked = parts.filter_map(|part| match part {
                MessagePart::ToolCall { name, .. } => Some(name.clone()),
                _ => None,
            });
            if let Some(known) = self.known_mut(conversation) {
                (known.latest, known.asked) = (end.latest, asked.filter(|name| !name.is_empty()).collect());
            }
            self.note(number, Key::Answer(end.all));
        }
        let shared = history.reference.filter(|_| history.is_shared);
        for reference in [id.map(|id| hash(&id)), shared].into_iter().flatten() {
            self.note(number, Key::Reference(reference));
        }
    }

    /// The call that created the answer with this ID, or asked for it.
    pub(super) fn by_answer(&self, id: &str) -> Option<usize> {
        self.by_key.get(&Key::Reference(hash(&id)))?.first().copied()
    }

    /// True while an answer is made in the background.
    pub(super) fn waits(&self) -> bool {
        self.turns.iter().any(|turn| turn.background.is_some())
    }

    pub(super) fn turn(&self, number: usize) -> Option<&WireCall> {
        self.turns.get(number.checked_sub(self.forgotten)?)
    }

    pub(super) fn turn_mut(&mut self, number: usize) -> Option<&mut WireCall> {
        self.turns.get_mut(number.checked_sub(self.forgotten)?)
    }

    fn note(&mut self, number: usize, key: Key) {
        self.by_key.entry(key).or_default().push(number);
    }
}

//! The runs of calls that no span is around: a call continues the conversation whose history its request repeats.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::attributes::SentAttributes;
use super::runs::failure_within;
use super::vocabulary::{CALL_IDS, TOOLS};
use crate::emit::context::Context;
use crate::emit::error::ErrorInfo;
use crate::emit::recording::RecordingGuard;
use crate::process::{OwnLock, PerProcess, coarse_now, since_coarse};
use tracer_format::{EventType, Timestamp, names};

/// The most calls that are awaited, and for how long: then their conversations have ended.
const MAX_AWAITED: usize = 64;
const MAX_WAIT: Duration = Duration::from_secs(600);

/// The run of a conversation. It ends when no call of it is open and no further one is awaited.
#[derive(Debug)]
pub(super) struct ConversationRun {
    pub(super) context: Context,
    /// Number of its open calls. It changes under the lock of the awaited calls.
    open: AtomicUsize,
}

/// A model call that a conversation needs next: its answer asks for tools, or a failed request may be made again.
#[derive(Debug)]
struct AwaitedCall {
    conversation: Arc<ConversationRun>,
    history: u64,
    asked: Vec<AskedTool>,
    since: Duration,
    /// The end of the last call of the conversation.
    ended: Option<Timestamp>,
}

#[derive(Debug, PartialEq)]
struct AskedTool {
    id: Option<String>,
    name: String,
    arguments: String,
}

static AWAITED: PerProcess<OwnLock<Vec<AwaitedCall>>> =
    PerProcess::new(|process| OwnLock::new(process, Vec::new()));

impl ConversationRun {
    /// Begins a conversation with an open call.
    pub(super) fn begin(context: Context) -> Arc<Self> {
        end_with_last_thread();
        end_where(|awaited| since_coarse(awaited.since) > MAX_WAIT);
        Arc::new(Self {
            context,
            open: AtomicUsize::new(1),
        })
    }

    /// The conversation that a call belongs to, which is open from now on; `None` where nothing tells, or equally much tells for
    /// several.
    pub(super) fn continued(call: &SentAttributes, event_type: EventType) -> Option<Arc<Self>> {
        let awaited = AWAITED.existing()?;
        let conversation = if event_type == EventType::LlmCall {
            let request = RepeatedHistory::of(&messages(call, names::INPUT_MESSAGES)?);
            let keys = [request.answered, Some(request.attempt())];
            let mut awaited = awaited.lock()?;
            let found = awaited
                .iter()
                .position(|call| keys.contains(&Some(call.history)))?;
            let conversation = awaited.remove(found).conversation;
            conversation.open.fetch_add(1, Ordering::Relaxed);
            conversation
        } else {
            let ran = AskedTool::that_ran(call)?;
            let awaited = awaited.lock()?;
            let mut found = awaited
                .iter()
                .filter(|call| call.asked.iter().any(|asked| ran.is_asked_by(asked)));
            let conversation = Arc::clone(&found.next()?.conversation);
            if found.next().is_some() {
                return None;
            }
            conversation.open.fetch_add(1, Ordering::Relaxed);
            conversation
        };
        Some(conversation)
    }

    /// A call was answered: where the answer asks for tools, the conversation continues with their results.
    pub(super) fn answered(self: &Arc<Self>, call: &SentAttributes) {
        let Some(input) = messages(call, names::INPUT_MESSAGES) else {
            return;
        };
        let Some(output) = messages(call, names::OUTPUT_MESSAGES) else {
            return;
        };
        let asked: Vec<_> = parts(&output)
            .filter_map(|(_, part)| AskedTool::of_part(part))
            .collect();
        let mut history = RepeatedHistory::of(&input);
        history.add(&output);
        if let Some(history) = history.answered.filter(|_| !asked.is_empty()) {
            self.awaits(history, asked);
        }
    }

    /// A call failed: where that may pass, the same request continues the conversation.
    pub(super) fn failed(self: &Arc<Self>, call: &SentAttributes, error: &ErrorInfo) {
        let may_pass = matches!(
            error.error_type.as_bytes(),
            b"408" | b"409" | b"429" | [b'5', _, _]
        );
        if may_pass && let Some(input) = messages(call, names::INPUT_MESSAGES) {
            self.awaits(RepeatedHistory::of(&input).attempt(), Vec::new());
        }
    }

    fn awaits(self: &Arc<Self>, history: u64, asked: Vec<AskedTool>) {
        let oldest = AWAITED.get().lock().and_then(|mut awaited| {
            awaited.push(AwaitedCall {
                conversation: Arc::clone(self),
                history,
                asked,
                since: coarse_now(),
                ended: None,
            });
            (awaited.len() > MAX_AWAITED).then(|| awaited.remove(0))
        });
        oldest.into_iter().for_each(AwaitedCall::give_up);
    }

    /// A call of it ended.
    pub(super) fn leave(self: &Arc<Self>, end: Timestamp) {
        let Some(mut awaited) = AWAITED.get().lock() else {
            return;
        };
        let mut lasts = self.open.fetch_sub(1, Ordering::Relaxed) > 1;
        for call in awaited
            .iter_mut()
            .filter(|call| Arc::ptr_eq(&call.conversation, self))
        {
            call.ended = Some(end);
            lasts = true;
        }
        drop(awaited);
        if !lasts {
            self.end(end);
        }
    }

    fn end(&self, end: Timestamp) {
        self.context.run.end(failure_within(&self.context), end);
    }
}

impl AwaitedCall {
    /// No call is to come.
    fn give_up(self) {
        if let Some(end) = self
            .ended
            .filter(|_| self.conversation.open.load(Ordering::Relaxed) == 0)
        {
            self.conversation.end(end);
        }
    }
}

/// Ends the conversations whose next call does not come.
fn end_where(is_over: impl Fn(&AwaitedCall) -> bool) {
    let Some(mut awaited) = AWAITED.existing().and_then(OwnLock::lock) else {
        return;
    };
    let over: Vec<_> = awaited.extract_if(.., |call| is_over(call)).collect();
    drop(awaited);
    over.into_iter().for_each(AwaitedCall::give_up);
}

/// Number of live threads that have begun conversations, or made a layer.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD: LivingThread = {
        THREADS.fetch_add(1, Ordering::Relaxed);
        LivingThread
    };
}

/// A thread that may continue conversations. With the last one, which is the program's main thread, they end.
struct LivingThread;

impl Drop for LivingThread {
    fn drop(&mut self) {
        if THREADS.fetch_sub(1, Ordering::Relaxed) == 1 {
            let _recording = RecordingGuard::mark();
            end_where(|_| true);
        }
    }
}

/// Conversations that await a call end before the program does.
pub(super) fn end_with_last_thread() {
    // A thread that is ending begins nothing more.
    let _ = THREAD.try_with(|_| ());
}

/// The messages under a name, as OpenTelemetry has them.
fn messages(call: &SentAttributes, name: names::Name) -> Option<Value> {
    serde_json::from_str(call.text(name.written())?).ok()
}

/// The parts of messages, each with whether a model said it.
fn parts(messages: &Value) -> impl Iterator<Item = (bool, &Value)> {
    messages.as_array().into_iter().flatten().flat_map(|message| {
        let by_model = message.get("role").is_some_and(|role| role == "assistant");
        let parts = message.get("parts").and_then(Value::as_array);
        parts.into_iter().flatten().map(move |part| (by_model, part))
    })
}

impl AskedTool {
    fn of_part(part: &Value) -> Option<Self> {
        if part.get("type")? != "tool_call" {
            return None;
        }
        let text = |key: &str| part.get(key)?.as_str().map(str::to_owned);
        Some(Self {
            id: text("id").filter(|id| !id.is_empty()),
            name: text("name")?,
            arguments: part.get("arguments").map(canonical).unwrap_or_default(),
        })
    }

    fn that_ran(call: &SentAttributes) -> Option<Self> {
        let arguments = call.get(names::TOOL_CALL_ARGUMENTS.written());
        Some(Self {
            id: call.first_text(&CALL_IDS).map(str::to_owned),
            name: call.first_text(&TOOLS)?.to_owned(),
            arguments: arguments.map(canonical).unwrap_or_default(),
        })
    }

    /// Returns whether an answer asked for the call that ran. Some providers give no IDs, others the same ones in each
    /// conversation.
    fn is_asked_by(&self, asked: &Self) -> bool {
        self.name == asked.name
            && (self.id.is_none() || asked.id.is_none() || self.id == asked.id)
            && (self.arguments.is_empty() || self.arguments == asked.arguments)
    }
}

/// A value as text, whether it was sent as JSON or as the text of that.
fn canonical(value: &Value) -> String {
    let parsed = value
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    parsed.as_ref().unwrap_or(value).to_string()
}

/// Content of a conversation in normal form: texts, calls and results, each by who said it. Of an answer with calls
/// only these count, since some programs drop the text around them.
#[derive(Debug, Default)]
struct RepeatedHistory {
    said: u64,
    /// The hashes of the texts and the calls of an answer that nothing follows.
    answer: Option<[u64; 2]>,
    /// All that was said until the end of the last answer.
    answered: Option<u64>,
}

impl RepeatedHistory {
    fn of(messages: &Value) -> Self {
        let mut history = Self::default();
        history.add(messages);
        history
    }

    fn add(&mut self, messages: &Value) {
        for (by_model, part) in parts(messages) {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            let said = ["content", "text", "result", "response", "name", "arguments"].map(|key| {
                let value = part.get(key).map(canonical).unwrap_or_default();
                value.split_whitespace().collect::<String>()
            });
            if !by_model {
                self.said = hash(&(self.all(), said));
                self.answer = None;
            } else if kind != "reasoning" {
                let [texts, calls] = self.answer.get_or_insert_default();
                let side = if kind == "tool_call" { calls } else { texts };
                *side = hash(&(*side, said));
                self.answered = Some(self.all());
            }
        }
    }

    fn all(&self) -> u64 {
        match self.answer {
            None => self.said,
            Some([texts, 0]) => hash(&(self.said, texts)),
            Some([_, calls]) => hash(&(self.said, calls)),
        }
    }

    /// The history of the same request again.
    fn attempt(&self) -> u64 {
        hash(&("attempt", self.all()))
    }
}

/// A hash that is never 0.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish().max(1)
}

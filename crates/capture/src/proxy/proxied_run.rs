//! The calls of one run: which conversation each belongs to, where it is in the tree, and the tools that ran between them.
//!
//! A conversation that begins while another one waits for a tool is that tool's: a sub-agent. What places a call there is
//! inferred, and marked as that.

use std::collections::VecDeque;

use opentelemetry_proto::tonic::trace::v1::Span;
use tracer_insight::conversation::{Message, MessagePart, answer_messages, offered_tools, prompt_messages};
use tracer_sdk::format::SpanId;
use tracer_sdk::format::names;

use super::ProxyContext;
use super::derived_tools::DerivedTools;
use super::exchange::{Exchange, ModelCall, model_span, nanoseconds, plain_span};
use super::threads::{RequestHistory, ThreadNumber, Threads};
use crate::model_api::ModelApi;
use crate::otlp::encode::attribute;
use crate::runs::random_span_id;

/// The number of the conversation that a call belongs to, from 1.
const THREAD: &str = "tracer.thread";
/// The name of the span around the calls of a conversation that a tool waits for.
const SUB_AGENT: &str = "sub-agent";

/// What a request says is looked through so far, in bytes; a text that goes beyond it is taken whole.
const MAX_SAID_BYTES: usize = 16 * 1024;

/// What is known of the calls of a run.
#[derive(Debug)]
pub(super) struct ProxiedRun {
    pub(super) context: ProxyContext,
    threads: Threads,
    /// Where the calls of each conversation are, by its number.
    places: Vec<ThreadPlace>,
    tools: DerivedTools,
    /// The answers that may be asked for again, the oldest first.
    answers: VecDeque<KnownAnswer>,
}

/// An answer that may be made in the background, and be asked for by its ID until it is there.
#[derive(Debug)]
struct KnownAnswer {
    /// The provider's ID of it.
    id: String,
    thread: Option<ThreadNumber>,
    parent: SpanId,
    is_unfinished: bool,
}

/// Answers that are remembered.
const MAX_ANSWERS: usize = 1_024;

/// Where the calls of a conversation are.
#[derive(Debug)]
struct ThreadPlace {
    parent: SpanId,
    /// The span around them, as long as it is not written.
    sub_agent: Option<SubAgent>,
}

/// A span that is written when its conversation has ended.
#[derive(Debug)]
struct SubAgent {
    span_id: SpanId,
    parent: SpanId,
    /// The tool that the conversation works for.
    tool: SpanId,
    start: u64,
    end: u64,
}

impl ProxiedRun {
    pub(super) fn new(context: ProxyContext) -> Self {
        Self {
            context,
            threads: Threads::default(),
            places: Vec::new(),
            tools: DerivedTools::default(),
            answers: VecDeque::new(),
        }
    }

    /// Whether a request continues a conversation of this run.
    pub(super) fn is_continued_by(&self, history: &RequestHistory) -> bool {
        self.threads.continued_by(history).is_some()
    }

    /// True while an answer waits for results of tools, or is made in the background.
    pub(super) fn waits(&self) -> bool {
        self.tools.waits() || self.answers.iter().any(|answer| answer.is_unfinished)
    }

    /// True if a call of this run created the answer with this ID, or asked for it.
    pub(super) fn knows_answer(&self, id: &str) -> bool {
        self.answers.iter().any(|answer| answer.id == id)
    }

    /// The span of an exchange with no API that is known.
    pub(super) fn other(&self, exchange: &Exchange) -> Span {
        let parent = exchange.parent_in(&self.context);
        plain_span(
            &self.context,
            exchange,
            parent.unwrap_or(self.context.root_span_id),
        )
    }

    /// The spans of what asked again for an answer, or cancelled it: by its ID it is the call that created the answer. None
    /// where it learnt nothing: the answer is still being made, or was there before.
    fn answer_asked_again(
        &mut self,
        exchange: &Exchange,
        api: ModelApi,
        call: &ModelCall,
        id: &str,
    ) -> Vec<Span> {
        let is_unfinished = call.is_unfinished(exchange);
        let sent = exchange.parent_in(&self.context);
        let (thread, parent) = match self.answers.iter_mut().rfind(|answer| answer.id == id) {
            Some(known) if is_unfinished || !known.is_unfinished => return Vec::new(),
            Some(known) => {
                known.is_unfinished = false;
                (known.thread, known.parent)
            }
            None => {
                let parent = sent.unwrap_or(self.context.root_span_id);
                self.remember(id, None, parent, is_unfinished);
                (None, parent)
            }
        };
        let mut span = model_span(&self.context, exchange, api, call, parent);
        span.attributes
            .extend(thread.map(|thread| attribute(THREAD, thread.0 + 1)));
        let ended = nanoseconds(exchange.ended);
        let tools = self.answer(call, thread, ended, parent);
        std::iter::once(span).chain(tools).collect()
    }

    fn remember(&mut self, id: &str, thread: Option<ThreadNumber>, parent: SpanId, is_unfinished: bool) {
        if self.answers.len() >= MAX_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(KnownAnswer {
            id: id.to_owned(),
            thread,
            parent,
            is_unfinished,
        });
    }

    /// Takes an answer into its conversation; the spans of the tools that the provider ran for it.
    fn answer(
        &mut self,
        call: &ModelCall,
        thread: Option<ThreadNumber>,
        ended: u64,
        parent: SpanId,
    ) -> Vec<Span> {
        let answer = answer_messages(&call.answer.body);
        if let Some(thread) = thread {
            self.threads
                .note_answer(thread, call.facts.id.as_deref(), &answer);
        }
        self.tools
            .ask(&self.context, &call.answer.body, &answer, ended, parent)
    }

    /// The spans of a model call, and of the tools whose results it brings.
    pub(super) fn model_call(&mut self, exchange: &Exchange, api: ModelApi, call: &ModelCall) -> Vec<Span> {
        if let Some((_, id)) = &exchange.asked_again {
            return self.answer_asked_again(exchange, api, call, id);
        }
        let messages = prompt_messages(&call.request);
        let history = RequestHistory::of_request(&call.request, &messages);
        let arrived = nanoseconds(exchange.arrived);
        let mut spans = self.tools.settle(&self.context, &messages, arrived);
        let settled: Vec<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
        let is_settled = |tool: SpanId| settled.contains(&tool.to_bytes().as_slice());
        let sub_agents = self.ended_sub_agents(is_settled);
        spans.extend(sub_agents);
        let has_thread = !api.is_service() && !history.is_empty();
        let thread = has_thread.then(|| {
            let known = self.threads.continued_by(&history);
            let thread = known.unwrap_or_else(|| self.begin(&history, &messages, call, arrived));
            self.threads.note_request(thread, &history);
            thread
        });
        let ended = nanoseconds(exchange.ended);
        let inferred = self.place(thread, ended);
        let sent = exchange.parent_in(&self.context);
        let parent = sent.or(inferred).unwrap_or(self.context.root_span_id);
        let mut span = model_span(&self.context, exchange, api, call, parent);
        span.attributes
            .extend(thread.map(|thread| attribute(THREAD, thread.0 + 1)));
        if sent.is_none() && inferred.is_some_and(|parent| parent != self.context.root_span_id) {
            span.attributes
                .push(attribute(names::INFERRED.written(), "parent"));
        }
        spans.push(span);
        if let Some(id) = call.facts.id.as_deref().filter(|_| api.has_background()) {
            self.remember(id, thread, parent, call.is_unfinished(exchange));
        }
        spans.extend(self.answer(call, thread, ended, parent));
        spans
    }

    /// The spans of what has not ended: tools without a result, and sub-agents.
    pub(super) fn finish(&mut self) -> Vec<Span> {
        let mut spans = self.tools.unanswered(&self.context);
        spans.extend(self.ended_sub_agents(|_| true));
        spans
    }

    /// Begins a conversation. One that a tool waits for is in that tool, and where it offers tools, its calls are in a span of
    /// their own; all others stand side by side.
    fn begin(
        &mut self,
        history: &RequestHistory,
        messages: &[Message],
        call: &ModelCall,
        arrived: u64,
    ) -> ThreadNumber {
        let thread = self.threads.begin();
        let root = self.context.root_span_id;
        let tool = self
            .tools
            .asking_for(&history.question, &said_in(messages), arrived);
        let offers_tools = !offered_tools(&call.request, None).is_empty();
        let place = match tool {
            Some(tool) if offers_tools => {
                let span_id = random_span_id();
                ThreadPlace {
                    parent: span_id,
                    sub_agent: Some(SubAgent {
                        span_id,
                        parent: tool,
                        tool,
                        start: arrived,
                        end: arrived,
                    }),
                }
            }
            _ => ThreadPlace {
                parent: tool.unwrap_or(root),
                sub_agent: None,
            },
        };
        self.places.push(place);
        thread
    }

    /// Where the calls of a conversation are, which has one that ended at `ended`.
    fn place(&mut self, thread: Option<ThreadNumber>, ended: u64) -> Option<SpanId> {
        let place = self.places.get_mut(thread?.0)?;
        if let Some(sub_agent) = &mut place.sub_agent {
            sub_agent.end = sub_agent.end.max(ended);
        }
        Some(place.parent)
    }

    /// The spans of the sub-agents that have ended, by the tool that they work for.
    fn ended_sub_agents(&mut self, has_ended: impl Fn(SpanId) -> bool) -> Vec<Span> {
        let context = self.context;
        let ended = self.places.iter_mut().filter_map(|place| {
            let sub_agent = place.sub_agent.take_if(|sub_agent| has_ended(sub_agent.tool))?;
            Some(sub_agent_span(&context, &sub_agent))
        });
        ended.collect()
    }
}

/// What a request says in all, as far as it is looked through.
fn said_in(messages: &[Message]) -> String {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let mut said = String::new();
    for part in parts {
        if let MessagePart::Text(text) = part
            && said.len() < MAX_SAID_BYTES
        {
            said.push_str(text);
            said.push('\n');
        }
    }
    said
}

fn sub_agent_span(context: &ProxyContext, sub_agent: &SubAgent) -> Span {
    let times = (sub_agent.start, sub_agent.end);
    let name = SUB_AGENT.to_owned();
    let mut span = context.span(sub_agent.span_id, Some(sub_agent.parent), name, times);
    span.attributes.extend([
        attribute(names::OPERATION.written(), "invoke_agent"),
        attribute(names::INFERRED.written(), "span"),
    ]);
    span
}

//! The calls of one run: which conversation each belongs to, where it is in the tree, and the tools that ran between them.
//!
//! A conversation that begins while another one waits for a tool, and asks what that was given, is in that tool. A call that is
//! placed so is marked as inferred.

use tracer_insight::conversation::answer_messages;
use tracer_sdk::format::names;
use tracer_sdk::format::{SpanId, SpanRecord};

use super::ProxyContext;
use super::conversations::{Conversations, RequestPlace, WireCall};
use super::exchange::{
    Exchange, ModelCall, abandon, has_failed, is_left, model_span, nanoseconds, plain_span,
};
use super::history::History;
use super::tools::OpenTools;
use crate::runs::random_span_id;
use tracer_providers::ModelApi;

/// State of one run's calls.
#[derive(Debug)]
pub(super) struct ProxiedRun {
    pub(super) context: ProxyContext,
    conversations: Conversations,
    tools: OpenTools,
}

impl ProxiedRun {
    pub(super) fn new(context: ProxyContext) -> Self {
        Self {
            context,
            conversations: Conversations::default(),
            tools: OpenTools::default(),
        }
    }

    /// True if a request continues a conversation of this run, or brings the result of a call that one asked for. In a run that
    /// `is_over` the same first request does not: it is that of a program which was started again.
    pub(super) fn is_continued_by(&self, exchange: &Exchange, history: &History, is_over: bool) -> bool {
        let arrived = nanoseconds(exchange.arrived);
        let place = self.conversations.place_of(history, arrived);
        let begins_again = place.answer.is_none() && place.failed.or(place.hedge).is_some();
        place.conversation.is_some() && !(is_over && begins_again)
            || self.tools.asked_in(&history.results).is_some()
    }

    /// True while an answer waits for results of tools, or is made in the background.
    pub(super) fn waits(&self) -> bool {
        self.tools.waits() || self.conversations.waits()
    }

    /// True if a call of this run created the answer with this ID, or asked for it.
    pub(super) fn knows_answer(&self, id: &str) -> bool {
        self.conversations.by_answer(id).is_some()
    }

    /// The span of an exchange with no API that is known.
    pub(super) fn other(&self, exchange: &Exchange) -> SpanRecord {
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
    ) -> Vec<SpanRecord> {
        let is_unfinished = call.is_unfinished(exchange);
        let known = self.conversations.by_answer(id);
        let known = known.and_then(|number| Some((number, self.conversations.turn(number)?)));
        let parent = match known {
            Some((_, turn)) if is_unfinished || turn.background.is_none() => return Vec::new(),
            Some((_, turn)) => turn.parent,
            None => exchange
                .parent_in(&self.context)
                .unwrap_or(self.context.root_span_id),
        };
        let number = known.map(|(number, _)| number);
        let mut span = model_span(&self.context, exchange, api, call, parent);
        let number = number.unwrap_or_else(|| {
            let conversation = self.conversations.begin(&call.history, parent);
            self.add(
                exchange,
                call,
                &span,
                RequestPlace::default(),
                (conversation, parent),
            )
        });
        let turn = self.conversations.turn(number);
        span.set(names::THREAD, turn.map(|turn| turn.conversation + 1));
        let tools = self.answer(exchange, call, number);
        std::iter::once(span).chain(tools).collect()
    }

    /// Adds a call to its conversation; its number.
    fn add(
        &mut self,
        exchange: &Exchange,
        call: &ModelCall,
        span: &SpanRecord,
        place: RequestPlace,
        (conversation, parent): (usize, SpanId),
    ) -> usize {
        let history = &call.history;
        let turn = WireCall {
            conversation,
            span_id: exchange.span_id,
            parent,
            times: (nanoseconds(exchange.arrived), nanoseconds(exchange.ended)),
            has_failed: has_failed(span),
            was_left: is_left(span),
            background: call.is_unfinished(exchange).then(|| Box::new(history.clone())),
            continues: place.answer,
            instructions: history.instructions,
            ids: 0,
            is_continued: false,
        };
        self.conversations.add(history, place, turn)
    }

    /// Takes an answer into its conversation; the spans of the tools that the provider ran for it.
    fn answer(&mut self, exchange: &Exchange, call: &ModelCall, number: usize) -> Vec<SpanRecord> {
        let answer = answer_messages(&call.answer.body);
        let is_made = !call.is_unfinished(exchange);
        let created = self
            .conversations
            .turn_mut(number)
            .and_then(|turn| turn.background.take_if(|_| is_made));
        let history = created.as_deref().unwrap_or(&call.history);
        self.conversations
            .answer(number, history, call.facts.id.as_deref(), &answer);
        let Some(turn) = self.conversations.turn(number) else {
            return Vec::new();
        };
        let answer = (&call.answer.body, &*answer);
        let ended = nanoseconds(exchange.ended);
        self.tools
            .ask(&self.context, &call.request, answer, (number, turn), ended)
    }

    /// The spans of a model call, and of the tools whose results it brings.
    pub(super) fn model_call(
        &mut self,
        exchange: &Exchange,
        api: ModelApi,
        call: &ModelCall,
    ) -> Vec<SpanRecord> {
        if let Some((_, id)) = &exchange.asked_again {
            return self.answer_asked_again(exchange, api, call, id);
        }
        let root = self.context.root_span_id;
        let sent = exchange.parent_in(&self.context);
        if api.is_service() {
            return vec![model_span(
                &self.context,
                exchange,
                api,
                call,
                sent.unwrap_or(root),
            )];
        }
        let (history, arrived) = (&call.history, nanoseconds(exchange.arrived));
        let place = self.conversations.place_of(history, arrived);
        let continued = (place.answer, place.conversation);
        // A request that was made before brought its results then.
        let is_first = place.failed.or(place.hedge).is_none();
        let results = if is_first { &*history.results } else { &[] };
        // A request without any answer shows by its results alone what it continues.
        let asked = Some(results).filter(|_| history.end.is_none());
        let asked = asked.and_then(|results| self.tools.asked_in(results));
        let mut spans = self
            .tools
            .settle(&self.context, results, continued, arrived, false);
        // A result may come with a later request than the next one, which went elsewhere.
        if let Some(conversation) = place.conversation.filter(|_| is_first) {
            let earlier = &history.earlier;
            spans.extend(
                self.tools
                    .settle_earlier(&self.context, earlier, conversation, arrived),
            );
        }
        let conversation = place.conversation.or(asked).unwrap_or_else(|| {
            let tool = self.tools.asking_for(history, arrived);
            self.conversations.begin(history, tool.unwrap_or(root))
        });
        let inferred = self.conversations.parent(conversation);
        let parent = sent.or(inferred).unwrap_or(root);
        let mut span = model_span(&self.context, exchange, api, call, parent);
        span.set(names::THREAD, conversation + 1);
        let other = place.hedge.and_then(|other| self.conversations.turn(other));
        let is_left = other.is_some_and(|other| !other.has_failed) && abandon(&mut span);
        let left = place.hedge.filter(|_| other.is_some_and(|other| other.was_left));
        let instead_of = place
            .failed
            .or(left)
            .and_then(|number| self.conversations.turn(number));
        span.set(names::RETRY_OF, instead_of.map(|other| other.span_id.to_string()));
        let is_over = place.failed.or(place
            .hedge
            .filter(|_| other.is_some_and(|other| other.has_failed)));
        if sent.is_none() && parent != root {
            span.set(names::INFERRED, "parent");
        }
        let number = self.add(exchange, call, &span, place, (conversation, parent));
        spans.push(span);
        spans.extend(self.answer(exchange, call, number));
        // The client took no answer from a request that it made again.
        for over in is_over.into_iter().chain(is_left.then_some(number)) {
            self.tools.forget(over);
        }
        spans
    }

    /// The spans of the tools without a result, and of the rows of conversations.
    pub(super) fn finish(&mut self) -> Vec<SpanRecord> {
        let mut spans = self.tools.unanswered(&self.context);
        for row in self.conversations.rows() {
            let number = row.conversation + 1;
            let name = format!("conversation {number}");
            // A microsecond before its first call, so that it comes first in the order of time, too.
            let times = (row.times.0.saturating_sub(1_000), row.times.1);
            let mut span = self.context.span(random_span_id(), Some(row.parent), name, times);
            span.set(names::INFERRED, "span");
            span.set(names::THREAD, number);
            spans.push(span);
        }
        spans
    }
}

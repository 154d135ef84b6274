//! The runs that exchanges belong to: the one of a recorded command, or, for a proxy on its own, one for each agent.
//!
//! A proxy on its own knows no command. In this order, the first that fits: the trace that the client sends, a
//! conversation that the request continues, the run whose calls are less than the idle time away, a new run.

use std::time::{Duration, SystemTime};

use tracer_sdk::format::{SpanRecord, names};

use super::exchange::{Exchange, ModelCall, nanoseconds};
use super::proxied_run::ProxiedRun;
use super::{ProxiedRuns, ProxyContext, RunGrouping};
use crate::runs::{random_span_id, random_trace_id};
use tracer_providers::ModelApi;

/// Number of runs that are remembered, ended ones among them: their conversations may continue.
const MAX_RUNS: usize = 256;
/// Longest wait for the result of a tool, and for an answer that is made in the background.
const MAX_TOOL_TIME: Duration = Duration::from_secs(600);
/// The longest name that is taken from what a client calls itself, in characters.
const MAX_CLIENT_NAME: usize = 60;

/// The runs, the one with the latest call last.
#[derive(Debug)]
pub(super) struct RunGroups {
    /// `None` of a single run, which somebody else begins and ends.
    grouping: Option<RunGrouping>,
    runs: Vec<AgentRun>,
}

#[derive(Debug)]
struct AgentRun {
    calls: ProxiedRun,
    name: String,
    model_calls: u64,
    first: SystemTime,
    last: SystemTime,
    /// Its root is written; what comes later is late.
    has_root: bool,
    /// Nothing came since it was ended.
    has_ended: bool,
}

impl RunGroups {
    pub(super) fn new(runs: ProxiedRuns) -> Self {
        match runs {
            ProxiedRuns::One(context) => Self {
                grouping: None,
                runs: vec![AgentRun::new(context, String::new(), SystemTime::UNIX_EPOCH)],
            },
            ProxiedRuns::PerAgent(grouping) => Self {
                grouping: Some(grouping),
                runs: Vec::new(),
            },
        }
    }

    /// The spans of an exchange; `call` is what its bodies say, if it is a model call.
    pub(super) fn spans(
        &mut self,
        exchange: &Exchange,
        call: Option<(ModelApi, &ModelCall)>,
    ) -> Vec<SpanRecord> {
        let calls = &mut self.run_of(exchange, call.map(|(_, call)| call)).calls;
        match call {
            Some((api, call)) => calls.model_call(exchange, api, call),
            None => vec![calls.other(exchange)],
        }
    }

    /// True if a call of these runs created the answer with this ID, or asked for it.
    pub(super) fn knows_answer(&self, id: &str) -> bool {
        self.runs.iter().any(|run| run.calls.knows_answer(id))
    }

    /// The last spans of the runs that are over.
    pub(super) fn end_idle(&mut self, now: SystemTime) -> Vec<SpanRecord> {
        let Some(RunGrouping { idle, .. }) = self.grouping else {
            return Vec::new();
        };
        self.end(|run| {
            let quiet = now.duration_since(run.last).unwrap_or_default();
            let patience = if run.calls.waits() {
                idle.max(MAX_TOOL_TIME)
            } else {
                idle
            };
            quiet > patience
        })
    }

    /// The last spans of every run.
    pub(super) fn finish(&mut self) -> Vec<SpanRecord> {
        self.end(|_| true)
    }

    fn end(&mut self, is_over: impl Fn(&AgentRun) -> bool) -> Vec<SpanRecord> {
        let mut spans = Vec::new();
        for run in &mut self.runs {
            if run.has_ended || !is_over(run) {
                continue;
            }
            run.has_ended = true;
            spans.extend(run.calls.finish());
            if self.grouping.is_some() && !run.has_root {
                run.has_root = true;
                spans.push(root(run));
            }
        }
        spans
    }

    /// The run of an exchange, which becomes the last one.
    fn run_of(&mut self, exchange: &Exchange, call: Option<&ModelCall>) -> &mut AgentRun {
        let place = match &self.grouping {
            Some(grouping) => self.place_of(exchange, call, grouping),
            None => Some(0),
        };
        let mut run = match place {
            Some(place) => self.runs.remove(place),
            None => self.begin(exchange),
        };
        run.first = run.first.min(exchange.arrived);
        run.last = run.last.max(exchange.ended);
        run.has_ended = false;
        run.model_calls += u64::from(call.is_some());
        if self.runs.len() >= MAX_RUNS
            && let Some(oldest) = self.runs.iter().position(|run| run.has_ended)
        {
            self.runs.remove(oldest);
        }
        self.runs.push(run);
        let last = self.runs.len() - 1;
        &mut self.runs[last]
    }

    fn place_of(
        &self,
        exchange: &Exchange,
        call: Option<&ModelCall>,
        grouping: &RunGrouping,
    ) -> Option<usize> {
        let latest = |is_it: &dyn Fn(&AgentRun) -> bool| self.runs.iter().rposition(is_it);
        if let Some((trace_id, _)) = exchange.sent_context {
            return latest(&|run| run.calls.context.trace_id == trace_id);
        }
        if let Some((_, id)) = &exchange.asked_again
            && let Some(place) = latest(&|run| run.calls.knows_answer(id))
        {
            return Some(place);
        }
        let history = call.map(|call| &call.history);
        let continued = history
            .and_then(|history| latest(&|run| run.calls.is_continued_by(exchange, history, run.has_root)));
        continued.or_else(|| latest(&|run| !run.has_root && distance(exchange, run) <= grouping.idle))
    }

    fn begin(&self, exchange: &Exchange) -> AgentRun {
        let trace_id = exchange
            .sent_context
            .map_or_else(random_trace_id, |(trace_id, _)| trace_id);
        let context = ProxyContext {
            trace_id,
            root_span_id: random_span_id(),
        };
        let name = self.grouping.as_ref().and_then(|grouping| grouping.name.clone());
        let name = name.unwrap_or_else(|| client_name(&exchange.user_agent));
        AgentRun::new(context, name, exchange.arrived)
    }
}

impl AgentRun {
    fn new(context: ProxyContext, name: String, began: SystemTime) -> Self {
        Self {
            calls: ProxiedRun::new(context),
            name,
            model_calls: 0,
            first: began,
            last: began,
            has_root: false,
            has_ended: false,
        }
    }
}

/// Time between an exchange and those of a run; zero where it overlaps with them.
fn distance(exchange: &Exchange, run: &AgentRun) -> Duration {
    let after = exchange.arrived.duration_since(run.last).unwrap_or_default();
    let before = run.first.duration_since(exchange.ended).unwrap_or_default();
    after.max(before)
}

/// The span around all calls of a run. What holds no model call is no agent's, and gets no name that would make it one.
fn root(run: &AgentRun) -> SpanRecord {
    let context = run.calls.context;
    let times = (nanoseconds(run.first), nanoseconds(run.last));
    let mut span = context.span(context.root_span_id, None, run.name.clone(), times);
    span.set(names::INFERRED, "span");
    if run.model_calls > 0 {
        span.set(names::RUN_NAME, run.name.as_str());
    }
    span
}

/// The product of a `User-Agent` header: `OpenAI/Python`, `python-httpx`, `claude-cli`.
fn client_name(user_agent: &str) -> String {
    let product = user_agent.split_whitespace().next().unwrap_or_default();
    let has_version = |text: &str| text.starts_with(|char: char| char.is_ascii_digit());
    let name = match product.rsplit_once('/') {
        Some((name, version)) if has_version(version) => name,
        _ => product,
    };
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || "-_./@".contains(*char);
    let name: String = name.chars().filter(is_plain).take(MAX_CLIENT_NAME).collect();
    if name.is_empty() { "agent".to_owned() } else { name }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};
    use tracer_sdk::format::TraceId;

    use super::*;
    use crate::exchange::ExchangeEnd;
    use crate::proxy::stream_usage::StreamUsage;

    /// An exchange of a chat that takes a second, `at` seconds after the first one.
    pub(in crate::proxy) fn exchange(at: u64, messages: &Value, answer: &Value) -> Exchange {
        let arrived = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + at);
        Exchange {
            segment: "openai",
            query: None,
            headers: Vec::new(),
            is_replayed: false,
            stream_usage: StreamUsage::default(),
            call_number: None,
            reservation: None,
            refused_by: None,
            is_held: false,
            client_model: None,
            span_id: random_span_id(),
            sent_context: None,
            user_agent: "OpenAI/Python 3.54.0".to_owned(),
            api: Some(ModelApi::ChatCompletions),
            asked_again: None,
            provider: "openai",
            server: "api.openai.com".to_owned(),
            method: "POST".to_owned(),
            path: "/v1/chat/completions".to_owned(),
            request: json!({"model": "m", "messages": messages})
                .to_string()
                .into_bytes()
                .into(),
            request_encoding: String::new(),
            arrived,
            status: Some(200),
            content_type: "application/json".to_owned(),
            content_encoding: String::new(),
            response: json!({"choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]})
                .to_string()
                .into_bytes(),
            is_cut: false,
            first_byte: None,
            ended: arrived + Duration::from_secs(1),
            end: ExchangeEnd::Whole,
        }
    }

    fn groups(name: Option<&str>) -> RunGroups {
        RunGroups::new(ProxiedRuns::PerAgent(RunGrouping {
            name: name.map(str::to_owned),
            idle: Duration::from_secs(10),
        }))
    }

    /// Records an exchange; the run's trace ID.
    fn record(groups: &mut RunGroups, exchange: &Exchange) -> TraceId {
        let api = ModelApi::ChatCompletions;
        let call = ModelCall::read(exchange, api);
        let spans = groups.spans(exchange, Some((api, &call)));
        spans.last().unwrap().trace_id
    }

    fn user(text: &str) -> Value {
        json!([{"role": "user", "content": text}])
    }

    fn said(text: &str) -> Value {
        json!({"role": "assistant", "content": text})
    }

    #[test]
    fn an_idle_time_separates_runs() {
        let mut groups = groups(None);
        let first = record(&mut groups, &exchange(0, &user("A"), &said("a")));
        let soon = record(&mut groups, &exchange(8, &user("B"), &said("b")));
        let later = record(&mut groups, &exchange(60, &user("C"), &said("c")));
        assert_eq!(first, soon);
        assert_ne!(first, later);
    }

    #[test]
    fn a_conversation_goes_on_in_its_run() {
        let mut groups = groups(None);
        let first = record(&mut groups, &exchange(0, &user("A"), &said("a")));
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_030);
        assert_eq!(groups.end_idle(end).len(), 1, "the root");
        let next = json!([{"role": "user", "content": "A"}, said("a"), {"role": "user", "content": "And?"}]);
        let later = record(&mut groups, &exchange(600, &next, &said("b")));
        assert_eq!(first, later);
        assert!(groups.finish().is_empty(), "there is one root");
    }

    #[test]
    fn a_program_started_again_has_its_own_run() {
        let next = json!([{"role": "user", "content": "A"}, said("a"), {"role": "user", "content": "And?"}]);
        for (messages, is_new) in [(user("A"), true), (next, false)] {
            let mut groups = groups(None);
            record(&mut groups, &exchange(0, &user("A"), &said("a")));
            let mut refused = exchange(2, &messages, &said(""));
            refused.status = Some(401);
            let first = record(&mut groups, &refused);
            let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_030);
            assert_eq!(groups.end_idle(end).len(), 1, "the root");
            let again = record(&mut groups, &exchange(34, &messages, &said("a")));
            assert_eq!(first != again, is_new, "{messages}");
        }
    }

    #[test]
    fn a_trace_that_is_sent_is_the_run() {
        let mut groups = groups(None);
        record(&mut groups, &exchange(0, &user("A"), &said("a")));
        let mut sent = exchange(1, &user("B"), &said("b"));
        sent.sent_context = Some(("ab".repeat(16).parse().unwrap(), "cd".repeat(8).parse().unwrap()));
        assert_eq!(record(&mut groups, &sent), "ab".repeat(16).parse().unwrap());
    }

    #[test]
    fn a_run_waits_for_its_tools() {
        let mut groups = groups(Some("refunds"));
        let asks = json!({"role": "assistant", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "build", "arguments": "{}"}}]});
        record(&mut groups, &exchange(0, &user("A"), &asks));
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        assert!(groups.end_idle(at(120)).is_empty());
        let names: Vec<String> = groups
            .end_idle(at(1_000))
            .into_iter()
            .map(|span| span.name)
            .collect();
        assert_eq!(names, ["build", "refunds"]);
    }

    /// An exchange of the Responses API about the answer `resp_1`, in this state.
    fn background(at: u64, is_asked_again: bool, status: &str) -> Exchange {
        let api = ModelApi::Responses;
        let answer = json!({"id": "resp_1", "object": "response", "model": "m", "status": status, "output": [],
                            "background": true});
        Exchange {
            api: (!is_asked_again).then_some(api),
            asked_again: is_asked_again.then(|| (api, "resp_1".to_owned())),
            request: if is_asked_again {
                Vec::new().into()
            } else {
                json!({"model": "m", "input": "A", "background": true})
                    .to_string()
                    .into_bytes()
                    .into()
            },
            response: answer.to_string().into_bytes(),
            ..exchange(at, &json!([]), &json!({}))
        }
    }

    #[test]
    fn each_step_of_a_background_answer_is_written_at_once() {
        let mut groups = groups(None);
        let mut written = Vec::new();
        for (at, is_asked_again, status) in [
            (0, false, "queued"),
            (2, true, "in_progress"),
            (4, true, "completed"),
            (6, true, "completed"),
        ] {
            let exchange = background(at, is_asked_again, status);
            let (api, call) = ModelCall::of(&exchange).unwrap();
            let spans = groups.spans(&exchange, Some((api, &call)));
            written.push(spans.into_iter().map(|span| span.name).collect::<Vec<_>>());
        }
        let none: [&str; 0] = [];
        assert_eq!(written[0], ["chat m"]);
        assert_eq!(
            (&written[1][..], &written[3][..]),
            (&none.map(str::to_owned)[..], &none.map(str::to_owned)[..])
        );
        assert_eq!(written[2], ["fetch_response"]);
        assert_eq!(groups.finish().len(), 1, "the root");
    }

    #[test]
    fn a_run_waits_for_its_background_answer() {
        let mut groups = groups(None);
        let asked = background(0, false, "queued");
        let (api, call) = ModelCall::of(&asked).unwrap();
        groups.spans(&asked, Some((api, &call)));
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        assert!(groups.end_idle(at(120)).is_empty());
        assert_eq!(groups.end_idle(at(1_000)).len(), 1);
    }

    #[test]
    fn clients_are_named_by_their_product() {
        for (user_agent, name) in [
            ("OpenAI/Python 3.54.0", "OpenAI/Python"),
            ("claude-cli/2.1.330 (external, cli)", "claude-cli"),
            ("python-httpx/0.28.1", "python-httpx"),
            ("\u{1b}[31m", "31m"),
            ("", "agent"),
        ] {
            assert_eq!(client_name(user_agent), name, "{user_agent:?}");
        }
    }
}

//! Generated programs: what happened in each, and what its reporters tell.
//!
//! The proxy saw of it what it does, and each row of a table is a way in which libraries tell of it. The parent module gives the
//! names of the format: tests of the command read the same programs.

use serde_json::{Map, Value, json};

use super::{SpanEvent, SpanRecord, StatusCode, attributes, event, root};

/// Numbers that look like chance and follow from a seed.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[usize::try_from(self.below(items.len() as u64)).unwrap()]
    }
}

/// A call of a model: one request.
pub(super) struct Asked {
    talk: u64,
    model: &'static str,
    /// When, in milliseconds.
    times: (u64, u64),
    pub(super) usage: Option<(u64, u64)>,
    pub(super) is_refused: bool,
    id: String,
    answer: String,
}

/// A tool that ran.
pub(super) struct Ran {
    pub(super) talk: u64,
    pub(super) name: &'static str,
    pub(super) city: &'static str,
    /// The ID that the model gave the call.
    pub(super) id: Option<String>,
    pub(super) asked: u64,
    pub(super) times: (u64, u64),
    /// When the request came that brought the result.
    pub(super) brought: u64,
    pub(super) result: String,
    pub(super) is_failed: bool,
}

/// The calls of a process, as they happened.
pub(super) struct Program {
    /// The number of its first conversation.
    pub(super) first: u64,
    pub(super) talks: Vec<(u64, u64)>,
    pub(super) asked: Vec<Asked>,
    pub(super) ran: Vec<Ran>,
}

const CITIES: [&str; 3] = ["Oslo", "Paris", "Rome"];

impl Program {
    pub(super) fn of(seed: u64) -> Self {
        Self::beside(seed, 0)
    }

    /// The program of a seed whose conversations have the numbers from `first` on, as have the IDs of its calls.
    pub(super) fn beside(seed: u64, first: u64) -> Self {
        let mut dice = Dice(seed);
        let mut program = Self {
            first,
            talks: Vec::new(),
            asked: Vec::new(),
            ran: Vec::new(),
        };
        let talks = 1 + dice.below(3);
        let is_at_once = dice.chance(50);
        // Some providers repeat the IDs of tool calls in each conversation, some give none.
        let ids = dice.below(3);
        let has_usage = !dice.chance(20);
        let models: &[&str] = if dice.chance(70) {
            &["gpt-5-mini"]
        } else {
            &["gpt-5-mini", "claude-sonnet-4"]
        };
        let mut now = 100;
        for talk in first..first + talks {
            if is_at_once {
                now = 100 + dice.below(6);
            }
            let model = *dice.pick(models);
            let begun = now;
            let turns = 1 + dice.below(3);
            for turn in 0..turns {
                now += 10 + dice.below(5);
                let mut ask = |dice: &mut Dice, now: &mut u64, is_refused: bool| {
                    let mut took = 20 + dice.below(60);
                    // No two answers end in one microsecond: which of them asked for a tool is not known then.
                    while program.asked.iter().any(|asked| asked.times.1 == *now + took) {
                        took += 1;
                    }
                    let usage = (30 + dice.below(40), 5 + dice.below(8));
                    program.asked.push(Asked {
                        talk,
                        model,
                        times: (*now, *now + took),
                        usage: Some(usage).filter(|_| has_usage && !is_refused),
                        is_refused,
                        id: format!("r{talk}-{turn}"),
                        answer: format!("answer {turn} of talk {talk}"),
                    });
                    *now += took;
                };
                if dice.chance(12) {
                    ask(&mut dice, &mut now, true);
                    now += 8;
                }
                ask(&mut dice, &mut now, false);
                if turn + 1 == turns {
                    break;
                }
                let asked = now;
                let count = 1 + dice.below(2);
                let first = program.ran.len();
                let mut last = now;
                let mut begins = now + 2;
                for number in 0..count {
                    let took = 10 + dice.below(30);
                    let is_failed = dice.chance(10);
                    let name = "get_weather";
                    let id = match ids {
                        0 => Some(format!("call_{talk}_{turn}_{number}")),
                        1 => Some(format!("{name}:{turn}{number}")),
                        _ => None,
                    };
                    let city = *dice.pick(&CITIES);
                    program.ran.push(Ran {
                        talk,
                        name,
                        city,
                        id,
                        asked,
                        times: (begins, begins + took),
                        brought: 0,
                        result: format!("{city}: {number} in {turn} of {talk}"),
                        is_failed,
                    });
                    last = last.max(begins + took);
                    begins = if talk % 2 == 0 { begins + 1 } else { last + 1 };
                }
                now = last + 2;
                for ran in &mut program.ran[first..] {
                    ran.brought = now + 10;
                }
                // The next request comes when the results are there.
                now = now.max(last + 2);
            }
            now += 5;
            program.talks.push((begun, now));
            now += 40;
        }
        program
    }
}

/// How a library tells of IDs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ids {
    Given,
    MadeUp,
    None,
}

/// How it tells of tokens.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tokens {
    Counted,
    Zero,
    None,
}

/// How it tells of arguments.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Args {
    Whole,
    Bare,
    Wrapped,
    None,
}

/// A way of telling.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a distortion of its own")]
pub(super) struct Teller {
    pub(super) name: &'static str,
    pub(super) model: fn(&str) -> String,
    pub(super) tool: fn(&str) -> String,
    pub(super) ids: Ids,
    pub(super) tool_ids: Ids,
    pub(super) tokens: Tokens,
    pub(super) args: Args,
    /// Whether it has a span for each conversation.
    pub(super) has_agents: bool,
    /// Whether a second span lies around each call of a model.
    pub(super) is_twice: bool,
    /// Whether one more span of a model call lies around all of a conversation.
    pub(super) is_around: bool,
    /// Whether the request names the span that it was made in.
    pub(super) is_named: bool,
    /// Whether the span of a call of a model has ended before the request is made.
    pub(super) is_before: bool,
    /// Whether it is the recorder of the program itself.
    pub(super) is_own: bool,
    /// Whether it tells of tools at all.
    pub(super) has_tools: bool,
    /// Whether it tells of one call for all attempts.
    pub(super) joins_attempts: bool,
}

const PLAIN: Teller = Teller {
    name: "plain",
    model: str::to_owned,
    tool: str::to_owned,
    ids: Ids::Given,
    tool_ids: Ids::Given,
    tokens: Tokens::Counted,
    args: Args::Whole,
    has_agents: true,
    is_twice: false,
    is_around: false,
    is_named: false,
    is_before: false,
    is_own: false,
    has_tools: true,
    joins_attempts: false,
};

fn prefixed(model: &str) -> String {
    format!("openai/{model}")
}

fn in_words(tool: &str) -> String {
    tool.replace('_', " ")
}

fn called(tool: &str) -> String {
    format!("{tool}.__call__")
}

/// The table of distortions, a row for each kind of framework.
fn tellers() -> Vec<Teller> {
    let row = |name, change: fn(&mut Teller)| {
        let mut teller = Teller { name, ..PLAIN };
        change(&mut teller);
        teller
    };
    vec![
        row("plain", |_| {}),
        row("prefixed model, made-up ID", |teller| {
            (teller.model, teller.ids, teller.args) = (prefixed, Ids::MadeUp, Args::Bare);
        }),
        row("made-up ID of tools", |teller| teller.tool_ids = Ids::MadeUp),
        row("no ID", |teller| {
            (teller.ids, teller.tool_ids) = (Ids::None, Ids::None);
        }),
        row("no tokens", |teller| teller.tokens = Tokens::None),
        row("no tokens, no ID", |teller| {
            (teller.tokens, teller.ids, teller.tool_ids) = (Tokens::None, Ids::None, Ids::None);
        }),
        row("zero tokens, no ID", |teller| {
            (teller.tokens, teller.ids) = (Tokens::Zero, Ids::None);
        }),
        row("wrapped arguments", |teller| {
            (teller.args, teller.tool_ids) = (Args::Wrapped, Ids::None);
        }),
        row("no arguments", |teller| {
            (teller.args, teller.tool_ids) = (Args::None, Ids::None);
        }),
        row("tool's name in words", |teller| {
            (teller.tool, teller.tool_ids) = (in_words, Ids::None);
        }),
        row("tool's name as a method", |teller| {
            (teller.tool, teller.tool_ids) = (called, Ids::None);
        }),
        row("inner and outer span", |teller| {
            (teller.is_twice, teller.tokens) = (true, Tokens::None);
        }),
        row("one span around many", |teller| teller.is_around = true),
        row("ends before its request", |teller| {
            (teller.is_before, teller.tokens, teller.ids) = (true, Tokens::None, Ids::None);
        }),
        row("requests name their span", |teller| {
            (teller.is_named, teller.tokens, teller.ids) = (true, Tokens::None, Ids::MadeUp);
        }),
        row("no place", |teller| teller.has_agents = false),
        row("no tools", |teller| teller.has_tools = false),
        row("one call for all attempts", |teller| teller.joins_attempts = true),
        row("one call for all attempts, no ID", |teller| {
            (teller.joins_attempts, teller.ids, teller.tokens) = (true, Ids::None, Tokens::None);
        }),
        row("the recorder", |teller| {
            (teller.is_own, teller.ids, teller.tokens) = (true, Ids::None, Tokens::None);
            teller.tool_ids = Ids::None;
        }),
    ]
}

/// Makes spans with numbers of their own.
struct Spans {
    made: Vec<SpanRecord>,
    next: u64,
    /// Of the clock of the process, which begins its work so much later.
    microseconds: u64,
}

const ROOT_NUMBER: u64 = 1;

impl Spans {
    fn new() -> Self {
        let mut spans = Self {
            made: Vec::new(),
            next: ROOT_NUMBER,
            microseconds: 0,
        };
        spans.add(0, "run", (0, 9_000), json!({}));
        spans
    }

    fn add(&mut self, parent: u64, name: &str, times: (u64, u64), stored: Value) -> u64 {
        let at = |millisecond: u64| {
            let text = format!(
                "2026-01-01T00:00:{:02}.{:03}{:03}Z",
                millisecond / 1_000,
                millisecond % 1_000,
                self.microseconds,
            );
            text.parse().unwrap()
        };
        let number = self.next;
        self.next += 1;
        self.made.push(SpanRecord {
            span_id: format!("{number:016x}").parse().unwrap(),
            parent_span_id: (parent > 0).then(|| format!("{parent:016x}").parse().unwrap()),
            name: name.to_owned(),
            start_time: at(times.0),
            end_time: Some(at(times.1)),
            duration_ms: Some(times.1 - times.0),
            status_code: StatusCode::Unset,
            attributes: attributes(stored),
            ..root(json!({}))
        });
        number
    }

    fn last(&mut self) -> &mut SpanRecord {
        self.made.last_mut().unwrap()
    }

    fn fail(&mut self, class: &str, message: &str) {
        let span = self.last();
        span.status_code = StatusCode::Error;
        message.clone_into(&mut span.status_description);
        span.attributes.insert("error.type".to_owned(), json!(class));
    }
}

fn content(name: &str, key: &str, value: &str) -> SpanEvent {
    event(name, json!({ key: value }))
}

/// The spans of a program as the proxy writes them; `above` gives the span that each request names.
fn wire(program: &Program, above: &[Option<u64>], spans: &mut Spans) {
    let mut refused: Option<(u64, u64)> = None;
    for (number, asked) in program.asked.iter().enumerate() {
        let parent = above.get(number).copied().flatten().unwrap_or(ROOT_NUMBER);
        let mut stored = Map::new();
        let mut put = |key: &str, value: Value| stored.insert(key.to_owned(), value);
        put("gen_ai.operation.name", json!("chat"));
        put("gen_ai.provider.name", json!("openai"));
        put("gen_ai.request.model", json!(asked.model));
        put("tracer.source", json!("proxy"));
        let status = if asked.is_refused { 429 } else { 200 };
        put("http.response.status_code", json!(status));
        if !asked.is_refused {
            put("gen_ai.response.id", json!(asked.id));
            put(
                "gen_ai.response.model",
                json!(format!("{}-2025-08-07", asked.model)),
            );
        }
        if let Some((input, output)) = asked.usage {
            put("gen_ai.usage.input_tokens", json!(input));
            put("gen_ai.usage.output_tokens", json!(output));
        }
        // What was refused is tried again next in its conversation.
        if let Some((_, failed)) = refused.take_if(|(talk, _)| *talk == asked.talk) {
            stored.insert("tracer.retry_of".to_owned(), json!(format!("{failed:016x}")));
        }
        let number = spans.add(
            parent,
            &format!("chat {}", asked.model),
            asked.times,
            Value::Object(stored),
        );
        if asked.is_refused {
            refused = Some((asked.talk, number));
            spans.fail("429", "slow down");
        } else {
            let answer = json!({"choices": [{"message": {"role": "assistant", "content": asked.answer}}]});
            let answer = content("gen_ai.assistant.message", "content", &answer.to_string());
            spans.last().events.push(answer);
        }
    }
    for ran in &program.ran {
        let mut stored = json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": ran.name, "tracer.derived": true, "tracer.source": "proxy",
        });
        if let Some(id) = &ran.id {
            stored["gen_ai.tool.call.id"] = json!(id);
        }
        spans.add(ROOT_NUMBER, ran.name, (ran.asked, ran.brought), stored);
        if ran.is_failed {
            spans.fail("tool_error", "the result says that the tool failed");
        }
        let args = content("tracer.tool.args", "args", &json!({"city": ran.city}).to_string());
        let result = content("tracer.tool.result", "result", &ran.result);
        spans.last().events.extend([args, result]);
    }
}

/// The spans of a program as a library tells of it; gives the span of each request.
fn tell(program: &Program, teller: Teller, spans: &mut Spans) -> Vec<Option<u64>> {
    let scope = |mut stored: Value| {
        if teller.is_own {
            stored["tracer.status"] = json!("ok");
        } else {
            stored["otel.scope.name"] = json!(format!("library {}", teller.name));
        }
        stored
    };
    let mut above = vec![None; program.asked.len()];
    for (talk, times) in (program.first..).zip(&program.talks) {
        let mut parent = ROOT_NUMBER;
        if teller.has_agents {
            parent = spans.add(
                ROOT_NUMBER,
                &format!("agent {talk}"),
                (times.0 + 2, times.1 - 1),
                json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": format!("agent {talk}"),
                    "otel.scope.name": format!("library {}", teller.name)}),
            );
        }
        let model_span = |model: &str| {
            scope(json!({"gen_ai.operation.name": "chat", "gen_ai.system": "openai",
                "gen_ai.request.model": (teller.model)(model)}))
        };
        let of_talk = program
            .asked
            .iter()
            .enumerate()
            .filter(|(_, asked)| asked.talk == talk);
        if teller.is_around {
            let model = of_talk.clone().next().unwrap().1.model;
            parent = spans.add(parent, "chat", (times.0 + 3, times.1 - 2), model_span(model));
        }
        let mut begun = None;
        for (number, asked) in of_talk {
            let (mut start, mut end) = (asked.times.0 - 2, asked.times.1 + 1);
            if teller.is_before {
                end = asked.times.0 - 1;
            }
            if teller.joins_attempts {
                if asked.is_refused {
                    begun = Some(start);
                    continue;
                }
                start = begun.take().unwrap_or(start);
            }
            let mut inside = parent;
            if teller.is_twice {
                inside = spans.add(parent, "chat", (start - 1, end + 1), model_span(asked.model));
                if asked.is_refused {
                    spans.fail("RateLimitError", "slow down");
                }
            }
            let mut stored = model_span(asked.model);
            match teller.ids {
                Ids::Given if !asked.is_refused => stored["gen_ai.response.id"] = json!(asked.id),
                Ids::MadeUp => stored["gen_ai.response.id"] = json!(format!("run--{number}")),
                Ids::Given | Ids::None => {}
            }
            if let Some((input, output)) = asked.usage {
                let (input, output) = match teller.tokens {
                    Tokens::Counted => (input, output),
                    Tokens::Zero | Tokens::None => (0, 0),
                };
                if teller.tokens != Tokens::None {
                    stored["gen_ai.usage.input_tokens"] = json!(input);
                    stored["gen_ai.usage.output_tokens"] = json!(output);
                }
            }
            if asked.is_refused && teller.is_own {
                stored["tracer.status"] = json!("error");
            }
            let span = spans.add(inside, &format!("chat {}", asked.model), (start, end), stored);
            if asked.is_refused {
                spans.fail("RateLimitError", "slow down");
            }
            if teller.is_named {
                above[number] = Some(span);
            }
        }
        for ran in program
            .ran
            .iter()
            .filter(|ran| ran.talk == talk && teller.has_tools)
        {
            let name = (teller.tool)(ran.name);
            let mut stored =
                scope(json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}));
            match (teller.tool_ids, &ran.id) {
                (Ids::Given, Some(id)) => stored["gen_ai.tool.call.id"] = json!(id),
                (Ids::MadeUp, _) => stored["gen_ai.tool.call.id"] = json!(format!("made-up-{}", spans.next)),
                _ => {}
            }
            let args = match teller.args {
                Args::Whole => Some(json!({"city": ran.city})),
                Args::Bare => Some(json!(ran.city)),
                Args::Wrapped => Some(json!({"args": [], "kwargs": {"city": ran.city}})),
                Args::None => None,
            };
            if let Some(args) = args {
                stored["gen_ai.tool.call.arguments"] = match args {
                    Value::String(text) => json!(text),
                    args => json!(args.to_string()),
                };
            }
            if ran.is_failed && teller.is_own {
                stored["tracer.status"] = json!("error");
            }
            spans.add(parent, &format!("execute_tool {name}"), ran.times, stored);
            if ran.is_failed {
                spans.fail("ValueError", "no such city");
            }
        }
    }
    above
}

/// The reporters of the program of a seed: the next row of the table, every third time another row besides.
pub(super) fn reporters(seed: u64) -> Vec<Teller> {
    let tellers = tellers();
    let rows = tellers.len() as u64;
    let row = |number: u64| tellers[usize::try_from(number % rows).unwrap()];
    let mut reporting = vec![row(seed)];
    if seed.is_multiple_of(3) {
        reporting.push(row(seed + 1 + seed / rows % (rows - 1)));
    }
    reporting
}

/// All spans of programs that run at once: those of their reporters, and those of the proxy.
pub(super) fn reported(programs: &[&Program], reporting: &[Teller]) -> Vec<SpanRecord> {
    let mut spans = Spans::new();
    for (number, program) in (0..).zip(programs) {
        // No two answers end in one microsecond.
        spans.microseconds = number * 300;
        let mut above = Vec::new();
        for teller in reporting {
            let named = tell(program, *teller, &mut spans);
            if teller.is_named {
                above = named;
            }
        }
        wire(program, &above, &mut spans);
    }
    spans.made
}

/// The seeds of the programs that a test tries: this many, or `PROGRAMS`; and as many from `PROGRAMS_SEED` on, which CI takes from
/// the day.
pub(super) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let asked = |name| {
        std::env::var(name)
            .ok()
            .and_then(|asked| asked.parse::<u64>().ok())
    };
    let count = asked("PROGRAMS").unwrap_or(count);
    let of_the_day = asked("PROGRAMS_SEED").map(|day| day * 1_000..day * 1_000 + count);
    (0..count).chain(of_the_day.into_iter().flatten())
}

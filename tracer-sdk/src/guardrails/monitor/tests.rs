//! The rules of the guardrails, and what must hold whatever a run does.

use proptest::prelude::*;

use super::*;
use EventType::{LlmCall, LoopWarning, StateUpdate, ToolCall};

const NOW: Duration = Duration::ZERO;

impl Monitor {
    fn answer(&self) -> Result<(), GuardrailExceeded> {
        self.tripped().cloned().map_or(Ok(()), Err)
    }

    fn recorded(&mut self, event_type: EventType, elapsed: Duration) -> Result<(), GuardrailExceeded> {
        self.record(event_type, elapsed);
        self.answer()
    }

    fn finished(&mut self, elapsed: Duration) -> Result<(), GuardrailExceeded> {
        self.finish(elapsed);
        self.answer()
    }

    fn loops_found(&mut self, shapes: u64, calls: u64) -> Result<(), GuardrailExceeded> {
        self.loop_found(shapes, calls);
        self.answer()
    }
}

/// One way in which a run meets its guardrails, at a time since its start.
type Path = fn(&mut Monitor, Duration) -> Result<(), GuardrailExceeded>;

fn count_exceeded(guardrail: Guardrail, limit: u64) -> GuardrailExceeded {
    GuardrailExceeded {
        guardrail,
        threshold: Amount::Count(limit),
        actual: Amount::Count(limit + 1),
        unpriced_calls: 0,
    }
}

#[test]
fn a_recorded_call_trips_at_one_past_the_limit() {
    let mut monitor = Monitor::new(Guardrails::new().max_llm_calls(2));
    assert_eq!(monitor.recorded(LlmCall, NOW), Ok(()));
    assert_eq!(monitor.recorded(ToolCall, NOW), Ok(()));
    assert_eq!(monitor.recorded(LlmCall, NOW), Ok(()));
    assert_eq!(
        monitor.recorded(LlmCall, NOW),
        Err(count_exceeded(Guardrail::MaxLlmCalls, 2))
    );
}

#[test]
fn a_started_call_past_the_limit_is_refused_with_the_same_numbers() {
    let mut monitor = Monitor::new(Guardrails::new().max_tool_calls(1));
    monitor.reserve(ToolCall, NOW).unwrap();
    assert_eq!(monitor.finished(NOW), Ok(()));
    let refused = monitor.reserve(ToolCall, NOW).unwrap_err();
    assert_eq!(refused, count_exceeded(Guardrail::MaxToolCalls, 1));
}

#[test]
fn calls_in_flight_count_and_a_cancelled_one_does_not() {
    let mut monitor = Monitor::new(Guardrails::new().max_llm_calls(2));
    monitor.reserve(LlmCall, NOW).unwrap();
    monitor.reserve(LlmCall, NOW).unwrap();
    monitor.cancel(LlmCall);
    monitor.reserve(LlmCall, NOW).unwrap();
    assert!(monitor.reserve(LlmCall, NOW).is_err());
    assert!(monitor.finished(NOW).is_err());
    assert!(monitor.finished(NOW).is_err());
}

#[test]
fn a_call_recorded_beside_one_in_flight_counts_on_top_of_it() {
    let mut monitor = Monitor::new(Guardrails::new().max_llm_calls(1));
    monitor.reserve(LlmCall, NOW).unwrap();
    assert_eq!(
        monitor.recorded(LlmCall, NOW),
        Err(count_exceeded(Guardrail::MaxLlmCalls, 1))
    );
}

#[test]
fn every_kind_is_an_event() {
    let kinds = [LlmCall, ToolCall, StateUpdate, EventType::Error, LoopWarning];
    let mut monitor = Monitor::new(Guardrails::new().max_events(5));
    for kind in kinds {
        assert_eq!(monitor.recorded(kind, NOW), Ok(()));
    }
    assert!(
        monitor
            .reserve(LlmCall, NOW)
            .is_err_and(|error| error == count_exceeded(Guardrail::MaxEvents, 5))
    );
}

#[test]
fn a_limit_of_zero_allows_nothing() {
    let mut monitor = Monitor::new(Guardrails::new().max_llm_calls(0));
    assert_eq!(monitor.recorded(StateUpdate, NOW), Ok(()));
    assert!(monitor.reserve(LlmCall, NOW).is_err());
}

#[test]
fn the_duration_trips_at_the_limit_on_every_path() {
    let limit = Duration::from_secs(30);
    let just_before = limit.checked_sub(Duration::from_nanos(1)).unwrap();
    let paths: [Path; 4] = [
        |monitor, elapsed| monitor.check(elapsed),
        |monitor, elapsed| monitor.recorded(StateUpdate, elapsed),
        |monitor, elapsed| monitor.reserve(LlmCall, elapsed),
        |monitor, elapsed| {
            monitor.reserve(LlmCall, NOW)?;
            monitor.finished(elapsed)
        },
    ];
    for path in paths {
        let mut monitor = Monitor::new(Guardrails::new().max_duration(limit));
        assert_eq!(path(&mut monitor, just_before), Ok(()));
        let error = path(&mut monitor, limit).unwrap_err();
        assert_eq!(error.guardrail, Guardrail::MaxDuration);
        assert_eq!(
            (error.threshold, error.actual),
            (Amount::Duration(limit), Amount::Duration(limit))
        );
    }
}

#[test]
fn a_count_is_named_before_the_duration() {
    let mut monitor = Monitor::new(Guardrails::new().max_duration(NOW).max_llm_calls(0).max_events(0));
    assert_eq!(
        monitor.recorded(LlmCall, NOW),
        Err(count_exceeded(Guardrail::MaxLlmCalls, 0))
    );
}

#[cfg(feature = "prices")]
mod costs {
    use super::*;

    const LIMIT: Usd = Usd::from_cents(50);

    fn monitor() -> Monitor {
        Monitor::new(Guardrails::new().max_cost_usd(LIMIT))
    }

    fn cents(cents: u64) -> CallSpend {
        CallSpend::Known(Usd::from_cents(cents))
    }

    fn cost_exceeded(actual: u64, unpriced_calls: u64) -> GuardrailExceeded {
        GuardrailExceeded {
            guardrail: Guardrail::MaxCost,
            threshold: Amount::Cost(LIMIT),
            actual: Amount::Cost(Usd::from_cents(actual)),
            unpriced_calls,
        }
    }

    #[test]
    fn a_cost_trips_at_the_limit_and_before_the_next_call() {
        for path in [
            (|monitor| monitor.recorded(LlmCall, NOW)) as fn(&mut Monitor) -> _,
            |monitor| monitor.reserve(LlmCall, NOW),
            |monitor| monitor.check(NOW),
        ] {
            let mut monitor = monitor();
            monitor.reserve(LlmCall, NOW).unwrap();
            assert_eq!(monitor.finished(NOW), Ok(()));
            monitor.spend(cents(49));
            assert_eq!(path(&mut monitor), Ok(()));
            monitor.spend(cents(1));
            assert_eq!(path(&mut monitor), Err(cost_exceeded(50, 0)));
            assert_eq!(monitor.recorded(ToolCall, NOW), Err(cost_exceeded(50, 0)));
        }
    }

    #[test]
    fn tools_and_calls_in_flight_go_on_past_the_limit() {
        let mut monitor = monitor();
        monitor.reserve(LlmCall, NOW).unwrap();
        monitor.reserve(LlmCall, NOW).unwrap();
        assert_eq!(monitor.finished(NOW), Ok(()));
        monitor.spend(cents(60));
        assert_eq!(monitor.recorded(ToolCall, NOW), Ok(()));
        assert_eq!(monitor.recorded(StateUpdate, NOW), Ok(()));
        assert_eq!(monitor.finished(NOW), Ok(()));
        monitor.spend(cents(60));
        assert!(
            monitor
                .reserve(LlmCall, NOW)
                .is_err_and(|error| error == cost_exceeded(120, 0))
        );
    }

    #[test]
    fn calls_without_a_price_are_named_and_stop_nothing() {
        let mut monitor = monitor();
        for _ in 0..100 {
            assert_eq!(monitor.recorded(LlmCall, NOW), Ok(()));
            monitor.spend(CallSpend::Unknown);
        }
        monitor.spend(cents(70));
        assert_eq!(monitor.check(NOW), Err(cost_exceeded(70, 100)));
    }

    #[test]
    fn a_limit_of_nothing_allows_no_call() {
        let mut monitor = Monitor::new(Guardrails::new().max_cost_usd(Usd::ZERO));
        assert_eq!(monitor.recorded(ToolCall, NOW), Ok(()));
        assert!(monitor.reserve(LlmCall, NOW).is_err());
    }

    #[derive(Debug, Clone)]
    enum CostStep {
        Start,
        Finish(usize, Option<u64>),
        Record(Option<u64>),
        Tool,
        Check,
    }

    fn any_cost_step() -> impl Strategy<Value = CostStep> {
        let cost = || prop::option::weighted(0.8, 0_u64..30);
        prop_oneof![
            4 => Just(CostStep::Start),
            4 => (any::<usize>(), cost()).prop_map(|(at, cost)| CostStep::Finish(at, cost)),
            2 => cost().prop_map(CostStep::Record),
            1 => Just(CostStep::Tool),
            1 => Just(CostStep::Check),
        ]
    }

    proptest! {
        /// A call starts exactly when what is known of finished ones is below the limit.
        #[test]
        fn no_call_starts_once_its_predecessors_are_past_the_limit(
            steps in prop::collection::vec(any_cost_step(), 0..80),
            limit in 0_u64..100,
        ) {
            let mut monitor = Monitor::new(Guardrails::new().max_cost_usd(Usd::from_cents(limit)));
            let mut in_flight = Vec::new();
            let (mut known, mut unpriced) = (0, 0);
            let mut has_tripped = false;
            let spend = |monitor: &mut Monitor, known: &mut u64, unpriced: &mut u64, cost| {
                if let Some(cost) = cost {
                    *known += cost;
                    monitor.spend(cents(cost));
                } else {
                    *unpriced += 1;
                    monitor.spend(CallSpend::Unknown);
                }
            };
            for step in steps {
                let may_start = known < limit && !has_tripped;
                let expected = GuardrailExceeded {
                    threshold: Amount::Cost(Usd::from_cents(limit)),
                    ..cost_exceeded(known, unpriced)
                };
                let answer = match step {
                    CostStep::Start => monitor.reserve(LlmCall, NOW).map(|()| in_flight.push(())),
                    CostStep::Record(cost) => {
                        let answer = monitor.recorded(LlmCall, NOW);
                        spend(&mut monitor, &mut known, &mut unpriced, cost);
                        answer
                    }
                    CostStep::Check => monitor.check(NOW),
                    CostStep::Finish(..) if in_flight.is_empty() => continue,
                    CostStep::Finish(at, cost) => {
                        in_flight.swap_remove(at % in_flight.len());
                        prop_assert_eq!(monitor.finished(NOW).is_err(), has_tripped);
                        spend(&mut monitor, &mut known, &mut unpriced, cost);
                        continue;
                    }
                    CostStep::Tool => {
                        prop_assert_eq!(monitor.recorded(ToolCall, NOW).is_err(), has_tripped);
                        continue;
                    }
                };
                prop_assert_eq!(answer.is_ok(), may_start);
                if let Err(error) = answer
                    && !has_tripped
                {
                    has_tripped = true;
                    prop_assert_eq!(error, expected);
                }
            }
        }
    }
}

#[test]
fn stop_on_loop_trips_at_min_repetitions() {
    let stops = |guardrails: Guardrails, repetitions| {
        Monitor::new(guardrails)
            .loops_found(repetitions, repetitions)
            .is_err()
    };
    assert!(!stops(Guardrails::new(), 100));
    assert!(!stops(
        Guardrails::new()
            .stop_on_loop(false)
            .stop_on_loop_min_repetitions(2),
        100
    ));
    assert!(!stops(Guardrails::new().stop_on_loop(true), 2));
    assert!(stops(Guardrails::new().stop_on_loop(true), 3));
    let five = Guardrails::new()
        .stop_on_loop(true)
        .stop_on_loop_min_repetitions(5);
    assert!(!stops(five.clone(), 4));
    assert!(stops(five, 5));
    let too_few = Guardrails::new()
        .stop_on_loop(true)
        .stop_on_loop_min_repetitions(0);
    assert!(!stops(too_few.clone(), 1));
    assert!(stops(too_few, 2));
}

#[derive(Debug, Clone)]
enum Step {
    Reserve(EventType),
    Finish(usize),
    Cancel(usize),
    Record(EventType),
    Loop(u64),
    Check,
}

fn any_kind() -> impl Strategy<Value = EventType> {
    prop::sample::select(vec![
        LlmCall,
        ToolCall,
        StateUpdate,
        EventType::Error,
        LoopWarning,
    ])
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_kind().prop_map(Step::Reserve),
        2 => any::<usize>().prop_map(Step::Finish),
        2 => any::<usize>().prop_map(Step::Cancel),
        2 => any_kind().prop_map(Step::Record),
        1 => (0u64..6).prop_map(Step::Loop),
        1 => Just(Step::Check),
    ]
}

fn any_limits() -> impl Strategy<Value = Guardrails> {
    let limit = || prop::option::of(0u64..8);
    (
        limit(),
        limit(),
        limit(),
        prop::option::of(0u64..60),
        prop::option::of(prop::sample::select(vec![
            StopOnLoop::Never,
            StopOnLoop::Calls,
            StopOnLoop::Shape,
        ])),
    )
        .prop_map(
            |(llm_calls, tool_calls, events, seconds, stop_on_loop)| Guardrails {
                max_llm_calls: llm_calls,
                max_tool_calls: tool_calls,
                max_events: events,
                max_duration: seconds.map(Duration::from_secs),
                stop_on_loop,
                stop_on_loop_min_repetitions: None,
                ..Guardrails::default()
            },
        )
}

proptest! {
    #[test]
    fn nothing_passes_a_limit_and_a_tripped_run_stays_tripped(
        limits in any_limits(),
        steps in prop::collection::vec((any_step(), 0u64..3), 0..60),
    ) {
        let mut monitor = Monitor::new(limits.clone());
        let mut in_flight: Vec<EventType> = Vec::new();
        let mut allowed: Vec<EventType> = Vec::new();
        let mut first: Option<GuardrailExceeded> = None;
        let mut elapsed = Duration::ZERO;
        for (step, seconds) in steps {
            elapsed += Duration::from_secs(seconds);
            let place = |at: usize, in_flight: &Vec<EventType>| (!in_flight.is_empty()).then(|| at % in_flight.len());
            let answer = match step {
                Step::Reserve(kind) => monitor.reserve(kind, elapsed).map(|()| {
                    in_flight.push(kind);
                    allowed.push(kind);
                }),
                Step::Record(kind) => monitor.recorded(kind, elapsed).map(|()| allowed.push(kind)),
                Step::Finish(at) => match place(at, &in_flight) {
                    Some(at) => { in_flight.remove(at); monitor.finished(elapsed) },
                    None => continue,
                },
                Step::Cancel(at) => {
                    if let Some(at) = place(at, &in_flight) {
                        let reservation = in_flight.remove(at);
                        let position = allowed.iter().rposition(|kind| *kind == reservation).unwrap();
                        allowed.remove(position);
                        monitor.cancel(reservation);
                    }
                    continue;
                }
                Step::Loop(repetitions) => monitor.loops_found(repetitions, repetitions),
                Step::Check => monitor.check(elapsed),
            };
            prop_assert_eq!(answer.as_ref().err(), monitor.tripped());
            if let Some(first) = &first {
                prop_assert_eq!(answer.as_ref().err(), Some(first));
            } else if let Err(error) = answer {
                if let (Amount::Count(threshold), Amount::Count(actual)) = (error.threshold, error.actual) {
                    let expected = if error.guardrail == Guardrail::StopOnLoop { threshold..=u64::MAX } else { threshold + 1..=threshold + 1 };
                    prop_assert!(expected.contains(&actual), "{error}");
                }
                first = Some(error);
            }
            let passed = |kind| allowed.iter().filter(|other| **other == kind).count() as u64;
            prop_assert!(passed(LlmCall) <= limits.max_llm_calls.unwrap_or(u64::MAX));
            prop_assert!(passed(ToolCall) <= limits.max_tool_calls.unwrap_or(u64::MAX));
            prop_assert!(allowed.len() as u64 <= limits.max_events.unwrap_or(u64::MAX));
        }
    }
}

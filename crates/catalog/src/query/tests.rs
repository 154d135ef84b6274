//! Queries: how they read, what they match, and that no text breaks them.

use std::time::Instant;

use proptest::prelude::*;
use rusqlite::OptionalExtension;
use serde_json::json;
use tracer_insight::status::RunStatus;
use tracer_insight::step_summary;
use tracer_runs::{CancelToken, RunReader, Strictness};
use tracer_sdk::format::Timestamp;

use super::*;
use crate::tests::support::{SampleRun, SampleSpan, Sandbox, listed};
use crate::{FactsStore, RunCatalog, RunColumn, RunOrder};

fn parse(text: &str) -> RunQuery {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn store() -> (Sandbox, RunCatalog) {
    let sandbox = Sandbox::new();
    let refunds = SampleRun::new(1, "support-agent")
        .span(SampleSpan::model(
            1,
            "gpt-5-mini",
            "Where is my refund?",
            "I look it up.",
        ))
        .span(SampleSpan::tool(
            2,
            "search_kb",
            &json!({"query": "refund policy"}),
            &json!({"hits": 0}),
        ))
        .span(SampleSpan::tool(
            3,
            "write_mail",
            &json!({"to": "ada"}),
            &json!({}),
        ))
        .span(SampleSpan::model(4, "gpt-5-mini", "Write", "Dear Ada"))
        .attribute("tracer.tag.commit", "3f2a91c")
        .attribute("tracer.tag.customer", "Ada")
        .attribute("session.id", "chat-1");
    sandbox.write(&refunds);
    let failing = SampleRun::new(2, "billing-agent - 2026-01-01 08:00")
        .span(
            SampleSpan::tool(1, "search_kb", &json!({"query": "invoice"}), &json!({}))
                .failed("asyncio.TimeoutError", "no answer"),
        )
        .span(SampleSpan::tool(
            2,
            "search_kb",
            &json!({"query": "invoice"}),
            &json!({"hits": 2}),
        ))
        .span(SampleSpan::tool(
            3,
            "refund_api",
            &json!({"order": "refund 7"}),
            &json!({}),
        ))
        .failed("AgentError", "gave up");
    sandbox.write(&failing);
    let test = SampleRun::new(3, "test")
        .attribute("tracer.question", "Mend the test")
        .attribute("tracer.answer", "It is mended");
    sandbox.write(&test);
    let runs = sandbox.catalog();
    (sandbox, runs)
}

/// The numbers of the runs that match, in their order.
fn matching(runs: &RunCatalog, query: &str) -> String {
    let now = "2026-01-01T00:01:00Z".parse().unwrap();
    let matching = runs.select(&parse(query), true, now, &CancelToken::default(), |_| ());
    let order = RunOrder {
        column: RunColumn::Id,
        ..RunOrder::default()
    };
    let listed = runs.page(&matching.unwrap(), order, 0, usize::MAX).unwrap();
    let numbers = listed
        .iter()
        .map(|run| run.directory.trace_id.to_string()[7..8].to_owned());
    numbers.collect()
}

#[test]
fn a_running_run_has_taken_until_now_and_an_interrupted_one_what_nobody_knows() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let matches = |status: &str, query: &str| -> bool {
        let filter = SqlFilter::new(&parse(query), true, Timestamp::from_unix_microseconds(5_000_000));
        let row = format!("SELECT '{status}' AS current_status, NULL AS duration, 7 AS started");
        let query = format!("SELECT EXISTS (SELECT 1 FROM ({row}) WHERE {})", filter.possible);
        connection.query_row(&query, [], |row| row.get(0)).unwrap()
    };
    assert!(matches("running", "duration>1s") && !matches("running", "duration>6s"));
    for query in ["duration>1s", "duration<1s", "-duration>1s"] {
        assert!(!matches("interrupted", query), "{query}");
    }
}

#[test]
fn the_steps_of_runs_decide_where_their_names_were_too_many() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    register(&connection, &tracer_sdk::prices::Prices::default()).unwrap();
    let found = |query: &str| -> Option<bool> {
        let filter = SqlFilter::new(&parse(query), true, Timestamp::from_unix_microseconds(0));
        let row = r#"SELECT '{"t": {"a": {"n": 1}, "…": {"n": 9, "f": 1}}, "e": {"E": {"n": 1}}}' AS facts"#;
        let query = format!(
            "SELECT {} FROM ({row}) WHERE {}",
            filter.undecided, filter.possible
        );
        let parameters = rusqlite::params_from_iter(&filter.parameters);
        connection
            .query_row(&query, parameters, |row| row.get(0))
            .optional()
            .unwrap()
    };
    for (query, is_undecided) in [
        ("tool:a", Some(false)),
        ("tool:b", Some(true)),
        ("-tool:a", None),
        ("-tool:b", Some(true)),
        ("failed:a", Some(true)),
        ("model:a", None),
        ("-model:a", Some(false)),
        ("error:E", Some(false)),
        ("-error:E", None),
    ] {
        assert_eq!(found(query), is_undecided, "{query}");
    }
}

#[test]
fn runs_match_when_every_term_holds() {
    let (_sandbox, runs) = store();
    for (query, expected) in [
        ("", "123"),
        ("name:test", "3"),
        ("-name:test", "12"),
        ("name:agent", ""),
        ("name~AGENT", "12"),
        ("name:*agent", "1"),
        ("agent:billing-agent", "2"),
        ("id:00000002", "2"),
        ("status:failed", "2"),
        ("status:ok,failed -status:ok", "2"),
        ("tool:search_kb", "12"),
        ("tool:search", ""),
        ("tool:search* tool:write_mail", "1"),
        ("-tool:search_kb", "3"),
        ("model:gpt-5*", "1"),
        ("model:gpt-5", ""),
        ("error:Timeout", "2"),
        ("error:timeouterror", "2"),
        ("error:AgentError", "2"),
        ("error:Agent status:failed", "2"),
        ("error:Time", ""),
        ("commit:3f2a", "1"),
        ("tag:commit", "1"),
        ("tag:customer=ada", "1"),
        ("tag:customer=bob", ""),
        ("session:chat-1", "1"),
        ("has:answer", "13"),
        ("-has:answer", "2"),
        ("has:retry", "2"),
        ("has:error", "2"),
        ("tokens>800", "1"),
        ("tokens>=870 tokens<=870 tokens:870", "1"),
        // What is not known is neither more nor not more.
        ("-tokens>10k", "1"),
        ("cached:200", "1"),
        ("cost>0", ""),
        ("-cost>0", "23"),
        ("duration>300ms", "123"),
        ("duration:>0.4s", ""),
        // Of a run without calls, nobody knows.
        ("slowest>10ms", "12"),
        ("-slowest>100ms", "2"),
        ("tool:* slowest>100ms", ""),
        ("model:* slowest>100ms", "1"),
        ("tool:search_kb model:gpt-5 slowest>100ms", ""),
        // Of the last one that is named.
        ("tool:search_kb model:gpt-5-mini slowest>100ms", "1"),
        ("model:gpt-5-mini tool:search_kb slowest>100ms", ""),
        ("tool:search_kb slowest>10ms -model:gpt-5", "12"),
        ("steps:4", "12"),
        ("llm_calls:2 tool_calls<3", "1"),
        ("failures:1 retries:1 errors:1", "2"),
        ("since:2026-01-01T00:00:02Z", "23"),
        ("since:59s", "123"),
        ("until:2026-01-01T00:00:02Z", "1"),
        // In the steps.
        ("args~refund", "12"),
        ("tool:search_kb args~refund", "1"),
        ("-args~refund", "3"),
        ("result~hits", "12"),
        ("prompt~\"my refund\" answer~ada", ""),
        ("prompt~\"my refund\" model:gpt-5-mini", "1"),
        ("prompt~mend answer~mended", "3"),
        ("answer~mended -name:test", ""),
        ("\"gave up\"", "2"),
        ("refund invoice", "2"),
        ("refund -invoice", "1"),
        ("kind:llm", "1"),
        ("-kind:llm,tool", "3"),
        ("\"Where is my refund?\" tool:search_kb error:Timeout", ""),
    ] {
        assert_eq!(matching(&runs, query), expected, "{query}");
    }
}

#[test]
fn a_query_of_runs_says_which_steps_it_asks_for() {
    for (query, expected) in [
        ("", None),
        ("name:agent tokens>10k", None),
        ("tool:search_kb since:7d", None),
        ("refund", Some("refund")),
        (
            "tool:search_kb args~refund status:failed",
            Some("tool:search_kb args~refund"),
        ),
        ("error:Timeout -tool:search_kb", Some("error:Timeout")),
        ("model:gpt-5 slowest>3s", Some("model:gpt-5 duration>3s")),
        ("slowest>=3s", Some("duration>=3s kind:llm,tool")),
        ("slowest<3s", None),
        // There is no step that is both.
        ("tool:search_kb prompt~refund", None),
        // Each holds in a step, and no step need meet both.
        ("tool:search_kb tool:write_mail slowest>1ms", None),
        ("model:gpt-5* model:gpt-5-mini answer~refund", None),
        ("refund invoice", None),
        ("error:Timeout error:AgentError", None),
        ("kind:llm kind:tool", None),
        (
            "tool:search_kb args~refund args~invoice",
            Some("tool:search_kb args~refund args~invoice"),
        ),
    ] {
        let steps = parse(query).of_steps();
        assert_eq!(steps.as_deref(), expected, "{query}");
        assert!(
            steps.is_none_or(|steps| steps.parse::<StepQuery>().is_ok()),
            "{query}"
        );
    }
}

#[test]
fn a_hit_meets_all_conditions_on_steps() {
    let (sandbox, _) = store();
    let runs = listed(&FactsStore::new(sandbox.path()));
    let hits = |query: &str| {
        let test = StepQuery::of_runs(&parse(query));
        let mut hits = Vec::new();
        for run in &runs {
            for record in RunReader::open(&run.directory.path, Strictness::Lenient)
                .unwrap()
                .records
            {
                let record = record.unwrap();
                let mut columns = StepColumns::new(record.event_type().into(), &record.name);
                if step_summary::failed(&record) {
                    columns.status = RunStatus::Failed;
                }
                let is_hit = test.matches(&columns, Some(&record));
                let by_columns = test.matches(&columns, None);
                assert!(by_columns.is_none() || by_columns == is_hit, "{query}");
                if is_hit == Some(true) && is_step(&record) {
                    hits.push(record.name);
                }
            }
        }
        hits.join(" ")
    };
    assert_eq!(hits("refund"), "refund_api gpt-5-mini search_kb");
    assert_eq!(hits("tool:search_kb args~refund"), "search_kb");
    assert_eq!(hits("tool:search_kb refund"), "search_kb");
    assert_eq!(hits("error:Timeout"), "search_kb");
    assert_eq!(
        hits("tool:write_mail model:gpt*"),
        "gpt-5-mini write_mail gpt-5-mini"
    );
    assert_eq!(hits("kind:llm -refund"), "gpt-5-mini");
    assert_eq!(hits("kind:error"), "billing-agent - 2026-01-01 08:00");
    assert!(StepQuery::of_runs(&parse("status:failed -refund")).is_empty());
}

#[test]
fn what_cannot_be_meant_says_what_can() {
    for (query, expected) in [
        ("tol:x", "did you mean `tool`?"),
        ("tokns>10k", "did you mean `tokens`?"),
        ("latency>1s", "did you mean `duration`?"),
        ("tol:\"a b\" c", r#"in quotes it is a text: "tol:\"a b\"""#),
        ("zebra:stripes", "only name, agent, id"),
        ("status:fine", "`status` takes one of these"),
        ("status~ok", "`status` takes one of these"),
        ("kind:run", "`kind` takes one of these"),
        ("has:wings", "`has` takes one of answer"),
        ("since:soon", "`since` takes an age (30m"),
        ("tokens>many", "`tokens` takes a number: >10k"),
        ("tokens>1.5", "`tokens` takes a number"),
        ("tokens~3", "`tokens` takes a number"),
        ("duration>3 apples", ""),
        ("duration>3x", "`duration` takes a duration"),
        ("cost>0.0000001", "`cost` takes dollars"),
        ("tokens>99999999999999999999", "`tokens` takes a number"),
        ("name>a", "`name` takes a text: name:TEXT"),
        ("\"open", "a quotation is not closed"),
        ("name:\"open", "a quotation is not closed"),
    ] {
        let read = query.parse::<RunQuery>();
        if expected.is_empty() {
            assert!(read.is_ok(), "{query}");
        } else {
            let message = read.expect_err(query).to_string();
            assert!(message.contains(expected), "{query}: {message}");
        }
    }
    assert_eq!("x".repeat(1_001).parse::<RunQuery>(), Err(QueryError::TooLong));
}

#[test]
fn a_text_with_a_sign_is_no_field() {
    for text in [
        "https://a.example/b",
        "std::io",
        "10:30",
        "TimeoutError:",
        "main.rs:12",
        "C:\\agent",
        "Vec<u8>",
        "a->b",
        "x=1",
        "-",
        ":",
        "größe:1",
        "==",
    ] {
        assert_eq!(
            parse(text).terms[0].condition,
            Condition::Text(text.to_owned()),
            "{text}"
        );
    }
    assert_eq!(parse("\"model:gpt-5\" error: no").terms.len(), 3);
}

#[test]
fn a_query_prints_in_one_form() {
    for (query, printed) in [
        ("  tool:search_kb   tokens>10k ", "tool:search_kb tokens>10000"),
        (
            "TOOL:x duration:>1.5s duration<20ms",
            "tool:x duration>1500ms duration<20ms",
        ),
        ("cost>=$0.05", "cost>=0.050000"),
        ("since:7d -status:error", "since:604800s -status:failed"),
        ("args:refund", "args~refund"),
        (
            "\"free text\" \"word\" \"-dash\" \"a:b\"",
            "\"free text\" word \"-dash\" \"a:b\"",
        ),
        ("name:\"C:\\dir\"", "name:\"C:\\\\dir\""),
    ] {
        assert_eq!(parse(query).to_string(), printed);
    }
}

#[test]
fn hostile_patterns_cost_little() {
    let sandbox = Sandbox::new();
    sandbox.write(&SampleRun::new(1, &"a".repeat(20_000)));
    let runs = sandbox.catalog();
    let begun = Instant::now();
    for pattern in [
        format!("name:{}b", "*a".repeat(490)),
        format!("name:{}b", "a*".repeat(490)),
        format!("name:*{}b", "a".repeat(900)),
        format!("name:{}b*", "?*".repeat(490)),
        format!("name~{}b", "a".repeat(900)),
    ] {
        assert_eq!(matching(&runs, &pattern), "");
    }
    // Seconds would be exponential; this is a bound on no machine's speed.
    assert!(begun.elapsed().as_secs() < 20);
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let text = || prop_oneof!["[ -~]{1,12}", "\\PC{1,8}", "[a-z]{1,6}[:~<>][a-z\"0-9 ]{0,5}"];
    let since = prop_oneof![
        (0_i64..1_000_000).prop_map(|seconds| Since::Ago(seconds * 1_000_000)),
        (0_i64..2_000_000_000_000_000).prop_map(|at| Since::At(Timestamp::from_unix_microseconds(at))),
    ];
    prop_oneof![
        text().prop_map(Condition::Text),
        (
            prop::sample::select(TextField::ALL.to_vec()),
            any::<bool>(),
            text()
        )
            .prop_map(|(field, whole, value)| {
                let is = whole && !field.is_in_steps();
                Condition::Field {
                    field,
                    comparison: if is {
                        TextComparison::Is
                    } else {
                        TextComparison::Contains
                    },
                    value,
                }
            }),
        (
            prop::sample::select(NumberField::ALL.to_vec()),
            prop::sample::select(vec![
                NumberComparison::Exactly,
                NumberComparison::MoreThan,
                NumberComparison::AtLeast,
                NumberComparison::LessThan,
                NumberComparison::AtMost,
            ]),
            any::<u64>(),
        )
            .prop_map(|(field, comparison, number)| Condition::Number {
                field,
                comparison,
                number
            }),
        prop::collection::vec(prop::sample::select(RunStatus::ALL.to_vec()), 1..4)
            .prop_map(Condition::Status),
        prop::collection::vec(prop::sample::select(StepKind::OF_STEPS.to_vec()), 1..4)
            .prop_map(Condition::Kind),
        prop::sample::select(Feature::ALL.to_vec()).prop_map(Condition::Has),
        since.clone().prop_map(Condition::Since),
        since.prop_map(Condition::Until),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        if let Ok(query) = text.parse::<RunQuery>() {
            prop_assert_eq!(query.to_string().parse::<RunQuery>(), Ok(query));
        }
    }

    #[test]
    fn a_query_reads_as_what_it_prints(
        terms in prop::collection::vec((any::<bool>(), any_condition()), 0..6),
    ) {
        let terms = terms.into_iter().map(|(is_negated, condition)| QueryTerm { is_negated, condition });
        let query = RunQuery { terms: terms.collect() };
        let printed = query.to_string();
        prop_assume!(printed.chars().count() <= 1_000);
        prop_assert_eq!(printed.parse::<RunQuery>(), Ok(query), "{}", printed);
    }

    #[test]
    fn texts_like_queries_read_or_are_refused(
        text in "(-?(tool|args|tokens|since|status|tol)?[:~<>]=?(\"[a-z ]*\"?|[a-z0-9*.]*) ?){0,5}",
    ) {
        if let Ok(query) = text.parse::<RunQuery>() {
            prop_assert_eq!(query.to_string().parse::<RunQuery>(), Ok(query));
        }
    }
}

//! A receiver that is killed at any moment: what it acknowledged is on the disk, statuses are true, and sending again
//! completes the runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::process::{Receiving, batch, chat_span, post, root_span, span};
use crate::sandbox::Sandbox;

/// How many kills: few by default, `TRACER_TEST_KILLS` in the slow step of CI.
fn kills() -> u64 {
    let kills = std::env::var("TRACER_TEST_KILLS").ok();
    kills.map_or(4, |kills| kills.parse().expect("TRACER_TEST_KILLS is a number"))
}

/// Traces of agents, and one of somebody else's.
const TRACES: u64 = 3;
/// Batches of each trace before its root.
const BATCHES: u64 = 40;

fn trace_id(trace: u64) -> String {
    format!("{:032x}", 0xabc0 + trace)
}

fn root_id(trace: u64) -> String {
    format!("{:016x}", 0xffff_0000 + trace)
}

/// All requests in their order: a batch of each trace in turn, and the roots at the end.
fn requests() -> Vec<Vec<Value>> {
    let mut requests = Vec::new();
    for number in 0..BATCHES {
        for trace in 0..TRACES {
            let (id, root) = (trace_id(trace), root_id(trace));
            let first = 1 + number * 3;
            requests.push(vec![
                chat_span(&id, first, &root),
                span(&id, first + 1, Some(&root), "step"),
                span(&id, first + 2, Some(&root), "step"),
            ]);
        }
        let stranger = trace_id(TRACES);
        requests.push(vec![span(&stranger, number + 1, None, "GET /")]);
    }
    requests.extend((0..TRACES).map(|trace| vec![root_span(&trace_id(trace), &root_id(trace))]));
    requests
}

/// Sends until the receiver is gone or refuses; how many requests were acknowledged, and what came instead of the next.
fn send(address: &str, requests: &[Vec<Value>]) -> (usize, Option<io::Result<u16>>) {
    let mut stream = match TcpStream::connect(address) {
        Ok(stream) => stream,
        Err(error) => return (0, Some(Err(error))),
    };
    for (acknowledged, spans) in requests.iter().enumerate() {
        match post(&mut stream, "/v1/traces", &batch(spans), "") {
            Ok(200) => {}
            other => return (acknowledged, Some(other)),
        }
    }
    (requests.len(), None)
}

/// Sends everything again, as exporters do: what is refused for a moment is tried once more.
fn repeat(address: &str, requests: &[Vec<Value>], round: u64) {
    let mut refusals = Vec::new();
    while refusals.len() < 20 {
        let (acknowledged, refusal) = send(address, requests);
        let Some(refusal) = refusal else { return };
        refusals.push((acknowledged, refusal));
        thread::sleep(Duration::from_millis(250));
    }
    panic!("round {round}: {refusals:?}");
}

fn keys(spans: &[Value]) -> impl Iterator<Item = (String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    spans
        .iter()
        .map(move |span| (text(&span["traceId"]), text(&span["spanId"])))
}

/// The spans on the disk, staged or in runs, and how often each is there.
fn on_disk(sandbox: &Sandbox) -> BTreeMap<(String, String), usize> {
    let mut found = BTreeMap::new();
    for (path, bytes) in crate::sandbox::contents(&sandbox.data_dir()) {
        if path.file_name().is_none_or(|name| name != "spans.jsonl") {
            continue;
        }
        for line in String::from_utf8_lossy(&bytes).lines() {
            // The last line may be torn: it was not acknowledged.
            let Ok(span) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let key = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
            *found.entry((key("trace_id"), key("span_id"))).or_default() += 1;
        }
    }
    found
}

fn statuses(sandbox: &Sandbox) -> BTreeSet<String> {
    let list = sandbox.tracer(&["list", "--limit", "all", "--json"]).json();
    assert_eq!(list["damaged"], serde_json::json!([]), "{list}");
    let runs = list["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run_status"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn nothing_acknowledged_is_lost_in_a_kill() {
    let requests = requests();
    // Any seed does; a failure prints the round, whose delay is always the same.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..kills() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let delay = Duration::from_micros((random >> 33) % 250_000);
        let sandbox = Sandbox::new();
        let receiving = Receiving::start(&sandbox, &[]);
        let address = receiving.address().to_owned();
        let (acknowledged, _) = thread::scope(|scope| {
            let sending = scope.spawn(|| send(&address, &requests));
            thread::sleep(delay);
            drop(receiving);
            sending.join().unwrap()
        });
        let expected: BTreeSet<_> = requests[..acknowledged]
            .iter()
            .flat_map(|spans| keys(spans))
            .collect();

        let found = on_disk(&sandbox);
        let lost: Vec<_> = expected.iter().filter(|key| !found.contains_key(*key)).collect();
        assert!(
            lost.is_empty(),
            "round {round}, {acknowledged} acknowledged: {lost:?}"
        );
        // A dead receiver writes nothing any more, and only a root that arrived completes a run.
        assert!(!statuses(&sandbox).contains("running"), "round {round}");

        let mut again = Receiving::start(&sandbox, &[]);
        let found = on_disk(&sandbox);
        let lost: Vec<_> = expected.iter().filter(|key| !found.contains_key(*key)).collect();
        assert!(lost.is_empty(), "round {round}, after the restart: {lost:?}");
        repeat(again.address(), &requests, round);
        again.interrupt();

        // Calls at once are no loop, though they are the same.
        assert_eq!(
            statuses(&sandbox),
            BTreeSet::from(["ok".to_owned()]),
            "round {round}"
        );
        let found = on_disk(&sandbox);
        for (trace, count) in (0..TRACES).map(|trace| (trace_id(trace), BATCHES * 3 + 1)) {
            let spans: Vec<usize> = found
                .iter()
                .filter(|((id, _), _)| *id == trace)
                .map(|(_, times)| *times)
                .collect();
            assert_eq!(spans.len() as u64, count, "round {round}");
            assert!(
                spans.iter().all(|times| *times == 1),
                "round {round}: a span is there twice"
            );
            let validated = sandbox.tracer(&["validate-trace", &format!("data/runs/{trace}")]);
            assert_eq!(validated.code, Some(0), "round {round}: {validated:?}");
        }
        // What was nobody's run is gone.
        assert!(
            !found.keys().any(|(id, _)| *id == trace_id(TRACES)),
            "round {round}"
        );
    }
}

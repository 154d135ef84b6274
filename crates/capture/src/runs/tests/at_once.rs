//! Many senders at once: traces do not wait for each other, and nothing is lost.

use std::thread;

use super::*;

#[test]
fn a_trace_that_is_being_written_holds_up_no_other() {
    let bench = Bench::new();
    bench.send(vec![agent(1, 1, 0)]);
    let first = TraceId::from_u128(1).unwrap();
    bench.collector.traces.with(first, Duration::ZERO, |_| {
        bench.send(vec![agent(2, 1, 0)]);
        bench.pass(3);
        assert_eq!(bench.run(2).meta.status, RecordedStatus::Ok);
        assert_eq!(bench.run(1).meta.status, RecordedStatus::Running);
        assert_eq!(bench.collector.summary().started_runs, 2);
    });
    bench.pass(1);
    assert_eq!(bench.run(1).meta.status, RecordedStatus::Ok);
}

/// Each of eight threads sends a part of every trace, of which two fit into memory; a ninth ends what has ended.
#[test]
fn what_many_send_at_once_is_all_there() {
    const TRACES: u128 = 6;
    const SENDERS: u64 = 8;
    let bench = Bench::with(|options| options.max_open_traces = 2);
    thread::scope(|scope| {
        for sender in 1..=SENDERS {
            let bench = &bench;
            scope.spawn(move || {
                for trace in 1..=TRACES {
                    bench.send(vec![chat(trace, sender + 1, 1), tool(trace, sender + 101, 1)]);
                    let unnamed = span(trace + 100, sender, 9, "claude_code.tool", 1, 2);
                    bench.send(vec![unnamed]);
                }
                for trace in 1..=TRACES {
                    bench.send(vec![agent(trace, 1, 0)]);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..20 {
                bench.collector.tick();
            }
        });
    });
    let summary = bench.collector.close();
    assert_eq!((summary.rejected, summary.differing), (0, 0));
    for trace in 1..=TRACES {
        let run = bench.run(trace);
        assert_eq!(run.spans.len() as u64, 2 * SENDERS + 1);
        assert_eq!(run.meta.counts, run.counts());
        let tools = bench.run(trace + 100).spans;
        let tools = tools.iter().filter(|span| span.name == "claude_code.tool");
        assert_eq!(tools.count() as u64, SENDERS);
    }
    assert_eq!(
        (summary.completed_runs, bench.staged()),
        (2 * u64::try_from(TRACES).unwrap(), 0)
    );
}

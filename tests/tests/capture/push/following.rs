//! Following: what runs record is sent as they do.

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;
use tracer_sdk::tool_call;
use tracer_ship::{OtlpDestination, RunSelection, ShipError, ShipEvent, ShipSummary, Shipper};
use tracer_tests::collector::Reply;
use tracer_tests::{Collector, DataDir, wait_until};

use super::{endless, ids, options, record, recorded_ids, runs, settings};

/// A pusher that follows on a thread of its own.
struct Follower {
    stop: Option<oneshot::Sender<()>>,
    events: mpsc::Receiver<ShipEvent>,
    thread: thread::JoinHandle<Result<ShipSummary, ShipError>>,
}

impl Follower {
    fn start(data: &DataDir, collector: &Collector, followed: RunSelection) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, events) = mpsc::channel();
        let mut options = options();
        options.retry = endless();
        options.follow = true;
        let destination = OtlpDestination::new(&settings(collector, &[]), true).unwrap();
        let mut shipper = Shipper::open(data.path(), destination, options).unwrap();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let stopped = async {
                let _ = stopped.await;
            };
            runtime.block_on(shipper.ship(&followed, stopped, &mut |event| {
                let _ = sender.send(event);
            }))
        });
        Self {
            stop: Some(stop),
            events,
            thread,
        }
    }

    fn stop(mut self) -> ShipSummary {
        self.stop.take().unwrap().send(()).unwrap();
        self.thread.join().unwrap().unwrap()
    }

    fn ended(self) -> ShipSummary {
        let _stop = self.stop;
        self.thread.join().unwrap().unwrap()
    }
}

fn names(collector: &Collector) -> Vec<String> {
    collector.spans().into_iter().map(|span| span.name).collect()
}

#[test]
fn a_run_is_sent_as_it_grows_and_its_root_at_its_end() {
    let data = DataDir::new();
    let collector = Collector::start([]);
    let follower = Follower::start(&data, &collector, RunSelection::default());
    let run = data.run("support-agent").start();
    tool_call("first").record().unwrap();
    wait_until("the first call is sent", || names(&collector) == ["first"]);
    tool_call("second").record().unwrap();
    wait_until("the second call is sent", || {
        names(&collector) == ["first", "second"]
    });
    run.finish();
    wait_until("the root is sent", || {
        names(&collector) == ["first", "second", "support-agent"]
    });
    wait_until("the run is reported", || {
        follower
            .events
            .try_iter()
            .any(|event| matches!(event, ShipEvent::Completed { spans: Some(3), .. }))
    });
    record(&data, "another");
    wait_until("the next run is sent", || collector.spans().len() == 6);
    let summary = follower.stop();
    assert_eq!((summary.runs, summary.sent_spans, summary.open_runs), (2, 6, 0));
    assert_eq!(ids(&collector.spans()), recorded_ids(&data));
}

#[test]
fn named_runs_are_followed_to_their_end() {
    let data = DataDir::new();
    record(&data, "another");
    let others = runs(&data);
    let run = data.run("support-agent").start();
    tool_call("first").record().unwrap();
    wait_until("the run is on the disk", || runs(&data).len() == 2);
    let mut named = runs(&data);
    named.retain(|run| !others.contains(run));
    let collector = Collector::start([]);
    let follower = Follower::start(&data, &collector, RunSelection::These(named));
    wait_until("the first call is sent", || names(&collector) == ["first"]);
    run.finish();
    let summary = follower.ended();
    assert_eq!((summary.runs, summary.sent_spans), (1, 2));
    assert_eq!(names(&collector), ["first", "support-agent"]);
}

#[test]
fn an_outage_is_waited_out_however_long() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let collector = Collector::start([]);
    collector.then(Reply::status(503));
    let follower = Follower::start(&data, &collector, RunSelection::default());
    wait_until("it keeps trying", || collector.requests().len() > 10);
    collector.then(Reply::ok());
    wait_until("it is sent", || collector.spans().len() == 3);
    assert_eq!(follower.stop().sent_spans, 3);
}

#[test]
fn it_stops_while_the_endpoint_is_out_of_order() {
    let data = DataDir::new();
    record(&data, "support-agent");
    let collector = Collector::start([]);
    let retry_after = vec![("retry-after", "3000".to_owned())];
    collector.then(Reply::Status(503, retry_after, Vec::new()));
    let follower = Follower::start(&data, &collector, RunSelection::default());
    wait_until("it waits", || !collector.requests().is_empty());
    let summary = follower.stop();
    assert_eq!((summary.sent_spans, summary.is_stopped), (0, true));
    collector.then(Reply::ok());
    assert_eq!(super::push(&data, &collector).sent_spans, 3, "nothing is lost");
}

#[test]
fn a_run_that_is_deleted_meanwhile_stops_nothing() {
    let data = DataDir::new();
    let collector = Collector::start([]);
    let follower = Follower::start(&data, &collector, RunSelection::default());
    record(&data, "first");
    wait_until("it is sent", || collector.spans().len() == 3);
    std::fs::remove_dir_all(&data.run_dirs()[0]).unwrap();
    record(&data, "second");
    wait_until("the next is sent", || collector.spans().len() == 6);
    assert_eq!(follower.stop().runs, 2);
}

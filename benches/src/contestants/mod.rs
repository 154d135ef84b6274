//! Who is measured. Each contestant opens a session on a fresh directory, records in it, and brings everything to the
//! file on request.

mod fastrace;
mod json_lines;
mod limits;
mod opentelemetry;
mod tracer;
mod tracing;

use std::any::Any;
use std::path::Path;

use crate::work::SpanWork;

/// One way to record.
pub struct Contestant {
    pub name: &'static str,
    pub kind: ContestantKind,
    pub open: fn(&Path, SpanWork) -> BenchSession,
}

/// What a contestant is in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContestantKind {
    /// What no recorder can be faster than.
    Limit,
    /// This SDK.
    Own,
    /// This SDK with nothing to do.
    Idle,
    /// Another library.
    Peer,
}

/// A contestant that is ready to record one kind of work.
pub struct BenchSession {
    /// Records this many spans on the thread that calls it.
    pub record: Box<dyn Fn(usize) + Send + Sync>,
    /// Called when `record` has been dropped, and with it the run's own span where it needs one. Returns when everything recorded is in the file or lost. What it returns is dropped when the clock has stopped:
    /// that ends the run and stops whatever runs in the background.
    pub flush: Box<dyn FnOnce() -> Box<dyn Any>>,
}

/// Everybody, in the order of the table. The first one is the measure of the others.
pub const ALL: &[Contestant] = &[
    Contestant {
        name: "one bare write per span",
        kind: ContestantKind::Limit,
        open: limits::bare_write,
    },
    Contestant {
        name: "hand-formatted, 64 KiB blocks",
        kind: ContestantKind::Limit,
        open: limits::blocks,
    },
    Contestant {
        name: "tracer-sdk",
        kind: ContestantKind::Own,
        open: tracer::each,
    },
    Contestant {
        name: "tracer-sdk, batched",
        kind: ContestantKind::Own,
        open: tracer::batched,
    },
    Contestant {
        name: "tracer-sdk, disabled",
        kind: ContestantKind::Idle,
        open: tracer::disabled,
    },
    Contestant {
        name: "tracer-sdk, without a run",
        kind: ContestantKind::Idle,
        open: tracer::without_run,
    },
    Contestant {
        name: "tracing json, blocking",
        kind: ContestantKind::Peer,
        open: tracing::blocking,
    },
    Contestant {
        name: "tracing json, non-blocking",
        kind: ContestantKind::Peer,
        open: tracing::non_blocking,
    },
    Contestant {
        name: "opentelemetry, simple",
        kind: ContestantKind::Peer,
        open: opentelemetry::simple,
    },
    Contestant {
        name: "opentelemetry, batch",
        kind: ContestantKind::Peer,
        open: opentelemetry::batch,
    },
    Contestant {
        name: "opentelemetry, batch, long queue",
        kind: ContestantKind::Peer,
        open: opentelemetry::long_queue,
    },
    Contestant {
        name: "fastrace",
        kind: ContestantKind::Peer,
        open: fastrace::local_spans,
    },
];

/// The file that contestants without a layout of their own write.
const FILE: &str = "spans.jsonl";

fn append_file(directory: &Path) -> std::fs::File {
    std::fs::OpenOptions::new()
        .create_new(true)
        .append(true)
        .open(directory.join(FILE))
        .expect("a fresh directory can be written")
}

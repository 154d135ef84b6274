//! Every file operation of a run fails in turn, with each error, once and from then on: the program never notices, every
//! span is accounted for, and what is on the disk can be read.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod faults {
    pub(crate) mod aftermath;
    pub(crate) mod agent;
}

use std::sync::Arc;

use faults::aftermath::{Aftermath, Files};
use faults::agent::{SPANS, agent};
use nix::libc;
use tempfile::TempDir;
use tracer_sdk::settings::Flush;
use tracer_sdk::testing::{Disk, Fault, Faulty, FileSystem, Memory, Operation};
use tracer_sdk::{Config, Run};

const ERRORS: [i32; 10] = [
    libc::ENOSPC,
    libc::EDQUOT,
    libc::EIO,
    libc::EROFS,
    libc::EACCES,
    libc::EPERM,
    libc::EMFILE,
    libc::EFBIG,
    libc::ENOENT,
    libc::EINTR,
];

/// Where a run is recorded.
#[derive(Clone, Copy, Debug)]
enum Place {
    Memory,
    Disk,
}

/// Records the agent's run, with a fault if one is given.
fn record(place: Place, flush: Flush, fault: impl FnOnce(Faulty) -> Faulty) -> (Aftermath, Faulty) {
    let memory = Memory::new();
    let folder = tempfile::tempdir().unwrap();
    let inner: Arc<dyn FileSystem> = match place {
        Place::Memory => Arc::new(memory.clone()),
        Place::Disk => Arc::new(Disk),
    };
    let disk = fault(Faulty::new(inner));
    let config = Config::new().data_dir(folder.path().join("data")).flush(flush);
    let run = Run::new("sweep")
        .config(&config)
        .file_system(Arc::new(disk.clone()))
        .start();
    let result = run.observe(agent());
    let stats = run.finish();
    assert_eq!(
        result.as_ref().map_err(ToString::to_string),
        Err("invalid digit found in string".to_owned())
    );
    let files = match place {
        Place::Memory => Files::in_memory(&memory),
        Place::Disk => Files::on_disk(&data(&folder)),
    };
    (Aftermath { stats, files }, disk)
}

fn data(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("data")
}

fn sweep(place: Place, flush: Flush) {
    let (whole, untouched) = record(place, flush, |disk| disk);
    assert_eq!((whole.stats.written, whole.stats.dropped), (SPANS, 0));
    whole.check_completed();
    let operations = untouched.operations();
    assert!(operations.len() > 8, "{operations:?}");
    for (position, operation) in operations.iter().enumerate() {
        for fault in faults(place, position, *operation) {
            let at = position as u64;
            let told = format!("{place:?}, {flush:?}, {fault:?} at {at} ({operation:?})");
            let (aftermath, disk) = record(place, flush, |disk| disk.failing_once(at, fault));
            assert_eq!(disk.fired(), 1, "{told}");
            aftermath.check_fault_passed(&format!("{told}, once"));
            let (aftermath, disk) = record(place, flush, |disk| disk.failing_from(at, fault));
            assert!(disk.fired() > 0, "{told}");
            aftermath.check(&format!("{told}, from then on"));
        }
    }
}

/// The faults that an operation is tried with: all of them in memory; on a disk, which is slower, two in turn.
fn faults(place: Place, position: usize, operation: Operation) -> Vec<Fault> {
    let all = ERRORS.map(Fault::Error);
    let mut faults = match place {
        Place::Memory => all.to_vec(),
        Place::Disk => [2 * position, 2 * position + 1]
            .map(|turn| all[turn % all.len()])
            .to_vec(),
    };
    if operation == Operation::Write {
        faults.push(Fault::ShortWrite);
    }
    faults
}

#[test]
fn any_fault_in_memory_is_survived() {
    sweep(Place::Memory, Flush::Each);
}

#[test]
fn any_fault_in_memory_is_survived_in_batches() {
    sweep(Place::Memory, Flush::Batched);
}

#[test]
fn any_fault_on_a_disk_is_survived() {
    sweep(Place::Disk, Flush::Each);
}

#[test]
fn any_fault_on_a_disk_is_survived_in_batches() {
    sweep(Place::Disk, Flush::Batched);
}

//! Every file operation of a run fails in turn, with each error, once and from then on: the program never notices, every
//! span is accounted for, and what is on the disk can be read.

mod aftermath;
mod agent;

use std::sync::Arc;

use self::aftermath::{Aftermath, Files};
use self::agent::{SPANS, agent};
use nix::libc;
use tempfile::TempDir;
use tracer_sdk::settings::Flush;
use tracer_sdk::testing::file_systems::{Disk, Fault, Faulty, FileSystem, Memory, Operation};
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

/// What a write may give after it has stored a part, or all.
const STORING_ERRORS: [i32; 3] = [libc::ENOSPC, libc::EDQUOT, libc::EIO];

/// Where a run is recorded.
#[derive(Clone, Copy, Debug)]
enum Place {
    Memory,
    Disk,
    /// On a disk, in a run that other processes may join.
    SharedDisk,
}

/// Records the agent's run, with a fault if one is given.
fn record(place: Place, flush: Flush, fault: impl FnOnce(Faulty) -> Faulty) -> (Aftermath, Faulty) {
    let memory = Memory::new();
    let folder = tempfile::tempdir().unwrap();
    let inner: Arc<dyn FileSystem> = match place {
        Place::Memory => Arc::new(memory.clone()),
        Place::Disk | Place::SharedDisk => Arc::new(Disk),
    };
    let disk = fault(Faulty::new(inner));
    let config = Config::new().data_dir(folder.path().join("data")).flush(flush);
    let run = Run::new("sweep")
        .config(&config)
        .file_system(Arc::new(disk.clone()))
        .start();
    if let Place::SharedDisk = place {
        // Handing the context out makes the run a shared one.
        let _ = run.context().unwrap().share();
    }
    let result = run.observe(agent());
    let stats = run.finish();
    assert_eq!(
        result.as_ref().map_err(ToString::to_string),
        Err("invalid digit found in string".to_owned())
    );
    let files = match place {
        Place::Memory => Files::in_memory(&memory),
        Place::Disk | Place::SharedDisk => Files::on_disk(&data(&folder)),
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
            let reported = format!("{place:?}, {flush:?}, {fault:?} at {at} ({operation:?})");
            let (aftermath, disk) = record(place, flush, |disk| disk.failing_once(at, fault));
            assert_eq!(disk.fired(), 1, "{reported}");
            aftermath.check_fault_passed(&format!("{reported}, once"));
            let (aftermath, disk) = record(place, flush, |disk| disk.failing_from(at, fault));
            assert!(disk.fired() > 0, "{reported}");
            aftermath.check(&format!("{reported}, from then on"));
            if let (Place::Memory, Fault::TornWrite(_) | Fault::FalseError(_)) = (place, fault) {
                let (aftermath, disk) = record(place, flush, |disk| {
                    Faulty::new(Arc::new(disk.failing_once(at, fault)))
                        .failing_from(at + 1, Fault::Error(libc::EIO))
                });
                assert!(disk.fired() > 0, "{reported}");
                aftermath.check_nothing_false_is_claimed(&format!("{reported}, then nothing works"));
            }
        }
    }
}

/// The faults that an operation is tried with: all of them in memory; on a disk, which is slower, two in turn.
fn faults(place: Place, position: usize, operation: Operation) -> Vec<Fault> {
    let all = ERRORS.map(Fault::Error);
    let mut faults = match place {
        Place::Memory => all.to_vec(),
        Place::Disk | Place::SharedDisk => [2 * position, 2 * position + 1]
            .map(|turn| all[turn % all.len()])
            .to_vec(),
    };
    if operation == Operation::Write {
        faults.push(Fault::ShortWrite);
        faults.extend(
            STORING_ERRORS
                .iter()
                .flat_map(|&number| [Fault::TornWrite(number), Fault::FalseError(number)]),
        );
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

#[test]
fn any_fault_in_a_shared_run_is_survived() {
    sweep(Place::SharedDisk, Flush::Each);
}

#[test]
fn any_fault_in_a_shared_run_is_survived_in_batches() {
    sweep(Place::SharedDisk, Flush::Batched);
}

//! What may stand in the place of the files of a run.

use std::fs;
use std::path::Path;

use super::case::Lenient::{Refused, Shows};
use super::case::{Case, case, run, running};

const META: &str = "meta.json";
const LOG: &str = "spans.jsonl";

fn remove(directory: &Path, files: &[&str]) {
    for file in files {
        fs::remove_file(directory.join(file)).unwrap();
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case(
            "no metadata",
            run().then(|directory| remove(directory, &[META])),
            &["missing_file meta.json"],
            Shows(2),
        ),
        case(
            "no log",
            run().then(|directory| remove(directory, &[LOG])),
            &["missing_file spans.jsonl"],
            Shows(0),
        ),
        case(
            "no file",
            run().then(|directory| remove(directory, &[META, LOG])),
            &["missing_file meta.json", "missing_file spans.jsonl"],
            Refused,
        ),
        case(
            "no directory",
            run().then(|directory| fs::remove_dir_all(directory).unwrap()),
            &["path_not_found DIRECTORY"],
            Refused,
        ),
        case(
            "a file in the place of the directory",
            run().then(|directory| {
                fs::remove_dir_all(directory).unwrap();
                fs::write(directory, "").unwrap();
            }),
            &["unsupported_path DIRECTORY"],
            Refused,
        ),
        case(
            "files of others beside ours",
            run().then(|directory| {
                for file in [
                    "run.json",
                    "events.jsonl",
                    "notes.txt",
                    ".meta.json.7.tmp",
                    ".live",
                ] {
                    fs::write(directory.join(file), "{").unwrap();
                }
            }),
            &[],
            Shows(2),
        ),
        case(
            "a running run with a folder in the place of .live",
            running().then(|directory| fs::create_dir(directory.join(".live")).unwrap()),
            &[],
            Shows(1),
        ),
    ];
    for legacy in ["run.json", "events.jsonl"] {
        let problem = format!("legacy_format {legacy}");
        cases.push(case(
            format!("the 0.1 format, {legacy}"),
            run().then(move |directory| {
                remove(directory, &[META, LOG]);
                fs::write(directory.join(legacy), "{}").unwrap();
            }),
            &[problem.as_str()],
            Refused,
        ));
    }
    for (file, shows) in [(META, Shows(2)), (LOG, Shows(0))] {
        let problem = format!("unreadable_file {file}");
        cases.push(case(
            format!("a folder in the place of {file}"),
            run().then(move |directory| {
                remove(directory, &[file]);
                fs::create_dir(directory.join(file)).unwrap();
            }),
            &[problem.as_str()],
            shows,
        ));
        #[cfg(unix)]
        cases.extend(special_files(file, &problem, shows));
    }
    cases
}

#[cfg(unix)]
fn special_files(file: &'static str, problem: &str, shows: super::case::Lenient) -> Vec<Case> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mut cases = vec![
        case(
            format!("a symbolic link in the place of {file}"),
            run().then(move |directory| {
                fs::rename(directory.join(file), directory.join("elsewhere")).unwrap();
                symlink("elsewhere", directory.join(file)).unwrap();
            }),
            &[problem],
            shows,
        ),
        case(
            format!("a link to nowhere in the place of {file}"),
            run().then(move |directory| {
                remove(directory, &[file]);
                symlink("nowhere", directory.join(file)).unwrap();
            }),
            &[problem],
            shows,
        ),
        case(
            format!("a pipe in the place of {file}"),
            run().then(move |directory| {
                remove(directory, &[file]);
                nix::unistd::mkfifo(&directory.join(file), nix::sys::stat::Mode::S_IRWXU).unwrap();
            }),
            &[problem],
            shows,
        ),
        case(
            format!("a socket in the place of {file}"),
            run().then(move |directory| {
                remove(directory, &[file]);
                drop(std::os::unix::net::UnixListener::bind(directory.join(file)).unwrap());
            }),
            &[problem],
            shows,
        ),
    ];
    // Root reads whatever it wants to.
    if !nix::unistd::Uid::effective().is_root() {
        cases.push(case(
            format!("no permission to read {file}"),
            run().then(move |directory| {
                fs::set_permissions(directory.join(file), fs::Permissions::from_mode(0o000)).unwrap();
            }),
            &[problem],
            shows,
        ));
    }
    cases
}

//! The checker finds what it is for: planted circles and arrows, in every way of writing a path.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tracer_floors::{CrateModules, circles, sibling_arrows};

#[test]
fn a_planted_circle_is_found() {
    let arrows = arrows(&[
        ("lib.rs", "mod emit; mod read; mod write;"),
        ("emit.rs", "use crate::write::Log; fn start() -> Log { Log }"),
        (
            "write.rs",
            "pub struct Log; fn count() -> usize { crate::read::scan::count() }",
        ),
        ("read/mod.rs", "pub mod scan;"),
        (
            "read/scan.rs",
            "pub fn count() -> usize { super::super::emit::RUNS }",
        ),
    ]);
    assert_eq!(arrows.shown(), ["emit → write", "read → emit", "write → read"]);
    let circles = circles(&arrows.0);
    assert_eq!(circles.len(), 1, "{circles:?}");
    assert_eq!(circles[0].len(), 3, "{circles:?}");
    assert!(
        circles[0][0].place.ends_with("emit.rs:1: crate::write::Log"),
        "{circles:?}"
    );
}

#[test]
fn arrows_without_a_circle_pass() {
    let arrows = arrows(&[
        ("lib.rs", "mod emit; mod write; mod format;"),
        ("emit.rs", "use crate::{write, format::Name};"),
        ("write.rs", "use crate::format::*;"),
        ("format.rs", "pub struct Name;"),
    ]);
    assert_eq!(
        arrows.shown(),
        ["emit → format", "emit → write", "write → format"]
    );
    assert!(circles(&arrows.0).is_empty());
}

#[test]
fn a_re_export_counts_as_its_origin() {
    let arrows = arrows(&[
        (
            "lib.rs",
            "mod emit; mod write; pub use emit::*; pub use emit::Run as Recorded;",
        ),
        ("emit.rs", "pub use self::run::Run; mod run;"),
        ("emit/run.rs", "pub struct Run;"),
        (
            "write.rs",
            "fn renamed() -> crate::Recorded { todo!() } fn by_glob() -> crate::Run { todo!() }",
        ),
    ]);
    assert_eq!(arrows.shown(), ["write → emit"]);
}

#[test]
fn paths_in_macros_count() {
    let arrows = arrows(&[
        ("lib.rs", "mod read; mod write; mod emit;"),
        ("read.rs", "fn log() { println!(\"{}\", crate::write::COUNT) }"),
        (
            "write.rs",
            "pub const COUNT: usize = 1; macro_rules! run { () => { $crate::emit::start() } }",
        ),
        ("emit.rs", "pub fn start() {}"),
    ]);
    assert_eq!(arrows.shown(), ["read → write", "write → emit"]);
}

#[test]
fn imported_modules_are_followed() {
    let arrows = arrows(&[
        ("lib.rs", "mod read; mod write;"),
        ("read/mod.rs", "mod log; mod store;"),
        (
            "read/log.rs",
            "use super::store as files; fn open() { files::open() }",
        ),
        (
            "read/store.rs",
            "pub fn open() {} fn repair() { use crate::write; write::repair() }",
        ),
        ("write.rs", "pub fn repair() {}"),
    ]);
    assert_eq!(arrows.shown(), ["read → write", "read::log → read::store"]);
}

#[test]
fn tests_and_visibility_are_no_arrows() {
    let arrows = arrows(&[
        ("lib.rs", "mod read; mod write;"),
        (
            "read.rs",
            "pub(in crate::read) struct Log; #[cfg(test)] use crate::write::COUNT; #[cfg(test)] mod tests { use crate::write; }",
        ),
        (
            "write.rs",
            "pub const COUNT: usize = 1; impl X { #[cfg(test)] fn helper() { crate::read::open() } }",
        ),
    ]);
    assert_eq!(arrows.shown(), Vec::<String>::new());
}

#[test]
fn a_folder_and_its_modules_are_one() {
    let arrows = arrows(&[
        ("lib.rs", "mod read;"),
        (
            "read/mod.rs",
            "mod log; pub struct Run; fn open() { log::open() }",
        ),
        ("read/log.rs", "use super::Run; pub fn open() {}"),
    ]);
    assert_eq!(arrows.shown(), Vec::<String>::new());
}

#[test]
fn files_elsewhere_are_found() {
    let arrows = arrows(&[
        (
            "lib.rs",
            "mod read { mod log; } #[path = \"shared/write.rs\"] mod write;",
        ),
        ("read/log.rs", "use crate::write::Log;"),
        ("shared/write.rs", "pub struct Log;"),
    ]);
    assert_eq!(arrows.shown(), ["read → write"]);
}

struct Arrows(Vec<tracer_floors::Arrow>);

impl Arrows {
    fn shown(&self) -> Vec<String> {
        let arrows = self.0.iter();
        arrows
            .map(|arrow| format!("{} → {}", arrow.from, arrow.to))
            .collect()
    }
}

fn arrows(files: &[(&str, &str)]) -> Arrows {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).unwrap();
        fs::write(path, content).unwrap();
    }
    let modules = CrateModules::read(&folder.path().join("lib.rs")).unwrap();
    Arrows(sibling_arrows(&modules))
}

//! Run directories that are malformed, odd or hostile, each with its decided answer: what strict reading refuses and
//! where, what it warns of, and what is shown all the same. A binary of its own: each case is a test with a name, made at
//! run time (`cargo test -p tracer-tests --test odd_runs -- metadata::`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod case;
mod fields;
mod files;
mod lines;
mod metadata;
mod structure;
mod warnings;

use std::collections::BTreeSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let groups = [
        ("metadata", metadata::cases()),
        ("lines", lines::cases()),
        ("fields", fields::cases()),
        ("structure", structure::cases()),
        ("files", files::cases()),
        ("warnings", warnings::cases()),
    ];
    let cases = groups.into_iter().flat_map(|(group, cases)| {
        cases
            .into_iter()
            .map(move |case| (format!("{group}::{}", case.name), case))
    });
    let trials: Vec<Trial> = cases
        .map(|(name, case)| {
            Trial::test(name, || {
                case.check();
                Ok(())
            })
        })
        .collect();
    let mut names = BTreeSet::new();
    for trial in &trials {
        assert!(
            names.insert(trial.name()),
            "two cases are named {:?}",
            trial.name()
        );
    }
    assert!(trials.len() >= 150, "{} cases", trials.len());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

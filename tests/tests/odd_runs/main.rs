//! Run directories that are malformed, odd or hostile, each with its decided answer: what strict reading refuses and
//! where, what it warns of, and what is shown all the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod case;
mod fields;
mod files;
mod lines;
mod metadata;
mod structure;
mod warnings;

#[test]
fn every_odd_run_has_its_decided_answer() {
    let groups = [
        metadata::cases(),
        lines::cases(),
        fields::cases(),
        structure::cases(),
        files::cases(),
        warnings::cases(),
    ];
    let cases: Vec<case::Case> = groups.into_iter().flatten().collect();
    assert!(cases.len() >= 150, "{} cases", cases.len());
    // Every case is checked before the test fails, so that one change shows all that it changes.
    let failed: Vec<String> = cases
        .into_iter()
        .filter_map(|case| {
            let name = case.name.clone();
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case.check()));
            checked.is_err().then_some(name)
        })
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

//! What `#[trace]` says of mistakes, and what it must accept: one rule a file under `ui`. Here, and not in the package of
//! the tests, because every dependency of the package is built once more for these files.
//!
//! The compiler's own words in the snapshots are those of the pinned toolchain. `TRYBUILD=overwrite` renews them.

/// One test for both, so that the SDK is built for them once.
#[test]
fn mistakes_point_at_the_offending_token() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/err/*.rs");
    cases.pass("tests/ui/ok/*.rs");
}

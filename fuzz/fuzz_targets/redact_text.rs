#![no_main]
//! See `checks::redact_text`.

#[allow(dead_code, reason = "each target uses one of the checks")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::redact_text(bytes));

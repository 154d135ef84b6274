#![no_main]
//! See `tracer_fuzz::redact_text`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tracer_fuzz::redact_text(bytes));

#![no_main]
//! See `tracer_fuzz::meta`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tracer_fuzz::meta(bytes));

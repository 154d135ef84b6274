#![no_main]
//! See `tracer_fuzz::run_directory`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tracer_fuzz::run_directory(bytes));

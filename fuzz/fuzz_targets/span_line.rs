#![no_main]
//! See `tracer_fuzz::span_line`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tracer_fuzz::span_line(bytes));

//! `tracer`.
fn main() {}

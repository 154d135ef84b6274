//! The library behind the executable `tracer`.

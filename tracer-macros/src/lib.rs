//! Attribute macro of `tracer-sdk`.

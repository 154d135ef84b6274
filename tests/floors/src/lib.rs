//! Tests alone: see `tests/floors.rs`.

//! Nothing: the test stands beside it.

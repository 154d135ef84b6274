//! Nothing: the test beside it lists the public API of every library.

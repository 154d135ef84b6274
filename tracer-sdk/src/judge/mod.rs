pub mod policy;
pub mod statistics;

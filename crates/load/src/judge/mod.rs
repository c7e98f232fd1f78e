//! From plans and marks to a result, and whether it holds. All of it happens after the run.

mod carried;
pub mod excluded;
pub mod qos_sample;
pub(crate) mod quantiles;
pub mod result;
pub mod selfcheck;
pub mod stops;
pub mod summary;

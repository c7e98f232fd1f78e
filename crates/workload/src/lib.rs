//! What is asked of a service and when: no protocol, no socket, no clock.
//!
//! [`dist`] (values: service times, sizes, gaps), [`arrivals`] (gaps between requests), [`rate`]
//! (offered load over time), [`popularity`] (which item), [`sessions`] (what one user asks for, one thing
//! after another), and [`schedule`], which draws [`plan`]s from them. Generator and simulator draw from the same, so that what one measures the other can simulate.

pub mod arrivals;
pub mod dist;
pub mod once;
pub mod plan;
pub mod popularity;
pub mod rate;
pub mod replay;
pub mod schedule;
pub mod sessions;

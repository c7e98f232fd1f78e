//! What is retained of millions of requests, in memory that does not grow with them.

mod bins;
mod carriers;
mod counts;
mod regenerate;
mod sections;

pub use bins::Bins;
pub use carriers::Carriers;
pub use regenerate::{Cycles, Regenerative};
pub use sections::{Interval, Intervals, SECTIONS, Sections, Summary};

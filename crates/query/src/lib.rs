//! Services that answer queries by real work, in the shape of `TailBench`'s (PAPERS P4): the inputs
//! are the server's own, a request `GET /q/{n}` names one, one line holds all requests, and N named
//! threads take them from it in order.
//!
//! Each query has one right answer, which follows from the seed in closed form or by a second
//! implementation in another language. So a service that answers wrongly is found out, however fast
//! it is.
//!
//! Reading order: [`numbers`], [`work`] (what a query costs), [`http`] and [`fifo`] (pure),
//! [`server`], [`report`], [`args`] and [`program`].

pub mod args;
pub mod fifo;
pub mod http;
pub mod numbers;
pub mod program;
pub mod report;
pub mod server;
pub mod work;

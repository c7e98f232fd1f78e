//! Synthetic services with known service times: the truth against which generator and analysis are
//! tested (METHOD M20).
//!
//! The key to the truth is a *virtual clock* ([`queue`]): each request gets a service time from the
//! seed, starts at the later of its arrival and the first moment a server is free, and its reply
//! leaves when the real clock reaches its finish. Arrivals are stamped by the kernel ([`arrival`]).
//! The cost of the service's own system calls is spent while requests are "in service", so M/M/1,
//! M/D/1 and M/M/n hold exactly, up to the time on the wire, which is added once, and to what
//! [`report`] counts as lateness.
//!
//! Reading order: [`queue`] and [`stall`] (pure), [`protocols`] and [`store`], [`arrival`],
//! [`connection`], [`calls`], [`poller`], [`server`] (the loop), [`report`], [`args`] and [`program`].

pub mod args;
pub mod arrival;
pub mod calls;
pub mod connection;
pub mod poller;
pub mod program;
pub mod protocols;
pub mod queue;
pub mod report;
pub mod server;
pub mod stall;
pub mod store;

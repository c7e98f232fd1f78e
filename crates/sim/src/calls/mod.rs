//! Services that call each other: fan-out, hedging, timeouts, retries, start-up time, two speeds.
//!
//! Each service has instances with a queue each. A request does its own service there, then calls
//! other services, stage by stage, and is answered when its last stage is. A call that was not
//! answered in time may be sent again. The server does not learn of it and works in vain, so
//! retries can make a service that is a little too slow stay too slow.
//!
//! Source of the vocabulary: Dean and Barroso, The Tail at Scale, CACM 56(2), 2013; Bronson et al.,
//! Metastable Failures in Distributed Systems (2021).
//! Reading order: [`job`], `plan`, `station`, `world`, `caller`, [`run`], [`result`].

mod caller;
pub mod job;
mod plan;
pub mod result;
pub mod run;
mod station;
mod world;

//! Queues: how requests share servers. One recursion per file; [`KINDS`] is the table.
//!
//! Where order of arrival is order of service, the sojourn time of a request is known when it
//! arrives, from the times at which servers fall free (Lindley; Kiefer and Wolfowitz). So there is
//! no event list, and memory is that of the servers, not of the requests.

mod epoll;
mod fcfs;
mod null;
mod placed;
mod ps;
pub mod run;
pub mod tally;

use std::fmt::Debug;

use sojourn_base::kind::{self, Kind};
use sojourn_base::rng::Rng;
use sojourn_base::{Fault, units};

use tally::Tally;

pub(crate) use fcfs::replace_first;

/// A queue in front of servers.
pub trait Discipline: Debug {
    /// A request arrives `gap_ns` after the last one and needs `service_ns` of one server.
    /// Requests that are done by then, or whose end is now known, go to `tally`.
    fn arrive(&mut self, gap_ns: f64, service_ns: f64, rng: &mut Rng, tally: &mut Tally);

    /// Requests arrive in turn: gap and service time of each, ns. A loop without indirect calls.
    fn arrive_all(
        &mut self,
        gaps_ns: &[f64],
        services_ns: &[f64],
        rng: &mut Rng,
        tally: &mut Tally,
    ) {
        for (gap_ns, service_ns) in gaps_ns.iter().zip(services_ns) {
            self.arrive(*gap_ns, *service_ns, rng, tally);
        }
    }

    /// Share of the requests that the busiest server gets, where each has a queue of its own; `None`:
    /// servers are equally busy.
    fn most_of_one(&self) -> Option<f64> {
        None
    }

    /// No more arrivals: everything left goes to `tally`.
    fn drain(&mut self, tally: &mut Tally) {
        let _ = tally;
    }
}

/// What kind of formula describes a discipline, if service is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One queue before all servers, first come, first served.
    SharedFcfs,
    /// One such queue per server; requests fall to servers at random and evenly.
    SplitFcfs,
    /// Shared equally.
    Sharing,
    /// No formula here.
    None,
}

/// One entry of the table.
pub struct QueueKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// Builds it for so many servers, from its parameters, already counted (times in ns).
    pub build: fn(u32, &[f64]) -> Result<Built, Fault>,
}

impl AsRef<Kind> for QueueKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// A queue, and the formula that it has.
pub type Built = (Box<dyn Discipline>, Form);

/// Every discipline, in reading order.
pub const KINDS: &[QueueKind] = &[null::KIND, fcfs::KIND, placed::KIND, epoll::KIND, ps::KIND];

/// Reads `name` or `name:param,param` into a discipline for `servers`; a fault names what is wrong.
pub fn parse(text: &str, servers: u32) -> Result<Built, Fault> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let entry = kind::find(KINDS, name, "discipline", "discipline")?;
    if servers == 0 {
        return Err(Fault::usage("servers is 0", "servers", "give 1 server or more"));
    }
    let parts: Vec<&str> = rest.split(',').map(str::trim).filter(|p| !p.is_empty()).collect();
    if parts.len() != entry.kind.params.len() {
        let (wanted, input) = (entry.kind.params.len(), parts.len());
        let what = format!("{name} takes {wanted} parameter(s), {input} given");
        return Err(Fault::usage(what, "discipline", format!("write {}", entry.kind.usage)));
    }
    let read = |(param, text): (&sojourn_base::kind::Param, &str)| match param.unit {
        "ns" => units::parse_ns(text).map(|ns| ns as f64),
        _ => units::parse_count(text),
    };
    let numbers: Result<Vec<f64>, Fault> = entry.kind.params.iter().zip(parts).map(read).collect();
    (entry.build)(servers, &numbers.map_err(|fault| fault.within("discipline"))?)
}

/// A number of connections, 1 or more.
fn connections(number: f64) -> Result<u64, Fault> {
    if number >= 1.0 && number.fract() == 0.0 && number <= 1e9 {
        return Ok(number as u64);
    }
    let what = format!("connections is {number}");
    Err(Fault::usage(what, "discipline", "give a whole number of connections, 1 or more"))
}

/// What the busiest of `servers` gets if `connections` are dealt to them in turn.
fn dealt_most(connections: u64, servers: usize) -> f64 {
    connections.div_ceil(servers as u64) as f64 / connections as f64
}

/// When a clock that only counts forward in ns is set back: far below the point (2^53) from
/// which an f64 no longer tells one ns from the next.
const REBASE_NS: f64 = 8.8e12; // 2^43

/// Sets `now` and every one of `times` back by `now`, if it is time to.
#[inline]
fn rebase(now: &mut f64, times: &mut [f64]) {
    if *now > REBASE_NS {
        for time in times {
            *time -= *now;
        }
        *now = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_whole_numbers_from_one_to_a_billion() {
        for text in ["placed:1", "placed:1G", "epoll: 64 , 1us, 0", "fcfs"] {
            assert!(parse(text, 4).is_ok(), "{text}");
        }
        for text in [
            "placed:0",
            "placed:0.5",
            "placed:1.5",
            "placed:1.1G",
            "placed",
            "placed:1,2",
            "fcfs:1",
        ] {
            assert_eq!(parse(text, 4).unwrap_err().at, "discipline", "{text}");
        }
        assert!(parse("fifs", 4).unwrap_err().fix.contains("fcfs"));
        assert_eq!(parse("fcfs", 0).unwrap_err().at, "servers");
    }

    #[test]
    fn a_clock_is_set_back_with_all_it_is_compared_with() {
        let (mut now, mut times) = (REBASE_NS, [REBASE_NS + 5.0, 1.0]);
        rebase(&mut now, &mut times);
        assert_eq!((now, times), (REBASE_NS, [REBASE_NS + 5.0, 1.0]), "not yet");
        now += 2.0;
        rebase(&mut now, &mut times);
        assert_eq!((now, times), (0.0, [3.0, -1.0 - REBASE_NS]));
    }
}

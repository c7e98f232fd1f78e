//! The probe client: few requests, Poisson, on a connection of their own, in the same loop.
//!
//! Poisson arrivals see time averages, so at a rate too low to add load their sojourn times are what
//! a newcomer finds; if the load's own differ, the client colours them (METHOD M5, separate roles). They
//! take the same path through the loop as the load's, so that they differ in nothing else.

use sojourn_base::span;
use sojourn_workload::plan::Plan;

use super::{Drive, Setup};
use crate::plan::marks::Marks;
use crate::protocols::Outcome;

/// Where the probe's requests lie in the plan: after all of the load's.
pub(super) struct Probe {
    /// The connection set aside for it.
    pub(super) connection: u32,
    first: usize,
    next: usize,
}

impl Probe {
    /// Puts the probe's plan behind the load's, with marks for it.
    pub(super) fn join(plan: Plan, setup: &mut Setup) -> Self {
        let first = setup.plan.intended_ns.len();
        let marks = Marks::for_requests(plan.intended_ns.len());
        setup.plan.intended_ns.extend(plan.intended_ns);
        let (shards, connection) = (setup.shards, setup.connections);
        let shard = shards.of_connection(connection);
        setup.plan.item.extend(plan.item.iter().map(|&item| shards.item_of(shard, item)));
        setup.plan.op.extend(plan.op);
        setup.marks.extend(marks);
        Self { connection, first, next: first }
    }

    /// Whether it is the probe that sent the request at this place.
    pub(super) fn is_own(&self, request: usize) -> bool {
        request >= self.first
    }
}

impl Drive {
    /// Sends the probe's next request if it is due. After a stop, those that were due before it are still sent, like
    /// the load's.
    #[inline]
    pub(crate) fn probe(&mut self, now_ns: u64) {
        if !self.probe_is_owed() {
            return;
        }
        let Some(probe) = &mut self.probe else { return };
        let (next, own) = (probe.next, probe.connection);
        if self.plan.intended_ns[next] <= now_ns
            && let Some(connection) = self.connections.with_room(own)
        {
            probe.next += 1;
            self.send(next, connection);
        }
    }

    /// Whether a request of the probe has still to be sent: one that is due before the end, or before a stop.
    #[inline]
    pub(super) fn probe_is_owed(&self) -> bool {
        let Some(probe) = &self.probe else { return false };
        let until_ns = self.stopped_ns.unwrap_or(u64::MAX);
        probe.next < self.plan.intended_ns.len() && self.plan.intended_ns[probe.next] < until_ns
    }

    /// How long until the probe has to send; for ever without one.
    #[inline]
    pub(super) fn probe_due_ns(&self, now_ns: u64) -> u64 {
        let Some(probe) = &self.probe else { return u64::MAX };
        if self.probe_is_owed() && self.connections.with_room(probe.connection).is_some() {
            return self.plan.intended_ns[probe.next].saturating_sub(now_ns);
        }
        u64::MAX
    }

    /// Sojourn times of the probe in the measured part.
    pub(super) fn probe_times(&self) -> span::Times {
        let mut times = span::Times::new();
        let Some(probe) = &self.probe else { return times };
        let end_ns = self.stopped_ns.unwrap_or(u64::MAX);
        for request in probe.first..self.plan.intended_ns.len() {
            let intended_ns = self.plan.intended_ns[request];
            if !(self.times.measured_ns..end_ns).contains(&intended_ns) {
                continue;
            }
            match self.marks.outcome[request] {
                Outcome::Hit => times.add(self.marks.done_ns[request].saturating_sub(intended_ns)),
                _ => times.add_lost(),
            }
        }
        times
    }
}

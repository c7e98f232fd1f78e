//! The loop: take what has arrived, give it its finish, send what is finished.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use sojourn_base::Fault;
use sojourn_base::accept::{self, Pause};
use sojourn_base::clock::{Clock, Monotonic};

use crate::calls::{self, Calls};
use crate::connection::{Connection, Next};
use crate::poller::{Poller, Ready};
use crate::protocols::{Parse, Work};
use crate::queue::{Queue, Served};
use crate::report::Notes;
use crate::store::Store;

mod connections;

/// Token of the listening socket.
const LISTENER: u64 = u64::MAX - 1;

/// A reply that leaves at a time. Ordered by time, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Leave {
    at_ns: u64,
    nth: u64,
    slot: usize,
    generation: u64,
}

/// One event loop over all connections, in one thread.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    /// While the listener is left alone; its times are ns since the start.
    pause: Pause,
    poller: Poller,
    spins: bool,
    parse: Parse,
    queue: Queue,
    /// Whether writes take a service time.
    serves_writes: bool,
    store: Store,
    slots: Vec<Slot>,
    leaving: BinaryHeap<Reverse<Leave>>,
    calls: Calls,
    /// Requests read and not yet admitted.
    arrived: Vec<Arrived>,
    admitted: u64,
    /// The latest arrival admitted, ns.
    last_arrival_ns: u64,
    start_ns: u64,
    notes: Notes,
}

/// A request that was read.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    at_ns: u64,
    slot: usize,
    generation: u64,
    work: Work,
    has_reply: bool,
}

/// A place for a connection; the generation tells its successive tenants apart.
#[derive(Debug, Default)]
struct Slot {
    connection: Option<Connection>,
    generation: u64,
}

impl Server {
    /// Listens at `address`; port 0 lets the kernel choose.
    pub fn bind(
        address: SocketAddr,
        parse: Parse,
        queue: Queue,
        serves_writes: bool,
        spins: bool,
    ) -> Result<Self, Fault> {
        let fault = |error: io::Error| accept::refused(address, &error);
        let listener = accept::bind(address)?;
        let poller = Poller::new().map_err(fault)?;
        poller.add(&listener, LISTENER).map_err(fault)?;
        Ok(Self {
            listener,
            pause: Pause::default(),
            poller,
            spins,
            parse,
            queue,
            serves_writes,
            store: Store::default(),
            slots: Vec::new(),
            leaving: BinaryHeap::new(),
            calls: Calls::default(),
            arrived: Vec::new(),
            admitted: 0,
            last_arrival_ns: 0,
            start_ns: Monotonic.now_ns(),
            notes: Notes::new(spins),
        })
    }

    /// Each request waits for a call to another service.
    #[must_use]
    pub fn calling(mut self, target: Option<calls::Target>) -> Self {
        self.calls = Calls::new(target);
        self
    }

    /// The address and port on which it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is set; what it noted is the answer.
    pub fn run(mut self, stop: &AtomicBool) -> Result<Notes, Fault> {
        let mut ready = Vec::new();
        let mut last_look_ns = self.now();
        while !stop.load(Relaxed) {
            self.send_finished();
            while let Some(at) = self.calls.late(self.now()) {
                self.close(at);
            }
            let wanted_ns = self.look(&mut ready).map_err(|error| {
                let what = format!("cannot wait for requests: {error}");
                Fault::failed(what, "epoll", "see the kernel's log")
            })?;
            let now_ns = self.now();
            let late_ns = now_ns.saturating_sub(wanted_ns.unwrap_or(last_look_ns));
            let is_idle = !self.spins && wanted_ns.is_none();
            self.notes.looked(now_ns - last_look_ns, if is_idle { 0 } else { late_ns });
            last_look_ns = now_ns;
            self.resume_in_time(now_ns);
            for &event in &ready {
                self.handle(event);
            }
            self.admit_arrived();
        }
        self.notes.called(self.calls.counts());
        Ok(self.notes)
    }

    /// Now, ns since the start.
    #[inline]
    fn now(&self) -> u64 {
        Monotonic.now_ns() - self.start_ns
    }

    /// What is ready; and, if it slept for the timer, when it wanted to wake at the latest.
    fn look(&mut self, ready: &mut Vec<Ready>) -> io::Result<Option<u64>> {
        if self.spins {
            return self.poller.look(ready).map(|()| None);
        }
        let leaves_ns = self.leaving.peek().map(|Reverse(leave)| leave.at_ns);
        let next_ns = leaves_ns.into_iter().chain(self.calls.next_ns()).min();
        self.poller.wait_until(next_ns.map_or(0, |ns| ns + self.start_ns), ready)?;
        Ok(next_ns)
    }

    fn send_finished(&mut self) {
        while let Some(&Reverse(leave)) = self.leaving.peek() {
            let now_ns = self.now();
            if leave.at_ns > now_ns {
                return;
            }
            self.leaving.pop();
            self.notes.left(now_ns - leave.at_ns);
            let slot = &mut self.slots[leave.slot];
            if slot.generation != leave.generation {
                continue; // its client left first
            }
            if self.calls.is_on() {
                if !self.calls.call(leave.slot, now_ns, &self.poller) {
                    self.close(leave.slot);
                }
            } else if let Some(connection) = &mut slot.connection {
                let state = connection.allow_next();
                self.settle(leave.slot, state);
            }
        }
    }

    fn handle(&mut self, event: Ready) {
        if event.token == LISTENER {
            return self.accept(TcpListener::accept);
        }
        if event.token & calls::TOKEN != 0 {
            return self.take_replies((event.token & !calls::TOKEN) as usize, event);
        }
        let at = event.token as usize;
        let Some(connection) = self.slots.get_mut(at).and_then(|slot| slot.connection.as_mut())
        else {
            return;
        };
        if event.to_write {
            let state = connection.flush();
            self.settle(at, state);
        }
        if event.to_read {
            self.take_requests(at);
        }
    }

    fn take_requests(&mut self, at: usize) {
        let Some(connection) = self.slots[at].connection.as_mut() else { return };
        let (state, stamped_ns) = connection.read();
        let now_ns = self.now();
        let at_ns = stamped_ns.map_or(now_ns, |ns| ns.saturating_sub(self.start_ns).min(now_ns));
        let generation = self.slots[at].generation;
        loop {
            let Some(connection) = self.slots[at].connection.as_mut() else { return };
            match connection.next_request(self.parse, &mut self.store) {
                Next::Request { work, has_reply } => {
                    self.arrived.push(Arrived { at_ns, slot: at, generation, work, has_reply });
                }
                Next::More => break,
                Next::Broken => {
                    self.notes.broke();
                    return self.close(at);
                }
            }
        }
        self.settle(at, state);
    }

    /// Admits what was read in this look, in the order in which it arrived.
    fn admit_arrived(&mut self) {
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.sort_by_key(|request| request.at_ns); // stable: a connection's requests stay in order
        for request in arrived.drain(..) {
            self.admit(request);
        }
        self.arrived = arrived;
    }

    /// Gives a request its service time and its reply a time to leave, which is not before that of
    /// an earlier request of the connection: replies come in order.
    fn admit(&mut self, Arrived { at_ns, slot: at, generation, work, has_reply }: Arrived) {
        // What was stamped before, but seen after, a later arrival comes right after that one.
        let ready_ns = at_ns.max(self.last_arrival_ns);
        self.last_arrival_ns = ready_ns;
        let is_served = work == Work::Read || (work == Work::Write && self.serves_writes);
        let served = if is_served {
            self.queue.admit(ready_ns)
        } else {
            Served { service_ns: 0, finish_ns: ready_ns }
        };
        if is_served {
            self.notes.admitted(work, ready_ns, served);
        }
        let slot = &mut self.slots[at];
        let is_there = has_reply && slot.generation == generation;
        let Some(connection) = slot.connection.as_mut().filter(|_| is_there) else { return };
        let at_ns = served.finish_ns.max(connection.last_leave_ns);
        connection.last_leave_ns = at_ns;
        self.admitted += 1;
        let nth = self.admitted;
        self.leaving.push(Reverse(Leave { at_ns, nth, slot: at, generation }));
    }
}

#[cfg(test)]
mod call_tests;
#[cfg(test)]
mod tests;

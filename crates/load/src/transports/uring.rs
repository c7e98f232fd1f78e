//! `io_uring`: one system call hands over many requests and picks up many replies.
//!
//! Life of a connection: its socket is a fixed file of the ring; one multishot receive stays armed
//! on it and takes a buffer from a ring of provided buffers for each arrival. Requests leave
//! through an [`Outbox`], which keeps their bytes in place and in order ([`super::outbox`]).
//!
//! The ring belongs to one thread; see [`super::ring`] for when it enters the kernel.
//!
//! Source: `io_uring_prep_recv_multishot(3)`, `io_uring_setup_buf_ring(3)`.

mod connection;
mod opening;

use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::Fixed;
use io_uring::{cqueue, opcode, squeue};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::buffers::Buffers;
use super::outbox::Piece;
use super::ring::Ring;
use super::{Ends, Event, Patience, Reopen, Transport, TransportKind};
use connection::Connection;

/// Completions taken from the ring before they are looked at.
const BATCH: usize = 64;
/// Bytes of one buffer; a longer reply comes in several.
const BUFFER: usize = 16 * 1024;
const GROUP: u16 = 0;
/// What a completion is of, in the upper bits of its user data; below: generation, connection.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const WATCH: u64 = 2;
/// As many of a generation's bits as it has room for.
const GENERATION: u32 = 0x00ff_ffff;

struct Uring {
    ring: Ring,
    buffers: Buffers,
    ends: Ends,
    each: Vec<Connection>,
    taken: Vec<cqueue::Entry>,
    /// Connections that broke while sending, which the next poll reports.
    broken: Vec<u32>,
}

pub(super) const KIND: TransportKind = TransportKind {
    kind: Kind {
        name: "io_uring",
        about: "io_uring: multishot receive into provided buffers, batched submission",
        usage: "--transport io_uring",
        params: &[],
        needs: &["Linux 6.1", "/proc/sys/kernel/io_uring_disabled = 0"],
        source: "io_uring(7)",
    },
    open: |ends| Ok(Box::new(Uring::open(ends)?)),
    works: || Ring::new(8).and_then(|ring| Buffers::new(&ring.uring, GROUP, 1, 4096)).is_ok(),
};

impl Uring {
    fn open(mut ends: Ends) -> Result<Self, Fault> {
        let count = ends.sockets.len();
        let sockets = std::mem::take(&mut ends.sockets);
        let mut each: Vec<Connection> =
            sockets.into_iter().map(|socket| Connection::new(socket, &ends)).collect();
        each.extend((0..ends.spares).map(|_| Connection::spare(&ends)));
        let fault = |error: io::Error| {
            Fault::failed(
                format!("cannot set up io_uring for {count} connections: {error}"),
                "transport",
                "use --transport epoll, or raise ulimit -l and ulimit -n", // a number comes behind it
            )
        };
        let entries = (count as u32 * 2).next_power_of_two().clamp(64, 4096);
        let ring = Ring::new(entries).map_err(fault)?;
        let buffers = Buffers::new(&ring.uring, GROUP, ends.buffers(), BUFFER).map_err(fault)?;
        let mut this = Self {
            ring,
            buffers,
            ends,
            each,
            taken: Vec::with_capacity(BATCH),
            broken: Vec::with_capacity(count),
        };
        this.register_files().map_err(fault)?;
        (0..count as u32).for_each(|connection| this.arm(connection));
        this.ring.enter();
        Ok(this)
    }

    fn register_files(&mut self) -> io::Result<()> {
        let files: Vec<i32> =
            self.each.iter().map(|it| it.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)).collect();
        self.ring.uring.submitter().register_files(&files)
    }

    /// Arms the receive that stays armed.
    fn arm(&mut self, connection: u32) {
        let data = self.user_data(RECEIVE, connection);
        let entry = opcode::RecvMulti::new(Fixed(connection), GROUP).build().user_data(data);
        // SAFETY: it points to nothing.
        let is_armed = unsafe { self.ring.queue(&entry) };
        self.each[connection as usize].is_armed = is_armed;
        if !is_armed {
            self.breaks(connection);
        }
    }

    /// A send on `connection` has failed. Replies may wait to be read, so the armed receive reads on to the end.
    #[cold]
    fn report_broken(&mut self, connection: u32, on: &mut dyn FnMut(Event<'_>)) {
        let it = &mut self.each[connection as usize];
        it.is_broken = true;
        if let (true, Some(socket)) = (it.is_armed, &it.socket) {
            // It ends the receive behind what came, also where the failure left the socket open.
            let _ = socket.shutdown(std::net::Shutdown::Both);
            self.ring.syscalls += 1;
        } else {
            self.close(connection);
            on(Event::Closed(connection));
        }
    }

    /// Queues a send of `piece`, which stays where it is until it was sent.
    #[inline]
    fn queue_send(&mut self, connection: u32, piece: Piece) {
        let data = self.user_data(SEND, connection);
        let skip =
            if piece.is_tracked { squeue::Flags::empty() } else { squeue::Flags::SKIP_SUCCESS };
        let entry = opcode::Send::new(Fixed(connection), piece.start, piece.len)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .flags(skip)
            .user_data(data);
        // SAFETY: the bytes are owned by the connection's outbox, which does not move or reuse them
        // before they were sent.
        if !unsafe { self.ring.queue(&entry) } {
            self.each[connection as usize].outbox.failed();
            self.breaks(connection);
        }
    }

    fn user_data(&self, what: u64, connection: u32) -> u64 {
        let generation = u64::from(self.each[connection as usize].generation & GENERATION);
        what << 56 | generation << 32 | u64::from(connection)
    }

    fn completed(&mut self, entry: &cqueue::Entry, on: &mut dyn FnMut(Event<'_>)) {
        let data = entry.user_data();
        let connection = data as u32;
        let is_current = data == self.user_data(data >> 56, connection);
        let it = &mut self.each[connection as usize];
        match (data >> 56, is_current) {
            (SEND, true) => self.sent(connection, entry.result()),
            (SEND, false) => it.outbox.forget((data >> 32) as u32 & GENERATION),
            (WATCH, true) => it.is_watched = false,
            (WATCH, false) => {}
            _ => self.received(connection, entry, is_current, on),
        }
    }

    /// A send was completed; successful ones of an untracked outbox are never reported.
    #[inline]
    fn sent(&mut self, connection: u32, result: i32) {
        match usize::try_from(result) {
            Ok(bytes) => {
                if let Some(piece) = self.each[connection as usize].outbox.sent(bytes) {
                    self.queue_send(connection, piece);
                }
            }
            Err(_) if self.ends.datagrams => {} // lost, as it would be in any queue
            Err(_) => {
                self.each[connection as usize].outbox.failed();
                self.breaks(connection);
            }
        }
    }

    /// Notes a connection that can send no more, which the next poll reports.
    #[cold]
    fn breaks(&mut self, connection: u32) {
        let it = &self.each[connection as usize];
        let is_ending = it.is_broken && it.is_armed;
        if !is_ending && !self.broken.contains(&connection) {
            self.broken.push(connection);
        }
    }

    #[inline]
    fn received(
        &mut self,
        connection: u32,
        entry: &cqueue::Entry,
        is_current: bool,
        on: &mut dyn FnMut(Event<'_>),
    ) {
        let result = entry.result();
        if let Some(buffer) = cqueue::buffer_select(entry.flags()) {
            if is_current && result > 0 {
                on(Event::Bytes(connection, self.buffers.bytes(buffer, result as usize)));
            }
            self.buffers.give_back(buffer);
        }
        if !is_current || cqueue::more(entry.flags()) {
            return;
        }
        self.each[connection as usize].is_armed = false;
        if result > 0 || result == -libc::ENOBUFS || (self.ends.datagrams && result == 0) {
            self.arm(connection); // the kernel disarmed it: buffers had run out for a moment
        } else {
            if result == 0 && !self.each[connection as usize].is_broken {
                on(Event::Ended(connection));
            }
            self.close(connection);
            on(Event::Closed(connection));
        }
    }
}

impl Transport for Uring {
    #[inline]
    fn send(&mut self, connection: u32, bytes: &[u8]) {
        if let Some(piece) = self.each[connection as usize].outbox.push(bytes) {
            self.queue_send(connection, piece);
        }
    }

    fn poll(&mut self, patience: Patience, on: &mut dyn FnMut(Event<'_>)) {
        while let Some(connection) = self.broken.pop() {
            self.report_broken(connection, on);
        }
        let nothing_yet = self.ring.uring.completion().is_empty();
        if nothing_yet && patience.wait_ns > 0 {
            self.ring.enter_and_wait(patience);
        } else if self.ring.has_queued() || (nothing_yet && self.ring.has_work()) {
            self.ring.enter();
        }
        let mut taken = std::mem::take(&mut self.taken);
        taken.extend(self.ring.uring.completion().take(BATCH));
        for entry in taken.drain(..) {
            self.completed(&entry, on);
        }
        self.taken = taken;
        self.buffers.publish();
    }

    fn close(&mut self, connection: u32) {
        if self.ring.has_queued() {
            self.ring.enter(); // what is queued for this socket must not reach the next one
        }
        self.broken.retain(|&broken| broken != connection); // else it would end the next one
        if let Some(opening) = self.each[connection as usize].opening.take() {
            self.abandon(&opening);
        }
        let it = &mut self.each[connection as usize];
        it.outbox.retire(it.generation & GENERATION);
        it.generation += 1;
        (it.is_armed, it.is_broken, it.is_watched) = (false, false, false);
        if let Some(socket) = it.socket.take() {
            // Ends the receive and any send still under way; both complete as strangers.
            let _ = socket.shutdown(std::net::Shutdown::Both);
            let _ = self.ring.uring.submitter().register_files_update(connection, &[-1]);
            self.ring.syscalls += 3;
        }
    }

    fn reopen(&mut self, connection: u32) -> Reopen {
        self.ring.syscalls += 4;
        let socket = match self.go_on(connection) {
            Ok(socket) => socket,
            Err(not_yet) => return not_yet,
        };
        let descriptor = socket.as_raw_fd();
        if self.ring.uring.submitter().register_files_update(connection, &[descriptor]).is_err() {
            return Reopen::Refused;
        }
        let it = &mut self.each[connection as usize];
        it.outbox.renew(&socket, it.generation & GENERATION);
        it.socket = Some(socket);
        self.arm(connection);
        Reopen::Open
    }

    fn syscalls(&self) -> u64 {
        self.ring.syscalls
    }
}

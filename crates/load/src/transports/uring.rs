//! `io_uring`: one system call hands over many requests and picks up many replies.
//!
//! Life of a connection: its socket is a fixed file of the ring; one multishot receive stays armed
//! on it and takes a buffer from a ring of provided buffers for each arrival. Requests leave
//! through an [`Outbox`], which keeps their bytes in place and in order ([`super::outbox`]).
//!
//! The ring belongs to one thread and does its deferred work only when that thread enters the
//! kernel (`SINGLE_ISSUER`, `DEFER_TASKRUN`). The `TASKRUN` flag tells when there is such work, so a
//! thread that spins looks at memory and enters the kernel only when something happened.
//!
//! Source: `io_uring_setup(2)`, `io_uring_prep_recv_multishot(3)`, `io_uring_setup_buf_ring(3)`.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use socket2::Socket;
use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::buffers::Buffers;
use super::outbox::{Outbox, Piece};
use super::{Ends, Event, Patience, Reopen, Transport, TransportKind, sockets};

/// Completions taken from the ring before they are looked at.
const BATCH: usize = 64;
/// Bytes of one buffer; a longer reply comes in several.
const BUFFER: usize = 16 * 1024;
const GROUP: u16 = 0;
/// What a completion is of, in the upper bits of its user data; below: generation, connection.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;

struct Uring {
    ring: IoUring,
    buffers: Buffers,
    ends: Ends,
    each: Vec<Connection>,
    taken: Vec<cqueue::Entry>,
    /// Submissions queued and not yet handed over.
    queued: u32,
    /// Connections that broke while sending, to be told by the next poll.
    broken: Vec<u32>,
    /// Whether the kernel can wait for many arrivals, but not for long (Linux 6.12).
    waits_for_many: bool,
    syscalls: u64,
}

struct Connection {
    socket: Option<Socket>,
    opening: Option<Socket>,
    /// Rises with every reopening: completions of an older one are not listened to.
    generation: u32,
    outbox: Outbox,
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
    works: || set_up(8).and_then(|ring| Buffers::new(&ring, GROUP, 1, 4096)).is_ok(),
};

fn set_up(entries: u32) -> io::Result<IoUring> {
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize(entries * 4)
        .build(entries)
}

impl Uring {
    fn open(mut ends: Ends) -> Result<Self, Fault> {
        let count = ends.sockets.len();
        let sockets = std::mem::take(&mut ends.sockets);
        let each = sockets
            .into_iter()
            .map(|socket| Connection {
                outbox: Outbox::new(&socket, ends.request_bytes_max, ends.depth),
                socket: Some(socket),
                opening: None,
                generation: 0,
            })
            .collect();
        let fault = |error: io::Error| {
            Fault::failed(
                format!("cannot set up io_uring for {count} connections: {error}"),
                "transport",
                "use --transport epoll, or raise ulimit -l and ulimit -n",
            )
        };
        let entries = (count as u32 * 2).next_power_of_two().clamp(64, 4096);
        let ring = set_up(entries).map_err(fault)?;
        // The kernel finds the ring by number instead of by descriptor: saves a look-up per call.
        let _ = ring.submitter().register_ring_fd();
        let buffers = Buffers::new(&ring, GROUP, ends.buffers(), BUFFER).map_err(fault)?;
        let mut this = Self {
            waits_for_many: ring.params().is_feature_min_timeout(),
            ring,
            buffers,
            ends,
            each,
            taken: Vec::with_capacity(BATCH),
            queued: 0,
            broken: Vec::with_capacity(count),
            syscalls: 0,
        };
        this.register_files().map_err(fault)?;
        (0..count as u32).for_each(|connection| this.arm(connection));
        this.enter();
        Ok(this)
    }

    fn register_files(&mut self) -> io::Result<()> {
        let files: Vec<i32> =
            self.each.iter().map(|it| it.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)).collect();
        self.ring.submitter().register_files(&files)
    }

    /// Arms the receive that stays armed.
    fn arm(&mut self, connection: u32) {
        let data = self.user_data(RECEIVE, connection);
        let entry = opcode::RecvMulti::new(Fixed(connection), GROUP).build().user_data(data);
        self.queue(&entry);
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
        self.queue(&entry);
    }

    fn user_data(&self, what: u64, connection: u32) -> u64 {
        let generation = u64::from(self.each[connection as usize].generation & 0x00ff_ffff);
        what << 56 | generation << 32 | u64::from(connection)
    }

    #[inline]
    fn queue(&mut self, entry: &squeue::Entry) {
        // SAFETY: what an entry points to is owned by an outbox of `self.each`, which does not
        // move or reuse it before it was sent.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter();
        }
        self.queued += 1;
    }

    /// Enters the kernel: hands over what is queued, does deferred work.
    #[inline]
    fn enter(&mut self) {
        const GET_EVENTS: u32 = 1;
        let submitter = self.ring.submitter();
        // SAFETY: no argument is passed; `queued` entries were pushed.
        let result = unsafe { submitter.enter::<libc::sigset_t>(self.queued, 0, GET_EVENTS, None) };
        self.entered(&result);
    }

    /// The same, and waits for arrivals.
    fn enter_and_wait(&mut self, patience: Patience) {
        let (s, ns) = (patience.wait_ns / 1_000_000_000, patience.wait_ns % 1_000_000_000);
        let wait = Timespec::new().sec(s).nsec(ns as u32);
        let mut arguments = SubmitArgs::new().timespec(&wait);
        let mut want = 1;
        if patience.together_ns > 0 && self.waits_for_many {
            want = patience.arrivals as usize;
            if patience.together_ns < patience.wait_ns {
                arguments = arguments.min_wait_usec((patience.together_ns / 1000) as u32);
            }
        }
        let result = self.ring.submitter().submit_with_args(want, &arguments);
        self.entered(&result);
    }

    /// Whether the kernel has completions that only an entry brings: deferred work, or more than
    /// the ring had room for.
    #[inline]
    fn has_work(&mut self) -> bool {
        let submission = self.ring.submission();
        submission.taskrun() || submission.cq_overflow()
    }

    /// Hands over, sleeps for the time given whatever arrives, and picks up: arrivals are left to
    /// wait for more than there can be.
    fn enter_and_doze(&mut self, patience: Patience) {
        let ns = patience.together_ns.min(patience.wait_ns);
        let wait = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
        let arguments = SubmitArgs::new().timespec(&wait);
        let result = self.ring.submitter().submit_with_args(i32::MAX as usize, &arguments);
        self.entered(&result);
    }

    /// A time-out or a signal (ETIME, EINTR) comes after the submission; a full completion ring
    /// (EBUSY) is emptied by the next poll, which enters again.
    #[inline]
    fn entered(&mut self, result: &io::Result<usize>) {
        self.syscalls += 1;
        self.queued = match result {
            Ok(_) => 0,
            Err(_) => self.ring.submission().len() as u32,
        };
    }

    fn completed(&mut self, entry: &cqueue::Entry, on: &mut dyn FnMut(Event<'_>)) {
        let data = entry.user_data();
        let connection = data as u32;
        let is_current = data == self.user_data(data >> 56, connection);
        if data >> 56 == SEND {
            if is_current {
                self.sent(connection, entry.result());
            }
            return;
        }
        self.received(connection, entry, is_current, on);
    }

    /// A send was completed; successful ones of an untracked outbox are never told of.
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
                if !self.broken.contains(&connection) {
                    self.broken.push(connection);
                }
            }
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
        if result > 0 || result == -libc::ENOBUFS || (self.ends.datagrams && result == 0) {
            self.arm(connection); // the kernel disarmed it: buffers had run out for a moment
        } else {
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
            self.close(connection);
            on(Event::Closed(connection));
        }
        let nothing_yet = self.ring.completion().is_empty();
        if nothing_yet && patience.arrivals == Patience::ALL {
            self.enter_and_doze(patience);
        } else if nothing_yet && patience.wait_ns > 0 {
            self.enter_and_wait(patience);
        } else if self.queued > 0 || (nothing_yet && self.has_work()) {
            self.enter();
        }
        let mut taken = std::mem::take(&mut self.taken);
        taken.extend(self.ring.completion().take(BATCH));
        for entry in taken.drain(..) {
            self.completed(&entry, on);
        }
        self.taken = taken;
        self.buffers.publish();
    }

    fn close(&mut self, connection: u32) {
        if self.queued > 0 {
            self.enter(); // what is queued for this socket must not reach the next one
        }
        let it = &mut self.each[connection as usize];
        it.generation += 1;
        it.opening = None;
        if let Some(socket) = it.socket.take() {
            // Ends the receive and any send still under way; both complete as strangers.
            let _ = socket.shutdown(std::net::Shutdown::Both);
            let _ = self.ring.submitter().register_files_update(connection, &[-1]);
            self.syscalls += 3;
        }
    }

    fn reopen(&mut self, connection: u32) -> Reopen {
        self.syscalls += 4;
        let it = &mut self.each[connection as usize];
        let socket = match it.opening.take() {
            Some(socket) => socket,
            None => match sockets::begin(self.ends.address, self.ends.datagrams) {
                Some(socket) => socket,
                None => return Reopen::Refused,
            },
        };
        match sockets::progress(&socket) {
            Reopen::Open => {}
            Reopen::Pending => {
                it.opening = Some(socket);
                return Reopen::Pending;
            }
            Reopen::Refused => return Reopen::Refused,
        }
        let descriptor = socket.as_raw_fd();
        if self.ring.submitter().register_files_update(connection, &[descriptor]).is_err() {
            return Reopen::Refused;
        }
        it.outbox.renew(&socket);
        it.socket = Some(socket);
        self.arm(connection);
        Reopen::Open
    }

    fn syscalls(&self) -> u64 {
        self.syscalls
    }
}

//! Plain sockets and epoll: one `send` and one `recv` a request, one wait for many replies.
//!
//! Streams are watched edge-triggered, so that a ready socket is not polled again by the kernel on
//! every wait: a receive that does not fill the buffer has emptied the socket (epoll(7), question 9).
//! Datagrams are watched level-triggered and read one at a time.

mod wait;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use socket2::Socket;
use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::{Ends, Event, Patience, Reopen, Transport, TransportKind, sockets};

/// Events taken per wait. Few, so that a reply is not picked up long after the wait that reported it.
const EVENTS: usize = 16;
/// Bytes read at once: more than any reply of a usual job.
const BUFFER: usize = 256 * 1024;
/// Reads from one connection per poll: a long reply must not keep requests from being sent, nor their replies from
/// being read.
const READS: usize = 4;

struct Epoll {
    set: OwnedFd,
    ends: Ends,
    /// The socket of each connection; `None` while it is closed.
    open: Vec<Option<Socket>>,
    /// Sockets on their way to be open.
    opening: Vec<Option<sockets::Opening>>,
    /// Bytes that the kernel did not take yet, in order.
    unsent: Vec<Vec<u8>>,
    /// Connections that broke while sending, which the next poll reports.
    broken: Vec<u32>,
    /// Connections that had more to be read than a poll takes, for the next one: no event reports it again.
    unread: Vec<u32>,
    buffer: Box<[u8]>,
    events: [libc::epoll_event; EVENTS],
    syscalls: u64,
    /// Whether the kernel, and whoever filters its calls, offers `epoll_pwait2`.
    has_pwait2: bool,
}

pub(super) const KIND: TransportKind = TransportKind {
    kind: Kind {
        name: "epoll",
        about: "plain sockets, edge-triggered epoll",
        usage: "--transport epoll",
        params: &[],
        needs: &[],
        source: "epoll(7)",
    },
    open,
    works: || true,
};

fn open(mut ends: Ends) -> Result<Box<dyn Transport>, Fault> {
    // SAFETY: takes a flag, answers a file descriptor that has no other owner.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if epoll < 0 {
        let error = io::Error::last_os_error();
        return Err(Fault::failed(
            format!("cannot make an epoll set: {error}"),
            "transport",
            super::sockets::files::RAISE,
        ));
    }
    // SAFETY: the descriptor was just made and is owned here alone.
    let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
    let sockets = std::mem::take(&mut ends.sockets);
    let room = (ends.request_bytes_max * ends.depth as usize).min(64 * 1024);
    let places = sockets.len() + ends.spares as usize;
    let mut this = Epoll {
        set: epoll,
        opening: (0..places).map(|_| None).collect(),
        unsent: (0..places).map(|_| Vec::with_capacity(room)).collect(),
        broken: Vec::with_capacity(sockets.len()),
        unread: Vec::with_capacity(places),
        buffer: vec![1; BUFFER].into_boxed_slice(),
        events: [libc::epoll_event { events: 0, u64: 0 }; EVENTS],
        syscalls: 0,
        has_pwait2: true,
        open: Vec::with_capacity(places),
        ends,
    };
    for (connection, socket) in sockets.into_iter().enumerate() {
        if !this.watch(connection as u32, &socket, libc::EPOLL_CTL_ADD) {
            return Err(Fault::failed(
                format!("cannot watch a socket: {}", io::Error::last_os_error()),
                "transport",
                "raise /proc/sys/fs/epoll/max_user_watches",
            ));
        }
        this.open.push(Some(socket));
    }
    this.open.resize_with(places, || None);
    Ok(Box::new(this))
}

impl Transport for Epoll {
    fn send(&mut self, connection: u32, bytes: &[u8]) {
        let at = connection as usize;
        if self.unsent[at].is_empty() {
            let taken = self.send_now(connection, bytes);
            if taken < bytes.len() {
                self.unsent[at].extend_from_slice(&bytes[taken..]);
            }
        } else {
            self.unsent[at].extend_from_slice(bytes);
        }
    }

    fn poll(&mut self, patience: Patience, on: &mut dyn FnMut(Event<'_>)) {
        while let Some(connection) = self.broken.pop() {
            self.read_rest(connection, on);
            self.close(connection);
            on(Event::Closed(connection));
        }
        let patience = if self.unread.is_empty() { patience } else { Patience::NONE };
        let ready = self.wait_with(patience);
        for _ in 0..self.unread.len() {
            let connection = self.unread.remove(0);
            self.receive(connection, true, on);
        }
        for nth in 0..ready {
            let event = self.events[nth];
            let (connection, flags) = (event.u64 as u32, event.events as i32);
            if flags & libc::EPOLLOUT != 0 && !self.unsent[connection as usize].is_empty() {
                self.send_rest(connection);
            }
            let over = libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR;
            if flags & (libc::EPOLLIN | over) != 0 {
                self.receive(connection, flags & over != 0, on);
            }
        }
    }

    fn close(&mut self, connection: u32) {
        let at = connection as usize;
        self.open[at] = None; // closing the descriptor takes it out of the epoll set
        self.opening[at] = None;
        self.unsent[at].clear();
        self.broken.retain(|&broken| broken != connection); // else it would end the next one
        self.unread.retain(|&unread| unread != connection);
        self.syscalls += 1;
    }

    fn reopen(&mut self, connection: u32) -> Reopen {
        let at = connection as usize;
        self.syscalls += 4;
        let begun = self.opening[at].take();
        let is_watched = begun.is_some();
        let mut opening = match begun {
            Some(opening) => opening,
            None => match self.ends.way(connection).begin(&self.ends.greeting) {
                Ok(opening) => opening,
                Err(refused) => return refused,
            },
        };
        match opening.progress() {
            Reopen::Open => {}
            Reopen::Pending => {
                // Watched already now, it ends a wait when it goes on.
                if !is_watched && !self.watch(connection, opening.socket(), libc::EPOLL_CTL_ADD) {
                    return Reopen::Refused;
                }
                self.opening[at] = Some(opening);
                return Reopen::Pending;
            }
            _ => return Reopen::Refused,
        }
        let socket = opening.into_socket();
        // What was reported of it until now was not read, and is reported again.
        let how = if is_watched { libc::EPOLL_CTL_MOD } else { libc::EPOLL_CTL_ADD };
        if !self.watch(connection, &socket, how) {
            return Reopen::Refused;
        }
        self.open[at] = Some(socket);
        Reopen::Open
    }

    fn syscalls(&self) -> u64 {
        self.syscalls
    }
}

impl Epoll {
    /// Adds a socket to the set, or asks anew what is to be reported of it.
    fn watch(&mut self, connection: u32, socket: &Socket, how: libc::c_int) -> bool {
        let flags = if self.ends.datagrams {
            libc::EPOLLIN
        } else {
            libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET
        };
        let mut event = libc::epoll_event { events: flags as u32, u64: u64::from(connection) };
        // SAFETY: both descriptors are open, the event is copied by the kernel.
        let result = unsafe {
            libc::epoll_ctl(self.set.as_raw_fd(), how, socket.as_raw_fd(), &raw mut event)
        };
        result == 0
    }

    /// Hands as much to the kernel as it takes now; a broken connection takes everything.
    #[inline]
    fn send_now(&mut self, connection: u32, bytes: &[u8]) -> usize {
        let Some(socket) = &self.open[connection as usize] else { return bytes.len() };
        self.syscalls += 1;
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        let (start, no_one) = (bytes.as_ptr(), std::ptr::null::<libc::sockaddr>());
        // SAFETY: `bytes` is valid for its length during the call.
        let sent = unsafe {
            // The C library's own `send` and `recv` are cancellation points, which costs them as many
            // instructions as the rest of the way into the kernel.
            let (call, to) = (libc::SYS_sendto, socket.as_raw_fd());
            libc::syscall(call, to, start, bytes.len(), flags, no_one, 0_usize)
        };
        if sent >= 0 {
            return sent as usize;
        }
        let full = io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
        if full && !self.ends.datagrams {
            return 0;
        }
        if !full && !self.broken.contains(&connection) {
            self.broken.push(connection);
        }
        bytes.len() // a datagram that found no room is lost, as it would be in any queue
    }

    fn send_rest(&mut self, connection: u32) {
        let rest = std::mem::take(&mut self.unsent[connection as usize]);
        let taken = self.send_now(connection, &rest);
        let mut rest = rest;
        rest.drain(..taken);
        self.unsent[connection as usize] = rest;
    }

    /// Reads until the socket is empty; `over`: until its end. What is left after [`READS`] is for the next poll.
    fn receive(&mut self, connection: u32, over: bool, on: &mut dyn FnMut(Event<'_>)) {
        let mut reads = 0;
        while let Some(read) = self.receive_once(connection) {
            if read > 0 {
                reads += 1;
                on(Event::Bytes(connection, &self.buffer[..read as usize]));
                if self.ends.datagrams || ((read as usize) < self.buffer.len() && !over) {
                    return;
                }
                if reads == READS {
                    if !self.unread.contains(&connection) {
                        self.unread.push(connection);
                    }
                    return;
                }
                continue;
            }
            if read < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock {
                return;
            }
            if read == 0 {
                on(Event::Ended(connection));
            }
            self.close(connection);
            on(Event::Closed(connection));
        }
    }

    /// Reads what came before `connection` broke, because a send fails while replies wait to be read.
    ///
    /// The end itself is not reported: the failed send has taken the error from the socket, so that a reset
    /// would look like an end in order.
    #[cold]
    fn read_rest(&mut self, connection: u32, on: &mut dyn FnMut(Event<'_>)) {
        while let Some(read @ 1..) = self.receive_once(connection) {
            on(Event::Bytes(connection, &self.buffer[..read as usize]));
        }
    }

    /// What one system call has read: a number of bytes, 0 at the end, negative for an error.
    #[inline]
    fn receive_once(&mut self, connection: u32) -> Option<libc::c_long> {
        let socket = self.open[connection as usize].as_ref()?;
        self.syscalls += 1;
        let (start, room) = (self.buffer.as_mut_ptr(), self.buffer.len());
        let no_one = std::ptr::null_mut::<libc::sockaddr>();
        // SAFETY: the buffer is valid for its length and not aliased during the call.
        Some(unsafe {
            let (call, from) = (libc::SYS_recvfrom, socket.as_raw_fd());
            libc::syscall(call, from, start, room, libc::MSG_DONTWAIT, no_one, no_one)
        })
    }
}

//! Connections before the run, some at a time: each takes a round trip to the server, or several to be greeted.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Instant;

use socket2::Socket;
use sojourn_base::Fault;

use super::{CONNECT_WITHIN, Opening, Way, not_greeted, refused};
use crate::transports::hello::Greeting;

/// How many are opened at a time: of many more, a server with a short backlog drops some.
const AT_ONCE: usize = 8;
/// Longest time between two looks at them, ms.
const LOOK_MS: libc::c_int = 10;

/// One that is being opened.
struct Attempt {
    nth: u32,
    way: Way,
    opening: Opening,
}

/// Opens connections `first` to `count`, each on its `way`, and greets on each. Within each [`CONNECT_WITHIN`] a
/// further one must be open.
pub(super) fn open(
    way: impl Fn(u32) -> Way,
    (first, count): (u32, u32),
    greeting: &Greeting,
) -> Result<Vec<Socket>, Fault> {
    let mut open: Vec<Option<Socket>> = (first..count).map(|_| None).collect();
    let mut under_way: Vec<Attempt> = Vec::new();
    let (mut next, mut last_opened) = (first, Instant::now());
    while next < count || !under_way.is_empty() {
        while next < count && under_way.len() < AT_ONCE {
            under_way.push(Attempt::begin(way(next), (next, count), greeting)?);
            (next, last_opened) = (next + 1, Instant::now()); // of some sockets, to begin takes its time
        }
        let (before, mut at) = (under_way.len(), 0);
        while at < under_way.len() {
            match under_way[at].opening.go_on() {
                Ok(()) => {
                    let Attempt { nth, opening, .. } = under_way.swap_remove(at);
                    open[(nth - first) as usize] = Some(opening.into_socket());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => at += 1,
                Err(error) => return Err(under_way[at].fault(&error, count)),
            }
        }
        if under_way.len() < before {
            last_opened = Instant::now();
        } else if last_opened.elapsed() > CONNECT_WITHIN {
            return Err(under_way[0].fault(&io::ErrorKind::TimedOut.into(), count));
        } else {
            wait(&under_way);
        }
    }
    Ok(open.into_iter().flatten().collect())
}

impl Attempt {
    /// Begins with connection `nth` of `count`.
    fn begin(way: Way, (nth, count): (u32, u32), greeting: &Greeting) -> Result<Self, Fault> {
        let socket = if way.datagrams || way.address.is_unix() {
            way.open(CONNECT_WITHIN, (nth, count))? // at once, or it waits for room in a backlog
        } else {
            way.start((nth, count))?
        };
        Ok(Self { nth, way, opening: Opening::new(socket, greeting) })
    }

    /// The fault of one that failed.
    fn fault(&self, error: &io::Error, count: u32) -> Fault {
        if self.opening.is_connected() {
            return not_greeted(error, &self.way.address);
        }
        refused(error, &self.way.address, self.nth, count)
    }
}

/// Waits until one of them may go on.
fn wait(under_way: &[Attempt]) {
    let polled = |it: &Attempt| libc::pollfd {
        fd: it.opening.socket().as_raw_fd(),
        events: it.opening.awaits(),
        revents: 0,
    };
    let mut all: Vec<libc::pollfd> = under_way.iter().map(polled).collect();
    // SAFETY: as many entries as are counted, which outlive the call.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, LOOK_MS) };
}

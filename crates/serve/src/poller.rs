//! epoll and a timer: what is ready, and when to look again.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use sojourn_base::units::NS_PER_S;

/// Token of the timer itself.
const TIMER: u64 = u64::MAX;
/// Events taken at once.
const EVENTS: usize = 256;

/// What is ready of a descriptor, by the number it was added with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// As given to [`Poller::add`].
    pub token: u64,
    /// There is something to read, or the other side is gone.
    pub to_read: bool,
    /// There is room to write again.
    pub to_write: bool,
}

/// An epoll set with a timer in it.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// When the timer is set to, ns of the monotonic clock; 0: not set.
    armed_ns: u64,
}

impl Poller {
    /// A set that holds nothing but its timer.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edge)?;
        Ok(Self { epoll, timer, armed_ns: 0 })
    }

    /// Watches `source` for bytes to read.
    pub fn add(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token), EventFlags::IN)?)
    }

    /// Watches `source` no longer; an error: it was not watched.
    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Watches `source` for room to write too, or no longer.
    pub fn want_write(&self, source: impl AsFd, token: u64, wanted: bool) -> io::Result<()> {
        let flags = if wanted { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        Ok(epoll::modify(&self.epoll, source, EventData::new_u64(token), flags)?)
    }

    /// Puts what is ready now into `ready`, without waiting.
    pub fn look(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.wait(0, ready)
    }

    /// Waits until something is ready, or until `wake_ns` of the monotonic clock (0: no such time),
    /// or for 100 ms, so that a signal is noticed.
    pub fn wait_until(&mut self, wake_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if wake_ns != 0 && wake_ns != self.armed_ns {
            self.arm(wake_ns)?;
        }
        self.wait(NS_PER_S / 10, ready)
    }

    fn arm(&mut self, wake_ns: u64) -> io::Result<()> {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: never, it_value: timespec(wake_ns) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)?;
        self.armed_ns = wake_ns;
        Ok(())
    }

    fn wait(&self, most_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        let events = match epoll::wait(&self.epoll, &mut room, Some(&timespec(most_ns))) {
            Ok((events, _)) => events,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in events {
            let (flags, token) = (event.flags, event.data.u64());
            if token != TIMER {
                let to_write = flags.contains(EventFlags::OUT);
                ready.push(Ready { token, to_read: flags != EventFlags::OUT, to_write });
            }
        }
        Ok(())
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as _ }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use sojourn_base::clock::{Clock, Monotonic};

    use super::*;

    #[test]
    fn what_is_ready_is_told_by_its_token() {
        let mut poller = Poller::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        poller.add(&server, 7).unwrap();
        let mut ready = Vec::new();
        poller.look(&mut ready).unwrap();
        assert!(ready.is_empty());
        client.write_all(b"x").unwrap();
        poller.wait_until(0, &mut ready).unwrap();
        assert_eq!(ready, [Ready { token: 7, to_read: true, to_write: false }]);
        poller.want_write(&server, 7, true).unwrap();
        poller.look(&mut ready).unwrap();
        assert!(ready[0].to_write);
    }

    #[test]
    fn the_timer_ends_a_wait_not_before_its_time() {
        let mut poller = Poller::new().unwrap();
        let mut ready = Vec::new();
        for _ in 0..3 {
            let wake_ns = Monotonic.now_ns() + 2_000_000;
            poller.wait_until(wake_ns, &mut ready).unwrap();
            assert!(Monotonic.now_ns() >= wake_ns);
        }
    }
}

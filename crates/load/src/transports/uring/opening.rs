//! Connections of the ring that are opened again: watched, so that a poll which waits wakes when one goes on.

use std::net::Shutdown;
use std::os::fd::AsRawFd;

use io_uring::opcode;
use io_uring::types::Fd;
use socket2::Socket;

use super::{Uring, WATCH};
use crate::transports::{Reopen, sockets};

impl Uring {
    /// Goes on to open `connection`; its socket when it is open, else how far that has come.
    pub(super) fn go_on(&mut self, connection: u32) -> Result<Socket, Reopen> {
        let begun = self.each[connection as usize].opening.take();
        let mut opening = match begun {
            Some(opening) => opening,
            None => self.ends.way(connection).begin(&self.ends.greeting)?,
        };
        match opening.progress() {
            Reopen::Open => Ok(opening.into_socket()),
            Reopen::Pending => {
                self.watch(connection, &opening);
                self.each[connection as usize].opening = Some(opening);
                Err(Reopen::Pending)
            }
            refused => {
                self.abandon(&opening);
                Err(refused)
            }
        }
    }

    /// Ends an attempt. The kernel holds a socket that it watches, so that closing alone would not end it.
    pub(super) fn abandon(&mut self, opening: &sockets::Opening) {
        if self.ring.has_queued() {
            self.ring.enter(); // the socket's number must not reach the kernel as another one's
        }
        let _ = opening.socket().shutdown(Shutdown::Both);
        self.ring.syscalls += 1;
    }

    /// Lets the ring report once that `opening` may go on, only to end a wait.
    fn watch(&mut self, connection: u32, opening: &sockets::Opening) {
        if self.each[connection as usize].is_watched {
            return;
        }
        let data = self.user_data(WATCH, connection);
        let (socket, awaited) = (Fd(opening.socket().as_raw_fd()), opening.awaits());
        let entry = opcode::PollAdd::new(socket, awaited as u32).build().user_data(data);
        // SAFETY: it points to nothing.
        self.each[connection as usize].is_watched = unsafe { self.ring.queue(&entry) };
    }
}

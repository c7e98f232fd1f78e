//! A blocking connection, plain or over TLS.

use std::io::{self, Read, Write};

use rustls::{ClientConnection, StreamOwned};
use socket2::Socket;
use sojourn_base::Fault;

use crate::job::address::Address;
use crate::job::target::Target;
use crate::protocols::Protocol;
use crate::transports::sockets;
use crate::transports::tls::Secure;

/// A connection that waits.
pub(super) enum Stream {
    Plain(Socket),
    Secured(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Secured(session) => session.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Secured(session) => session.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Secured(session) => session.flush(),
        }
    }
}

/// The same over TLS, greeted.
pub(super) fn secured(
    socket: Socket,
    secure: &Secure,
    protocol: &dyn Protocol,
    (target, address): (&Target, &Address),
) -> Result<Stream, Fault> {
    let refused = |error: &io::Error| {
        secure.refused(error, &target.place()).unwrap_or_else(|| unready(error, target))
    };
    let session = secure.session().map_err(|error| refused(&io::Error::other(error)))?;
    let mut stream = StreamOwned::new(session, socket);
    while stream.conn.is_handshaking() {
        let shaken = stream.conn.complete_io(&mut stream.sock);
        shaken.map_err(|error| refused(&error))?;
    }
    if let Some(mut talk) = protocol.hello().begin() {
        talk.go_on(&mut stream).map_err(|error| sockets::not_greeted(&error, address))?;
    }
    Ok(Stream::Secured(Box::new(stream)))
}

/// It could not be opened, or greeted.
pub(super) fn unready(error: &io::Error, target: &Target) -> Fault {
    let what = format!("the items could not be preloaded: {error}");
    Fault::failed(what, target.place(), "see whether the server closes connections at once")
}

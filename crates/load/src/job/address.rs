//! Where one server listens: an address and a port, or the path of a unix socket.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use socket2::{Domain, SockAddr};

/// Address of one server, as a target names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP or UDP.
    Ip(SocketAddr),
    /// A unix stream socket.
    Unix(PathBuf),
}

impl Address {
    /// As the kernel takes it; an error if a path is too long for it (107 bytes).
    pub fn for_kernel(&self) -> io::Result<SockAddr> {
        match self {
            Self::Ip(address) => Ok((*address).into()),
            Self::Unix(path) => SockAddr::unix(path),
        }
    }

    /// The family of sockets that reach it.
    pub fn domain(&self) -> Domain {
        match self {
            Self::Ip(address) => Domain::for_address(*address),
            Self::Unix(_) => Domain::UNIX,
        }
    }

    /// Whether it is a unix socket.
    pub fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Ip(address)
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

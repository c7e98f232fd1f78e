//! The network: bytes between two sockets of its own on the loopback interface.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use crate::antagonist::{Antagonist, Entry, Made, Most};
use crate::intensity::Intensity;
use crate::words::Words;

const WAIT: Duration = Duration::from_millis(100); // for a datagram that was dropped
const BYTES_MAX: u64 = 60_000; // of one message: a datagram's most, nearly

struct Datagrams {
    from: UdpSocket,
    to: UdpSocket,
    message: Vec<u8>,
}

impl Antagonist for Datagrams {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let mut moved = 0;
        while moved < units {
            self.from.send(&self.message).map_err(|error| broken(&error))?;
            match self.to.recv(&mut self.message) {
                Ok(bytes) => moved += bytes as u64,
                // It was dropped, and is not counted.
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(moved.max(1)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(moved)
    }
}

struct Stream {
    from: TcpStream,
    to: TcpStream,
    message: Vec<u8>,
}

impl Antagonist for Stream {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let mut moved = 0;
        while moved < units {
            // A message fits into the buffers of both sockets, so one thread can do both.
            self.from.write_all(&self.message).map_err(|error| broken(&error))?;
            self.to.read_exact(&mut self.message).map_err(|error| broken(&error))?;
            moved += self.message.len() as u64;
        }
        Ok(moved)
    }
}

fn broken(error: &std::io::Error) -> Fault {
    let fix = "see whether the loopback interface is up: ip link show lo";
    Fault::failed(format!("loopback does not carry: {error}"), "network", fix)
}

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    let bytes = words.bytes("message")?.unwrap_or(1400);
    if bytes > BYTES_MAX {
        let what = format!("a message of {bytes} bytes is asked, {BYTES_MAX} are the most");
        return Err(Fault::usage(what, "params.message", "give at most 60000"));
    }
    let message = vec![0x5a; bytes as usize];
    let made = if words.choice("by", &["datagram", "stream"])? == 0 {
        datagrams(message).map(|worker| Made::new(worker, format!("datagrams of {bytes} bytes")))
    } else {
        stream(message).map(|worker| Made::new(worker, format!("a stream, {bytes} bytes a write")))
    };
    made.map_err(|error| broken(&error))
}

fn datagrams(message: Vec<u8>) -> std::io::Result<Datagrams> {
    let any = (Ipv4Addr::LOCALHOST, 0);
    let (from, to) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
    from.connect(to.local_addr()?)?;
    to.connect(from.local_addr()?)?;
    to.set_read_timeout(Some(WAIT))?;
    Ok(Datagrams { from, to, message })
}

fn stream(message: Vec<u8>) -> std::io::Result<Stream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let from = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (to, peer) = listener.accept()?;
        if peer == from.local_addr()? {
            from.set_nodelay(true)?;
            return Ok(Stream { from, to, message });
        }
    }
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "network",
        about: "moves bytes between two sockets of its own on loopback",
        usage: "network (-p by=stream --intensity 100MB/s)",
        params: &[
            Param {
                name: "by",
                unit: "",
                about: "what carries them",
                default: "datagram",
                range: "datagram | stream",
            },
            Param {
                name: "message",
                unit: "bytes",
                about: "bytes of one write",
                default: "1400",
                range: "1..60000",
            },
        ],
        needs: &["a loopback interface"],
        source: "iBench, IISWC 2013, section 3 (network)",
    },
    unit: "bytes",
    most: Most::PerCpuSecond,
    build,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn both_carriers_move_whole_messages() {
        for by in ["datagram", "stream"] {
            let input = BTreeMap::from([("by".to_owned(), by.to_owned())]);
            let words = Words::new(&ENTRY.kind, &input).unwrap();
            let mut made = build(&words, Intensity::Share(1.0)).unwrap();
            assert_eq!(made.worker.work(10_000).unwrap(), 11_200, "{by}"); // 8 × 1400
        }
    }
}

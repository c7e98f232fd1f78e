//! Where requests go: scheme, host, port and path of `memcache://127.0.0.1:11211`.

use std::net::{SocketAddr, ToSocketAddrs};

use sojourn_base::Fault;
use sojourn_base::kind::near;

/// The protocol and what carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// memcache text over TCP.
    Memcache,
    /// memcache text over UDP, with its 8-byte frame header.
    MemcacheUdp,
    /// HTTP/1.1, keep-alive.
    Http,
    /// RESP, as Redis speaks it.
    Resp,
    /// Length-prefixed frames that come back as they went.
    Echo,
    /// No network: every request is answered at once.
    Null,
}

/// Scheme, name, protocol, port if none is given.
const SCHEMES: &[(Scheme, &str, &str, u16)] = &[
    (Scheme::Memcache, "memcache", "memcache", 11211),
    (Scheme::MemcacheUdp, "memcache+udp", "memcache", 11211),
    (Scheme::Http, "http", "http", 80),
    (Scheme::Resp, "resp", "resp", 6379),
    (Scheme::Echo, "echo", "echo", 7007),
    (Scheme::Null, "null", "null", 0),
];

impl Scheme {
    /// As people type it, without `://`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Its protocol's name in `protocols::KINDS`.
    pub fn protocol(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Scheme, &'static str, &'static str, u16) {
        SCHEMES.iter().find(|row| row.0 == self).expect("every scheme has a row")
    }
}

/// A parsed target. Names are not looked up until [`Target::address`] is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Protocol and carrier.
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port; 0 for `null:`.
    pub port: u16,
    /// What follows the authority: `/` or a path; only HTTP uses it.
    pub path: String,
}

impl Target {
    /// Reads `SCHEME://HOST[:PORT][/PATH]`, or `null:`; a fault names what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let (scheme, rest) = text.split_once(':').ok_or_else(|| wrong(text))?;
        let Some(&(scheme, _, _, port)) = SCHEMES.iter().find(|row| row.1 == scheme) else {
            return Err(unknown(scheme));
        };
        if scheme == Scheme::Null {
            return Ok(Self { scheme, host: String::new(), port, path: "/".into() });
        }
        let rest = rest.strip_prefix("//").ok_or_else(|| wrong(text))?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (host, port) = split_port(authority, port).ok_or_else(|| wrong(text))?;
        Ok(Self { scheme, host, port, path: path.into() })
    }

    /// Whether it is reached by datagrams instead of a stream.
    pub fn is_datagram(&self) -> bool {
        self.scheme == Scheme::MemcacheUdp
    }

    /// The first address that the host's name stands for.
    pub fn address(&self) -> Result<SocketAddr, Fault> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        found.ok().and_then(|mut addresses| addresses.next()).ok_or_else(|| {
            Fault::failed(
                format!("the name '{}' stands for no address", self.host),
                "target",
                "check the spelling, or give the address in numbers",
            )
        })
    }
}

/// `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
fn split_port(authority: &str, default: u16) -> Option<(String, u16)> {
    if let Some(bracketed) = authority.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']')?;
        let port = rest.strip_prefix(':').map_or(Some(default), |port| port.parse().ok())?;
        return Some((host.into(), port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, default),
    };
    (!host.is_empty() && port > 0).then(|| (host.into(), port))
}

fn wrong(text: &str) -> Fault {
    Fault::usage(
        format!("'{text}' is not a target"),
        "",
        "write SCHEME://HOST:PORT, such as memcache://127.0.0.1:11211 or http://127.0.0.1:8080/, or null:",
    )
}

fn unknown(scheme: &str) -> Fault {
    let names = SCHEMES.iter().map(|row| row.1);
    let hint = near(scheme, names.clone())
        .first()
        .map_or(String::new(), |n| format!("did you mean {n}? "));
    let known: Vec<&str> = names.collect();
    Fault::usage(
        format!("no scheme is called '{scheme}'"),
        "",
        format!("{hint}known: {}", known.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_taken_apart() {
        let http = Target::parse("http://localhost:8080/a/b").unwrap();
        assert_eq!(
            (http.scheme, http.host.as_str(), http.port, http.path.as_str()),
            (Scheme::Http, "localhost", 8080, "/a/b")
        );
        let six = Target::parse("memcache+udp://[::1]").unwrap();
        assert_eq!((six.host.as_str(), six.port), ("::1", 11211));
        assert_eq!(Target::parse("null:").unwrap().scheme, Scheme::Null);
    }

    #[test]
    fn what_is_no_target_is_refused_with_an_example() {
        for text in ["", "127.0.0.1", "memcache:127.0.0.1", "http://:80/", "http://h:99999/"] {
            assert!(Target::parse(text).unwrap_err().fix.contains("SCHEME"), "{text}");
        }
        assert!(Target::parse("memcached://h").unwrap_err().fix.contains("did you mean memcache"));
    }
}

//! Where requests go: scheme, host, port and path of `memcache://127.0.0.1:11211`, or of several servers
//! that share the keys: `memcache://127.0.0.1:11211,127.0.0.1:11212`. Of a unix socket: its path, as in
//! `memcache://unix:/run/memcached.sock` or `http://unix:/run/app.sock:/path`. Who asks may stand before the
//! host: `postgres://me@127.0.0.1/shop`.

mod faults;

use std::net::ToSocketAddrs;

use sojourn_base::Fault;

use crate::job::address::Address;
use crate::job::secrets;
use faults::{bare, has_password, not_ascii, unknown, with_password, wrong, wrong_unix};

/// How a unix socket begins, in the place of a host.
const UNIX: &str = "unix:";

/// What carries requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// TCP, or a unix stream socket.
    Stream,
    /// TLS over one of these.
    Tls,
    /// UDP: a request and a reply are datagrams of their own.
    Datagrams,
    /// Nothing: there is no server.
    Nothing,
}

/// How a protocol is named in a target, and what carries it there. Each protocol lists its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Scheme {
    /// As people type it, without `://`.
    pub name: &'static str,
    /// Port where none is given.
    pub port: u16,
    /// What carries it.
    pub carrier: Carrier,
    /// Its name in a TLS handshake (ALPN); empty: none.
    pub alpn: &'static str,
    /// What may be wrong if a server that is there never answers; empty: nothing particular.
    pub if_silent: &'static str,
}

impl Scheme {
    /// A scheme whose target is a host and a port, over TCP.
    pub const fn stream(name: &'static str, port: u16) -> Self {
        Self { name, port, carrier: Carrier::Stream, alpn: "", if_silent: "" }
    }

    /// The same over TLS; `alpn` is its name there.
    pub const fn secured(name: &'static str, port: u16, alpn: &'static str) -> Self {
        Self { name, port, carrier: Carrier::Tls, alpn, if_silent: "" }
    }
}

/// A parsed target. Names are not looked up until [`Target::address`] is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Protocol and carrier.
    pub scheme: &'static Scheme,
    /// Who asks; empty: the target does not say.
    pub user: String,
    /// Host name or address, without brackets; `unix:` and a path for a unix socket.
    pub host: String,
    /// Port; 0 for `null:` and unix sockets.
    pub port: u16,
    /// What follows the authority: `/` or a path; HTTP asks for it, a database is named by it.
    pub path: String,
    /// Host and port of further servers, with which the first shares the keys.
    pub others: Vec<(String, u16)>,
}

impl Target {
    /// Reads `SCHEME://HOST[:PORT][/PATH]`, or `null:`, of `schemes`; a fault names what is wrong with it.
    pub fn parse(text: &str, schemes: &[&'static Scheme]) -> Result<Self, Fault> {
        let text = text.trim();
        secrets::refuse_query(text, "")?; // first of all, because other messages repeat the target
        let (name, rest) = text.split_once(':').ok_or_else(|| wrong(text))?;
        let is_it = |scheme: &&&'static Scheme| scheme.name.eq_ignore_ascii_case(name); // RFC 3986, 3.1
        let Some(scheme) = schemes.iter().find(is_it) else {
            let is_url = rest.starts_with("//");
            return Err(match name {
                _ if !is_url && has_password(text) => with_password(),
                _ if !is_url => bare(text),
                "unix" | "http+unix" => wrong_unix(text),
                _ => unknown(name, schemes.iter().map(|scheme| scheme.name)),
            });
        };
        let hidden = |fault| if has_password(text) { with_password() } else { fault };
        Self::of(scheme, rest, text).map_err(hidden)
    }

    /// What follows the scheme and its colon in `text`.
    fn of(scheme: &'static Scheme, rest: &str, text: &str) -> Result<Self, Fault> {
        let (name, port) = (scheme.name, scheme.port);
        if scheme.carrier == Carrier::Nothing {
            if !rest.is_empty() && rest != "//" {
                let what = format!("{name} reaches no server, and '{rest}' follows it");
                return Err(Fault::usage(what, "", format!("write {name}: and no more")));
            }
            return Ok(Self {
                scheme,
                user: String::new(),
                host: String::new(),
                port,
                path: "/".into(),
                others: Vec::new(),
            });
        }
        let rest = rest.strip_prefix("//").ok_or_else(|| wrong(text))?;
        let (user, rest) = split_user(rest)?;
        if let Some(rest) = rest.strip_prefix(UNIX) {
            return Self::of_unix(scheme, user, rest).ok_or_else(|| wrong_unix(text));
        }
        let (authority, path) = rest.split_at(authority_end(rest));
        let path = if path.starts_with('/') { path.into() } else { format!("/{path}") };
        if !authority.is_ascii() {
            return Err(not_ascii(authority));
        }
        let mut servers = authority.split(',').map(|one| split_port(one, port));
        let (host, port) = servers.next().flatten().ok_or_else(|| wrong(text))?;
        let others = servers.collect::<Option<Vec<_>>>().ok_or_else(|| wrong(text))?;
        Ok(Self { scheme, user: user.into(), host, port, path, others })
    }

    /// `/SOCKET` or `/SOCKET:/PATH`, as `NGINX` writes it.
    fn of_unix(scheme: &'static Scheme, user: &str, rest: &str) -> Option<Self> {
        let (socket, path) = rest.split_once(':').unwrap_or((rest, "/"));
        let is_sound = socket.len() > 1 && socket.starts_with('/') && path.starts_with('/');
        let host = format!("{UNIX}{socket}");
        (is_sound && matches!(scheme.carrier, Carrier::Stream | Carrier::Tls)).then(|| Self {
            scheme,
            user: user.into(),
            host,
            port: 0,
            path: path.into(),
            others: Vec::new(),
        })
    }

    /// Whether it is a unix socket.
    pub fn is_unix(&self) -> bool {
        self.host.starts_with(UNIX)
    }

    /// Where the first server listens, for people: `HOST:PORT`, `[IPV6]:PORT` or `unix:/PATH`.
    pub fn place(&self) -> String {
        match self.host.as_str() {
            unix if unix.starts_with(UNIX) => unix.into(),
            six if six.contains(':') => format!("[{six}]:{}", self.port),
            host => format!("{host}:{}", self.port),
        }
    }

    /// The host without the zone of an IPv6 address, which only this machine knows. Source: RFC 6874, 4.
    pub fn host_without_zone(&self) -> &str {
        let is_six = self.host.contains(':') && !self.is_unix();
        if is_six { self.host.split('%').next().unwrap_or_default() } else { &self.host }
    }

    /// What a request of HTTP names as its host: host and port, the port only where it is not the usual
    /// one (RFC 9110, 4.2), or `localhost` over a unix socket.
    pub fn authority(&self) -> String {
        if self.is_unix() {
            return "localhost".into();
        }
        let host = match self.host_without_zone() {
            six if six.contains(':') => format!("[{six}]"),
            host => host.into(),
        };
        let usual = if self.scheme.carrier == Carrier::Tls { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// Whether it is reached by datagrams instead of a stream.
    pub fn is_datagram(&self) -> bool {
        self.scheme.carrier == Carrier::Datagrams
    }

    /// How many servers it names.
    pub fn servers(&self) -> usize {
        1 + self.others.len()
    }

    /// The addresses that each host's name stands for, hosts in the order in which they are named, each
    /// host's in the order in which they are to be tried.
    pub fn addresses(&self) -> Result<Vec<Vec<Address>>, Fault> {
        let others = self.others.iter().map(|(host, port)| (host.as_str(), *port));
        std::iter::once((self.host.as_str(), self.port)).chain(others).map(addresses).collect()
    }
}

fn addresses(at: (&str, u16)) -> Result<Vec<Address>, Fault> {
    if let Some(path) = at.0.strip_prefix(UNIX) {
        return Ok(vec![Address::Unix(path.into())]);
    }
    let mut all = Vec::new();
    for address in at.to_socket_addrs().into_iter().flatten().map(Address::Ip) {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if !all.is_empty() {
        return Ok(all);
    }
    Err(Fault::failed(
        format!("the name '{}' has no address", at.0),
        "target",
        "check the spelling, or give the address in numbers",
    ))
}

/// Where `HOST:PORT` ends and a path, a query or a fragment begins. Source: RFC 3986, 3.2.
fn authority_end(rest: &str) -> usize {
    rest.find(['/', '?', '#']).unwrap_or(rest.len())
}

/// Who asks, and the rest, of `USER@HOST…`. A password may be there by mistake: it is not shown.
fn split_user(rest: &str) -> Result<(&str, &str), Fault> {
    let end = authority_end(rest);
    let Some(at) = rest[..end].rfind('@') else { return Ok(("", rest)) };
    let user = &rest[..at];
    if user.contains(':') { Err(with_password()) } else { Ok((user, &rest[at + 1..])) }
}

/// `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
fn split_port(authority: &str, default: u16) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']').filter(|(host, _)| host.contains(':'))?;
            let zone = host.split_once("%25").filter(|(_, zone)| !zone.is_empty()); // RFC 6874
            let host = zone.map_or(host.into(), |(address, zone)| format!("{address}%{zone}"));
            let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
            (host, port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host.into(), Some(port)),
            None => (authority.into(), None),
        },
    };
    let port = port.filter(|port| !port.is_empty()); // RFC 3986, 3.2.3: none is the usual one
    let is_number = |port: &&str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.map_or(Some(default), |port| Some(port).filter(is_number)?.parse().ok())?;
    (!host.is_empty() && port > 0).then_some((host, port))
}

#[cfg(test)]
mod tests;

//! Which protocol a server speaks, by the first bytes that it sent.

use crate::job::target::{Carrier, Target};

/// How replies of a protocol begin, and the scheme of targets that speak it; empty: this program does not.
const KNOWN: [(&[u8], &str, &str); 10] = [
    (b"HTTP/1.", "HTTP/1.1", "http"),
    (b"\x15\x03", "TLS", "https"),
    (b"\x16\x03", "TLS", "https"),
    (b"ERROR\r\n", "memcache", "memcache"),
    (b"CLIENT_ERROR", "memcache", "memcache"),
    (b"-ERR", "Redis", "resp"),
    (b"-NOAUTH", "Redis", "resp"),
    (b"E\0\0\0", "PostgreSQL", "postgres"),
    (b"SSH-", "SSH", ""),
    (b"220 ", "mail or FTP", ""),
];

/// What the server speaks, by the first bytes of its replies, if it is something else than the target's.
pub fn looks_like(target: &Target, heard: &[u8]) -> Option<String> {
    let place = target.place();
    let (name, scheme) = named(target, heard)?;
    match scheme {
        "" => Some(format!(
            "the server on {place} looks like one of {name}, which is not supported here"
        )),
        own if own == spoken(target) => None,
        other => {
            Some(format!("the server on {place} looks like one of {name}: ask {other}://{place}"))
        }
    }
}

/// The first name of the target's protocol.
fn spoken(target: &Target) -> &'static str {
    match target.scheme.name {
        "redis" | "valkey" | "rediss" | "valkeys" => "resp",
        "postgresql" => "postgres",
        "memcache+udp" => "memcache",
        own => own,
    }
}

/// Its name and scheme.
fn named(target: &Target, heard: &[u8]) -> Option<(&'static str, &'static str)> {
    let is_secured = target.scheme.carrier == Carrier::Tls;
    if is_settings(heard) {
        return Some(("HTTP/2", if is_secured { "h2" } else { "h2c" }));
    }
    let (_, name, scheme) = KNOWN.iter().find(|(begin, ..)| heard.starts_with(begin))?;
    let is_call = target.scheme.name.starts_with("grpc");
    Some(match *scheme {
        "http" if is_secured => (name, "https"),
        "https" if is_call => (name, "grpcs"),
        "https" if spoken(target) == "resp" => (name, "rediss"),
        "https" if target.scheme.name == "h2c" => (name, "h2"),
        other => (name, other),
    })
}

/// Whether a server of HTTP/2 begins so: a SETTINGS frame of whole settings, of stream 0.
fn is_settings(heard: &[u8]) -> bool {
    matches!(heard, [0, 0, length, 4, 0, 0, 0, 0, 0, ..] if length.is_multiple_of(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_by_how_it_begins() {
        let of = |target: &str, heard: &[u8]| {
            looks_like(&crate::protocols::target(target).unwrap(), heard).unwrap_or_default()
        };
        assert!(of("h2c://h:1/", b"HTTP/1.1 400 Bad").ends_with("HTTP/1.1: ask http://h:1"));
        assert!(of("h2://h:1/", b"HTTP/1.1 400 Bad").ends_with("ask https://h:1"));
        assert!(of("grpc://h:1/a/b", b"\x15\x03\x03\0\x02").ends_with("TLS: ask grpcs://h:1"));
        assert!(of("h2c://h:1/", b"\x15\x03\x03\0\x02").ends_with("ask h2://h:1"));
        assert!(of("http://h:1/", b"\0\0\x12\x04\0\0\0\0\0\0\x03").ends_with("ask h2c://h:1"));
        assert!(of("http://h:1/", b"\0\0\x13\x04\0\0\0\0\0\0\x03").is_empty());
        assert!(of("http://h:1/", b"HTTP/1.1 400 Bad").is_empty(), "its own");
        assert!(of("redis://h:1", b"-ERR max number of clients").is_empty(), "its own");
        assert!(of("http://h:1/", b"SSH-2.0").contains("SSH, which is not supported here"));
    }
}

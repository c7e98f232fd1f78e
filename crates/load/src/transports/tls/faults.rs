//! Why a handshake failed, in words, and how to fix it.

use std::io;

use rustls::{AlertDescription, CertificateError, Error, OtherError};
use sojourn_base::Fault;

use super::Secure;

const TRUST: &str =
    "name its issuer's certificate, or its own, with --ca-file FILE, or take any with --insecure";

/// What is wrong with a stream that ends by TCP's end alone, and what helps.
pub(super) const UNANNOUNCED: &str = "it ends connections without close_notify, so that a reply without \
     Content-Length may be cut off and counts as closed; let it send Content-Length, chunks or close_notify";

/// The fault of a handshake with `place`; `None`: the server closed the connection during it.
pub(super) fn fault(error: Option<&Error>, place: &str, secure: &Secure) -> Fault {
    let (why, fix) = match error {
        Some(error) => match of_scheme(error, secure.scheme.name, place) {
            Some((why, fix)) => {
                return Fault::failed(
                    format!("no secure connection to {place}: {why}"),
                    "target",
                    fix,
                );
            }
            None => explained(error, secure),
        },
        None => (
            "it closed the connection".into(),
            "check that this port speaks TLS; if it asks for a client's certificate, give --cert and --key",
        ),
    };
    Fault::failed(format!("no secure connection to {place}: {why}"), "target", fix)
}

/// The fault of a stream that waits, if TLS refused it; `None`: the error has another cause.
pub(super) fn of_stream(error: &io::Error, place: &str, secure: &Secure) -> Option<Fault> {
    let cause = error.get_ref()?.downcast_ref::<Error>()?;
    Some(fault(Some(cause), place, secure))
}

/// Why a connection went wrong during the run, and what helps.
pub(super) fn words(error: &Error, secure: &Secure) -> String {
    let (why, fix) = explained(error, secure);
    format!("{why}; {fix}")
}

/// The cause where another scheme is the fix: what is spoken over TLS, or that TLS is spoken at all.
fn of_scheme(error: &Error, scheme: &str, place: &str) -> Option<(String, String)> {
    let is_old = scheme == "https";
    match error {
        Error::NoApplicationProtocol
        | Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            let name = if is_old { "HTTP/1.1" } else { "HTTP/2" };
            let fix = match scheme {
                "https" => format!("ask it in HTTP/2: h2://{place}"),
                "h2" => {
                    format!("let it offer h2 (NGINX: listen … ssl http2), or ask https://{place}")
                }
                _ => "let it offer h2, without which there is no gRPC over TLS".into(),
            };
            Some((format!("it does not speak {name} over TLS (ALPN)"), fix))
        }
        Error::InvalidMessage(_) => {
            let fix = format!("use {}:// instead of {scheme}://", plain_scheme(scheme));
            Some(("it does not speak TLS".into(), fix))
        }
        _ => None,
    }
}

/// The scheme of the same protocol without TLS.
fn plain_scheme(scheme: &str) -> &str {
    if scheme == "h2" { "h2c" } else { scheme.strip_suffix('s').unwrap_or(scheme) }
}

/// The fault of a server that leaves a handshake unanswered: without TLS many wait for the end of a line.
pub(super) fn silent(place: &str, scheme: &str) -> Fault {
    let fix = format!(
        "if this port speaks without TLS, use {}:// instead of {scheme}://; else see the server's log",
        plain_scheme(scheme)
    );
    let what = format!("no secure connection to {place}: no answer to the handshake in time");
    Fault::failed(what, "target", fix)
}

/// The cause, and how to fix it.
fn explained(error: &Error, secure: &Secure) -> (String, &'static str) {
    use CertificateError as C;
    let name = secure.name.to_str();
    match error {
        Error::AlertReceived(_) if secure.lacks_certificate() => (
            "it asks for a client's certificate".into(),
            "give one that it knows, with its key: --cert FILE --key FILE",
        ),
        Error::InvalidCertificate(C::UnknownIssuer) => {
            ("its certificate was issued by no trusted issuer".into(), TRUST)
        }
        Error::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => {
            ("its certificate has expired".into(), "renew it, or take any with --insecure")
        }
        Error::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. }) => (
            "its certificate is not valid yet".into(),
            "check this machine's clock, or take any with --insecure",
        ),
        Error::InvalidCertificate(C::NotValidForNameContext { presented, .. }) => (
            format!("its certificate is not for {name} but for {}", list(presented)),
            "ask for one of its names with --server-name, or take any with --insecure",
        ),
        Error::InvalidCertificate(C::NotValidForName) => (
            format!("its certificate is not for {name}"),
            "ask for its name with --server-name, or take any with --insecure",
        ),
        Error::InvalidCertificate(C::Other(other)) if is_own_issuer(other) => {
            ("its certificate is signed by itself".into(), TRUST)
        }
        Error::InvalidCertificate(C::Other(other)) if is_of_version_1(other) => (
            "its certificate is of version 1 of X.509, which has no names".into(),
            "let it have one of version 3, or take any with --insecure",
        ),
        Error::InvalidCertificate(C::BadSignature) => (
            "its key, or the signature of its certificate, is too weak or wrong (RSA below 2048 \
             bits, SHA-1)"
                .into(),
            "let it have a key of RSA 2048, ECDSA or Ed25519, or take any with --insecure",
        ),
        Error::InvalidCertificate(_) => {
            (format!("its certificate is not accepted ({error})"), TRUST)
        }
        Error::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateRequired
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied),
        ) => (
            format!("it refuses this client's certificate, or wants one ({alert:?})"),
            "give one of an issuer that it trusts: --cert FILE --key FILE",
        ),
        Error::AlertReceived(AlertDescription::UnrecognisedName) => (
            format!("it does not know the name {name}"),
            "give the name it is known by with --server-name",
        ),
        Error::AlertReceived(alert) => (
            format!("it ended the handshake ({alert:?})"),
            "see its log; it must speak TLS 1.3, or 1.2 with AES-GCM or ChaCha20 and ECDHE (CBC and \
             plain RSA is not supported here); where it wants a client's certificate, give --cert and --key",
        ),
        other => (other.to_string(), "see the server's log"),
    }
}

/// Whether a certificate was refused because it is an issuer's, as `openssl req -x509` makes them.
fn is_own_issuer(error: &OtherError) -> bool {
    format!("{error:?}").contains("CaUsedAsEndEntity")
}

/// Whether a certificate was refused because it is of version 1, as old devices have them.
fn is_of_version_1(error: &OtherError) -> bool {
    format!("{error:?}").contains("UnsupportedCertVersion")
}

/// Names as a certificate has them; the rest of many is counted.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).map(|name| plain(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        _ if names.is_empty() => "no name at all".into(),
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `DnsName("a.b")` and `IpAddress(127.0.0.1)` without what is around them.
fn plain(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    use rustls::pki_types::ServerName;

    use crate::job::Job;
    use crate::protocols;

    fn secure(scheme: &str) -> Secure {
        let target = protocols::target(&format!("{scheme}://a.example/p.S/M")).unwrap();
        let job = Job { insecure: true, ..Job::default() };
        Secure::of(&job, &target).unwrap().unwrap()
    }

    #[test]
    fn what_is_wrong_with_a_certificate_is_reported_in_words() {
        let what = |error: CertificateError| {
            fault(Some(&Error::InvalidCertificate(error)), "h:443", &secure("https")).to_string()
        };
        let other = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("a.example").unwrap(),
            presented: ["x.org", "y.org", "z.org", "w.org"]
                .map(|it| format!("DnsName(\"{it}\")"))
                .into(),
        };
        let explained = what(other);
        for part in
            ["h:443", "not for a.example but for x.org, y.org, z.org and 1 more", "--server-name"]
        {
            assert!(explained.contains(part), "{part} in {explained}");
        }
        assert!(what(CertificateError::UnknownIssuer).contains("--ca-file"));
        assert!(what(CertificateError::Expired).contains("has expired"));
        let silent = fault(None, "h:443", &secure("https")).to_string();
        assert!(silent.contains("closed the connection"));
    }

    #[test]
    fn what_another_scheme_mends_names_it() {
        let refused = Error::AlertReceived(AlertDescription::NoApplicationProtocol);
        let plain = Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        for (error, scheme, part) in [
            (&refused, "h2", "HTTP/2 over TLS (ALPN)"),
            (&refused, "h2", "ask https://h:443"),
            (&refused, "https", "ask it in HTTP/2: h2://h:443"),
            (&refused, "grpcs", "let it offer h2"),
            (&Error::NoApplicationProtocol, "h2", "HTTP/2 over TLS (ALPN)"),
            (&plain, "https", "use http:// instead of https://"),
            (&plain, "h2", "use h2c:// instead of h2://"),
            (&plain, "grpcs", "use grpc:// instead of grpcs://"),
            (&plain, "rediss", "use redis:// instead of rediss://"),
            (&plain, "valkeys", "use valkey:// instead of valkeys://"),
        ] {
            let explained = fault(Some(error), "h:443", &secure(scheme)).to_string();
            assert!(explained.contains(part), "{part} in {explained}");
        }
        let silent = silent("h:6379", "rediss").to_string();
        assert!(silent.contains("use redis:// instead of rediss://"), "{silent}");
    }
}

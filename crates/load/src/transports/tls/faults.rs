//! Why a handshake failed, in words, and what mends it.

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, Error, OtherError};
use sojourn_base::Fault;

const TRUST: &str =
    "name its issuer's certificate, or its own, with --ca-file FILE, or take any with --insecure";

/// The fault of a handshake with `place`; `None`: the server closed the connection during it.
pub(super) fn fault(error: Option<&Error>, place: &str, name: &ServerName<'_>) -> Fault {
    let (why, fix) = match error {
        Some(error) => told(error, &name.to_str()),
        None => (
            "it closed the connection".into(),
            "check that this port speaks TLS, and does not ask for a client's certificate",
        ),
    };
    Fault::failed(format!("no secure connection to {place}: {why}"), "target", fix)
}

/// The cause, and what mends it.
pub(super) fn told(error: &Error, name: &str) -> (String, &'static str) {
    use CertificateError as C;
    match error {
        Error::InvalidCertificate(C::UnknownIssuer) => {
            ("its certificate was issued by nobody that is trusted here".into(), TRUST)
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
        Error::InvalidCertificate(C::Other(_)) => {
            (format!("its certificate cannot be believed ({error})"), TRUST)
        }
        Error::InvalidMessage(_) => {
            ("it does not speak TLS".into(), "use http:// instead of https://")
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => (
            "it asks for a client's certificate".into(),
            "let it do without: this program has none to give",
        ),
        Error::AlertReceived(AlertDescription::UnrecognisedName) => (
            format!("it knows nobody called {name}"),
            "give the name it is known by with --server-name",
        ),
        Error::AlertReceived(alert) => (
            format!("it ended the handshake ({alert:?})"),
            "see its log; it must speak TLS 1.2 or 1.3, and HTTP/1.1 over it",
        ),
        other => (other.to_string(), "see the server's log"),
    }
}

/// Whether a certificate was refused because it is an issuer's, as `openssl req -x509` makes them.
fn is_own_issuer(error: &OtherError) -> bool {
    format!("{error:?}").contains("CaUsedAsEndEntity")
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

    #[test]
    fn what_is_wrong_with_a_certificate_is_told_in_words() {
        let name = ServerName::try_from("a.example").unwrap();
        let what = |error: CertificateError| {
            fault(Some(&Error::InvalidCertificate(error)), "h:443", &name).to_string()
        };
        let other = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("a.example").unwrap(),
            presented: ["x.org", "y.org", "z.org", "w.org"]
                .map(|it| format!("DnsName(\"{it}\")"))
                .into(),
        };
        let told = what(other);
        for part in
            ["h:443", "not for a.example but for x.org, y.org, z.org and 1 more", "--server-name"]
        {
            assert!(told.contains(part), "{part} in {told}");
        }
        assert!(what(CertificateError::UnknownIssuer).contains("--ca-file"));
        assert!(what(CertificateError::Expired).contains("has expired"));
        assert!(fault(None, "h:443", &name).to_string().contains("closed the connection"));
    }
}

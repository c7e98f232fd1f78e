//! Servers that ask who the client is (mutual TLS): with its certificate, with none, with a strange one.

use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion, version,
};
use sojourn_load::job::Job;

use super::super::mirror::{job, listen, mirror};
use super::super::{run, usable};
use super::{fault, file};

/// A mirror that takes clients with a certificate of the issuer, and all others too if it `may_lack`.
fn asking(version: &'static SupportedProtocolVersion, may_lack: bool) -> u16 {
    let read = |name: &str| CertificateDer::from_pem_file(file(name)).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(read("issuer.pem")).unwrap();
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let clients = if may_lack { clients.allow_unauthenticated() } else { clients };
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(vec![read("server.pem")], key)
        .unwrap();
    let config = Arc::new(config);
    listen(move |stream: TcpStream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        mirror(StreamOwned::new(session, stream), u64::MAX, || ());
    })
}

/// So many connections to `port`, with `cert` and its key if it has a name.
fn client(port: u16, transport: &str, connections: u32, cert: &str) -> Job {
    let of = |name: &str| if cert.is_empty() { String::new() } else { file(name) };
    Job {
        ca_file: file("issuer.pem"),
        connections,
        duration: "300ms".into(),
        cert: of(cert),
        key: of("server.key"),
        ..job(format!("https://127.0.0.1:{port}/"), transport)
    }
}

/// In TLS 1.3 the refusal comes after the client's own handshake is over: of one connection too.
#[test]
fn a_server_that_asks_for_a_certificate_is_named_as_that_and_served_with_one() {
    for version in [&version::TLS12, &version::TLS13] {
        let port = asking(version, false);
        for transport in usable() {
            for connections in [1, 2, 8] {
                let text = fault(client(port, transport, connections, "")).to_string();
                assert!(
                    text.contains("client's certificate"),
                    "{version:?}, {connections}: {text}"
                );
                assert!(text.contains("--cert FILE --key FILE"), "{text}");
            }
            let got = run(client(port, transport, 4, "server.pem")).result;
            assert!(got.errors.is_empty() && got.requests > 50, "{version:?}: {:?}", got.errors);
            let json = serde_json::to_string(&got).unwrap();
            assert!(json.contains("server.key") && !json.contains("PRIVATE"), "its place alone");
        }
    }
}

/// Items are set on a connection that waits, before all others.
#[test]
fn a_refused_handshake_is_named_where_items_are_set_first() {
    for version in [&version::TLS12, &version::TLS13] {
        let port = asking(version, false);
        let filled = |ca_file: String| Job {
            ca_file,
            items: 20,
            preload: true,
            ..job(format!("rediss://127.0.0.1:{port}"), "epoll")
        };
        let text = fault(filled(file("issuer.pem"))).to_string();
        assert!(text.contains("client's certificate"), "{version:?}: {text}");
        assert!(text.contains("--cert FILE --key FILE"), "{text}");
        let text = fault(filled(String::new())).to_string();
        assert!(text.contains("no trusted issuer") && text.contains("--ca-file FILE"), "{text}");
    }
}

#[test]
fn a_server_that_would_like_a_certificate_takes_clients_without() {
    for version in [&version::TLS12, &version::TLS13] {
        let port = asking(version, true);
        for transport in usable() {
            let got = run(client(port, transport, 2, "")).result;
            assert!(got.errors.is_empty(), "{version:?}, {transport}: {:?}", got.errors);
        }
    }
}

#[test]
fn a_certificate_that_is_strange_or_has_no_key_is_reported() {
    let port = asking(&version::TLS13, false);
    let transport = usable()[0];
    let strange = fault(client(port, transport, 1, "self.pem"));
    assert!(
        strange.what.contains("belong together") || strange.fix.contains("--cert"),
        "{strange}"
    );
    let none = Job { key: String::new(), ..client(port, transport, 1, "server.pem") };
    assert_eq!((fault(none.clone()).at.as_str(), fault(none).exit), ("key", 2));
    let no_key = Job { key: file("issuer.pem"), ..client(port, transport, 1, "server.pem") };
    assert!(fault(no_key).what.contains("no private key"));
    let plain = Job { ca_file: String::new(), ..client(port, transport, 1, "server.pem") };
    let plain = Job { target: format!("http://127.0.0.1:{port}/"), ..plain };
    assert_eq!(fault(plain).at, "cert");
}

//! A server's side of TLS and a client that takes it, for tests and `make fuzz`.

#![allow(clippy::unwrap_used, reason = "for tests and fuzzing alone")]

use std::sync::{Arc, LazyLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::Secure;
use crate::job::Job;
use crate::job::target::{Scheme, Target};

const CERTIFICATE: &[u8] = include_bytes!("../../../tests/tls/server.pem");
const KEY: &[u8] = include_bytes!("../../../tests/tls/server.key");
/// As in the table of protocols, which no transport imports.
static HTTPS: Scheme = Scheme::secured("https", 443, "");
/// How it shakes hands.
pub static SERVER: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let chain = CertificateDer::pem_slice_iter(CERTIFICATE).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap())
});
/// Takes any certificate.
pub static CLIENT: LazyLock<Secure> = LazyLock::new(|| {
    let job = Job { target: "https://h/".into(), insecure: true, ..Job::default() };
    let target = Target::parse(&job.target, &[&HTTPS]).unwrap();
    Secure::of(&job, &target).unwrap().unwrap()
});

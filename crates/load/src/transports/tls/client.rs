//! The certificate by which this client is known to a server that asks for one (mutual TLS).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;
use sojourn_base::Fault;

use super::pem::certificates;
use crate::job::Job;

/// Who this client is, and whether a server wanted to know.
#[derive(Debug, Default)]
pub(super) struct Client {
    own: Option<Arc<CertifiedKey>>,
    was_asked: AtomicBool,
}

impl Client {
    /// Reads `cert` and `key` of `job`; both or none.
    pub(super) fn of(job: &Job, provider: &CryptoProvider) -> Result<Self, Fault> {
        let (cert, key) = (job.cert.as_str(), job.key.as_str());
        if cert.is_empty() && key.is_empty() {
            return Ok(Self::default());
        }
        if cert.is_empty() || key.is_empty() {
            let (input, lacking) = if key.is_empty() { ("cert", "key") } else { ("key", "cert") };
            let what = format!("{input} is given, and {lacking} is not");
            return Err(Fault::usage(what, lacking, "give both: cert FILE and key FILE, in PEM"));
        }
        let chain = certificates(cert, "cert")?;
        let result = PrivateKeyDer::from_pem_file(key).map_err(|error| {
            let what = format!("{key} holds no private key that can be read: {error}");
            Fault::usage(what, "key", "name a file of a private key in PEM, without a password")
        })?;
        let own = CertifiedKey::from_der(chain, result, provider).map_err(|error| {
            let what = format!("{cert} and {key} do not belong together: {error}");
            Fault::usage(what, "key", "name the private key of the first certificate in cert")
        })?;
        Ok(Self { own: Some(Arc::new(own)), was_asked: AtomicBool::new(false) })
    }

    pub(super) fn has_certificate(&self) -> bool {
        self.own.is_some()
    }

    /// Whether a server asked for a certificate.
    pub(super) fn was_asked(&self) -> bool {
        self.was_asked.load(Relaxed)
    }
}

impl ResolvesClientCert for Client {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.was_asked.store(true, Relaxed);
        self.own.clone()
    }

    fn has_certs(&self) -> bool {
        self.own.is_some()
    }
}

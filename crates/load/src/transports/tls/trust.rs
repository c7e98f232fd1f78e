//! Which certificates are believed, and under which name a server must have one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sojourn_base::Fault;

use super::client::Client;
use super::faults;
use super::pem::{certificates, in_folder};
use crate::job::Job;
use crate::job::target::{Carrier, Scheme, Target};

/// Where Linux distributions keep the issuers that they trust.
const BUNDLES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
];
/// The variable by which a user names another; `OpenSSL` reads it too.
const BUNDLE_VARIABLE: &str = "SSL_CERT_FILE";
/// The variable that names folders with more of them.
const FOLDERS_VARIABLE: &str = "SSL_CERT_DIR";

/// What a handshake needs: whom to believe, and whom to ask for.
#[derive(Clone, Debug)]
pub struct Secure {
    /// Shared by all connections, so that sessions are resumed on any of them.
    pub(super) config: Arc<ClientConfig>,
    /// Who this client is.
    client: Arc<Client>,
    /// The name for which the server must have a certificate, and by which it is asked for (SNI).
    pub(super) name: ServerName<'static>,
    /// How the target is named.
    pub(super) scheme: &'static Scheme,
}

impl Secure {
    /// The fault of a stream that waits, if TLS refused it; `None`: the error has another cause.
    pub fn refused(&self, error: &io::Error, place: &str) -> Option<Fault> {
        faults::of_stream(error, place, self)
    }

    /// For `target`; `None` where it is not reached by TLS. Refuses wishes that only TLS can fulfil.
    pub fn of(job: &Job, target: &Target) -> Result<Option<Self>, Fault> {
        if target.scheme.carrier != Carrier::Tls {
            return refuse_wishes(job, target).map(|()| None);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trust = Trust::of(job, &provider)?;
        let client = Arc::new(Client::of(job, &provider)?);
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Fault::failed(error.to_string(), "target", "use http://"))?;
        let mut config = builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(trust))
            .with_client_cert_resolver(client.clone());
        if !target.scheme.alpn.is_empty() {
            config.alpn_protocols = vec![target.scheme.alpn.into()];
        }
        let name = name(job, target)?;
        Ok(Some(Self { config: Arc::new(config), client, name, scheme: target.scheme }))
    }

    /// Whether a server asked who this client is, which has no certificate.
    pub(super) fn lacks_certificate(&self) -> bool {
        self.was_asked() && !self.client.has_certificate()
    }

    /// Whether a server asked who this client is, and may refuse it.
    pub(super) fn was_asked(&self) -> bool {
        self.client.was_asked()
    }

    /// A session of its own, for a connection that is not measured.
    pub fn session(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }

    /// Whether the end of a stream may be the end of a reply.
    pub(super) fn ends_bodies(&self) -> bool {
        self.scheme.name == "https"
    }

    /// Whether the server has to agree on the protocol: HTTP/1.1 may be spoken without, HTTP/2 may not.
    /// Source: RFC 9113, 3.2.
    pub(super) fn must_agree(&self) -> bool {
        self.scheme.alpn == "h2"
    }
}

fn refuse_wishes(job: &Job, target: &Target) -> Result<(), Fault> {
    let keys = [
        ("insecure", job.insecure),
        ("ca_file", !job.ca_file.is_empty()),
        ("server_name", !job.server_name.is_empty()),
        ("cert", !job.cert.is_empty()),
        ("key", !job.key.is_empty()),
    ];
    let Some((key, _)) = keys.into_iter().find(|(_, is_set)| *is_set) else { return Ok(()) };
    let what = format!("{} is not secured by TLS, and has no {key}", target.scheme.name);
    Err(Fault::usage(what, key, "leave it out, or use a target of https, h2, grpcs or rediss"))
}

fn name(job: &Job, target: &Target) -> Result<ServerName<'static>, Fault> {
    let (text, at) = match job.server_name.as_str() {
        "" if target.is_unix() => ("localhost", "target"),
        "" => (target.host_without_zone(), "target"),
        input => (input, "server_name"),
    };
    ServerName::try_from(text.to_string()).map_err(|_| {
        let what = format!("'{text}' is not a name that a certificate can have");
        Fault::usage(what, at, "give the server's name in the DNS with --server-name")
    })
}

/// Certificates that are believed: those that an issuer signed, those named themselves, or any.
#[derive(Debug)]
struct Trust {
    /// `None`: any is.
    issued: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates of the job's own file, or of the user's: one of a server is believed even if it is no issuer's.
    named: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    fn of(job: &Job, provider: &Arc<CryptoProvider>) -> Result<Self, Fault> {
        let mut this = Self { issued: None, named: Vec::new(), provider: Arc::clone(provider) };
        if job.insecure {
            return Ok(this);
        }
        let is_own = !job.ca_file.is_empty();
        let at = if is_own { "ca_file" } else { "target" };
        let (path, result) = if is_own {
            (job.ca_file.clone(), certificates(&job.ca_file, at)?)
        } else {
            issuers()?
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(result.iter().cloned());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build();
        this.issued = Some(verifier.map_err(|error| {
            Fault::usage(format!("{path} names no issuer: {error}"), at, "give certificates in PEM")
        })?);
        if is_own || is_set(BUNDLE_VARIABLE) || is_set(FOLDERS_VARIABLE) {
            this.named = result;
        }
        Ok(this)
    }
}

/// The issuers that this machine trusts: those of a file, and those of folders that a variable names. And
/// where they are, for messages.
fn issuers() -> Result<(String, Vec<CertificateDer<'static>>), Fault> {
    let folders = std::env::var_os(FOLDERS_VARIABLE).unwrap_or_default();
    let mut result: Vec<_> =
        std::env::split_paths(&folders).flat_map(|folder| in_folder(&folder)).collect();
    match bundle() {
        Ok(path) => {
            result.extend(certificates(&path, "target")?);
            Ok((path, result))
        }
        Err(_) if !result.is_empty() => Ok((folders.to_string_lossy().into_owned(), result)),
        Err(fault) => Err(fault),
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

fn bundle() -> Result<String, Fault> {
    let named = std::env::var(BUNDLE_VARIABLE).ok();
    let usual = || BUNDLES.iter().find(|path| Path::new(path).exists()).map(|path| (*path).into());
    named.or_else(usual).ok_or_else(|| {
        let fix =
            "install ca-certificates, name issuers with --ca-file, or take any with --insecure";
        Fault::failed("this machine has no list of trusted issuers", "target", fix)
    })
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(issued) = &self.issued else { return Ok(ServerCertVerified::assertion()) };
        if self.named.iter().any(|one| one.as_ref() == end_entity.as_ref()) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        issued.verify_server_cert(end_entity, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.issued.is_none() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.issued.is_none() {
            return Ok(HandshakeSignatureValid::assertion()); // of an odd key too: any is accepted
        }
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

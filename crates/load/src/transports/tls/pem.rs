//! Certificates in files, in PEM.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sojourn_base::Fault;

/// The certificates in the file `path`, which the key `at` of the job names.
pub(super) fn certificates(path: &str, at: &str) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let bytes = std::fs::read(path).map_err(|error| {
        let what = format!("cannot read {path}: {error}");
        Fault::usage(what, at, "name a file of certificates in PEM")
    })?;
    let result: Vec<_> = CertificateDer::pem_slice_iter(&bytes).filter_map(Result::ok).collect();
    if result.is_empty() {
        let fix = "give a file of certificates in PEM: -----BEGIN CERTIFICATE-----";
        return Err(Fault::usage(format!("{path} holds no certificate"), at, fix));
    }
    Ok(result)
}

//! Certificates in files, in PEM.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sojourn_base::Fault;

/// Longest file in a folder of certificates that is read, bytes.
const FILE_MAX: u64 = 16 << 20;

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

/// The certificates in all files of a folder; what cannot be read, or is no certificate, is passed over, as
/// `OpenSSL` does.
pub(super) fn in_folder(folder: &Path) -> Vec<CertificateDer<'static>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= FILE_MAX)
    });
    let texts = files.filter_map(|path| std::fs::read(path).ok());
    texts
        .flat_map(|text| CertificateDer::pem_slice_iter(&text).flatten().collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = include_str!("../../../tests/tls/issuer.pem");

    #[test]
    fn a_folder_holds_the_certificates_of_its_files() {
        let folder = std::env::temp_dir().join(format!("sojourn-issuers-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub.pem")).unwrap();
        std::fs::write(folder.join("a.pem"), ISSUER).unwrap();
        std::fs::write(folder.join("12345678.0"), format!("{ISSUER}\n{ISSUER}")).unwrap();
        std::fs::write(folder.join("README"), "no certificate").unwrap();
        let count = in_folder(&folder).len();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((count, in_folder(&folder).len()), (3, 0));
    }
}

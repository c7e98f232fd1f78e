//! Who asks: the `Authorization` header, whose secret comes from a file or the environment alone.
//!
//! A job is written into results, logs and process lists, and names only where the secret is.
//! Sources: RFC 7617 (Basic), RFC 6750 (Bearer).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sojourn_base::Fault;

use crate::protocols::secret;

const FIX: &str = "write basic:file:PATH, basic:env:NAME, bearer:file:PATH or bearer:env:NAME; basic reads \
                   USER:PASSWORD there, bearer a token";

/// The header line for `auth`, with its line end; empty where it names nothing.
pub(super) fn header(auth: &str) -> Result<String, Fault> {
    if auth.is_empty() {
        return Ok(String::new());
    }
    let mut words = auth.splitn(3, ':');
    let (Some(scheme), Some(place), Some(name)) = (words.next(), words.next(), words.next()) else {
        return Err(wrong("auth is not SCHEME:PLACE:NAME")); // it may hold a secret: it is not shown
    };
    let secret = secret::read(place, name, FIX)?;
    let secret = secret.trim_end_matches(['\r', '\n']);
    match scheme {
        "basic" if secret.contains(':') => {
            Ok(format!("Authorization: Basic {}\r\n", STANDARD.encode(secret)))
        }
        "basic" => Err(wrong(format!("what {place}:{name} holds has no colon"))),
        "bearer" if is_token(secret) => Ok(format!("Authorization: Bearer {secret}\r\n")),
        "bearer" => Err(wrong(format!("what {place}:{name} holds is not a token"))),
        _ => Err(wrong("auth is neither basic nor bearer")),
    }
}

/// Printable and without spaces: more than RFC 6750 allows, and nothing that could end the header.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn wrong(what: impl Into<String>) -> Fault {
    Fault::usage(what, "auth", FIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_where_it_lies_and_never_told() {
        let path = std::env::temp_dir().join(format!("sojourn-auth-{}", std::process::id()));
        let at = |scheme: &str| format!("{scheme}:file:{}", path.display());
        std::fs::write(&path, "Aladdin:open sesame\n").unwrap();
        let basic = header(&at("basic")).unwrap();
        assert_eq!(basic, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n", "RFC 7617");
        let fault = header(&at("bearer")).unwrap_err();
        assert!(!fault.to_string().contains("sesame"), "{fault}");
        std::fs::write(&path, "mF_9.B5f-4.1JqM").unwrap();
        assert_eq!(header(&at("bearer")).unwrap(), "Authorization: Bearer mF_9.B5f-4.1JqM\r\n");
        assert!(header(&at("basic")).unwrap_err().what.contains("no colon"));
        std::fs::remove_file(&path).unwrap();
        assert!(header(&at("basic")).unwrap_err().what.contains("no secret can be read"));
        assert_eq!(header("").unwrap(), "");
        for text in [
            "me:hunter2",
            "basic:me:hunter2",
            "digest:env:hunter2",
            "bearer:env:hunter2",
            "basic:env:me:hunter2",
            "bearer:file:hunter2",
        ] {
            let fault = header(text).unwrap_err();
            assert_eq!(fault.at, "auth");
            assert!(!fault.to_string().contains("hunter2"), "{fault}");
        }
    }
}

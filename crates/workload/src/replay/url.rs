//! The path of a URL: without scheme, user, host and fragment.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Path and query of a URL, or of a path; `None`: it is neither.
pub(super) fn path(text: &str) -> Option<&str> {
    let path = match text.split_once("://") {
        Some((_, rest)) if !text.starts_with('/') => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            if end == rest.len() || !rest[end..].starts_with('/') { "/" } else { &rest[end..] }
        }
        _ => text,
    };
    path.starts_with('/').then(|| path.split('#').next().unwrap_or(path))
}

/// A path of which no byte ends a line of a request: what is not printable is `%XX`.
pub(super) fn encoded(path: &str) -> Cow<'_, str> {
    if path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return path.into();
    }
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_graphic() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}"); // a String takes all
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_what_follows_the_host() {
        for (url, wanted) in [
            ("http://me:secret@host:80/a?b=c#d", Some("/a?b=c")),
            ("https://host", Some("/")),
            ("/a?to=http://x/", Some("/a?to=http://x/")),
            ("a/b", None),
            ("", None),
            ("*", None),
        ] {
            assert_eq!(path(url), wanted, "{url}");
        }
        assert_eq!(encoded("/a b\r\nX: ü"), "/a%20b%0D%0AX:%20%C3%BC");
    }
}

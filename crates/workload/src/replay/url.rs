//! The path of a URL: without scheme, user, host and fragment.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Schemes of what a web server is asked for. No server has what `blob:`, `file:` or `chrome-extension:` names.
const SCHEMES: [&str; 2] = ["http", "https"];

/// What a server is asked for by a URL or a path, without what ends a line of a request; `None`: it is neither.
pub(super) fn asked(target: Cow<'_, str>) -> Option<Cow<'_, str>> {
    match target {
        Cow::Borrowed(text) => path(text).map(encoded),
        Cow::Owned(text) => path(&text).map(|path| encoded(path).into_owned().into()),
    }
}

/// Host and port of a URL, without user and password; `None`: it is no URL of HTTP.
pub(super) fn host(text: &str) -> Option<&str> {
    let (authority, _) = split(text)?;
    Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host))
}

/// What a URL of HTTP has before its path, and the rest.
fn split(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let is_known = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    is_known.then(|| rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())))
}

/// Path and query of a URL, or of a path; `None`: it is neither.
fn path(text: &str) -> Option<Cow<'_, str>> {
    let own = || text.starts_with('/').then_some(text);
    let rest = split(text).map(|(_, rest)| rest).or_else(own)?;
    let path = rest.split('#').next().unwrap_or(rest);
    Some(if path.starts_with('/') { path.into() } else { format!("/{path}").into() })
}

/// A path of which no byte ends a line of a request: what is not printable is `%XX`.
fn encoded(path: Cow<'_, str>) -> Cow<'_, str> {
    if path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return path;
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
            ("HTTP://host?x=1#d", Some("/?x=1")),
            ("http://host#d", Some("/")),
            ("/a?to=http://x/", Some("/a?to=http://x/")),
            ("//a/b", Some("//a/b")),
            ("a/b", None),
            ("", None),
            ("*", None),
        ] {
            assert_eq!(path(url).as_deref(), wanted, "{url}");
        }
        for target in ["/a b\r\nX: ü".into(), Cow::Owned(String::from("http://h/a b\r\nX: ü"))] {
            assert_eq!(asked(target).unwrap(), "/a%20b%0D%0AX:%20%C3%BC");
        }
        assert_eq!(
            (host("http://me:a@b@h:80?c"), host("/a"), host("x")),
            (Some("h:80"), None, None)
        );
    }

    #[test]
    fn what_no_web_server_was_asked_for_has_no_path() {
        for url in [
            "blob:https://h/9115d58c",
            "data:text/plain,a://b/c",
            "chrome-extension://id/a.js",
            "wss://h/socket",
            "file:///home/ann/x",
        ] {
            assert_eq!((asked(url.into()), host(url)), (None, None), "{url}");
        }
    }
}

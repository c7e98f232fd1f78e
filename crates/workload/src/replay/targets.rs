//! vegeta's targets: `METHOD URL`, then headers and `@FILE` of a body, then an empty line. There are no times.

use sojourn_base::Fault;

use super::collected::Collected;
use super::times::Stamp;
use super::{Access, har, is_method, lines, url, wrong};

/// Whether a list begins with such a line.
pub(super) fn is_it(line: &str) -> bool {
    request(line).is_some_and(|(_, target)| url::host(target).is_some())
}

pub(super) fn read(text: &str) -> Result<Access<'_>, Fault> {
    let mut log = Collected::default();
    let mut is_added = false; // the request that headers belong to
    for (line, number) in lines(text) {
        if let Some((name, target)) = request(line) {
            is_added = log.add(Stamp::Missing, name, target.into());
            continue;
        }
        if line.starts_with('@') {
            continue;
        }
        let name = line.split_once(':').map(|(name, _)| name.trim_end());
        let name = name.filter(|name| !name.contains(char::is_whitespace)).ok_or_else(|| {
            let fix = "write METHOD URL, then a header a line, and @FILE for a body";
            wrong("this line is no target, header or body", number, fix)
        })?;
        if har::is_secret(name) && is_added {
            log.mark_secrets();
        }
    }
    Ok(log.finish())
}

/// The method and the URL of a line; no header has a space ahead of its colon.
fn request(line: &str) -> Option<(&str, &str)> {
    let (name, target) = line.split_once(char::is_whitespace)?;
    is_method(name).then(|| (name, target.trim()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_are_requests_and_their_headers_and_bodies_none() {
        let text = "GET http://u:p@h/a?b=c\nCookie: x\nAuthorization: y\n\nPOST http://h:80/d\n@body.json\n\nGET http://h\n";
        let log = super::super::access(text).unwrap().unwrap();
        let result: Vec<_> = log.entries.iter().map(|it| (it.method, &*it.path)).collect();
        assert_eq!(result, [(Some("GET"), "/a?b=c"), (Some("POST"), "/d"), (Some("GET"), "/")]);
        assert_eq!((log.with_secrets, log.has_times), (1, false));
        for torn in ["nothing", "get http://h/b"] {
            let text = format!("GET http://h/a\n{torn}\n");
            assert_eq!(super::super::access(&text).unwrap().unwrap_err().at, "line 2", "{torn}");
        }
    }

    #[test]
    fn methods_that_http_does_not_have_are_no_headers() {
        let text = "PURGE http://h/a\nCookie: x\n@of: a.json\n\nGET http://g/b\nX-A: http://x/\n\n\
                    M-SEARCH http://h/c\nCookie: y\n\nGET blob:http://h/d\nCookie: z\n";
        let log = super::super::access(text).unwrap().unwrap();
        let result: Vec<_> = log.entries.iter().map(|it| (it.method, &*it.path)).collect();
        assert_eq!(result, [(Some("GET"), "/b")]);
        assert_eq!((log.other_methods, log.left_out, log.with_secrets), (2, 1, 0));
        let wide = super::super::access("PUT\thttp://h/a\n").unwrap().unwrap();
        assert_eq!(wide.entries[0].method, Some("PUT"));
    }
}

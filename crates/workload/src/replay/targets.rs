//! vegeta's targets: `METHOD URL`, then headers and `@FILE` of a body, then an empty line. There are no times.

use sojourn_base::Fault;

use super::{Access, Entry, har, lines, method, url, wrong};

/// Whether a list begins with such a line.
pub(super) fn is_it(line: &str) -> bool {
    request(line).is_some_and(|(_, target)| target.contains("://"))
}

pub(super) fn read(text: &str) -> Result<Access<'_>, Fault> {
    let mut log = Access::default();
    let mut is_counted = true; // of the secrets of the request at hand
    for (line, number) in lines(text) {
        if let Some((method, target)) = request(line) {
            match url::path(target) {
                Some(path) => {
                    log.entries.push(Entry {
                        at_ns: 0,
                        method: Some(method),
                        path: url::encoded(path),
                    });
                    is_counted = false;
                }
                None => log.left_out += 1,
            }
            continue;
        }
        let Some((name, _)) = line.split_once(':') else {
            if line.starts_with('@') {
                continue;
            }
            let fix = "write METHOD URL, then a header a line, and @FILE for a body";
            return Err(wrong("this line is no target, header or body", number, fix));
        };
        if har::is_secret(name) && !is_counted {
            log.with_secrets += 1;
            is_counted = true;
        }
    }
    Ok(log)
}

fn request(line: &str) -> Option<(&'static str, &str)> {
    let (name, target) = line.split_once(' ')?;
    Some((method(name).filter(|method| *method == name)?, target.trim()))
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
        let torn = super::super::access("GET http://h/a\nnothing\n").unwrap().unwrap_err();
        assert_eq!(torn.at, "line 2");
    }
}

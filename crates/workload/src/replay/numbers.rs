//! Numbers in place of what people have typed: values in queries, and parameters of a path.
//!
//! Names stay, because a server needs them, and so does which values are the same, because caches need that.
//! A name without a value goes: it may be a value itself.
//! A number says nothing of its value; a digest would give away each value that somebody can guess.

use std::borrow::Cow;
use std::collections::HashMap;

/// Which number each value of a name has.
#[derive(Debug, Default)]
pub struct Numbers {
    known: HashMap<String, HashMap<String, usize>>,
    /// Values that were replaced.
    pub replaced: usize,
}

impl Numbers {
    /// `path` with numbers in place of its values.
    pub fn path(&mut self, path: &str) -> String {
        let (path, query) = path.split_once('?').map_or((path, None), |(a, b)| (a, Some(b)));
        let segments: Vec<Cow<'_, str>> = path
            .split('/')
            .map(|segment| match segment.split_once(';') {
                Some((name, rest)) => format!("{name};{}", self.pairs(rest, ';')).into(),
                None => segment.into(),
            })
            .collect();
        let path = segments.join("/");
        match query {
            Some(query) => format!("{path}?{}", self.pairs(query, '&')),
            None => path,
        }
    }

    fn pairs(&mut self, text: &str, between: char) -> String {
        let pairs: Vec<String> = text
            .split(between)
            .map(|pair| match pair.split_once('=').filter(|(_, value)| !is_padding(value)) {
                Some((name, value)) => format!("{name}={}", self.number(name, value)),
                None => self.number("", pair), // it may be a value as well as a name
            })
            .collect();
        pairs.join(&between.to_string())
    }

    fn number(&mut self, name: &str, value: &str) -> String {
        if value.is_empty() {
            return String::new();
        }
        self.replaced += 1;
        let of_name = self.known.entry(name.into()).or_default();
        let next = of_name.len() + 1;
        of_name.entry(value.into()).or_insert(next).to_string()
    }
}

/// Whether what follows the first `=` may be the end of base64, so that ahead of it is a value and no name.
fn is_padding(text: &str) -> bool {
    text.to_ascii_lowercase().replace("%3d", "=").bytes().all(|byte| byte == b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_has_the_same_number_and_none_is_left() {
        let mut numbers = Numbers::default();
        let result: Vec<_> = [
            "/s?q=alice&page=7",
            "/s?page=7&q=bob@example.org",
            "/s?q=alice;id=9&x=&flag",
            "/a;jsessionid=F00/b;v=2?",
            "/plain",
        ]
        .into_iter()
        .map(|path| numbers.path(path))
        .collect();
        let wanted =
            ["/s?q=1&page=1", "/s?page=1&q=2", "/s?q=3&1&2", "/a;jsessionid=1/b;v=1?", "/plain"];
        assert_eq!(result, wanted);
        assert_eq!(numbers.replaced, 9);
    }

    #[test]
    fn padding_of_base64_makes_no_name_of_a_value() {
        let mut numbers = Numbers::default();
        for (path, wanted) in [
            ("/unsub?YW5uQGV4YW1wbGUub3Jn=", "/unsub?1"),
            ("/unsub?YW5uQGV4YW1wbGUub3Jn==", "/unsub?2"),
            ("/unsub?YW5uQGV4YW1wbGUub3Jn=%3D&a=b%3D", "/unsub?3&a=1"),
            ("/unsub?YW5uQGV4YW1wbGUub3Jn=", "/unsub?1"),
            ("/a;YW5u=/b?a==b&=&", "/a;4/b?a=2&5&"),
        ] {
            assert_eq!(numbers.path(path), wanted, "{path}");
        }
        assert_eq!(numbers.replaced, 8);
    }
}

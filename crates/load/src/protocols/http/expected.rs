//! What the body of each path must be: its length, and on a sample its SHA-256.
//!
//! ```text
//! /film0/q1/list.m3u8 412    6b1f…
//! /film0/q1/0.ts      131072 c0d3…
//! ```
//!
//! Empty lines and lines that begin with `#` are skipped.

use std::collections::HashMap;

use sojourn_base::Fault;

use crate::protocols::sampled;

/// The body of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocols) struct Wanted {
    /// Its length.
    pub(super) bytes: u64,
    /// Its digest.
    pub(super) sha256: [u8; 32],
}

const FIX: &str = "write a path, the length of its body and its SHA-256 on each line";

/// Reads the file `name`: the bodies of `paths`, in their order. Faults name the line or the path.
pub(super) fn read(name: &str, paths: &[String]) -> Result<Vec<Wanted>, Fault> {
    let text = std::fs::read_to_string(name).map_err(|error| {
        let what = format!("cannot read {name}: {error}");
        Fault::usage(what, "expect_file", "name a text file that this user may read")
    })?;
    of(&text, paths).map_err(|fault| fault.within(&format!("expect_file, {name}")))
}

fn of(text: &str, paths: &[String]) -> Result<Vec<Wanted>, Fault> {
    let mut known = HashMap::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong =
            || Fault::usage(format!("'{line}' is not such a line"), format!("line {number}"), FIX);
        let words: Vec<&str> = line.split_whitespace().collect();
        let [path, bytes, sha256] = words[..] else { return Err(wrong()) };
        let bytes = bytes.parse().map_err(|_| wrong())?;
        let sha256 = sampled::digits(sha256).ok_or_else(wrong)?;
        known.insert(path, Wanted { bytes, sha256 });
    }
    let of_path = |path: &String| {
        known
            .get(path.as_str())
            .copied()
            .ok_or_else(|| Fault::usage(format!("{path} is asked for and not in it"), "", FIX))
    };
    paths.iter().map(of_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_body_in_the_order_of_paths() {
        let sha = |digit: &str| digit.repeat(64);
        let text = format!("# bodies\n/b 7 {}\n\n/a 5 {}\n/c 1 {}\n", sha("2"), sha("1"), sha("3"));
        let result = of(&text, &["/a".into(), "/b".into()]).unwrap();
        let wanted =
            [(5, 0x11), (7, 0x22)].map(|(bytes, byte)| Wanted { bytes, sha256: [byte; 32] });
        assert_eq!(result, wanted);
        assert!(of(&text, &["/d".into()]).unwrap_err().what.contains("/d is asked for"));
        for line in ["/a 5", "/a x 11", "/a 5 11", "/a -1 11", "5 5 5 5"] {
            let fault = of(line, &[]).unwrap_err();
            assert_eq!((fault.at.as_str(), fault.fix.as_str()), ("line 1", FIX), "{line}");
        }
    }
}

//! Files of logs: each is read once, for its times and for its paths, and not without end.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use sojourn_base::Fault;

use super::{har, unmarked, wrong};
use crate::once::ReadOnce;

/// Largest log, bytes: some ten million lines, which take several times as much memory.
const BYTES_MAX: u64 = 1 << 30;
/// Longest line, bytes; a HAR may be one line.
const LINE_MAX: usize = 1 << 20;
/// How packed files begin, what they are called, and what unpacks them.
const PACKED: [(&[u8], &str, &str); 4] = [
    (b"\x1f\x8b", "gzip", "zcat"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
];

/// Files of this process, by name. One may be a pipe, or a log that is still being written: its times and
/// its paths must be of one reading.
static TEXTS: ReadOnce<String> = ReadOnce::new();

/// The text of the log `file`. Faults have the line, and no name of what asked for the file.
pub fn text(file: &str) -> Result<Arc<String>, Fault> {
    TEXTS.get(file, || read(file, BYTES_MAX))
}

fn read(file: &str, bytes_max: u64) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let result = File::open(file).and_then(|log| log.take(bytes_max + 1).read_to_end(&mut bytes));
    result.map_err(|error| {
        let what = format!("cannot read {file}: {error}");
        Fault::usage(what, "", "name a text file that this user may read")
    })?;
    if let Some((_, kind, unpack)) = PACKED.iter().find(|(head, ..)| bytes.starts_with(head)) {
        let what = format!("{file} is packed ({kind})");
        return Err(Fault::usage(what, "", format!("unpack it: <({unpack} {file}) in its place")));
    }
    if bytes.len() as u64 > bytes_max {
        let what = format!("{file} is longer than {bytes_max} bytes");
        let fix = "take a part of it, as with head -n 1000000, or the lines of an hour with grep";
        return Err(Fault::usage(what, "", fix));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let until = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..until].split(|byte| *byte == b'\n').count();
        let fix = "convert it, as with iconv -f latin1 -t utf-8";
        wrong(&format!("{file} is no text in UTF-8"), line, fix)
    })?;
    let mut lengths = (1..).zip(text.lines().map(str::len));
    let long = lengths.find(|(_, length)| *length > LINE_MAX);
    if let Some((line, length)) = long.filter(|_| !har::is_it(unmarked(&text))) {
        let what = format!("this line has {length} bytes, at most {LINE_MAX} may be");
        return Err(wrong(&what, line, "leave it out, as with grep -v"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use super::*;

    /// What is read of a file with these bytes.
    fn of(bytes: &[u8], bytes_max: u64) -> Result<String, Fault> {
        let unique =
            format!("sojourn-logs-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(unique.replace(['(', ')'], ""));
        std::fs::write(&path, bytes).unwrap();
        let result = read(&path.display().to_string(), bytes_max);
        std::fs::remove_file(&path).unwrap();
        result
    }

    #[test]
    fn a_pipe_is_read_once_for_all_who_ask() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"/a\n/b\n").unwrap();
        drop(writer);
        let name = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(*text(&name).unwrap(), "/a\n/b\n");
        assert_eq!(*text(&name).unwrap(), "/a\n/b\n", "as the first time");
    }

    #[test]
    fn a_log_without_end_is_refused() {
        assert_eq!(of(b"/a\n/b\n", 6).unwrap(), "/a\n/b\n");
        let fault = of(b"/a\n/b\n", 5).unwrap_err();
        assert!(fault.what.contains("longer than 5 bytes"), "{fault}");
        assert!(fault.fix.contains("head"), "{fault}");
        let long = format!("/a\n/{}\n", "b".repeat(LINE_MAX));
        let fault = of(long.as_bytes(), BYTES_MAX).unwrap_err();
        assert_eq!(fault.at, "line 2");
        assert!(fault.what.contains("1048577 bytes"), "{}", fault.what);
        let har = format!("{{\"log\":{{\"entries\":[],\"x\":\"{}\"}}}}", "b".repeat(LINE_MAX));
        assert!(of(har.as_bytes(), BYTES_MAX).is_ok(), "browsers save it without ends of lines");
    }

    #[test]
    fn what_is_packed_or_no_text_says_what_makes_it_one() {
        for (bytes, what, fix) in [
            (&b"\x1f\x8b\x08\0"[..], "packed (gzip)", "<(zcat /"),
            (&b"\x28\xb5\x2f\xfd\0"[..], "packed (zstd)", "<(zstdcat /"),
            (&b"/a\n/\xfc\n"[..], "no text in UTF-8", "iconv"),
        ] {
            let fault = of(bytes, BYTES_MAX).unwrap_err();
            assert!(fault.what.contains(what) && fault.fix.contains(fix), "{fault}");
        }
        assert_eq!(of(b"/a\n/\xfc\n", BYTES_MAX).unwrap_err().at, "line 2");
        assert!(read("/no/such/log", BYTES_MAX).unwrap_err().what.contains("/no/such/log"));
    }
}

//! Files of logs: each is read once, for its times and for its paths, and not without end.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use sojourn_base::Fault;

use super::{har, json_lines, unmarked, wrong};
use crate::once::ReadOnce;

/// Largest log, bytes: some ten million lines, which take several times as much memory. Of a packed one it
/// is what comes out.
const BYTES_MAX: u64 = 1 << 30;
/// Longest line, bytes; a HAR may be one line.
const LINE_MAX: usize = 1 << 20;
/// How a file begins that gzip packed, as logs that are rotated are; it is read as it is.
const GZIP: &[u8] = b"\x1f\x8b";
const DAMAGED: &str =
    "it may be cut short, or have other bytes behind its end: give a whole file of gzip";
/// How other packed files begin, what they are called, and what unpacks them; gzip in gzip is one.
const PACKED: [(&[u8], &str, &str); 4] = [
    (GZIP, "gzip", "zcat"),
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

/// Lets go of the text of `file`, which may be of a gigabyte, once all was made of it that is needed.
pub fn forget(file: &str) {
    TEXTS.forget(file);
}

fn read(file: &str, bytes_max: u64) -> Result<String, Fault> {
    let (bytes, is_packed) = unpacked(file, bytes_max)?;
    if let Some((_, kind, unpack)) = PACKED.iter().find(|(head, ..)| bytes.starts_with(head)) {
        let (twice, command) = if is_packed {
            (", twice", format!("zcat {file} | {unpack}"))
        } else {
            ("", format!("{unpack} {file}"))
        };
        let what = format!("{file} is packed ({kind}{twice})");
        return Err(Fault::usage(what, "", format!("unpack it: <({command}) in its place")));
    }
    if bytes.len() as u64 > bytes_max {
        let unpacked = if is_packed { " when it is unpacked" } else { "" };
        return Err(too_long(file, bytes_max, unpacked));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let until = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..until].split(|byte| *byte == b'\n').count();
        let fix = "convert it, as with iconv -f latin1 -t utf-8";
        wrong(&format!("{file} is no text in UTF-8"), line, fix)
    })?;
    if har::is_it(unmarked(&text)) {
        return Ok(text); // it may be one line, which is read as a whole only once
    }
    let mut lengths = (1..).zip(text.lines().map(str::len));
    if let Some((line, length)) = lengths.find(|(_, length)| *length > LINE_MAX) {
        let what = format!("this line has {length} bytes, at most {LINE_MAX} may be");
        return Err(wrong(&what, line, "leave it out, as with grep -v"));
    }
    if json_lines::is_of_docker(unmarked(&text)) {
        let what = format!("{file} has lines of Docker, each around one of the log");
        let cat = if is_packed { "zcat" } else { "cat" };
        let fix = format!("take those out: <({cat} {file} | jq -j .log) in its place");
        return Err(wrong(&what, 1, &fix));
    }
    Ok(text)
}

fn too_long(file: &str, bytes_max: u64, unpacked: &str) -> Fault {
    let what = format!("{file} is longer than {bytes_max} bytes{unpacked}");
    let fix = "take a part of it, as with head -n 1000000, or the lines of an hour with grep";
    Fault::usage(what, "", fix)
}

/// The first bytes of a file, one more than `bytes_max` at most, and whether gzip had packed them.
fn unpacked(file: &str, bytes_max: u64) -> Result<(Vec<u8>, bool), Fault> {
    let fault =
        |error: io::Error, fix: &str| Fault::usage(format!("cannot read {file}: {error}"), "", fix);
    let unreadable = |error| fault(error, "name a text file that this user may read");
    let mut log = File::open(file).map_err(unreadable)?;
    let mut head = Vec::new();
    log.by_ref().take(GZIP.len() as u64).read_to_end(&mut head).map_err(unreadable)?;
    let is_packed = head == GZIP;
    // A pipe cannot be wound back. One that never ends may hold parts in which nothing is.
    let mut whole = io::Cursor::new(head).chain(log).take(bytes_max + 1);
    let mut bytes = Vec::new();
    if is_packed {
        let text = MultiGzDecoder::new(whole.by_ref()).take(bytes_max + 1).read_to_end(&mut bytes);
        if whole.limit() == 0 {
            return Err(too_long(file, bytes_max, ""));
        }
        text.map_err(|error| fault(error, DAMAGED))?;
    } else {
        whole.read_to_end(&mut bytes).map_err(unreadable)?;
    }
    Ok((bytes, is_packed))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// The bytes as gzip packs them.
    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

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
    fn what_gzip_packed_is_read_and_no_more_of_it_than_of_a_text() {
        let text = "/a\n/b\n".repeat(1000);
        let packed = gzip(text.as_bytes());
        assert_eq!(of(&packed, 6000).unwrap(), text);
        let twice = [packed.as_slice(), &gzip(b"/c\n")].concat();
        assert_eq!(of(&twice, 6003).unwrap(), format!("{text}/c\n"), "as cat joins them");
        let bomb = of(&packed, 5999).unwrap_err();
        assert!(bomb.what.contains("longer than 5999 bytes when it is unpacked"), "{bomb}");
        let cut = of(&packed[..packed.len() - 9], 6000).unwrap_err();
        assert!(cut.what.contains("cannot read") && cut.fix.contains("cut short"), "{cut}");
    }

    #[test]
    fn what_is_wrong_with_a_file_of_gzip_is_named() {
        let packed = gzip(b"/a\n");
        let behind = [packed.as_slice(), b"/b\n"].concat();
        for bytes in
            [&packed[..packed.len() - 1], &packed[..12], &packed[..3], b"\x1f\x8b/a\n", &behind]
        {
            let fault = of(bytes, 6000).unwrap_err();
            assert!(fault.what.contains("cannot read") && fault.fix.contains("whole"), "{fault}");
        }
        assert_eq!(of(&packed[..1], 6000).unwrap(), "\x1f", "one byte is a text");
        for (inner, kind, fix) in [
            (&b"\x28\xb5\x2f\xfd\0"[..], "packed (zstd, twice)", " | zstdcat)"),
            (&gzip(b"/a\n"), "packed (gzip, twice)", " | zcat)"),
        ] {
            let fault = of(&gzip(inner), 99).unwrap_err();
            assert!(fault.what.contains(kind) && fault.fix.contains(fix), "{fault}");
        }
    }

    #[test]
    fn parts_in_which_nothing_is_are_not_read_without_end() {
        let fault = of(&gzip(b"").repeat(6000 / 20), 5000).unwrap_err();
        assert!(fault.what.contains("longer than 5000 bytes"), "{fault}");
        assert_eq!(of(&gzip(b"").repeat(3), 5000).unwrap(), "");
    }

    #[test]
    fn lines_of_docker_are_no_har_and_the_way_out_is_named() {
        let inner = r#""log":"h - - [28/May/2024:10:00:02 +0000] \"GET /a HTTP/1.1\" 200 5\n""#;
        let line = format!("{{{inner},\"stream\":\"stdout\",\"time\":\"2024-05-28T10:00:02Z\"}}\n");
        for text in [line.repeat(2), format!("\u{feff}{line}")] {
            let fault = of(text.as_bytes(), BYTES_MAX).unwrap_err();
            assert!(fault.what.contains("lines of Docker"), "{fault}");
            assert!(fault.fix.contains(" | jq -j .log)"), "{fault}");
        }
        let fault = of(&gzip(line.as_bytes()), BYTES_MAX).unwrap_err();
        assert!(fault.fix.contains("<(zcat /"), "{fault}");
        let own = r#"{"log":"access","method":"GET","path":"/a","time":1}"#;
        let text = of(own.as_bytes(), BYTES_MAX).unwrap();
        let log = super::super::access(&text).unwrap().unwrap();
        assert_eq!(log.entries[0].path, "/a", "a word of that name is no HAR");
    }

    #[test]
    fn what_is_packed_or_no_text_says_what_makes_it_one() {
        for (bytes, what, fix) in [
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

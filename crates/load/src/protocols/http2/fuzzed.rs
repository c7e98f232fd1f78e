//! What `make fuzz` gives to the reader of header blocks; compiled for it alone.

use super::hpack::{Reader, push_field};

/// Reads header blocks of one connection, each behind a byte that says how long it is, and what was read
/// once more as this program writes it.
pub fn header_blocks(bytes: &[u8]) {
    let mut reader = Reader::new();
    let mut rest = bytes;
    while let [length, behind @ ..] = rest {
        let (block, after) = behind.split_at(usize::from(*length).min(behind.len()));
        rest = after;
        let mut fields: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let read = reader.read(block, &mut |name, value| fields.push((name.into(), value.into())));
        if read.is_none() {
            reader.reset();
            continue;
        }
        let mut written = Vec::new();
        let texts: Vec<(&str, &str)> = fields.iter().filter_map(|it| text(it)).collect();
        for (name, value) in &texts {
            push_field(name, value, &mut written);
        }
        let mut again = texts.iter();
        let mut compare = |name: &[u8], value: &[u8]| {
            let field = again.next().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            assert_eq!(field, Some((name, value)), "it is read as it was written");
        };
        Reader::new().read(&written, &mut compare).expect("what is written can be read");
        assert!(again.next().is_none(), "a field was lost");
    }
}

fn text((name, value): &(Vec<u8>, Vec<u8>)) -> Option<(&str, &str)> {
    Some((str::from_utf8(name).ok()?, str::from_utf8(value).ok()?))
}

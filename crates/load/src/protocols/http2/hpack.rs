//! Header blocks: written without a table, read with one. Source: RFC 7541.
//!
//! What is sent is the same for every connection, so it refers to the fixed table alone, and is not
//! compressed further: it is copied, not worked out. What comes back may refer to what came before on
//! its connection; [`Reader`] remembers that, in memory that it uses again.

use std::collections::VecDeque;

use super::huffman;
use super::table::FIXED;

/// Bytes of what came before that are remembered: as every connection begins. Source: RFC 9113, 6.5.2.
pub(super) const REMEMBERED_MAX: usize = 4096;
/// At the begin of a block: none of what is sent is remembered from now on. Source: RFC 7541, 6.3.
pub(super) const NO_TABLE: u8 = 0x20;
/// What an entry counts beside its bytes. Source: RFC 7541, 4.1.
const ENTRY_EXTRA: usize = 32;
/// Longest string that is read, bytes.
const STRING_MAX: usize = 256 * 1024;

/// Appends a field that neither side has to remember; names are in small letters.
pub(super) fn push_field(name: &str, value: &str, out: &mut Vec<u8>) {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    if let Some(at) = FIXED.iter().position(|&it| it == (name, value) && !value.is_empty()) {
        push_int(0x80, 7, at + 1, out);
        return;
    }
    push_name(name, out);
    push_int(0, 7, value.len(), out);
    out.extend_from_slice(value);
}

/// Appends the begin of such a field, up to its value's length.
pub(super) fn push_name(name: &[u8], out: &mut Vec<u8>) {
    if let Some(at) = FIXED.iter().position(|it| it.0 == name) {
        push_int(0, 4, at + 1, out);
        return;
    }
    out.push(0);
    push_int(0, 7, name.len(), out);
    out.extend_from_slice(name);
}

/// Appends a number whose first byte begins with `pattern` and has `bits` for it. Source: 5.1.
pub(super) fn push_int(pattern: u8, bits: u32, number: usize, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if number < most {
        out.push(pattern | number as u8);
        return;
    }
    out.push(pattern | most as u8);
    let mut rest = number - most;
    while rest >= 128 {
        out.push(rest as u8 | 128);
        rest /= 128;
    }
    out.push(rest as u8);
}

/// A field that is remembered.
#[derive(Default)]
struct Entry {
    /// Name and value.
    bytes: Vec<u8>,
    name_len: usize,
}

/// Reads the header blocks of one connection, in their order.
pub(super) struct Reader {
    /// The newest first.
    entries: VecDeque<Entry>,
    size: usize,
    size_max: usize,
    /// Entries that were forgotten, whose memory is used again.
    spare: Vec<Entry>,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            entries: VecDeque::with_capacity(REMEMBERED_MAX / ENTRY_EXTRA),
            size: 0,
            size_max: REMEMBERED_MAX,
            spare: Vec::new(),
            name: Vec::with_capacity(64),
            value: Vec::with_capacity(256),
        }
    }

    /// The connection is new.
    pub(super) fn reset(&mut self) {
        self.size_max = 0;
        self.shrink();
        self.size_max = REMEMBERED_MAX;
    }

    /// Tells `on` of each field of a whole block; `None`: it is none, and the connection is of no use.
    pub(super) fn read(&mut self, block: &[u8], on: &mut dyn FnMut(&[u8], &[u8])) -> Option<()> {
        let mut rest = block;
        while let Some(&first) = rest.first() {
            match first {
                0x80.. => {
                    let at = int(&mut rest, 7)?;
                    let (name, value) = self.at(at)?;
                    on(name, value);
                }
                0x40..0x80 => {
                    self.literal(&mut rest, 6)?;
                    on(&self.name, &self.value);
                    self.remember();
                }
                0x20..0x40 => {
                    self.size_max = int(&mut rest, 5).filter(|&size| size <= REMEMBERED_MAX)?;
                    self.shrink();
                }
                _ => {
                    self.literal(&mut rest, 4)?;
                    on(&self.name, &self.value);
                }
            }
        }
        Some(())
    }

    fn at(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let at = at.checked_sub(1)?;
        if let Some(&fixed) = FIXED.get(at) {
            return Some(fixed);
        }
        let entry = self.entries.get(at - FIXED.len())?;
        Some(entry.bytes.split_at(entry.name_len))
    }

    /// Reads a field whose name's place has `bits` in the first byte.
    fn literal(&mut self, rest: &mut &[u8], bits: u32) -> Option<()> {
        let at = int(rest, bits)?;
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        let read = match at {
            0 => string(rest, &mut name),
            _ => self.at(at).map(|(known, _)| name.extend_from_slice(known)),
        };
        self.name = name;
        read?;
        self.value.clear();
        string(rest, &mut self.value)
    }

    /// The field read last may be referred to from now on.
    fn remember(&mut self) {
        let mut entry = self.spare.pop().unwrap_or_default();
        entry.bytes.clear();
        entry.bytes.extend_from_slice(&self.name);
        entry.bytes.extend_from_slice(&self.value);
        entry.name_len = self.name.len();
        self.size += entry.bytes.len() + ENTRY_EXTRA;
        self.entries.push_front(entry);
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.size > self.size_max
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.bytes.len() + ENTRY_EXTRA;
            if self.spare.len() < REMEMBERED_MAX / ENTRY_EXTRA {
                self.spare.push(oldest);
            }
        }
    }
}

/// Takes a number off `rest`. Source: 5.1.
fn int(rest: &mut &[u8], bits: u32) -> Option<usize> {
    let (&first, mut after) = rest.split_first()?;
    let most = (1_usize << bits) - 1;
    let mut number = usize::from(first) & most;
    if number == most {
        let mut shift = 0;
        loop {
            let (&byte, behind) = after.split_first()?;
            after = behind;
            number += usize::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                break;
            }
            if shift > 28 {
                return None; // no number here is that large
            }
        }
    }
    *rest = after;
    Some(number)
}

/// Takes a string off `rest` and appends it. Source: 5.2.
fn string(rest: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    let is_coded = rest.first()? & 128 != 0;
    let length = int(rest, 7)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    if is_coded {
        huffman::decode(bytes, out)?;
    } else {
        out.extend_from_slice(bytes);
    }
    (out.len() <= STRING_MAX).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(reader: &mut Reader, block: &[u8]) -> Option<String> {
        let mut text = String::new();
        reader.read(block, &mut |name, value| {
            let [name, value] = [name, value].map(String::from_utf8_lossy);
            text.extend([&*name, "=", &*value, ";"]);
        })?;
        Some(text)
    }

    /// Three replies of one connection with a table of 256 bytes. Source: RFC 7541, C.6.
    #[test]
    fn replies_refer_to_what_came_before_them() {
        let mut reader = Reader::new();
        reader.size_max = 256;
        let first = b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\
            \xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\
            \x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3";
        let rest = "cache-control=private;date=Mon, 21 Oct 2013 20:13:21 GMT;location=https://www.example.com;";
        assert_eq!(fields(&mut reader, first).unwrap(), format!(":status=302;{rest}"));
        assert_eq!(reader.size, 222);
        let second = b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf";
        assert_eq!(fields(&mut reader, second).unwrap(), format!(":status=307;{rest}"));
        assert_eq!((reader.size, reader.entries.len()), (222, 4), "302 had to go");
    }

    #[test]
    fn what_is_written_is_read_back() {
        let long = "x".repeat(300);
        let input = [(":method", "POST"), (":path", "/a"), ("te", "trailers"), ("accept", &long)];
        let mut block = Vec::new();
        for (name, value) in input {
            push_field(name, value, &mut block);
        }
        let wanted: String =
            input.iter().flat_map(|(name, value)| [name, "=", value, ";"]).collect();
        assert_eq!(fields(&mut Reader::new(), &block).unwrap(), wanted);
        assert_eq!(block[0], 0x83, "POST has a place of its own");
    }

    #[test]
    fn what_refers_to_nothing_or_has_no_end_is_none() {
        let wrong: [&[u8]; 8] = [
            &[0x80],                               // place 0
            &[0xbe],                               // nothing came before
            &[0x3f, 0xe2, 0x1f],                   // a table of 4097 bytes
            &[0x00, 0x01],                         // no name
            &[0x48, 0x03, b'2', b'0'],             // no end
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // no end of a number
            &[0x48, 0x81, 0x00],                   // no code
            &[0x7f, 0x00, 0x00], // 63 is a name's place, of which nothing is known
        ];
        for block in wrong {
            assert_eq!(fields(&mut Reader::new(), block), None, "{block:?}");
        }
    }

    #[test]
    fn a_field_larger_than_the_table_empties_it() {
        let mut reader = Reader::new();
        let mut block = b"\x40\x01a\x01b".to_vec();
        assert_eq!(fields(&mut reader, &block).unwrap(), "a=b;");
        assert_eq!(fields(&mut reader, b"\xbe").unwrap(), "a=b;");
        block = b"\x40\x01c".to_vec();
        push_int(0, 7, 5000, &mut block);
        block.extend([b'x'; 5000]);
        fields(&mut reader, &block).unwrap();
        assert_eq!((reader.size, reader.entries.len()), (0, 0));
        assert_eq!(fields(&mut reader, b"\xbe"), None);
    }
}

//! The Huffman code of header strings, read symbol by symbol. Source: RFC 7541, 5.2 and Appendix B.
//!
//! The code is canonical: codes of one length follow one another in the order of their symbols, and those
//! of the next length follow them. So the lengths say all, and the code is worked out from them when the
//! program is built.

/// Length of each byte's code, bits, and of the end's at last. Source: RFC 7541, Appendix B.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const SHORTEST: usize = 5;
const LONGEST: usize = 30;
/// The symbol that no string may hold.
const END: u16 = 256;

struct Code {
    /// All symbols in the order of their codes.
    symbols: [u16; 257],
    /// Of each length: the first code beyond it, left-aligned in 32 bits; and where its symbols begin.
    beyond: [u64; LONGEST + 1],
    begins: [u16; LONGEST + 1],
    /// By the first eight bits: the symbol and its length, where that is at most eight; else (0, 0).
    short: [(u8, u8); 256],
}

static CODE: Code = code();

const fn code() -> Code {
    let mut it = Code {
        symbols: [0; 257],
        beyond: [0; LONGEST + 1],
        begins: [0; LONGEST + 1],
        short: [(0, 0); 256],
    };
    let (mut length, mut next, mut count) = (1, 0_u64, 0_usize);
    while length <= LONGEST {
        it.begins[length] = count as u16;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                it.symbols[count] = symbol as u16;
                count += 1;
                if length <= 8 {
                    let first = (next >> 24) as usize;
                    let mut at = first;
                    while at < first + (1 << (8 - length)) {
                        it.short[at] = (symbol as u8, length as u8);
                        at += 1;
                    }
                }
                next += 1 << (32 - length);
            }
            symbol += 1;
        }
        it.beyond[length] = next;
        length += 1;
    }
    it
}

/// Appends what `bytes` encode; `None`: they are no such code.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut bits = 0_u64; // left-aligned in 64
    let mut count = 0;
    let mut rest = bytes.iter();
    loop {
        while count <= 56
            && let Some(&byte) = rest.next()
        {
            bits |= u64::from(byte) << (56 - count);
            count += 8;
        }
        let (symbol, length) = match CODE.short[(bits >> 56) as usize] {
            (_, 0) => long(bits)?,
            (symbol, length) => (symbol.into(), length.into()),
        };
        if length > count {
            return is_padding(bits, count).then_some(());
        }
        if symbol == END {
            return None;
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

/// The symbol of a code longer than eight bits, and the length.
fn long(bits: u64) -> Option<(u16, usize)> {
    let top = bits >> 32;
    let length = (SHORTEST..=LONGEST).find(|&length| top < CODE.beyond[length])?;
    let left = (CODE.beyond[length] - 1 - top) >> (32 - length);
    let end = if length == LONGEST { 257 } else { CODE.begins[length + 1].into() };
    Some((CODE.symbols[end - 1 - left as usize], length))
}

/// What is left of the last byte is ones, and less than a byte.
fn is_padding(bits: u64, count: usize) -> bool {
    count < 8 && (count == 0 || bits >> (64 - count) == (1 << count) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(bytes, &mut out).map(|()| out)
    }

    /// Source: RFC 7541, C.4.1 and C.6.1.
    #[test]
    fn the_examples_of_the_rfc_are_read() {
        let host = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(text(&host).unwrap(), b"www.example.com");
        let date = [
            0xd0, 0x7a, 0xbe, 0x94, 0x10, 0x54, 0xd4, 0x44, 0xa8, 0x20, 0x05, 0x95, 0x04, 0x0b,
            0x81, 0x66, 0xe0, 0x82, 0xa6, 0x2d, 0x1b, 0xff,
        ];
        assert_eq!(text(&date).unwrap(), b"Mon, 21 Oct 2013 20:13:21 GMT");
        assert_eq!(text(&[]).unwrap(), b"");
    }

    /// All codes together, each by the rule that makes them canonical; the last is the end's.
    #[test]
    fn every_byte_is_read_back() {
        let mut order: Vec<usize> = (0..257).collect();
        order.sort_by_key(|&symbol| (LENGTHS[symbol], symbol));
        let (mut code, mut length) = (0_u64, 0);
        for symbol in order {
            code <<= LENGTHS[symbol] - length;
            length = LENGTHS[symbol];
            let bits = usize::from(length).next_multiple_of(8);
            let padded = ((code + 1) << (bits - usize::from(length))) - 1;
            let bytes = &padded.to_be_bytes()[8 - bits / 8..];
            let wanted = (symbol < 256).then(|| vec![symbol as u8]);
            assert_eq!(text(bytes), wanted, "{symbol}");
            code += 1;
        }
        assert_eq!(code, 1 << 30, "no code is left over");
    }

    #[test]
    fn what_is_left_over_is_ones_and_less_than_a_byte() {
        assert_eq!(text(&[0b0001_1111]).unwrap(), b"a");
        assert_eq!(text(&[0b0001_1110]), None, "not ones");
        assert_eq!(text(&[0b0001_1111, 0xff]), None, "more than seven bits");
        assert_eq!(text(&[0xff; 4]), None, "the end itself");
    }
}

//! Lines ended by `\n`, handed over whole although they arrive in pieces.

/// Collects one line at a time; a line that arrives in one piece is not copied.
#[derive(Debug)]
pub(super) struct Lines {
    retained: Vec<u8>,
    max: usize,
}

/// What came of looking for a line end.
pub(super) enum Scan<'a> {
    /// A whole line without its `\r\n` or `\n`; the number of input bytes it used.
    Line(&'a [u8], usize),
    /// Not yet: all input bytes were stored.
    Part,
    /// More than `max` bytes without an end.
    TooLong,
}

impl Lines {
    /// Lines of at most `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self { retained: Vec::with_capacity(max), max }
    }

    /// Reads on in `bytes`. After `Line`, call [`Lines::clear`] before the next.
    #[inline]
    pub(super) fn find<'a>(&'a mut self, bytes: &'a [u8]) -> Scan<'a> {
        let end = memchr::memchr(b'\n', bytes);
        let run = end.unwrap_or(bytes.len());
        if self.retained.len() + run > self.max {
            return Scan::TooLong;
        }
        match end {
            Some(end) if self.retained.is_empty() => Scan::Line(trimmed(&bytes[..end]), end + 1),
            Some(end) => {
                self.retained.extend_from_slice(&bytes[..end]);
                Scan::Line(trimmed(&self.retained), end + 1)
            }
            None => {
                self.retained.extend_from_slice(bytes);
                Scan::Part
            }
        }
    }

    /// Forgets what was stored.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.retained.clear();
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The decimal number that `digits` are; `None` if they are not one or it is too large.
#[inline]
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0_u32, |sum, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
    })
}

/// Appends `number` in decimal digits.
pub(super) fn push_number(number: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `Lines` of at most 4 bytes makes of these pieces in turn: a line, nothing yet, or too much.
    fn found(pieces: &[&str]) -> Vec<Option<Result<String, ()>>> {
        let mut lines = Lines::new(4);
        let look = |piece: &&str| match lines.find(piece.as_bytes()) {
            Scan::Line(line, _) => Some(Ok(String::from_utf8_lossy(line).into_owned())),
            Scan::Part => None,
            Scan::TooLong => Some(Err(())),
        };
        pieces.iter().map(look).collect()
    }

    #[test]
    fn a_line_may_be_as_long_as_was_said_in_one_piece_or_many() {
        assert_eq!(found(&["abcd\nx"]), [Some(Ok("abcd".into()))]);
        assert_eq!(found(&["abcde\n"]), [Some(Err(()))]);
        assert_eq!(found(&["ab", "c\r\n"]), [None, Some(Ok("abc".into()))]);
        assert_eq!(found(&["ab", "cd\n"]), [None, Some(Ok("abcd".into()))]);
        assert_eq!(found(&["a", "bcde\n"]), [None, Some(Err(()))]);
        assert_eq!(found(&["abcd", "e"]), [None, Some(Err(()))]);
    }

    #[test]
    fn a_line_uses_its_bytes_and_its_end_and_no_more() {
        let mut lines = Lines::new(4);
        assert!(matches!(lines.find(b"ab\r\ncd\n"), Scan::Line(b"ab", 4)));
        assert!(matches!(lines.find(b"cd"), Scan::Part));
        assert!(matches!(lines.find(b"\nef"), Scan::Line(b"cd", 1)));
        lines.clear();
        assert!(matches!(lines.find(b"ef\n"), Scan::Line(b"ef", 3)));
    }

    #[test]
    fn numbers_have_one_to_nine_digits() {
        let texts = ["0", "999999999", "", "1000000000", "12345678901", "1x", "-1", " 1"];
        let read = texts.map(|text| number(text.as_bytes()));
        assert_eq!(read, [Some(0), Some(999_999_999), None, None, None, None, None, None]);
        for wanted in [0, 9, 10, 4_294_967_295] {
            let mut out = b"$".to_vec();
            push_number(wanted, &mut out);
            assert_eq!(out, format!("${wanted}").into_bytes());
        }
    }
}

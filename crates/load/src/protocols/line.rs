//! Lines ended by `\n`, handed over whole although they arrive in pieces.

/// Collects one line at a time; a line that arrives in one piece is not copied.
#[derive(Debug)]
pub(super) struct Lines {
    kept: Vec<u8>,
    max: usize,
}

/// What came of looking for a line end.
pub(super) enum Found<'a> {
    /// A whole line without its `\r\n` or `\n`; the number of input bytes it used.
    Line(&'a [u8], usize),
    /// Not yet: all input bytes were kept.
    Part,
    /// More than `max` bytes without an end.
    TooLong,
}

impl Lines {
    /// Lines of at most `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self { kept: Vec::with_capacity(max), max }
    }

    /// Reads on in `bytes`. After `Line`, call [`Lines::clear`] before the next.
    #[inline]
    pub(super) fn find<'a>(&'a mut self, bytes: &'a [u8]) -> Found<'a> {
        let end = memchr::memchr(b'\n', bytes);
        let run = end.unwrap_or(bytes.len());
        if self.kept.len() + run > self.max {
            return Found::TooLong;
        }
        match end {
            Some(end) if self.kept.is_empty() => Found::Line(trimmed(&bytes[..end]), end + 1),
            Some(end) => {
                self.kept.extend_from_slice(&bytes[..end]);
                Found::Line(trimmed(&self.kept), end + 1)
            }
            None => {
                self.kept.extend_from_slice(bytes);
                Found::Part
            }
        }
    }

    /// Forgets what was kept.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.kept.clear();
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

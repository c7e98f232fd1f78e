//! Text of strangers as a terminal may have it: what would control the terminal is spelled out.
//!
//! Names of tasks and servers' words may hold escape sequences, which write the clipboard or hide what is
//! beside them, and letters that turn the order of others. So every program of the lab writes to standard
//! output and standard error through [`Visible`]; the deciding side does the same in `sojourn/visible.py`.
//!
//! A letter from U+007F on is spelled as in JSON, so that JSON stays what it was.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Whether a letter controls the terminal, or the order of others; tab and line feed are none.
pub fn is_control(letter: char) -> bool {
    let is_turning = matches!(letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_turning || (letter.is_control() && letter != '\t' && letter != '\n')
}

fn push(letter: char, is_spelled: bool, out: &mut String) {
    let number = u32::from(letter);
    let _ = match (is_spelled, number) {
        (false, _) => out.write_char(letter),
        (true, ..0x7f) => write!(out, "\\x{number:02x}"),
        (true, _) => write!(out, "\\u{number:04x}"),
    };
}

/// `text` with its controls spelled out; tabs and line feeds stay.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|letter| push(letter, is_control(letter), &mut out));
    out
}

/// The same for a text in one line, such as a name: a line feed would begin a line that looks like ours.
pub fn in_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        push(letter, is_control(letter) || matches!(letter, '\t' | '\n'), &mut out);
    }
    out
}

/// Spells out the controls of all that is written to `to`. Bytes that are no UTF-8 are spelled too.
#[derive(Debug)]
pub struct Visible<W: Write> {
    to: W,
    /// The beginning of a letter whose end has not been written yet.
    part: Vec<u8>,
}

impl<W: Write> Visible<W> {
    /// All that is written here goes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, part: Vec::new() }
    }
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.part.extend_from_slice(bytes);
        let mut out = String::with_capacity(self.part.len());
        let mut kept = 0;
        for chunk in self.part.utf8_chunks() {
            out.push_str(&visible(chunk.valid()));
            kept += chunk.valid().len();
            let is_last = kept + chunk.invalid().len() == self.part.len();
            if is_last && is_beginning(chunk.invalid()) {
                break;
            }
            for byte in chunk.invalid() {
                let _ = write!(out, "\\x{byte:02x}");
            }
            kept += chunk.invalid().len();
        }
        self.part.drain(..kept);
        self.to.write_all(out.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Whether more bytes can make a letter of these.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_is_left_and_no_other_letter_is_touched() {
        for letter in (0..0x11000).filter_map(char::from_u32) {
            let text = letter.to_string();
            let is_touched = visible(&text) != text;
            let is_turning =
                "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\
                \u{2066}\u{2067}\u{2068}\u{2069}"
                    .contains(letter);
            let is_control = letter.is_control() && !"\t\n".contains(letter);
            assert_eq!(is_touched, is_control || is_turning, "{:x}", u32::from(letter));
        }
        assert_eq!(visible("\x1b]0;OWN\x07 \u{202e}\u{9b}\n"), "\\x1b]0;OWN\\x07 \\u202e\\u009b\n");
        assert_eq!(in_line("a\nb\tc\r"), "a\\x0ab\\x09c\\x0d");
    }

    #[test]
    fn whatever_the_pieces_the_same_is_written() {
        let bytes =
            "é\x1b[2J\u{202e}🦀\n".bytes().chain([0xff, b'a', 0xe2, 0x80]).collect::<Vec<u8>>();
        for size in 1..=bytes.len() {
            let mut out = Visible::new(Vec::new());
            for piece in bytes.chunks(size) {
                out.write_all(piece).unwrap();
            }
            let text = String::from_utf8(out.to).unwrap();
            assert_eq!(text, "é\\x1b[2J\\u202e🦀\n\\xffa", "pieces of {size}");
        }
    }
}

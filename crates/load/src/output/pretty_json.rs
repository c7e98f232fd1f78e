//! JSON that people can read and that stays small: a key a line, a list in one line.
//!
//! `serde_json`'s own pretty form puts each number of a list on a line of its own, which makes the
//! windows of a long run several times as large, and unreadable.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

/// `value` as tidy JSON, with a line feed at its end.
pub fn json(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let mut writer = Serializer::with_formatter(&mut text, Tidy(PrettyFormatter::new()));
    value.serialize(&mut writer).expect("plain data");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Objects as the pretty form has them, lists as the compact one, which is the default of what is not overridden here.
struct Tidy(PrettyFormatter<'static>);

impl Formatter for Tidy {
    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(out, is_first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_a_line_and_a_list_in_one() {
        let value = serde_json::json!({"a": {"n": [1, 2, 3]}, "b": [], "c": [{"d": [[1, 2]]}]});
        let text = json(&value);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[1..4], ["\"a\": {", "\"n\": [1,2,3]", "},"]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}

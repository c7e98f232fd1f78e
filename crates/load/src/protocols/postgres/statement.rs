//! One query of a job: as text with the item's number in it, or prepared, with the number as its parameter.

use sojourn_base::Fault;

use super::message::{push, push_text};
use super::places;
use crate::protocols::line::push_number;

/// Longest query, bytes.
const QUERY_MAX: usize = 1 << 20;
/// Digits of the largest item.
const DIGITS_MAX: usize = 10;
/// Bytes of Bind, Execute and Sync beside the statement's name and the parameter.
const AROUND: usize = 64;

/// One query.
pub(super) struct Statement {
    /// The query, cut where the number goes.
    pieces: Vec<String>,
    /// Whether the number is part of a text, a name or a comment.
    is_in_text: bool,
    /// Its name on each connection.
    name: String,
}

impl Statement {
    /// The `nth` query of a job.
    pub(super) fn of(nth: usize, query: &str) -> Result<Self, Fault> {
        let fix = "give a query, such as --query 'SELECT abalance FROM accounts WHERE aid = {}'";
        if query.trim().is_empty() || query.contains('\0') || query.len() > QUERY_MAX {
            return Err(Fault::usage("a query is empty, too long or no text", "query", fix));
        }
        let (pieces, is_in_text) = places::pieces(query);
        Ok(Self { pieces, is_in_text, name: format!("s{nth}") })
    }

    /// Refuses a query that cannot be prepared: `'user-$1'` is a text with a dollar in it, and no parameter.
    pub(super) fn check_prepared(&self) -> Result<(), Fault> {
        if !self.is_in_text {
            return Ok(());
        }
        let what = format!(
            "the number is within quotes or a comment in '{}', where a prepared query takes none",
            self.pieces.join("{item}")
        );
        let fix = "write {} outside the quotes ('user-' || {}), or {{item}} where {item} is meant as it is; or \
                   send it as text: --option prepared=false";
        Err(Fault::usage(what, "query", fix))
    }

    /// Whether the number is part of it.
    pub(super) fn is_numbered(&self) -> bool {
        self.pieces.len() > 1
    }

    /// How many parameters it must have when it is prepared: the number may stand in several places.
    pub(super) fn parameters(&self) -> u16 {
        self.is_numbered().into()
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        self.pieces.join("{}")
    }

    /// Appends the simple query for item `number`.
    pub(super) fn push_query(&self, number: u32, out: &mut Vec<u8>) {
        push(b'Q', out, |out| {
            for (nth, piece) in self.pieces.iter().enumerate() {
                if nth > 0 {
                    push_number(number, out);
                }
                out.extend_from_slice(piece.as_bytes());
            }
            out.push(0);
        });
    }

    /// Appends what prepares it and asks for its parameters; a Sync has to follow.
    pub(super) fn push_parse(&self, out: &mut Vec<u8>) {
        push(b'P', out, |out| {
            push_text(&self.name, out);
            push_text(&self.pieces.join("$1"), out);
            out.extend_from_slice(&0_u16.to_be_bytes()); // the server infers the parameter's type
        });
        push(b'D', out, |out| {
            out.push(b'S');
            push_text(&self.name, out);
        });
    }

    /// Appends Bind, Execute and Sync for item `number`; parameter and results are texts.
    pub(super) fn push_bind(&self, number: u32, out: &mut Vec<u8>) {
        push(b'B', out, |out| {
            out.push(0); // the portal without a name
            push_text(&self.name, out);
            out.extend_from_slice(&0_u16.to_be_bytes());
            out.extend_from_slice(&self.parameters().to_be_bytes());
            if self.is_numbered() {
                let digits = number.checked_ilog10().unwrap_or(0) + 1;
                out.extend_from_slice(&digits.to_be_bytes());
                push_number(number, out);
            }
            out.extend_from_slice(&0_u16.to_be_bytes());
        });
        out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"); // all rows of it
    }

    /// The longest request for it, bytes, prepared or not.
    pub(super) fn bytes_max(&self) -> usize {
        let text: usize = self.pieces.iter().map(String::len).sum();
        AROUND + self.name.len() + text + DIGITS_MAX * self.pieces.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(push: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out);
        out
    }

    #[test]
    fn the_number_is_in_the_text_or_is_the_one_parameter() {
        let twice = Statement::of(3, "SELECT {} + {item}").unwrap();
        assert!(twice.is_numbered());
        let asked = bytes(|out| twice.push_query(42, out));
        assert_eq!(asked, b"Q\0\0\0\x13SELECT 42 + 42\0");
        let parse = bytes(|out| twice.push_parse(out));
        assert_eq!(parse, b"P\0\0\0\x18s3\0SELECT $1 + $1\0\0\0D\0\0\0\x08Ss3\0");
        let bind = bytes(|out| twice.push_bind(42, out));
        let wanted = b"B\0\0\0\x14\0s3\0\0\0\0\x01\0\0\0\x0242\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(bind, wanted);
        assert!(bind.len() <= twice.bytes_max() && asked.len() <= twice.bytes_max());
    }

    #[test]
    fn a_query_without_a_number_has_no_parameter() {
        let plain = Statement::of(0, "SELECT 1").unwrap();
        assert!(!plain.is_numbered());
        let bind = bytes(|out| plain.push_bind(7, out));
        assert!(bind.starts_with(b"B\0\0\0\x0e\0s0\0\0\0\0\0\0\0E"));
        assert_eq!(bytes(|out| plain.push_query(7, out)), b"Q\0\0\0\x0dSELECT 1\0");
    }

    #[test]
    fn braces_that_are_part_of_the_language_stay() {
        let json = Statement::of(0, "SELECT doc || '{}'::jsonb FROM t WHERE id = {}").unwrap();
        assert_eq!(
            bytes(|out| json.push_query(7, out))[5..],
            *b"SELECT doc || '{}'::jsonb FROM t WHERE id = 7\0"
        );
        assert!(!Statement::of(0, "SELECT '{}'::jsonb").unwrap().is_numbered());
    }

    #[test]
    fn a_number_within_text_cannot_be_prepared() {
        for query in
            ["SELECT * FROM t WHERE tag = 'user-{item}' AND id = {}", "SELECT d #>> '{item}'"]
        {
            let fault = Statement::of(0, query).unwrap().check_prepared().unwrap_err();
            assert!(fault.fix.contains("{{item}}") && fault.fix.contains("prepared=false"));
        }
        for query in ["SELECT 'user-' || {}, '{}'", "SELECT d #>> '{{item}}' FROM t WHERE id = {}"]
        {
            Statement::of(0, query).unwrap().check_prepared().unwrap();
        }
    }

    #[test]
    fn what_is_no_query_is_refused() {
        for text in ["", " \n", "SELECT\0"] {
            assert_eq!(Statement::of(0, text).err().unwrap().at, "query");
        }
    }
}

//! Messages of PostgreSQL's protocol 3.0: a type, a length that counts itself, and a body.
//!
//! Source: PostgreSQL documentation, "Message Formats".

use crate::protocols::complaints;

/// Type and length.
pub(super) const HEAD: usize = 5;
/// Longest text of a complaint that is shown, bytes.
const TEXT_MAX: usize = 300;

/// Appends a message of type `kind` with what `body` appends.
pub(super) fn push(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    push_sized(out, body);
}

/// Appends a message without a type, as the first one is.
pub(super) fn push_sized(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a text and the zero that ends it.
pub(super) fn push_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Length of a message's body by its head; `None`: no message has such a head.
pub(super) fn body_len(head: &[u8]) -> Option<usize> {
    let length = u32::from_be_bytes(head.get(1..HEAD)?.try_into().ok()?);
    (4..1 << 30).contains(&length).then(|| length as usize - 4)
}

/// What the server says of something that it refuses.
#[derive(Debug)]
pub(super) struct Complaint {
    /// Its SQLSTATE, such as 28P01.
    pub(super) code: String,
    /// As psql shows it, with the code.
    pub(super) text: String,
}

impl Complaint {
    /// Reads the fields of an `ErrorResponse`, as far as they have come.
    pub(super) fn read(body: &[u8]) -> Self {
        let field = |wanted: u8| {
            let mut fields = body.split(|&byte| byte == 0).filter(|field| !field.is_empty());
            let text =
                fields.find(|field| field[0] == wanted).map_or(&b""[..], |field| &field[1..]);
            String::from_utf8_lossy(text).into_owned()
        };
        let (severity, code) = (field(b'S'), field(b'C'));
        let words: Vec<String> = field(b'M').split_whitespace().map(String::from).collect();
        let text: String = format!("{severity} {code}: {}", words.join(" "));
        Self { code, text: complaints::escaped(&text).chars().take(TEXT_MAX).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_counts_its_own_length_and_is_read_back() {
        let mut out = b"before".to_vec();
        push(b'Q', &mut out, |out| push_text("SELECT 1", out));
        assert_eq!(&out[6..], b"Q\0\0\0\x0dSELECT 1\0");
        assert_eq!(body_len(&out[6..]), Some(9));
        assert_eq!(body_len(b"Z\0\0\0\x04"), Some(0));
        for head in [&b"Z\0\0\0\x03"[..], b"Z\xff\0\0\0", b"Z\0\0"] {
            assert_eq!(body_len(head), None);
        }
    }

    #[test]
    fn a_complaint_is_shown_as_psql_does_with_its_code() {
        let body = b"SERROR\0VERROR\0C42P01\0Mrelation \"x\"\n does not exist\0P15\0\0";
        let complaint = Complaint::read(body);
        assert_eq!(complaint.code, "42P01");
        assert_eq!(complaint.text, "ERROR 42P01: relation \"x\" does not exist");
        assert_eq!(Complaint::read(b"").text, " : ", "nothing came of it");
        let long = [b"M".as_slice(), &[b'x'; 4000]].concat();
        assert_eq!(Complaint::read(&long).text.len(), TEXT_MAX);
    }
}

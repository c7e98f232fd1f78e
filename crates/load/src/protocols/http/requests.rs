//! The requests of a job: method, path, headers and body, each with the item's number where it is asked for.

use std::borrow::Cow;
use std::fmt::Write as _;

use sojourn_base::Fault;

use super::auth;
use crate::job::Job;
use crate::job::secrets;
use crate::job::target::Target;
use crate::protocols::line::push_number;
use crate::protocols::secret;

/// Methods that can be asked for; CONNECT and TRACE make no load.
pub(super) const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Those that say how long their body is even if there is none. Source: RFC 9110, 8.6.
pub(in crate::protocols) const WITH_LENGTH: [&str; 3] = ["POST", "PUT", "PATCH"];
/// Headers that follow from the rest of the job.
const NOT_TO_GIVE: [&str; 4] =
    ["content-length", "transfer-encoding", "authorization", "proxy-authorization"];
/// Longest body of a request, bytes: as of any value.
const BODY_MAX: usize = crate::protocols::content::VALUE_MAX as usize;
/// The placeholder of the item's number; in a path `{}` is one too.
pub(in crate::protocols) const ITEM: &str = "{item}";
/// Digits of the largest item.
pub(in crate::protocols) const DIGITS_MAX: usize = 10;

enum Piece {
    Bytes(Vec<u8>),
    /// The item's number.
    Item,
    /// The body's length: so many bytes and so many numbers.
    Length(usize, usize),
}

/// The request for one path.
pub(in crate::protocols) struct Form {
    pieces: Vec<Piece>,
}

impl Form {
    /// Appends the request for item `number` of this path.
    #[inline]
    pub(in crate::protocols) fn push(&self, number: u32, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Item => push_number(number, out),
                Piece::Length(bytes, numbers) => {
                    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
                    push_number((bytes + numbers * digits) as u32, out);
                }
            }
        }
    }

    /// The longest that [`Form::push`] can append, bytes.
    pub(in crate::protocols) fn bytes_max(&self) -> usize {
        self.pieces.iter().map(Piece::bytes_max).sum()
    }

    /// How long it always is, bytes; `None`: the item's number is in it.
    pub(in crate::protocols) fn length(&self) -> Option<usize> {
        let is_fixed = self.pieces.iter().all(|piece| matches!(piece, Piece::Bytes(_)));
        is_fixed.then(|| self.bytes_max())
    }
}

/// Whether the request for `path` differs from item to item.
pub(in crate::protocols) fn is_numbered(job: &Job, path: &str) -> bool {
    let is_elsewhere = job.body.contains(ITEM) || job.header.iter().any(|it| it.contains(ITEM));
    path.contains("{}") || path.contains(ITEM) || is_elsewhere
}

/// The requests of `job` for `paths`, in their order.
pub(super) fn forms(job: &Job, target: &Target, paths: &[String]) -> Result<Vec<Form>, Fault> {
    check(job, paths)?;
    let headers = headers(job, target)?;
    let body = body(job)?;
    let mut all = Vec::new();
    for path in paths {
        let mut pieces = Vec::new();
        let head = format!("{} {} HTTP/1.1\r\n{headers}", job.method, as_sent(path));
        push_template(head.as_bytes(), &mut pieces);
        if !body.is_empty() || WITH_LENGTH.contains(&job.method.as_str()) {
            pieces.push(Piece::Bytes(b"Content-Length: ".to_vec()));
            pieces.push(length_of(&body));
            pieces.push(Piece::Bytes(b"\r\n".to_vec()));
        }
        pieces.push(Piece::Bytes(b"\r\n".to_vec()));
        pieces.extend(body.iter().map(Piece::copy));
        all.push(Form { pieces: joined(pieces) });
    }
    Ok(all)
}

/// A path as a request has it: without a fragment, which is the client's own (RFC 9110, 7.1), and with
/// [`ITEM`] where a number goes.
pub(in crate::protocols) fn as_sent(path: &str) -> String {
    path.split('#').next().unwrap_or(path).replace("{}", ITEM)
}

/// Refuses methods and paths that no request can have.
pub(in crate::protocols) fn check(job: &Job, paths: &[String]) -> Result<(), Fault> {
    if paths.is_empty() {
        return Err(Fault::usage("there are no paths", "paths", "give at least one, such as /"));
    }
    if !METHODS.contains(&job.method.as_str()) {
        let what = format!("no method is called '{}'", job.method);
        return Err(Fault::usage(what, "method", format!("use {}", METHODS.join(", "))));
    }
    let is_sound =
        |path: &&String| path.starts_with('/') && path.bytes().all(|it| it.is_ascii_graphic());
    paths.iter().find(|path| !is_sound(path)).map_or(Ok(()), |path| {
        let fix = "begin it with /, and write other than printable ASCII as %XX";
        Err(Fault::usage(format!("'{path}' is not a path"), "paths", fix))
    })
}

/// What every request of `job` carries, alone.
pub(in crate::protocols) fn bodies(job: &Job) -> Result<Form, Fault> {
    body(job).map(|pieces| Form { pieces })
}

impl Piece {
    fn bytes_max(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Item | Self::Length(..) => DIGITS_MAX,
        }
    }

    fn copy(&self) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.clone()),
            Self::Item => Self::Item,
            Self::Length(bytes, numbers) => Self::Length(*bytes, *numbers),
        }
    }
}

/// Appends `text`, of which each [`ITEM`] is a number.
fn push_template(text: &[u8], pieces: &mut Vec<Piece>) {
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, ITEM.as_bytes()) {
        pieces.push(Piece::Bytes(rest[..at].to_vec()));
        pieces.push(Piece::Item);
        rest = &rest[at + ITEM.len()..];
    }
    pieces.push(Piece::Bytes(rest.to_vec()));
}

/// Neighbours that are bytes are one piece, and a length without numbers is bytes too.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        let piece = match piece {
            Piece::Length(bytes, 0) => Piece::Bytes(bytes.to_string().into_bytes()),
            other => other,
        };
        match (joined.last_mut(), piece) {
            (_, Piece::Bytes(bytes)) if bytes.is_empty() => {}
            (Some(Piece::Bytes(before)), Piece::Bytes(bytes)) => before.extend(bytes),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

fn length_of(body: &[Piece]) -> Piece {
    let (mut bytes, mut numbers) = (0, 0);
    for piece in body {
        match piece {
            Piece::Bytes(part) => bytes += part.len(),
            _ => numbers += 1,
        }
    }
    Piece::Length(bytes, numbers)
}

/// The body: a file as it is, or a text with the item's number in it.
fn body(job: &Job) -> Result<Vec<Piece>, Fault> {
    let mut pieces = Vec::new();
    let at = match (job.body.is_empty(), job.body_file.is_empty()) {
        (false, false) => {
            let what = "body and body_file both say what is sent";
            return Err(Fault::usage(what, "body", "give one of them"));
        }
        (_, false) => {
            let bytes = std::fs::read(&job.body_file).map_err(|error| {
                let what = format!("cannot read {}: {error}", job.body_file);
                Fault::usage(what, "body_file", "name a file that this user may read")
            })?;
            pieces.push(Piece::Bytes(bytes));
            "body_file"
        }
        _ => {
            push_template(job.body.as_bytes(), &mut pieces);
            "body"
        }
    };
    let pieces = joined(pieces);
    let length: usize = pieces.iter().map(Piece::bytes_max).sum();
    if length > BODY_MAX {
        let what = format!("the body has {length} bytes");
        return Err(Fault::usage(what, at, format!("give at most {BODY_MAX}")));
    }
    if !pieces.is_empty() && ["GET", "HEAD"].contains(&job.method.as_str()) {
        let what = format!("{} carries no body", job.method);
        return Err(Fault::usage(what, "method", "use POST, PUT or PATCH with a body"));
    }
    Ok(pieces)
}

/// All header lines that do not depend on the body, each with its line end.
pub(in crate::protocols) fn headers(job: &Job, target: &Target) -> Result<String, Fault> {
    let mut text = String::new();
    let mut given = Vec::new();
    for header in &job.header {
        let (name, value) = header
            .split_once(':')
            .filter(|(name, value)| is_name(name) && value.bytes().all(is_sound))
            .ok_or_else(|| {
                let fix = "write NAME: VALUE, such as 'Accept-Language: en'";
                let name = header.split(':').next().unwrap_or_default(); // the rest may be a secret
                Fault::usage(format!("what begins with '{name}' is not a header"), "header", fix)
            })?;
        let name = name.to_ascii_lowercase();
        if NOT_TO_GIVE.contains(&name.as_str()) {
            let fix = if name.contains("authorization") {
                "use auth, which keeps the secret out of results and logs"
            } else {
                "leave it out: it follows from body or body_file"
            };
            return Err(Fault::usage(format!("{name} cannot be given as a header"), "header", fix));
        }
        let value = secret_or_plain(&name, value.trim())?;
        let _ = write!(text, "{}: {value}\r\n", &header[..name.len()]);
        given.push(name);
    }
    let mut usual = String::new();
    let encoding = super::encoding(job)?;
    let own = [
        ("host", format!("Host: {}\r\n", target.authority())),
        ("user-agent", "User-Agent: sojourn-load\r\n".into()),
        ("accept", "Accept: */*\r\n".into()),
        ("accept-encoding", encoding),
    ];
    for (name, line) in own {
        if !given.iter().any(|it| it == name) {
            usual.push_str(&line);
        }
    }
    Ok(usual + &text + &auth::header(&job.auth)?)
}

/// The value of header `name`: the text in the job, or what lies where that says (`env:` or `file:`).
///
/// A job is stored beside its result, so a header that is known to bear a secret may only name it.
fn secret_or_plain<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, Fault> {
    const FIX: &str =
        "write 'NAME: env:VARIABLE' or 'NAME: file:PATH': the value is read there and never shown";
    let placed = value.split_once(':').filter(|(place, _)| matches!(*place, "env" | "file"));
    let Some((place, at)) = placed else {
        if (name == "cookie" || secrets::is_in_header(name, value)) && !value.contains(ITEM) {
            let what = format!("{name} is a secret, and the job is stored beside its result");
            return Err(Fault::usage(what, "header", FIX));
        }
        return Ok(value.into());
    };
    let read = secret::read_of("header", place, at, FIX)?;
    let secret = read.trim_end_matches(['\r', '\n']);
    if secret.bytes().all(is_sound) && !secret.contains(ITEM) {
        return Ok(secret.to_owned().into());
    }
    Err(Fault::usage(
        format!("what {place} has for {name} is not a value of a header"),
        "header",
        FIX,
    ))
}

/// A tab, or any byte but a control: what the value of a header may have. Source: RFC 9110, 5.5.
fn is_sound(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Whether `text` may name a header. Source: RFC 9110, 5.6.2, `token`.
fn is_name(text: &str) -> bool {
    let is_char = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_char)
}

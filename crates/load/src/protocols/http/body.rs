//! The body of an HTTP reply: counted, and kept only where it is one of a sample.

use crate::protocols::sampled;

/// Longest line of trailers, bytes: as long as a head may be.
const TRAILER_MAX: u64 = 256 * 1024;

/// A body being read, by its framing.
#[derive(Debug)]
pub(super) struct Body {
    framing: Framing,
    bytes: u64,
}

#[derive(Debug)]
enum Framing {
    /// Bytes still to come.
    Length(u64),
    /// All that comes until the server closes.
    Close,
    Chunked(Chunk),
}

/// Where in a chunked body the reader is. Source: RFC 9112, 7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// In the size: its value so far, and whether it has a digit.
    Size(u64, bool),
    /// In an extension, up to the line's end.
    Extension(u64),
    /// The size's line feed is due.
    SizeEnd(u64),
    /// In the data: bytes still to come.
    Data(u64),
    /// The line end after the data: 0 or 1 bytes of it read.
    DataEnd(bool),
    /// In the trailers: bytes of the line so far.
    Trailer(u64),
    /// After the last byte.
    Complete,
    /// After a byte that cannot be there.
    Garbled,
}

/// What became of the bytes given.
pub(super) enum Took {
    /// All of them; more must come.
    More(usize),
    /// As many; the body is complete.
    All(usize),
    Garbled,
}

impl Body {
    pub(super) fn of_length(length: u64) -> Self {
        Self { framing: Framing::Length(length), bytes: 0 }
    }

    pub(super) fn until_close() -> Self {
        Self { framing: Framing::Close, bytes: 0 }
    }

    /// Whether the end of the connection is the end of the body. Source: RFC 9112, 6.3.
    pub(super) fn ends_with_connection(&self) -> bool {
        matches!(self.framing, Framing::Close)
    }

    pub(super) fn chunked() -> Self {
        Self { framing: Framing::Chunked(Chunk::Size(0, false)), bytes: 0 }
    }

    /// Bytes of the body read so far, without its framing.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads on in `bytes`, which may be empty; what is of the body goes to `keep` too.
    pub(super) fn read(&mut self, bytes: &[u8], keep: Option<&mut sampled::Body>) -> Took {
        match &mut self.framing {
            Framing::Length(left) => {
                let run = (bytes.len() as u64).min(*left);
                *left -= run;
                self.bytes += run;
                if let Some(keep) = keep {
                    keep.push(&bytes[..run as usize]);
                }
                if *left == 0 { Took::All(run as usize) } else { Took::More(run as usize) }
            }
            Framing::Close => {
                self.bytes += bytes.len() as u64;
                if let Some(keep) = keep {
                    keep.push(bytes);
                }
                Took::More(bytes.len())
            }
            Framing::Chunked(chunk) => read_chunks(chunk, &mut self.bytes, bytes, keep),
        }
    }
}

fn read_chunks(
    chunk: &mut Chunk,
    total: &mut u64,
    bytes: &[u8],
    mut keep: Option<&mut sampled::Body>,
) -> Took {
    let mut at = 0;
    while at < bytes.len() {
        if let Chunk::Data(left) = chunk {
            let run = ((bytes.len() - at) as u64).min(*left);
            *left -= run;
            *total += run;
            if let Some(keep) = &mut keep {
                keep.push(&bytes[at..at + run as usize]);
            }
            at += run as usize;
            if *left == 0 {
                *chunk = Chunk::DataEnd(false);
            }
            continue;
        }
        *chunk = step(*chunk, bytes[at]);
        at += 1;
        match chunk {
            Chunk::Complete => return Took::All(at),
            Chunk::Garbled => return Took::Garbled,
            _ => {}
        }
    }
    Took::More(at)
}

/// The place after one byte of framing. Lines may end without a carriage return, as curl takes them.
fn step(chunk: Chunk, byte: u8) -> Chunk {
    match (chunk, byte) {
        (Chunk::Size(size, _), _) if byte.is_ascii_hexdigit() && size < 1 << 60 => {
            let digit = u64::from((byte as char).to_digit(16).unwrap_or(0));
            Chunk::Size(size * 16 + digit, true)
        }
        (Chunk::Size(size, true) | Chunk::Extension(size), b'\r') => Chunk::SizeEnd(size),
        (Chunk::Size(0, true) | Chunk::Extension(0) | Chunk::SizeEnd(0), b'\n') => {
            Chunk::Trailer(0)
        }
        (Chunk::Size(size, true) | Chunk::Extension(size) | Chunk::SizeEnd(size), b'\n') => {
            Chunk::Data(size)
        }
        (Chunk::Size(size, true), b';' | b' ' | b'\t') | (Chunk::Extension(size), _) => {
            Chunk::Extension(size)
        }
        (Chunk::DataEnd(false), b'\r') => Chunk::DataEnd(true),
        (Chunk::DataEnd(_), b'\n') => Chunk::Size(0, false),
        (Chunk::Trailer(0), b'\n') => Chunk::Complete,
        (Chunk::Trailer(_), b'\n') => Chunk::Trailer(0),
        (Chunk::Trailer(read), b'\r') => Chunk::Trailer(read),
        (Chunk::Trailer(read), _) if read < TRAILER_MAX => Chunk::Trailer(read + 1),
        _ => Chunk::Garbled,
    }
}

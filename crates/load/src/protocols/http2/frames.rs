//! Frames: their heads, and those that say something short. Source: RFC 9113, 4 and 6.

/// What a client says first on a connection. Source: RFC 9113, 3.4.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of a frame's head.
pub(super) const HEAD: usize = 9;
/// Most bytes of a frame, of which either side may allow the other more: this program does not.
pub(super) const FRAME_MAX: usize = 16_384;
/// The window that each side has until it is given another, bytes.
pub(super) const WINDOW: u32 = 65_535;
/// The largest window.
pub(super) const WINDOW_MAX: u32 = 0x7fff_ffff;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Of DATA and HEADERS: no more frames of this stream follow.
pub(super) const END_STREAM: u8 = 1;
/// Of SETTINGS and PING: the other side's has come.
pub(super) const ACK: u8 = 1;
/// Of HEADERS and CONTINUATION: the block ends here.
pub(super) const END_HEADERS: u8 = 4;
/// Of DATA and HEADERS: bytes without a meaning follow.
pub(super) const PADDED: u8 = 8;
/// Of HEADERS: five bytes of a priority precede the block.
pub(super) const PRIORITY: u8 = 32;

pub(super) const HEADER_TABLE_SIZE: u16 = 1;
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;

/// The error by which a client gives a stream up.
pub(super) const CANCEL: u32 = 8;
/// Names of errors, by their numbers. Source: RFC 9113, 7.
pub(super) const ERRORS: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes that follow it.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// 0: the connection itself.
    pub(super) stream: u32,
}

impl Head {
    pub(super) fn read(bytes: &[u8; HEAD]) -> Self {
        let [a, b, c, kind, flags, rest @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(rest) & WINDOW_MAX,
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether a frame may look like this; one that may not ends the connection.
    pub(super) fn is_sound(&self) -> bool {
        let is_of_stream = self.stream != 0;
        self.length <= FRAME_MAX
            && match self.kind {
                DATA | HEADERS | CONTINUATION => is_of_stream,
                RST_STREAM => is_of_stream && self.length == 4,
                SETTINGS if self.has(ACK) => !is_of_stream && self.length == 0,
                SETTINGS => !is_of_stream && self.length.is_multiple_of(6),
                PUSH_PROMISE => false, // it was told not to
                PING => !is_of_stream && self.length == 8,
                GOAWAY => !is_of_stream && self.length >= 8,
                WINDOW_UPDATE => self.length == 4,
                _ => true, // what nobody knows is left alone
            }
    }
}

/// Appends a frame.
pub(super) fn push(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&length[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Appends a frame of one number: `RST_STREAM` or `WINDOW_UPDATE`.
pub(super) fn push_number(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    push(kind, 0, stream, &number.to_be_bytes(), out);
}

/// What a client says when a connection opens: the preface, its settings, and the window of the whole
/// connection, which is `window` for each stream too.
pub(super) fn push_opening(window: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let mut settings = [0; 12];
    settings[..2].copy_from_slice(&ENABLE_PUSH.to_be_bytes());
    settings[6..8].copy_from_slice(&INITIAL_WINDOW_SIZE.to_be_bytes());
    settings[8..].copy_from_slice(&window.to_be_bytes());
    push(SETTINGS, 0, 0, &settings, out);
    if window > WINDOW {
        push_number(WINDOW_UPDATE, 0, window - WINDOW, out);
    }
}

/// The settings in a frame of them: number and value.
pub(super) fn settings(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    payload.chunks_exact(6).map(|it| {
        let value = u32::from_be_bytes([it[2], it[3], it[4], it[5]]);
        (u16::from_be_bytes([it[0], it[1]]), value)
    })
}

/// The first four bytes as a number; 0 where there are fewer.
pub(super) fn number(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

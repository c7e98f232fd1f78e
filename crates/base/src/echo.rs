//! The echo frame: what `sojourn-load` and `sojourn-serve` say to each other when nothing else is
//! to be measured but the service time.
//!
//! A request is a 12-byte header and a body; the reply is the same frame:
//!
//! ```text
//!  0               8               12
//!  | id (u64, BE)  | len (u32, BE) | len bytes of body |
//! ```
//!
//! Replies come in the order of the requests of their connection.

/// Bytes of a message before its body.
pub const HEADER_BYTES: usize = 12;
/// Longest body, bytes; a longer one is a broken frame.
pub const BODY_BYTES_MAX: usize = 64 << 20;

/// Length of the body that a header announces, bytes.
pub fn body_bytes(header: &[u8; HEADER_BYTES]) -> usize {
    let [.., a, b, c, d] = *header;
    u32::from_be_bytes([a, b, c, d]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_the_last_four_bytes() {
        assert_eq!(body_bytes(&[9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 1, 2]), 258);
    }
}

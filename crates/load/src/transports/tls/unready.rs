//! Servers that end a connection before its handshake is over (`close_notify`).
//!
//! Such an alert is not encrypted yet, and rustls goes on as if it had not come, because anybody may have sent
//! it. A server that idles out may still complete the handshake and answer nothing, so requests would wait for
//! their time-out there. OpenSSL's client fails such a handshake, too. Sources: RFC 8446, 5.1 and 6.1.

/// Bytes before the content of a record, and those of an alert.
const HEADER: usize = 5;
const ALERT: usize = 2;

/// Looks for the alert in the records of one handshake, however they are cut.
#[derive(Default)]
pub(super) struct Unready {
    /// The first bytes of the record that goes on.
    head: [u8; HEADER + ALERT],
    read: usize,
    /// Bytes of it that are still to come.
    rest: usize,
}

impl Unready {
    /// Whether the server ends the connection in `bytes`, the next of the stream.
    pub(super) fn ends_in(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((&first, later)) = bytes.split_first() {
            if self.rest > 0 {
                let skipped = self.rest.min(bytes.len());
                self.rest -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.read] = first;
            self.read += 1;
            bytes = later;
            if self.read < HEADER {
                continue;
            }
            match self.head {
                [21, 3, _, 0, 2, _, 0] if self.read == self.head.len() => return true,
                [21, 3, _, 0, 2, ..] if self.read < self.head.len() => {}
                [_, _, _, high, low, ..] => {
                    let length = usize::from(high) << 8 | usize::from(low);
                    *self = Self { rest: (HEADER + length) - self.read, ..Self::default() };
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: [u8; 8] = [22, 3, 3, 0, 3, 21, 3, 0];
    const END: [u8; 7] = [21, 3, 1, 0, 2, 1, 0];

    #[test]
    fn the_end_is_seen_behind_other_records_however_they_are_cut() {
        let stream = [&HELLO[..], &[22, 3, 3, 0, 0], &END].concat();
        for cut in 0..stream.len() {
            let mut it = Unready::default();
            assert!(!it.ends_in(&stream[..cut]), "{cut}");
            assert!(it.ends_in(&stream[cut..]), "{cut}");
        }
    }

    #[test]
    fn other_alerts_and_what_is_encrypted_are_no_end() {
        let other = [21, 3, 3, 0, 2, 1, 90];
        let encrypted = [21, 3, 3, 0, 7, 1, 0, 21, 3, 0, 2, 0];
        let inside = [23, 3, 3, 0, 7, 21, 3, 1, 0, 2, 1, 0];
        for stream in [&other[..], &encrypted, &inside] {
            let mut it = Unready::default();
            assert!(!it.ends_in(stream), "{stream:?}");
            assert!(it.ends_in(&END), "{stream:?}");
        }
    }
}

//! For tests: a decoder that hears nothing of what is read.

use crate::protocols::{Asked, Decoder, Step};

/// Takes all bytes, of which none is a reply.
pub(super) struct Deaf;

impl Decoder for Deaf {
    fn read(&mut self, _: Asked, bytes: &[u8]) -> Step {
        Step { used: bytes.len(), request: None, reply: None }
    }
    fn reset(&mut self) {}
}

//! Connections on which replies interleave: what they do beside reading.

use super::Asked;

/// A connection on which replies interleave: it says more than requests, and may have less room for them.
pub trait Interleaved {
    /// Makes of a message, as the protocol encodes it, what is sent on this connection.
    fn begin(&mut self, asked: Asked, message: &mut Vec<u8>);
    /// The reply to `request` is not waited for any more.
    fn cancel(&mut self, request: u32);
    /// A request that the server goes away from without having looked at it, which may be sent again on
    /// another connection; each once.
    fn returned(&mut self) -> Option<u32>;
    /// Whether there is anything to [`Interleaved::say`].
    fn owes(&self) -> bool;
    /// Appends what the server is to hear beside requests: first of all, that the connection is open.
    fn say(&mut self, out: &mut Vec<u8>);
    /// How many requests may be in flight; 0 before the server has announced it, and when it goes away.
    fn room(&self) -> u32;
    /// Whether it takes no request any more. Those in flight are still answered.
    fn is_leaving(&self) -> bool;
    /// Nothing is in flight on it and nothing can be any more.
    fn is_over(&self) -> bool;
}

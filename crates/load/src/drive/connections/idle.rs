//! Servers that end idle connections, and the order in which requests take connections because of that.
//!
//! Requests take connections in turn, because servers bind connections to threads: only then has each thread
//! its share of the load. But a connection that is used in turn idles for as long as a turn lasts. If the
//! server ends connections after about this time, ends and requests cross on many of them, and a request that
//! may not be sent again (POST) is lost. So from the first connection on that the server ends while it idles,
//! such requests take the one that was used last, as in Go's `net/http` and most pools. The rest idle until
//! they are ended, and one that was opened again comes last: it has met no limit of the server yet.

use super::Connections;

/// A server that ends a connection sooner after a reply does not end it for being idle.
const IDLE_NS: u64 = 50_000_000;

impl Connections {
    /// Requests may not be sent again, so that ends of idle connections are heeded.
    pub(in crate::drive) fn heed_idle_ends(&mut self) {
        self.heeds_idle_ends = true;
    }

    /// The server ends `connection` at `now_ns`. If it idled, requests take the one used last from now on.
    #[cold]
    pub(in crate::drive) fn heed_idle_end(&mut self, connection: u32, now_ns: u64) {
        let it = &self.each[connection as usize];
        if self.heeds_idle_ends && it.open && it.len == 0 && now_ns > it.idle_ns + IDLE_NS {
            self.newest_first_ns.get_or_insert(now_ns);
        }
    }

    /// Since when requests take the connection used last, ns; `None`: they take each in turn.
    pub(in crate::drive) fn newest_first_ns(&self) -> Option<u64> {
        self.newest_first_ns
    }
}

//! One connection that may be down: when it is tried again, and how long an attempt may take.

/// Wait before the second attempt in a row; doubles from attempt to attempt.
pub(super) const PAUSE_NS: u64 = 1_000_000;
/// Longest wait between attempts.
pub(super) const PAUSE_NS_MAX: u64 = 1_000_000_000;
/// Shortest and longest time of one attempt to open a connection.
pub(super) const ATTEMPT_NS: (u64, u64) = (250_000_000, 10_000_000_000);
/// Shortest and longest time between two looks at a connection that is being opened.
const LOOK_NS: (u64, u64) = (50_000, 10_000_000);
/// An attempt that has taken so much longer is looked at so much less often: it is seen late by a small part of
/// the time that it took.
const LOOKS: u64 = 32;

/// What is known of one connection.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools)] // each is a fact of its own
pub(super) struct Broken {
    pub(super) is_down: bool,
    /// It is closed, and another one serves in its stead.
    pub(super) is_resting: bool,
    /// It is open, and takes no more requests.
    pub(super) is_leaving: bool,
    pub(super) next_try_ns: u64,
    pub(super) pause_ns: u64,
    /// When the attempt that goes on is given up; `None`: none goes on.
    pub(super) give_up_ns: Option<u64>,
    /// When it began.
    begun_ns: u64,
    /// Attempts given up since it was open last.
    pub(super) abandoned: u32,
    pub(super) opened_ns: u64,
    pub(super) has_served: bool,
    /// Something came on it, or on one that it replaced.
    pub(super) ever_served: bool,
    /// Before when the first request was sent that was given up on it while nothing had come yet.
    pub(super) silent_ns: Option<u64>,
    /// It ended before at once, and has never answered a request as it should.
    pub(super) is_refused: bool,
    /// The same of one on which something came in reply.
    pub(super) is_answered: bool,
}

impl Broken {
    /// Whether the attempt to open it may go on, which takes `attempt_ns` if it is the first.
    pub(super) fn goes_on(&mut self, attempt_ns: u64, now_ns: u64) -> bool {
        let within_ns = attempt_ns.saturating_mul(1 << self.abandoned.min(16)).min(ATTEMPT_NS.1);
        if self.give_up_ns.is_none() {
            self.begun_ns = now_ns;
        }
        now_ns < *self.give_up_ns.get_or_insert(now_ns + within_ns)
    }

    /// The attempt goes on, and is looked at again.
    pub(super) fn look_again(&mut self, now_ns: u64) {
        let taken_ns = now_ns.saturating_sub(self.begun_ns);
        self.next_try_ns = now_ns + (taken_ns / LOOKS).clamp(LOOK_NS.0, LOOK_NS.1);
    }

    /// Another one serves in its stead.
    pub(super) fn rest(&mut self) {
        (self.is_down, self.is_resting, self.is_leaving) = (false, true, false);
        (self.give_up_ns, self.abandoned, self.pause_ns) = (None, 0, 0);
    }

    /// It is tried again, after a pause that doubles.
    pub(super) fn pause(&mut self, now_ns: u64) {
        self.give_up_ns = None;
        self.pause_ns = (self.pause_ns * 2).clamp(PAUSE_NS, PAUSE_NS_MAX);
        self.next_try_ns = now_ns + self.pause_ns;
    }
}

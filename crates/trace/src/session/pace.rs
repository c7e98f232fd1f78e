//! How often the ring is emptied. Every look takes a CPU away from somebody for a moment, and on a
//! small machine that is the client.

use std::time::Duration;

/// Between two looks at most half of the ring may fill, also where all requests go into it.
const BYTES_PER_MS_MAX: u64 = 128_000; // half a million records a second
/// The first look comes early: until it is known which requests are slow, all are offered.
const FIRST_MS: u64 = 5;
/// So that the end of the server and ^C are noticed soon.
const LONGEST_MS: u64 = 100;
/// More records than this between two looks: look sooner.
const MANY: u64 = 200;

/// The time until the next look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    now_ms: u64,
    longest_ms: u64,
}

impl Pace {
    /// Before the first look at a ring of so many bytes.
    pub fn new(ring_bytes: u32) -> Self {
        let fills_ms = u64::from(ring_bytes) / 2 / BYTES_PER_MS_MAX;
        let longest_ms = fills_ms.clamp(1, LONGEST_MS);
        Self { now_ms: FIRST_MS.min(longest_ms), longest_ms }
    }

    /// How long to sleep now.
    pub fn pause(&self) -> Duration {
        Duration::from_millis(self.now_ms)
    }

    /// `count` records came since the last look.
    pub fn came(&mut self, count: u64) {
        self.now_ms = match count {
            0..=MANY => (self.now_ms * 2).min(self.longest_ms),
            _ => (self.now_ms / 2).max(1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_little_goes_into_is_looked_at_ever_more_seldom() {
        let mut pace = Pace::new(64 << 20);
        assert_eq!(pace.pause(), Duration::from_millis(FIRST_MS));
        (0..10).for_each(|_| pace.came(3));
        assert_eq!(pace.pause(), Duration::from_millis(LONGEST_MS));
        pace.came(MANY + 1);
        assert_eq!(pace.pause(), Duration::from_millis(LONGEST_MS / 2));
    }

    #[test]
    fn a_ring_that_all_goes_into_cannot_fill_between_two_looks() {
        let most = |ring_bytes| {
            let mut pace = Pace::new(ring_bytes);
            (0..10).for_each(|_| pace.came(0));
            pace.pause().as_millis() as u64 * BYTES_PER_MS_MAX
        };
        assert!(most(1 << 20) <= 1 << 19);
        assert!(most(16 << 20) <= 8 << 20);
        assert_eq!(
            most(4096),
            BYTES_PER_MS_MAX,
            "1 ms is the least: such a ring drops, and says so"
        );
    }
}

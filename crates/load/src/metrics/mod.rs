//! What Prometheus reads from a run while it goes on: counts, and the times of all replies.
//!
//! The threads count into buckets that only they write ([`Buckets`]); a scrape adds them up. So a run
//! without a listener pays one look at an empty cell for each reply, and no thread waits for another.

mod buckets;
mod form;
mod protobuf;
mod text;

pub use buckets::{Buckets, LEN};
pub use form::answer;

/// One number a run: its name without a prefix, whether it only grows, and what it is.
const COUNTS: [(&str, bool, &str); 4] = [
    ("sent", true, "Requests sent, warm-up included."),
    ("answered", true, "Requests answered, in whatever way."),
    ("failed", true, "Requests that failed, those without a reply included."),
    ("in_flight", false, "Requests sent and not answered."),
];
const TIMES: &str = "sojourn_load_latency_seconds";
const ABOUT: &str = "Time from the planned arrival of a request to its reply. A request without a reply is not in it.";

/// What is known of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Replies in each bucket; empty: none yet.
    pub times: Vec<u64>,
    /// Sum of their times, ns.
    pub sum_ns: u64,
}

impl Seen {
    /// The numbers of [`COUNTS`], in their order.
    fn counts(&self) -> [u64; 4] {
        [self.sent, self.answered, self.failed, self.in_flight]
    }

    /// Replies in all buckets.
    fn replies(&self) -> u64 {
        self.times.iter().sum()
    }

    /// For each classic bucket: upper end in s, and replies at or below it.
    fn classic(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut total = 0;
        let times = self.times.iter().enumerate();
        times.filter_map(move |(index, count)| {
            total += count;
            buckets::is_classic(index).then(|| (buckets::upper_s(index), total))
        })
    }
}

//! How much longer than an outage the recovery from it takes, by the outages of similar length.
//!
//! A host that stops a client all the time makes tens of thousands of outages of one length. So peers are not looked
//! through for each: outages are taken by length, peers come and go at both ends, and the percentile is looked up
//! among ranks.

/// Outages of similar length that are needed to judge recovery by them.
const PEERS_MIN: i32 = 8;

/// How long an outage was, and how many times as long its recovery took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub length_ns: u64,
    pub factor: f64,
    /// No earlier outage was still being recovered from when it began.
    pub is_alone: bool,
}

/// For each of `own` the 90th percentile of the factor among its peers, or its own without enough.
pub(super) fn typical(own: &[Recovery]) -> Vec<f64> {
    let mut factors: Vec<(f64, usize)> = own.iter().map(|it| it.factor).zip(0..).collect();
    factors.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut rank_of = vec![0; own.len()];
    (0..).zip(&factors).for_each(|(rank, &(_, at))| rank_of[at] = rank);
    let mut by_length: Vec<usize> = (0..own.len()).collect();
    by_length.sort_unstable_by_key(|&at| own[at].length_ns);

    let mut result: Vec<f64> = own.iter().map(|it| it.factor).collect();
    let (mut all, mut alone) = (Ranks::new(own.len()), Ranks::new(own.len()));
    let (mut first, mut after) = (0, 0);
    for &at in &by_length {
        let length_ns = own[at].length_ns;
        while let Some(&peer) = by_length.get(after)
            && own[peer].length_ns <= length_ns * 2
        {
            all.add(rank_of[peer], 1);
            alone.add(rank_of[peer], i32::from(own[peer].is_alone));
            after += 1;
        }
        while own[by_length[first]].length_ns < length_ns / 2 {
            let peer = by_length[first];
            all.add(rank_of[peer], -1);
            alone.add(rank_of[peer], -i32::from(own[peer].is_alone));
            first += 1;
        }
        let peers = if alone.count < PEERS_MIN { &all } else { &alone };
        if peers.count >= PEERS_MIN {
            result[at] = factors[peers.nth(peers.count * 9 / 10)].0;
        }
    }
    result
}

/// A set of ranks. Source: Fenwick, "A new data structure for cumulative frequency tables", 1994.
struct Ranks {
    sums: Vec<i32>,
    count: i32,
}

impl Ranks {
    /// None of so many.
    fn new(ranks: usize) -> Self {
        Self { sums: vec![0; ranks.next_power_of_two() + 1], count: 0 }
    }

    /// Puts `rank` in, or takes it out, or does neither: 1, -1, 0.
    fn add(&mut self, rank: usize, number: i32) {
        self.count += number;
        let mut at = rank + 1;
        while at < self.sums.len() {
            self.sums[at] += number;
            at += at & at.wrapping_neg();
        }
    }

    /// The `nth` of those that are in, from 0, ascending.
    fn nth(&self, nth: i32) -> usize {
        let (mut at, mut left) = (0, nth);
        let mut step = self.sums.len() - 1;
        while step > 0 {
            if at + step < self.sums.len() && self.sums[at + step] <= left {
                at += step;
                left -= self.sums[at];
            }
            step /= 2;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::{RngExt, stream};

    use super::*;

    /// The same, each outage's peers looked through.
    fn one_by_one(own: &[Recovery]) -> Vec<f64> {
        let of_peers = |it: &Recovery| {
            let is_peer =
                |peer: &&Recovery| (it.length_ns / 2..=it.length_ns * 2).contains(&peer.length_ns);
            let peers: Vec<&Recovery> = own.iter().filter(is_peer).collect();
            let alone = peers.iter().filter(|peer| peer.is_alone);
            let mut factors: Vec<f64> = alone.map(|peer| peer.factor).collect();
            if (factors.len() as i32) < PEERS_MIN {
                factors = peers.iter().map(|peer| peer.factor).collect();
            }
            if (factors.len() as i32) < PEERS_MIN {
                return it.factor;
            }
            factors.sort_unstable_by(f64::total_cmp);
            factors[factors.len() * 9 / 10]
        };
        own.iter().map(of_peers).collect()
    }

    #[test]
    fn it_is_what_looking_through_all_peers_gives() {
        let mut rng = stream(5, "outages", 0);
        for (count, longest) in [(0, 1), (1, 1), (7, 2), (8, 1), (50, 10), (700, 100_000)] {
            for share in [0.0, 0.1, 0.9] {
                let mut one = || Recovery {
                    length_ns: rng.random_range(0..longest),
                    factor: f64::from(rng.random_range(0_u8..40)) / 2.0,
                    is_alone: rng.random::<f64>() < share,
                };
                let own: Vec<Recovery> = (0..count).map(|_| one()).collect();
                assert_eq!(typical(&own), one_by_one(&own), "{count} up to {longest}, {share}");
            }
        }
    }
}

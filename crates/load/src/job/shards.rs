//! Which of several servers holds an item, where a target names more than one.
//!
//! The key decides, as in every client of a sharded cache: a hash of it, scaled to the number of
//! servers. So servers get as unequal shares as their keys are asked for, and a request never goes to
//! another server because that one is less busy. A key is its item's number, so the number is hashed.
//!
//! Connection `c` of a thread leads to server `c` modulo their number.

/// How items are spread over servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    count: u32,
    items: u32,
}

impl Shards {
    /// `items` over `count` servers, one or more.
    pub fn new(count: usize, items: u64) -> Self {
        Self { count: count.max(1) as u32, items: items.min(u64::from(u32::MAX)) as u32 }
    }

    /// How many servers there are.
    #[inline]
    pub fn count(self) -> u32 {
        self.count
    }

    /// The server that holds `item`.
    #[inline]
    pub fn of(self, item: u32) -> u32 {
        if self.count == 1 {
            return 0;
        }
        ((u64::from(mixed(item)) * u64::from(self.count)) >> 32) as u32
    }

    /// The server that `connection` leads to.
    #[inline]
    pub fn of_connection(self, connection: u32) -> u32 {
        connection % self.count
    }

    /// The first item from `item` on that `shard` holds; after the last comes the first. `item`
    /// itself where it holds none.
    #[inline]
    pub fn item_of(self, shard: u32, item: u32) -> u32 {
        if self.count == 1 {
            return item;
        }
        let mut next = item;
        for _ in 0..self.items {
            if self.of(next) == shard {
                return next;
            }
            next = if next + 1 < self.items { next + 1 } else { 0 };
        }
        item
    }

    /// All items that `shard` holds.
    pub fn items_of(self, shard: u32) -> impl Iterator<Item = u32> {
        (0..self.items).filter(move |&item| self.of(item) == shard)
    }
}

/// Every bit of `number` in every bit of the result. Source: Appleby, `MurmurHash3`, `fmix32`.
#[inline]
fn mixed(number: u32) -> u32 {
    let mut hash = number;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_one_server_and_all_have_about_as_many() {
        for count in [1_usize, 2, 3, 8] {
            let shards = Shards::new(count, 100_000);
            let sizes: Vec<usize> =
                (0..shards.count()).map(|shard| shards.items_of(shard).count()).collect();
            assert_eq!(sizes.iter().sum::<usize>(), 100_000);
            // Binomial: five sigma of n·p items are 5·sqrt(n·p).
            let mean = 100_000.0 / count as f64;
            for size in sizes {
                assert!((size as f64 - mean).abs() <= 5.0 * mean.sqrt(), "{count}: {size}");
            }
        }
    }

    #[test]
    fn an_item_of_a_server_is_found_from_any_item_on() {
        let shards = Shards::new(3, 50);
        for item in 0..50 {
            for shard in 0..3 {
                let result = shards.item_of(shard, item);
                assert_eq!(shards.of(result), shard);
                let between = (result + 50 - item) % 50;
                assert!((0..between).all(|step| shards.of((item + step) % 50) != shard));
            }
        }
    }

    #[test]
    fn one_server_holds_everything() {
        let shards = Shards::new(1, 10);
        assert_eq!((shards.of(7), shards.item_of(0, 7), shards.of_connection(5)), (0, 7, 0));
    }
}

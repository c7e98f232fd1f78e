//! Keys and values: what each item is called and what it holds, computed from its number alone.
//!
//! They do not depend on the job's seed: one run may preload what a later run, with another seed,
//! reads and checks. A value is a window into a fixed pool of printable bytes, so writing it is a
//! copy and checking it is a comparison, at any split.

use sojourn_base::rng::{RngExt, stream};
use sojourn_base::{Fault, rng};
use sojourn_workload::dist::{self, Dist};

/// Longest key that memcached takes, bytes.
pub const KEY_MAX: usize = 250;
/// Largest value that a job may ask for: 1 GiB would not be a request any more.
pub const VALUE_MAX: u64 = 64 * 1024 * 1024;

const ZEROS: [u8; KEY_MAX] = [b'0'; KEY_MAX];
const POOL: usize = 16 * 1024; // fits the L1 and L2 caches beside everything else
const SEED: u64 = 0x05_0a_0b_0c; // any constant: the same items on every machine, in every run

/// The keys and values of a job.
#[derive(Debug)]
pub struct Content {
    items: u32,
    key_len: Lengths,
    value_len: Lengths,
    pool: Box<[u8]>,
}

/// One length for all items, or one for each.
#[derive(Debug)]
enum Lengths {
    Fixed(u32),
    Each(Box<[u32]>),
}

impl Lengths {
    fn of(&self, item: u32) -> u32 {
        match self {
            Self::Fixed(length) => *length,
            Self::Each(lengths) => lengths[item as usize],
        }
    }

    fn max(&self) -> u32 {
        match self {
            Self::Fixed(length) => *length,
            Self::Each(lengths) => lengths.iter().copied().max().unwrap_or(0),
        }
    }

    fn draw(dist: &Dist, items: u32, use_name: &str, least: u32, most: u32) -> Self {
        let fit = |length: f64| length.round().clamp(f64::from(least), f64::from(most)) as u32;
        if dist.variance() == 0.0 {
            return Self::Fixed(fit(dist.mean()));
        }
        let mut rng = stream(SEED, use_name, 0);
        Self::Each((0..items).map(|_| fit(dist.sample(&mut rng))).collect())
    }
}

impl Content {
    /// Draws the lengths of `items` keys and values. Drawn lengths outside what a server takes are moved
    /// to the nearest one it takes: keys of at most 250 bytes, never shorter than the last item's
    /// number. One length for all that is too short for that is refused.
    pub fn new(items: u64, key_size: &str, value_size: &str) -> Result<Self, Fault> {
        let items = u32::try_from(items).map_err(|_| {
            Fault::usage(format!("items is {items}"), "items", "give at most 4 billion")
        })?;
        let keys = dist::parse(key_size).map_err(|fault| fault.within("key_size"))?;
        let values = dist::parse(value_size).map_err(|fault| fault.within("value_size"))?;
        if keys.variance() == 0.0 && !(1.0..=KEY_MAX as f64).contains(&keys.mean()) {
            return Err(Fault::usage(
                format!("key_size is {}", keys.mean()),
                "key_size",
                format!("give a length from 1 to {KEY_MAX} bytes"),
            ));
        }
        let digits = items.saturating_sub(1).max(1).ilog10() + 1;
        if keys.variance() == 0.0 && keys.mean() < f64::from(digits) {
            return Err(Fault::usage(
                format!("key_size is {} and {items} keys that differ need {digits}", keys.mean()),
                "key_size",
                format!("give {digits} bytes or more, or fewer items"),
            ));
        }
        if values.mean() > VALUE_MAX as f64 {
            return Err(Fault::usage(
                format!("value_size is {} bytes", values.mean()),
                "value_size",
                format!("give at most {VALUE_MAX} bytes"),
            ));
        }
        Ok(Self {
            items,
            key_len: Lengths::draw(&keys, items, "key_size", digits, KEY_MAX as u32),
            value_len: Lengths::draw(&values, items, "value_size", 0, VALUE_MAX as u32),
            pool: pool(),
        })
    }

    /// How many items the data set has.
    pub fn items(&self) -> u32 {
        self.items
    }

    /// Length of the key of `item`, bytes.
    #[inline]
    pub fn key_len(&self, item: u32) -> u32 {
        self.key_len.of(item)
    }

    /// Appends the key of `item`: its number with zeros before it.
    #[inline]
    pub fn push_key(&self, item: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&ZEROS[..self.key_len(item) as usize]);
        let mut rest = item;
        for digit in out[start..].iter_mut().rev() {
            if rest == 0 {
                return;
            }
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    /// What follows the key of `item` at the start of `bytes`; `None`: they do not begin with it.
    #[inline]
    pub fn after_key<'a>(&self, item: u32, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (key, after) = bytes.split_at_checked(self.key_len(item) as usize)?;
        let (mut rest, mut at) = (item, key.len());
        while rest > 0 && at > 0 {
            at -= 1;
            if key[at] != b'0' + (rest % 10) as u8 {
                return None;
            }
            rest /= 10;
        }
        (key[..at] == ZEROS[..at]).then_some(after)
    }

    /// The item that is called `key`; `None`: none is.
    pub fn item_of(&self, key: &[u8]) -> Option<u32> {
        let item = key.iter().try_fold(0_u32, |sum, byte| {
            let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
            sum.checked_mul(10)?.checked_add(digit)
        })?;
        let is_it = item < self.items && self.after_key(item, key).is_some_and(<[u8]>::is_empty);
        is_it.then_some(item)
    }

    /// Length of the value of `item`, bytes.
    #[inline]
    pub fn value_len(&self, item: u32) -> u32 {
        self.value_len.of(item)
    }

    /// Length of the longest value, bytes.
    pub fn value_len_max(&self) -> u32 {
        self.value_len.max()
    }

    /// Appends the value of `item`.
    pub fn push_value(&self, item: u32, out: &mut Vec<u8>) {
        let mut left = self.value_len(item) as usize;
        let mut at = start(item);
        while left > 0 {
            let run = left.min(POOL - at);
            out.extend_from_slice(&self.pool[at..at + run]);
            left -= run;
            at = 0;
        }
    }

    /// Whether `bytes` are what the value of `item` holds from `offset` on.
    #[inline]
    pub fn holds(&self, item: u32, offset: usize, mut bytes: &[u8]) -> bool {
        let mut at = (start(item) + offset) % POOL;
        while !bytes.is_empty() {
            let run = bytes.len().min(POOL - at);
            if bytes[..run] != self.pool[at..at + run] {
                return false;
            }
            bytes = &bytes[run..];
            at = 0;
        }
        true
    }
}

/// Where in the pool the value of `item` begins. Fibonacci hashing: neighbours lie far apart.
#[inline]
fn start(item: u32) -> usize {
    (u64::from(item).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as usize % POOL
}

/// Printable bytes without line ends, so that a value is harmless wherever it appears.
fn pool() -> Box<[u8]> {
    let mut draw: rng::Rng = stream(SEED, "pool", 0);
    (0..POOL).map(|_| draw.random_range(b'!'..=b'~')).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_differ_and_have_the_length_asked_for() {
        let content = Content::new(20_000, "30", "200").unwrap();
        let mut seen = HashSet::new();
        for item in 0..20_000 {
            let mut key = Vec::new();
            content.push_key(item, &mut key);
            assert_eq!(key.len(), 30);
            assert!(seen.insert(key));
        }
    }

    #[test]
    fn a_key_is_known_by_its_bytes_and_by_no_others() {
        let content = Content::new(1000, "exponential:8", "1").unwrap();
        for item in 0..1000 {
            let mut key = Vec::new();
            content.push_key(item, &mut key);
            assert_eq!(key.len(), content.key_len(item) as usize);
            assert_eq!(std::str::from_utf8(&key).unwrap().parse(), Ok(item));
            assert_eq!(content.item_of(&key), Some(item));
            assert_eq!(content.item_of(&[&b"0"[..], &key].concat()), None, "too long");
            let longer = [&key[..], b" 0"].concat();
            assert_eq!(content.item_of(&longer), None);
            assert_eq!(content.after_key(item, &longer), Some(&b" 0"[..]));
            assert_eq!(content.after_key(item, &key[..key.len() - 1]), None);
            for at in 0..key.len() {
                let mut other = longer.clone();
                other[at] ^= 1;
                assert_eq!(content.after_key(item, &other), None, "{item}, byte {at}");
            }
        }
    }

    #[test]
    fn keys_differ_even_where_the_length_asked_for_is_too_short() {
        let content = Content::new(5_000, "exponential:3", "1").unwrap();
        let keys: HashSet<Vec<u8>> = (0..5_000)
            .map(|item| {
                let mut key = Vec::new();
                content.push_key(item, &mut key);
                assert!((4..=KEY_MAX).contains(&key.len()));
                key
            })
            .collect();
        assert_eq!(keys.len(), 5_000);
    }

    #[test]
    fn a_value_holds_itself_at_every_split_and_nothing_else() {
        let content = Content::new(100, "30", "exponential:20000").unwrap();
        for item in 0..100 {
            let mut value = Vec::new();
            content.push_value(item, &mut value);
            assert_eq!(value.len(), content.value_len(item) as usize);
            for split in [0, 1, value.len() / 3, value.len()] {
                let split = split.min(value.len());
                assert!(content.holds(item, 0, &value[..split]));
                assert!(content.holds(item, split, &value[split..]));
            }
            if let Some(last) = value.last_mut() {
                *last ^= 1;
                assert!(!content.holds(item, 0, &value));
            }
        }
    }

    #[test]
    fn items_do_not_change_when_more_are_added() {
        let small = Content::new(10, "fixed:8", "exponential:300").unwrap();
        let large = Content::new(1000, "fixed:8", "exponential:300").unwrap();
        assert!((0..10).all(|item| small.value_len(item) == large.value_len(item)));
    }

    #[test]
    fn lengths_no_server_takes_are_refused() {
        assert_eq!(Content::new(10, "0", "1").unwrap_err().at, "key_size");
        assert_eq!(Content::new(10, "251", "1").unwrap_err().at, "key_size");
        assert_eq!(Content::new(11, "1", "1").unwrap_err().at, "key_size");
        assert!(Content::new(10, "1", "1").is_ok());
        assert_eq!(Content::new(10, "10", "1e12").unwrap_err().at, "value_size");
        assert_eq!(Content::new(10, "ten", "1").unwrap_err().at, "key_size");
    }
}

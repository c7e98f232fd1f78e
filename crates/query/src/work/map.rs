//! masstree's shape: a concurrent ordered map, of which a query does a batch of operations.
//!
//! One operation takes a microsecond or two, so one a request would measure the network; `TailBench`
//! batches them too (PAPERS P4). All workers share the map: nearly half of the operations read an
//! item, as many write it, and a few scan or add a key and take it away again, so that the map itself
//! changes under the others' hands. What is written is what was there, and keys that come and go are
//! left out of scans, so each query has one right answer, whoever else is at work.
//!
//! The map is a skip list: its nodes lie scattered in memory, in the order in which keys came, so
//! what limits it is how fast memory is fetched (P11), as with the trees that it represents.

use std::fmt::Write as _;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossbeam_skiplist::SkipMap;
use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::{Desk, Work, WorkKind};
use crate::args::Settings;
use crate::numbers::{at, stream};

pub(super) const KIND: WorkKind = WorkKind {
    kind: Kind {
        name: "ordered-map",
        about: "a batch of reads, writes and scans of a concurrent ordered map",
        usage: "ordered-map",
        params: &[
            Param {
                name: "items",
                unit: "",
                about: "items in the map, of 200 bytes",
                default: "1000000",
                range: "1..100000000",
            },
            Param {
                name: "batch",
                unit: "operations",
                about: "operations of a query",
                default: "200",
                range: "1..100000",
            },
        ],
        needs: &[],
        source: "PAPERS P4, P11: TailBench's masstree; YCSB A, Cooper et al., SoCC 2010",
    },
    build,
};

/// Words of an item: 200 bytes.
const WORDS: u64 = 25;
const ITEMS: u64 = 1_000_000;
const ITEMS_MAX: u64 = 100_000_000;
const BATCH: u64 = 200;
const BATCH_MAX: u64 = 100_000;
/// Items that a scan looks at.
const SCAN: u64 = 10;
/// Of 256 operations, those below this read an item, …
const READS: u8 = 120;
/// … those from there to below this write it, …
const WRITES: u8 = 240;
/// … those to below this scan, and the rest add a key and take it away.
const SCANS: u8 = 248;
/// Streams of the seed.
const VALUES: u64 = 1 << 33;
const OPERATIONS: u64 = 1 << 34;

type Item = Box<[AtomicU64]>;

struct Map {
    /// Items under even keys; odd ones come and go.
    tree: SkipMap<u64, Item>,
    items: u64,
    batch: u64,
    values: u64,
    operations: u64,
}

fn build(settings: &Settings) -> Result<Box<dyn Work>, Fault> {
    let (items, batch) = (settings.items.unwrap_or(ITEMS), settings.batch.unwrap_or(BATCH));
    let ranges = [("items", items, ITEMS_MAX), ("batch", batch, BATCH_MAX)];
    for (name, value, most) in ranges {
        if value == 0 || value > most {
            let what = format!("{name} of {value} are not possible");
            return Err(Fault::usage(what, name, format!("give 1 to {most}")));
        }
    }
    let map = Map {
        tree: SkipMap::new(),
        items,
        batch,
        values: stream(settings.seed, VALUES),
        operations: stream(settings.seed, OPERATIONS),
    };
    map.fill();
    Ok(Box::new(map))
}

impl Map {
    /// Puts all items in, in an order that leaves neighbours far apart in memory.
    fn fill(&self) {
        let step = coprime(self.items);
        for nth in 0..self.items {
            let item = (u128::from(nth) * u128::from(step) % u128::from(self.items)) as u64;
            let words = (0..WORDS).map(|word| AtomicU64::new(self.word(item, word))).collect();
            self.tree.insert(2 * item, words);
        }
    }

    fn word(&self, item: u64, word: u64) -> u64 {
        at(self.values, item * WORDS + word)
    }

    fn read(&self, item: u64, result: &mut Lookup) {
        if let Some(entry) = self.tree.get(&(2 * item)) {
            result.count += 1;
            for word in entry.value() {
                result.sum = result.sum.wrapping_add(word.load(Relaxed));
            }
        }
    }

    fn write(&self, item: u64) {
        if let Some(entry) = self.tree.get(&(2 * item)) {
            for (nth, word) in entry.value().iter().enumerate() {
                word.store(self.word(item, nth as u64), Relaxed);
            }
        }
    }

    fn scan(&self, item: u64, result: &mut Lookup) {
        let even = self.tree.range(2 * item..).filter(|entry| entry.key().is_multiple_of(2));
        for entry in even.take(SCAN as usize) {
            result.count += 1;
            result.sum = result.sum.wrapping_add(entry.value()[0].load(Relaxed));
        }
    }

    fn come_and_go(&self, item: u64) {
        self.tree.insert(2 * item + 1, Item::default());
        self.tree.remove(&(2 * item + 1));
    }
}

/// A number near the golden section of `items` that has no factor in common with it.
fn coprime(items: u64) -> u64 {
    let near = (items as f64 * 0.618_033_988_75) as u64;
    (near.max(1)..=items).find(|&step| gcd(step, items) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What a batch has seen.
#[derive(Debug, Default)]
struct Lookup {
    count: u64,
    sum: u64,
}

impl Work for Map {
    fn desk(&self) -> Box<dyn Desk + '_> {
        Box::new(Batch { map: self })
    }
}

struct Batch<'a> {
    map: &'a Map,
}

impl Desk for Batch<'_> {
    fn answer(&mut self, query: u64, reply: &mut String) {
        let map = self.map;
        let mut result = Lookup::default();
        for nth in 0..map.batch {
            let drawn = at(map.operations, query * map.batch + nth);
            let item = drawn % map.items;
            match (drawn >> 56) as u8 {
                0..READS => map.read(item, &mut result),
                READS..WRITES => map.write(item),
                WRITES..SCANS => map.scan(item, &mut result),
                SCANS..=u8::MAX => map.come_and_go(item),
            }
        }
        let (batch, Lookup { count, sum }) = (map.batch, result);
        let _ =
            writeln!(reply, "query {query:>10} batch {batch:>6} found {count:>6} sum {sum:016x}");
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn map(items: u64) -> Box<dyn Work> {
        build(&Settings { items: Some(items), batch: Some(200), ..Settings::default() }).unwrap()
    }

    fn answer(work: &dyn Work, query: u64) -> String {
        let mut reply = String::new();
        work.desk().answer(query, &mut reply);
        reply
    }

    #[test]
    fn every_step_visits_every_item_once() {
        for items in [1, 2, 7, 10, 1000, 1024] {
            assert_eq!(gcd(coprime(items), items), 1, "{items}");
        }
    }

    #[test]
    fn an_answer_is_what_its_operations_add_up_to() {
        let (items, query) = (500, 3);
        let values = stream(Settings::default().seed, VALUES);
        let operations = stream(Settings::default().seed, OPERATIONS);
        let (mut count, mut sum) = (0u64, 0u64);
        for nth in 0..200 {
            let drawn = at(operations, query * 200 + nth);
            let item = drawn % items;
            let words = |item, n| (0..n).map(move |w| at(values, item * WORDS + w));
            let seen: Vec<u64> = match drawn >> 56 {
                0..120 => words(item, WORDS).collect(),
                240..248 => (item..items.min(item + SCAN)).flat_map(|i| words(i, 1)).collect(),
                _ => continue,
            };
            count += if drawn >> 56 < 120 { 1 } else { seen.len() as u64 };
            sum = seen.into_iter().fold(sum, u64::wrapping_add);
        }
        let wanted = format!("found {count:>6} sum {sum:016x}\n");
        assert!(answer(&*map(items), query).ends_with(&wanted), "{wanted}");
    }

    #[test]
    fn whoever_else_is_at_work_the_answers_stay() {
        let work = map(300); // few items: all workers are at the same ones
        let alone: Vec<String> = (0..40).map(|query| answer(&*work, query)).collect();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for (query, wanted) in alone.iter().enumerate() {
                        assert_eq!(&answer(&*work, query as u64), wanted);
                    }
                });
            }
        });
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for (items, batch, at) in [(0, 1, "items"), (1, 0, "batch"), (ITEMS_MAX + 1, 1, "items")] {
            let (items, batch) = (Some(items), Some(batch));
            let settings = Settings { items, batch, ..Settings::default() };
            assert_eq!(build(&settings).err().unwrap().at, at);
        }
    }
}

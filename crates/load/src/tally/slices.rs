//! Sojourn times by slices of a run. In a long run a histogram is packed as soon as nothing more is due
//! in its slice: packed it takes some 2 kB.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use sojourn_base::span::{DIGITS, MAX_NS};
use sojourn_base::units::NS_PER_S;

use crate::protocols::Outcome;
use crate::tally::request::Request;

/// Slices of a run that is not long.
const SLICES: u64 = 40;

/// The two series of one slice.
#[derive(Debug)]
pub struct Slice {
    /// Requests outside outages.
    pub retained: Histogram<u64>,
    /// Every request.
    pub all: Histogram<u64>,
}

/// Requests by slices of time, for counts whose spread is judged.
#[derive(Debug)]
pub struct Slices {
    from_ns: u64,
    length_ns: u64,
    open: BTreeMap<u64, Slice>,
    packed: BTreeMap<u64, [Vec<u8>; 2]>,
    serializer: Packer,
}

/// [`V2DeflateSerializer`] has buffers and no `Debug`.
struct Packer(V2DeflateSerializer);

impl std::fmt::Debug for Packer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Packer")
    }
}

impl Slices {
    /// For a measured part that is planned to be [from, to), ns.
    pub fn new((from_ns, to_ns): (u64, u64)) -> Self {
        Self {
            from_ns,
            length_ns: slice_ns(from_ns, to_ns),
            open: BTreeMap::new(),
            packed: BTreeMap::new(),
            serializer: Packer(V2DeflateSerializer::new()),
        }
    }

    /// Counts a request of the measured part among all, and if it `is_kept` among those.
    pub fn add(&mut self, request: &Request, is_kept: bool) {
        let value = sojourn_or_hour_ns(request);
        let slice = self.slice_of(request);
        slice.all.saturating_record(value);
        if is_kept {
            slice.retained.saturating_record(value);
        }
    }

    /// A request that was counted among all is outside outages after all.
    pub fn keep(&mut self, request: &Request) {
        self.slice_of(request).retained.saturating_record(sojourn_or_hour_ns(request));
    }

    /// Packs the slices in which nothing is due from `ns` on.
    pub fn pack_before(&mut self, ns: u64) {
        while let Some(first) = self.open.first_entry()
            && self.from_ns + (first.key() + 1) * self.length_ns <= ns
        {
            let (index, slice) = first.remove_entry();
            let both = [&slice.retained, &slice.all].map(|histogram| {
                let mut bytes = Vec::new();
                let packed = self.serializer.0.serialize(histogram, &mut bytes);
                packed.expect("writing to memory cannot fail");
                bytes.shrink_to_fit();
                bytes
            });
            self.packed.insert(index, both);
        }
    }

    /// Length of a slice, ns; the last may be cut short.
    pub fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// The slice that starts `index` lengths after the start of the measured part.
    pub fn get(&self, index: u64) -> Slice {
        if let Some(open) = self.open.get(&index) {
            return Slice { retained: open.retained.clone(), all: open.all.clone() };
        }
        self.packed.get(&index).map_or_else(empty_slice, unpack)
    }

    fn slice_of(&mut self, request: &Request) -> &mut Slice {
        let index = (request.intended_ns - self.from_ns) / self.length_ns;
        let packed = &mut self.packed;
        self.open
            .entry(index)
            .or_insert_with(|| packed.remove(&index).as_ref().map_or_else(empty_slice, unpack))
    }
}

fn empty_slice() -> Slice {
    Slice { retained: empty(), all: empty() }
}

fn unpack(both: &[Vec<u8>; 2]) -> Slice {
    let [retained, all] = both.each_ref().map(|bytes| {
        let read = Deserializer::new().deserialize(&mut bytes.as_slice());
        read.expect("it was packed here")
    });
    Slice { retained, all }
}

/// Length of a slice of [from, to), ns.
pub(crate) fn slice_ns(from_ns: u64, to_ns: u64) -> u64 {
    (to_ns - from_ns).div_ceil(SLICES).clamp(1, NS_PER_S)
}

/// No times yet.
pub(crate) fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_NS, DIGITS).expect("constant bounds are valid")
}

/// A request's time, ns; one hour, the largest value there is, for one that failed.
pub(crate) fn sojourn_or_hour_ns(request: &Request) -> u64 {
    match request.outcome {
        Outcome::Hit => request.done_ns.saturating_sub(request.intended_ns),
        _ => MAX_NS,
    }
}

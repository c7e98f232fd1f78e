//! What the protocols of key-value stores have in common: operations, parameters, keys of a multi-GET.

use sojourn_base::Fault;
use sojourn_base::kind::Param;
use sojourn_workload::plan::Op;

use super::Operation;
use crate::job::Job;

/// Sets one item.
pub(super) const SET: Op = Op(1);
/// Reads several items at once.
pub(super) const MULTIGET: Op = Op(2);

/// GET, and the two above.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation { name: "get", share: "" },
    Operation { name: "set", share: "set_share" },
    Operation { name: "multiget", share: "multiget_share" },
];

/// Parameters of every key-value store.
const KEY_VALUE: [Param; 6] = [
    Param { name: "items", unit: "", about: "distinct keys", default: "10000", range: ">= 1" },
    Param {
        name: "key_size",
        unit: "bytes",
        about: "distribution",
        default: "30",
        range: "1..250",
    },
    Param {
        name: "value_size",
        unit: "bytes",
        about: "distribution",
        default: "200",
        range: ">= 0",
    },
    Param {
        name: "set_share",
        unit: "ratio",
        about: "requests that are SETs",
        default: "0",
        range: "0..1",
    },
    Param {
        name: "multiget_share",
        unit: "ratio",
        about: "requests that are multi-GETs",
        default: "0",
        range: "0..1",
    },
    Param {
        name: "multiget_keys",
        unit: "",
        about: "keys per multi-GET",
        default: "10",
        range: "1..1000",
    },
];

/// These, and one that only this store has.
pub(super) const fn with_own(own: Param) -> [Param; 7] {
    let [items, key_size, value_size, set_share, multiget_share, multiget_keys] = KEY_VALUE;
    [items, key_size, value_size, set_share, multiget_share, multiget_keys, own]
}

/// A multi-GET asks for items that follow one another, and begins again after the last.
pub(super) fn nth_key(first: u32, nth: u32, items: u32) -> u32 {
    if nth == 0 {
        return first; // a GET of one key needs no division
    }
    ((u64::from(first) + u64::from(nth)) % u64::from(items)) as u32
}

/// The place of `item` among all items from `first` on; the keys of a multi-GET have the first places.
pub(super) fn place_of(first: u32, item: u32, items: u32) -> u32 {
    let (first, item, items) = (u64::from(first), u64::from(item), u64::from(items));
    ((item + items - first % items) % items) as u32
}

/// Keys per multi-GET of `job`; 1 where it asks for none.
pub(super) fn keys_per_multiget(job: &Job) -> Result<u32, Fault> {
    if job.multiget_share == 0.0 {
        return Ok(1);
    }
    if u64::from(job.multiget_keys) > job.items {
        return Err(Fault::usage(
            format!("a multi-GET asks for {} of {} keys", job.multiget_keys, job.items),
            "multiget_keys",
            "ask for at most as many keys as there are items",
        ));
    }
    Ok(job.multiget_keys)
}

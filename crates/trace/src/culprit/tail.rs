//! The tail in pieces of the trace, for intervals of the differences between two traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::join::{Block, Group};

/// Functions listed.
pub const FUNCTIONS: usize = 64;

/// Requests of the tail in a piece of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TailBlock {
    /// How many.
    pub requests: u64,
    /// Sum of their totals, ns.
    pub total_ns: u64,
}

/// Time that requests of the tail slept in a function, or in what it called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionTime {
    /// Its name; the kernel's end in `_[k]`.
    pub name: String,
    /// In each twentieth of the trace, ns.
    pub tail_blocks_ns: Vec<u64>,
}

/// The tail by pieces of the trace.
pub fn blocks(tail: &Group) -> Vec<TailBlock> {
    let block = |block: &Block| TailBlock { requests: block.requests, total_ns: block.total_ns };
    tail.blocks.iter().map(block).collect()
}

/// Where the tail slept, the longest first.
pub fn functions(tail: &Group) -> Vec<FunctionTime> {
    let mut list: Vec<(u64, FunctionTime)> = tail
        .functions
        .iter()
        .map(|(name, blocks)| {
            let time = FunctionTime { name: name.clone(), tail_blocks_ns: blocks.to_vec() };
            (blocks.iter().sum(), time)
        })
        .collect();
    list.sort_by(|(a, first), (b, second)| b.cmp(a).then_with(|| first.name.cmp(&second.name)));
    list.into_iter().take(FUNCTIONS).map(|(_, time)| time).collect()
}

//! From stack numbers to names of functions, by blazesym.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolizer};
use blazesym::{MaybeDefault, Pid};
use libbpf_rs::{Map, MapCore as _, MapFlags};

use super::seen::{Names, Off, Stacks, UNKNOWN};

/// Process of a stack (`None`: the kernel's), and its number.
type Which = (Option<u32>, i32);

/// Reads the stacks of `offs` from the kernel's map, and names their functions. What cannot be named
/// is unknown, as is all of a process that has ended.
pub fn name(map: &Map<'_>, offs: &[Off], names: &mut Names) -> Stacks {
    let mut wanted = HashSet::new();
    for off in offs {
        wanted.insert((None, off.kernel_stack));
        wanted.insert((Some(off.tgid), off.user_stack));
    }
    let mut stacks: Vec<(Which, Vec<u64>)> = wanted
        .into_iter()
        .filter_map(|key @ (_, id)| Some((key, addresses(map, u32::try_from(id).ok()?)?)))
        .collect();
    stacks.sort_unstable();
    let mut named = Stacks::default();
    let symbolizer = Symbolizer::new();
    let mut known = HashMap::new();
    for ((process, id), addresses) in stacks {
        let table = known.entry(process).or_insert_with(HashMap::<u64, Arc<str>>::new);
        let fresh: Vec<u64> =
            addresses.iter().copied().filter(|address| !table.contains_key(address)).collect();
        for (address, name) in fresh.iter().zip(symbols(&symbolizer, process, &fresh)) {
            table.insert(*address, names.keep(&name));
        }
        let frames = addresses.iter().map(|address| table[address].clone()).collect();
        match process {
            None => named.kernel.insert(id, frames),
            Some(tgid) => named.user.insert((tgid, id), frames),
        };
    }
    named
}

/// The addresses of one stack, innermost first.
fn addresses(map: &Map<'_>, id: u32) -> Option<Vec<u64>> {
    let bytes = map.lookup(&id.to_ne_bytes(), MapFlags::ANY).ok()??;
    let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok());
    Some(words.map(u64::from_ne_bytes).take_while(|&address| address != 0).collect())
}

fn symbols(symbolizer: &Symbolizer, process: Option<u32>, addresses: &[u64]) -> Vec<String> {
    let source = match process {
        // The running kernel's own table is enough; its image may not be there.
        None => Source::Kernel(Kernel { vmlinux: MaybeDefault::None, ..Kernel::default() }),
        Some(pid) => Source::Process(Process::new(Pid::from(pid))),
    };
    let found = symbolizer.symbolize(&source, Input::AbsAddr(addresses));
    match found {
        Ok(found) => found
            .iter()
            .map(|symbol| symbol.as_sym().map_or(UNKNOWN.into(), |sym| short(&sym.name)))
            .collect(),
        Err(_) => vec![UNKNOWN.into(); addresses.len()],
    }
}

/// Without the hash that Rust adds to its names.
fn short(name: &str) -> String {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()) => {
            path.to_owned()
        }
        _ => name.to_owned(),
    }
}

//! From stack numbers to names of functions, by blazesym.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolizer};
use blazesym::{MaybeDefault, Pid};
use libbpf_rs::{Map, MapCore as _, MapFlags};

use super::seen::{Names, Off, Seen, Stacks, UNKNOWN};

/// How long the names of one stack may take.
const NAMED_WITHIN: Duration = Duration::from_secs(60);
/// The longest file of a process with names of its functions, bytes.
const MAP_BYTES_MAX: u64 = 256 << 20;

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
    let mut namer = Namer::new();
    let mut known = HashMap::new();
    for ((process, id), addresses) in stacks {
        let table = known.entry(process).or_insert_with(HashMap::<u64, Arc<str>>::new);
        let fresh: Vec<u64> =
            addresses.iter().copied().filter(|address| !table.contains_key(address)).collect();
        for (address, name) in fresh.iter().zip(namer.names(process, &fresh, NAMED_WITHIN)) {
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

/// Names stacks while events come, for as long as the program runs: a process may end, and the kernel's table of
/// stacks has an end.
pub struct Lasting {
    namer: Namer,
    known: HashMap<Option<u32>, HashMap<u64, Arc<str>>>,
    numbers: HashMap<(Option<u32>, Vec<u64>), i32>,
    /// The next number; none is given twice.
    next: i32,
}

/// Stacks that are remembered; then those that no event has are forgotten at once.
const REMEMBERED: usize = 4_096;
/// Stacks that events may have then; more, and all are forgotten.
const IN_USE: usize = 4 * REMEMBERED;
/// Names that come while requests are watched may take so long.
const SOON: Duration = Duration::from_secs(2);

impl Default for Lasting {
    fn default() -> Self {
        Self { namer: Namer::new(), known: HashMap::new(), numbers: HashMap::new(), next: 0 }
    }
}

impl Lasting {
    /// Names the stacks of the events from number `from` on, gives them numbers of their own, and frees the
    /// kernel's.
    pub fn take(&mut self, map: &Map<'_>, seen: &mut Seen, from: usize) {
        if self.numbers.len() > REMEMBERED {
            self.forget(seen);
        }
        let mut freed = HashSet::new();
        for at in from..seen.offs.len() {
            let (tgid, kernel, user) =
                (seen.offs[at].tgid, seen.offs[at].kernel_stack, seen.offs[at].user_stack);
            freed.extend([kernel, user].into_iter().filter_map(|id| u32::try_from(id).ok()));
            seen.offs[at].kernel_stack = self.number(map, None, kernel, seen);
            seen.offs[at].user_stack = self.number(map, Some(tgid), user, seen);
        }
        for id in freed {
            let _ = map.delete(&id.to_ne_bytes()); // it may be gone
        }
    }

    fn number(&mut self, map: &Map<'_>, process: Option<u32>, id: i32, seen: &mut Seen) -> i32 {
        let stack = u32::try_from(id).ok().and_then(|id| addresses(map, id));
        stack.map_or(-1, |stack| self.remember(process, stack, seen))
    }

    /// Drops stacks that no event has.
    fn forget(&mut self, seen: &mut Seen) {
        (self.known, self.numbers) = Default::default();
        let mut used = HashSet::new();
        for off in &seen.offs {
            used.extend([(None, off.kernel_stack), (Some(off.tgid), off.user_stack)]);
        }
        let stacks = &mut seen.stacks;
        stacks.kernel.retain(|number, _| used.contains(&(None, *number)));
        stacks.user.retain(|(tgid, number), _| used.contains(&(Some(*tgid), *number)));
        if stacks.kernel.len() + stacks.user.len() > IN_USE {
            (stacks.kernel, stacks.user) = Default::default();
        }
    }

    /// The number of a stack, innermost first.
    fn remember(&mut self, process: Option<u32>, stack: Vec<u64>, seen: &mut Seen) -> i32 {
        if let Some(number) = self.numbers.get(&(process, stack.clone())) {
            return *number;
        }
        let table = self.known.entry(process).or_default();
        let fresh: Vec<u64> =
            stack.iter().copied().filter(|address| !table.contains_key(address)).collect();
        for (address, name) in fresh.iter().zip(self.namer.names(process, &fresh, SOON)) {
            table.insert(*address, seen.names.keep(&name));
        }
        let frames = stack.iter().map(|address| table[address].clone()).collect();
        let number = self.next;
        self.next = self.next.saturating_add(1);
        match process {
            None => seen.stacks.kernel.insert(number, frames),
            Some(tgid) => seen.stacks.user.insert((tgid, number), frames),
        };
        self.numbers.insert((process, stack), number);
        number
    }
}

/// The addresses of one stack, innermost first.
fn addresses(map: &Map<'_>, id: u32) -> Option<Vec<u64>> {
    let bytes = map.lookup(&id.to_ne_bytes(), MapFlags::ANY).ok()??;
    let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok());
    Some(words.map(u64::from_ne_bytes).take_while(|&address| address != 0).collect())
}

/// Names addresses on a thread of its own. Files of a traced process are read there, and it may have put a pipe
/// or something without an end in their place: what takes too long is unknown, and so is all that follows.
struct Namer {
    ask: Option<Sender<(Option<u32>, Vec<u64>)>>,
    told: Receiver<Vec<String>>,
}

impl Namer {
    fn new() -> Self {
        let (ask, asked) = channel::<(Option<u32>, Vec<u64>)>();
        let (tell, reported) = channel();
        thread::spawn(move || {
            let symbolizer = Symbolizer::new();
            for (process, addresses) in asked {
                let _ = tell.send(symbols(&symbolizer, process, &addresses));
            }
        });
        Self { ask: Some(ask), told: reported }
    }

    fn names(&mut self, process: Option<u32>, addresses: &[u64], within: Duration) -> Vec<String> {
        let asked = self.ask.as_ref().map(|ask| ask.send((process, addresses.to_vec())));
        let reported = asked.and_then(|_| self.told.recv_timeout(within).ok());
        if reported.is_none() {
            self.ask = None;
        }
        reported.unwrap_or_else(|| vec![UNKNOWN.into(); addresses.len()])
    }
}

fn symbols(symbolizer: &Symbolizer, process: Option<u32>, addresses: &[u64]) -> Vec<String> {
    let source = match process {
        // The running kernel's own table is enough; its image may not be there.
        None => Source::Kernel(Kernel { vmlinux: MaybeDefault::None, ..Kernel::default() }),
        Some(pid) => {
            Source::Process(Process { perf_map: has_own_map(pid), ..Process::new(Pid::from(pid)) })
        }
    };
    let result = symbolizer.symbolize(&source, Input::AbsAddr(addresses));
    match result {
        Ok(result) => result
            .iter()
            .map(|symbol| symbol.as_sym().map_or(UNKNOWN.into(), |sym| short(&sym.name)))
            .collect(),
        Err(_) => vec![UNKNOWN.into(); addresses.len()],
    }
}

/// Whether a process has written names of its functions itself (`/tmp/perf-PID.map`, as compilers at run time do).
///
/// Everybody may write to `/tmp`: what another user has put there is a lie, or a pipe that is waited for for ever.
fn has_own_map(pid: u32) -> bool {
    let folder = Path::new("/proc").join(pid.to_string());
    let status = fs::read(folder.join("status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let inner = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let Some(number) = inner.and_then(|line| line.split_ascii_whitespace().last()) else {
        return false;
    };
    let map = folder.join("root/tmp").join(format!("perf-{number}.map"));
    let (Ok(map), Ok(process)) = (fs::symlink_metadata(map), fs::metadata(folder)) else {
        return false;
    };
    map.is_file() && map.len() <= MAP_BYTES_MAX && [0, process.uid()].contains(&map.uid())
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

#[cfg(test)]
mod tests;

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
}

/// Stacks that are remembered; then all are forgotten at once.
const REMEMBERED: usize = 4_096;
/// Names that come while requests are watched may take so long.
const SOON: Duration = Duration::from_secs(2);

impl Default for Lasting {
    fn default() -> Self {
        Self { namer: Namer::new(), known: HashMap::new(), numbers: HashMap::new() }
    }
}

impl Lasting {
    /// Names the stacks of the events from number `from` on, gives them numbers of their own, and frees the
    /// kernel's.
    pub fn take(&mut self, map: &Map<'_>, seen: &mut Seen, from: usize) {
        if self.numbers.len() > REMEMBERED {
            (self.known, self.numbers) = Default::default();
            (seen.stacks.kernel, seen.stacks.user) = Default::default();
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
        let Some(stack) = u32::try_from(id).ok().and_then(|id| addresses(map, id)) else {
            return -1;
        };
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
        let number = i32::try_from(self.numbers.len()).unwrap_or(i32::MAX);
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
mod tests {
    use super::*;

    use std::fs::{File, remove_file};
    use std::process::{Command, id};

    /// What another user may put where a process has the names of its functions.
    #[test]
    fn a_pipe_or_a_link_in_the_place_of_names_is_not_waited_for() {
        let map = format!("/tmp/perf-{}.map", id());
        let heap = vec![0_u8; 4 << 20]; // a mapping of its own, without a file
        let address = heap.as_ptr() as u64 + 4096;
        let within = Duration::from_secs(60);
        let _ = remove_file(&map);
        assert!(!has_own_map(id()), "there is none");
        assert!(Command::new("mkfifo").arg(&map).status().unwrap().success());
        let mut namer = Namer::new();
        let result = namer.names(Some(id()), &[address], within);
        let is_pipe_left_alone = !has_own_map(id()) && namer.ask.is_some();
        remove_file(&map).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &map).unwrap();
        let is_link_left_alone = !has_own_map(id());
        remove_file(&map).unwrap();
        File::create(&map).unwrap().set_len(MAP_BYTES_MAX + 1).unwrap();
        let is_bomb_left_alone = !has_own_map(id());
        fs::write(&map, format!("{:x} 1000 of_a_compiler\n", address - 16)).unwrap();
        let own = Namer::new().names(Some(id()), &[address], within);
        remove_file(&map).unwrap();
        assert_eq!((result, own), (vec![UNKNOWN.to_string()], vec!["of_a_compiler".to_string()]));
        assert!(is_pipe_left_alone && is_link_left_alone && is_bomb_left_alone);
    }

    #[test]
    fn names_that_take_too_long_are_unknown_and_so_are_those_that_follow() {
        let mut namer = Namer::new();
        let (_keep, silent) = channel();
        namer.told = silent;
        let short = Duration::from_millis(10);
        assert_eq!(namer.names(None, &[1, 2], short), [UNKNOWN, UNKNOWN]);
        assert!(namer.ask.is_none(), "not asked again");
        assert_eq!(namer.names(None, &[3], Duration::from_secs(600)), [UNKNOWN]);
    }
}

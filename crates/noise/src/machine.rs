//! What this machine has: caches, free memory, room on a disk; and the footprints that follow.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use sojourn_base::Fault;

mod cgroup;

/// Where the kernel describes the caches of each CPU.
const CPUS: &str = "/sys/devices/system/cpu";
/// No one takes a larger part of a last-level cache by himself: a virtual machine may read the
/// host's whole cache, 260 MB, of which it owns a share that it cannot know.
pub const LLC_BYTES_MAX: u64 = 64 << 20;
/// Part of the available memory that one antagonist may take, asked or not.
const PART: u64 = 2;

/// A cache, by the kernel's words for level and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// First level, data.
    L1d,
    /// First level, instructions.
    L1i,
    /// Second level.
    L2,
    /// The last one.
    Last,
}

/// Size in bytes of a cache as the folder `root` has it; None where it is not known.
pub fn cache_bytes(root: &Path, cache: Cache) -> Option<u64> {
    let mut found: Vec<(u32, u64)> = Vec::new();
    for entry in fs::read_dir(root).ok()?.flatten() {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size"))
        else {
            continue;
        };
        let (Ok(level), Some(bytes)) = (level.trim().parse(), kernel_size(size.trim())) else {
            continue;
        };
        let is_meant = match cache {
            Cache::L1d => level == 1 && kind.trim() != "Instruction",
            Cache::L1i => level == 1 && kind.trim() != "Data",
            Cache::L2 => level == 2,
            Cache::Last => level > 1,
        };
        if is_meant {
            found.push((level, bytes));
        }
    }
    found.into_iter().max().map(|(_, bytes)| bytes)
}

/// `32K`, `1M` as in sysfs.
fn kernel_size(text: &str) -> Option<u64> {
    let scale = match text.chars().last()? {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].parse::<u64>().ok().map(|n| n * scale)
}

/// Where the kernel describes the caches of the CPU that the caller runs on: CPUs may be unlike.
fn own_caches() -> PathBuf {
    // SAFETY: it takes nothing and touches no memory; below zero it has failed.
    let cpu = unsafe { libc::sched_getcpu() }.max(0);
    Path::new(CPUS).join(format!("cpu{cpu}/cache"))
}

/// How much an antagonist on a cache touches, and why that much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes.
    pub bytes: u64,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Asked,
    Told,
    Capped(u64),
    Assumed,
}

impl Footprint {
    /// As asked, or the cache's size as `told`, capped; `usual` where the kernel does not tell.
    fn of(asked: Option<u64>, reported: Option<u64>, usual: u64, most: u64) -> Self {
        match (asked, reported) {
            (Some(bytes), _) => Self { bytes, why: Why::Asked },
            (None, Some(size)) if size > most => Self { bytes: most, why: Why::Capped(size) },
            (None, Some(bytes)) => Self { bytes, why: Why::Told },
            (None, None) => Self { bytes: usual.min(most), why: Why::Assumed },
        }
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "footprint {} KiB", self.bytes >> 10)?;
        match self.why {
            Why::Asked | Why::Told => Ok(()),
            Why::Capped(size) => write!(f, " of a cache of {} KiB", size >> 10),
            Why::Assumed => {
                write!(f, ", assumed: the kernel gives no size of this cache; give size")
            }
        }
    }
}

/// The footprint of an antagonist on a cache: as asked, or the cache's size, capped.
pub fn footprint(asked: Option<u64>, cache: Cache, usual: u64) -> Result<Footprint, Fault> {
    let most = match cache {
        Cache::Last => LLC_BYTES_MAX.min(available_bytes() / 4),
        _ => u64::MAX,
    };
    let result = Footprint::of(asked, cache_bytes(&own_caches(), cache), usual, most);
    fits(result.bytes)?;
    Ok(result)
}

/// `size`, if half of the available memory takes it.
pub fn fits(size: u64) -> Result<u64, Fault> {
    let most = available_bytes() / PART;
    if size > most {
        let (asked, free) = (size >> 20, available_bytes() >> 20);
        return Err(Fault::usage(
            format!("{asked} MiB are asked, {free} MiB of memory are available, half may be taken"),
            "params.size",
            format!("give a size of at most {}MiB", most >> 20),
        ));
    }
    Ok(size)
}

/// Memory that can be had without swapping, bytes: of the machine, or less where this process may use less.
/// Without a word from the kernel, all there is.
pub fn available_bytes() -> u64 {
    available_below(Path::new("/"))
}

fn available_below(root: &Path) -> u64 {
    let text = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let both = [available_in(&text), cgroup::available_bytes(root)];
    both.into_iter().flatten().min().unwrap_or(u64::MAX)
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, caches: &[(&str, &str, &str)]) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("noise-{name}-{}", std::process::id()));
        for (nth, (level, kind, size)) in caches.iter().enumerate() {
            let folder = root.join(format!("index{nth}"));
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(folder.join(file), format!("{text}\n")).unwrap();
            }
        }
        root
    }

    #[test]
    fn caches_are_distinguished_by_level_and_type() {
        let root = tree(
            "caches",
            &[
                ("1", "Data", "48K"),
                ("1", "Instruction", "32K"),
                ("2", "Unified", "2M"),
                ("3", "Unified", "266240K"),
            ],
        );
        let size = |cache| cache_bytes(&root, cache);
        assert_eq!(size(Cache::L1d), Some(48 << 10));
        assert_eq!(size(Cache::L1i), Some(32 << 10));
        assert_eq!(size(Cache::L2), Some(2 << 20));
        assert_eq!(size(Cache::Last), Some(260 << 20));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn without_a_third_level_the_second_is_the_last() {
        let root = tree("two", &[("1", "Data", "32K"), ("2", "Unified", "512K")]);
        assert_eq!(cache_bytes(&root, Cache::Last), Some(512 << 10));
        assert_eq!(cache_bytes(Path::new("/nowhere"), Cache::Last), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_footprint_over_memory_is_refused_with_both_numbers() {
        let fault = fits(u64::MAX >> 1).unwrap_err();
        assert!(fault.what.contains("available") && fault.exit == 2, "{fault}");
        assert_eq!(available_in("MemFree: 1 kB\nMemAvailable:   8 kB\n"), Some(8192));
        assert!(footprint(None, Cache::Last, 1 << 20).unwrap().bytes <= LLC_BYTES_MAX);
    }

    /// `docker run -m` on a machine with more.
    #[test]
    fn no_more_is_available_than_the_machine_and_the_cgroup_have() {
        let root = std::env::temp_dir().join(format!("noise-available-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("proc/meminfo", "MemAvailable: 64 kB\n");
        assert_eq!(available_below(&root), 64 << 10);
        write("proc/self/cgroup", "0::/\n");
        for (max, left) in [("9000", 8000), ("max", 64 << 10), ("900000", 64 << 10)] {
            write("sys/fs/cgroup/memory.max", max);
            write("sys/fs/cgroup/memory.current", "1000\n");
            assert_eq!(available_below(&root), left, "{max}");
        }
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(available_below(&root), u64::MAX);
    }

    #[test]
    fn a_size_that_is_only_assumed_says_so() {
        let text = |asked, told, most| Footprint::of(asked, told, 16 << 20, most).to_string();
        assert_eq!(text(Some(1 << 20), None, u64::MAX), "footprint 1024 KiB");
        assert_eq!(text(None, Some(32 << 10), u64::MAX), "footprint 32 KiB");
        assert_eq!(
            text(None, Some(260 << 20), 64 << 20),
            "footprint 65536 KiB of a cache of 266240 KiB"
        );
        let assumed = text(None, None, u64::MAX);
        assert!(assumed.starts_with("footprint 16384 KiB, assumed"), "{assumed}");
        assert_eq!(Footprint::of(None, None, 16 << 20, 1 << 20).bytes, 1 << 20);
    }
}

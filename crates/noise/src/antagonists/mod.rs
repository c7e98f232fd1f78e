//! Every antagonist, one file each. Adding one is a file like `syscalls.rs` and a line in [`KINDS`].

use sojourn_base::Fault;
use sojourn_base::kind::{self, Param};

use crate::antagonist::Entry;

mod cpu;
mod disk;
mod l1d;
mod l1i;
mod l2;
mod llc;
mod locks;
mod membw;
mod memcap;
mod network;
mod spread;
mod sweep;
mod syscalls;
mod tlb;
mod wakeups;
mod wave;

/// All kinds, in reading order.
pub const KINDS: &[Entry] = &[
    cpu::ENTRY,
    l1d::ENTRY,
    l1i::ENTRY,
    l2::ENTRY,
    llc::ENTRY,
    membw::ENTRY,
    memcap::ENTRY,
    tlb::ENTRY,
    disk::ENTRY,
    network::ENTRY,
    wakeups::ENTRY,
    syscalls::ENTRY,
    locks::ENTRY,
    wave::ENTRY,
];

/// The kind of that name.
pub fn find(name: &str) -> Result<&'static Entry, Fault> {
    kind::find(KINDS, name, "antagonist", "kind")
}

/// The parameter that says how much memory is taken.
const fn size(about: &'static str, default: &'static str) -> Param {
    Param { name: "size", unit: "bytes", about, default, range: "> 0, half of what is available" }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::intensity::Intensity;
    use crate::words::Words;

    /// Small, so that the whole table is built in no time.
    fn small(entry: &Entry) -> BTreeMap<String, String> {
        let has = |name: &str| entry.kind.params.iter().any(|param| param.name == name);
        let mut given = BTreeMap::new();
        if has("size") {
            given.insert("size".to_owned(), "256KiB".to_owned());
        }
        if has("direct") {
            given.insert("direct".to_owned(), "false".to_owned()); // a tmpfs may have none
        }
        given
    }

    #[test]
    fn every_kind_works_and_says_how_much_it_did() {
        for entry in KINDS {
            let words = Words::new(&entry.kind, &small(entry)).unwrap();
            let mut made = (entry.build)(&words, Intensity::Share(0.5))
                .unwrap_or_else(|fault| panic!("{}: {fault}", entry.kind.name));
            if made.wave.is_none() {
                let done = made.worker.work(3).unwrap();
                assert!((1..=1 << 20).contains(&done), "{}: {done}", entry.kind.name);
            }
        }
    }

    #[test]
    fn every_kind_describes_itself() {
        for entry in KINDS {
            let kind = &entry.kind;
            assert!(kind.about.len() > 10 && !entry.unit.is_empty(), "{}", kind.name);
            assert!(kind.usage.starts_with(kind.name), "{}", kind.name);
            for param in kind.params {
                assert!(!param.range.is_empty() && !param.about.is_empty(), "{}", param.name);
            }
        }
    }

    #[test]
    fn wrong_words_are_refused_by_name() {
        let fault = find("lcc").err().unwrap();
        assert!(fault.fix.contains("did you mean llc"), "{fault}");
        let entry = find("disk").unwrap();
        let refused = |name: &str, value: &str| {
            let input = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let words = Words::new(&entry.kind, &input);
            words.and_then(|words| (entry.build)(&words, Intensity::Share(1.0))).err().unwrap()
        };
        assert!(refused("acess", "random").fix.contains("did you mean access"));
        assert!(refused("access", "randm").fix.contains("did you mean random"));
        assert_eq!(refused("size", "0").at, "params.size");
        assert!(refused("folder", "/nowhere/at/all").what.contains("cannot be made"));
    }
}

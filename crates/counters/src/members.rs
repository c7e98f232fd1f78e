//! Which processes are the service: the session of its first one, and all that descend from it.
//!
//! All of `/proc` is looked through once, and then so seldom that it costs next to nothing; in
//! between the kernel's lists of children tell of new ones. A number that was given to another process
//! is noticed by the time at which that started.

use std::collections::{BTreeMap, HashMap};

use sojourn_base::clock::{Clock, Monotonic, thread_cpu_ns};

use crate::reader::Reader;

/// Of the time, what looking through all of `/proc` may take is one part in so many.
const SEARCH_PARTS: u64 = 10_000;
/// Fields of `/proc/PID/stat` after the name (proc(5)).
const PARENT: usize = 1;
const SESSION: usize = 3;
const START: usize = 19;

/// One process and its threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub pid: u32,
    /// Numbers of its threads, ascending.
    pub tids: Vec<u32>,
}

/// What tells processes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    session: u32,
    start: u64,
}

/// The processes of one service.
#[derive(Debug)]
pub struct Members {
    leader: u32,
    /// When each started, ticks after boot.
    known: BTreeMap<u32, u64>,
    search_ns: u64,
}

impl Members {
    /// Those of the session that `leader` opened.
    pub fn new(leader: u32) -> Self {
        Self { leader, known: BTreeMap::new(), search_ns: 0 }
    }

    /// Those that live now, ascending; `stat` of each is stored. None: all have ended.
    pub fn look(&mut self, reader: &mut Reader) -> Vec<Member> {
        let mut found = BTreeMap::new();
        for (pid, start) in std::mem::take(&mut self.known) {
            add(reader, &mut found, pid, Some(start));
        }
        if Monotonic.now_ns() >= self.search_ns {
            let before_ns = thread_cpu_ns();
            for pid in self.search(reader) {
                if !found.contains_key(&pid) {
                    add(reader, &mut found, pid, None);
                }
            }
            let cost_ns = thread_cpu_ns() - before_ns;
            self.search_ns = Monotonic.now_ns() + cost_ns * SEARCH_PARTS;
        }
        add_children(reader, &mut found);
        self.known = found.iter().map(|(&pid, (start, _))| (pid, *start)).collect();
        found.into_iter().map(|(pid, (_, tids))| Member { pid, tids }).collect()
    }

    /// All of the session, and what descends from any of it.
    fn search(&self, reader: &mut Reader) -> Vec<u32> {
        let mut stats: HashMap<u32, Stat> = HashMap::new();
        for pid in reader.numbers("/proc") {
            let text = reader.read_once(&format!("/proc/{pid}/stat"));
            stats.extend(text.as_deref().and_then(parse).map(|stat| (pid, stat)));
        }
        let is_of_session = |(&pid, stat): (&u32, &Stat)| {
            (stat.session == self.leader || pid == self.leader).then_some(pid)
        };
        let mut mine: Vec<u32> = stats.iter().filter_map(is_of_session).collect();
        let mut at = 0;
        while let Some(&parent) = mine.get(at) {
            let children = stats.iter().filter(|(_, stat)| stat.parent == parent);
            let new: Vec<u32> =
                children.map(|(&pid, _)| pid).filter(|p| !mine.contains(p)).collect();
            mine.extend(new);
            at += 1;
        }
        mine
    }
}

type Found = BTreeMap<u32, (u64, Vec<u32>)>;

/// Adds a process that lives, and that started then, if that is known.
fn add(reader: &mut Reader, result: &mut Found, pid: u32, start: Option<u64>) -> bool {
    let path = format!("/proc/{pid}/stat");
    let Some(text) = reader.read(&path) else { return false };
    let Some(stat) = parse(&text).filter(|stat| start.is_none_or(|start| stat.start == start))
    else {
        return false;
    };
    reader.put(path, text);
    let tids = reader.numbers(&format!("/proc/{pid}/task"));
    result.insert(pid, (stat.start, tids));
    true
}

/// Those that known ones have started since, where the kernel lists them.
fn add_children(reader: &mut Reader, result: &mut Found) {
    let mut new: Vec<u32> = result.keys().copied().collect();
    while let Some(pid) = new.pop() {
        for tid in result[&pid].1.clone() {
            let text = reader.read(&format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
            for child in text.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
                if !result.contains_key(&child) && add(reader, result, child, None) {
                    new.push(child);
                }
            }
        }
    }
}

/// The second field, a name in brackets, may hold anything.
fn parse(stat: &str) -> Option<Stat> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(Stat {
        parent: number(PARENT)? as u32,
        session: number(SESSION)? as u32,
        start: number(START)?,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_name_may_hold_brackets_and_blanks() {
        let rest = "S 7 8 9 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 4242 4096 3 0";
        let stat = parse(&format!("12 (a (b) c) {rest}\n")).unwrap();
        assert_eq!(stat, Stat { parent: 7, session: 9, start: 4242 });
        assert_eq!(parse("12 (a) S 7"), None);
    }

    #[test]
    fn children_are_found_and_one_that_ended_is_not_kept() {
        let script = "sleep 30 & read line; kill $!; wait; read line; exit";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut members, mut reader) = (Members::new(shell.id()), Reader::default());
        let mut wait_for = |count: usize| {
            let result = |_| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                let result = members.look(&mut reader);
                let paths: Vec<String> =
                    result.iter().map(|one| format!("/proc/{}/stat", one.pid)).collect();
                let retained: Vec<String> = reader.end().into_iter().map(|entry| entry.0).collect();
                assert!(paths.iter().all(|path| retained.contains(path)), "{retained:?}");
                (result.len() == count).then_some(result)
            };
            (0..2000).find_map(result).expect("it comes, and goes, within seconds")
        };
        assert!(wait_for(2).iter().all(|one| one.tids == [one.pid]));
        let stdin = shell.stdin.as_mut().unwrap();
        std::io::Write::write_all(stdin, b"\n").unwrap();
        assert_eq!(wait_for(1)[0].pid, shell.id());
        shell.kill().unwrap();
        shell.wait().unwrap();
        wait_for(0);
    }
}

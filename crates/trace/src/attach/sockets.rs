//! What /proc says of processes and of TCP sockets, read once for many processes.
//!
//! A service may have a process for each connection. All of them see the same sockets, and to read the kernel's list
//! anew for each of a thousand would take seconds.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use sojourn_base::process;

/// State of a socket that listens, as the kernel writes it.
const LISTEN: &str = "0A";

/// Processes and sockets as they were when each was first asked for.
pub struct Census<'a> {
    /// Where /proc is.
    pub proc_root: &'a Path,
    /// Children of each process.
    children: Option<HashMap<u32, Vec<u32>>>,
    /// By network namespace: the TCP sockets by their inode, and where one listens.
    sockets: HashMap<PathBuf, HashMap<u64, Option<u16>>>,
}

impl<'a> Census<'a> {
    /// Of the processes below `proc_root`, of which nothing is read yet.
    pub fn new(proc_root: &'a Path) -> Self {
        Self { proc_root, children: None, sockets: HashMap::new() }
    }

    /// A process and all its descendants.
    pub fn family(&mut self, pid: u32) -> Vec<u32> {
        let children = self.children.get_or_insert_with(|| children(self.proc_root));
        let mut family = vec![pid];
        let mut next = 0;
        while next < family.len() {
            family.extend(children.get(&family[next]).into_iter().flatten());
            next += 1;
        }
        family
    }

    /// Ports of the listening TCP sockets that a process holds open.
    pub fn listening(&mut self, pid: u32) -> BTreeSet<u16> {
        self.held(pid).into_iter().flatten().collect()
    }

    /// Whether any of these processes holds a TCP socket open.
    pub fn have_tcp(&mut self, pids: &[u32]) -> bool {
        pids.iter().any(|pid| !self.held(*pid).is_empty())
    }

    /// TCP sockets that a process holds open, each by the port where it listens.
    fn held(&mut self, pid: u32) -> Vec<Option<u16>> {
        let folder = process::folder(self.proc_root, pid);
        // Without a name for its namespace it has one of its own.
        let namespace = fs::read_link(folder.join("ns/net")).unwrap_or_else(|_| folder.clone());
        let sockets = self.sockets.entry(namespace).or_insert_with(|| sockets(&folder));
        socket_inodes(&folder).iter().filter_map(|inode| sockets.get(inode).copied()).collect()
    }
}

fn children(proc_root: &Path) -> HashMap<u32, Vec<u32>> {
    let mut children = HashMap::<u32, Vec<u32>>::new();
    for pid in pids(proc_root) {
        if let Some(parent) = parent(proc_root, pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

fn pids(proc_root: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(proc_root) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Field 4 of `stat`; the name before it may hold any bytes.
fn parent(proc_root: &Path, pid: u32) -> Option<u32> {
    let stat = fs::read(proc_root.join(format!("{pid}/stat"))).ok()?;
    String::from_utf8_lossy(&stat).rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// All TCP sockets of the network namespace that a process is in.
fn sockets(folder: &Path) -> HashMap<u64, Option<u16>> {
    let tables = ["net/tcp", "net/tcp6"];
    let tables = tables.into_iter().filter_map(|file| fs::read_to_string(folder.join(file)).ok());
    let mut sockets = HashMap::new();
    for table in tables {
        sockets.extend(table.lines().skip(1).filter_map(socket_line));
    }
    sockets
}

/// Inode of a line of `/proc/net/tcp`, and the local port if it listens.
fn socket_line(line: &str) -> Option<(u64, Option<u16>)> {
    let mut fields = line.split_whitespace();
    let port = u16::from_str_radix(fields.nth(1)?.rsplit_once(':')?.1, 16).ok()?;
    let is_listening = fields.nth(1)? == LISTEN;
    Some((fields.nth(5)?.parse().ok()?, is_listening.then_some(port)))
}

fn socket_inodes(folder: &Path) -> BTreeSet<u64> {
    let Ok(entries) = fs::read_dir(folder.join("fd")) else { return BTreeSet::new() };
    let inode = |link: PathBuf| {
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok()
    };
    entries.flatten().filter_map(|entry| inode(fs::read_link(entry.path()).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn line(port: u16, state: &str, inode: u64) -> String {
        format!(
            "   0: 0100007F:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  \
             0        0 {inode} 1 0000000000000000 100 0 0 10 0"
        )
    }

    #[test]
    fn the_kernels_table_is_read() {
        assert_eq!(socket_line(&line(11211, "0A", 21233)), Some((21233, Some(11211))));
        assert_eq!(socket_line(&line(11211, "01", 21234)), Some((21234, None)));
        assert_eq!(socket_line("  sl  local_address"), None);
    }

    /// Of 1,000 processes in one namespace the sockets are read once; those of another namespace are others.
    #[test]
    fn sockets_are_read_once_for_each_network_namespace() {
        let root = std::env::temp_dir().join(format!("sojourn-sockets-{}", std::process::id()));
        let put = |pid: u32, parent: u32, namespace: &str, table: &[String], inode: u64| {
            let own = root.join(pid.to_string());
            for folder in ["ns", "net", "fd"] {
                fs::create_dir_all(own.join(folder)).unwrap();
            }
            fs::write(own.join("stat"), format!("{pid} (x) S {parent} 1")).unwrap();
            fs::write(own.join("net/tcp"), format!("  sl\n{}\n", table.join("\n"))).unwrap();
            symlink(namespace, own.join("ns/net")).unwrap();
            symlink(format!("socket:[{inode}]"), own.join("fd/3")).unwrap();
        };
        put(10, 1, "net:[1]", &[line(80, "0A", 100), line(80, "01", 101)], 100);
        put(11, 10, "net:[1]", &[], 101);
        put(12, 11, "net:[1]", &[], 999);
        put(13, 1, "net:[2]", &[line(443, "0A", 100)], 100);
        let mut census = Census::new(&root);
        let ports = [10, 11, 12, 13].map(|pid| Vec::from_iter(census.listening(pid)));
        assert_eq!(ports, [vec![80], vec![], vec![], vec![443]]);
        assert!(census.have_tcp(&[12, 11]) && !census.have_tcp(&[12]));
        assert_eq!(census.family(10), [10, 11, 12]);
        put(14, 12, "net:[1]", &[], 100);
        assert_eq!(census.family(10), [10, 11, 12], "processes are listed once, too");
        fs::remove_dir_all(&root).unwrap();
    }
}

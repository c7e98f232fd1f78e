//! Whom to watch: a process with its children, all processes of a name, or all of a control group.
//!
//! Takes the root of /proc as an argument, so that tests can fake it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sojourn_base::Fault;

use crate::attach::sockets::Census;
use crate::attach::target;
use crate::judge::result::TargetFacts;

/// Processes at most: the kernel's table, `bpf/tgids.h`, has 16,384 rows, and children that start later need some.
const MOST: usize = 16_000;
/// Of a control group's name, at least so many letters of a container's id.
const ID: usize = 12;

/// How the service is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A process.
    Pid(u32),
    /// Every process of this name.
    Comm(String),
    /// Every process in a control group of this name, or of a container of this id.
    Group(String),
}

impl By {
    /// From the command line; exactly one of the three.
    ///
    /// # Errors
    /// None, several, or a name that none can have.
    pub fn read(pid: u32, comm: Option<&str>, group: Option<&str>) -> Result<Self, Fault> {
        let named =
            usize::from(pid != 0) + usize::from(comm.is_some()) + usize::from(group.is_some());
        if named != 1 {
            let fix = "give one of --pid 4242, --comm memcached, --cgroup memcached.service";
            return Err(Fault::usage("the black box needs one service to watch", "--ring", fix));
        }
        let is_name = |text: &str| !text.is_empty() && !text.contains(['\0', '\n']);
        match (comm, group) {
            (Some(comm), _) if is_name(comm) && comm.len() < 16 => Ok(Self::Comm(comm.into())),
            (Some(comm), _) => {
                let fix = "give the name in /proc/PID/comm, which has 1 to 15 bytes";
                Err(Fault::usage(format!("no process can be called '{comm}'"), "--comm", fix))
            }
            (_, Some(group)) if is_name(group.trim_matches('/')) => {
                Ok(Self::Group(group.trim_matches('/').into()))
            }
            (_, Some(group)) => {
                let fix = "give a name or a path as in /proc/PID/cgroup";
                Err(Fault::usage(format!("no control group is called '{group}'"), "--cgroup", fix))
            }
            _ => Ok(Self::Pid(pid)),
        }
    }

    /// Whom it watches, in words for the log.
    pub fn words(&self) -> String {
        match self {
            Self::Pid(pid) => format!("process {pid}"),
            Self::Comm(comm) => format!("`{comm}`"),
            Self::Group(group) => format!("control group {group}"),
        }
    }

    /// The processes that are named so.
    pub fn roots(&self, proc_root: &Path) -> Vec<u32> {
        match self {
            Self::Pid(pid) => vec![*pid],
            Self::Comm(comm) => all(proc_root)
                .filter(|pid| target::name(proc_root, *pid).as_ref() == Some(comm))
                .collect(),
            Self::Group(group) => {
                all(proc_root).filter(|pid| is_in(proc_root, *pid, group)).collect()
            }
        }
    }

    /// The service as it is now, with the ports that it listens on; `None`: there is none, or it does not listen
    /// yet. `ports` replace those that are found. `never`: processes that are none of it.
    pub fn look(&self, proc_root: &Path, ports: &[u16], never: &[u32]) -> Option<TargetFacts> {
        let (mut pids, mut open, mut name) = (BTreeSet::new(), BTreeSet::new(), None);
        let mut census = Census::new(proc_root);
        for pid in self.roots(proc_root).into_iter().filter(|pid| !never.contains(pid)) {
            if pids.contains(&pid) {
                continue;
            }
            let Ok(listed) = target::find_in(&mut census, pid, ports) else { continue };
            name.get_or_insert((listed.pid, listed.name));
            pids.extend(listed.pids);
            open.extend(listed.ports);
        }
        let (pid, name) = name?;
        let pids = pids.into_iter().take(MOST).collect();
        Some(TargetFacts { pid, name, pids, ports: open.into_iter().collect() })
    }
}

fn all(proc_root: &Path) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(proc_root).into_iter().flatten().flatten();
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids.into_iter()
}

/// Whether a process is in a control group of that name, of either version.
fn is_in(proc_root: &Path, pid: u32, group: &str) -> bool {
    let text = fs::read_to_string(proc_root.join(format!("{pid}/cgroup"))).unwrap_or_default();
    text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).any(|path| is_of(path, group))
}

/// A whole path, some of its last parts, or the id of a container in a part: `docker-ID.scope`, `ID`.
fn is_of(path: &str, group: &str) -> bool {
    let path = path.trim_matches('/');
    let is_id = group.len() >= ID && group.chars().all(|c| c.is_ascii_hexdigit());
    let has_id = |part: &str| {
        let id = part.trim_end_matches(".scope").rsplit('-').next().unwrap_or_default();
        is_id && id.starts_with(group)
    };
    format!("/{path}/").contains(&format!("/{group}/")) || path.split('/').any(has_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_service_is_named_in_one_way() {
        assert_eq!(By::read(4, None, None), Ok(By::Pid(4)));
        assert_eq!(By::read(0, Some("memcached"), None), Ok(By::Comm("memcached".into())));
        assert_eq!(By::read(0, None, Some("/a/b/")), Ok(By::Group("a/b".into())));
        for (pid, comm, group, at) in [
            (0, None, None, "--ring"),
            (4, Some("x"), None, "--ring"),
            (0, Some(""), None, "--comm"),
            (0, Some("sixteen-letters!"), None, "--comm"),
            (0, None, Some("/"), "--cgroup"),
        ] {
            assert_eq!(By::read(pid, comm, group).unwrap_err().at, at);
        }
    }

    #[test]
    fn a_group_is_known_by_path_name_or_containers_id() {
        let id = "3f4e9d2b7c1a0f4e9d2b7c1a";
        for (path, group, wanted) in [
            ("/system.slice/memcached.service", "memcached.service", true),
            ("/system.slice/memcached.service/sub", "system.slice/memcached.service", true),
            ("/system.slice/my-memcached.service", "memcached.service", false),
            ("/system.slice/docker-3f4e9d2b7c1a0f4e9d2b7c1a.scope", id, true),
            ("/docker/3f4e9d2b7c1a0f4e9d2b7c1a", "3f4e9d2b7c1a", true),
            ("/docker/3f4e9d2b7c1a0f4e9d2b7c1a", "3f4e", false),
            ("/", "memcached.service", false),
        ] {
            assert_eq!(is_of(path, group), wanted, "{path} {group}");
        }
    }

    #[test]
    fn this_process_is_known_by_its_name_and_not_without_a_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proc_root = Path::new("/proc");
        let own = std::process::id();
        let comm = target::name(proc_root, own).unwrap();
        let listed = By::Comm(comm.clone()).look(proc_root, &[], &[]).unwrap();
        assert!(listed.pids.contains(&own) && listed.ports.contains(&port));
        assert_eq!(By::Comm(comm).look(proc_root, &[], &listed.pids), None, "it is left out");
        assert_eq!(By::Pid(u32::MAX).look(proc_root, &[], &[]), None);
        assert_eq!(By::Group("no-such.service".into()).look(proc_root, &[], &[]), None);
    }

    /// A process for each connection.
    #[test]
    fn all_processes_of_a_large_service_are_watched() {
        let root = std::env::temp_dir().join(format!("sojourn-many-{}", std::process::id()));
        let put = |pid: u32, parent: u32| {
            let own = root.join(pid.to_string());
            fs::create_dir_all(own.join("fd")).unwrap();
            fs::write(own.join("stat"), format!("{pid} (many) S {parent} 1")).unwrap();
            fs::write(own.join("comm"), "many\n").unwrap();
            own
        };
        let own = put(10, 1);
        (11..=1_510).for_each(|pid| drop(put(pid, 10)));
        fs::create_dir(own.join("net")).unwrap();
        let line = "0: 0100007F:2BCB 00000000:0000 0A 0:0 0:0 0 0 0 21233 1";
        fs::write(own.join("net/tcp"), format!("  sl\n {line}\n")).unwrap();
        std::os::unix::fs::symlink("socket:[21233]", own.join("fd/3")).unwrap();
        let listed = By::Comm("many".into()).look(&root, &[], &[]);
        fs::remove_dir_all(&root).unwrap();
        let listed = listed.unwrap();
        assert_eq!((listed.pids.len(), listed.ports), (1_501, vec![11211]));
    }
}

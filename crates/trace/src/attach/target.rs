//! Whom we look at: the processes of a service and the TCP ports they listen on, from /proc.
//!
//! Takes the root of /proc as an argument, so that tests can fake it.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use sojourn_base::Fault;
use sojourn_base::process;
use sojourn_base::visible::in_line;

use crate::attach::sockets::Census;

/// A running service: its process, threads and listening ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// As asked for.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// It and its descendants (NGINX's workers under their master).
    pub pids: Vec<u32>,
    /// TCP ports any of them listens on.
    pub ports: Vec<u16>,
}

/// Finds the service of `pid`; `ports` replaces what is found if it is not empty.
pub fn find(proc_root: &Path, pid: u32, ports: &[u16]) -> Result<Target, Fault> {
    find_in(&mut Census::new(proc_root), pid, ports)
}

/// The same where more than one is to be found.
pub fn find_in(census: &mut Census<'_>, pid: u32, ports: &[u16]) -> Result<Target, Fault> {
    let proc_root = census.proc_root;
    let folder = process::folder(proc_root, pid);
    let Some(name) = name(proc_root, pid).map(|name| in_line(&name)) else {
        return Err(Fault::usage(
            format!("there is no process {pid}"),
            "--pid",
            "give the id of a running server: pgrep memcached",
        ));
    };
    if !process::lives(proc_root, pid) {
        return Err(Fault::usage(
            format!("process {pid} ({name}) has ended"),
            "--pid",
            "give the id of a running server: pgrep memcached",
        ));
    }
    if fs::read_link(folder.join("exe")).is_err() && is_kernel_thread(&folder) {
        return Err(Fault::usage(
            format!("process {pid} ({name}) is a kernel thread"),
            "--pid",
            "give the id of a server",
        ));
    }
    may_look_at(&folder, pid, &name)?;
    let pids = census.family(pid);
    let mut found = BTreeSet::new();
    for &member in &pids {
        found.extend(census.listening(member));
    }
    let listens = !found.is_empty();
    let ports: Vec<u16> =
        if ports.is_empty() { found.into_iter().collect() } else { ports.to_vec() };
    if ports.is_empty() || !listens && !census.have_tcp(&pids) {
        for &member in &pids {
            may_look_at(&process::folder(proc_root, member), member, &name)?;
        }
        return Err(Fault::usage(
            format!("process {pid} ({name}) listens on no TCP port, nor do its children"),
            "--pid",
            "give the process that accepts connections; UDP and Unix sockets cannot be traced",
        ));
    }
    Ok(Target { pid, name, pids, ports })
}

/// Which process has these sockets is seen in its open files, which only its owner can read. In a user namespace
/// root may list them, and read none.
fn may_look_at(folder: &Path, pid: u32, name: &str) -> Result<(), Fault> {
    let is_refused =
        |result: io::Error| (result.kind() == io::ErrorKind::PermissionDenied).then_some(());
    let refused = match fs::read_dir(folder.join("fd")) {
        Err(error) => is_refused(error),
        Ok(files) => files.flatten().find_map(|file| is_refused(fs::read_link(file.path()).err()?)),
    };
    if refused.is_none() {
        return Ok(());
    }
    Err(Fault::usage(
        format!("no right to see the open files of process {pid} ({name}): CAP_SYS_PTRACE missing"),
        format!("/proc/{pid}/fd"),
        "run as root (of the machine, not of a user namespace), as the server's own user, or with cap_sys_ptrace",
    ))
}

/// Name of a process; `None` if there is none.
pub fn name(proc_root: &Path, pid: u32) -> Option<String> {
    comm(&proc_root.join(pid.to_string()))
}

/// Name of a thread; empty if it is gone.
pub fn thread_name(proc_root: &Path, tgid: u32, tid: u32) -> String {
    comm(&proc_root.join(format!("{tgid}/task/{tid}"))).unwrap_or_default()
}

/// The name in a folder of /proc; it may hold any bytes.
fn comm(folder: &Path) -> Option<String> {
    let comm = fs::read(folder.join("comm")).ok()?;
    Some(String::from_utf8_lossy(&comm).trim_end().to_owned())
}

/// Kernel threads have no command line and no memory map.
fn is_kernel_thread(folder: &Path) -> bool {
    let is_empty = |file: &str| fs::read(folder.join(file)).is_ok_and(|bytes| bytes.is_empty());
    is_empty("cmdline") && is_empty("maps")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PROC: &str = "/proc";

    #[test]
    fn this_process_is_found_by_the_port_it_listens_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = find(Path::new(PROC), std::process::id(), &[]).unwrap();
        assert!(target.ports.contains(&port));
        assert!(target.pids.contains(&std::process::id()));
    }

    #[test]
    fn a_pid_that_is_none_is_refused_with_the_flag() {
        let fault = find(Path::new(PROC), u32::MAX, &[]).unwrap_err();
        assert_eq!((fault.at.as_str(), fault.exit), ("--pid", 2));
    }

    #[test]
    fn a_process_without_sockets_is_refused() {
        let mut sleep = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let fault = find(Path::new(PROC), sleep.id(), &[]).unwrap_err();
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        assert!(fault.what.contains("no TCP port"), "{fault}");
    }

    #[test]
    fn a_name_begins_no_line_of_a_message() {
        let root = std::env::temp_dir().join(format!("sojourn-line-{}", std::process::id()));
        fs::create_dir_all(root.join("10")).unwrap();
        fs::write(root.join("10/comm"), b"a\nfix: rm\n").unwrap();
        let fault = find(&root, 10, &[]).unwrap_err();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(fault.what, "process 10 (a\\x0afix: rm) has ended");
    }

    #[test]
    fn names_may_hold_any_bytes() {
        let root = std::env::temp_dir().join(format!("sojourn-comm-{}", std::process::id()));
        let thread = root.join("10/task/11");
        fs::create_dir_all(&thread).unwrap();
        for folder in [root.join("10"), thread] {
            fs::write(folder.join("comm"), b"a\xff\n").unwrap();
        }
        let names = (name(&root, 10), thread_name(&root, 10, 11));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(names, (Some("a\u{fffd}".into()), "a\u{fffd}".into()));
    }

    /// Files, network and program of a process are in the folders of those of its threads that run.
    #[test]
    fn a_process_is_found_after_its_first_thread_has_ended() {
        let root = std::env::temp_dir().join(format!("sojourn-target-{}", std::process::id()));
        let put = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for ended in ["10", "10/task/10", "20"] {
            put(&format!("{ended}/stat"), "10 (server) Z 1 10 10");
            put(&format!("{ended}/comm"), "server\n");
            put(&format!("{ended}/cmdline"), "");
            put(&format!("{ended}/maps"), "");
        }
        put("10/task/11/stat", "11 (worker) S 1 10 10");
        put("10/task/11/cmdline", "server");
        let line = "0: 0100007F:2BCB 00000000:0000 0A 0:0 0:0 0 0 0 21233 1";
        put("10/task/11/net/tcp", &format!("  sl  local_address\n {line}\n"));
        fs::create_dir(root.join("10/task/11/fd")).unwrap();
        std::os::unix::fs::symlink("socket:[21233]", root.join("10/task/11/fd/3")).unwrap();
        let (result, ended) = (find(&root, 10, &[]), find(&root, 20, &[]));
        fs::remove_dir_all(&root).unwrap();
        let result = result.unwrap();
        assert_eq!((result.pids, result.ports), (vec![10], vec![11211]));
        assert_eq!(ended.unwrap_err().what, "process 20 (server) has ended");
    }
}

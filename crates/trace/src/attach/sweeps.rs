//! Going over connections when a window ends: those that the service has open, or all of the machine.
//!
//! The kernel lists TCP sockets from a table of 100,000 rows and more, whatever is in it: 2 ms of a CPU, whose
//! cache holds nothing else afterwards. The service's own descriptors take some microseconds. But a connection may
//! have none: not accepted yet, closed and not gone, or one of `io_uring`'s own.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};

use libbpf_rs::libbpf_sys;
use libbpf_rs::{Iter, IterOpts, Link, MapHandle, Object};
use sojourn_base::Fault;

use crate::attach::hooks::{Hook, ON_END, ON_FILE};
use crate::attach::kernel::refused;
use crate::attach::load;
use crate::attach::netns::NetworkNamespace;

/// Of a service of more processes, their descriptors take as long as all sockets.
const PROCESSES: usize = 32;

/// What goes over connections. It costs nothing until it is asked.
pub struct Sweeps {
    all: Option<Link>,
    namespaces: Vec<NetworkNamespace>,
    /// The program; `None`: this kernel cannot go over one process (before 6.1).
    of_process: Option<OwnedFd>,
    tgids: MapHandle,
}

impl Sweeps {
    /// For a loaded object and the namespaces that its connections are in.
    pub fn new(object: &Object, namespaces: Vec<NetworkNamespace>) -> Result<Self, Fault> {
        let all = iterator(object, &ON_END).map_err(refused)?;
        let program = load::program(object, ON_FILE.program);
        let program = program.and_then(|program| program.as_fd().try_clone_to_owned().ok());
        let of_process = program.filter(|program| link(program, std::process::id()).is_ok());
        let tgids = MapHandle::try_from(&load::map(object, "tgids")?).map_err(refused)?;
        Ok(Self { all, namespaces, of_process, tgids })
    }

    /// Whether all connections can be gone over, and those of one process.
    pub fn are_there(&self) -> (bool, bool) {
        (self.all.is_some(), self.of_process.is_some())
    }

    /// Over all connections of the service's network namespaces; what is written there.
    pub fn all(&self) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let Some(link) = &self.all else { return Ok(bytes) };
        for namespace in &self.namespaces {
            bytes.extend(namespace.inside(|| go_over(link))?);
        }
        Ok(bytes)
    }

    /// Over those that the service's processes have open. False: it cannot be done.
    pub fn open(&self) -> bool {
        let Some(program) = &self.of_process else { return false };
        let pids = load::pids(&self.tgids);
        let over = |pid: &u32| link(program, *pid).and_then(|link| read_all(&link)).is_ok();
        pids.len() <= PROCESSES && pids.iter().all(over)
    }
}

/// An iterator that goes over all there is; `None`: the object has no such program.
pub fn iterator(object: &Object, hook: &Hook) -> Result<Option<Link>, libbpf_rs::Error> {
    let program = load::program(object, hook.program);
    program.map(|program| program.attach_iter_with_opts(IterOpts::None)).transpose()
}

/// Lets an iterator go over all there is; what it writes.
pub fn go_over(link: &Link) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let mut iter = Iter::new(link).map_err(refused)?;
    iter.read_to_end(&mut bytes).map_err(|error| {
        Fault::failed(
            format!("cannot go over threads or connections: {error}"),
            "bpf_iter",
            "report it",
        )
    })?;
    Ok(bytes)
}

/// An iterator over one process, which libbpf-rs cannot make. Kernels before 6.1 refuse it.
fn link(program: &OwnedFd, pid: u32) -> io::Result<OwnedFd> {
    let mut info = libbpf_sys::bpf_iter_link_info::default();
    info.task.pid = pid;
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as _,
        iter_info: &raw mut info,
        iter_info_len: size_of_val(&info) as u32,
        ..Default::default()
    };
    // SAFETY: the options and what they point to live through the call and say their own sizes.
    owned(unsafe {
        libbpf_sys::bpf_link_create(
            program.as_raw_fd(),
            0,
            libbpf_sys::BPF_TRACE_ITER,
            &raw const options,
        )
    })
}

fn read_all(link: &OwnedFd) -> io::Result<()> {
    // SAFETY: plain system call; the result is checked.
    let iter = owned(unsafe { libbpf_sys::bpf_iter_create(link.as_raw_fd()) })?;
    std::fs::File::from(iter).read_to_end(&mut Vec::new()).map(|_| ())
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

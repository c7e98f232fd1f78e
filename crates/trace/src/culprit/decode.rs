//! From the ring's bytes, each a `struct told` of `bpf/culprit.h`, to what was seen.

use super::seen::{File, Irq, Off, OffKind, Run, Seen, Waker};
use crate::reconstruct::bytes::{u32_at, u64_at};
use crate::reconstruct::layout::told;

/// Bytes of a `struct told`.
pub const SIZE: usize = told::SIZE;
/// Where its two texts lie.
const COMM: std::ops::Range<usize> = told::COMM..told::NAME;
const NAME: std::ops::Range<usize> = told::NAME..SIZE;
/// Things retained of one trace: a quarter of a gigabyte. What comes later is lost, and counted.
const MOST: usize = 1_500_000;

impl Seen {
    /// Takes one thing in; what is not understood counts as lost.
    pub fn take(&mut self, bytes: &[u8]) {
        if bytes.len() < SIZE || self.runs.len() + self.offs.len() + self.irqs.len() >= MOST {
            self.losses.lost += 1;
            return;
        }
        match u32_at(bytes, told::KIND) {
            0 => {
                let run = self.run(bytes);
                self.runs.push(run);
            }
            1 => {
                let off = self.off(bytes);
                self.offs.extend(off);
            }
            _ => self.irqs.push(irq(bytes)),
        }
    }

    fn run(&mut self, bytes: &[u8]) -> Run {
        let flags = u32_at(bytes, told::WHAT);
        Run {
            cpu: u32_at(bytes, told::CPU),
            tid: u32_at(bytes, told::TID),
            tgid: u32_at(bytes, told::TGID),
            from_ns: u64_at(bytes, told::FROM_NS),
            to_ns: u64_at(bytes, told::TO_NS),
            is_kernel: flags & 1 != 0,
            is_own: flags & 2 != 0,
            comm: self.names.keep(&text(&bytes[COMM])),
            group: self.names.keep(&text(&bytes[NAME])),
        }
    }

    fn off(&mut self, bytes: &[u8]) -> Option<Off> {
        let kind = match u32_at(bytes, told::WHAT) {
            1 => OffKind::Preempted,
            2 => OffKind::Asleep,
            3 => OffKind::Stopped,
            _ => return None,
        };
        let (waker, mode) = (u32_at(bytes, told::WAKER_TID), u32_at(bytes, told::MODE));
        let comm = self.names.keep(&text(&bytes[COMM]));
        let name = self.names.keep(&text(&bytes[NAME]));
        Some(Off {
            tid: u32_at(bytes, told::TID),
            tgid: u32_at(bytes, told::TGID),
            cpu: u32_at(bytes, told::CPU),
            kind,
            from_ns: u64_at(bytes, told::FROM_NS),
            woken_ns: u64_at(bytes, told::WOKEN_NS),
            here_ns: u64_at(bytes, told::HERE_NS),
            to_ns: u64_at(bytes, told::TO_NS),
            is_idle: u32_at(bytes, told::IS_IDLE) != 0,
            call: u32::try_from(u32_at(bytes, told::CALL) as i32).ok(),
            kernel_stack: u32_at(bytes, told::KERNEL_STACK) as i32,
            user_stack: u32_at(bytes, told::USER_STACK) as i32,
            waker: (waker != 0).then(|| Waker {
                tid: waker,
                tgid: u32_at(bytes, told::WAKER_TGID),
                comm,
                is_irq: u32_at(bytes, told::WAKER_IS_IRQ) != 0,
            }),
            file: (mode != 0).then(|| File { mode, device: u32_at(bytes, told::DEVICE), name }),
        })
    }
}

fn irq(bytes: &[u8]) -> Irq {
    Irq {
        cpu: u32_at(bytes, told::CPU),
        tid: u32_at(bytes, told::TID),
        vector: u32_at(bytes, told::WHAT),
        number: u32_at(bytes, told::CALL),
        from_ns: u64_at(bytes, told::FROM_NS),
        to_ns: u64_at(bytes, told::TO_NS),
        ns: u64_at(bytes, told::WOKEN_NS),
    }
}

/// Up to the first zero.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct told` field by field, in the order of `bpf/culprit.h`.
    fn told(kind: u32, what: u32, call: i32) -> Vec<u8> {
        let mut bytes: Vec<u8> = [kind, 3, 77, 70].iter().flat_map(|w| w.to_ne_bytes()).collect();
        bytes.extend([1_000_u64, 9_000, 4_000, 6_000].iter().flat_map(|w| w.to_ne_bytes()));
        let words = [what, call as u32, 5, u32::MAX, 78, 70, 0, 0o100_644];
        bytes.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        bytes.extend(11_u64.to_ne_bytes());
        bytes.extend([0x0fe0_0000_u32, 0].iter().flat_map(|w| w.to_ne_bytes()));
        bytes.extend(b"locker\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(b"data.bin");
        bytes.resize(SIZE, 0);
        bytes
    }

    #[test]
    fn each_kind_is_read_where_the_kernel_writes_it() {
        let mut seen = Seen::default();
        seen.take(&told(0, 1, 0));
        seen.take(&told(1, 2, 202));
        seen.take(&told(1, 2, -1));
        seen.take(&told(2, 3, 0));
        seen.take(&[0; SIZE - 1]);
        let run = &seen.runs[0];
        assert_eq!((run.cpu, run.tid, run.tgid, run.from_ns, run.to_ns), (3, 77, 70, 1_000, 9_000));
        assert!(run.is_kernel && !run.is_own);
        assert_eq!((&*run.comm, &*run.group), ("locker", "data.bin"));
        let off = &seen.offs[0];
        assert_eq!((off.kind, off.woken_ns, off.call), (OffKind::Asleep, 4_000, Some(202)));
        assert_eq!((off.from_ns, off.here_ns, off.to_ns), (1_000, 6_000, 9_000));
        assert_eq!((off.kernel_stack, off.user_stack), (5, -1));
        let (waker, file) = (off.waker.as_ref().unwrap(), off.file.as_ref().unwrap());
        assert_eq!((waker.tid, waker.tgid, &*waker.comm, waker.is_irq), (78, 70, "locker", false));
        assert_eq!((file.mode, file.device, &*file.name), (0o100_644, 0x0fe0_0000, "data.bin"));
        assert_eq!(seen.offs[1].call, None, "a page fault is no system call");
        let irq = seen.irqs[0];
        assert_eq!((irq.vector, irq.ns, irq.tid), (3, 4_000, 77));
        assert_eq!(seen.losses.lost, 1, "what is cut short is lost");
    }
}

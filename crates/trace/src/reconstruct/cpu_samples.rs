//! Which kernel stacks were serving softIRQs: addresses against the kernel's own symbols.

use std::fs;

/// Functions under which all softIRQ work runs, by kernel: 6.11 on, before, and what calls them.
const SOFTIRQ: &[&str] = &["handle_softirqs", "__do_softirq", "__softirqentry_text_start"];

/// Address ranges of the functions that serve softIRQs.
#[derive(Clone, Debug, Default)]
pub struct SoftirqCode(Vec<(u64, u64)>);

impl SoftirqCode {
    /// From the running kernel; empty if addresses are hidden.
    pub fn read() -> Self {
        Self::from_symbols(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// From lines of `address type name`.
    fn from_symbols(text: &str) -> Self {
        let mut starts: Vec<(u64, bool)> = text
            .lines()
            .filter_map(|line| {
                let mut fields = line.split(' ');
                let address = u64::from_str_radix(fields.next()?, 16).ok()?;
                let name = fields.nth(1)?;
                (address != 0).then(|| (address, SOFTIRQ.contains(&name)))
            })
            .collect();
        starts.sort_unstable();
        let end =
            |from: u64| starts.iter().find(|(at, _)| *at > from).map_or(u64::MAX, |(at, _)| *at);
        let ranges = starts.iter().filter(|(_, is_softirq)| *is_softirq);
        Self(ranges.map(|(from, _)| (*from, end(*from))).collect())
    }

    /// Whether the kernel's softIRQ functions are known, so that a stack can be judged.
    pub fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Does a stack (return addresses, zeros at its end) run softIRQ work?
    pub fn is_in(&self, stack: &[u64]) -> bool {
        stack.iter().any(|at| self.0.iter().any(|(from, to)| from < at && at <= to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_through_the_softirq_handler_is_distinguished_from_another() {
        let code = SoftirqCode::from_symbols(
            "ffff0100 T sys_write\nffff0200 t handle_softirqs\nffff0300 T net_rx_action\n",
        );
        assert!(code.is_known());
        assert!(code.is_in(&[0xffff_0310, 0xffff_0234, 0xffff_0120, 0]));
        assert!(!code.is_in(&[0xffff_0310, 0xffff_0120, 0]));
        assert!(!SoftirqCode::from_symbols("0 T handle_softirqs\n").is_known(), "hidden addresses");
    }
}

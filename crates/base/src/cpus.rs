//! CPUs as people write them, `1` or `0,2-3`, and threads pinned to them.

use crate::Fault;

/// The CPUs in `text`, in its order, each below `end`.
pub fn parse(text: &str, end: usize) -> Result<Vec<usize>, Fault> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last < end => found.extend(first..=last),
            _ => {
                let what = format!("'{part}' is no CPU and no range of CPUs");
                let fix = "write CPUs that may be used: 1 or 0,2-3";
                return Err(Fault::usage(what, "cpus", fix));
            }
        }
    }
    Ok(found)
}

/// Pins the calling thread, and those that it will start, to the CPUs in `text`; "": to none.
pub fn pin(text: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return Ok(());
    }
    let cpus = parse(text, libc::CPU_SETSIZE as usize)?;
    // SAFETY: a zeroed cpu_set_t is an empty set, and the numbers are below its size.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for cpu in cpus {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &raw const set) != 0
    };
    if failed {
        let what = format!("cannot pin to '{text}': {}", std::io::Error::last_os_error());
        return Err(Fault::usage(what, "cpus", "write CPUs that may be used: 1 or 0,2-3"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read_and_else_refused() {
        assert_eq!(parse("0,2-3", 8), Ok(vec![0, 2, 3]));
        assert_eq!(parse(" 1 ", 8), Ok(vec![1]));
        for wrong in ["", "x", "3-2", "8", "1,,2", "-1"] {
            assert_eq!(parse(wrong, 8).unwrap_err().at, "cpus", "{wrong}");
        }
    }
}

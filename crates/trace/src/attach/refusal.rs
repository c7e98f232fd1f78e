//! Why the kernel did not take a BPF program, found in libbpf's log.
//!
//! The verifier refuses with the same "permission denied" as a kernel without BPF for this user, and what
//! helps is another: only its log distinguishes them.

use sojourn_base::Fault;

/// Of a log: its last lines say what was minded.
const LINES: usize = 12;
const BEGIN: &str = ": -- BEGIN PROG LOAD LOG --\n";
const END: &str = "-- END PROG LOAD LOG --";

/// Who or what in the kernel refused to load a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The verifier went through a program and did not take it.
    Verifier {
        /// Its name.
        program: String,
        /// The last lines of the log.
        log: String,
    },
    /// The verifier let no program read kernel memory.
    Lockdown,
    /// No one looked at the program: this process may not load any.
    Rights,
    /// Something else: a map, a type, memory.
    Other,
}

/// Who refused, by libbpf's log; `is_permission`: the call ended with EPERM or EACCES.
pub fn of(text: &str, is_permission: bool) -> Refusal {
    let Some((program, log)) = log(text) else {
        return if is_permission { Refusal::Rights } else { Refusal::Other };
    };
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let no_helper = |line: &str| {
        has(line, &["cannot use helper", "unknown func"]) && line.contains("bpf_probe_read")
    };
    if log.lines().any(no_helper) {
        Refusal::Lockdown
    } else if log
        .lines()
        .any(|line| has(line, &["!root", "CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN"]))
    {
        Refusal::Rights
    } else {
        Refusal::Verifier { program: program.to_owned(), log: last(log) }
    }
}

/// The program that was refused last, and the verifier's log of it; `None` if it wrote none.
fn log(text: &str) -> Option<(&str, &str)> {
    let (before, log) = text.rsplit_once(BEGIN)?;
    let program = before.rsplit_once("prog '")?.1.trim_end_matches('\'');
    let log = log.split_once(END).map_or(log, |(log, _)| log);
    (!log.trim().is_empty()).then_some((program, log))
}

fn last(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// The refusal for people. `error`: what the call ended with; `kernel`: its release.
pub fn fault(error: &str, text: &str, is_permission: bool, kernel: &str) -> Fault {
    let what = || format!("the kernel does not take the BPF object: {error}\n{}", last(text));
    let at = format!("Linux {kernel}");
    match of(text, is_permission) {
        Refusal::Verifier { program, log } => Fault::failed(
            format!("the kernel's verifier refuses the BPF program {program}: {error}\n{log}"),
            at,
            "report it with the kernel's version and these lines; an object of another clang may be taken \
             (CLANG=clang-19 make build, docs/howto/trace.md)",
        ),
        Refusal::Lockdown => Fault::usage(
            what(),
            at,
            "BPF may not read the kernel's memory here: lockdown in confidentiality mode \
             (/sys/kernel/security/lockdown), or no CAP_PERFMON in the machine's own user namespace",
        ),
        Refusal::Rights => Fault::usage(
            what(),
            at,
            "the process has the capabilities and was refused: by a user namespace (container) of which root is not the \
             machine's, by a seccomp filter, or kernel lockdown; run on the host itself",
        ),
        Refusal::Other => Fault::failed(
            what(),
            at,
            "needs 5.15 or later; before 6.3 also fentry (CONFIG_FUNCTION_TRACER); see docs/howto/trace.md",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As libbpf 1.7 writes it, without the prefix of each line.
    fn of_libbpf(errno: &str, log: &str) -> String {
        let log = if log.is_empty() {
            String::new()
        } else {
            format!("libbpf: prog 'on_queue'{BEGIN}{log}{END}\n")
        };
        format!(
            "libbpf: prog 'on_queue': BPF program load failed: {errno}\n{log}libbpf: prog 'on_queue': failed to load: \
             {errno}\nlibbpf: failed to load object 'sojourn_trace'\n"
        )
    }

    const SCALAR: &str = "0: R1=ctx() R10=fp0\n5: (61) r0 = *(u32 *)(r1 +0)\nR1 invalid mem access 'scalar'\n\
        processed 6 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n";

    #[test]
    fn the_verifiers_log_is_what_makes_it_the_verifiers_refusal() {
        for (errno, log, is_permission, expected) in [
            ("-EPERM", "", true, Refusal::Rights),
            ("-EINVAL", "", false, Refusal::Other),
            ("-EINVAL", "\n", false, Refusal::Other),
            (
                "-EPERM",
                "function calls to other bpf functions are allowed for CAP_BPF and CAP_SYS_ADMIN\n",
                true,
                Refusal::Rights,
            ),
            (
                "-EACCES",
                "R2 leaks addr into map, pointer comparison prohibited for !root\n",
                true,
                Refusal::Rights,
            ),
            (
                "-EINVAL",
                "program of this type cannot use helper bpf_probe_read_kernel#113\n",
                false,
                Refusal::Lockdown,
            ),
            ("-EINVAL", "unknown func bpf_probe_read_kernel#113\n", false, Refusal::Lockdown),
            (
                "-EINVAL",
                "unknown func bpf_new_helper#999\n",
                false,
                verifier("unknown func bpf_new_helper#999"),
            ),
            ("-EACCES", SCALAR, true, verifier(SCALAR.trim_end())),
        ] {
            assert_eq!(of(&of_libbpf(errno, log), is_permission), expected, "{log}");
        }
    }

    fn verifier(log: &str) -> Refusal {
        Refusal::Verifier { program: "on_queue".into(), log: log.into() }
    }

    #[test]
    fn a_verifiers_refusal_names_program_kernel_and_last_lines_and_sends_no_one_to_a_container() {
        let long: Vec<String> = (0..100).map(|n| format!("{n}: (b7) r0 = 0\n")).collect();
        let long = long.concat();
        let fault =
            fault("Permission denied", &of_libbpf("-EACCES", &(long + SCALAR)), true, "6.1.0");
        let text = fault.to_string();
        for part in [
            "on_queue",
            "'scalar'",
            "processed 6",
            "99: (b7)",
            "Linux 6.1.0",
            "report it with the kernel's version",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        for part in ["container", "lockdown", "failed to load object", "\n50: (b7)"] {
            assert!(!text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn only_a_refusal_to_everybody_speaks_of_containers() {
        let text =
            fault("Operation not permitted", &of_libbpf("-EPERM", ""), true, "6.1.0").to_string();
        assert!(text.contains("container") && text.contains("-EPERM"), "{text}");
        let text = fault("Invalid argument", &of_libbpf("-EINVAL", ""), false, "5.4.0").to_string();
        assert!(!text.contains("container") && text.contains("5.15"), "{text}");
    }

    #[test]
    fn of_several_programs_the_last_one_is_the_refused_one() {
        let two = of_libbpf("-EACCES", SCALAR).replace("on_queue", "on_read")
            + &of_libbpf("-EACCES", SCALAR);
        assert_eq!(of(&two, true), verifier(SCALAR.trim_end()));
    }
}

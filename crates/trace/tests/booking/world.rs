//! Runs scripts through `world.c`, and reads what was booked.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use sojourn_trace::reconstruct::reasons::REASONS;
use sojourn_trace::reconstruct::stages::{COUNT, STAGES};

/// Everything that a script led to.
pub struct World {
    /// In the order in which they were finished, then by connection.
    pub requests: Vec<Request>,
    /// How many were taken by threads.
    pub slots: u64,
    reasons: Vec<u64>,
}

/// One request, as the ring would carry it.
#[derive(Debug)]
pub struct Request {
    pub thread: u32,
    pub writer: u32,
    pub bytes_in: u32,
    pub bytes_out: u32,
    total_ns: u64,
    stage_ns: Vec<u64>,
}

impl Request {
    fn parse(words: &[u64]) -> Self {
        Self {
            thread: words[1] as u32,
            writer: words[2] as u32,
            bytes_in: words[3] as u32,
            bytes_out: words[4] as u32,
            total_ns: words[5],
            stage_ns: words[6..6 + COUNT].to_vec(),
        }
    }

    /// Time in the stage `name`, µs.
    pub fn stage(&self, name: &str) -> u64 {
        let at = STAGES.iter().position(|stage| stage.name == name).unwrap();
        assert_eq!(self.stage_ns[at] % 1000, 0);
        self.stage_ns[at] / 1000
    }
}

impl World {
    pub fn reason(&self, name: &str) -> u64 {
        self.reasons[REASONS.iter().position(|reason| reason.name == name).unwrap()]
    }

    /// These are the stages of request `n`, µs, and no others have any time.
    pub fn assert(&self, n: usize, stages: &[(&str, u64)]) {
        let sum = |name| stages.iter().filter(|(it, _)| *it == name).map(|(_, us)| us).sum::<u64>();
        assert!(stages.iter().all(|(name, _)| STAGES.iter().any(|stage| stage.name == *name)));
        for stage in &STAGES {
            let (result, expected) = (self.requests[n].stage(stage.name), sum(stage.name));
            assert_eq!(result, expected, "{} of request {n}: {:?}", stage.name, self.requests);
        }
    }
}

/// What the script, events apart by `;`, leads to. Whatever it is, stages add to totals.
pub fn booked(script: &str) -> World {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    run(PROGRAM.get_or_init(|| compiled("booking-world", "world.c", &[])), script)
}

/// The same where system calls have no hook.
pub fn booked_by_few(script: &str) -> World {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    run(PROGRAM.get_or_init(|| compiled("booking-few", "world.c", &["-DFEW"])), script)
}

/// In which bins the hooks count each of these times: of stages, of totals, and its row.
pub fn binned(times_ns: &[u64]) -> Vec<[usize; 3]> {
    let lines: Vec<String> = times_ns.iter().map(u64::to_string).collect();
    let mut program = Command::new(compiled("booking-bins", "world.c", &[]));
    let text = answer(program.arg("bins"), &lines.join("\n"));
    let three = |line: &str| {
        let mut words = line.split(' ').map(|word| word.parse().unwrap());
        std::array::from_fn(|_| words.next().unwrap())
    };
    text.lines().map(three).collect()
}

/// What a program says to that input.
fn answer(program: &mut Command, input: &str) -> String {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()).unwrap());
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(out.status.success(), "{program:?}");
    String::from_utf8(out.stdout).unwrap()
}

/// What a program answers to a script, events apart by `;`.
pub fn played(program: &Path, script: &str) -> String {
    answer(&mut Command::new(program), &(script.replace(';', "\n") + "\n"))
}

fn run(program: &Path, script: &str) -> World {
    let text = played(program, script);
    let mut world = World { requests: Vec::new(), slots: 0, reasons: Vec::new() };
    for line in text.lines() {
        let mut words = line.split(' ');
        let word = words.next().unwrap();
        let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
        match word {
            "record" => world.requests.push(Request::parse(&numbers)),
            "slots" => world.slots = numbers[0],
            _ => world.reasons = numbers,
        }
    }
    for one in &world.requests {
        assert_eq!(one.stage_ns.iter().sum::<u64>(), one.total_ns, "stages add: {one:?}");
    }
    assert_eq!(world.reason("sum_mismatch"), 0);
    world
}

/// This folder's `source` as a program of that name.
pub fn compiled(name: &str, source: &str, defines: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let done = Command::new("cc")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-O1", "-std=gnu11", "-Wall", "-Wno-unknown-pragmas", "-Wno-unused-function"])
        .args(["-D__TARGET_ARCH_x86", "-Itests/booking", "-Isrc/bpf"])
        .arg(format!("tests/booking/{source}"))
        .args(defines)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a C compiler, cc, is there: see scripts/setup");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
    program
}

//! Names of functions: where files are hostile, and where stacks are many.

use super::*;

use std::fs::{File, remove_file};
use std::process::{Command, id};

use crate::culprit::seen::OffKind;

/// What another user may put where a process has the names of its functions.
#[test]
fn a_pipe_or_a_link_in_the_place_of_names_is_not_waited_for() {
    let map = format!("/tmp/perf-{}.map", id());
    let heap = vec![0_u8; 4 << 20]; // a mapping of its own, without a file
    let address = heap.as_ptr() as u64 + 4096;
    let within = Duration::from_secs(60);
    let _ = remove_file(&map);
    assert!(!has_own_map(id()), "there is none");
    assert!(Command::new("mkfifo").arg(&map).status().unwrap().success());
    let mut namer = Namer::new();
    let result = namer.names(Some(id()), &[address], within);
    let is_pipe_left_alone = !has_own_map(id()) && namer.ask.is_some();
    remove_file(&map).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &map).unwrap();
    let is_link_left_alone = !has_own_map(id());
    remove_file(&map).unwrap();
    File::create(&map).unwrap().set_len(MAP_BYTES_MAX + 1).unwrap();
    let is_bomb_left_alone = !has_own_map(id());
    fs::write(&map, format!("{:x} 1000 of_a_compiler\n", address - 16)).unwrap();
    let own = Namer::new().names(Some(id()), &[address], within);
    remove_file(&map).unwrap();
    assert_eq!((result, own), (vec![UNKNOWN.to_string()], vec!["of_a_compiler".to_string()]));
    assert!(is_pipe_left_alone && is_link_left_alone && is_bomb_left_alone);
}

/// Events stay for minutes, and more stacks than are remembered may come meanwhile.
#[test]
fn an_event_has_its_own_stack_whatever_comes_later() {
    let (mut lasting, mut seen) = (Lasting::default(), Seen::default());
    let stack = |lasting: &mut Lasting, seen: &mut Seen, address: u64, name: &str| {
        lasting.known.entry(None).or_default().insert(address, name.into());
        lasting.remember(None, vec![address], seen)
    };
    let asleep = Off {
        tid: 7,
        tgid: 7,
        cpu: 0,
        kind: OffKind::Asleep,
        from_ns: 1,
        woken_ns: 2,
        here_ns: 2,
        to_ns: 3,
        is_idle: false,
        call: None,
        kernel_stack: -1,
        user_stack: -1,
        waker: None,
        file: None,
    };
    seen.offs.push(asleep);
    seen.offs[0].kernel_stack = stack(&mut lasting, &mut seen, 7, "io_schedule");
    for address in 1_000..1_000 + REMEMBERED as u64 {
        stack(&mut lasting, &mut seen, address, "futex_wait");
    }
    lasting.forget(&mut seen);
    assert_eq!(seen.stacks.kernel.len(), 1, "no event has the others");
    for address in 9_000..9_010 {
        stack(&mut lasting, &mut seen, address, "do_nanosleep");
    }
    assert_eq!(seen.stacks.kernel_of(&seen.offs[0]), [Arc::from("io_schedule")]);
}

#[test]
fn names_that_take_too_long_are_unknown_and_so_are_those_that_follow() {
    let mut namer = Namer::new();
    let (_keep, silent) = channel();
    namer.told = silent;
    let short = Duration::from_millis(10);
    assert_eq!(namer.names(None, &[1, 2], short), [UNKNOWN, UNKNOWN]);
    assert!(namer.ask.is_none(), "not asked again");
    assert_eq!(namer.names(None, &[3], Duration::from_secs(600)), [UNKNOWN]);
}

//! Dumps on a disk that has room, and on one that is full.

use super::*;

fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("sojourn-ring-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn write(folder: &mut Folder, name: &str, bytes: usize) -> Result<PathBuf, Fault> {
    let fill = |out: &mut dyn Write| out.write_all(&vec![b'x'; bytes]);
    folder.write(name, &[(".json", &fill), (".perfetto.json", &fill)])
}

#[test]
fn a_dump_is_whole_and_its_owners_alone() {
    let path = place("whole");
    let mut folder = Folder::new(&path, 3, 1 << 20).unwrap();
    let first = write(&mut folder, "20261126T120000Z", 10).unwrap();
    assert_eq!(first.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
    write(&mut folder, "20261126T120000Z", 10).unwrap();
    let wanted = ["001.json", "001.perfetto.json", "002.json", "002.perfetto.json"];
    let wanted = wanted.map(|end| format!("ring-20261126T120000Z-{end}"));
    assert_eq!(names(&path), wanted, "two in one second, and nothing else is left");
    let fails = |_: &mut dyn Write| Err(io::Error::other("full"));
    let fine = |out: &mut dyn Write| out.write_all(b"x");
    let fault = folder.write("x", &[(".json", &fine), (".perfetto.json", &fails)]).unwrap_err();
    assert!(fault.fix.contains("make room"), "{fault}");
    assert_eq!(names(&path), wanted, "nothing of half a dump");
    fs::remove_dir_all(&path).unwrap();
}

/// Writes a dump of so many bytes; the disk has room for `room` bytes.
fn write_on_disk(
    folder: &mut Folder,
    name: &str,
    (bytes, room): (usize, usize),
) -> Result<PathBuf, Fault> {
    let path = folder.path.clone();
    let fill = move |out: &mut dyn Write| {
        let sizes = names(&path).into_iter().map(|it| fs::metadata(path.join(it)).unwrap().len());
        let is_full = sizes.sum::<u64>() as usize + bytes > room;
        let written = out.write_all(&vec![b'x'; bytes.min(10)]); // of a full disk, the first bytes
        written?;
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        if is_full { Err(full()) } else { out.write_all(&vec![b'x'; bytes - bytes.min(10)]) }
    };
    folder.write(name, &[(".json", &fill), (".perfetto.json", &fill)])
}

#[test]
fn on_a_full_disk_the_oldest_dumps_go_and_the_newest_is_written() {
    let path = place("full");
    let mut folder = Folder::new(&path, 9, 1 << 20).unwrap();
    fs::write(path.join("other.json"), vec![0; 100]).unwrap();
    for second in 0..4 {
        write_on_disk(&mut folder, &format!("2026112{second}"), (100, 1_000)).unwrap();
    }
    assert_eq!((names(&path).len(), folder.removed_for_room()), (9, 0), "900 bytes");
    write_on_disk(&mut folder, "20261125", (200, 1_000)).unwrap();
    let left = names(&path);
    assert_eq!(folder.removed_for_room(), 2, "{left:?}");
    let wanted = ["20261122", "20261122", "20261123", "20261123", "20261125", "20261125"];
    assert_eq!(left.len(), 1 + wanted.len(), "no part is left: {left:?}");
    assert!(left.iter().skip(1).zip(wanted).all(|(it, day)| it.contains(day)), "{left:?}");
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_disk_that_is_full_of_others_takes_no_dump_and_leaves_no_part() {
    let path = place("others");
    let mut folder = Folder::new(&path, 9, 1 << 20).unwrap();
    let fault = write_on_disk(&mut folder, "20261125", (200, 100)).unwrap_err();
    assert!(fault.what.contains("No space left"), "{fault}");
    assert_eq!((names(&path), folder.removed_for_room()), (Vec::new(), 0));
    let wrong = |_: &mut dyn Write| Err(io::Error::other("no disk"));
    write(&mut folder, "20261126", 5).unwrap();
    folder.write("20261127", &[(".json", &wrong)]).unwrap_err();
    assert_eq!(names(&path).len(), 2, "what is no full disk costs no dump");
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_start_removes_what_an_earlier_one_did_not_finish() {
    let path = place("unfinished");
    let folder = Folder::new(&path, 3, 100).unwrap();
    let left = [".0123456789abcdef.part", ".fedcba9876543210.part"];
    let others = [".0123.part", ".0123456789abcdeg.part", "0123456789abcdef.part", "ring-a.part"];
    for name in left.iter().chain(&others) {
        fs::write(path.join(name), "half").unwrap();
    }
    let linked = ".aaaaaaaaaaaaaaaa.part";
    std::os::unix::fs::symlink(path.join(others[0]), path.join(linked)).unwrap();
    let written = File::open(path.join(left[1])).unwrap();
    assert!(part::is_locked(&written));
    assert_eq!(folder.sweep(), Ok(1), "another black box writes the second");
    drop(written);
    assert_eq!(folder.sweep(), Ok(1));
    let mut wanted: Vec<&str> = others.into_iter().chain([linked]).collect();
    wanted.sort_unstable();
    assert_eq!(names(&path), wanted);
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn the_oldest_go_by_number_and_by_size() {
    let path = place("rotated");
    let mut folder = Folder::new(&path, 3, 100).unwrap();
    fs::write(path.join("other.json"), vec![0; 1_000]).unwrap();
    for second in 0..6 {
        write(&mut folder, &format!("2026112{second}"), 5).unwrap();
    }
    let left = names(&path);
    assert_eq!(left.len(), 1 + 3 * 2, "{left:?}");
    assert!(left[0] == "other.json" && left[1].starts_with("ring-20261123"), "{left:?}");
    write(&mut folder, "20261129", 46).unwrap();
    assert_eq!(names(&path).len(), 1 + 2, "92 bytes leave no room for 10 more");
    write(&mut folder, "20261130", 500).unwrap();
    assert_eq!(names(&path).len(), 1 + 2, "the newest stays, however large");
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_planted_link_is_neither_followed_nor_removed_by_rotation() {
    let path = place("planted");
    let victim = place("victim");
    fs::write(&victim, "as it was").unwrap();
    let mut folder = Folder::new(&path, 1, 100).unwrap();
    for name in ["ring-a-001.json", "ring-a-001.perfetto.json", "ring-0-001.json"] {
        std::os::unix::fs::symlink(&victim, path.join(name)).unwrap();
    }
    let written = write(&mut folder, "a", 5).unwrap();
    assert!(written.ends_with("ring-a-002.json") && written.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read(&victim).unwrap(), b"as it was");
    let linked = place("linked");
    std::os::unix::fs::symlink(&path, &linked).unwrap();
    assert!(Folder::new(&linked, 1, 1).unwrap_err().what.contains("a link"));
    fs::remove_file(&linked).unwrap();
    fs::remove_file(&victim).unwrap();
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_folder_that_others_can_write_into_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = place("open");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let fault = Folder::new(&path, 1, 1).unwrap_err();
    assert!(fault.what.contains("other users"), "{fault}");
    fs::remove_dir_all(&path).unwrap();
    assert!(Folder::new(Path::new("/proc/none"), 1, 1).is_err());
}

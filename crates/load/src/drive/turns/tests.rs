use std::sync::Mutex;

use super::*;

/// A file of its own for each test; removed when dropped.
struct Place(std::path::PathBuf);

impl Place {
    fn of(name: &str) -> Self {
        let file = format!("sojourn-turns-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(file))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_next_in_a_ring_is_the_next_that_is_there() {
    assert_eq!(after(0b1011, 0), 1);
    assert_eq!(after(0b1011, 1), 3);
    assert_eq!(after(0b1011, 3), 0);
    assert_eq!(after(0b1000, 3), 3);
    assert_eq!(after(0, 31), 31);
    assert_eq!(after(1 << 31 | 1, 31), 0);
}

#[test]
fn three_threads_run_one_after_another_round_after_round() {
    const ROUNDS: usize = 200;
    let place = Place::of("three");
    let path = &place.0;
    let log = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for name in 0..3 {
            let log = &log;
            scope.spawn(move || {
                let mut turns = Turns::open(path, 5).unwrap();
                turns.lost_ns = 60_000_000_000; // a busy machine may keep one from running
                turns.enter();
                while turns.ring().members.load(Acquire) != 0b111 {
                    turns.pass(false);
                    std::thread::yield_now();
                }
                for _ in 0..ROUNDS {
                    log.lock().unwrap().push(name);
                    turns.pass(false);
                }
            });
        }
    });
    let log = log.into_inner().unwrap();
    assert_eq!(log.len(), 3 * ROUNDS);
    for (round, names) in log.chunks(3).enumerate() {
        assert_eq!(names, &log[..3], "round {round}");
    }
}

#[test]
fn one_of_a_ring_of_its_own_never_waits() {
    let place = Place::of("two");
    let path = &place.0;
    let (mut one, mut other) = (Turns::open(path, 0).unwrap(), Turns::open(path, 1).unwrap());
    one.enter();
    other.enter();
    one.pass(false);
    other.pass(false);
    assert_eq!((one.seat, other.seat), (Some(0), Some(0)));
}

#[test]
fn the_turn_of_one_that_is_lost_is_taken_and_it_comes_back() {
    let place = Place::of("lost");
    let path = &place.0;
    let mut lost = Turns::open(path, 0).unwrap();
    lost.enter();
    let (mut second, began_ns) = (Turns::open(path, 0).unwrap(), Monotonic.now_ns());
    second.enter(); // the first has the turn and never passes it
    assert!(Monotonic.now_ns() - began_ns >= LOST_NS);
    assert_eq!(second.ring().members.load(Acquire), 0b10);
    second.leave();
    lost.pass(false);
    assert_eq!(lost.ring().members.load(Acquire), 0b01, "it is in the ring again");
}

#[test]
fn one_whose_file_is_cut_short_goes_on_alone() {
    let place = Place::of("cut");
    let mut one = Turns::open(&place.0, 3).unwrap();
    one.enter();
    let other = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut other = Turns::open(&place.0, 3).unwrap();
            other.enter(); // waits for its turn, and finds the file gone meanwhile
            (0..3).for_each(|_| other.pass(false));
            other.ring().members.load(Acquire)
        });
        while one.ring().members.load(Acquire) != 0b11 {
            std::thread::yield_now();
        }
        File::options().write(true).open(&place.0).unwrap().set_len(0).unwrap();
        other.join().unwrap()
    });
    (0..3).for_each(|_| one.pass(false));
    assert_eq!(one.ring().members.load(Acquire), 1, "nobody else is in its ring");
    assert_eq!(other, 1 << 1, "nor in that of the other");
}

#[test]
fn no_other_file_is_taken_for_one_of_rings() {
    let (place, link) = (Place::of("other"), Place::of("link"));
    std::fs::write(&place.0, "mine").unwrap();
    std::os::unix::fs::symlink("/dev/null", &link.0).unwrap();
    for path in [&place.0, &link.0, Path::new("/dev/null")] {
        assert_eq!(Turns::open(path, 0).unwrap_err().at, "turns");
    }
    assert_eq!(std::fs::read(&place.0).unwrap(), b"mine");
}

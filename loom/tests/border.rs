//! The hot loop and the keeper hand requests of a ring to each other by counts alone.
#![cfg(sojourn_loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use sojourn_loom::border::Border;
use sojourn_loom::watch::outage::Outage;

const RING: usize = 2;
const REQUESTS: usize = 3;

/// A ring of elements, each with one owner at a time.
struct Ring {
    border: Border,
    each: [UnsafeCell<usize>; RING],
}

// SAFETY: this is what the test proves.
unsafe impl Sync for Ring {}

impl Ring {
    fn put(&self, request: usize, value: usize) {
        // SAFETY: the border gives a place to one thread at a time, or loom reports it.
        self.each[request % RING].with_mut(|cell| unsafe { *cell = value });
    }

    fn get(&self, request: usize) -> usize {
        // SAFETY: as above.
        self.each[request % RING].with(|cell| unsafe { *cell })
    }
}

#[test]
fn no_element_is_used_by_two_threads_at_a_time() {
    loom::model(|| {
        let each = [UnsafeCell::new(0), UnsafeCell::new(0)];
        let ring = Arc::new(Ring { border: Border::default(), each });
        let keeper = Arc::clone(&ring);
        let keeping = thread::spawn(move || {
            let (mut drawn, mut summarised) = (0, 0);
            while summarised < REQUESTS {
                while drawn < REQUESTS && drawn < summarised + RING {
                    keeper.put(drawn, 10 + drawn);
                    drawn += 1;
                }
                keeper.border.tell_drawn(drawn, drawn == REQUESTS);
                let (finished, _) = keeper.border.finished();
                while summarised < finished {
                    assert_eq!(keeper.get(summarised), 20 + summarised, "marked by the loop");
                    summarised += 1;
                }
                thread::yield_now();
            }
        });
        let mut sent = 0;
        loop {
            let (drawn, is_complete) = ring.border.drawn();
            while sent < drawn {
                assert_eq!(ring.get(sent), 10 + sent, "drawn by the keeper");
                ring.put(sent, 20 + sent);
                sent += 1;
                ring.border.tell_finished(sent, sent as u64);
            }
            if is_complete && sent == drawn {
                break;
            }
            thread::yield_now();
        }
        assert_eq!(sent, REQUESTS, "complete is told with the last count, never before it");
        keeping.join().unwrap();
    });
}

#[test]
fn a_time_is_never_beyond_the_count_that_was_reported_with_it() {
    loom::model(|| {
        let border = Arc::new(Border::default());
        let other = Arc::clone(&border);
        let telling = thread::spawn(move || {
            other.tell_finished(1, 1);
            other.tell_finished(2, 2);
        });
        let (finished, now_ns) = border.finished();
        assert!(finished as u64 >= now_ns, "{finished} of {now_ns}");
        telling.join().unwrap();
    });
}

#[test]
fn an_outage_is_read_whole_or_not_at_all() {
    loom::model(|| {
        let border = Arc::new(Border::default());
        let other = Arc::clone(&border);
        let telling = thread::spawn(move || {
            other.outages.push(Outage { start_ns: 7, length_ns: 3 });
        });
        for outage in border.outages.since(0) {
            assert_eq!(outage, Outage { start_ns: 7, length_ns: 3 });
        }
        telling.join().unwrap();
    });
}

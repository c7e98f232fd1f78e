//! Work in fixed pieces, on any number of threads, with results in the order of the pieces.
//!
//! A piece draws its random numbers by its own number and results are combined in order, so the
//! outcome is the same bit for bit whatever the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `work(0)`, `work(1)`, … `work(pieces - 1)`, in order.
pub fn map<T: Send>(pieces: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new((0..pieces).map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, pieces.max(1)) {
            scope.spawn(|| {
                loop {
                    let piece = next.fetch_add(1, Ordering::Relaxed);
                    if piece >= pieces {
                        return;
                    }
                    let result = work(piece);
                    if let Ok(mut done) = done.lock() {
                        done[piece] = Some(result);
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_default().into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn order_is_that_of_the_pieces_on_any_number_of_threads() {
        let want: Vec<usize> = (0..1000).map(|i| i * i).collect();
        for threads in [1, 2, 7] {
            assert_eq!(map(1000, threads, |i| i * i), want);
        }
        assert!(map(0, 4, |i| i).is_empty());
    }
}

//! The line: one for all workers, first come, first served.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// A queue without a bound: how many may be in it is bounded by how many connections there are.
#[derive(Debug)]
pub struct Fifo<T> {
    line: Mutex<Line<T>>,
    arrived: Condvar,
}

#[derive(Debug)]
struct Line<T> {
    waiting: VecDeque<T>,
    is_closed: bool,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        let line = Line { waiting: VecDeque::new(), is_closed: false };
        Self { line: Mutex::new(line), arrived: Condvar::new() }
    }
}

impl<T> Fifo<T> {
    /// Puts `item` at the end, and wakes a worker.
    pub fn push(&self, item: T) {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).waiting.push_back(item);
        self.arrived.notify_one();
    }

    /// The first of the line; waits for one. `None` once it is closed, whoever still waits.
    pub fn pop(&self) -> Option<T> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if line.is_closed {
                return None;
            }
            if let Some(item) = line.waiting.pop_front() {
                return Some(item);
            }
            line = self.arrived.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends all workers home, also from a queue that is not empty.
    pub fn close(&self) {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.arrived.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn first_come_is_first_served_and_each_is_served_once() {
        let line = Fifo::default();
        for item in 0..1000 {
            line.push(item);
        }
        assert_eq!([line.pop(), line.pop()], [Some(0), Some(1)]);
        let mut all: Vec<u32> = thread::scope(|scope| {
            let take = || std::iter::from_fn(|| line.pop()).take(499).collect::<Vec<_>>();
            let workers = [scope.spawn(take), scope.spawn(take)];
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert_eq!(all, (2..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_closed_line_sends_home_who_waits() {
        let line: Fifo<()> = Fifo::default();
        thread::scope(|scope| {
            let waits = scope.spawn(|| line.pop());
            line.close();
            assert_eq!(waits.join().unwrap(), None);
        });
    }
}

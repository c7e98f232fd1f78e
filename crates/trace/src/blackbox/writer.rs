//! What takes long is done on a thread of its own, one after another: a disk that is slow must not keep the hooks'
//! events waiting, nor the search for a service that has started again.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use sojourn_base::Fault;

/// Works that wait for their turn at most; then whoever gives one more waits.
const WAITING: usize = 2;

/// A thread that does each `W` and answers a `D`. Dropping it waits until all is done.
pub struct Writer<W, D> {
    ask: Option<SyncSender<W>>,
    done: Receiver<D>,
    thread: Option<JoinHandle<()>>,
    /// Works that were given and have not been answered.
    open: usize,
}

impl<W: Send + 'static, D: Send + 'static> Writer<W, D> {
    /// Begins; `write` does one work.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn start(mut write: impl FnMut(W) -> D + Send + 'static) -> Result<Self, Fault> {
        let (ask, asked) = sync_channel::<W>(WAITING);
        let (answer, done) = channel();
        let run = move || asked.into_iter().for_each(|work| drop(answer.send(write(work))));
        let thread = Builder::new().name("dumps".into()).spawn(run).map_err(|error| {
            let what = format!("no thread can be started: {error}");
            Fault::failed(what, "--dumps", "raise the limit on threads (ulimit -u)")
        })?;
        Ok(Self { ask: Some(ask), done, thread: Some(thread), open: 0 })
    }

    /// Takes one work to be done; waits only where several wait already.
    pub fn give(&mut self, work: W) {
        if self.ask.as_ref().is_some_and(|ask| ask.send(work).is_ok()) {
            self.open += 1;
        }
    }

    /// Whether something is being done or waits.
    pub fn is_busy(&self) -> bool {
        self.open > 0
    }

    /// What has been done since the last look.
    pub fn done(&mut self) -> Vec<D> {
        let done: Vec<D> = self.done.try_iter().collect();
        self.open -= done.len();
        done
    }

    /// Waits until all is done; nothing can be given any more. What has been done since the last look.
    pub fn finish(&mut self) -> Vec<D> {
        self.ask = None;
        let _ = self.thread.take().map(JoinHandle::join);
        self.open = 0;
        self.done.try_iter().collect()
    }
}

impl<W, D> Drop for Writer<W, D> {
    fn drop(&mut self) {
        self.ask = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn who_gives_a_work_does_not_wait_for_it_and_the_end_does() {
        let (let_go, held) = channel::<()>();
        let mut writer = Writer::start(move |n: u32| {
            held.recv_timeout(Duration::from_secs(60)).unwrap();
            n + 100
        })
        .unwrap();
        (1..=3).for_each(|n| writer.give(n)); // none of them is done
        assert!(writer.is_busy() && writer.done().is_empty());
        (1..=3).for_each(|_| let_go.send(()).unwrap());
        let mut done = Vec::new();
        while writer.is_busy() {
            done.extend(writer.done());
            std::thread::yield_now();
        }
        writer.give(4);
        let_go.send(()).unwrap();
        done.extend(writer.finish());
        assert_eq!(done, [101, 102, 103, 104], "in order, and the last one before the end");
        assert!(!writer.is_busy());
    }

    #[test]
    fn what_waits_is_done_also_where_it_is_dropped() {
        let (report, reports) = channel();
        let mut writer = Writer::start(move |n: u32| report.send(n).unwrap()).unwrap();
        (1..=3).for_each(|n| writer.give(n));
        drop(writer);
        assert_eq!(reports.try_iter().collect::<Vec<u32>>(), [1, 2, 3]);
    }
}

//! The hot loop's side of a long run: which requests are drawn, and which are done with.
//!
//! A run of one piece has one segment that is never done with, and looks at none of this.

use std::sync::Arc;

use super::Drive;
use crate::drive::long::{Border, Geometry};
use crate::plan::lanes::{MarksLanes, PlanLanes};
use crate::plan::marks::Overrun;

/// How many requests of each segment have not been answered yet.
///
/// Counted where a request leaves its connection, whatever the reason: one subtraction.
pub(super) struct Open {
    left: Vec<u32>,
    shift: u32,
}

impl Default for Open {
    /// One segment without an end.
    fn default() -> Self {
        Self { left: vec![u32::MAX; 2], shift: u32::BITS - 1 }
    }
}

impl Open {
    /// For a ring, and `beside` places behind it that are not counted.
    fn new(ring: Geometry, beside: usize) -> Self {
        let segments = ring.capacity / ring.segment;
        let mut left = vec![0; segments];
        left.resize(segments + beside / ring.segment + 1, u32::MAX);
        Self { left, shift: ring.segment.trailing_zeros() }
    }

    /// The request at `place` is not in flight any more.
    #[inline]
    pub(super) fn ended(&mut self, place: u32) {
        self.left[(place >> self.shift) as usize] -= 1;
    }
}

/// See the module.
pub(super) struct Segments {
    ring: Geometry,
    border: Arc<Border>,
    /// Requests below have all been answered or have failed; a multiple of the segment, or the end.
    finished: usize,
    overrun: Option<Overrun>,
}

impl Segments {
    pub(super) fn new(ring: Geometry, border: Arc<Border>) -> Self {
        Self { ring, border, finished: 0, overrun: None }
    }

    pub(super) fn open(&self, beside: usize) -> Open {
        Open::new(self.ring, beside)
    }

    pub(super) fn border(&self) -> Arc<Border> {
        Arc::clone(&self.border)
    }

    /// Why the run had to end.
    pub(super) fn overrun(&self) -> Option<Overrun> {
        self.overrun
    }

    /// Says what is done with of the `drawn` requests known here; answers whether to go on.
    #[inline]
    pub(super) fn tell(&mut self, open: &Open, drawn: usize, now_ns: u64) -> bool {
        while self.finished < drawn && open.left[self.segment_of(self.finished)] == 0 {
            self.finished = (self.finished + self.ring.segment).min(drawn);
        }
        self.border.tell_finished(self.finished, now_ns);
        !self.border.is_halted()
    }

    /// How many requests are drawn by now; at most `drawn` were known before.
    #[cold]
    pub(super) fn draw_on(&mut self, open: &mut Open, drawn: usize) -> usize {
        let (now_drawn, is_complete) = self.border.drawn();
        for first in (drawn..now_drawn).step_by(self.ring.segment) {
            let segment = self.segment_of(first);
            open.left[segment] = (now_drawn - first).min(self.ring.segment) as u32;
        }
        if now_drawn == drawn && !is_complete {
            let lags = drawn - self.finished > self.ring.capacity / 2;
            self.overrun = Some(if lags { Overrun::Server } else { Overrun::Keeper });
            self.border.tell_overrun();
        }
        now_drawn
    }

    /// Whether `drawn` requests are all that there will be.
    pub(super) fn is_all(&self, drawn: usize) -> bool {
        self.border.drawn() == (drawn, true)
    }

    fn segment_of(&self, request: usize) -> usize {
        (request & (self.ring.capacity - 1)) / self.ring.segment
    }
}

impl Drive {
    /// The ring of a long run for its keeper.
    ///
    /// # Safety
    /// The keeper must touch no request that the border says is the loop's.
    pub unsafe fn ring(&self) -> (PlanLanes, MarksLanes) {
        // SAFETY: passed on to the caller.
        unsafe { (self.plan.second(), self.marks.second()) }
    }

    /// Whether more requests of a long run have been drawn. If none have and it is not over, what is
    /// due next is unknown: that ends it.
    pub(super) fn draw_on(&mut self, now_ns: u64) -> bool {
        let Some(segments) = self.segments.as_mut().filter(|_| self.stopped_ns.is_none()) else {
            return false;
        };
        self.load_len = segments.draw_on(self.connections.open(), self.load_len);
        if segments.overrun().is_some() {
            self.stop(now_ns);
        }
        self.next < self.load_len
    }

    /// Whether no more requests will be drawn.
    #[inline]
    pub(super) fn is_all_drawn(&self) -> bool {
        let is_all = |segments: &Segments| segments.is_all(self.load_len);
        self.stopped_ns.is_some() || self.segments.as_ref().is_none_or(is_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::marks::{Marks, room_for_plan};

    const RING: Geometry = Geometry { capacity: 8, segment: 4 };

    fn segments(drawn: usize, is_complete: bool) -> (Segments, Open) {
        let border = Arc::new(Border::default());
        border.tell_drawn(drawn, is_complete);
        let segments = Segments::new(RING, border);
        let open = segments.open(3);
        (segments, open)
    }

    #[test]
    fn a_segment_is_done_with_when_its_last_request_is_whatever_the_order() {
        let (mut segments, mut open) = segments(8, false);
        assert_eq!(segments.draw_on(&mut open, 0), 8);
        for place in [5, 0, 1, 6, 4, 3, 7] {
            open.ended(place);
        }
        assert!(segments.tell(&open, 8, 1));
        assert_eq!(segments.border.finished(), (0, 1), "request 2 holds the first");
        open.ended(8); // beside the ring: a probe
        open.ended(2);
        segments.tell(&open, 8, 2);
        assert_eq!(segments.border.finished(), (8, 2));
        segments.border.tell_drawn(10, true);
        assert_eq!(segments.draw_on(&mut open, 8), 10, "the last segment is short");
        open.ended(1);
        open.ended(0);
        segments.tell(&open, 10, 3);
        assert_eq!((segments.border.finished(), segments.is_all(10)), ((10, 3), true));
    }

    #[test]
    fn at_the_end_of_what_is_drawn_somebody_is_to_blame_unless_it_is_the_end() {
        let (mut last, mut open) = segments(8, true);
        assert_eq!((last.draw_on(&mut open, 0), last.draw_on(&mut open, 8)), (8, 8));
        assert_eq!(last.overrun(), None);
        let (mut slow, mut open) = segments(8, false);
        slow.draw_on(&mut open, 0);
        slow.draw_on(&mut open, 8);
        assert_eq!(slow.overrun(), Some(Overrun::Server), "nothing has been answered");
        let (mut late, mut open) = segments(8, false);
        late.draw_on(&mut open, 0);
        (0..8).for_each(|place| open.ended(place));
        late.tell(&open, 8, 1);
        late.draw_on(&mut open, 8);
        assert_eq!(late.overrun(), Some(Overrun::Keeper), "all is answered, nothing drawn");
    }

    #[test]
    fn another_thread_can_end_the_run() {
        let (mut segments, open) = segments(8, false);
        segments.border.halt();
        assert!(!segments.tell(&open, 0, 1));
    }

    /// As in a long run: one thread draws and reads what became of it, the other takes and marks.
    #[test]
    fn two_threads_hand_a_ring_to_each_other_by_the_border() {
        const REQUESTS: usize = 64;
        let border = Arc::new(Border::default());
        let mut plan = PlanLanes::from(room_for_plan(RING.capacity));
        let mut marks = MarksLanes::from(Marks::for_requests(RING.capacity));
        // SAFETY: a place is used by the thread that owns it by the border, which is what is tested.
        let (drawn_plan, mut made_marks) = unsafe { (plan.second(), marks.second()) };
        let mut segments = Segments::new(RING, Arc::clone(&border));
        let hot = std::thread::spawn(move || {
            let (mut open, mut done) = (segments.open(0), 0);
            while !segments.is_all(done) {
                if segments.border.drawn().0 == done {
                    std::thread::yield_now();
                    continue;
                }
                let drawn = segments.draw_on(&mut open, done);
                for request in done..drawn {
                    let place = request % RING.capacity;
                    made_marks.done_ns[place] = drawn_plan.intended_ns[place] + 1;
                    open.ended(place as u32);
                }
                done = drawn;
                segments.tell(&open, done, 0);
            }
        });
        let (mut drawn, mut summarised) = (0, 0);
        while summarised < REQUESTS {
            while drawn < REQUESTS && drawn + RING.segment <= summarised + RING.capacity {
                for request in drawn..drawn + RING.segment {
                    marks.clear(request % RING.capacity);
                    plan.intended_ns[request % RING.capacity] = request as u64;
                }
                drawn += RING.segment;
            }
            border.tell_drawn(drawn, drawn == REQUESTS);
            let (finished, _) = border.finished();
            for request in summarised..finished {
                assert_eq!(marks.done_ns[request % RING.capacity], request as u64 + 1);
            }
            summarised = finished;
            std::thread::yield_now();
        }
        hot.join().unwrap();
        assert_eq!(marks.into_marks().done_ns.len(), RING.capacity, "the other lanes are gone");
    }
}

//! One thread's ring, as the keeper sees it: drawn ahead, read behind.

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_workload::schedule::Drawing;

use super::{Border, Geometry};
use crate::plan::lanes::{MarksLanes, PlanLanes};
use crate::tally::request::Request;

/// See the module; `Border` says who owns which part.
pub struct Ring {
    plan: PlanLanes,
    marks: MarksLanes,
    drawing: Drawing,
    geometry: Geometry,
    /// What it shares with the thread.
    pub border: Arc<Border>,
    drawn: usize,
    is_complete: bool,
    /// Requests below this are summarised: their places may be drawn again.
    freed: usize,
}

impl Ring {
    /// Over the lanes of a thread that has not started yet; draws the first segments.
    pub fn new(
        (plan, marks): (PlanLanes, MarksLanes),
        drawing: Drawing,
        geometry: Geometry,
        border: Arc<Border>,
    ) -> Result<Self, Fault> {
        let mut ring =
            Self { plan, marks, drawing, geometry, border, drawn: 0, is_complete: false, freed: 0 };
        while ring.draw_segment()? {}
        Ok(ring)
    }

    /// Draws one more segment if there is a place for it and something left to draw.
    pub fn draw_segment(&mut self) -> Result<bool, Fault> {
        let Geometry { capacity, segment } = self.geometry;
        if self.is_complete || self.drawn + segment > self.freed + capacity {
            return Ok(false);
        }
        for _ in 0..segment {
            let Some(planned) = self.drawing.next_planned()? else {
                self.is_complete = true;
                break;
            };
            let place = self.place(self.drawn);
            self.plan.intended_ns[place] = planned.intended_ns;
            self.plan.item[place] = planned.item;
            self.plan.op[place] = planned.op;
            self.marks.clear(place);
            self.drawn += 1;
        }
        self.border.tell_drawn(self.drawn, self.is_complete);
        Ok(true)
    }

    /// How many requests have been drawn so far.
    pub fn drawn(&self) -> usize {
        self.drawn
    }

    /// Whether the whole plan is drawn.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// When request `index`, which is drawn and not freed, is due.
    pub fn intended_ns(&self, index: usize) -> u64 {
        self.plan.intended_ns[self.place(index)]
    }

    /// Request `index`, which must be finished and not freed.
    pub fn request(&self, index: usize) -> Request {
        let place = self.place(index);
        Request {
            index,
            op: self.plan.op[place],
            item: self.plan.item[place],
            intended_ns: self.plan.intended_ns[place],
            free_ns: self.marks.free_ns[place],
            sent_ns: self.marks.sent_ns[place],
            first_byte_ns: self.marks.first_byte_ns[place],
            done_ns: self.marks.done_ns[place],
            outcome: self.marks.outcome[place],
            reply_bytes: self.marks.reply_bytes[place],
        }
    }

    /// Requests below `index` are not looked at again.
    pub fn free(&mut self, index: usize) {
        self.freed = index;
    }

    fn place(&self, index: usize) -> usize {
        index & (self.geometry.capacity - 1)
    }
}

//! Plan and marks as the hot loop holds them: arrays that a second thread may read and fill.
//!
//! In a run of one piece a lane is a vector by another name, and becomes one again afterwards. In a
//! long run ([`crate::drive::long`]) the lanes are a ring: one thread sends and marks some elements
//! while another draws or reads others. Each element has one owner at a time, and both know which
//! from counts that are handed over with release and acquire ([`crate::drive::long::Border`]).

use std::mem::ManuallyDrop;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;
use std::sync::Arc;

use sojourn_workload::plan::{Op, Plan};

use crate::plan::marks::Marks;
use crate::protocols::Asked;
use crate::protocols::Outcome;

/// The memory under lanes; freed with the last of them.
struct Memory<T> {
    first: NonNull<T>,
    len: usize,
    capacity: usize,
}

// SAFETY: it is only freed by its last owner; elements are reached through lanes alone.
unsafe impl<T: Send> Send for Memory<T> {}
// SAFETY: as above: a shared reference to it gives no access to any element.
unsafe impl<T: Send> Sync for Memory<T> {}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: the parts are those of the vector that `Lane::from` took apart.
        drop(unsafe { Vec::from_raw_parts(self.first.as_ptr(), self.len, self.capacity) });
    }
}

/// One array. Indexing checks bounds, and costs what it costs in a vector.
pub struct Lane<T: Copy> {
    first: NonNull<T>,
    len: usize,
    memory: Arc<Memory<T>>,
}

// SAFETY: whoever made a second lane over the same memory promised that no element is used by two
// threads at a time.
unsafe impl<T: Copy + Send> Send for Lane<T> {}

impl<T: Copy> From<Vec<T>> for Lane<T> {
    fn from(vector: Vec<T>) -> Self {
        let mut vector = ManuallyDrop::new(vector);
        let (len, capacity) = (vector.len(), vector.capacity());
        let first = NonNull::new(vector.as_mut_ptr()).expect("a vector's pointer is never null");
        Self { first, len, memory: Arc::new(Memory { first, len, capacity }) }
    }
}

impl<T: Copy> Lane<T> {
    /// How many elements the lane has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the lane has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same array for another thread.
    ///
    /// # Safety
    /// From now on no element may be written through one lane while it is read or written
    /// through the other.
    unsafe fn second(&self) -> Self {
        Self { first: self.first, len: self.len, memory: Arc::clone(&self.memory) }
    }

    /// The vector that it was made from; empty if another lane is left over the same memory.
    fn into_vec(self) -> Vec<T> {
        let Some(memory) = Arc::into_inner(self.memory) else { return Vec::new() };
        let memory = ManuallyDrop::new(memory);
        // SAFETY: the parts are those of the vector that it was made from, and there is no other owner.
        unsafe { Vec::from_raw_parts(memory.first.as_ptr(), memory.len, memory.capacity) }
    }
}

impl<T: Copy> Index<usize> for Lane<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        assert!(index < self.len, "request beyond the plan");
        // SAFETY: within bounds; no other thread writes this element meanwhile (see `second`).
        unsafe { self.first.add(index).as_ref() }
    }
}

impl<T: Copy> IndexMut<usize> for Lane<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        assert!(index < self.len, "request beyond the plan");
        // SAFETY: within bounds; no other thread uses this element meanwhile (see `second`).
        unsafe { self.first.add(index).as_mut() }
    }
}

/// A [`Plan`], each of its columns a lane of its own.
pub struct PlanLanes {
    /// See [`Plan`].
    pub intended_ns: Lane<u64>,
    /// See [`Plan`].
    pub item: Lane<u32>,
    /// See [`Plan`].
    pub op: Lane<Op>,
}

/// [`Marks`], each of their columns a lane of its own.
pub struct MarksLanes {
    /// See [`Marks`].
    pub free_ns: Lane<u64>,
    /// See [`Marks`].
    pub sent_ns: Lane<u64>,
    /// See [`Marks`].
    pub first_byte_ns: Lane<u64>,
    /// See [`Marks`].
    pub done_ns: Lane<u64>,
    /// See [`Marks`].
    pub outcome: Lane<Outcome>,
    /// See [`Marks`].
    pub connection: Lane<u32>,
    /// See [`Marks`].
    pub reply_bytes: Lane<u32>,
}

impl From<Plan> for PlanLanes {
    fn from(plan: Plan) -> Self {
        Self { intended_ns: plan.intended_ns.into(), item: plan.item.into(), op: plan.op.into() }
    }
}

impl PlanLanes {
    /// What is asked by one request.
    #[inline]
    pub fn asked(&self, request: usize) -> Asked {
        Asked { op: self.op[request], item: self.item[request], id: request as u32 }
    }

    /// The plan again, of which the first `measured_from` requests are warm-up.
    pub fn into_plan(self, measured_from: usize) -> Plan {
        Plan {
            intended_ns: self.intended_ns.into_vec(),
            item: self.item.into_vec(),
            op: self.op.into_vec(),
            measured_from,
        }
    }

    /// For another thread.
    ///
    /// # Safety
    /// See [`Lane::second`].
    #[must_use]
    pub unsafe fn second(&self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            Self {
                intended_ns: self.intended_ns.second(),
                item: self.item.second(),
                op: self.op.second(),
            }
        }
    }
}

impl From<Marks> for MarksLanes {
    fn from(marks: Marks) -> Self {
        Self {
            free_ns: marks.free_ns.into(),
            sent_ns: marks.sent_ns.into(),
            first_byte_ns: marks.first_byte_ns.into(),
            done_ns: marks.done_ns.into(),
            outcome: marks.outcome.into(),
            connection: marks.connection.into(),
            reply_bytes: marks.reply_bytes.into(),
        }
    }
}

impl MarksLanes {
    /// Gives the lanes back as [`Marks`].
    pub fn into_marks(self) -> Marks {
        Marks {
            free_ns: self.free_ns.into_vec(),
            sent_ns: self.sent_ns.into_vec(),
            first_byte_ns: self.first_byte_ns.into_vec(),
            done_ns: self.done_ns.into_vec(),
            outcome: self.outcome.into_vec(),
            connection: self.connection.into_vec(),
            reply_bytes: self.reply_bytes.into_vec(),
        }
    }

    /// For another thread.
    ///
    /// # Safety
    /// See [`Lane::second`].
    #[must_use]
    pub unsafe fn second(&self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            Self {
                free_ns: self.free_ns.second(),
                sent_ns: self.sent_ns.second(),
                first_byte_ns: self.first_byte_ns.second(),
                done_ns: self.done_ns.second(),
                outcome: self.outcome.second(),
                connection: self.connection.second(),
                reply_bytes: self.reply_bytes.second(),
            }
        }
    }

    /// Forgets what became of the request at `index`: another one takes its place.
    pub fn clear(&mut self, index: usize) {
        self.free_ns[index] = 0;
        self.sent_ns[index] = 0;
        self.first_byte_ns[index] = 0;
        self.done_ns[index] = 0;
        self.outcome[index] = Outcome::Pending;
        self.connection[index] = 0;
        self.reply_bytes[index] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_its_vector_again() {
        let mut lane = Lane::from(vec![1_u64, 2, 3]);
        lane[1] = 7;
        assert_eq!((lane.len(), lane[1]), (3, 7));
        assert_eq!(lane.into_vec(), [1, 7, 3]);
    }

    #[test]
    fn two_threads_use_different_elements_of_one_array() {
        let mut first = Lane::from(vec![0_u64; 1000]);
        // SAFETY: this thread uses even elements, the other odd ones, until it is joined.
        let mut second = unsafe { first.second() };
        let other = std::thread::spawn(move || (1..1000).step_by(2).for_each(|i| second[i] = 2));
        (0..1000).step_by(2).for_each(|i| first[i] = 1);
        other.join().unwrap();
        assert_eq!((0..1000).map(|i| first[i]).sum::<u64>(), 1500);
        assert_eq!(first.into_vec().len(), 1000, "the other lane is gone");
    }

    #[test]
    #[should_panic(expected = "beyond the plan")]
    fn bounds_are_checked() {
        let lane = Lane::from(vec![1_u32]);
        assert_eq!(lane[1], 0);
    }
}

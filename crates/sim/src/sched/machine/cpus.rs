//! What one CPU of a machine does: it takes a task, says when it acts next, and books its time.

use super::Machine;
use crate::sched::cpu::NEVER;

impl Machine {
    /// Fills an empty CPU, and says when it acts next.
    pub(super) fn settle(&mut self, cpu: usize) {
        let (now, facts) = (self.now, self.facts);
        let place = &mut self.cpus[cpu];
        // SoftIRQ makes it so, or an event at the same ns: `act` asks the policy at its end, so it is not put off.
        let is_overdue = place.look_again <= now && place.current.is_some();
        if place.current.is_none() {
            place.current = place.policy.pick(now);
            if place.current.is_some() && place.loaded != place.current {
                place.loaded = place.current;
                place.switches += 1;
                place.switch_left_ns = facts.switch_ns;
            }
        }
        if !is_overdue {
            place.look_again = place.policy.look_again(place.current, now).unwrap_or(NEVER);
        }
        self.plan(cpu);
        if facts.smt_slowdown > 1.0 {
            self.set_speeds(cpu);
        }
    }

    fn plan(&mut self, cpu: usize) {
        let place = &self.cpus[cpu];
        let after = |work_ns: f64| {
            let ns = (work_ns / place.speed).ceil();
            if ns < 1e18 { self.now + ns as u64 } else { NEVER }
        };
        self.due[cpu] = match (place.softirq.front(), place.current) {
            (Some(request), _) => after(request.softirq_ns),
            (None, Some(task)) => {
                after(place.switch_left_ns + self.tasks[task].left_ns).min(place.look_again)
            }
            (None, None) => place.look_again,
        };
    }

    /// Two siblings that are both busy slow each other down.
    fn set_speeds(&mut self, cpu: usize) {
        let sibling = cpu ^ 1;
        if sibling >= self.cpus.len() {
            return;
        }
        let both = self.cpus[cpu].is_busy() && self.cpus[sibling].is_busy();
        let speed = if both { 1.0 / self.facts.smt_slowdown } else { 1.0 };
        for place in [cpu, sibling] {
            if self.cpus[place].speed != speed {
                self.account(place);
                self.cpus[place].speed = speed;
                self.plan(place);
            }
        }
    }

    /// Books the time since the last look: softIRQ first, then the switch, then the task.
    pub(super) fn account(&mut self, cpu: usize) {
        let (now, from, to) = (self.now, self.facts.measured_from, self.facts.measured_to);
        let place = &mut self.cpus[cpu];
        let ran_ns = now - place.since;
        if ran_ns == 0 {
            return;
        }
        let counted_ns = now.clamp(from, to) - place.since.clamp(from, to);
        place.since = now;
        let work_ns = ran_ns as f64 * place.speed;
        if let Some(request) = place.softirq.front_mut() {
            request.softirq_ns -= work_ns;
            place.busy_ns += counted_ns;
            place.softirq_ns += counted_ns;
        } else if let Some(task) = place.current {
            let switched = place.switch_left_ns.min(work_ns);
            place.switch_left_ns -= switched;
            let task_state = &mut self.tasks[task];
            task_state.left_ns -= work_ns - switched;
            task_state.cpu_ns += counted_ns;
            place.busy_ns += counted_ns;
            place.policy.charge(task, ran_ns, now);
        }
    }
}

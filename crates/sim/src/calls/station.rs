//! The instances of one service: queues, workers, instances that come and go, two speeds.

use std::collections::VecDeque;

use sojourn_base::rng::{Rng, RngExt};

use super::plan::{Pick, ScalingPlan, ServicePlan};

/// How far an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Up,
    /// It takes no more requests, and serves those it has.
    Stopping,
}

#[derive(Debug)]
struct Instance {
    queue: VecDeque<u64>,
    busy: u32,
    state: State,
}

/// What became of a request that came to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// A worker of this instance takes it at once.
    Serve(usize),
    /// It waits there.
    Wait(usize),
    /// The queue is full.
    Refused,
}

/// One service while it runs.
#[derive(Debug)]
pub(super) struct Station {
    instances: Vec<Instance>,
    workers: u32,
    queue_max: usize,
    pick: Pick,
    turn: usize,
    /// Busy workers of instances that are up. Kubernetes' scaler leaves out those that stop, too.
    busy: u32,
    up: u32,
    /// Speed of the window under way.
    pub(super) speed: f64,
    last_ns: f64,
    /// Since the scaler looked, and since the governor did: each has a period of its own.
    scaled: Use,
    governed: Use,
    total: Use,
    wanted_less_since: Option<f64>,
}

/// Integrals over time: busy workers, and workers that were up.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// ns, as the others.
    busy: f64,
    up: f64,
    slow: f64,
}

impl Use {
    fn share(self) -> f64 {
        if self.up > 0.0 { self.busy / self.up } else { 0.0 }
    }
}

impl Station {
    pub(super) fn new(plan: &ServicePlan) -> Self {
        let one = |_| Instance { queue: VecDeque::new(), busy: 0, state: State::Up };
        Self {
            instances: (0..plan.instances).map(one).collect(),
            workers: plan.workers,
            queue_max: plan.queue_max,
            pick: plan.pick,
            turn: 0,
            busy: 0,
            up: plan.instances,
            speed: plan.speed.as_ref().map_or(1.0, |speed| speed.low),
            last_ns: 0.0,
            scaled: Use::default(),
            governed: Use::default(),
            total: Use::default(),
            wanted_less_since: None,
        }
    }

    /// Counts the time up to now under the numbers as they were.
    fn advance(&mut self, now: f64) {
        let span = now - self.last_ns;
        self.last_ns = now;
        let (busy, up) = (f64::from(self.busy), f64::from(self.up * self.workers));
        for sums in [&mut self.scaled, &mut self.governed, &mut self.total] {
            sums.busy += busy * span;
            sums.up += up * span;
            sums.slow += if self.speed < 1.0 { span } else { 0.0 };
        }
    }

    /// A request comes; `copy` is its number among the copies of its call.
    pub(super) fn come(&mut self, task: u64, copy: u32, now: f64, rng: &mut Rng) -> Came {
        let at = self.picked(copy, rng);
        if self.instances[at].busy < self.workers {
            self.advance(now);
            self.instances[at].busy += 1;
            self.busy += 1;
            return Came::Serve(at);
        }
        if self.instances[at].queue.len() >= self.queue_max {
            return Came::Refused;
        }
        self.instances[at].queue.push_back(task);
        Came::Wait(at)
    }

    fn picked(&mut self, copy: u32, rng: &mut Rng) -> usize {
        let all = self.instances.len();
        if self.up as usize == all {
            return match self.pick {
                Pick::Random => (rng.random::<f64>() * all as f64) as usize,
                Pick::Each => copy as usize % all,
                Pick::Turn => self.next_turn(all),
                Pick::Shortest => self.shortest(0..all),
            };
        }
        let up: Vec<usize> = (0..all).filter(|i| self.instances[*i].state == State::Up).collect();
        match self.pick {
            Pick::Random => up[(rng.random::<f64>() * up.len() as f64) as usize],
            Pick::Each => up[copy as usize % up.len()],
            Pick::Turn => up[self.next_turn(up.len())],
            Pick::Shortest => self.shortest(up.into_iter()),
        }
    }

    fn next_turn(&mut self, of: usize) -> usize {
        self.turn = (self.turn + 1) % of;
        self.turn
    }

    fn shortest(&self, among: impl Iterator<Item = usize>) -> usize {
        let length =
            |at: &usize| self.instances[*at].queue.len() + self.instances[*at].busy as usize;
        among.min_by_key(length).unwrap_or(0)
    }

    /// A worker falls free; the request it takes next, if one waits.
    pub(super) fn free(&mut self, at: usize, now: f64) -> Option<u64> {
        if let Some(task) = self.instances[at].queue.pop_front() {
            return Some(task);
        }
        self.advance(now);
        self.instances[at].busy -= 1;
        if self.instances[at].state == State::Up {
            self.busy -= 1;
        }
        None
    }

    /// A look of the scaler: how many instances begin to start now.
    ///
    /// Kubernetes' rule: as many as bring use to the target, rounded up, unless it is within a tenth.
    pub(super) fn scale(&mut self, plan: &ScalingPlan, now: f64) -> u32 {
        self.advance(now);
        let share = std::mem::take(&mut self.scaled).share();
        let have = self.counted(State::Up) + self.counted(State::Starting);
        let ratio = share / plan.target;
        let wanted = if (ratio - 1.0).abs() <= 0.1 {
            self.up
        } else {
            (f64::from(self.up) * ratio).ceil() as u32
        };
        let wanted = wanted.clamp(plan.min, plan.max);
        if wanted >= have {
            self.wanted_less_since = None;
            for _ in have..wanted {
                self.instances.push(Instance {
                    queue: VecDeque::new(),
                    busy: 0,
                    state: State::Starting,
                });
            }
            return wanted - have;
        }
        let since = *self.wanted_less_since.get_or_insert(now);
        if now - since >= plan.down_after_ns && self.counted(State::Starting) == 0 {
            self.wanted_less_since = None;
            self.stop(have - wanted);
        }
        0
    }

    fn stop(&mut self, count: u32) {
        let up = self.instances.iter_mut().rev().filter(|one| one.state == State::Up);
        for one in up.take(count as usize) {
            one.state = State::Stopping;
            self.busy -= one.busy;
        }
        self.up = self.counted(State::Up);
    }

    /// An instance that was starting serves from now on.
    pub(super) fn ready(&mut self, now: f64) {
        self.advance(now);
        if let Some(one) = self.instances.iter_mut().find(|one| one.state == State::Starting) {
            one.state = State::Up;
            self.up += 1;
        }
    }

    fn counted(&self, state: State) -> u32 {
        self.instances.iter().filter(|one| one.state == state).count() as u32
    }

    /// A look of the governor: the speed of the next window.
    pub(super) fn govern(&mut self, low: f64, up_above: f64, now: f64) {
        self.advance(now);
        let share = std::mem::take(&mut self.governed).share();
        self.speed = if share > up_above { 1.0 } else { low };
    }

    /// Shares over the whole run so far: use of workers, mean instances, time at the lower speed.
    pub(super) fn shares(&mut self, now: f64) -> [f64; 3] {
        self.advance(now);
        let per_instance = f64::from(self.workers) * now.max(1.0);
        [self.total.share(), self.total.up / per_instance, self.total.slow / now.max(1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::job::{Job, Scaling, ServiceJob};
    use crate::calls::plan::Plan;

    /// Two of four are busy at the first look, which stops three. The busy one of these ends its request at
    /// 9 s: until then one worker is up, and it is busy all the time, not twice over.
    #[test]
    fn an_instance_that_stops_is_not_in_use() {
        let scaling = Scaling { max: 4, down_after: "0".into(), ..Scaling::default() };
        let pick = "turn".to_string();
        let one =
            ServiceJob { instances: 4, pick, scaling: Some(scaling), ..ServiceJob::default() };
        let plan = Plan::new(&Job { services: vec![one], ..Job::default() }).unwrap();
        let service = &plan.services[0];
        let scaling = ScalingPlan { target: 1.0, ..service.scaling.clone().unwrap() };
        let mut station = Station::new(service);
        let mut rng = sojourn_base::rng::stream(1, "none", 0);
        let mut come = |station: &mut Station, now| station.come(7, 0, now, &mut rng);
        assert_eq!(come(&mut station, 4.9e9), Came::Serve(1));
        for at in [2, 3] {
            come(&mut station, 4.9e9);
            station.free(at, 4.9e9);
        }
        assert_eq!(come(&mut station, 4.9e9), Came::Serve(0));
        assert_eq!(station.scale(&scaling, 5e9), 0, "0.2 s of 20 are in use");
        assert_eq!((station.up, station.busy), (1, 1));
        assert_eq!(station.free(1, 9e9), None);
        station.scale(&scaling, 10e9);
        let [used, instances, _] = station.shares(10e9);
        assert!((used - 5.2 / 25.0).abs() < 1e-12, "{used}");
        assert!((instances - 2.5).abs() < 1e-12, "{instances}");
        assert_eq!(station.counted(State::Starting), 0, "nor does it ask for another one");
    }
}

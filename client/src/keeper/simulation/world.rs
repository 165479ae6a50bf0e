//! The world that a script plays in: processes that each run the machine, a
//! network, the server. Time is in microseconds; every holder's clock shows it,
//! only the server's differs.

use std::collections::BTreeMap;

use super::{
    network::{Ask, Reply, Request},
    script::Script,
    server::Server,
};
use crate::keeper::{
    machine::{AcquireAnswer, Action, CallId, Epoch, Key, Machine, ReleaseAnswer, RenewAnswer},
    timing::{Jitter, Moment, Timing},
};

/// Every process contends for the one lease there is.
const KEY: Key = Key(1);

/// What a guard is to its program.
#[derive(Debug, Clone, Copy)]
struct Guard {
    epoch: Epoch,
    generation: u64,
    give_up: Moment,
}

struct Process {
    machine: Machine,
    guard: Option<Guard>,
    wake_us: Option<u64>,
}

impl Process {
    fn holds(&self, at_us: u64) -> bool {
        self.guard
            .is_some_and(|guard| moment(at_us) < guard.give_up)
    }
}

#[derive(Debug, Clone)]
pub(super) enum Event {
    Rate(u64),
    Jump(i64),
    /// Those who wait in line are looked at.
    Line,
    Arrives(Request),
    Answered(usize, CallId, Reply),
    Wake(usize),
    /// The program wants the lease, or no longer does.
    Wants(usize, bool),
    /// The work has had enough, or has heard that it must stop.
    WorkEnds(usize, Epoch),
}

/// What a run came to.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// When `holds()` was true though another would have been granted the lease.
    pub(super) violation: Option<(u64, usize)>,
    /// Local tenures that began.
    pub(super) starts: u64,
    pub(super) grants: u64,
    /// Writes that the fenced resource refused, of holders that believed.
    pub(super) refused_believers: u64,
    /// The generations of the writes that it took.
    pub(super) writes: Vec<u64>,
}

pub(super) struct World<'a> {
    pub(super) script: &'a Script,
    pub(super) server: Server,
    processes: Vec<Process>,
    events: BTreeMap<(u64, u64), Event>,
    pub(super) line: Vec<Request>,
    counter: u64,
    pub(super) messages: usize,
    jitters: usize,
    seen: Seen,
}

fn moment(us: u64) -> Moment {
    Moment::from_nanos(us * 1_000)
}

impl<'a> World<'a> {
    pub(super) fn new(script: &'a Script) -> Self {
        let timing = Timing::flawed(script.ttl_ms, script.flaw);
        let process = |_| {
            let mut machine = Machine::new(8);
            let lease = "lease".parse().expect("a lease name");
            machine.add(KEY, lease, timing, script.wait_ms);
            machine.want(KEY);
            Process {
                machine,
                guard: None,
                wake_us: None,
            }
        };
        Self {
            script,
            server: Server::new(script.ttl_ms, script.grace_ms),
            processes: (0..script.processes).map(process).collect(),
            events: BTreeMap::new(),
            line: Vec::new(),
            counter: 0,
            messages: 0,
            jitters: 0,
            seen: Seen::default(),
        }
    }

    pub(super) fn play(mut self) -> Seen {
        let mut at_us = 0;
        for &(for_ms, permille) in &self.script.rates {
            self.put(at_us, Event::Rate(permille));
            at_us += for_ms * 1_000;
        }
        for &(at_ms, by_ms) in &self.script.jumps {
            self.put(at_ms * 1_000, Event::Jump(by_ms * 1_000));
        }
        for process in 0..self.processes.len() {
            self.put(1_000 * process as u64, Event::Wake(process));
        }
        for &(process, at_ms, for_ms) in &self.script.doubts {
            if process < self.processes.len() {
                self.put(at_ms * 1_000, Event::Wants(process, false));
                self.put((at_ms + for_ms) * 1_000, Event::Wants(process, true));
            }
        }
        let end_us = self.script.ttl_ms * 1_000 * 12;
        let mut before_us = 0;
        while let Some((&(at_us, number), _)) = self.events.first_key_value() {
            if at_us > end_us {
                break;
            }
            self.check_between(before_us, at_us);
            if let Some(event) = self.events.remove(&(at_us, number)) {
                self.happen(at_us, event);
            }
            self.look_at_line(at_us);
            self.write_all(at_us);
            before_us = at_us;
        }
        self.seen.grants = self.server.grants;
        self.seen
    }

    /// Between two events only time passes: what is takeable stays so. The last
    /// moment at which a process holds is then the one to look at.
    fn check_between(&mut self, from_us: u64, to_us: u64) {
        for (number, process) in self.processes.iter().enumerate() {
            let Some(guard) = process.guard.filter(|_| process.holds(from_us)) else {
                continue;
            };
            let last_us = to_us.min(guard.give_up.nanos() / 1_000).max(from_us + 1) - 1;
            if self.server.would_grant_past(number, last_us) && self.seen.violation.is_none() {
                self.seen.violation = Some((last_us, number));
            }
        }
    }

    /// Everyone who believes writes, with the generation that it has.
    fn write_all(&mut self, at_us: u64) {
        for process in &self.processes {
            let Some(guard) = process.guard.filter(|_| process.holds(at_us)) else {
                continue;
            };
            if self
                .seen
                .writes
                .last()
                .is_some_and(|&w| guard.generation < w)
            {
                self.seen.refused_believers += 1;
            } else if self.seen.writes.last() != Some(&guard.generation) {
                self.seen.writes.push(guard.generation);
            }
        }
    }

    pub(super) fn put(&mut self, at_us: u64, event: Event) {
        self.counter += 1;
        self.events.insert((at_us, self.counter), event);
    }

    fn happen(&mut self, now_us: u64, event: Event) {
        match event {
            Event::Rate(permille) => self.server.clock.set_rate(now_us, permille),
            Event::Jump(by_us) => self.server.clock.jump(now_us, by_us),
            Event::Line => {}
            Event::Arrives(request) => self.arrives(request, now_us),
            Event::Answered(process, ..)
            | Event::Wake(process)
            | Event::Wants(process, _)
            | Event::WorkEnds(process, _) => {
                if let Some(until_us) = self.script.paused_until(process, now_us) {
                    self.put(until_us, event);
                    return;
                }
                self.process(process, event, now_us);
                self.act(process, now_us);
            }
        }
    }

    fn process(&mut self, number: usize, event: Event, now_us: u64) {
        self.jitters += 1;
        let jitters = &self.script.jitters;
        let jitter = Jitter(jitters[self.jitters % jitters.len()]);
        let now = moment(now_us);
        let process = &mut self.processes[number];
        match event {
            Event::Answered(_, call, Reply::Acquire(answer)) => {
                process.machine.acquired(KEY, call, answer, now, jitter);
            }
            Event::Answered(_, call, Reply::Renew(answer)) => {
                let answers = vec![(KEY, answer)];
                process.machine.renewed(call, answers, now, jitter);
            }
            Event::Answered(_, call, Reply::Release(answer)) => {
                process.machine.released(KEY, call, answer, now, jitter);
            }
            Event::WorkEnds(_, epoch) => {
                process.guard.take_if(|guard| guard.epoch == epoch);
                let let_gos = &self.script.let_gos;
                let let_go = let_gos[self.seen.starts as usize % let_gos.len()];
                process.machine.work_stopped(KEY, epoch, let_go, now);
                process.machine.want(KEY);
            }
            Event::Wants(_, true) => process.machine.want(KEY),
            Event::Wants(_, false) => process.machine.unwant(KEY),
            Event::Wake(_) if process.wake_us == Some(now_us) => process.wake_us = None,
            _ => {}
        }
    }

    fn act(&mut self, number: usize, now_us: u64) {
        loop {
            let actions = self.processes[number].machine.poll(moment(now_us));
            if actions.is_empty() {
                break;
            }
            for action in actions {
                self.perform(number, action, now_us);
            }
        }
        let process = &mut self.processes[number];
        if let Some(next) = process.machine.next_at() {
            let at_us = next.nanos().div_ceil(1_000).max(now_us + 1);
            if process
                .wake_us
                .is_none_or(|wake_us| at_us < wake_us || wake_us <= now_us)
            {
                process.wake_us = Some(at_us);
                self.put(at_us, Event::Wake(number));
            }
        }
    }

    fn perform(&mut self, number: usize, action: Action, now_us: u64) {
        match action {
            Action::Acquire {
                call, claim, bound, ..
            } => {
                let wait_us = self.script.wait_ms * 1_000;
                let until_us = now_us + wait_us;
                let bound_us = bound.as_micros() as u64 + wait_us;
                let failed = AcquireAnswer::Failed { retry_after: None };
                let ask = Ask::Acquire { claim, until_us };
                self.send(number, call, ask, Reply::Acquire(failed), now_us, bound_us);
            }
            Action::Renew {
                call,
                renewals,
                bound,
            } => {
                let generation = renewals[0].generation.get();
                let bound_us = bound.as_micros() as u64;
                let failed = RenewAnswer::Failed { retry_after: None };
                let ask = Ask::Renew { generation };
                self.send(number, call, ask, Reply::Renew(failed), now_us, bound_us);
            }
            Action::Release {
                call,
                generation,
                bound,
                ..
            } => {
                let generation = generation.get();
                let bound_us = bound.as_micros() as u64;
                let ask = Ask::Release { generation };
                let failed = Reply::Release(ReleaseAnswer::Failed);
                self.send(number, call, ask, failed, now_us, bound_us);
            }
            Action::Start {
                epoch,
                grant,
                bounds,
                ..
            } => {
                self.seen.starts += 1;
                self.processes[number].guard = Some(Guard {
                    epoch,
                    generation: grant.generation.get(),
                    give_up: bounds.give_up,
                });
                if let Some(for_ms) = self.script.work_ms(self.seen.starts) {
                    let at_us = now_us + for_ms * 1_000;
                    self.put(at_us, Event::WorkEnds(number, epoch));
                }
            }
            Action::Extend { bounds, .. } => {
                if let Some(guard) = &mut self.processes[number].guard {
                    assert!(moment(now_us) < guard.give_up, "a late answer revived it");
                    guard.give_up = bounds.give_up;
                }
            }
            Action::Stop { epoch, .. } => {
                self.processes[number].guard = None;
                let at_us = now_us + self.script.stop_ms * 1_000;
                self.put(at_us, Event::WorkEnds(number, epoch));
            }
            Action::Abort { .. }
            | Action::StepDown { .. }
            | Action::Released { .. }
            | Action::Halted { .. }
            | Action::Forgotten { .. } => {}
        }
    }
}

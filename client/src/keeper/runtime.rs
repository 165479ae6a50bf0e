//! The task behind a keeper: it gives the machine time and answers, and does
//! what the machine says. It decides nothing itself.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinSet},
};

use super::{
    HoldError, HoldOptions, Tenure,
    calls::{self, Answered},
    clock,
    machine::{AcquireAnswer, Action, CallId, Epoch, Key, LetGo, Machine, ReleaseAnswer},
    member::Member,
    timing::{Jitter, Timing},
};
use crate::{Client, HolderId, LeaseName, RawJson, Release};

/// The clock is read at least this often while a tenure's time runs: timers
/// stand still while the machine sleeps, the clock does not.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What handles and guards ask of the keeper.
#[derive(Debug)]
pub(super) enum Command {
    Add {
        key: Key,
        lease: LeaseName,
        options: Box<HoldOptions>,
    },
    Want {
        key: Key,
        reply: oneshot::Sender<Result<Tenure, HoldError>>,
    },
    Unwant {
        key: Key,
    },
    Report {
        key: Key,
        epoch: Epoch,
        status: RawJson,
    },
    Stopped {
        key: Key,
        epoch: Epoch,
        let_go: bool,
        reply: Option<oneshot::Sender<LetGo>>,
    },
    Close {
        key: Key,
    },
    /// Answered when no release is under way.
    Flush {
        reply: oneshot::Sender<()>,
    },
}

/// What a call came to.
enum Done {
    Acquired(Key, CallId, AcquireAnswer, Option<HoldError>),
    Renewed(CallId, Vec<Answered>),
    Released(Key, CallId, ReleaseAnswer),
}

pub(super) struct Runtime {
    client: Client,
    holder: HolderId,
    machine: Machine,
    members: BTreeMap<Key, Member>,
    commands: mpsc::UnboundedReceiver<Command>,
    /// For the guards that are handed out; not counted, so that the last of
    /// them ends this task.
    sender: mpsc::WeakUnboundedSender<Command>,
    calls: JoinSet<Done>,
    aborts: HashMap<CallId, AbortHandle>,
    flushes: Vec<oneshot::Sender<()>>,
}

impl Runtime {
    pub(super) fn new(
        client: Client,
        holder: HolderId,
        commands: mpsc::UnboundedReceiver<Command>,
        sender: mpsc::WeakUnboundedSender<Command>,
    ) -> Self {
        // Escaped, every character takes at most twice its bytes and a few.
        let holder_bytes = holder.as_str().len() * 2 + 2;
        Self {
            client,
            holder,
            machine: Machine::new(holder_bytes),
            members: BTreeMap::new(),
            commands,
            sender,
            calls: JoinSet::new(),
            aborts: HashMap::new(),
            flushes: Vec::new(),
        }
    }

    /// Runs until nobody has a handle or a guard, and what they left behind is
    /// released.
    pub(super) async fn run(mut self) {
        let mut open = true;
        loop {
            self.act();
            if !self.machine.is_releasing() {
                for reply in self.flushes.drain(..) {
                    let _ = reply.send(());
                }
                if !open {
                    return;
                }
            }
            let wait = self.next_look();
            tokio::select! {
                command = self.commands.recv(), if open => match command {
                    Some(command) => self.command(command),
                    None => {
                        open = false;
                        self.members.keys().for_each(|key| self.machine.close(*key));
                    }
                },
                Some(done) = self.calls.join_next() => {
                    // A call that was aborted has no answer.
                    if let Ok(done) = done {
                        self.done(done);
                    }
                }
                () = tokio::time::sleep(wait.unwrap_or(LOOK_AGAIN)), if wait.is_some() => {}
            }
        }
    }

    fn next_look(&self) -> Option<Duration> {
        let wait = self.machine.next_at()?.since(clock::now());
        Some(wait.min(LOOK_AGAIN))
    }

    /// Polls the machine until it has nothing more to do now.
    fn act(&mut self) {
        loop {
            let actions = self.machine.poll(clock::now());
            if actions.is_empty() {
                return;
            }
            for action in actions {
                self.perform(action);
            }
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Add {
                key,
                lease,
                options,
            } => self.add(key, lease, options),
            Command::Want { key, reply } => {
                if let Some(member) = self.members.get_mut(&key) {
                    member.wanted = Some(reply);
                    self.machine.want(key);
                }
            }
            Command::Unwant { key } => {
                if let Some(member) = self.members.get_mut(&key) {
                    member.wanted = None;
                }
                self.machine.unwant(key);
            }
            Command::Report { key, epoch, status } => self.machine.report(key, epoch, status),
            Command::Stopped {
                key,
                epoch,
                let_go,
                reply,
            } => {
                if let Some(member) = self.members.get_mut(&key) {
                    member.local.take_if(|local| local.epoch() == epoch);
                    member.releases.extend(reply);
                }
                self.machine.work_stopped(key, epoch, let_go, clock::now());
            }
            Command::Close { key } => self.machine.close(key),
            Command::Flush { reply } => self.flushes.push(reply),
        }
    }

    fn add(&mut self, key: Key, lease: LeaseName, options: Box<HoldOptions>) {
        let timing = Timing::new(options.ttl_ms());
        self.machine
            .add(key, lease.clone(), timing, options.wait_ms());
        self.members.insert(key, Member::new(lease, options));
    }

    fn done(&mut self, done: Done) {
        let now = clock::now();
        let jitter = Jitter(fastrand::u16(..));
        match done {
            Done::Acquired(key, call, answer, error) => {
                self.aborts.remove(&call);
                if let Some(member) = self.members.get_mut(&key) {
                    member.error = error;
                }
                self.machine.acquired(key, call, answer, now, jitter);
            }
            Done::Renewed(call, answers) => {
                let mut judged = Vec::new();
                for answered in answers {
                    if let Some(member) = self.members.get_mut(&answered.key) {
                        member.error = answered.error;
                    }
                    judged.push((answered.key, answered.answer));
                }
                self.machine.renewed(call, judged, now, jitter);
            }
            Done::Released(key, call, answer) => {
                self.machine.released(key, call, answer, now, jitter);
            }
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Acquire { .. } | Action::Renew { .. } | Action::Release { .. } => {
                self.send(action);
            }
            Action::Abort { call } => {
                if let Some(abort) = self.aborts.remove(&call) {
                    abort.abort();
                }
            }
            Action::Forgotten { key } => {
                self.members.remove(&key);
            }
            Action::Start { key, .. }
            | Action::Extend { key, .. }
            | Action::StepDown { key, .. }
            | Action::Stop { key, .. }
            | Action::Released { key, .. }
            | Action::Halted { key } => {
                if let Some(member) = self.members.get_mut(&key) {
                    let expired = member.tell(action, &self.sender);
                    if let Some(epoch) = expired {
                        self.machine.expired(key, epoch);
                    }
                }
            }
        }
    }

    /// Sends a call. Its deadlines count from before this.
    fn send(&mut self, action: Action) {
        let client = self.client.clone();
        let holder = self.holder.clone();
        match action {
            Action::Acquire {
                key,
                call,
                claim,
                bound,
                ..
            } => {
                let Some(member) = self.members.get(&key) else {
                    return;
                };
                let claim_id = format!("{}-{claim}", member.claims);
                let (lease, acquire) = (
                    member.lease.clone(),
                    member.options.acquire(holder, claim_id),
                );
                let abort = self.calls.spawn(async move {
                    let (answer, error) = calls::acquire(&client, &lease, &acquire, bound).await;
                    Done::Acquired(key, call, answer, error)
                });
                self.aborts.insert(call, abort);
            }
            Action::Renew {
                call,
                renewals,
                bound,
            } => {
                let named: Vec<_> = renewals
                    .into_iter()
                    .filter_map(|due| Some((self.members.get(&due.key)?.lease.clone(), due)))
                    .collect();
                self.calls.spawn(async move {
                    Done::Renewed(call, calls::renew(&client, &holder, &named, bound).await)
                });
            }
            Action::Release {
                key,
                call,
                generation,
                bound,
            } => {
                let Some(lease) = self.members.get(&key).map(|member| member.lease.clone()) else {
                    return;
                };
                let release = Release {
                    holder,
                    generation,
                    reason: None,
                };
                self.calls.spawn(async move {
                    let answer = calls::release(&client, &lease, &release, bound).await;
                    Done::Released(key, call, answer)
                });
            }
            _ => {}
        }
    }
}

//! The one write path. Requests queue; a writer takes whatever is waiting and
//! commits it as one transaction, and answers leave only after the commit.
//!
//! Batches that only renew go by themselves ([`renew()`]), beside those that may
//! log ([`change`]): only the latter lock the log's end, last, and only when
//! there is something to log. A batch never waits for a row: what somebody
//! else has locked goes to the side lane ([`Lanes::aside`]), one lease a
//! transaction, which holds nothing else while it waits.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use baton_client::{LeaseName, Outcome, Timestamp, limits::RENEWALS_MAX};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    time::Instant,
};

use crate::{
    database::is_undecodable,
    metrics,
    rules::{Blocked, Draft, LeaseRow, Moment, Request},
};

use super::{
    backend::{Backend, Busy, End, Lock, Transaction},
    line::Lines,
    play::{Ends, Fate, Part, Played, play, takeable_in},
    queue::{Failure, Job},
    renew::renew,
    sql,
};

/// So many renewals are enough for a transaction: as many as one call has at most,
/// so that the largest calls go side by side and not one behind the other.
const BATCH: usize = RENEWALS_MAX;
/// Most leases in one transaction that may log, lapses among them.
const CHANGES: usize = 500;
/// Most claims that are looked up at once.
const CLAIMS: usize = 1_000;
/// From how many renewals on a batch has company. Smaller ones go one at a
/// time: while one commits, the next one grows.
const LARGE: usize = 256;
/// How long a transaction may take before and at its commit.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(8);
/// How long the side lane waits for a row at a time.
const ROW_WAIT_MS: u32 = 500;
/// How many leases the side lane waits for at once, to change hands and to be
/// renewed. Apart, for renewals pass fenced transactions and must not stand in
/// line behind what does not.
const SIDE_CHANGES: usize = 5;
const SIDE_RENEWALS: usize = 3;
/// How long the mark counts that a waiting change of hands leaves.
const MARK_MS: u64 = 10_000;
/// The patience of one whose wait in line is over, but whose row is locked.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// A batch that did not make it.
pub enum Broken {
    /// Nothing happened.
    NotDone(sqlx::Error),
    /// The answer to the commit was lost.
    Unknown(sqlx::Error),
    /// The row stayed locked.
    Locked,
    /// The lease would change hands, which takes the stronger lock.
    Hands,
}

/// The ways through the store.
pub struct Lanes {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) lines: Lines,
    renewals: mpsc::UnboundedSender<Vec<Job>>,
    pub(super) changes: mpsc::UnboundedSender<Vec<Job>>,
    side: Mutex<HashMap<LeaseName, Vec<Job>>>,
    side_changes: Semaphore,
    side_renewals: Semaphore,
    /// Moves whenever this server has added to the log.
    pub(super) logged: watch::Sender<u64>,
    /// How many batches were committed.
    pub(super) batches: Arc<AtomicU64>,
}

impl Lanes {
    /// Starts the writers.
    pub fn start(backend: Arc<dyn Backend>) -> Arc<Self> {
        let (renewals, renewals_in) = mpsc::unbounded_channel();
        let (changes, changes_in) = mpsc::unbounded_channel();
        let lanes = Arc::new(Self {
            backend,
            lines: Lines::default(),
            renewals,
            changes,
            side: Mutex::default(),
            side_changes: Semaphore::new(SIDE_CHANGES),
            side_renewals: Semaphore::new(SIDE_RENEWALS),
            logged: watch::Sender::new(0),
            batches: Arc::default(),
        });
        // One queue, taken by whichever lane is free.
        let renewals_in = Arc::new(tokio::sync::Mutex::new(renewals_in));
        for _ in 0..lanes.backend.renew_lanes() {
            tokio::spawn(renew_lane(lanes.clone(), renewals_in.clone()));
        }
        tokio::spawn(change_lane(lanes.clone(), changes_in));
        lanes
    }

    /// Sends requests on their way.
    pub fn send(&self, jobs: Vec<Job>) {
        let (lane, jobs) = if jobs.iter().all(is_renewal) {
            (&self.renewals, jobs)
        } else {
            (&self.changes, jobs)
        };
        // The lanes end with the process.
        drop(lane.send(jobs));
    }

    /// A batch is on disk.
    pub(super) fn wrote(&self, lane: &'static str, requests: usize, took: Duration) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        metrics::wrote(lane, requests, took);
    }

    /// Takes requests about a lease whose row somebody else has locked, except
    /// for those that have no patience left.
    pub(super) fn aside(self: &Arc<Self>, name: LeaseName, jobs: Vec<Job>) {
        let jobs = answer_late(jobs);
        if jobs.is_empty() {
            return;
        }
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        match side.get_mut(&name) {
            Some(waiting) => waiting.extend(jobs),
            None => {
                side.insert(name.clone(), jobs);
                tokio::spawn(side_lane(self.clone(), name));
            }
        }
    }

    /// Puts back to the side what could not be done yet, before what came since.
    fn put_aside(&self, name: &LeaseName, jobs: Vec<Job>) {
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = side.entry(name.clone()).or_default();
        let newer = std::mem::replace(waiting, jobs);
        waiting.extend(newer);
    }

    /// What waits at the side for a lease, and the end of its lane if nothing
    /// does.
    fn take_aside(&self, name: &LeaseName) -> Option<Vec<Job>> {
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        match side.get_mut(name) {
            Some(waiting) if !waiting.is_empty() => Some(std::mem::take(waiting)),
            _ => {
                side.remove(name);
                None
            }
        }
    }
}

async fn drain(
    queue: &mut mpsc::UnboundedReceiver<Vec<Job>>,
    mut jobs: Vec<Job>,
    most: usize,
) -> Vec<Job> {
    while jobs.len() < most {
        match queue.try_recv() {
            Ok(more) => jobs.extend(more),
            Err(_) => break,
        }
    }
    jobs
}

async fn renew_lane(
    lanes: Arc<Lanes>,
    queue: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Vec<Job>>>>,
) {
    loop {
        let mut waiting = queue.lock().await;
        let Some(jobs) = waiting.recv().await else {
            return;
        };
        // Whoever was answered just now may ask again at once.
        tokio::task::yield_now().await;
        let jobs = drain(&mut waiting, jobs, BATCH).await;
        let turn = (jobs.len() < LARGE).then_some(waiting);
        renew(&lanes, jobs).await;
        drop(turn);
    }
}

async fn change_lane(lanes: Arc<Lanes>, mut queue: mpsc::UnboundedReceiver<Vec<Job>>) {
    loop {
        let look = lanes.lines.next_look();
        let look_at = look.unwrap_or_else(|| Instant::now() + TRANSACTION_TIMEOUT);
        let jobs = tokio::select! {
            jobs = queue.recv() => match jobs {
                Some(jobs) => drain(&mut queue, jobs, CHANGES).await,
                None => return,
            },
            () = tokio::time::sleep_until(look_at) => Vec::new(),
            () = lanes.lines.changed.notified() => Vec::new(),
        };
        let room = CHANGES.saturating_sub(jobs.len());
        let looked_at = lanes.lines.due(Instant::now(), room);
        if jobs.is_empty() && looked_at.is_empty() {
            continue;
        }
        if let Err((broken, jobs)) = change(&lanes, jobs, looked_at, Lock::Change, Busy::Skip).await
        {
            give_back(jobs, &broken);
        }
    }
}

/// One lease whose row somebody else has locked, until nothing waits for it.
async fn side_lane(lanes: Arc<Lanes>, name: LeaseName) {
    while let Some(jobs) = lanes.take_aside(&name) {
        let (renewals, others): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(is_renewal);
        for (jobs, places) in [
            (renewals, &lanes.side_renewals),
            (others, &lanes.side_changes),
        ] {
            if jobs.is_empty() {
                continue;
            }
            let Ok(_place) = places.acquire().await else {
                return;
            };
            wait_for_row(&lanes, &name, answer_late(jobs)).await;
        }
    }
}

/// One turn of waiting for a row: first under the lock that fenced transactions
/// let through, for whatever changes no hands need not wait for them; then, if
/// it is about that, under the one that waits for them to end.
async fn wait_for_row(lanes: &Arc<Lanes>, name: &LeaseName, jobs: Vec<Job>) {
    let busy = Busy::Wait(ROW_WAIT_MS);
    let jobs = match change(lanes, jobs, Vec::new(), Lock::Renew, busy).await {
        Ok(()) => return,
        Err((Broken::Hands, jobs)) => jobs,
        Err((Broken::Locked, jobs)) => return lanes.put_aside(name, jobs),
        Err((broken, jobs)) => return give_back(jobs, &broken),
    };
    let forced = jobs
        .iter()
        .any(|job| matches!(job.request, Request::ForceRelease(..)));
    match change(lanes, jobs, Vec::new(), Lock::Change, busy).await {
        Ok(()) => {}
        Err((Broken::Locked, jobs)) => {
            if forced {
                end_fences(lanes, name).await;
            }
            lanes.put_aside(name, jobs);
        }
        Err((broken, jobs)) => give_back(jobs, &broken),
    }
}

/// An operator forces the release, and the fenced transactions had their time:
/// they are ended, so that nothing of the deposed holder's is written any more.
async fn end_fences(lanes: &Arc<Lanes>, name: &LeaseName) {
    match tokio::time::timeout(TRANSACTION_TIMEOUT, lanes.backend.end_fences(name)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(ended)) => {
            tracing::warn!(lease = %name, ended, "ended fenced transactions for a forced release");
        }
        Ok(Err(error)) => {
            tracing::warn!(lease = %name, %error, "fenced transactions cannot be ended by this role");
        }
        Err(_) => tracing::warn!(lease = %name, "fenced transactions could not be ended in time"),
    }
}

fn is_renewal(job: &Job) -> bool {
    matches!(job.request, Request::Renew(..))
}

/// Answers those who have no patience left for a locked row, and gives back
/// the others.
fn answer_late(jobs: Vec<Job>) -> Vec<Job> {
    let now = Instant::now();
    let (late, jobs): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.give_up <= now);
    for job in late {
        job.reply.send(Err(Failure::Locked));
    }
    jobs
}

/// Answers everybody in a batch that did not make it.
pub fn give_back(jobs: Vec<Job>, broken: &Broken) {
    let failure = match broken {
        Broken::NotDone(error) | Broken::Unknown(error) if is_undecodable(error) => {
            tracing::error!(%error, "a batch of requests met a damaged database");
            Failure::Internal
        }
        Broken::NotDone(error) => {
            tracing::warn!(%error, requests = jobs.len(), "a batch of requests was not done");
            Failure::Unavailable(Outcome::NotDone)
        }
        Broken::Unknown(error) => {
            tracing::warn!(%error, requests = jobs.len(), "the answer to a commit was lost");
            Failure::Unavailable(Outcome::Unknown)
        }
        Broken::Locked | Broken::Hands => Failure::Locked,
    };
    for job in jobs {
        job.reply.send(Err(failure.clone()));
    }
}

/// Bounds what comes before a commit: when it takes too long, nothing happened.
pub async fn bounded<T>(work: impl Future<Output = sqlx::Result<T>>) -> Result<T, Broken> {
    match tokio::time::timeout(TRANSACTION_TIMEOUT, work).await {
        Ok(result) => result.map_err(Broken::NotDone),
        Err(_) => Err(Broken::NotDone(sqlx::Error::PoolTimedOut)),
    }
}

/// Commits. When that fails or takes too long, nobody knows.
pub async fn commit(tx: Box<dyn Transaction>) -> Result<(), Broken> {
    match tokio::time::timeout(TRANSACTION_TIMEOUT, tx.commit()).await {
        Ok(result) => result.map_err(Broken::Unknown),
        Err(_) => Err(Broken::Unknown(sqlx::Error::PoolTimedOut)),
    }
}

/// Commits a batch that may log. `looked_at` are leases whose lines are to be
/// looked at although nobody asks anything of them now.
async fn change(
    lanes: &Arc<Lanes>,
    jobs: Vec<Job>,
    looked_at: Vec<LeaseName>,
    lock: Lock,
    busy: Busy,
) -> Result<(), (Broken, Vec<Job>)> {
    let started = std::time::Instant::now();
    let asked = jobs.len();
    let mut batch = gather(lanes, jobs, looked_at, lock);
    if batch.is_empty() {
        return Ok(());
    }
    let result = write(lanes, &mut batch, lock, busy).await;
    match result {
        Ok((played, now)) => {
            for entry in &played.log {
                metrics::handed_over(entry.event);
            }
            lanes.wrote("change", asked, started.elapsed());
            answer(lanes, batch, played, now, lock);
            Ok(())
        }
        Err(broken) => {
            let mut jobs = Vec::new();
            for (name, part) in batch {
                jobs.extend(part.jobs);
                jobs.extend(keep_in_line(lanes, name, part.waiters));
            }
            if let Broken::NotDone(error) = &broken
                && lanes.backend.is_lock_timeout(error)
                && matches!(busy, Busy::Wait(_))
            {
                return Err((Broken::Locked, jobs));
            }
            Err((broken, jobs))
        }
    }
}

/// Puts those back in line whose wait goes on, and gives back the others.
fn keep_in_line(lanes: &Lanes, name: LeaseName, waiters: VecDeque<Job>) -> Vec<Job> {
    let now = Instant::now();
    let waits = |waiter: &Job| waiter.wait_until.is_some_and(|until| now < until);
    let (waiting, mut over): (Vec<Job>, Vec<Job>) = waiters.into_iter().partition(waits);
    lanes.lines.put_back(name, waiting.into(), None);
    for job in &mut over {
        job.give_up = job.give_up.max(now + LAST_PATIENCE);
    }
    over
}

fn gather(
    lanes: &Lanes,
    jobs: Vec<Job>,
    looked_at: Vec<LeaseName>,
    lock: Lock,
) -> BTreeMap<LeaseName, Part> {
    let mut batch: BTreeMap<LeaseName, Part> = BTreeMap::new();
    let part = |name: &LeaseName| Part {
        row: None,
        jobs: Vec::new(),
        waiters: match lock {
            Lock::Renew => VecDeque::new(),
            Lock::Change => lanes.lines.take(name),
        },
        claims: Vec::new(),
    };
    for name in looked_at {
        let new = part(&name);
        batch.insert(name, new);
    }
    for job in jobs {
        // Nothing is lost by not doing what nobody waits for any more.
        if job.reply.is_gone() {
            continue;
        }
        batch
            .entry(job.name.clone())
            .or_insert_with_key(part)
            .jobs
            .push(job);
    }
    batch
}

/// Reads, decides, writes and commits a batch. On the way, leases that somebody
/// else has locked leave it for the side lane.
async fn write(
    lanes: &Arc<Lanes>,
    batch: &mut BTreeMap<LeaseName, Part>,
    lock: Lock,
    busy: Busy,
) -> Result<(Played, Timestamp), Broken> {
    let reading = async {
        let mut tx = lanes.backend.begin().await?;
        let names = batch.keys().cloned().collect();
        let missing = lock_rows(lanes, &mut *tx, batch, names, lock, busy).await?;
        read_claims(&mut *tx, batch, |_, _| true).await?;
        let now = tx.now().await?;
        Ok((tx, missing, now))
    };
    let (mut tx, missing, now) = bounded(reading).await?;
    let rehearsal = rehearse(batch, now);
    if rehearsal.log.is_empty() && rehearsal.changed.is_empty() {
        // Who comes next must not find the rows locked, and go aside.
        bounded(tx.undo()).await?;
        return Ok((rehearsal, now));
    }
    if lock == Lock::Renew && changes_hands(&rehearsal) {
        bounded(mark(tx, batch, now)).await?;
        return Err(Broken::Hands);
    }
    if rehearsal.log.is_empty() {
        // Renewals only, in the side lane: the log's end is not needed.
        bounded(save(&mut *tx, &rehearsal)).await?;
        commit(tx).await?;
        return Ok((rehearsal, now));
    }
    let (played, now, seq) = bounded(decide(lanes, &mut *tx, batch, missing, lock)).await?;
    end_waits(batch, &played);
    commit(tx).await?;
    lanes.logged.send_if_modified(|last| {
        let newer = seq > *last;
        *last = seq.max(*last);
        newer
    });
    Ok((played, now))
}

/// Marks leases that would change hands but for fenced transactions, in a
/// transaction of its own: from its commit on no new fence gets in, so that the
/// open ones drain. Without fenced transactions there is nothing to mark.
async fn mark(
    mut tx: Box<dyn Transaction>,
    batch: &BTreeMap<LeaseName, Part>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let mut marked = Vec::new();
    for row in batch.values().filter_map(|part| part.row.as_ref()) {
        let Some(by) = tx.fences(&row.name).await? else {
            continue;
        };
        let mut row = row.clone();
        row.blocked = Some(Blocked {
            by,
            until: now.plus_ms(MARK_MS),
        });
        marked.push(row);
    }
    if marked.is_empty() {
        return tx.undo().await;
    }
    tx.save(&marked.iter().collect::<Vec<_>>()).await?;
    tx.commit().await
}

/// Plays a batch to learn what it needs; nothing of it is kept if it logs.
fn rehearse(batch: &BTreeMap<LeaseName, Part>, now: Timestamp) -> Played {
    let moment = Moment { now, at: now };
    play(batch, moment, Ends::default(), Instant::now())
}

fn changes_hands(played: &Played) -> bool {
    let moves = |draft: &Draft| draft.generation != draft.previous_generation;
    played.log.iter().any(moves)
}

/// Locks the log's end, decides, and writes everything but the commit.
async fn decide(
    lanes: &Arc<Lanes>,
    tx: &mut dyn Transaction,
    batch: &mut BTreeMap<LeaseName, Part>,
    missing: Vec<LeaseName>,
    lock: Lock,
) -> sqlx::Result<(Played, Timestamp, u64)> {
    let End {
        mut head,
        floor,
        behind,
        ..
    } = tx.end().await.map_err(|error| {
        // That is not the lease's row, so nobody is to be told that it is.
        if lanes.backend.is_lock_timeout(&error) {
            sqlx::Error::PoolTimedOut
        } else {
            error
        }
    })?;
    // Leases spring into being only while the log's end is locked, so what is
    // missing now stays so.
    lock_rows(lanes, tx, batch, missing.clone(), Lock::Change, Busy::Skip).await?;
    let appeared =
        |name: &LeaseName, part: &Part| part.row.is_some() && missing.binary_search(name).is_ok();
    read_claims(tx, batch, appeared).await?;
    let now = tx.now().await?;
    let moment = Moment {
        now,
        at: now.max(head.at),
    };
    metrics::behind(behind.is_some());
    let ends = Ends {
        floor,
        behind: behind.map(|seen| seen.seq),
    };
    let mut played = play(batch, moment, ends, Instant::now());
    if lock == Lock::Renew && changes_hands(&played) {
        // A deadline passed since the rehearsal. Fenced transactions are to
        // end first, but nobody waits for them with the log's end locked.
        for (name, part) in std::mem::take(batch) {
            lanes.aside(name, part.jobs);
        }
        played = Played::default();
    }
    let mut entries = Vec::with_capacity(played.log.len());
    for draft in &played.log {
        let sealed = head.seal(draft.clone());
        entries.push(sealed.map_err(|why| sqlx::Error::Decode(Box::new(why)))?);
    }
    save(tx, &played).await?;
    if !entries.is_empty() {
        tx.append(&entries, &head).await?;
    }
    Ok((played, now, head.seq))
}

/// Whoever is answered by a batch waits no longer, even if the answer to its
/// commit gets lost.
fn end_waits(batch: &mut BTreeMap<LeaseName, Part>, played: &Played) {
    for (name, part) in batch {
        let Some(fates) = played.fates.get(name) else {
            continue;
        };
        for (waiter, fate) in part.waiters.iter_mut().zip(&fates.waiters) {
            if matches!(fate, Fate::Answered(_)) {
                waiter.wait_until = None;
            }
        }
    }
}

/// Locks rows of the batch and puts them in. Gives back the names that do not
/// exist.
async fn lock_rows(
    lanes: &Arc<Lanes>,
    tx: &mut dyn Transaction,
    batch: &mut BTreeMap<LeaseName, Part>,
    names: Vec<LeaseName>,
    lock: Lock,
    busy: Busy,
) -> sqlx::Result<Vec<LeaseName>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let locked = tx.lock(&names, lock, busy).await?;
    for name in locked.busy {
        if let Some(mut part) = batch.remove(&name) {
            part.jobs
                .extend(keep_in_line(lanes, name.clone(), part.waiters));
            lanes.aside(name, part.jobs);
        }
    }
    for row in locked.rows {
        if let Some(part) = batch.get_mut(&row.name) {
            part.row = Some(Arc::unwrap_or_clone(row));
        }
    }
    Ok(batch
        .iter()
        .filter(|(_, part)| part.row.is_none())
        .map(|(name, _)| name.clone())
        .collect())
}

/// Finds earlier grants to the claims in those parts of the batch that `are_asked`,
/// so that a late repetition is refused instead of granted anew. A whole line of
/// claims is one question, for the rows are locked meanwhile.
async fn read_claims(
    tx: &mut dyn Transaction,
    batch: &mut BTreeMap<LeaseName, Part>,
    are_asked: impl Fn(&LeaseName, &Part) -> bool,
) -> sqlx::Result<()> {
    let mut asked: Vec<(LeaseName, String)> = Vec::new();
    for (name, part) in batch.iter_mut() {
        if !are_asked(name, part) {
            continue;
        }
        part.claims.clear();
        let jobs = part.jobs.iter().chain(&part.waiters);
        let ids = jobs.filter_map(|job| match &job.request {
            Request::Acquire(_, acquire) => acquire.claim_id.clone(),
            _ => None,
        });
        asked.extend(ids.map(|id| (name.clone(), id)));
    }
    asked.sort_unstable();
    asked.dedup();
    for asked in asked.chunks(CLAIMS) {
        for grant in tx.claims(sql::claims(asked)).await? {
            if let Some(part) = batch.get_mut(grant.lease.as_str()) {
                part.claims.push(grant);
            }
        }
    }
    Ok(())
}

async fn save(tx: &mut dyn Transaction, played: &Played) -> sqlx::Result<()> {
    let rows: Vec<&LeaseRow> = played.changed.iter().map(|(row, _)| &**row).collect();
    tx.save(&rows).await?;
    for (row, payload_differs) in &played.changed {
        if *payload_differs {
            tx.save_payload(row).await?;
        }
    }
    Ok(())
}

/// Answers a batch that is on disk, and puts in line who waits.
fn answer(
    lanes: &Lanes,
    batch: BTreeMap<LeaseName, Part>,
    mut played: Played,
    now: Timestamp,
    lock: Lock,
) {
    for (name, part) in batch {
        let Some(fates) = played.fates.remove(&name) else {
            continue;
        };
        let mut line = VecDeque::new();
        let waiters = part.waiters.into_iter().zip(fates.waiters);
        let jobs = part.jobs.into_iter().zip(fates.jobs);
        for (mut job, fate) in waiters.chain(jobs) {
            match fate {
                Fate::Answered(answer) => {
                    if answer.is_ok() && matches!(job.request, Request::Renew(..)) {
                        metrics::renewed(1);
                    }
                    job.reply.send(*answer);
                }
                Fate::Waits => {
                    // Who waits in line is not in the queue any more.
                    job.place = Some(lanes.lines.place());
                    line.push_back(job);
                }
            }
        }
        let takeable = takeable_in(fates.row.as_deref(), &line, now);
        match lock {
            Lock::Change => lanes.lines.put_back(name, line, takeable),
            // The line was left where it is.
            Lock::Renew => lanes.lines.join(name, line, takeable),
        }
    }
}

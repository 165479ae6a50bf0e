//! Requests on their way through the writers, and where their answers go.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton_client::{LeaseName, Outcome, Timestamp};
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use crate::rules::{LeaseRow, Refusal, Request};

/// What became of a request.
pub type Answer = Result<Done, Failure>;

/// It was done, and is on disk.
#[derive(Debug, Clone)]
pub struct Done {
    /// The lease as it is then.
    pub row: Arc<LeaseRow>,
    /// The database's time then.
    pub now: Timestamp,
}

/// It was not, or may not have been.
#[derive(Debug, Clone)]
pub enum Failure {
    /// A rule stands against it.
    Refused {
        /// Which.
        refusal: Refusal,
        /// The lease as it is, if there is one.
        row: Option<Arc<LeaseRow>>,
        /// The database's time of the decision.
        now: Timestamp,
    },
    /// Somebody else keeps the lease's row locked, as a fenced transaction does.
    Locked,
    /// Too many requests wait.
    Crowded,
    /// The database does not answer.
    Unavailable(Outcome),
    /// A bug, or a damaged database.
    Internal,
}

/// One request on its way.
pub struct Job {
    /// Which lease.
    pub name: LeaseName,
    /// What is asked.
    pub request: Request,
    /// Where the answer goes.
    pub reply: Reply,
    /// An acquire that waits in line, until then.
    pub wait_until: Option<Instant>,
    /// When to stop waiting for a row that somebody else has locked.
    pub give_up: Instant,
    /// Its place in the queue.
    pub place: Option<Place>,
}

/// Where an answer goes.
pub enum Reply {
    /// To one who asked one thing.
    One(oneshot::Sender<Answer>),
    /// To one who asked many things at once.
    Part(Arc<Many>, usize),
    /// Nobody asked.
    Nobody,
}

impl Reply {
    /// Sends the answer. Who asked may be gone, and then nobody minds.
    pub fn send(self, answer: Answer) {
        match self {
            Self::One(sender) => drop(sender.send(answer)),
            Self::Part(many, index) => many.put(index, answer),
            Self::Nobody => {}
        }
    }

    /// Whether who asked is gone.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::One(sender) => sender.is_closed(),
            Self::Part(many, _) => many.is_gone(),
            Self::Nobody => false,
        }
    }
}

/// The answers to many requests that were asked at once.
pub struct Many {
    count: usize,
    left: AtomicUsize,
    /// Rung with the first answer.
    begun: Arc<Notify>,
    answers: Mutex<Vec<Option<Answer>>>,
    sender: Mutex<Option<oneshot::Sender<Vec<Answer>>>>,
}

/// Where the answers to many requests are waited for.
pub struct Answers {
    receiver: oneshot::Receiver<Vec<Answer>>,
    begun: Arc<Notify>,
    /// Not to keep it: a writer that ends without an answer is noticed by its end.
    many: Weak<Many>,
}

impl Answers {
    /// All of them; `None` if one was lost.
    pub async fn all(self) -> Option<Vec<Answer>> {
        self.receiver.await.ok()
    }

    /// Those that are there so long after the first. What becomes of the others is
    /// not known: who asked for them is gone.
    pub async fn soon(mut self, patience: Duration) -> Option<Vec<Answer>> {
        let late = async {
            self.begun.notified().await;
            tokio::time::sleep(patience).await;
        };
        tokio::select! {
            answers = &mut self.receiver => return answers.ok(),
            () = late => {}
        }
        match self.many.upgrade().and_then(|many| many.so_far()) {
            Some(answers) => Some(answers),
            None => self.all().await,
        }
    }
}

impl Many {
    /// Room for `count` answers, all of which go out together.
    pub fn new(count: usize) -> (Arc<Self>, Answers) {
        let (sender, receiver) = oneshot::channel();
        let begun = Arc::new(Notify::new());
        let mut answers = Vec::new();
        answers.resize_with(count, || None);
        let many = Arc::new(Self {
            count,
            left: AtomicUsize::new(count),
            begun: begun.clone(),
            answers: Mutex::new(answers),
            sender: Mutex::new(Some(sender)),
        });
        let answers = Answers {
            receiver,
            begun,
            many: Arc::downgrade(&many),
        };
        (many, answers)
    }

    fn put(&self, index: usize, answer: Answer) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers[index] = Some(answer);
        let left = self.left.fetch_sub(1, Ordering::AcqRel);
        if left == self.count {
            self.begun.notify_one();
        }
        if left > 1 {
            return;
        }
        let all = answers
            .drain(..)
            .map(|answer| answer.unwrap_or(Err(Failure::Internal)))
            .collect();
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = sender.take() {
            drop(sender.send(all));
        }
    }

    /// The answers that are there; `None` if all are, and have gone out.
    fn so_far(&self) -> Option<Vec<Answer>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || Err(Failure::Unavailable(Outcome::Unknown));
        let taken = answers.iter_mut().map(Option::take);
        let answers: Vec<Answer> = taken.map(|answer| answer.unwrap_or_else(open)).collect();
        Some(answers).filter(|answers| !answers.is_empty())
    }

    fn is_gone(&self) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

/// How many requests may be under way at once.
#[derive(Debug, Clone)]
pub struct Room {
    taken: Arc<AtomicUsize>,
    size: usize,
}

/// A place in a [`Room`], given back when dropped.
#[derive(Debug)]
pub struct Place(Arc<AtomicUsize>);

impl Place {
    /// One more of what `taken` counts.
    pub fn new(taken: &Arc<AtomicUsize>) -> Self {
        taken.fetch_add(1, Ordering::AcqRel);
        Self(taken.clone())
    }
}

impl Room {
    /// Room for `size` requests.
    pub fn new(size: usize) -> Self {
        Self {
            taken: Arc::new(AtomicUsize::new(0)),
            size,
        }
    }

    /// Places for `count` requests, or none at all.
    pub fn enter(&self, count: usize) -> Option<Vec<Place>> {
        let before = self.taken.fetch_add(count, Ordering::AcqRel);
        if before + count > self.size {
            self.taken.fetch_sub(count, Ordering::AcqRel);
            return None;
        }
        Some((0..count).map(|_| Place(self.taken.clone())).collect())
    }

    /// How many places are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_room_lets_nobody_in_until_somebody_leaves() {
        let room = Room::new(3);
        let two = room.enter(2).expect("fits");
        assert!(room.enter(2).is_none(), "four do not fit into three");
        drop(two);
        assert!(room.enter(3).is_some());
        assert_eq!(room.taken(), 0, "who left took no place along");
    }
}

//! One simulated holder: contends, works and renews, and ends its tenure by
//! releasing, by hanging past its expiry, or by crashing.
//!
//! This is theatre. A real holder judges its own deadline (see the client
//! crate's keeper); this one only asks the server.

use std::{ops::Range, time::Duration};

use baton_client::{
    Acquire, Call, CallError, Code, Generation, HolderId, Lease, LeaseName, RawJson, Release, Renew,
};
use rand::{RngExt as _, rngs::StdRng};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::cast::Part;
use crate::cli::{
    Exit, Failure,
    connection::{Backoff, Session},
};

/// How long the server takes to notice that a waiting caller is gone.
const LINE_LEAVES: Duration = Duration::from_millis(200);
/// How long a goodbye may take.
const RELEASE_BOUND: Duration = Duration::from_secs(2);

/// What a player has to say.
pub enum Said {
    /// Something happened.
    Line {
        /// To whom.
        who: &'static str,
        /// With which lease.
        lease: &'static str,
        /// What.
        text: String,
    },
    /// The server does not let it play.
    Refused(Failure),
}

/// Everything is over: a signal came.
struct Stopped;

/// How a tenure ends.
enum Ending {
    Releases,
    Hangs,
    Crashes,
}

struct Tenure {
    holder: HolderId,
    generation: Generation,
}

/// One simulated holder.
pub struct Player {
    part: &'static Part,
    who: &'static str,
    lease: LeaseName,
    run: u32,
    /// Grows with every restart, as a process id would.
    life: u32,
    rng: StdRng,
    session: Session,
    said: mpsc::UnboundedSender<Said>,
    stop: CancellationToken,
    /// What it has, or left behind in a crash.
    tenure: Option<Tenure>,
    backoff: Backoff,
    steps: u64,
    /// Somebody decided that work that failed too often is tried once more.
    tries_anyway: bool,
}

impl Player {
    /// A holder that has not started yet. `run` tells this demo's holders from
    /// another's.
    pub fn new(
        part: &'static Part,
        who: &'static str,
        run: u32,
        rng: StdRng,
        session: &Session,
        said: &mpsc::UnboundedSender<Said>,
        stop: &CancellationToken,
    ) -> Result<Self, Failure> {
        let lease = part
            .lease
            .parse()
            .map_err(|error| Failure::new(Exit::Failed, format!("{}: {error}", part.lease)))?;
        Ok(Self {
            part,
            who,
            lease,
            run,
            life: 1,
            rng,
            session: session.clone(),
            said: said.clone(),
            stop: stop.clone(),
            tenure: None,
            backoff: Backoff::default(),
            steps: 0,
            tries_anyway: false,
        })
    }

    /// Plays until stopped, and lets go then.
    pub async fn live(mut self) {
        while let Ok(()) = self.act().await {}
        self.farewell().await;
    }

    /// One turn: from wanting the lease to being done with it.
    async fn act(&mut self) -> Result<(), Stopped> {
        self.pause_ms(300..4_000).await?;
        let Some(lease) = self.contend().await? else {
            return Ok(());
        };
        let renewals = self.rng.random_range(2..9);
        if !self.work(lease, renewals).await? {
            return Ok(());
        }
        match self.ending() {
            Ending::Releases => self.release("work done").await,
            Ending::Hangs => self.hang().await?,
            Ending::Crashes => self.crash().await?,
        }
        Ok(())
    }

    fn ending(&mut self) -> Ending {
        let roll = self.rng.random_range(0..100);
        if roll < self.part.hangs_percent {
            Ending::Hangs
        } else if roll < self.part.hangs_percent + self.part.crashes_percent {
            Ending::Crashes
        } else {
            Ending::Releases
        }
    }

    /// Tries to get the lease, waiting in line for a while.
    async fn contend(&mut self) -> Result<Option<Lease>, Stopped> {
        let Ok(holder) = format!("{}/{:04x}-{}", self.who, self.run, self.life).parse() else {
            return Ok(None);
        };
        let acquire = self.wish(holder);
        let stop = self.stop.clone();
        let client = self.session.client().clone();
        let answer = tokio::select! {
            answer = client.acquire(&self.lease, &acquire) => answer,
            () = stop.cancelled() => {
                self.look_for_a_late_grant(&acquire).await;
                return Err(Stopped);
            }
        };
        match answer {
            Ok(lease) => {
                self.granted(&acquire, &lease);
                Ok(Some(lease))
            }
            Err(error) => {
                self.refused(&error, "cannot acquire").await?;
                Ok(None)
            }
        }
    }

    fn wish(&mut self, holder: HolderId) -> Acquire {
        let max_attempts = self.part.max_attempts.filter(|_| !self.tries_anyway);
        Acquire {
            grace_ms: self.part.grace_ms,
            claim_id: Some(format!("{:016x}", self.rng.random::<u64>())),
            max_attempts,
            payload: self.part.payload.and_then(|p| serde_json::from_str(p).ok()),
            principal: self.part.principal.map(str::to_owned),
            status: text_json("starting"),
            wait_ms: self.rng.random_range(5_000..30_000),
            ..Acquire::new(holder, self.part.ttl_ms)
        }
    }

    fn granted(&mut self, acquire: &Acquire, lease: &Lease) {
        self.backoff.reset();
        self.tries_anyway = false;
        self.tenure = Some(Tenure {
            holder: acquire.holder.clone(),
            generation: lease.generation,
        });
        if lease.attempt == 0 {
            self.steps = 0;
        }
        let attempt = match lease.attempt {
            0 => String::new(),
            attempt => format!(", attempt {attempt} at the work that was left"),
        };
        self.say(format!(
            "acquired with generation {}{attempt}",
            lease.generation
        ));
    }

    /// A wait in line that is cut off may have been granted just then.
    async fn look_for_a_late_grant(&mut self, acquire: &Acquire) {
        tokio::time::sleep(LINE_LEAVES).await;
        let call = Call::lease(&self.lease).within(RELEASE_BOUND);
        let Ok(answer) = self.session.client().send(call).await else {
            return;
        };
        if answer.value.holder.as_ref() == Some(&acquire.holder) {
            self.granted(acquire, &answer.value);
        }
    }

    /// Works and renews. Whether the tenure is still there at the end.
    async fn work(&mut self, mut lease: Lease, renewals: u32) -> Result<bool, Stopped> {
        for _ in 0..renewals {
            let third_ms = self.part.ttl_ms / 3;
            self.pause_ms(third_ms * 8 / 10..third_ms).await?;
            if let Some(asked) = &lease.step_down {
                let reason = asked.reason.clone();
                self.say(format!("was asked to step down: {reason}"));
                self.release("stepping down").await;
                return Ok(false);
            }
            self.steps += self.rng.random_range(1..=self.part.pace);
            match self.renew().await {
                Some(Ok(renewed)) => {
                    self.backoff.reset();
                    lease = renewed;
                }
                Some(Err(error @ CallError::Refused(_))) => {
                    self.tenure = None;
                    self.refused(&error, "stops its work").await?;
                    return Ok(false);
                }
                Some(Err(error)) => self.refused(&error, "could not renew").await?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    async fn renew(&mut self) -> Option<Result<Lease, CallError>> {
        let tenure = self.tenure.as_ref()?;
        let (before, after) = self.part.status;
        let renew = Renew {
            holder: tenure.holder.clone(),
            generation: tenure.generation,
            ttl_ms: None,
            status: Some(text_json(&format!("{before}{}{after}", self.steps))),
        };
        Some(self.session.client().renew(&self.lease, &renew).await)
    }

    /// Sleeps through its expiry, and finds out afterwards.
    async fn hang(&mut self) -> Result<(), Stopped> {
        self.say("hangs, and renews no more".into());
        let ttl_ms = self.part.ttl_ms;
        self.pause_ms(ttl_ms * 11 / 10..ttl_ms * 2).await?;
        match self.renew().await {
            Some(Ok(_)) => {
                self.say("woke up; nobody had taken the lease: recovered".into());
                self.pause_ms(500..ttl_ms / 3).await?;
                self.release("work done, late").await;
            }
            Some(Err(error)) => {
                self.tenure = None;
                self.refused(&error, "woke up too late").await?;
            }
            None => {}
        }
        Ok(())
    }

    /// Leaves without a word, and comes back as another process.
    async fn crash(&mut self) -> Result<(), Stopped> {
        self.say("crashes".into());
        self.life += 1;
        let ttl_ms = self.part.ttl_ms;
        self.pause_ms(ttl_ms..ttl_ms * 3).await?;
        self.say("is restarted".into());
        Ok(())
    }

    async fn release(&mut self, reason: &str) {
        let Some(tenure) = self.tenure.take() else {
            return;
        };
        let release = Release {
            holder: tenure.holder,
            generation: tenure.generation,
            reason: Some(reason.to_owned()),
        };
        let call = Call::release(&self.lease, &release).within(RELEASE_BOUND);
        match self.session.client().send(call).await {
            Ok(_) => self.say(format!("released: {reason}")),
            // What it left in a crash may be somebody else's by now.
            Err(error) if error.code() == Some(Code::Lost) => {}
            Err(error) => self.say(format!("could not release: {error}")),
        }
    }

    async fn farewell(&mut self) {
        // Those who wait in line leave it first, or each release would only
        // make the next of them the holder.
        tokio::time::sleep(LINE_LEAVES).await;
        self.release("the demo ended").await;
    }

    /// Says what went wrong, and waits as long as it makes sense.
    async fn refused(&mut self, error: &CallError, what: &str) -> Result<(), Stopped> {
        match error.code() {
            _ if matches!(error.status(), Some(401 | 403)) => {
                let failure = self
                    .session
                    .failure(error)
                    .with_hint("The demo needs a token of role holder without a --prefix.");
                let _ = self.said.send(Said::Refused(failure));
                self.stop.cancelled().await;
                return Err(Stopped);
            }
            Some(Code::Held) => {
                self.say("waited in line, and will again".into());
                return Ok(());
            }
            Some(Code::AttemptsExhausted) => {
                self.say("leaves it: the work has failed too often".into());
                self.tries_anyway = true;
                return self.pause_ms(10_000..20_000).await;
            }
            Some(Code::Lost) => {
                let ended = error.problem().and_then(|problem| problem.ended);
                let how = ended.map_or("gone".into(), |ended| format!("{ended:?}").to_lowercase());
                self.say(format!("{what}: the lease is lost ({how})"));
                return Ok(());
            }
            _ => self.say(format!("{what}: {error}")),
        }
        let wait = self.backoff.next();
        self.pause(wait).await
    }

    async fn pause_ms(&mut self, range: Range<u64>) -> Result<(), Stopped> {
        let wait = Duration::from_millis(self.rng.random_range(range));
        self.pause(wait).await
    }

    async fn pause(&self, wait: Duration) -> Result<(), Stopped> {
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = self.stop.cancelled() => Err(Stopped),
        }
    }

    fn say(&self, text: String) {
        // When nobody listens, the demo is over anyway.
        let _ = self.said.send(Said::Line {
            who: self.who,
            lease: self.part.lease,
            text,
        });
    }
}

fn text_json(text: &str) -> Option<RawJson> {
    serde_json::value::to_raw_value(text).ok()
}

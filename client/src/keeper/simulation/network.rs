//! The network between the processes and the server: what is asked, what
//! becomes of it on the way, what is answered and when.

use super::{
    script::Fate,
    server::Granted,
    world::{Event, World},
};
use crate::{
    Generation,
    keeper::machine::{AcquireAnswer, CallId, Confirmed, Grant, ReleaseAnswer, RenewAnswer},
};

#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    Acquire { claim: u64, until_us: u64 },
    Renew { generation: u64 },
    Release { generation: u64 },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) process: usize,
    pub(super) call: CallId,
    pub(super) ask: Ask,
    /// When its answer is there after it was given; `None` if it gets lost.
    pub(super) back_us: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) enum Reply {
    Acquire(AcquireAnswer),
    Renew(RenewAnswer),
    Release(ReleaseAnswer),
}

impl World<'_> {
    /// The process hears after `bound_us` at the latest, and perhaps once more
    /// when the answer comes after that.
    pub(super) fn send(
        &mut self,
        process: usize,
        call: CallId,
        ask: Ask,
        failed: Reply,
        now_us: u64,
        bound_us: u64,
    ) {
        self.messages += 1;
        let fates = &self.script.fates;
        let Fate { there_ms, back_ms } = fates[self.messages % fates.len()];
        if let Some(there_ms) = there_ms {
            let request = Request {
                process,
                call,
                ask,
                back_us: back_ms.map(|ms| ms * 1_000),
            };
            self.put(now_us + there_ms * 1_000, Event::Arrives(request));
        }
        self.put(now_us + bound_us, Event::Answered(process, call, failed));
    }

    pub(super) fn arrives(&mut self, request: Request, now_us: u64) {
        let Request {
            process,
            call,
            ask,
            back_us,
        } = request;
        let server = &mut self.server;
        let reply = match ask {
            Ask::Acquire { claim, until_us } => match server.acquire((process, claim), now_us) {
                Ok(granted) => {
                    Reply::Acquire(AcquireAnswer::Granted(grant(granted), confirmed(granted)))
                }
                Err(true) => Reply::Acquire(AcquireAnswer::ClaimOver),
                Err(false) if now_us < until_us => {
                    self.line.push(request);
                    self.put(until_us, Event::Line);
                    return;
                }
                Err(false) => Reply::Acquire(AcquireAnswer::NotNow { retry_after: None }),
            },
            Ask::Renew { generation } => Reply::Renew(
                server
                    .renew(process, generation, now_us)
                    .map_or_else(RenewAnswer::Lost, |g| RenewAnswer::Confirmed(confirmed(g))),
            ),
            Ask::Release { generation } => Reply::Release(
                server
                    .release(process, generation)
                    .map_or_else(ReleaseAnswer::Lost, |()| ReleaseAnswer::Done),
            ),
        };
        if let Some(back_us) = back_us {
            self.put(now_us + back_us, Event::Answered(process, call, reply));
        }
    }

    pub(super) fn look_at_line(&mut self, now_us: u64) {
        for request in std::mem::take(&mut self.line) {
            self.arrives(request, now_us);
        }
    }
}

fn grant(granted: Granted) -> Grant {
    Grant {
        generation: Generation::try_from(granted.generation).expect("a small number"),
        attempt: 0,
        payload: None,
        principal: None,
    }
}

fn confirmed(granted: Granted) -> Confirmed {
    Confirmed {
        remaining_ms: granted.remaining_ms,
        step_down: None,
    }
}

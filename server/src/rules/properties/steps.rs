//! What may happen: one step is a move of the clock and one request, drawn at
//! random. A step names generations by what they are ("the current one", "one
//! that was granted earlier"), and [`World`] turns it into a request once it is
//! known what there is.

use baton_client::{Actor, Generation, HolderId, RawJson};
use proptest::{option, prelude::*, sample::select};

use super::{super::*, World};

/// How many leases, holders and tokens a run has.
pub const LEASES: usize = 3;
pub const HOLDERS: usize = 3;
pub const TOKENS: usize = 2;

/// How the database's clock moves before a request.
#[derive(Debug, Clone, Copy)]
pub enum Move {
    /// Not at all.
    Stands,
    /// Forwards, in microseconds.
    Forward(i64),
    /// Backwards, in microseconds, as a step of PostgreSQL's clock may.
    Back(i64),
    /// To what is due next on the lease, and this many microseconds on.
    Due(i64),
    /// To the end of the lease's grace, bar or reservation, and so far on.
    Takeable(i64),
}

/// A generation that somebody names.
#[derive(Debug, Clone, Copy)]
pub enum Named {
    Current,
    Zero,
    /// The current one, off by so much.
    Off(i64),
}

/// Which tenure a holder presents.
#[derive(Debug, Clone, Copy)]
pub enum Presented {
    /// The current one, with its own token or with the other one.
    Current { other_token: bool },
    /// One that was granted earlier, counted from the last.
    Earlier(usize),
    /// Whatever comes to mind.
    Made { holder: usize, named: Named },
}

#[derive(Debug, Clone)]
pub struct Taking {
    pub holder: usize,
    pub token: usize,
    pub ttl_ms: u64,
    pub grace_ms: u64,
    pub claim: Option<usize>,
    pub above: Option<u64>,
    pub expected: Option<Named>,
    pub max_attempts: Option<u64>,
    pub payload: Option<u8>,
    pub principal: Option<u8>,
}

#[derive(Debug, Clone)]
pub enum Op {
    Acquire(Taking),
    Renew(Presented, Option<u64>, Option<Option<u8>>),
    Release(Presented),
    Force(Named, Option<Bar>, Option<(usize, u64)>),
    StepDown(Named, u64, Option<(usize, u64)>),
    CancelStepDown,
    Pause,
    Unpause,
    Protect,
    Unprotect,
    Settle,
}

/// What concerns all leases at once.
#[derive(Debug, Clone, Copy)]
pub enum Whole {
    Raise,
    /// Forgets what nobody touched for so long, in milliseconds.
    Forget(u64),
}

#[derive(Debug, Clone)]
pub struct Step {
    /// Before the request.
    pub whole: Option<Whole>,
    pub clock: Move,
    pub lease: usize,
    pub op: Op,
}

/// A sequence of steps whose clock only goes forwards, or goes as it likes.
pub fn steps(forward_only: bool) -> impl Strategy<Value = Vec<Step>> {
    let back = if forward_only { 0 } else { 2 };
    let clock = prop_oneof![
        3 => Just(Move::Stands),
        4 => (0..3_000_000i64).prop_map(Move::Forward),
        1 => (0..90_000_000_000i64).prop_map(Move::Forward),
        back => (0..2_000_000i64).prop_map(Move::Back),
        back => (0..4_000_000_000i64).prop_map(Move::Back),
        3 => (-1..=1i64).prop_map(Move::Due),
        3 => (-1..=1i64).prop_map(Move::Takeable),
    ];
    let whole = prop_oneof![
        1 => Just(Whole::Raise),
        3 => select(vec![0, 1_000, 60_000, 3_600_000]).prop_map(Whole::Forget),
    ];
    let whole = option::weighted(0.1, whole);
    let step = (whole, clock, 0..LEASES, op()).prop_map(|(whole, clock, lease, op)| Step {
        whole,
        clock,
        lease,
        op,
    });
    proptest::collection::vec(step, 1..50)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => taking().prop_map(Op::Acquire),
        5 => (presented(), option::of(ttl()), option::of(option::of(any::<u8>())))
            .prop_map(|(who, ttl_ms, status)| Op::Renew(who, ttl_ms, status)),
        3 => presented().prop_map(Op::Release),
        2 => force(),
        2 => (named(), operator_ms(), kept()).prop_map(|(g, ms, kept)| Op::StepDown(g, ms, kept)),
        1 => select(vec![
            Op::CancelStepDown, Op::Pause, Op::Unpause, Op::Unpause, Op::Protect, Op::Unprotect,
        ]),
        1 => Just(Op::Settle),
    ]
}

fn ttl() -> impl Strategy<Value = u64> {
    select(vec![1_000, 2_500, 10_000, 86_400_000])
}

fn operator_ms() -> impl Strategy<Value = u64> {
    select(vec![1_000, 4_000, 30_000])
}

fn kept() -> impl Strategy<Value = Option<(usize, u64)>> {
    option::of((0..HOLDERS, operator_ms()))
}

fn named() -> impl Strategy<Value = Named> {
    prop_oneof![
        6 => Just(Named::Current),
        1 => Just(Named::Zero),
        1 => (-2..3i64).prop_map(Named::Off),
    ]
}

fn presented() -> impl Strategy<Value = Presented> {
    prop_oneof![
        6 => Just(Presented::Current { other_token: false }),
        1 => Just(Presented::Current { other_token: true }),
        2 => (0..4usize).prop_map(Presented::Earlier),
        1 => (0..HOLDERS, named()).prop_map(|(holder, named)| Presented::Made { holder, named }),
    ]
}

fn force() -> impl Strategy<Value = Op> {
    let how = prop_oneof![
        2 => Just((None, None)),
        1 => operator_ms().prop_map(|ms| (Some(Bar::Everyone(ms)), None)),
        1 => (operator_ms(), kept()).prop_map(|(ms, kept)| (Some(Bar::Holder(ms)), kept)),
        1 => kept().prop_map(|kept| (None, kept)),
    ];
    (named(), how).prop_map(|(named, (bar, kept))| Op::Force(named, bar, kept))
}

fn taking() -> impl Strategy<Value = Taking> {
    (
        (0..HOLDERS, 0..TOKENS, ttl(), select(vec![0, 0, 700, 5_000])),
        (
            option::weighted(0.4, 0..2usize),
            option::weighted(0.1, 0..40u64),
            option::weighted(0.2, named()),
            option::weighted(0.2, 0..3u64),
        ),
        (option::of(any::<u8>()), option::of(any::<u8>())),
    )
        .prop_map(|(who, how, what)| Taking {
            holder: who.0,
            token: who.1,
            ttl_ms: who.2,
            grace_ms: who.3,
            claim: how.0,
            above: how.1,
            expected: how.2,
            max_attempts: how.3,
            payload: what.0,
            principal: what.1,
        })
}

pub fn holder(i: usize) -> HolderId {
    format!("holder-{i}").parse().expect("is a holder")
}

pub fn token(i: usize) -> Asker {
    asker(Actor::Token(format!("token-{i}")))
}

pub fn operator() -> Asker {
    asker(Actor::User("ana".into()))
}

fn asker(actor: Actor) -> Asker {
    Asker {
        actor,
        address: Some("192.0.2.1".into()),
        request_id: Some("r".into()),
    }
}

pub fn why() -> Why {
    Why {
        reason: "the deploy is stuck".into(),
        incident: Some("INC-1".into()),
    }
}

pub fn raw(text: &str) -> RawJson {
    serde_json::value::RawValue::from_string(text.into()).expect("is JSON")
}

/// The least that an acquire says.
pub fn acquire(holder: HolderId) -> Acquire {
    Acquire {
        holder,
        ttl_ms: 10_000,
        grace_ms: 0,
        claim_id: None,
        above: None,
        expected_generation: None,
        max_attempts: None,
        payload: None,
        principal: None,
        status: None,
    }
}

impl World {
    /// What is asked in a step.
    pub fn request(&self, lease: usize, op: &Op) -> Request {
        let reservation = |kept: &Option<(usize, u64)>| {
            kept.map(|(i, ms)| Reservation {
                holder: holder(i),
                ms,
            })
        };
        match op {
            Op::Acquire(taking) => self.acquire(lease, taking),
            Op::Renew(who, ttl_ms, status) => {
                let (asker, holder, generation) = self.presented(lease, *who);
                Request::Renew(
                    asker.into(),
                    Renew {
                        holder,
                        generation,
                        ttl_ms: *ttl_ms,
                        status: status.map(|value| value.map(|value| raw(&value.to_string()))),
                    },
                )
            }
            Op::Release(who) => {
                let (asker, holder, generation) = self.presented(lease, *who);
                Request::Release(
                    asker,
                    Release {
                        holder,
                        generation,
                        reason: None,
                    },
                )
            }
            Op::Force(named, bar, kept) => Request::ForceRelease(
                operator(),
                ForceRelease {
                    expected_generation: self.named(lease, *named),
                    why: why(),
                    bar: *bar,
                    reservation: reservation(kept),
                },
            ),
            Op::StepDown(named, deadline_ms, kept) => Request::StepDown(
                operator(),
                StepDown {
                    expected_generation: self.named(lease, *named),
                    why: why(),
                    deadline_ms: *deadline_ms,
                    reservation: reservation(kept),
                },
            ),
            Op::CancelStepDown => Request::CancelStepDown(operator(), why()),
            Op::Pause => Request::Pause(operator(), why()),
            Op::Unpause => Request::Unpause(operator(), why()),
            Op::Protect => Request::Protect(operator(), why()),
            Op::Unprotect => Request::Unprotect(operator(), why()),
            Op::Settle => Request::Settle,
        }
    }

    fn acquire(&self, lease: usize, taking: &Taking) -> Request {
        Request::Acquire(
            token(taking.token),
            Acquire {
                ttl_ms: taking.ttl_ms,
                grace_ms: taking.grace_ms,
                claim_id: taking.claim.map(|i| format!("claim-{i}")),
                above: taking.above.map(|above| generation(above as i64)),
                expected_generation: taking.expected.map(|named| self.named(lease, named)),
                max_attempts: taking.max_attempts,
                payload: taking.payload.map(|value| raw(&value.to_string())),
                principal: taking.principal.map(|value| format!("person-{value}")),
                ..acquire(holder(taking.holder))
            },
        )
    }

    fn named(&self, lease: usize, named: Named) -> Generation {
        let current = self.rows[lease]
            .as_ref()
            .map_or(0, |row| row.generation.get()) as i64;
        match named {
            Named::Current => generation(current),
            Named::Zero => Generation::ZERO,
            Named::Off(by) => generation(current + by),
        }
    }

    fn presented(&self, lease: usize, who: Presented) -> (Asker, HolderId, Generation) {
        let tenure = self.rows[lease]
            .as_ref()
            .and_then(|row| row.tenure.as_ref());
        match (who, tenure) {
            (Presented::Current { other_token }, Some(tenure)) => {
                let own = tenure.token == "token-0";
                let asker = token(usize::from(own == other_token));
                (
                    asker,
                    tenure.holder.clone(),
                    self.named(lease, Named::Current),
                )
            }
            (Presented::Earlier(back), _) if !self.grants[lease].is_empty() => {
                let grants = &self.grants[lease];
                let grant = &grants[grants.len() - 1 - back % grants.len()];
                (grant.asker.clone(), grant.holder.clone(), grant.generation)
            }
            (Presented::Made { holder: i, named }, _) => {
                (token(0), holder(i), self.named(lease, named))
            }
            _ => (token(0), holder(0), self.named(lease, Named::Current)),
        }
    }
}

fn generation(number: i64) -> Generation {
    Generation::try_from(number.max(0) as u64).expect("is small")
}

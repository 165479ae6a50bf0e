//! What would be answered next: tried out on copies after every step, so that
//! nothing depends on whether the steps happen to ask it.

use super::{
    steps::{HOLDERS, acquire, holder, token},
    *,
};

impl World {
    pub fn probe(&self, lease: usize) {
        self.probe_earlier_tenures(lease);
        self.probe_claims(lease);
        let Some(row) = &self.rows[lease] else { return };
        assert!(
            due_at(row).is_none_or(|due| due > self.now),
            "nothing is left undone"
        );
        self.probe_holder(lease, row);
        let others = (0..HOLDERS).map(|i| Some(holder(i)));
        for who in others.chain([None]) {
            self.probe_acquirable(row, who.as_ref());
        }
    }

    fn ask(&self, row: &mut Option<LeaseRow>, request: &Request, now: Timestamp) -> Answered {
        let mut log = Vec::new();
        let known = Known {
            floor: self.floor,
            past_claim: None,
            behind: None,
        };
        let name = Self::name(0);
        let result = apply(row, &name, request, self.moment(now), known, &mut log);
        Answered { result, log }
    }

    /// A tenure that is over can do nothing any more, whatever it presents.
    fn probe_earlier_tenures(&self, lease: usize) {
        for grant in self.grants[lease].iter().rev().take(4) {
            let row = self.rows[lease].as_ref();
            if row.is_some_and(|row| row.tenure.is_some() && row.generation == grant.generation) {
                continue;
            }
            let renew = Renew {
                holder: grant.holder.clone(),
                generation: grant.generation,
                ttl_ms: None,
                status: None,
            };
            let release = Release {
                holder: grant.holder.clone(),
                generation: grant.generation,
                reason: None,
            };
            for request in [
                Request::Renew(grant.asker.clone().into(), renew),
                Request::Release(grant.asker.clone(), release),
            ] {
                let mut copy = self.rows[lease].clone();
                let answered = self.ask(&mut copy, &request, self.now);
                assert_eq!(answered.result, Err(Refusal::Lost(grant.generation)));
                assert_eq!(step::text(copy.as_ref()), step::text(row));
            }
        }
    }

    /// A repeated claim gets its grant back while the tenure lasts, and is
    /// refused `lost` from then on.
    fn probe_claims(&self, lease: usize) {
        for grant in self.grants[lease].iter().rev().take(4) {
            let repeat = Request::Acquire(
                grant.asker.clone(),
                Acquire {
                    claim_id: grant.claim_id.clone(),
                    expected_generation: Some(Generation::ZERO),
                    ..acquire(grant.holder.clone())
                },
            );
            let known = self.known(lease, &repeat);
            // The newest grant to the claim is the one that counts.
            if grant.claim_id.is_none() || known.past_claim != Some(grant.generation) {
                continue;
            }
            let row = self.rows[lease].as_ref();
            let lasts =
                row.is_some_and(|row| row.tenure.is_some() && row.generation == grant.generation);
            let mut copy = self.rows[lease].clone();
            let (name, moment) = (Self::name(lease), self.moment(self.now));
            let result = apply(&mut copy, &name, &repeat, moment, known, &mut Vec::new());
            let expected = if lasts {
                Ok(())
            } else {
                Err(Refusal::Lost(grant.generation))
            };
            assert_eq!(result, expected);
            assert_eq!(step::text(copy.as_ref()), step::text(row));
        }
    }

    /// The holder can renew, paused or not; nobody can acquire beside it, not
    /// even under its own name.
    fn probe_holder(&self, lease: usize, row: &LeaseRow) {
        let Some(tenure) = &row.tenure else { return };
        let asker = Asker {
            actor: Actor::Token(tenure.token.clone()),
            ..token(0)
        };
        let renew = Renew {
            holder: tenure.holder.clone(),
            generation: row.generation,
            ttl_ms: None,
            status: None,
        };
        let mut copy = self.rows[lease].clone();
        let answered = self.ask(
            &mut copy,
            &Request::Renew(asker.clone().into(), renew),
            self.now,
        );
        assert_eq!(answered.result, Ok(()), "a tenure is its holder's to renew");
        if self.now < tenure.expires_at.plus_ms(tenure.grace_ms) {
            for who in [tenure.holder.clone(), holder(0), holder(1)] {
                let request = Request::Acquire(asker.clone(), acquire(who));
                let answered = self.ask(&mut Some(row.clone()), &request, self.now);
                assert!(answered.result.is_err(), "the lease is live");
                assert!(answered.log.is_empty());
            }
        }
    }

    /// `acquirable_at` is the very moment from which an acquire succeeds, if
    /// nothing happens but what the server itself does in time.
    fn probe_acquirable(&self, row: &LeaseRow, who: Option<&HolderId>) {
        let stranger: HolderId = "stranger".parse().expect("is a holder");
        let asking = who.cloned().unwrap_or(stranger);
        let Some(at) = acquirable_at(row, who, self.now) else {
            assert!(row.paused.is_some(), "only an operator can change it");
            return;
        };
        assert!(at >= self.now);
        let acquired = self.acquires_at(row, asking.clone(), at);
        assert_eq!(acquired, Ok(()), "{asking} acquires at {at}");
        if at > self.now {
            let just_before = Timestamp::from_micros(at.micros() - 1);
            let refused = self.acquires_at(row, asking, just_before);
            let refusal = refused.expect_err("it is not time yet");
            assert_eq!(refusal.until(), Some(at), "the refusal says when");
        }
    }

    fn acquires_at(&self, row: &LeaseRow, who: HolderId, at: Timestamp) -> Result<(), Refusal> {
        let mut copy = row.clone();
        while let Some(due) = due_at(&copy).filter(|due| *due <= at) {
            settle(&mut copy, self.moment(due), &mut Vec::new());
        }
        let request = Request::Acquire(token(0), acquire(who));
        self.ask(&mut Some(copy), &request, at).result
    }
}

struct Answered {
    result: Result<(), Refusal>,
    log: Vec<Draft>,
}

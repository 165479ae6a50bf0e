//! What must be true of every single request: what it may change, and what the
//! log must say of it.

use super::*;

/// Rows as text, for they hold raw JSON, which cannot be compared.
pub fn text(row: Option<&LeaseRow>) -> String {
    format!("{row:?}")
}

impl Happened<'_> {
    pub fn check(&self) {
        self.check_entries();
        self.check_generation();
        if self.result.is_err() {
            assert_eq!(
                self.drafts, self.settling,
                "a refusal logs only what was due"
            );
            assert_eq!(
                text(self.after.as_ref()),
                text(self.settled.as_ref()),
                "a refusal changes only what was due"
            );
            return;
        }
        match self.request {
            Request::Acquire(asker, acquire) => self.check_acquired(asker, acquire),
            Request::Renew(asker, renew) => self.check_renewed(asker, renew),
            Request::Release(..) => self.check_released(),
            Request::ForceRelease(_, force) => self.check_forced(force),
            Request::StepDown(_, ask) => {
                let asked = self.after().step_down.as_ref().expect("is asked");
                assert_eq!(asked.deadline, self.moment.now.plus_ms(ask.deadline_ms));
                assert!(self.after().tenure.is_some(), "it belongs to a tenure");
            }
            Request::CancelStepDown(..) => assert!(self.after().step_down.is_none()),
            Request::Pause(..) => assert!(self.after().paused.is_some()),
            Request::Unpause(..) => assert!(self.after().paused.is_none()),
            Request::Protect(..) => assert!(self.after().protected),
            Request::Unprotect(..) => assert!(!self.after().protected),
            Request::Settle => assert_eq!(self.drafts, self.settling),
        }
    }

    fn after(&self) -> &LeaseRow {
        self.after.as_ref().expect("there is a lease")
    }

    /// The entries of the request itself, besides what was due.
    fn own(&self) -> &[Draft] {
        &self.drafts[self.settling.len()..]
    }

    /// Every change of a row has its entry, and every entry is of a change.
    fn check_entries(&self) {
        assert_eq!(
            self.drafts[..self.settling.len()],
            self.settling,
            "what is due comes first"
        );
        assert!(self.own().len() <= 1, "one request, one entry");
        let mut left = self
            .before
            .as_ref()
            .map_or((Generation::ZERO, None), |row| {
                (row.generation, row.holder().cloned())
            });
        for draft in &self.drafts {
            assert_eq!(draft.at, self.moment.at);
            assert_eq!(
                (draft.previous_generation, draft.previous_holder.clone()),
                left
            );
            left = (draft.generation, draft.holder.clone());
        }
        let Some(after) = &self.after else {
            assert!(self.drafts.is_empty());
            return;
        };
        assert_eq!((after.generation, after.holder().cloned()), left);
        if self.drafts.is_empty() {
            assert_eq!(
                text(self.but_renewed(self.before.as_ref()).as_ref()),
                text(self.but_renewed(self.after.as_ref()).as_ref()),
                "without an entry nothing changes but what a renewal may"
            );
        } else {
            assert_eq!(after.changed_at, self.moment.at);
        }
    }

    /// The row without what a renewal changes; whole, if there was none.
    fn but_renewed(&self, row: Option<&LeaseRow>) -> Option<LeaseRow> {
        let mut row = row.cloned()?;
        let renewed = self.result.is_ok() && matches!(self.request, Request::Renew(..));
        if let Some(tenure) = row.tenure.as_mut().filter(|_| renewed) {
            tenure.renewed_at = Timestamp::default();
            tenure.expires_at = Timestamp::default();
            tenure.ttl_ms = 0;
            tenure.status = None;
        }
        Some(row)
    }

    /// The generation grows on every change of hands, and on nothing else.
    fn check_generation(&self) {
        for draft in &self.drafts {
            let (before, after) = (draft.previous_generation, draft.generation);
            match draft.event {
                HandoverEvent::Granted => assert!(after > before),
                HandoverEvent::Released => assert_eq!(Some(after), before.next()),
                HandoverEvent::Forced if draft.previous_holder.is_some() => {
                    assert_eq!(Some(after), before.next());
                }
                _ => {
                    assert_eq!(after, before, "{} does not move it", draft.event);
                    assert_eq!(draft.holder, draft.previous_holder);
                }
            }
        }
    }

    fn check_acquired(&self, asker: &Asker, acquire: &Acquire) {
        let after = self.after();
        let tenure = after.tenure.as_ref().expect("is held");
        assert_eq!(tenure.holder, acquire.holder);
        assert_eq!(asker.actor, Actor::Token(tenure.token.clone()));
        let [granted] = self.own() else {
            let before = self.settled.as_ref().and_then(|row| row.tenure.as_ref());
            assert!(acquire.claim_id.is_some(), "only a claim can be repeated");
            assert_eq!(before.map(|t| &t.claim_id), Some(&acquire.claim_id));
            assert_eq!(text(self.after.as_ref()), text(self.settled.as_ref()));
            return;
        };
        assert_eq!(granted.event, HandoverEvent::Granted);
        assert_eq!(tenure.expires_at, self.moment.now.plus_ms(acquire.ttl_ms));
        assert!(acquire.above.is_none_or(|above| after.generation > above));
        assert!(
            after.step_down.is_none(),
            "a step-down belongs to its tenure"
        );
        assert!(after.reserved.is_none(), "a grant uses the reservation up");
        match &self.settled {
            Some(before) => self.check_was_free(before, acquire),
            None => assert!(
                acquire
                    .expected_generation
                    .is_none_or(|e| e == Generation::ZERO)
            ),
        }
        self.check_attempt(granted, acquire);
    }

    /// Nothing stood against a grant.
    fn check_was_free(&self, before: &LeaseRow, acquire: &Acquire) {
        let now = self.moment.now;
        assert!(
            acquire
                .expected_generation
                .is_none_or(|e| e == before.generation)
        );
        assert!(before.paused.is_none(), "a paused lease cannot be acquired");
        if let Some(bar) = before.barred.as_ref().filter(|bar| now < bar.until) {
            assert!(
                bar.holder
                    .as_ref()
                    .is_some_and(|barred| *barred != acquire.holder)
            );
        }
        if let Some(kept) = before.reserved.as_ref().filter(|kept| now < kept.until) {
            assert_eq!(kept.holder, acquire.holder, "it was reserved for another");
        }
        let Some(tenure) = &before.tenure else { return };
        assert!(
            now >= tenure.expires_at.plus_ms(tenure.grace_ms),
            "two tenures at once"
        );
        assert!(tenure.lapsed, "the lapse was logged before the takeover");
        assert!(acquire.max_attempts.is_none_or(|max| before.attempt < max));
        if let Some((successor, _)) = before.step_down.as_ref().and_then(|s| s.successor.as_ref()) {
            assert_eq!(*successor, acquire.holder, "it was promised to another");
        }
    }

    /// What a tenure inherits, by how the one before it ended.
    fn check_attempt(&self, granted: &Draft, acquire: &Acquire) {
        let after = self.after();
        let before = self.settled.as_ref();
        let (attempt, inherits) = match granted.reason.as_str() {
            "after lapse" => (before.map_or(0, |row| row.attempt) + 1, true),
            "after forced release" => (before.map_or(0, |row| row.attempt), true),
            "after release" | "first" => (0, false),
            other => panic!("`{other}` is no reason of a grant"),
        };
        assert_eq!(after.attempt, attempt);
        let own = acquire.payload.as_ref();
        let inherited = before
            .filter(|_| inherits)
            .and_then(|row| row.payload.as_ref());
        assert_eq!(
            after.payload.as_ref().map(|payload| payload.get()),
            own.or(inherited).map(|payload| payload.get())
        );
        let inherited = before
            .filter(|_| inherits)
            .and_then(|row| row.principal.as_ref());
        assert_eq!(
            after.principal.as_ref(),
            acquire.principal.as_ref().or(inherited)
        );
    }

    fn check_renewed(&self, asker: &Asker, renew: &Renew) {
        let before = self.settled.as_ref().and_then(|row| row.tenure.as_ref());
        let before = before.expect("only a tenure can be renewed");
        let after = self.after();
        let tenure = after.tenure.as_ref().expect("is still held");
        assert_eq!(asker.actor, Actor::Token(tenure.token.clone()));
        assert_eq!(
            (&tenure.holder, after.generation),
            (&renew.holder, renew.generation)
        );
        assert_eq!(tenure.ttl_ms, renew.ttl_ms.unwrap_or(before.ttl_ms));
        let full = self.moment.now.plus_ms(tenure.ttl_ms);
        let deadline = after
            .step_down
            .as_ref()
            .map_or(full, |asked| asked.deadline);
        assert_eq!(
            tenure.expires_at,
            full.min(deadline),
            "never past the deadline"
        );
        let status = |status: Option<&RawJson>| status.map(|status| status.get().to_owned());
        let expected = renew
            .status
            .as_ref()
            .map_or(&before.status, |status| status);
        assert_eq!(status(tenure.status.as_ref()), status(expected.as_ref()));
        let recovered: Vec<_> = self.own().iter().map(|draft| draft.event).collect();
        let lapsed = before.lapsed.then_some(HandoverEvent::Recovered);
        assert_eq!(recovered, Vec::from_iter(lapsed));
        assert!(!tenure.lapsed);
    }

    fn check_released(&self) {
        let after = self.after();
        assert_eq!(self.own()[0].event, HandoverEvent::Released);
        assert!(after.tenure.is_none() && after.step_down.is_none());
        assert!(after.payload.is_none() && after.principal.is_none() && after.attempt == 0);
        assert_eq!(self.reservation(), self.promise());
    }

    fn check_forced(&self, force: &ForceRelease) {
        let (before, after) = (self.settled.as_ref().expect("was there"), self.after());
        assert_eq!(self.own()[0].event, HandoverEvent::Forced);
        assert!(after.tenure.is_none() && after.step_down.is_none());
        let bar = force.bar.map(|bar| match bar {
            Bar::Everyone(ms) => (None, self.moment.now.plus_ms(ms)),
            Bar::Holder(ms) => (before.holder().cloned(), self.moment.now.plus_ms(ms)),
        });
        let barred = after
            .barred
            .as_ref()
            .map(|bar| (bar.holder.clone(), bar.until));
        assert_eq!(
            barred, bar,
            "a bar lasts as long as was asked, and replaces earlier ones"
        );
        let named = force.reservation.as_ref();
        let named = named.map(|kept| (kept.holder.clone(), self.moment.now.plus_ms(kept.ms)));
        let promise = self
            .promise()
            .filter(|_| !matches!(force.bar, Some(Bar::Everyone(_))));
        assert_eq!(self.reservation(), named.or(promise));
        if before.tenure.is_some() {
            assert_eq!(
                (after.attempt, &after.principal),
                (before.attempt, &before.principal)
            );
        } else {
            assert_eq!(after.attempt, 0, "forcing a free lease clears the attempts");
        }
    }

    fn reservation(&self) -> Option<(HolderId, Timestamp)> {
        let kept = self.after().reserved.as_ref()?;
        Some((kept.holder.clone(), kept.until))
    }

    /// What the step-down of the tenure promised, starting now.
    fn promise(&self) -> Option<(HolderId, Timestamp)> {
        let asked = self.settled.as_ref()?.step_down.as_ref()?;
        let (successor, ms) = asked.successor.as_ref()?;
        Some((successor.clone(), self.moment.now.plus_ms(*ms)))
    }
}

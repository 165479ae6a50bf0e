//! What the pages read, for one request and whoever sent it.

use std::{cmp::Reverse, sync::Arc};

use axum::http::HeaderMap;
use baton_app::{
    Backstage, HandoversView, LeaseView, LeasesView, Totals, Viewer,
    entry::{Entry, Last},
    lease_asked::{ENTRIES_MAX, LeaseAsked},
};
use baton_client::{Handover, HandoverQuery, LeaseQuery, Problem, Timestamp, limits::NUMBER_MAX};

use crate::{
    people::{Access, Caller, authorise},
    store::StoreError,
};

use super::{Site, answer::Oops, inquiry::verification, parse, plain::viewer};

/// One request's way to the store.
#[derive(Clone)]
pub struct Behind {
    site: Site,
    headers: HeaderMap,
}

/// An answer that is still to come.
type Coming<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Behind {
    /// For who sent these headers.
    pub fn of(site: Site, headers: HeaderMap) -> Self {
        Self { site, headers }
    }

    /// Who asks, if they may look.
    pub(super) async fn reader(&self) -> Result<Arc<Caller>, Oops> {
        let caller = self.site.recognise(&self.headers).await?;
        authorise(&caller, Access::Read, None)?;
        Ok(caller)
    }

    async fn read_leases(&self, query: LeaseQuery) -> Result<LeasesView, Oops> {
        self.reader().await?;
        parse::lease_query(&query)?;
        let (page, seq) = self.site.store().leases_and_seq(&query).await?;
        let names: Vec<_> = page.items.iter().map(|lease| lease.lease.clone()).collect();
        let lasts = self.site.store().last_handovers(&names).await?;
        let lasts = lasts
            .into_iter()
            .filter_map(|entry| Last::of(&entry.into()));
        Ok(LeasesView {
            lasts: lasts.collect(),
            items: page.items,
            next: page.next,
            now: page.now,
            totals: self.read_totals().await?,
            seq,
        })
    }

    async fn read_lease(&self, asked: LeaseAsked) -> Result<LeaseView, Oops> {
        let caller = self.reader().await?;
        let store = self.site.store();
        // The `seq` first: what is logged while the rest is read comes again
        // with the events, and nothing is missed.
        let seq = store.reader().end().await?.head.seq;
        let lease = store.lease(&asked.lease).await?;
        let mut lease = lease.ok_or_else(|| Oops::unknown_lease(&asked.lease))?;
        if caller.is_anonymous() {
            lease.payload = None;
        }
        let (from, to) = asked.window.bounds(lease.now);
        let of = |from, to, limit| HandoverQuery {
            lease: Some(asked.lease.clone()),
            from,
            to,
            limit: Some(limit),
            ..HandoverQuery::default()
        };
        let page = store.handovers(&of(from, to, ENTRIES_MAX as u64)).await?;
        let more = page.next.is_some();
        let mut entries = page.items;
        let mut before = match from {
            Some(from) if !more => store.handovers(&of(None, Some(from), 1)).await?.items.pop(),
            _ => None,
        };
        // Since the lease is told of, it may have been raised with all others.
        let oldest = before.as_ref().or(entries.last());
        if let Some(seq) = oldest.map(|oldest| oldest.seq) {
            let mut raises = store.reader().raises(seq, to).await?;
            let earlier = raises.partition_point(|raise| from.is_some_and(|from| raise.at < from));
            before = raises.drain(..earlier).next_back().or(before);
            entries.extend(raises);
            entries.sort_by_key(|entry| Reverse(entry.seq));
        }
        let act = match asked.after {
            Some(seq) => store.handover(seq).await?,
            None => None,
        };
        let act = act.filter(|act| act.lease.as_ref() == Some(&asked.lease));
        Ok(LeaseView {
            lease,
            entries: entries.into_iter().rev().map(Entry::from).collect(),
            more,
            before: before.map(Entry::from),
            act: act.map(Entry::from),
            seq,
        })
    }

    async fn read_handovers(&self, query: HandoverQuery) -> Result<HandoversView, Oops> {
        self.reader().await?;
        parse::handover_query(&query)?;
        let store = self.site.store();
        // The `seq` first, as for a lease; this has it.
        let verification = verification(store).await?;
        let page = store.handovers(&query).await?;
        Ok(HandoversView {
            items: page.items.into_iter().map(Entry::from).collect(),
            next: page.next,
            now: page.now,
            seq: verification.head_seq,
            verification: Some(verification),
        })
    }

    async fn read_totals(&self) -> Result<Totals, StoreError> {
        let totals = self.site.store().totals().await?;
        Ok(Totals {
            all: totals.all,
            held: totals.held,
            lapsed: totals.lapsed,
            free: totals.free,
            paused: totals.paused,
            flapping: totals.flapping,
        })
    }
}

impl Backstage for Behind {
    fn who(&self) -> Coming<'_, Result<Option<Viewer>, Problem>> {
        Box::pin(async {
            let caller = self
                .site
                .recognise(&self.headers)
                .await
                .map_err(|oops| *oops.0)?;
            Ok(viewer(&caller))
        })
    }

    fn address(&self) -> String {
        self.site.inner.address.clone()
    }

    fn leases(&self, query: LeaseQuery) -> Coming<'_, Result<LeasesView, Problem>> {
        Box::pin(async { self.read_leases(query).await.map_err(|oops| *oops.0) })
    }

    fn lease(&self, asked: LeaseAsked) -> Coming<'_, Result<LeaseView, Problem>> {
        Box::pin(async { self.read_lease(asked).await.map_err(|oops| *oops.0) })
    }

    fn handovers(&self, query: HandoverQuery) -> Coming<'_, Result<HandoversView, Problem>> {
        Box::pin(async { self.read_handovers(query).await.map_err(|oops| *oops.0) })
    }

    fn handover(&self, seq: u64) -> Coming<'_, Result<Option<(Handover, Timestamp)>, Problem>> {
        Box::pin(async move {
            let read = async {
                self.reader().await?;
                // No number that the API does not take was ever written.
                let seq = seq.min(NUMBER_MAX);
                let store = self.site.store();
                Ok::<_, Oops>(match store.handover(seq).await? {
                    Some(entry) => Some((entry, store.now().await?)),
                    None => None,
                })
            };
            read.await.map_err(|oops| *oops.0)
        })
    }

    fn totals(&self) -> Coming<'_, Result<Totals, Problem>> {
        Box::pin(async {
            let read = async {
                self.reader().await?;
                Ok::<_, Oops>(self.read_totals().await?)
            };
            read.await.map_err(|oops| *oops.0)
        })
    }
}

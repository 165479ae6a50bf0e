//! What the pages read, for one request and whoever sent it.

use std::sync::Arc;

use axum::http::HeaderMap;
use baton_app::{Backstage, LeasesView, Totals, Viewer};
use baton_client::{LeaseQuery, Problem};

use crate::{
    people::{Access, Caller, authorise},
    store::StoreError,
};

use super::{Site, answer::Oops, parse, plain::viewer};

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
    async fn reader(&self) -> Result<Arc<Caller>, Oops> {
        let caller = self.site.recognise(&self.headers).await?;
        authorise(&caller, Access::Read, None)?;
        Ok(caller)
    }

    async fn read_leases(&self, query: LeaseQuery) -> Result<LeasesView, Oops> {
        self.reader().await?;
        parse::lease_query(&query)?;
        let (page, seq) = self.site.store().leases_and_seq(&query).await?;
        Ok(LeasesView {
            items: page.items,
            next: page.next,
            now: page.now,
            totals: self.read_totals().await?,
            seq,
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

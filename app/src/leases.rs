//! `/`: all leases, who has them, and for how much longer.

use baton_client::Problem;
use leptos::prelude::*;

use crate::{
    Backstage, Document, LeasesView, Reply, Viewer, Visit,
    address::Asked,
    document::Script,
    empty_list::{NoLeaseYet, NothingMatches},
    header::Header,
    lease_table::LeaseTable,
    left_out::LeftOut,
    live::{LeaseList, Live},
    pages::Pages,
    render,
    search_form::SearchForm,
    stale_banner::StaleBanner,
    totals::{TotalsLine, title},
    visit,
};

/// Answers a visit.
pub async fn open(backstage: &dyn Backstage, visit: &Visit) -> Reply {
    let asked = Asked::read(|field| visit.field(field).map(str::to_owned));
    let viewer = match backstage.who().await {
        Ok(viewer) => viewer,
        Err(problem) => return refused(problem, None, &asked, visit),
    };
    match backstage.leases(asked.query()).await {
        Ok(leases) if visit.data => visit::data(&leases),
        Ok(leases) => Reply::Page(200, page(leases, asked, viewer, backstage.address(), visit)),
        Err(problem) => refused(problem, viewer, &asked, visit),
    }
}

fn refused(problem: Problem, viewer: Option<Viewer>, asked: &Asked, visit: &Visit) -> Reply {
    visit::refused(problem, "The leases", viewer, asked.href(), visit)
}

fn page(
    leases: LeasesView,
    asked: Asked,
    viewer: Option<Viewer>,
    address: String,
    visit: &Visit,
) -> String {
    let document = Document {
        title: title(leases.totals).to_owned(),
        display: visit.display,
        now: Some(leases.now),
        script: Script::new("leases", &leases, &visit.nonce),
        reload_s: None,
    };
    let misread = Asked::misread(|field| visit.field(field).map(str::to_owned));
    let misread = misread.into_iter();
    let left_out: Vec<_> = misread
        .map(|(field, why)| (field.to_owned(), why))
        .collect();
    render(document, || {
        let live = Live::new(leases.now);
        let next = leases.next.clone();
        let list = LeaseList::new(asked.clone(), leases);
        let here = asked.href();
        view! {
            <Header viewer here=here.clone() live />
            <div data-island="banner">
                <StaleBanner live here />
            </div>
            <main data-stands=list.stands().as_str()>
                <h1>"Leases"</h1>
                <div data-island="totals">
                    <TotalsLine list asked=asked.clone() />
                </div>
                <LeftOut fields=left_out />
                <SearchForm asked=asked.clone() />
                <div class="sheet" data-island="list">
                    <LeaseTable live list />
                </div>
                <NoLeaseYet address />
                <NothingMatches asked=asked.clone() />
                <Pages asked next />
                <noscript>
                    <p class="small muted">
                        "Without JavaScript this page does not update by itself: reload it to see how things stand."
                    </p>
                </noscript>
            </main>
        }
    })
}

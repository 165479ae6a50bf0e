//! `/leases/{name}`: one lease, its time and its handovers.

use baton_client::{Code, LeaseName, Problem, Role};
use leptos::prelude::*;

use crate::{
    Backstage, Document, LeaseView, Reply, Viewer, Visit,
    document::Script,
    exports::Exports,
    handovers_asked::HandoversAsked,
    header::Header,
    history::History,
    lease_asked::{ENTRIES_MAX, LeaseAsked, SPANS, Window, field_moment, near},
    lease_facts::LeaseFacts,
    lease_head::{Acts, LeaseState, title},
    lease_limits::{Follow, LeaseLimits},
    left_out::LeftOut,
    live::{Live, OneLease},
    message,
    paper::Paper,
    render,
    stale_banner::StaleBanner,
    timeline_view::{Picture, TenureTable},
    visit,
};

/// Answers a visit to the page of the lease `name`.
pub async fn open(backstage: &dyn Backstage, name: &str, visit: &Visit) -> Reply {
    let viewer = match backstage.who().await {
        Ok(viewer) => viewer,
        Err(problem) => return refused(problem, None, format!("/leases/{name}"), visit),
    };
    let lease = match LeaseName::try_from(name.to_owned()) {
        Ok(lease) => lease,
        // Strangers learn nothing by asking.
        Err(_) if viewer.is_none() => {
            let problem = Problem::new(Code::Unauthenticated, "sign in");
            return refused(problem, None, "/".to_owned(), visit);
        }
        Err(error) => {
            let html = message::no_such_lease(name, Some(error.to_string()), viewer, visit);
            return Reply::Page(404, html);
        }
    };
    let asked = LeaseAsked::read(lease, |field| visit.field(field).map(str::to_owned));
    match backstage.lease(asked.clone()).await {
        Ok(view) if visit.data => visit::data(&view),
        Ok(view) => Reply::Page(200, page(view, asked, viewer, visit)),
        Err(problem) if problem.code == Code::UnknownLease && !visit.data => {
            Reply::Page(404, message::no_such_lease(name, None, viewer, visit))
        }
        Err(problem) => refused(problem, viewer, asked.href(), visit),
    }
}

fn refused(problem: Problem, viewer: Option<Viewer>, here: String, visit: &Visit) -> Reply {
    visit::refused(problem, "The lease", viewer, here, visit)
}

fn page(mut view: LeaseView, asked: LeaseAsked, viewer: Option<Viewer>, visit: &Visit) -> String {
    // The payload stands in the document once, and no event carries it.
    let payload = view.lease.payload.take().flatten();
    let payload = payload.map(|payload| payload.get().to_owned());
    let role = viewer
        .as_ref()
        .filter(|viewer| !viewer.anonymous)
        .map_or(Role::Viewer, |viewer| viewer.role);
    let document = Document {
        title: title(&view.lease),
        display: visit.display,
        now: Some(view.lease.now),
        script: Script::new("lease", &view, &visit.nonce),
        reload_s: None,
    };
    let lease = view.lease.lease.to_string();
    let generation = view.lease.generation;
    let more = view.more;
    let now = view.lease.now;
    let misread = LeaseAsked::misread(|field| visit.field(field).map(str::to_owned));
    let misread = misread.into_iter();
    let left_out: Vec<_> = misread
        .map(|(field, why)| (field.to_owned(), why))
        .collect();
    let is_followed = view.act.is_some();
    render(document, || {
        let live = Live::new(view.lease.now);
        let one = OneLease::new(asked.window, view);
        let here = asked.href();
        let acts = match role {
            role if role >= Role::Operator => None,
            role => Some(format!(
                "To act on a lease takes the role operator; you are {}.",
                match viewer.as_ref().filter(|viewer| !viewer.anonymous) {
                    Some(_) => role.as_str(),
                    None => "not signed in",
                }
            )),
        };
        let all = HandoversAsked::of_lease(&asked.lease, None, None).href(None);
        let (from, to) = asked.window.bounds(now);
        let exported = HandoversAsked::of_lease(&asked.lease, from, to);
        let paper = vec![("Time shown", asked.window.words())];
        view! {
            <Header viewer here=here.clone() live />
            <div data-island="banner">
                <StaleBanner live here />
            </div>
            <main data-lease=lease.clone()>
                <p class="small crumbs">
                    <a href="/">"Leases"</a>
                </p>
                <div class="lease-head">
                    <h1 class="lease-title">
                        <bdi>{lease.clone()}</bdi>
                    </h1>
                    <div class="marks" data-island="state">
                        <LeaseState one live />
                    </div>
                    <div data-island="acts" data-role=role.as_str()>
                        <Acts one role />
                    </div>
                </div>
                {acts.map(|why| view! { <p class="small muted" id="why-not">{why}</p> })}
                <div data-island="follow">{is_followed.then(|| view! { <Follow one live /> })}</div>
                <div data-island="limits">
                    <LeaseLimits one live />
                </div>
                <section class="sheet now" aria-label="How it stands" data-island="facts">
                    <LeaseFacts one live />
                </section>
                {payload.map(|payload| view! { <Payload payload generation=generation.get() here=asked.href() /> })}
                <Paper shows=paper />
                <h2 id="timeline">
                    "Timeline " <span class="muted small">"in UTC"</span>
                </h2>
                <LeftOut fields=left_out />
                <Windows asked=asked.clone() one live />
                <section class="sheet picture" data-island="picture">
                    <Picture one live />
                </section>
                {more
                    .then(|| {
                        view! {
                            <p class="small muted">
                                {format!(
                                    "More happened in this time than is shown: the newest {ENTRIES_MAX} entries are. Choose a shorter time to see the rest.",
                                )}
                            </p>
                        }
                    })}
                <details class="sheet as-table">
                    <summary>"The same as a table"</summary>
                    <div data-island="tenures">
                        <TenureTable one />
                    </div>
                </details>
                <h2>"Handovers"</h2>
                <div class="sheet" data-island="history">
                    <History one />
                </div>
                <p class="pages">
                    <Exports asked=exported words="Export what happened in the time shown" />
                    <a href=all>"All handovers of this lease"</a>
                </p>
                <noscript>
                    <p class="small muted">
                        "Without JavaScript this page does not update by itself: reload it to see how things stand."
                    </p>
                </noscript>
            </main>
        }
    })
}

/// What the work is, as the holder sent it.
#[component]
fn Payload(payload: String, generation: u64, here: String) -> impl IntoView {
    view! {
        <details class="sheet payload" data-generation=generation.to_string()>
            <summary>
                "Payload" <span class="muted small">{format!(" of generation {generation}, {} bytes", payload.len())}</span>
            </summary>
            <p class="moved small">
                "The lease has changed hands since. " <a href=here>"Show the payload of now"</a>
            </p>
            <pre tabindex="0" aria-label="Payload">
                <code>{payload}</code>
            </pre>
        </details>
    }
}

/// Which part of its time is shown: spans, near windows, and any at all.
#[component]
fn Windows(asked: LeaseAsked, one: OneLease, live: Live) -> impl IntoView {
    let (from, to) = one.bounds(live.now.get_untracked());
    let link = |window: Window, words: &'static str| {
        let current = window == asked.window;
        view! {
            <a
                class="button quiet"
                href=format!("{}#timeline", asked.through(window).href())
                aria-current=current.then_some("true")
            >
                {words}
            </a>
        }
    };
    let spans: Vec<_> = std::iter::once(link(Window::Newest, "Newest"))
        .chain(SPANS.map(|(ms, _, words)| link(Window::Last(ms), words)))
        .collect();
    let near: Vec<_> = near(from, to)
        .into_iter()
        .map(|(words, window)| link(window, words))
        .collect();
    view! {
        <nav class="windows" aria-label="Time shown">
            <span>{spans}</span>
            <span>{near}</span>
            <form method="get" action=format!("/leases/{}#timeline", asked.lease)>
                <label>
                    "From (UTC) "
                    <input type="datetime-local" name="from" step="1" value=field_moment(from) required />
                </label>
                <label>
                    "to " <input type="datetime-local" name="to" step="1" value=field_moment(to) />
                </label>
                <button class="quiet" type="submit">
                    "Show"
                </button>
            </form>
        </nav>
    }
}

//! `/`: all leases, who has them, and for how much longer.

use baton_client::{Code, Problem};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::{
    Opened, Totals,
    address::{Asked, sign_in_href},
    connection::Phase,
    empty_list::{NoLeaseYet, NothingMatches},
    functions::open_leases,
    header::Header,
    lease_table::LeaseTable,
    live::{LeaseList, Live, text},
    problem_note::ProblemNote,
    search_form::SearchForm,
    stale_banner::StaleBanner,
    totals::TotalsLine,
};

/// The page. It reads once, whole; after that the event stream keeps it
/// current, until something else is asked for.
#[component]
pub fn LeasesPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| query.with(|query| Asked::read(|field| query.get(field))));
    let opened = Resource::new(
        move || asked.get(),
        |asked| async move { (asked.clone(), open_leases(asked.query()).await) },
    );
    let live = Live::new();
    let list = LeaseList::new();
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| crate::browser::follow(live, list));
    view! {
        <Title text=title(live, list) />
        <Transition>
            {move || Suspend::new(async move {
                let (asked, answer) = opened.await;
                let opened = answer.unwrap_or_else(unanswered);
                show(live, list, asked, opened)
            })}
        </Transition>
    }
}

/// The whole page for what was read.
fn show(live: Live, list: LeaseList, asked: Asked, opened: Opened) -> AnyView {
    let here = asked.href();
    let Opened {
        viewer,
        address,
        leases,
    } = opened;
    let shown = match leases {
        Err(problem) if problem.code == Code::Unauthenticated => {
            go_to(&sign_in_href(&here));
            return view! { <SignInFirst here /> }.into_any();
        }
        Err(problem) => {
            answer_with(&problem);
            view! { <ProblemNote problem here=here.clone() /> }.into_any()
        }
        Ok(view) => {
            live.read_at(view.page.now);
            let next = view.page.next.clone();
            list.open(asked.clone(), view);
            view! { <Listed live list asked address next /> }.into_any()
        }
    };
    view! {
        <Header live viewer here=here.clone() />
        <StaleBanner live here />
        <main>
            <h1>"Leases"</h1>
            {shown}
        </main>
    }
    .into_any()
}

/// Totals, search, and the list or what stands in its place.
#[component]
fn Listed(
    live: Live,
    list: LeaseList,
    asked: Asked,
    address: String,
    next: Option<String>,
) -> impl IntoView {
    let is_empty = Memo::new(move |_| list.shown.with(Vec::is_empty));
    let is_new = Memo::new(move |_| list.totals.with(|totals| totals.all == 0));
    let plain = asked == Asked::default();
    let filter = asked.clone();
    let body = move || match (is_empty.get(), plain && is_new.get()) {
        (false, _) => view! { <LeaseTable live list /> }.into_any(),
        (true, true) => view! { <NoLeaseYet address=address.clone() /> }.into_any(),
        (true, false) => view! { <NothingMatches asked=filter.clone() /> }.into_any(),
    };
    view! {
        <TotalsLine totals=list.totals asked=asked.clone() />
        <SearchForm asked=asked.clone() />
        {body}
        <Pages asked next />
        <noscript inner_html="<p class=\"small muted\">Without JavaScript this page does not update by itself: reload it to see how things stand.</p>"></noscript>
    }
}

/// The way to the pages before and after this one.
#[component]
fn Pages(asked: Asked, next: Option<String>) -> impl IntoView {
    let first = asked.cursor.is_some().then(|| asked.from(None).href());
    let next = next.map(|cursor| asked.from(Some(cursor)).href());
    (first.is_some() || next.is_some()).then(|| {
        view! {
            <nav class="pages" aria-label="Pages">
                {first
                    .map(|href| {
                        view! {
                            <a class="button" href=href>
                                "First page"
                            </a>
                        }
                    })}
                {next
                    .map(|href| {
                        view! {
                            <a class="button" rel="next" href=href>
                                "Next page"
                            </a>
                        }
                    })}
            </nav>
        }
    })
}

/// Stands for a moment, on the way to the sign-in page.
#[component]
fn SignInFirst(here: String) -> impl IntoView {
    view! {
        <main class="narrow">
            <p>
                <a rel="external" href=sign_in_href(&here)>
                    "Sign in"
                </a>
                " to see the leases."
            </p>
        </main>
    }
}

/// The title tells the state also when the page is in the background.
fn title(live: Live, list: LeaseList) -> impl Fn() -> String + Send + Sync + 'static {
    let title = text(move || {
        let Totals {
            lapsed, flapping, ..
        } = list.totals.get();
        let state = match (live.phase.get(), lapsed, flapping) {
            (Phase::Stale, _, _) => "Not connected".to_owned(),
            (Phase::SignedOut, _, _) => "Signed out".to_owned(),
            (_, 0, 0) => "Leases".to_owned(),
            (_, 0, flapping) => format!("{flapping} flapping"),
            (_, lapsed, _) => format!("{lapsed} lapsed"),
        };
        format!("{state} · Baton")
    });
    move || title.get()
}

/// What is shown when the server's answer did not arrive.
fn unanswered(error: ServerFnError) -> Opened {
    Opened {
        viewer: None,
        address: String::new(),
        leases: Err(Problem::new(
            Code::StoreUnavailable,
            format!("The server did not answer ({error}). Check the connection, and try again."),
        )),
    }
}

/// Leads somewhere else: the server with its answer, the browser by itself.
fn go_to(href: &str) {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>()
        && let Ok(href) = http::HeaderValue::from_str(href)
    {
        response.set_status(http::StatusCode::SEE_OTHER);
        response.insert_header(http::header::LOCATION, href);
    }
    #[cfg(feature = "hydrate")]
    crate::browser::leave_for(href);
    #[cfg(not(any(feature = "ssr", feature = "hydrate")))]
    let _ = href;
}

/// The page's status is the problem's.
fn answer_with(problem: &Problem) {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>()
        && let Ok(status) = http::StatusCode::from_u16(problem.status)
    {
        response.set_status(status);
    }
    #[cfg(not(feature = "ssr"))]
    let _ = problem;
}

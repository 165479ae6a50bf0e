//! `/`: all leases, who has them, and for how much longer.

use baton_client::{Code, Problem};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::{
    Opened, Totals, Viewer,
    address::{Asked, sign_in_href},
    connection::Phase,
    empty_list::{NoLeaseYet, NothingMatches},
    functions::open_leases,
    header::Header,
    lease_table::LeaseTable,
    live::{LeaseList, Live, text},
    pages::Pages,
    problem_note::ProblemNote,
    search_form::SearchForm,
    stale_banner::StaleBanner,
    totals::TotalsLine,
};

/// The page. It is built once, from the first answer; other filters and the
/// event stream only change what it shows. (What stands inside a `Suspend` that
/// runs again is taken apart while it is still on the screen and counting.)
#[component]
pub fn LeasesPage() -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| query.with(|query| Asked::read(|field| query.get(field))));
    let live = Live::new();
    let list = LeaseList::new();
    let first = Resource::new(
        || (),
        move |()| {
            let asked = asked.get_untracked();
            async move { (asked.clone(), open_leases(asked.query()).await) }
        },
    );
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| {
        crate::browser::follow(live, list);
        turn(live, list, asked);
    });
    view! {
        <Title text=title(live, list) />
        <Suspense>
            {move || Suspend::new(async move {
                let (said, answer) = first.await;
                let opened = answer.unwrap_or_else(unanswered);
                let (viewer, address) = (opened.viewer.clone(), opened.address.clone());
                if take(live, list, said, opened) {
                    view! { <Whole live list asked viewer address /> }.into_any()
                } else {
                    view! { <SignInFirst asked /> }.into_any()
                }
            })}
        </Suspense>
    }
}

/// Everything on the page.
#[component]
fn Whole(
    live: Live,
    list: LeaseList,
    asked: Memo<Asked>,
    viewer: Option<Viewer>,
    address: String,
) -> impl IntoView {
    let here = text(move || asked.with(Asked::href));
    let in_doubt = move || matches!(live.phase.get(), Phase::Stale | Phase::SignedOut);
    view! {
        <Header live viewer here />
        <StaleBanner live here />
        <main class:in-doubt=in_doubt>
            <h1>"Leases"</h1>
            <TotalsLine list asked />
            <SearchForm asked />
            <Body live list asked address here />
            <Pages asked next=list.next />
            <noscript inner_html=WITHOUT_SCRIPT></noscript>
        </main>
    }
}

/// The pause before reading what could not be read again.
#[cfg(feature = "hydrate")]
const READ_AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

const WITHOUT_SCRIPT: &str = "<p class=\"small muted\">Without JavaScript this page does not \
     update by itself: reload it to see how things stand.</p>";

/// What stands where the list belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    List,
    NoLeaseYet,
    NothingMatches,
    Problem,
}

/// The list, or what stands in its place. An error never looks like an empty
/// list.
#[component]
fn Body(
    live: Live,
    list: LeaseList,
    asked: Memo<Asked>,
    address: String,
    here: Memo<String>,
) -> impl IntoView {
    let stands = Memo::new(move |_| {
        let is_new = || list.totals.with(|totals| totals.all == 0);
        if list.problem.with(Option::is_some) {
            Stands::Problem
        } else if !list.shown.with(Vec::is_empty) {
            Stands::List
        } else if is_new() && asked.with(|asked| !asked.filters()) {
            Stands::NoLeaseYet
        } else {
            Stands::NothingMatches
        }
    });
    move || match stands.get() {
        Stands::List => view! { <LeaseTable live list /> }.into_any(),
        Stands::NoLeaseYet => view! { <NoLeaseYet address=address.clone() /> }.into_any(),
        Stands::NothingMatches => view! { <NothingMatches asked /> }.into_any(),
        Stands::Problem => view! { <ProblemNote problem=list.problem here /> }.into_any(),
    }
}

/// Stands for a moment, on the way to the sign-in page.
#[component]
fn SignInFirst(asked: Memo<Asked>) -> impl IntoView {
    view! {
        <main class="narrow">
            <p>
                <a rel="external" href=move || asked.with(|asked| sign_in_href(&asked.href()))>
                    "Sign in"
                </a>
                " to see the leases."
            </p>
        </main>
    }
}

/// Takes in an answer; `false` if it leads to the sign-in page.
fn take(live: Live, list: LeaseList, asked: Asked, opened: Opened) -> bool {
    match opened.leases {
        Err(problem) if problem.code == Code::Unauthenticated => {
            go_to(&sign_in_href(&asked.href()));
            return false;
        }
        Err(problem) => {
            answer_with(&problem);
            list.problem.set(Some(problem));
        }
        Ok(view) => {
            live.read_at(view.page.now);
            list.open(asked, view);
        }
    }
    true
}

/// Reads again when the address asks for something else, and every now and
/// then while it could not be read.
#[cfg(feature = "hydrate")]
fn turn(live: Live, list: LeaseList, asked: Memo<Asked>) {
    let read = move || {
        let Some(said) = asked.try_get_untracked() else {
            return; // The page was left.
        };
        leptos::task::spawn_local(async move {
            let answer = open_leases(said.query()).await;
            // Unless something else is asked by now.
            if asked.try_get_untracked().as_ref() == Some(&said) {
                take(live, list, said, answer.unwrap_or_else(unanswered));
            }
        });
    };
    Effect::new(move |before: Option<Asked>| {
        let now = asked.get();
        if before.is_some_and(|before| before != now) {
            read();
        }
        now
    });
    Effect::new(move |_| {
        if list.problem.with(Option::is_some) {
            set_timeout(read, READ_AGAIN);
        }
    });
}

/// The title tells the state also when the page is in the background.
fn title(live: Live, list: LeaseList) -> impl Fn() -> String + Send + Sync + 'static {
    let title = text(move || {
        let Totals {
            lapsed, flapping, ..
        } = list.totals.get();
        let state = match (live.phase.get(), lapsed, flapping) {
            _ if list.problem.with(Option::is_some) => "Not read".to_owned(),
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

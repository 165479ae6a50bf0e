//! Pages that say one thing: that there is nothing here, or why there is
//! nothing to see.

use baton_client::{Code, Problem};
use leptos::prelude::*;

use crate::{
    Document, Viewer, Visit,
    address::query_of,
    display::Display,
    header::{BareHeader, Header},
    render,
};

/// How soon a page that could not be read asks again, in seconds.
const READ_AGAIN_S: u64 = 5;

/// The page at any address at which there is nothing.
pub fn not_found(display: Display) -> String {
    let document = Document {
        title: "Nothing here".into(),
        display,
        ..Document::default()
    };
    render(document, || {
        view! {
            <BareHeader here="/".to_owned() />
            <main class="narrow">
                <h1>"Nothing here"</h1>
                <p>"There is no page at this address. The link may be old, or mistyped."</p>
                <p>
                    <a class="button" href="/">
                        "All leases"
                    </a>
                </p>
            </main>
        }
    })
}

/// The page of a lease that there is not. It keeps the name. `why`: no lease can
/// have that name.
pub fn no_such_lease(
    name: &str,
    why: Option<String>,
    viewer: Option<Viewer>,
    visit: &Visit,
) -> String {
    let document = Document {
        title: format!("No lease {name}"),
        display: visit.display,
        ..Document::default()
    };
    let here = visit.path.clone();
    let search = format!("/{}", query_of([("search", name)]));
    let history = format!("/handovers{}", query_of([("lease", name)]));
    let can_be = why.is_none();
    render(document, || {
        let why = why.unwrap_or_else(|| {
            "A lease springs into being when somebody first acquires or pauses it, and is there from then on. \
             The name may be mistyped, or the lease was idle for long and has been forgotten."
                .to_owned()
        });
        view! {
            <Header viewer here />
            <main>
                <div class="sheet empty" data-part="no-such-lease">
                    <h1>
                        "No lease is called " <bdi class="lease-title">{name.to_owned()}</bdi>
                    </h1>
                    <p>{why}</p>
                    <p class="acts">
                        <a class="button" href=search>
                            "Search for it"
                        </a>
                        {can_be
                            .then(|| {
                                view! {
                                    <a class="button" href=history>
                                        "Its handovers"
                                    </a>
                                }
                            })}
                        <a class="button" href="/">
                            "All leases"
                        </a>
                    </p>
                </div>
            </main>
        }
    })
}

/// The page in place of one that could not be read: what went wrong and what to
/// do, with the server's id of the request. An error never looks like an empty
/// list. `what` names what could not be read: "The leases".
pub fn problem(
    problem: Problem,
    what: &'static str,
    viewer: Option<Viewer>,
    here: String,
    display: Display,
) -> String {
    let passes = matches!(
        problem.code,
        Code::StoreUnavailable | Code::RateLimited | Code::Internal
    );
    let title = match problem.code {
        Code::StoreUnavailable => {
            format!("{what} could not be read: the database does not answer")
        }
        Code::Forbidden => "You may not see this".to_owned(),
        _ => format!("{what} could not be read: {}", problem.title.to_lowercase()),
    };
    let document = Document {
        title: "Not read".into(),
        display,
        reload_s: passes.then_some(READ_AGAIN_S),
        ..Document::default()
    };
    let again = here.clone();
    render(document, || {
        view! {
            <Header viewer here />
            <main>
                <div class="sheet empty problem" role="alert" data-part="problem">
                    <h1>{title}</h1>
                    <p>
                        <bdi>{problem.detail}</bdi>
                    </p>
                    <ul>
                        {problem
                            .errors
                            .into_iter()
                            .map(|error| {
                                view! {
                                    <li>
                                        <code>{error.field}</code>
                                        " "
                                        <bdi>{error.message}</bdi>
                                    </li>
                                }
                            })
                            .collect_view()}
                    </ul>
                    <p>
                        <a class="button" href=again>
                            "Try again"
                        </a>
                    </p>
                    <p class="small muted">
                        "Code " <code>{problem.code.as_str()}</code>
                        {problem.request_id.map(|id| view! { ", request " <code>{id}</code> })}
                        {passes.then(|| format!(". This page tries again every {READ_AGAIN_S} s."))}
                    </p>
                </div>
            </main>
        }
    })
}

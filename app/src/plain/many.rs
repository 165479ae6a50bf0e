//! A whole machine that must go: pause, ask to step down or force everything
//! that a search shows, lease by lease with its own generation.

use baton_client::{Lease, LeaseName, LeaseState, Problem, Timestamp};
use leptos::prelude::*;

use crate::{
    address::{Show, query_of, sign_in_href},
    countdown::left,
};

use super::{
    Act, Filled,
    act::spans,
    ask::{incident_field, reason_field},
    form::{Field, select_field, text_field},
};

/// What can be done to many leases at once.
pub const MANY: [Act; 4] = [Act::StepDown, Act::ForceRelease, Act::Pause, Act::Unpause];
/// How many at once.
pub const MANY_MAX: u64 = 100;
/// The filters that the address may hold.
pub const FILTERS: [&str; 4] = ["search", "holder", "prefix", "state"];

/// What a search shows.
#[derive(Debug, Clone)]
pub struct Many {
    /// The leases, at most [`MANY_MAX`].
    pub items: Vec<Lease>,
    /// How many more match; `None` without more, and a bound if it is only that.
    pub more: More,
    /// The address's field for the leases after these.
    pub next: Option<String>,
    /// The database time that this is true for.
    pub now: Timestamp,
    /// The filters, and what was typed.
    pub filled: Filled,
    /// Why who looks may not do it.
    pub denied: Option<String>,
    /// Nobody signed in.
    pub stranger: bool,
}

/// How many more leases match than are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// So many.
    Exactly(u64),
    /// More than so many.
    Beyond(u64),
}

impl More {
    fn words(self) -> Option<String> {
        match self {
            Self::Exactly(0) => None,
            Self::Exactly(more) => Some(format!("{more} more match and are not shown here.")),
            Self::Beyond(more) => Some(format!(
                "More than {more} others match and are not shown here."
            )),
        }
    }
}

/// What came of one lease.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Which.
    pub lease: LeaseName,
    /// The lease as it is then, or why nothing was done.
    pub came: Result<Box<Lease>, Box<Problem>>,
}

/// Whether anything is searched for at all.
pub fn filters(filled: &Filled) -> bool {
    FILTERS.iter().any(|field| filled.said(field).is_some())
}

/// The address of the same search, from where a cursor says.
fn href(filled: &Filled, cursor: Option<&str>) -> String {
    let fields = FILTERS
        .iter()
        .filter_map(|field| Some((*field, filled.said(field)?)));
    format!(
        "/act{}",
        query_of(fields.chain(cursor.map(|cursor| ("cursor", cursor))))
    )
}

/// The page that asks.
pub fn many_page(many: &Many, problem: Option<&Problem>) -> AnyView {
    let filled = &many.filled;
    let body = if !filters(filled) {
        view! { <p data-part="no-filter">"Say which leases: those of one holder, of one prefix, or what a search finds. Everything at once is not on offer."</p> }.into_any()
    } else if many.items.is_empty() {
        view! { <p data-part="none">"Nothing matches."</p> }.into_any()
    } else {
        form(many, problem)
    };
    view! {
        <main>
            <h1>"Act on many leases"</h1>
            {search(filled)}
            {body}
        </main>
    }
    .into_any()
}

fn search(filled: &Filled) -> AnyView {
    let field = |name, label| {
        text_field(
            filled,
            Field {
                name,
                label,
                chars_max: 255,
                ..Field::default()
            },
        )
    };
    let states = Show::CHOICES.map(|(_, state, words)| (state.to_owned(), words.to_owned()));
    view! {
        <form class="many-search" method="get" action="/act" role="search">
            {field("holder", "Holder, its whole name")}
            {field("prefix", "Lease name starts with")}
            {field("search", "Part of lease or holder")}
            {select_field(filled, "state", "State", &states, "")}
            <button type="submit">"Show"</button>
        </form>
    }
    .into_any()
}

fn form(many: &Many, problem: Option<&Problem>) -> AnyView {
    let filled = &many.filled;
    let rest = many.more.words().map(|words| {
        let next = many.next.as_deref().map(|next| {
            view! { " " <a href=href(filled, Some(next))>"The next ones"</a> }
        });
        view! { <p data-part="more">{words} {next}</p> }
    });
    let alert = problem.map(|problem| {
        view! {
            <p class="problem" role="alert" data-part="problem">
                "Nothing was done. "
                <bdi>{problem.detail.clone()}</bdi>
            </p>
        }
    });
    let rows = many
        .items
        .iter()
        .map(|lease| row(lease, filled))
        .collect_view();
    let what = match &many.denied {
        Some(why) => {
            let way = many.stranger.then(
                || view! { <a class="button" href=sign_in_href(&href(filled, None))>"Sign in"</a> },
            );
            view! {
                <p class="notice" data-part="denied">
                    <b>"You cannot do this: "</b>
                    <bdi>{why.clone()}</bdi>
                    "."
                </p>
                {way}
            }
            .into_any()
        }
        None => what(filled),
    };
    let kept = FILTERS
        .iter()
        .filter_map(|field| Some((*field, filled.said(field)?.to_owned())));
    let kept = kept
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view();
    view! {
        {alert}
        <form class="many" method="post" action="/act">
            {kept}
            <p>{format!("{} leases.", many.items.len())} " Each is done only if its generation is still the one shown."</p>
            {rest}
            <div class="sheet">
                <table class="cards">
                    <thead>
                        <tr>
                            <th>"Lease"</th>
                            <th class="holder">"Holder"</th>
                            <th class="num">"Generation"</th>
                            <th class="time">"Expires in"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {what}
        </form>
    }
    .into_any()
}

/// A lease as the form names it: the generation that was seen, and the name.
fn seen(lease: &Lease) -> String {
    format!("{} {}", lease.generation, lease.lease)
}

fn row(lease: &Lease, filled: &Filled) -> AnyView {
    let value = seen(lease);
    // A form that comes back keeps its choice; a new one has all.
    let fresh = filled.all("lease").next().is_none();
    let name = lease.lease.to_string();
    let checked = fresh
        || filled
            .all("lease")
            .any(|one| one.split_once(' ').is_some_and(|(_, one)| one == name));
    let holder = match &lease.holder {
        Some(holder) => {
            view! { <bdi class="holder-name" title=holder.to_string()>{holder.to_string()}</bdi> }
                .into_any()
        }
        None => view! { <span class="muted">"nobody"</span> }.into_any(),
    };
    let protected = lease
        .protected
        .then(|| view! { <span class="says warn">"protected: done only on its own page"</span> });
    view! {
        <tr data-lease=name.clone()>
            <th scope="row" class="name">
                <label class="pick">
                    <input type="checkbox" name="lease" value=value checked=checked />
                    <span class="lease-name">{name.clone()}</span>
                </label>
                {protected}
            </th>
            <td class="holder">{holder}</td>
            <td class="num" data-label="Generation">{lease.generation.to_string()}</td>
            <td class="time" data-label="Expires in">{left(lease, lease.now).text}</td>
        </tr>
    }
    .into_any()
}

/// What is to be done, and why.
fn what(filled: &Filled) -> AnyView {
    let chosen = filled
        .said("do")
        .unwrap_or(Act::StepDown.as_str())
        .to_owned();
    let acts = MANY.map(|act| {
        let words = match act {
            Act::StepDown => {
                "Ask every holder to step down, and force what is left at the deadline"
            }
            Act::ForceRelease => "Force release, now: who is deposed finds out at its next renewal",
            Act::Pause => "Pause: holders may go on, and nobody follows",
            _ => "Resume: what is paused can be acquired again",
        };
        let checked = chosen == act.as_str();
        view! {
            <label>
                <input type="radio" name="do" value=act.as_str() checked=checked />
                <span>{words}</span>
            </label>
        }
    });
    let thens = [
        ("anyone", "anyone may take them"),
        ("holder", "anyone but the deposed holder"),
        ("everyone", "nobody"),
    ];
    let thens = thens.map(|(then, words)| (then.to_owned(), words.to_owned()));
    view! {
        <div class="sheet many-what">
            <fieldset class="choice">
                <legend>"What"</legend>
                {acts.collect_view()}
            </fieldset>
            {reason_field(filled)}
            {incident_field(filled)}
            {select_field(filled, "deadline_ms", "If asked to step down: how long they have", &spans(), "60000")}
            {select_field(filled, "then", "If forced: then", &thens, "anyone")}
            {select_field(filled, "for_ms", "For how long, unless anyone may", &spans(), "600000")}
            <footer>
                <a class="button primary" href="/">
                    "Keep them as they are"
                </a>
                <button class="danger" type="submit">
                    "Do it to all that are ticked"
                </button>
            </footer>
        </div>
    }
    .into_any()
}

/// The page that says what came of it.
pub fn outcomes_page(act: Act, outcomes: &[Outcome], filled: &Filled) -> AnyView {
    let done = outcomes
        .iter()
        .filter(|outcome| outcome.came.is_ok())
        .count();
    let not = outcomes.len() - done;
    let words = match (done, not) {
        (_, 0) => format!("All {done} are done."),
        (0, _) => format!("None of the {not} are done."),
        _ => format!("{done} are done, {not} are not: see below why."),
    };
    // What failed comes first.
    let failed = outcomes.iter().filter(|outcome| outcome.came.is_err());
    let succeeded = outcomes.iter().filter(|outcome| outcome.came.is_ok());
    let rows = failed
        .chain(succeeded)
        .map(|outcome| outcome_row(act, outcome));
    view! {
        <main>
            <h1>{act.button()}</h1>
            <p class="notice" role="status" data-part="outcome">
                {words}
            </p>
            <div class="sheet">
                <table class="cards outcomes">
                    <thead>
                        <tr>
                            <th>"Lease"</th>
                            <th>"Outcome"</th>
                        </tr>
                    </thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
            <nav class="pages" aria-label="Go on">
                <a class="button" href=href(filled, None)>
                    "The search again"
                </a>
                <a class="button primary" href="/">
                    "All leases"
                </a>
            </nav>
        </main>
    }
    .into_any()
}

fn outcome_row(act: Act, outcome: &Outcome) -> AnyView {
    let (class, words) = match &outcome.came {
        Ok(lease) => ("says", came(act, lease)),
        Err(problem) => ("says alert", format!("Not done: {}", problem.detail)),
    };
    let name = outcome.lease.to_string();
    let done = outcome.came.is_ok();
    view! {
        <tr data-lease=name.clone() data-done=done.to_string()>
            <th scope="row" class="name">
                <a class="lease-name" href=format!("/leases/{name}")>
                    {name.clone()}
                </a>
            </th>
            <td class="wide">
                <span class=class>
                    <bdi>{words}</bdi>
                </span>
            </td>
        </tr>
    }
    .into_any()
}

fn came(act: Act, lease: &Lease) -> String {
    match act {
        Act::Pause => "Paused".into(),
        Act::Unpause => "Can be acquired again".into(),
        Act::StepDown => match &lease.step_down {
            Some(asked) => format!(
                "Asked to step down by {}",
                crate::moment::utc(asked.deadline)
            ),
            None => "Asked to step down".into(),
        },
        _ if lease.state == LeaseState::Free => {
            format!("Free, at generation {}", lease.generation)
        }
        _ => format!("At generation {}", lease.generation),
    }
}

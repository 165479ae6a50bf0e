//! The page that asks before something is done to a lease: what will happen,
//! why, and what next. The harmless choice has the focus and is the strong one.

use baton_client::{Code, Lease, LeaseName, LeaseState, Problem, limits::HOLDER_CHARS_MAX};
use leptos::prelude::*;

use crate::{
    Viewer,
    address::{query_of, sign_in_href},
    display::Times,
    moment::{Form, written},
    moment_view::sentence,
};

use super::{
    Act, Filled,
    act::spans,
    facts::facts,
    form::{Field, described, long_field, select_field, text_field},
    moved::moved,
};

/// What is known when the page is made.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What is to be done.
    pub act: Act,
    /// To which lease.
    pub name: LeaseName,
    /// The lease as it is; `None` if there never was one.
    pub lease: Option<Lease>,
    /// Who looks.
    pub viewer: Option<Viewer>,
    /// Why they may not do it.
    pub denied: Option<String>,
    /// What was typed.
    pub filled: Filled,
    /// Why it was not done, if it was tried.
    pub problem: Option<Problem>,
}

/// Fields whose words outlive a second look.
const KEPT: [&str; 6] = [
    "reason",
    "incident",
    "then",
    "for_ms",
    "successor",
    "deadline_ms",
];

impl Ask {
    /// The title.
    pub fn title(&self) -> String {
        format!("{} {}", self.act.question(), self.name)
    }

    /// The page again, with the words that were typed.
    pub fn again(&self) -> String {
        let kept = KEPT
            .into_iter()
            .filter_map(|field| Some((field, self.filled.said(field)?)));
        format!("{}{}", self.act.href(&self.name), query_of(kept))
    }

    /// The lease's own page.
    fn back(&self) -> String {
        format!("/leases/{}", self.name)
    }
}

/// The page.
pub fn ask_page(ask: &Ask) -> AnyView {
    let act = ask.act;
    let held = ask.lease.as_ref().map(|lease| {
        let holder = lease.holder.as_ref().map(|holder| {
            view! { ", held by " <code><bdi>{holder.to_string()}</bdi></code> }
        });
        view! {
            <p class="muted" data-part="seen">
                {format!("Generation {}", lease.generation)} {holder}
            </p>
        }
    });
    let rest = match (&ask.problem, act.pointless(ask.lease.as_ref())) {
        (Some(problem), _) if problem.code == Code::GenerationMoved => moved(ask, problem),
        (problem, Some(why)) => {
            // It may have become pointless by the very attempt that failed.
            view! {
                {problem.as_ref().map(note)}
                <p data-part="pointless">{sentence(&why)}</p>
                {only_back(ask)}
            }
            .into_any()
        }
        (problem, None) => view! {
            {problem.as_ref().map(note)}
            {facts_list(ask)}
            {form(ask)}
        }
        .into_any(),
    };
    view! {
        <main class="ask">
            <section class="sheet dialog" data-act=act.as_str()>
                <h1>
                    {act.question()} " " <code>{ask.name.to_string()}</code> "?"
                </h1>
                {held}
                {rest}
            </section>
        </main>
    }
    .into_any()
}

fn facts_list(ask: &Ask) -> AnyView {
    let facts = match &ask.lease {
        Some(lease) => facts(ask.act, lease),
        None => vec![
            "There is no lease of this name yet. Pausing makes it exist, so that nobody can acquire it.".into(),
        ],
    };
    let facts = facts
        .into_iter()
        .map(|fact| view! { <li>{sentence(&fact)}</li> });
    view! {
        <ul class="foreseen" data-part="facts">
            {facts.collect_view()}
        </ul>
    }
    .into_any()
}

/// Why it was not done.
fn note(problem: &Problem) -> AnyView {
    let what = match problem.code {
        Code::Invalid => "Nothing was done. Correct what is marked below.".to_owned(),
        _ => problem.detail.clone(),
    };
    view! {
        <p class="problem" role="alert" data-part="problem">
            <bdi>{what}</bdi>
            {problem.request_id.clone().map(|id| view! { <span class="small">" Request " {id}</span> })}
        </p>
    }
    .into_any()
}

fn only_back(ask: &Ask) -> AnyView {
    let (href, words) = match ask.lease {
        Some(_) => (ask.back(), "Back to the lease"),
        None => ("/".to_owned(), "All leases"),
    };
    view! {
        <footer>
            <a class="button primary" href=href autofocus>
                {words}
            </a>
        </footer>
    }
    .into_any()
}

/// Why who looks cannot do it, and who can.
fn denied(ask: &Ask, why: &str) -> AnyView {
    let stranger = ask.viewer.as_ref().is_none_or(|viewer| viewer.anonymous);
    let way = stranger.then(|| {
        view! {
            <a class="button" href=sign_in_href(&ask.again())>
                "Sign in"
            </a>
        }
    });
    view! {
        <p class="notice" data-part="denied">
            <b>"You cannot do this: "</b>
            <bdi>{why.to_owned()}</bdi>
            "."
        </p>
        <footer>
            <a class="button primary" href=ask.back() autofocus>
                "Back to the lease"
            </a>
            {way}
        </footer>
    }
    .into_any()
}

fn form(ask: &Ask) -> AnyView {
    if let Some(why) = &ask.denied {
        return denied(ask, why);
    }
    let (act, filled) = (ask.act, &ask.filled);
    let lease = ask.lease.as_ref();
    let generation = lease.filter(|_| act.needs_generation()).map(|lease| {
        view! {
            <input
                type="hidden"
                name="expected_generation"
                value=lease.generation.to_string()
            />
        }
    });
    // Of what comes after this moment, who sends the form knows nothing.
    let shown_at = lease
        .filter(|_| act == Act::StepDown)
        .map(|lease| view! { <input type="hidden" name="shown_at" value=lease.now.to_string() /> });
    let deadline = (act == Act::StepDown)
        .then(|| select_field(filled, "deadline_ms", "How long it has", &spans(), "60000"));
    let next = lease
        .filter(|_| act.takes_away())
        .map(|lease| next(ask, lease));
    let typed = lease
        .filter(|lease| lease.protected && act.takes_away())
        .map(|_| {
            text_field(
                filled,
                Field {
                    name: "typed_name",
                    label: "Type the lease’s name",
                    hint: "an admin protected it",
                    chars_max: 200,
                    required: true,
                    ..Field::default()
                },
            )
        });
    let incident = act.takes_incident().then(|| incident_field(filled));
    let danger = if act.takes_away() { "danger" } else { "" };
    let keep = if act == Act::ForceRelease || act == Act::StepDown {
        "Keep it as it is"
    } else {
        "Cancel"
    };
    let back = lease.map_or_else(|| "/".to_owned(), |_| ask.back());
    view! {
        <form method="post" action=act.href(&ask.name)>
            {generation} {shown_at} {reason_field(filled)} {incident} {deadline} {next} {typed}
            <footer>
                <a class="button primary" href=back autofocus=filled.errors().is_empty()>
                    {keep}
                </a>
                <button class=danger type="submit">
                    {act.button()}
                </button>
            </footer>
        </form>
    }
    .into_any()
}

/// Why, for the history.
pub(super) fn reason_field(filled: &Filled) -> AnyView {
    long_field(
        filled,
        Field {
            name: "reason",
            label: "Why?",
            hint: "goes into the history",
            required: true,
            ..Field::default()
        },
    )
}

/// The incident, for the history.
pub(super) fn incident_field(filled: &Filled) -> AnyView {
    text_field(
        filled,
        Field {
            name: "incident",
            label: "Incident",
            hint: "optional, a link or a number",
            chars_max: 500,
            ..Field::default()
        },
    )
}

/// Who may have it next.
fn next(ask: &Ask, lease: &Lease) -> AnyView {
    let filled = &ask.filled;
    let chosen = filled.said("then").unwrap_or("anyone").to_owned();
    let choice = |value: &'static str, words: AnyView| {
        let checked = chosen == value;
        view! {
            <label>
                <input type="radio" name="then" value=value checked=checked />
                <span>{words}</span>
            </label>
        }
        .into_any()
    };
    let force = ask.act == Act::ForceRelease;
    let deposed = lease
        .holder
        .as_ref()
        .filter(|_| force && lease.state != LeaseState::Free)
        .map(|holder| {
            let holder = holder.to_string();
            choice(
                "holder",
                view! { "Anyone but " <code><bdi>{holder}</bdi></code> }.into_any(),
            )
        });
    let nobody = force.then(|| {
        let until = lease
            .expires_at
            .filter(|_| lease.state == LeaseState::Held)
            .map(|at| {
                format!(
                    " – beyond {}, its old expiry, nobody else can still be at work",
                    written(at, Form::Clock, Times::Utc, Some(lease.now), None)
                )
            });
        choice(
            "everyone",
            view! { "Nobody" <span class="muted small">{until}</span> }.into_any(),
        )
    });
    let (wrong_choice, _) = described(filled, "then");
    let (wrong, described) = described(filled, "successor");
    view! {
        <fieldset class="choice">
            <legend>"Then"</legend>
            {choice("anyone", "Anyone may take it".into_any())}
            {deposed}
            {nobody}
            {choice("successor", "Only this holder:".into_any())}
            <input
                class="successor"
                name="successor"
                aria-label="The holder that it is reserved for"
                placeholder="its whole name, as it acquires"
                maxlength=HOLDER_CHARS_MAX.to_string()
                value=filled.get("successor").to_owned()
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                aria-invalid=described.is_some().then_some("true")
                aria-describedby=described
            />
            {wrong}
            {wrong_choice}
        </fieldset>
        {select_field(filled, "for_ms", "For how long, unless anyone may", &spans(), "600000")}
    }
    .into_any()
}

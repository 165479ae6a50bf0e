//! `/handovers`: what happened to all leases, and why.

use baton_client::{FieldError, HandoverEvent, Verification};
use leptos::prelude::*;

use crate::{
    Backstage, Document, HandoversView, Reply, Viewer, Visit,
    document::Script,
    entry::event_words,
    entry_rows::{EntryHead, EntryRow},
    exports::Exports,
    handovers_asked::{FIELDS, HandoversAsked},
    header::Header,
    lease_asked::{field_moment, read_moment},
    left_out::LeftOut,
    live::Live,
    moment_view::sentence,
    news::News,
    paper::Paper,
    render,
    sentence::clock,
    stale_banner::StaleBanner,
    visit,
};

/// Answers a visit.
pub async fn open(backstage: &dyn Backstage, visit: &Visit) -> Reply {
    let mut asked = HandoversAsked::read(|field| visit.field(field).map(str::to_owned));
    if visit.data {
        // Who has the page open wants to know what is new.
        asked.cursor = None;
    }
    let here = asked.href(asked.cursor.as_deref());
    let refused =
        |problem, viewer| visit::refused(problem, "The handovers", viewer, here.clone(), visit);
    let viewer = match backstage.who().await {
        Ok(viewer) => viewer,
        Err(problem) => return refused(problem, None),
    };
    let (mut understood, query, mut errors) = asked.understood();
    let mut answer = backstage.handovers(query).await;
    if let Err(problem) = &mut answer
        && problem.status == 422
    {
        // What the server alone can tell: it is left out, too.
        errors.append(&mut problem.errors);
        understood = asked.without(&errors);
        answer = backstage.handovers(understood.understood().1).await;
    }
    match answer {
        Ok(view) if visit.data => visit::data(&view),
        Ok(view) => {
            let status = if errors.is_empty() { 200 } else { 422 };
            let both = Both { asked, understood };
            Reply::Page(status, page(view, both, errors, viewer, visit))
        }
        Err(problem) => refused(problem, viewer),
    }
}

/// What the address says, and what of it is understood.
struct Both {
    asked: HandoversAsked,
    understood: HandoversAsked,
}

fn page(
    view: HandoversView,
    both: Both,
    errors: Vec<FieldError>,
    viewer: Option<Viewer>,
    visit: &Visit,
) -> String {
    let HandoversView {
        items,
        next,
        now,
        seq,
        verification,
    } = view;
    // The entries stand in the document; the script needs only where they end.
    let known = HandoversView {
        items: Vec::new(),
        next: None,
        now,
        seq,
        verification: None,
    };
    let document = Document {
        title: "Handovers".into(),
        display: visit.display,
        now: Some(now),
        script: Script::new("handovers", &known, &visit.nonce),
        reload_s: None,
    };
    let Both {
        asked: filter,
        understood: asked,
    } = both;
    let is_wrong = !errors.is_empty();
    let left_out = errors.into_iter().map(|error| {
        let words = FIELDS.iter().find(|field| field.0 == error.field);
        let words = words.map_or(error.field, |field| field.1.to_owned());
        (words, error.message)
    });
    let left_out: Vec<_> = left_out.collect();
    render(document, || {
        let live = Live::new(now);
        let here = asked.href(asked.cursor.as_deref());
        let newest = asked.href(None);
        let next = next.map(|next| asked.href(Some(&next)));
        let first = asked.cursor.is_some().then(|| newest.clone());
        let none = items.is_empty();
        let mut paper = asked.words();
        if paper.is_empty() {
            paper.push(("Shown", "all handovers".to_owned()));
        }
        if asked.cursor.is_some() || next.is_some() {
            paper.push(("Entries", "one page of several".to_owned()));
        }
        let rows: Vec<_> = items
            .into_iter()
            .map(|entry| view! { <EntryRow entry with_lease=true /> })
            .collect();
        view! {
            <Header viewer here=here.clone() live />
            <div data-island="banner">
                <StaleBanner live here />
            </div>
            <main>
                <h1>"Handovers"</h1>
                <Paper shows=paper as_of=Some(now) />
                <LeftOut fields=left_out />
                <Filter asked=filter is_wrong />
                <div data-island="news">
                    <News count=RwSignal::new(0) href=newest />
                </div>
                {if none {
                    view! {
                        <div class="sheet empty">
                            <p>
                                {if asked.filters() {
                                    "Nothing matches. There is a history, but no entry like this."
                                } else if asked.cursor.is_some() {
                                    "There is nothing older."
                                } else {
                                    "Nothing has happened yet. The first grant of a lease is the first entry."
                                }}
                            </p>
                            <p>
                                <a class="button" href="/handovers">
                                    "Show all handovers"
                                </a>
                            </p>
                        </div>
                    }
                        .into_any()
                } else {
                    view! {
                        <div class="sheet">
                            <table class="cards entries" role="table">
                                <caption class="unseen">"Handovers, newest first"</caption>
                                <EntryHead with_lease=true />
                                <tbody role="rowgroup">{rows}</tbody>
                            </table>
                        </div>
                    }
                        .into_any()
                }}
                {verification.map(|verification| verified(&verification))}
                <nav class="pages" aria-label="Pages">
                    <Exports asked=asked.clone() words="Export all that match" />
                    {first
                        .map(|href| {
                            view! {
                                <a class="button" rel="first" href=href>
                                    "Newest"
                                </a>
                            }
                        })}
                    {next
                        .map(|href| {
                            view! {
                                <a class="button" rel="next" href=href>
                                    "Older"
                                </a>
                            }
                        })}
                </nav>
            </main>
        }
    })
}

/// How far the server has verified the chain, or what is wrong with it.
fn verified(verification: &Verification) -> impl IntoView + use<> {
    let Verification {
        verified_seq,
        verified_at,
        ref findings,
        ..
    } = *verification;
    let Some(at) = verified_at else {
        return view! { <p class="small">"The server is verifying the chain of the log."</p> }
            .into_any();
    };
    if findings.is_empty() {
        let text = format!(
            "The chain of the log is verified up to entry {verified_seq}, at {}.",
            clock(at)
        );
        return view! { <p class="small verified">{sentence(&text)}</p> }.into_any();
    }
    let findings: Vec<_> = findings
        .iter()
        .map(|found| {
            let place = found.seq.map(|seq| {
                view! {
                    <a href=format!("/handovers/{seq}")>{format!("Entry {seq}")}</a>
                    ": "
                }
            });
            let said = format!("{}. Possible cause: {}.", found.what, found.cause);
            view! { <li>{place} <bdi>{said}</bdi></li> }
        })
        .collect();
    view! {
        <section class="sheet">
            <h2>"The history does not hold"</h2>
            <ul>{findings}</ul>
        </section>
    }
    .into_any()
}

/// The filter, set to what is asked.
#[component]
fn Filter(asked: HandoversAsked, is_wrong: bool) -> impl IntoView {
    let filters = asked.filters();
    let fields = FIELDS.map(|(name, words)| {
        let said = asked.field(name).to_owned();
        let input = match name {
            "event" => {
                let choices = HandoverEvent::ALL.map(|event| {
                    view! {
                        <option value=event.as_str() selected=said == event.as_str()>
                            {event_words(event)}
                        </option>
                    }
                });
                view! {
                    <select name=name>
                        <option value="">"Any"</option>
                        {choices.into_iter().collect::<Vec<_>>()}
                    </select>
                }
                .into_any()
            }
            "from" | "to" => {
                let value = read_moment(&said).map(field_moment);
                view! { <input type="datetime-local" name=name step="1" value=value /> }.into_any()
            }
            _ => view! {
                <input
                    type="text"
                    name=name
                    value=said
                    maxlength="500"
                    autocapitalize="none"
                    spellcheck="false"
                    placeholder=(name == "actor").then_some("user:ana, token:ci, baton")
                />
            }
            .into_any(),
        };
        view! {
            <label>
                <span>{words}</span>
                {input}
            </label>
        }
    });
    view! {
        <details class="sheet filter" open=filters || is_wrong>
            <summary>"Filter"</summary>
            <form method="get" action="/handovers" role="search" autocomplete="off">
                {fields.into_iter().collect::<Vec<_>>()}
                <p class="acts">
                    <button type="submit">"Show"</button>
                    {filters
                        .then(|| {
                            view! {
                                <a class="button quiet" href="/handovers">
                                    "Show all"
                                </a>
                            }
                        })}
                </p>
            </form>
        </details>
    }
}

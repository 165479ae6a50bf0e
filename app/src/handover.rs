//! `/handovers/{seq}`: one entry of the log, whole.

use baton_client::{Code, Handover, Problem, Timestamp};
use leptos::prelude::*;

use crate::{
    Backstage, Document, Reply, Viewer, Visit,
    display::Times,
    document::Script,
    entry::{event_class, event_words},
    header::Header,
    incident::Incident,
    lease_asked::lease_href,
    moment::Form,
    moment_view::piece,
    render,
    sentence::Piece,
    visit,
};

/// Answers a visit to the entry that the path calls `seq`.
pub async fn open(backstage: &dyn Backstage, seq: &str, visit: &Visit) -> Reply {
    let here = visit.path.clone();
    let refused =
        |problem, viewer| visit::refused(problem, "The entry", viewer, here.clone(), visit);
    let viewer = match backstage.who().await {
        Ok(viewer) => viewer,
        Err(problem) => return refused(problem, None),
    };
    let digits = !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| seq.parse::<u64>().ok()).flatten();
    // Strangers learn nothing by asking for what there is not.
    match backstage.handover(number.unwrap_or(0)).await {
        Ok(Some((entry, _))) if visit.data => visit::data(&entry),
        Ok(Some((entry, now))) => Reply::Page(200, page(entry, now, viewer, visit)),
        Ok(None) if visit.data => {
            let detail = format!("there is no entry {seq} in the log");
            Reply::Problem(Box::new(Problem::new(Code::NotFound, detail)))
        }
        Ok(None) => Reply::Page(404, none(seq, viewer, visit)),
        Err(problem) => refused(problem, viewer),
    }
}

fn none(seq: &str, viewer: Option<Viewer>, visit: &Visit) -> String {
    let document = Document {
        title: format!("No entry {seq}"),
        display: visit.display,
        ..Document::default()
    };
    render(document, || {
        view! {
            <Header viewer here=visit.path.clone() />
            <main>
                <div class="sheet empty">
                    <h1>
                        "There is no entry " <bdi>{seq.to_owned()}</bdi> " in the log"
                    </h1>
                    <p>"It may not have been written yet, or it was archived and cut off."</p>
                    <p>
                        <a class="button" href="/handovers">
                            "All handovers"
                        </a>
                    </p>
                </div>
            </main>
        }
    })
}

fn page(entry: Handover, now: Timestamp, viewer: Option<Viewer>, visit: &Visit) -> String {
    let words = event_words(entry.event);
    let document = Document {
        title: match &entry.lease {
            Some(lease) => format!("{words}: {lease}"),
            None => words.to_owned(),
        },
        display: visit.display,
        now: Some(now),
        // Only a browser knows the local zone; nothing else here changes.
        script: (visit.display.times == Times::Local)
            .then(|| Script::new("still", &(), &visit.nonce))
            .flatten(),
        reload_s: None,
    };
    let seq = entry.seq;
    render(document, || {
        let facts = facts(&entry).into_iter().map(|(term, what)| {
            view! {
                <div>
                    <dt>{term}</dt>
                    <dd>{piece(what)}</dd>
                </div>
            }
        });
        let facts: Vec<_> = facts.collect();
        view! {
            <Header viewer here=visit.path.clone() as_of=Some(now) />
            <main>
                <p class="small crumbs">
                    <a href="/handovers">"Handovers"</a>
                </p>
                <div class="lease-head">
                    <h1>{format!("Entry {seq}")}</h1>
                    <span class=format!("state {}", event_class(entry.event))>{words}</span>
                </div>
                <section class="sheet log-entry">
                    {entry
                        .lease
                        .map(|lease| {
                            view! {
                                <p>
                                    "Lease "
                                    <a class="lease-name" href=lease_href(&lease)>
                                        <bdi>{lease.to_string()}</bdi>
                                    </a>
                                </p>
                            }
                        })}
                    <p>
                        <q class="reason">
                            <bdi>{entry.reason}</bdi>
                        </q>
                    </p>
                    {entry.incident.map(|incident| view! { <p><Incident incident /></p> })}
                    <dl class="lease-facts">{facts}</dl>
                </section>
                <nav class="pages" aria-label="Entries">
                    <span class="exports small">
                        <a href=format!("/api/v1/handovers/{seq}")>"As JSON"</a>
                    </span>
                    {(seq > 1)
                        .then(|| {
                            view! {
                                <a class="button" rel="prev" href=format!("/handovers/{}", seq - 1)>
                                    "The entry before"
                                </a>
                            }
                        })}
                    <a class="button" rel="next" href=format!("/handovers/{}", seq + 1)>
                        "The entry after"
                    </a>
                </nav>
            </main>
        }
    })
}

/// Everything in the entry that has no place of its own on the page.
fn facts(entry: &Handover) -> Vec<(&'static str, Piece)> {
    let holder = |holder: &Option<baton_client::HolderId>| {
        let holder = holder.as_ref().map(ToString::to_string);
        Piece::Isolated(holder.unwrap_or_else(|| "nobody".to_owned()))
    };
    let text = |text: &dyn ToString| Piece::Isolated(text.to_string());
    let exact = |at: Timestamp| Piece::At(at, Form::Exact);
    let mut facts = vec![
        ("At", exact(entry.at)),
        ("By", text(&entry.actor)),
        ("Holder after", holder(&entry.holder)),
        ("Generation after", text(&entry.generation)),
        ("Holder before", holder(&entry.previous_holder)),
        ("Generation before", text(&entry.previous_generation)),
    ];
    let mut some = |term, what: Option<Piece>| facts.extend(what.map(|what| (term, what)));
    some("The tenure began", entry.held_from.map(exact));
    some("It was held until", entry.held_until.map(exact));
    let address = entry.actor_address.clone();
    some("From the address", address.map(Piece::Isolated));
    some("Request", entry.request_id.clone().map(Piece::Isolated));
    for (name, value) in &entry.details {
        let value = match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        facts.push(("Details", Piece::Isolated(format!("{name}: {value}"))));
    }
    facts.push(("Hash", text(&entry.hash)));
    facts.push(("Hash of the entry before", text(&entry.prev_hash)));
    facts
}

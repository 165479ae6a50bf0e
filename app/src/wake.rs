//! Where the rendered page comes to life: each page's islands are taken over,
//! and what they show is kept current.

use std::{cell::Cell, rc::Rc, time::Duration};

use baton_client::{HandoverQuery, Role, Timestamp};
use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, closure::Closure, prelude::wasm_bindgen};
use web_sys::HtmlElement;

use crate::{
    HandoversView, LeaseView, LeasesView, Totals,
    address::{Asked, query_of},
    browser::{Page, follow, steady_ms},
    display::{Choice, Keys},
    fetch::{Fetched, fetch},
    handovers_asked::{HandoversAsked, is_meant},
    heard::{Heard, Standing},
    history::History,
    lease_asked::LeaseAsked,
    lease_facts::LeaseFacts,
    lease_head::{Acts, LeaseState, title as lease_title},
    lease_limits::{Follow, LeaseLimits},
    lease_table::LeaseTable,
    live::{LeaseList, Live, OneLease},
    live_clock::LiveClock,
    moment_view::{self, Reader},
    news::News,
    pressed,
    stale_banner::StaleBanner,
    timeline_view::{Picture, TenureTable},
    totals::{TotalsLine, title},
};

/// How often moments are written anew.
const SECOND: Duration = Duration::from_secs(1);
/// How long changes may gather before the totals are read again.
const TOTALS_PAUSE_MS: f64 = 800.0;
/// How old totals may become although the log did not grow: what flaps calms
/// down by time alone.
const TOTALS_OLD_MS: f64 = 30_000.0;

/// Brings the rendered page to life. Called once, by the page's own script.
#[wasm_bindgen]
pub fn wake() {
    console_error_panic_hook::set_once();
    let Some(opened) = document().get_element_by_id("opened") else {
        return;
    };
    // Everything lives as long as the document does.
    std::mem::forget(Owner::new_root(None));
    let data = opened.text_content().unwrap_or_default();
    let page = opened.get_attribute("data-page");
    let woken = match page.as_deref() {
        Some("leases") => leases(&data),
        Some("lease") => lease(&data),
        Some("handovers") => handovers(&data),
        // A page that stands still: only what a browser alone knows is missing.
        _ => return moment_view::keep(reader(None)),
    };
    let Some(Woken { live, reader }) = woken else {
        return;
    };
    let here = here();
    island(reader, "clock", move || view! { <LiveClock live /> });
    island(
        reader,
        "banner",
        move || view! { <StaleBanner live here /> },
    );
    moment_view::keep(reader);
    set_interval(move || moment_view::keep(reader), SECOND);
    choose_at_once();
    if chosen::<Keys>() == Keys::On {
        pressed::listen(page.as_deref() != Some("lease"));
    }
    set_attribute("html", "data-hydrated", "true");
}

/// A page that has come to life.
#[derive(Clone, Copy)]
struct Woken {
    live: Live,
    reader: Reader,
}

impl Woken {
    /// With what was true at `now`.
    fn new(now: Timestamp) -> Self {
        let live = Live::new(now);
        Self {
            live,
            reader: reader(Some(live.now_s)),
        }
    }
}

/// Who reads the page.
fn reader(now: Option<Memo<Timestamp>>) -> Reader {
    let times = chosen();
    Reader { times, now }
}

/// What the reader chose, as the document says it.
fn chosen<C: Choice>() -> C {
    let html = document().document_element();
    let word = html.and_then(|html| html.get_attribute(&format!("data-{}", C::FIELD)));
    word.and_then(|word| C::read(&word)).unwrap_or_default()
}

/// `/`.
fn leases(data: &str) -> Option<Woken> {
    let view: LeasesView = serde_json::from_str(data).ok()?;
    let query = query()?;
    let asked = Asked::read(|field| query.get(field));
    let (woken, seq) = (Woken::new(view.now), view.seq);
    let Woken { live, reader } = woken;
    let list = LeaseList::new(asked.clone(), view);
    let filter = asked.clone();
    island(
        reader,
        "totals",
        move || view! { <TotalsLine list asked=filter /> },
    );
    island(reader, "list", move || view! { <LeaseTable live list /> });
    let page = LeasesPage {
        asked,
        list,
        counted: Rc::new(Counted {
            seq: Cell::new(seq),
            at_ms: Cell::new(steady_ms()),
            pending: Cell::new(false),
        }),
    };
    follow(live, page, seq);
    Some(woken)
}

/// `/leases/{name}`.
fn lease(data: &str) -> Option<Woken> {
    let view: LeaseView = serde_json::from_str(data).ok()?;
    let query = query()?;
    let asked = LeaseAsked::read(view.lease.lease.clone(), |field| query.get(field));
    let role = find("[data-island=acts]").and_then(|acts| acts.get_attribute("data-role"));
    let role = role
        .and_then(|role| role.parse().ok())
        .unwrap_or(Role::Viewer);
    let (woken, seq) = (Woken::new(view.lease.now), view.seq);
    let Woken { live, reader } = woken;
    let one = OneLease::new(asked.window, view);
    island(reader, "state", move || view! { <LeaseState one live /> });
    island(reader, "acts", move || view! { <Acts one role /> });
    if one.act.with_value(Option::is_some) {
        island(reader, "follow", move || view! { <Follow one live /> });
    }
    island(reader, "limits", move || view! { <LeaseLimits one live /> });
    island(reader, "facts", move || view! { <LeaseFacts one live /> });
    island(reader, "picture", move || view! { <Picture one live /> });
    island(reader, "tenures", move || view! { <TenureTable one /> });
    island(reader, "history", move || view! { <History one /> });
    follow(live, LeasePage { asked, one }, seq);
    Some(woken)
}

struct LeasePage {
    asked: LeaseAsked,
    one: OneLease,
}

impl Page for LeasePage {
    fn events(&self, seq: u64) -> String {
        // Of all names that begin with this one, it is itself the first.
        let seq = seq.to_string();
        let name = self.asked.lease.as_str();
        let fields = [
            ("after", &*seq),
            ("prefix", name),
            ("sort", "name"),
            ("limit", "1"),
            ("handovers", "prefix"),
        ];
        format!("/api/v1/events{}", query_of(fields))
    }

    fn hear(&self, heard: Heard) -> bool {
        let gap = matches!(heard, Heard::Reset);
        let own = &self.asked.lease;
        let forgotten = match &heard {
            Heard::Gone(name) => name == own,
            Heard::Standing(standing) => standing.items.iter().all(|lease| lease.lease != *own),
            _ => false,
        };
        if forgotten {
            // There is no such lease any more: its page says so by itself. A page
            // that is being read again cannot fail to be.
            let _ = location().reload();
        }
        self.one.take(heard);
        gap
    }

    fn read(&self, data: &str) -> Option<Heard> {
        let view: LeaseView = serde_json::from_str(data).ok()?;
        let standing = Standing {
            items: vec![view.lease.clone()],
            now: view.lease.now,
            seq: view.seq,
        };
        self.one.replace(view);
        Some(Heard::Standing(standing))
    }

    fn tick(&self, _live: bool) {
        let generation = self
            .one
            .lease
            .with_untracked(|lease| lease.generation.to_string());
        if let Some(payload) = find(".payload") {
            let shown = payload.get_attribute("data-generation");
            let moved = if shown.as_deref() == Some(&generation) {
                "false"
            } else {
                "true"
            };
            set_attribute(".payload", "data-moved", moved);
        }
    }

    fn alarm(&self) -> bool {
        self.one
            .lease
            .with_untracked(|lease| lease.attention().is_some())
    }

    fn title(&self) -> String {
        self.one.lease.with_untracked(lease_title)
    }
}

/// `/handovers`.
fn handovers(data: &str) -> Option<Woken> {
    let view: HandoversView = serde_json::from_str(data).ok()?;
    let query = query()?;
    let (asked, ..) = HandoversAsked::read(|field| query.get(field)).understood();
    let woken = Woken::new(view.now);
    let Woken { live, reader } = woken;
    let count = RwSignal::new(0);
    let newest = asked.href(None);
    island(reader, "news", move || view! { <News count href=newest /> });
    let page = HandoversPage {
        query: asked.understood().1,
        known: view.seq,
        counted: Cell::new(view.seq),
        count,
    };
    follow(live, page, view.seq);
    Some(woken)
}

struct HandoversPage {
    query: HandoverQuery,
    /// What came later is new.
    known: u64,
    /// Up to here the new ones were counted.
    counted: Cell<u64>,
    count: RwSignal<u64>,
}

impl Page for HandoversPage {
    fn events(&self, seq: u64) -> String {
        // The entries come with any page of leases, and this one is the least.
        format!("/api/v1/events?after={seq}&sort=name&limit=1")
    }

    fn hear(&self, heard: Heard) -> bool {
        if let Heard::Logged(entry) = &heard
            && entry.seq > self.counted.get()
        {
            self.counted.set(entry.seq);
            if is_meant(&self.query, entry) {
                self.count.update(|count| *count += 1);
            }
        }
        matches!(heard, Heard::Reset)
    }

    fn read(&self, data: &str) -> Option<Heard> {
        let view: HandoversView = serde_json::from_str(data).ok()?;
        // The newest of all that are meant, as many as a page has.
        let new = view.items.iter().filter(|entry| entry.seq > self.known);
        let new = new.count() as u64;
        if new != self.count.get_untracked() {
            self.count.set(new);
        }
        let last = view
            .items
            .first()
            .map_or(view.seq, |entry| entry.seq.max(view.seq));
        self.counted.set(last.max(self.counted.get()));
        Some(Heard::Standing(Standing {
            items: Vec::new(),
            now: view.now,
            seq: view.seq,
        }))
    }

    fn tick(&self, _live: bool) {}

    fn alarm(&self) -> bool {
        false
    }

    fn title(&self) -> String {
        match self.count.get_untracked() {
            0 => "Handovers".to_owned(),
            n => format!("{n} new: Handovers"),
        }
    }
}

struct LeasesPage {
    asked: Asked,
    list: LeaseList,
    counted: Rc<Counted>,
}

/// What the totals that are shown were counted at.
struct Counted {
    seq: Cell<u64>,
    at_ms: Cell<f64>,
    pending: Cell<bool>,
}

impl LeasesPage {
    /// Reads the totals again when the log grew, and every now and then.
    fn keep_totals(&self) {
        let age_ms = steady_ms() - self.counted.at_ms.get();
        let grew = self.list.seq.get_value() != self.counted.seq.get();
        let due = (grew && age_ms > TOTALS_PAUSE_MS) || age_ms > TOTALS_OLD_MS;
        if !due || self.counted.pending.replace(true) {
            return;
        }
        let (list, counted) = (self.list, Rc::clone(&self.counted));
        let seq = list.seq.get_value();
        counted.at_ms.set(steady_ms());
        spawn_local(async move {
            let fetched = fetch("/totals").await;
            counted.pending.set(false);
            if let Fetched::Text(text) = fetched
                && let Ok(totals) = serde_json::from_str::<Totals>(&text)
            {
                counted.seq.set(seq);
                list.totals.set(totals);
            }
        });
    }
}

impl Page for LeasesPage {
    fn events(&self, seq: u64) -> String {
        self.asked.events(seq)
    }

    fn hear(&self, heard: Heard) -> bool {
        self.list.take(heard);
        false
    }

    fn read(&self, data: &str) -> Option<Heard> {
        let view: LeasesView = serde_json::from_str(data).ok()?;
        self.list.totals.set(view.totals);
        self.list.take_lasts(view.lasts);
        Some(Heard::Standing(Standing {
            items: view.items,
            now: view.now,
            seq: view.seq,
        }))
    }

    fn tick(&self, live: bool) {
        set_attribute("main", "data-stands", self.list.stands().as_str());
        if live {
            self.keep_totals();
        }
    }

    fn alarm(&self) -> bool {
        let totals = self.list.totals.get_untracked();
        totals.lapsed + totals.flapping > 0
    }

    fn title(&self) -> String {
        title(self.list.totals.get_untracked())
    }
}

/// The fields of this page's address.
fn query() -> Option<web_sys::UrlSearchParams> {
    // What the browser itself made of an address can be read.
    web_sys::UrlSearchParams::new_with_str(&location().search().unwrap_or_default()).ok()
}

/// Takes over an island, if the page has it.
fn island<V: IntoView + 'static>(reader: Reader, name: &str, view: impl FnOnce() -> V + 'static) {
    if let Some(element) = find(&format!("[data-island={name}]")) {
        // Each island is a root of its own.
        let view = move || {
            provide_context(reader);
            view()
        };
        leptos::mount::hydrate_from(element.unchecked_into::<HtmlElement>(), view).forget();
    }
}

/// A choice in a form takes effect without a press on its button.
fn choose_at_once() {
    let chosen = Closure::<dyn Fn(web_sys::Event)>::new(|event: web_sys::Event| {
        let target: Option<HtmlElement> = event.target().and_then(|target| target.dyn_into().ok());
        if let Some(target) = target.filter(|target| target.has_attribute("data-at-once"))
            && let Ok(Some(form)) = target.closest("form")
        {
            // Only a form that is not valid refuses, and says so itself.
            let _ = form
                .unchecked_into::<web_sys::HtmlFormElement>()
                .request_submit();
        }
    });
    // The document of an open page takes listeners.
    let _ = document().add_event_listener_with_callback("change", chosen.as_ref().unchecked_ref());
    chosen.forget();
}

/// This page's own address, without the server.
pub fn here() -> String {
    let location = location();
    let path = location.pathname().unwrap_or_default();
    path + &location.search().unwrap_or_default()
}

fn find(selector: &str) -> Option<web_sys::Element> {
    // Only a selector that cannot be read fails.
    document().query_selector(selector).ok().flatten()
}

/// Sets an attribute, unless it has that value.
pub fn set_attribute(selector: &str, name: &str, value: &str) {
    if let Some(element) = find(selector)
        && element.get_attribute(name).as_deref() != Some(value)
    {
        // Setting an attribute of an element that exists does not fail.
        let _ = element.set_attribute(name, value);
    }
}

//! Where the rendered page comes to life: each page's islands are taken over,
//! and what they show is kept current.

use std::{cell::Cell, rc::Rc};

use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, closure::Closure, prelude::wasm_bindgen};
use web_sys::HtmlElement;

use crate::{
    LeasesView, Totals,
    address::Asked,
    browser::{Page, follow, steady_ms},
    fetch::{Fetched, fetch},
    heard::{Heard, Standing},
    lease_table::LeaseTable,
    live::{LeaseList, Live},
    live_clock::LiveClock,
    stale_banner::StaleBanner,
    totals::{TotalsLine, title},
};

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
    let live = match opened.get_attribute("data-page").as_deref() {
        Some("leases") => leases(&data),
        _ => None,
    };
    let Some(live) = live else {
        return;
    };
    let here = here();
    island("clock", move || view! { <LiveClock live /> });
    island("banner", move || view! { <StaleBanner live here /> });
    choose_at_once();
    set_attribute("html", "data-hydrated", "true");
}

/// `/`.
fn leases(data: &str) -> Option<Live> {
    let view: LeasesView = serde_json::from_str(data).ok()?;
    let query =
        web_sys::UrlSearchParams::new_with_str(&location().search().unwrap_or_default()).ok()?;
    let asked = Asked::read(|field| query.get(field));
    let (live, seq) = (Live::new(view.now), view.seq);
    let list = LeaseList::new(asked.clone(), view);
    let filter = asked.clone();
    island("totals", move || view! { <TotalsLine list asked=filter /> });
    island("list", move || view! { <LeaseTable live list /> });
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
    Some(live)
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
        counted.seq.set(list.seq.get_value());
        counted.at_ms.set(steady_ms());
        spawn_local(async move {
            let fetched = fetch("/totals").await;
            counted.pending.set(false);
            if let Fetched::Text(text) = fetched
                && let Ok(totals) = serde_json::from_str::<Totals>(&text)
            {
                list.totals.set(totals);
            }
        });
    }
}

impl Page for LeasesPage {
    fn events(&self, seq: u64) -> String {
        self.asked.events(seq)
    }

    fn hear(&self, heard: Heard) {
        self.list.take(heard);
    }

    fn read(&self, data: &str) -> Option<Heard> {
        let view: LeasesView = serde_json::from_str(data).ok()?;
        self.list.totals.set(view.totals);
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

    fn title(&self) -> String {
        title(self.list.totals.get_untracked())
    }
}

/// Takes over an island, if the page has it.
fn island<V: IntoView + 'static>(name: &str, view: impl FnOnce() -> V + 'static) {
    if let Some(element) = find(&format!("[data-island={name}]")) {
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

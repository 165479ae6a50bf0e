//! The browser's side of a live page: clocks, timers and the event stream. It
//! decides nothing; [`crate::connection`] does.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    time::Duration,
};

use baton_client::{Event, Snapshot, Timestamp};
use leptos::{leptos_dom::helpers::IntervalHandle, prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{EventSource, MessageEvent, VisibilityState};

use crate::{
    address::Asked,
    channel::Channel,
    clock::Clock,
    connection::{Act, Connection, Phase, Reading},
    functions,
    live::{LeaseList, Live},
};

/// How often the page counts down.
const TICK: Duration = Duration::from_millis(250);
/// How often a tab asks that may not hold a stream.
const ASK_MS: f64 = 1_500.0;
/// How long changes may gather before the totals are read again.
const TOTALS_PAUSE: Duration = Duration::from_millis(800);
/// How old totals may become although the log did not grow: what flaps calms
/// down by time alone.
const TOTALS_OLD_MS: f64 = 30_000.0;

/// Says on the document that the page came to life.
pub fn say_hydrated() {
    if let Some(root) = document().document_element() {
        // Setting an attribute of an element that exists does not fail.
        let _ = root.set_attribute("data-hydrated", "true");
    }
}

/// Goes to another page as a link would, with a full load.
pub fn leave_for(href: &str) {
    // The browser refuses only addresses that cannot be read.
    let _ = window().location().assign(href);
}

/// Keeps `list` current, and `live` honest, for as long as the page is shown.
pub fn follow(live: Live, list: LeaseList) {
    let follower = Follower::new(live, move |event| list.take(event));
    let held = StoredValue::new_local(Rc::clone(&follower));
    on_cleanup(move || {
        held.try_with_value(|follower| follower.stop());
    });

    // Another filter, another stream.
    let turning = Rc::clone(&follower);
    Effect::new(move |_| {
        if let Some((asked, seq)) = list.opened.get() {
            turning.turn(asked, seq);
        }
    });
    let trying = Rc::clone(&follower);
    Effect::new(move |before: Option<u32>| {
        let count = live.try_now.get();
        if before.is_some_and(|before| before != count) {
            trying.act(|connection, now| connection.try_now(now.steady_ms));
        }
        count
    });
    keep_totals(live, list);
}

/// Reads the totals again when the log grew, and every now and then.
fn keep_totals(live: Live, list: LeaseList) {
    let read_ms = Rc::new(Cell::new(steady_ms()));
    let pending = Rc::new(Cell::new(false));
    Effect::new(move |before: Option<(Option<String>, u64)>| {
        let seq = list.seq.get();
        let opened = list
            .opened
            .with(|opened| opened.as_ref().map(|(asked, _)| asked.href()));
        // Ticks only while live, so that a page nobody can trust asks nothing.
        let old = live
            .now
            .with(|_| steady_ms() - read_ms.get() > TOTALS_OLD_MS);
        let came_with_page = before.as_ref().is_none_or(|before| before.0 != opened);
        let grew = before.is_some_and(|before| before.1 != seq) && !came_with_page;
        if came_with_page {
            read_ms.set(steady_ms());
        } else if (grew || old) && !pending.replace(true) {
            read_ms.set(steady_ms());
            let pending = Rc::clone(&pending);
            set_timeout(
                move || spawn_local(read_totals(list, pending)),
                TOTALS_PAUSE,
            );
        }
        (opened, seq)
    });
}

async fn read_totals(list: LeaseList, pending: Rc<Cell<bool>>) {
    let totals = functions::count_leases().await;
    pending.set(false);
    if let Ok(Ok(totals)) = totals {
        // `None`: the page was left meanwhile.
        let _ = list.totals.try_set(totals);
    }
}

/// What a page follows: the events for what it shows and, for a tab that may
/// not hold a stream, the same by asking.
trait Source {
    /// The stream's address, going on after `seq`.
    fn events(&self, seq: u64) -> String;
    /// Where things stand now; `None` if no answer came.
    fn ask(&self) -> Pin<Box<dyn Future<Output = Option<Snapshot>>>>;
}

impl Source for Asked {
    fn events(&self, seq: u64) -> String {
        self.events(seq)
    }

    fn ask(&self) -> Pin<Box<dyn Future<Output = Option<Snapshot>>>> {
        let query = self.query();
        Box::pin(async move {
            let view = functions::open_leases(query).await.ok()?.leases.ok()?;
            Some(Snapshot {
                items: view.page.items,
                now: view.page.now,
                seq: view.seq,
            })
        })
    }
}

/// An open stream. Dropping it closes it.
struct Stream {
    source: EventSource,
    _heard: Closure<dyn FnMut(MessageEvent)>,
    _failed: Closure<dyn FnMut(web_sys::Event)>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.source.set_onerror(None);
        self.source.close();
    }
}

/// How the page hears what happens.
enum Line {
    Closed,
    Streaming {
        _stream: Stream,
    },
    /// Asking, the next time at `due_ms`; `None` while an answer is awaited.
    Asking {
        due_ms: Option<f64>,
    },
}

struct State {
    connection: Connection,
    clock: Clock,
    channel: Channel,
    line: Line,
    /// Counts the lines, so that an answer to an earlier one is passed over.
    lines: u64,
    /// `None` before anything is shown that could be kept current.
    source: Option<Rc<dyn Source>>,
    seq: u64,
    timer: Option<IntervalHandle>,
    visibility: Option<WindowListenerHandle>,
}

/// Follows the events for one page.
struct Follower {
    live: Live,
    sink: Box<dyn Fn(Event)>,
    state: RefCell<State>,
}

impl Follower {
    fn new(live: Live, sink: impl Fn(Event) + 'static) -> Rc<Self> {
        // The line is opened by the first `turn`, when there is a source.
        let (connection, _) = Connection::new(reading(), is_hidden());
        let follower = Rc::new(Self {
            live,
            sink: Box::new(sink),
            state: RefCell::new(State {
                connection,
                clock: Clock::default(),
                channel: Channel::new(steady_ms),
                line: Line::Closed,
                lines: 0,
                source: None,
                seq: 0,
                timer: None,
                visibility: None,
            }),
        });
        let ticking = Rc::clone(&follower);
        let timer = set_interval_with_handle(move || ticking.tick(), TICK).ok();
        let watching = Rc::clone(&follower);
        let visibility =
            window_event_listener_untyped("visibilitychange", move |_| watching.look());
        {
            let mut state = follower.state.borrow_mut();
            state.timer = timer;
            state.visibility = Some(visibility);
        }
        follower
    }

    /// The page was left.
    fn stop(&self) {
        let mut state = self.state.borrow_mut();
        state.line = Line::Closed;
        state.lines += 1;
        state.source = None;
        state.channel.may_stream(false, steady_ms());
        if let Some(timer) = state.timer.take() {
            timer.clear();
        }
        if let Some(visibility) = state.visibility.take() {
            visibility.remove();
        }
    }

    fn turn(self: &Rc<Self>, source: impl Source + 'static, seq: u64) {
        {
            let mut state = self.state.borrow_mut();
            state.source = Some(Rc::new(source));
            state.seq = seq;
        }
        self.act(|connection, now| connection.turn(now.steady_ms));
    }

    fn tick(self: &Rc<Self>) {
        if self.state.borrow().source.is_none() {
            return;
        }
        self.act(|connection, now| connection.tick(now, js_sys::Math::random()));
        let at_ms = steady_ms();
        let (switch, ask) = {
            let state = &*self.state.borrow();
            let wants = state.connection.is_open();
            let may_stream = state.channel.may_stream(wants, at_ms);
            let switch = match state.line {
                Line::Closed => false,
                Line::Streaming { .. } => !may_stream,
                Line::Asking { .. } => may_stream,
            };
            let due = |due_ms: Option<f64>| due_ms.is_some_and(|due_ms| due_ms <= at_ms);
            let ask = matches!(state.line, Line::Asking { due_ms } if due(due_ms));
            (switch, ask)
        };
        if switch {
            self.act(|connection, now| connection.turn(now.steady_ms));
        } else if ask {
            self.ask();
        }
    }

    /// The tab came to the front or went to the background.
    fn look(self: &Rc<Self>) {
        self.act(|connection, now| {
            if is_hidden() {
                connection.hidden(now.steady_ms);
                None
            } else {
                connection.shown(now)
            }
        });
    }

    /// Asks the connection, and does what it says.
    fn act(self: &Rc<Self>, ask: impl FnOnce(&mut Connection, Reading) -> Option<Act>) {
        let now = reading();
        let act = ask(&mut self.state.borrow_mut().connection, now);
        self.publish(now);
        match act {
            Some(Act::Open) => self.open(),
            Some(Act::Close) => self.close(),
            None => {}
        }
    }

    fn close(&self) {
        let mut state = self.state.borrow_mut();
        state.line = Line::Closed;
        state.lines += 1;
    }

    fn open(self: &Rc<Self>) {
        self.close();
        let mut state = self.state.borrow_mut();
        if state.connection.phase() != Phase::Live {
            // The steady clock may have stood still since it was last heard.
            state.clock.forget();
        }
        let Some(source) = state.source.clone() else {
            return;
        };
        if state.channel.may_stream(true, steady_ms()) {
            let stream = self.listen(&source.events(state.seq));
            state.line = stream.map_or(Line::Closed, |stream| Line::Streaming { _stream: stream });
        } else {
            drop(state);
            self.ask();
        }
    }

    fn ask(self: &Rc<Self>) {
        let (source, line) = {
            let mut state = self.state.borrow_mut();
            state.line = Line::Asking { due_ms: None };
            (state.source.clone(), state.lines)
        };
        let Some(source) = source else {
            return;
        };
        let asking = Rc::clone(self);
        spawn_local(async move {
            let answer = source.ask().await;
            if asking.state.borrow().lines != line {
                return;
            }
            match answer {
                Some(snapshot) => {
                    let due_ms = Some(steady_ms() + ASK_MS);
                    asking.state.borrow_mut().line = Line::Asking { due_ms };
                    asking.hear(Event::Snapshot(snapshot));
                }
                None => asking.fail(),
            }
        });
    }

    fn listen(self: &Rc<Self>, address: &str) -> Option<Stream> {
        let source = EventSource::new(address).ok()?;
        let hearing = Rc::clone(self);
        let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            // What this version cannot read it passes over; the silence that
            // follows, if all is so, marks the page stale.
            let data = message.data().as_string().unwrap_or_default();
            if let Ok(Some(event)) = Event::read(&message.type_(), &data) {
                hearing.hear(event);
            }
        });
        let failing = Rc::clone(self);
        let failed = Closure::<dyn FnMut(web_sys::Event)>::new(move |_| failing.fail());
        for name in ["reset", "snapshot", "handover", "lease", "time"] {
            source
                .add_event_listener_with_callback(name, heard.as_ref().unchecked_ref())
                .ok()?;
        }
        source.set_onerror(Some(failed.as_ref().unchecked_ref()));
        Some(Stream {
            source,
            _heard: heard,
            _failed: failed,
        })
    }

    fn hear(self: &Rc<Self>, event: Event) {
        let now = reading();
        {
            let mut state = self.state.borrow_mut();
            let told = told_time(&event);
            if let Some(told) = told {
                state.clock.hear(told, now.steady_ms);
            }
            if let Some(seq) = told_seq(&event) {
                state.seq = seq;
            }
            state.connection.heard(now.steady_ms, told.is_some());
        }
        (self.sink)(event);
        // The time that is shown goes on with the next tick: with each event it
        // would make every row count, dozens of times a second.
        let phase = self.state.borrow().connection.phase();
        if phase != self.live.phase.get_untracked() {
            self.publish(now);
        }
    }

    fn fail(self: &Rc<Self>) {
        self.act(|connection, now| {
            connection.failed(now.steady_ms, js_sys::Math::random());
            Some(Act::Close)
        });
        // An event stream does not say why it was refused: ask.
        let asking = Rc::clone(self);
        spawn_local(async move {
            if let Ok(Ok(None)) = functions::who().await {
                asking.act(|connection, _| connection.signed_out());
            }
        });
    }

    /// Tells the page how far it may be trusted, and as of when.
    fn publish(&self, now: Reading) {
        let state = self.state.borrow();
        if state.timer.is_none() {
            return;
        }
        let phase = state.connection.phase();
        let was = self.live.phase.get_untracked();
        let true_at_ms = match phase {
            Phase::Live => Some(now.steady_ms),
            // What is shown goes back to the moment it was last true for.
            _ if was == Phase::Live => Some(state.connection.true_until_ms()),
            _ => None,
        };
        if let Some(told) = true_at_ms.and_then(|at_ms| state.clock.read(at_ms)) {
            self.live.now.set(told);
        }
        if phase != was {
            self.live.phase.set(phase);
        }
        let next_try_ms = state.connection.next_try_in_ms(now);
        let next_try_s = next_try_ms.map(|ms| (ms / 1_000.0).ceil() as u64);
        if next_try_s != self.live.next_try_s.get_untracked() {
            self.live.next_try_s.set(next_try_s);
        }
    }
}

/// The database time that an event tells, if what it says is true now.
fn told_time(event: &Event) -> Option<Timestamp> {
    match event {
        Event::Snapshot(snapshot) => Some(snapshot.now),
        Event::Lease(lease) => Some(lease.now),
        Event::Time(time) => Some(time.now),
        Event::Handover(_) | Event::Gone(_) | Event::Reset => None,
    }
}

/// The `seq` after which a stream would have to go on.
fn told_seq(event: &Event) -> Option<u64> {
    match event {
        Event::Snapshot(snapshot) => Some(snapshot.seq),
        Event::Handover(entry) => Some(entry.seq),
        Event::Time(time) => Some(time.seq),
        Event::Lease(_) | Event::Gone(_) | Event::Reset => None,
    }
}

fn reading() -> Reading {
    Reading {
        steady_ms: steady_ms(),
        date_ms: js_sys::Date::now(),
    }
}

fn steady_ms() -> f64 {
    window()
        .performance()
        .map_or(0.0, |performance| performance.now())
}

fn is_hidden() -> bool {
    document().visibility_state() == VisibilityState::Hidden
}

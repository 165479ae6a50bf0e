//! The browser's side of a live page: clocks, timers and the event stream. It
//! decides nothing; [`crate::connection`] does.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{EventSource, MessageEvent, VisibilityState};

use crate::{
    channel::Channel,
    clock::Clock,
    connection::{Act, Connection, Phase, Reading},
    fetch::{Fetched, fetch},
    heard::Heard,
    live::Live,
    wake::set_attribute,
};

/// How often the page counts down.
const TICK: Duration = Duration::from_millis(250);
/// How often a tab asks that may not hold a stream.
const ASK_MS: f64 = 1_500.0;

/// What is followed: the events for what a page shows and, for a tab that may
/// not hold a stream, the same by asking.
pub trait Page {
    /// The stream's address, going on after `seq`.
    fn events(&self, seq: u64) -> String;
    /// Takes in what the stream said; whether something was missed, so that the
    /// page has to be read again.
    fn hear(&self, heard: Heard) -> bool;
    /// Takes in the page's data as it is answered at its own address, and says
    /// where things stand; `None` if it cannot be read.
    fn read(&self, data: &str) -> Option<Heard>;
    /// Some time passed.
    fn tick(&self, live: bool);
    /// What the tab says while all is well, before the name of the program.
    fn title(&self) -> String;
    /// Whether something that is shown asks for a look.
    fn alarm(&self) -> bool;
}

/// Keeps `page` current, and `live` honest, for as long as the document lives.
/// `seq` is where what it shows stands in the log.
pub fn follow(live: Live, page: impl Page + 'static, seq: u64) {
    let (connection, act) = Connection::new(reading(), is_hidden());
    let follower = Rc::new(Follower {
        live,
        page: Box::new(page),
        tried: Cell::new(0),
        paused: Cell::new(false),
        state: RefCell::new(State {
            connection,
            clock: Clock::default(),
            channel: Channel::new(steady_ms),
            line: Line::Closed,
            lines: 0,
            seq,
        }),
    });
    follower.act(|_, _| act);
    let ticking = Rc::clone(&follower);
    set_interval(move || ticking.tick(), TICK);
    // What listens lives as long as the document.
    drop(window_event_listener_untyped(
        "visibilitychange",
        move |_| {
            follower.look();
        },
    ));
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
    seq: u64,
}

/// Follows the events for one page.
struct Follower {
    live: Live,
    page: Box<dyn Page>,
    /// How often somebody had wanted to try at once.
    tried: Cell<u32>,
    /// Whether what is shown was to stay as it is.
    paused: Cell<bool>,
    state: RefCell<State>,
}

impl Follower {
    fn tick(self: &Rc<Self>) {
        let paused = self.live.paused.get_untracked();
        if self.paused.replace(paused) != paused {
            self.act(|connection, now| {
                if paused {
                    connection.pause(now.steady_ms)
                } else {
                    connection.resume(now)
                }
            });
        }
        let wanted = self.live.try_now.get_untracked();
        if self.tried.replace(wanted) != wanted {
            self.act(|connection, now| connection.try_now(now.steady_ms));
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
        self.page
            .tick(self.live.phase.get_untracked() == Phase::Live);
        self.say();
    }

    /// The title and the document tell the state also to who looks elsewhere.
    fn say(&self) {
        let (word, state) = match self.live.phase.get_untracked() {
            Phase::Live => ("live", self.page.title()),
            Phase::Waiting if self.paused.get() => {
                ("paused", format!("Paused: {}", self.page.title()))
            }
            Phase::Waiting => ("waiting", self.page.title()),
            Phase::Stale => ("stale", "Not connected".to_owned()),
            Phase::SignedOut => ("signed-out", "Signed out".to_owned()),
        };
        set_attribute("html", "data-phase", word);
        let alarm = self.page.alarm() || matches!(word, "stale" | "signed-out");
        let icon = if alarm {
            "/favicon-alert.svg"
        } else {
            "/favicon.svg"
        };
        set_attribute("link[rel=icon]", "href", icon);
        let title = format!("{state} · Baton");
        if document().title() != title {
            document().set_title(&title);
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
        if state.channel.may_stream(true, steady_ms()) {
            let stream = self.listen(&self.page.events(state.seq));
            state.line = stream.map_or(Line::Closed, |stream| Line::Streaming { _stream: stream });
        } else {
            drop(state);
            self.ask();
        }
    }

    fn ask(self: &Rc<Self>) {
        let line = {
            let mut state = self.state.borrow_mut();
            state.line = Line::Asking { due_ms: None };
            state.lines
        };
        let asking = Rc::clone(self);
        spawn_local(async move {
            let fetched = fetch(&crate::wake::here()).await;
            if asking.state.borrow().lines != line {
                return;
            }
            match fetched {
                Fetched::Text(text) => match asking.page.read(&text) {
                    Some(heard) => {
                        let due_ms = Some(steady_ms() + ASK_MS);
                        asking.state.borrow_mut().line = Line::Asking { due_ms };
                        asking.hear(heard);
                    }
                    None => asking.fail(),
                },
                Fetched::SignedOut => asking.act(|connection, _| connection.signed_out()),
                Fetched::Failed => asking.fail(),
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
            if let Some(heard) = Heard::read(&message.type_(), &data) {
                hearing.hear(heard);
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

    fn hear(self: &Rc<Self>, heard: Heard) {
        let now = reading();
        {
            let mut state = self.state.borrow_mut();
            let told = heard.now();
            if let Some(told) = told {
                state.clock.hear(told, now.steady_ms);
            }
            if let Some(seq) = heard.seq() {
                state.seq = seq;
            }
            state.connection.heard(now.steady_ms, told.is_some());
        }
        if self.page.hear(heard) {
            self.read_again();
        }
        // The time that is shown goes on with the next tick: with each event it
        // would make every row count, dozens of times a second.
        let phase = self.state.borrow().connection.phase();
        if phase != self.live.phase.get_untracked() {
            self.publish(now);
        }
    }

    /// Reads the page's data once more, beside the stream.
    fn read_again(self: &Rc<Self>) {
        let reading = Rc::clone(self);
        spawn_local(async move {
            let fetched = fetch(&crate::wake::here()).await;
            let read = match fetched {
                Fetched::Text(text) => reading.page.read(&text),
                Fetched::SignedOut | Fetched::Failed => None,
            };
            if read.is_none() {
                // What is shown has a gap: it must not pass for whole.
                reading.fail();
            }
        });
    }

    fn fail(self: &Rc<Self>) {
        self.act(|connection, now| {
            connection.failed(now.steady_ms, js_sys::Math::random());
            Some(Act::Close)
        });
        // An event stream does not say why it was refused: ask.
        let asking = Rc::clone(self);
        spawn_local(async move {
            if matches!(fetch("/totals").await, Fetched::SignedOut) {
                asking.act(|connection, _| connection.signed_out());
            }
        });
    }

    /// Tells the page how far it may be trusted, and as of when.
    fn publish(&self, now: Reading) {
        let state = self.state.borrow();
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

fn reading() -> Reading {
    Reading {
        steady_ms: steady_ms(),
        date_ms: js_sys::Date::now(),
    }
}

/// The steady clock, in milliseconds.
pub fn steady_ms() -> f64 {
    window()
        .performance()
        .map_or(0.0, |performance| performance.now())
}

fn is_hidden() -> bool {
    document().visibility_state() == VisibilityState::Hidden
}

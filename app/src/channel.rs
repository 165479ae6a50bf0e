//! How the tabs of one browser talk about who holds a stream.

use std::{cell::RefCell, rc::Rc};

use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{BroadcastChannel, MessageEvent};

use crate::peers::{Peers, Word};

/// A tab's end of the talk. Where the browser has no channel the tab takes
/// itself for the only one.
pub struct Channel {
    peers: Rc<RefCell<Peers>>,
    channel: Option<BroadcastChannel>,
    _heard: Option<Closure<dyn FnMut(MessageEvent)>>,
}

impl Channel {
    /// Listens, and says nothing yet. `now_ms` reads the steady clock.
    pub fn new(now_ms: fn() -> f64) -> Self {
        let peers = Peers::new(js_sys::Date::now(), js_sys::Math::random());
        let peers = Rc::new(RefCell::new(peers));
        let channel = BroadcastChannel::new("baton-streams").ok();
        let heard = channel.as_ref().map(|channel| {
            let (hearing, answering) = (Rc::clone(&peers), channel.clone());
            let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
                let text = message.data().as_string().unwrap_or_default();
                let answer =
                    Word::read(&text).and_then(|word| hearing.borrow_mut().hear(word, now_ms()));
                if let Some(answer) = answer {
                    send(&answering, answer);
                }
            });
            channel.set_onmessage(Some(heard.as_ref().unchecked_ref()));
            heard
        });
        Self {
            peers,
            channel,
            _heard: heard,
        }
    }

    /// Says what is due, and answers whether this tab may hold a stream.
    pub fn may_stream(&self, wants: bool, at_ms: f64) -> bool {
        let mut peers = self.peers.borrow_mut();
        if let (Some(word), Some(channel)) = (peers.say(wants, at_ms), &self.channel) {
            send(channel, word);
        }
        peers.may_stream()
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.may_stream(false, 0.0);
        if let Some(channel) = &self.channel {
            channel.set_onmessage(None);
            channel.close();
        }
    }
}

fn send(channel: &BroadcastChannel, word: Word) {
    // Only what cannot be cloned fails to be posted, and a text can.
    let _ = channel.post_message(&JsValue::from_str(&word.write()));
}

//! Asking the server from an open page.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{RequestInit, Response};

/// What a question came to.
pub enum Fetched {
    /// The answer's text.
    Text(String),
    /// Nobody is signed in any more.
    SignedOut,
    /// No answer, or one that does not help.
    Failed,
}

/// Asks for the JSON at an address on this server.
pub async fn fetch(address: &str) -> Fetched {
    match text(address).await {
        Ok(fetched) => fetched,
        Err(_) => Fetched::Failed,
    }
}

async fn text(address: &str) -> Result<Fetched, JsValue> {
    let headers = web_sys::Headers::new()?;
    headers.set("accept", "application/json")?;
    let init = RequestInit::new();
    init.set_headers(&headers);
    let window = leptos::prelude::window();
    let response =
        js_sys::futures::JsFuture::from(window.fetch_with_str_and_init(address, &init)).await?;
    let response: Response = response.unchecked_into();
    match response.status() {
        200 => {
            let text = js_sys::futures::JsFuture::from(response.text()?).await?;
            Ok(text.as_string().map_or(Fetched::Failed, Fetched::Text))
        }
        401 => Ok(Fetched::SignedOut),
        _ => Ok(Fetched::Failed),
    }
}

//! `/display`: how pages are shown in this browser. Anybody may choose that, for
//! nothing but cookies comes of it.

use axum::http::{HeaderValue, header};
use baton_app::{
    address::safe_next,
    display::{Choice, Display, Keys, Theme, Times},
    plain::{Filled, display_page},
};
use baton_client::FieldError;

use super::{Page, see_other};
use crate::http::{
    answer::{Answer, Oops},
    call::Call,
    pages::{display, wants_page},
};

/// A choice is remembered for a year.
const AGE_S: u64 = 365 * 24 * 3_600;

/// `GET /display`.
pub async fn look(call: Call) -> Answer {
    let filled = call.prefilled();
    let next = safe_next(filled.get("next")).to_owned();
    let chosen = display(&call.headers);
    let page = page(&call).await;
    // The address says where to go back to, and nothing about the choice.
    Ok(page.show(|| display_page(&Filled::default(), chosen, next)))
}

/// `POST /display`.
pub async fn choose(mut call: Call) -> Answer {
    let filled = call.form().await?;
    let next = safe_next(filled.get("next")).to_owned();
    let mut errors = Vec::new();
    let chosen = Display {
        theme: read::<Theme>(&filled, &mut errors),
        times: read::<Times>(&filled, &mut errors),
        keys: read::<Keys>(&filled, &mut errors),
    };
    if !errors.is_empty() && !wants_page(&call.headers) {
        return Err(Oops::invalid(errors));
    }
    if !errors.is_empty() {
        let filled = filled.wrong(&errors, &[]);
        let is = display(&call.headers);
        let page = page(&call).await.status(422);
        return Ok(page.show(|| display_page(&filled, is, next)));
    }
    let secure = if call.site.inner.secure {
        "; Secure"
    } else {
        ""
    };
    let mut response = see_other(&next);
    for (name, word) in chosen.cookies() {
        let cookie =
            format!("{name}={word}; Path=/; HttpOnly; SameSite=Lax; Max-Age={AGE_S}{secure}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    Ok(response)
}

/// The page is for everybody, and shows who looks to those who are signed in.
async fn page(call: &Call) -> Page {
    let caller = call.site.recognise(&call.headers).await.ok();
    Page::at(&call.uri, &call.headers, caller.as_deref(), "Display")
}

/// What was chosen; without a choice, the default.
fn read<C: Choice>(filled: &Filled, errors: &mut Vec<FieldError>) -> C {
    let Some(word) = filled.said(C::FIELD) else {
        return C::default();
    };
    C::read(word).unwrap_or_else(|| {
        let words: Vec<&str> = C::ALL.iter().map(|choice| choice.1).collect();
        errors.push(FieldError {
            field: C::FIELD.into(),
            message: format!("`{word}` is none of {}", words.join(", ")),
        });
        C::default()
    })
}

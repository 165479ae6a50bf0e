//! Errors of plain pages, as pages: strangers are sent to sign in and come back,
//! with the words that they typed.

use axum::{
    body::Body,
    http::{HeaderMap, Method, Uri, header},
    response::{IntoResponse, Response},
};
use baton_app::{
    address::{query_of, sign_in_href},
    plain::{Refused, refused_page},
};
use baton_client::Code;

use super::{Page, form, see_other};
use crate::http::{Site, answer::Oops, pages::wants_page};

/// Longer addresses are not for every browser and proxy.
const HREF_BYTES_MAX: usize = 6_000;
/// Fields of forms that are never put into an address.
const SECRET: [&str; 3] = ["password", "new_password", "again"];
/// What was true only of the page that was sent.
const STALE: [&str; 3] = ["expected_generation", "typed_name", "lease"];

/// The answer to what was refused before, or instead of, a page.
pub async fn refused(
    site: &Site,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    request_id: &str,
    body: Body,
    oops: Oops,
) -> Response {
    if !wants_page(headers) {
        return oops.into_response();
    }
    let mut problem = *oops.0;
    problem.request_id = Some(request_id.to_owned()).filter(|id| !id.is_empty());
    let here = uri.path_and_query().map_or("/", |here| here.as_str());
    let unauthenticated = problem.code == Code::Unauthenticated;
    if unauthenticated && method != Method::POST {
        return see_other(&sign_in_href(here));
    }
    // What was typed into a form that could not be sent must not be lost.
    let (mut again, mut typed) = (here.to_owned(), None);
    if method == Method::POST
        && let Ok(filled) = form(headers, body).await
    {
        let words = filled.values().iter().filter(|(field, value)| {
            !value.is_empty()
                && !SECRET.contains(&field.as_str())
                && !STALE.contains(&field.as_str())
        });
        let words: Vec<(&str, &str)> = words.map(|(f, v)| (f.as_str(), v.as_str())).collect();
        let kept = format!("{}{}", uri.path(), query_of(words));
        if kept.len() <= HREF_BYTES_MAX {
            again = kept;
        }
        typed = filled.said("reason").map(ToOwned::to_owned);
    }
    if unauthenticated {
        problem.detail = "Nothing was done. Sign in again and you are back on this page, with your words still in it".into();
        again = sign_in_href(&again);
    }
    let caller = site.recognise(headers).await.ok();
    let bare = Oops::from(problem.clone()).into_response();
    let mut response = Page::at(uri, headers, caller.as_deref(), problem.title.clone())
        .status(problem.status)
        .show(|| {
            refused_page(Refused {
                problem,
                again,
                typed,
            })
        });
    // What the error says in headers, it says to browsers, too.
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = bare.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

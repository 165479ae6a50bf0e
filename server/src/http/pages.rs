//! The pages: rendered by Leptos, with what they read behind a backstage, and
//! their script, WebAssembly and styles out of the program itself.

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::post,
};
use baton_app::{App, shell};
use baton_client::Code;
use leptos::{
    config::LeptosOptions, nonce::use_nonce, prelude::provide_context, prelude::use_context,
};
use leptos_axum::{
    LeptosRoutes, ResponseOptions, generate_route_list, handle_server_fns_with_context,
    render_app_async_with_context,
};

use super::{Site, answer::Oops, backstage::Behind, body, headers::page_policy};

/// What a page asks for is short.
const FUNCTION_BYTES_MAX: usize = 16 * 1024;

/// The router of the pages.
pub fn router(site: Site) -> Router<Site> {
    let options = LeptosOptions::builder()
        .output_name("baton")
        .site_pkg_dir("pkg")
        .build();
    let routes = generate_route_list(App);
    let context = {
        let site = site.clone();
        move || provide(&site)
    };
    let document = {
        let options = options.clone();
        move || shell(options.clone())
    };
    let unknown_function = {
        let context = context.clone();
        post(move |request: Request<Body>| handle_server_fns_with_context(context.clone(), request))
    };
    let pages: Router<()> = Router::new()
        .leptos_routes_with_context(&options, routes, context.clone(), document.clone())
        .with_state(options)
        .route("/fn/{name}", unknown_function)
        .layer(middleware::from_fn(functions));
    let assets: Router<()> = memory_serve::load!()
        .index_file(None)
        .cache_control(memory_serve::CacheControl::NoCache)
        .into_router();
    let pages = pages.merge(assets);
    let not_found = render_app_async_with_context(context, document);
    Router::new().merge(pages.with_state(())).fallback(
        move |State(_): State<Site>, request: Request<Body>| fallback(not_found.clone(), request),
    )
}

/// Around the functions that pages call: Leptos would read a body for ever, and
/// calls it our own failure when it cannot make sense of one.
async fn functions(request: Request<Body>, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match body::read(body, FUNCTION_BYTES_MAX).await {
        Ok(bytes) => Body::from(bytes),
        Err(oops) => return oops.into_response(),
    };
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.status() != StatusCode::INTERNAL_SERVER_ERROR {
        return response;
    }
    let (parts, body) = response.into_parts();
    let said = body::read(body, FUNCTION_BYTES_MAX)
        .await
        .unwrap_or_default();
    // As `ServerFnErrorErr` writes it for the page.
    match std::str::from_utf8(&said)
        .ok()
        .and_then(|said| said.split_once('|'))
    {
        Some(("Deserialization" | "Args" | "MissingArg", why)) => {
            Oops::field("body", why).into_response()
        }
        _ => Response::from_parts(parts, Body::from(said)),
    }
}

/// Whether a person looks at the answer, and not a program.
pub fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

/// What no route answers: the API says so as a problem, the page as a page.
async fn fallback<F, R>(not_found: F, request: Request<Body>) -> Response
where
    F: Fn(Request<Body>) -> R,
    R: Future<Output = Response>,
{
    let path = request.uri().path();
    if path.starts_with("/api/") || !wants_page(request.headers()) {
        return Oops::new(Code::NotFound, format!("there is nothing at `{path}`")).into_response();
    }
    not_found(request).await
}

/// What a page finds in its context: the way to the store, and, in its answer,
/// the policy that lets only its own script run.
fn provide(site: &Site) {
    let headers = use_context::<Parts>().map_or_else(HeaderMap::new, |parts| parts.headers);
    provide_context(Behind::of(site.clone(), headers));
    if let (Some(answer), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce())
        && let Ok(policy) = HeaderValue::from_str(&page_policy(&nonce.to_string()))
    {
        answer.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
}

//! The pages: rendered by Leptos, with what they read behind a backstage, and
//! their script, WebAssembly and styles out of the program itself.

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, Request, header, request::Parts},
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

use super::{Site, answer::Oops, backstage::Behind, headers::page_policy};

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
    let functions = {
        let context = context.clone();
        post(move |request: Request<Body>| handle_server_fns_with_context(context.clone(), request))
    };
    let pages: Router<()> = Router::new()
        .leptos_routes_with_context(&options, routes, context.clone(), document.clone())
        .with_state(options);
    let assets: Router<()> = memory_serve::load!()
        .index_file(None)
        .cache_control(memory_serve::CacheControl::NoCache)
        .into_router();
    let pages = pages.merge(assets).route("/fn/{name}", functions);
    let not_found = render_app_async_with_context(context, document);
    Router::new().merge(pages.with_state(())).fallback(
        move |State(_): State<Site>, request: Request<Body>| fallback(not_found.clone(), request),
    )
}

/// What no route answers: the API says so as a problem, the page as a page.
async fn fallback<F, R>(not_found: F, request: Request<Body>) -> Response
where
    F: Fn(Request<Body>) -> R,
    R: Future<Output = Response>,
{
    let path = request.uri().path();
    let wants_page = !path.starts_with("/api/")
        && request
            .headers()
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .is_some_and(|accept| accept.contains("text/html"));
    if !wants_page {
        return Oops::new(Code::NotFound, format!("there is nothing at `{path}`")).into_response();
    }
    not_found(request).await
}

/// What a page finds in its context: the way to the store, and, in its answer,
/// the policy that lets only its own script run.
fn provide(site: &Site) {
    let headers = use_context::<Parts>().map_or_else(HeaderMap::new, |parts| parts.headers);
    provide_context(Behind::new(site.clone(), headers));
    if let (Some(answer), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce())
        && let Ok(policy) = HeaderValue::from_str(&page_policy(&nonce.to_string()))
    {
        answer.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
}

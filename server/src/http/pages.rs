//! The pages, with what they read behind a backstage, and their script,
//! WebAssembly and styles out of the program itself.

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use baton_app::{Backstage, Reply, Visit, display::Display, not_found};
use baton_client::{Code, LeaseName};

use super::{
    Site,
    answer::{Answer, Oops},
    backstage::Behind,
    caller::cookie,
    headers::page_policy,
};

/// The router of the pages.
pub fn router() -> Router<Site> {
    baton_app::files::carry(env!("BATON_FILES"));
    let assets: Router<()> = memory_serve::load!()
        .index_file(None)
        .cache_control(memory_serve::CacheControl::NoCache)
        .into_router();
    let mut router = Router::new().merge(assets.with_state(()));
    for path in baton_app::PATHS {
        router = router.route(path, get(page));
    }
    router.route("/totals", get(totals)).fallback(fallback)
}

/// A page, or the data of one that is open.
async fn page(State(site): State<Site>, headers: HeaderMap, uri: Uri) -> Response {
    let nonce = nonce();
    let visit = visit(&headers, &uri, nonce.clone());
    let is_program = !wants_page(&headers);
    let behind = Behind::of(site, headers);
    // A person gets a page that says what is wrong; a program, what the API says.
    // Who may not look is told that, and nothing else.
    if is_program && let Err(oops) = names_a_lease(&uri) {
        let oops = behind.reader().await.err().unwrap_or(oops);
        return oops.into_response();
    }
    match baton_app::open(&behind, &visit).await {
        Reply::Page(status, html) => document(status, html, &nonce),
        Reply::Data(json) => {
            let kind = (
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            ([kind], json).into_response()
        }
        Reply::Problem(problem) => Oops(problem).into_response(),
        Reply::Elsewhere(address) => match HeaderValue::from_str(&address) {
            Ok(address) => (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response(),
            Err(_) => Oops::new(Code::Internal, "a page leads to no address").into_response(),
        },
    }
}

fn visit(headers: &HeaderMap, uri: &Uri, nonce: String) -> Visit {
    let path = percent_encoding::percent_decode_str(uri.path());
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    Visit {
        path: path.decode_utf8_lossy().into_owned(),
        query: query.into_owned().collect(),
        display: display(headers),
        nonce,
        data: accepts(headers, "application/json") && !wants_page(headers),
    }
}

/// Whether what the path calls a lease can be one.
fn names_a_lease(uri: &Uri) -> Result<(), Oops> {
    let path = percent_encoding::percent_decode_str(uri.path());
    let path = path.decode_utf8().map_err(|_| {
        let detail = "the path is not UTF-8 when percent-decoded";
        Oops::new(Code::Malformed, detail)
    })?;
    match path.strip_prefix("/leases/") {
        Some(name) => LeaseName::try_from(name.to_owned())
            .map(drop)
            .map_err(|error| Oops::field("lease", error.to_string())),
        None => Ok(()),
    }
}

/// How many leases there are of each kind: pages that are open ask for it.
async fn totals(State(site): State<Site>, headers: HeaderMap) -> Answer {
    let totals = Behind::of(site, headers).totals().await;
    totals
        .map(|totals| Json(totals).into_response())
        .map_err(|problem| Oops(Box::new(problem)))
}

/// A document, with the policy that lets only its own script run.
fn document(status: u16, html: String, nonce: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Html(html)).into_response();
    if let Ok(policy) = HeaderValue::from_str(&page_policy(nonce)) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        // A page and its data have one address.
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
    }
    response
}

/// What nobody can guess: 128 random bits.
fn nonce() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>())
}

/// How who sends these headers wants pages to be shown.
pub fn display(headers: &HeaderMap) -> Display {
    Display::read(|name| cookie(headers, name))
}

/// Whether a person looks at the answer, and not a program.
pub fn wants_page(headers: &HeaderMap) -> bool {
    accepts(headers, "text/html")
}

/// Whether the answer may, by name, be of this type.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let accept = headers.get(header::ACCEPT);
    accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains(kind))
}

/// What no route answers: the API says so as a problem, the page as a page.
async fn fallback(request: Request<Body>) -> Response {
    let path = request.uri().path();
    if path.starts_with("/api/") || !wants_page(request.headers()) {
        return Oops::new(Code::NotFound, format!("there is nothing at `{path}`")).into_response();
    }
    document(404, not_found(display(request.headers())), &nonce())
}

//! The table of routes, served.

use std::net::SocketAddr;

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, RawPathParams, State, rejection::RawPathParamsRejection},
    http::{Method, Request, Uri, request::Parts},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use baton_client::Code;

use super::{
    Site,
    answer::Oops,
    asked::{Asked, RefusedWith},
    call::{Call, request_id},
    plain,
    routes::{Handler, ROUTES, Route, Served, Verb},
};

/// The router of all routes that are served by calls.
pub fn router() -> Router<Site> {
    let mut paths: Vec<(&str, MethodRouter<Site>)> = Vec::new();
    for route in ROUTES {
        let (Served::Call(handler) | Served::Plain(handler)) = route.served else {
            continue;
        };
        let filter = match route.method {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        };
        let served = on(filter, move |site, peer, params, request| {
            answer(route, handler, site, peer, params, request)
        });
        match paths.iter_mut().find(|(path, _)| *path == route.path) {
            Some((_, methods)) => *methods = std::mem::take(methods).merge(served),
            None => paths.push((route.path, served)),
        }
    }
    let mut router = Router::new();
    for (path, methods) in paths {
        // Pages have other methods of these paths, and their own word for it.
        let has_page = ROUTES
            .iter()
            .any(|route| route.path == path && matches!(route.served, Served::Pages));
        router = router.route(
            path,
            if has_page {
                methods
            } else {
                methods.fallback(method_not_allowed)
            },
        );
    }
    router
}

async fn answer(
    route: &'static Route,
    handler: Handler,
    State(site): State<Site>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request<Body>,
) -> Response {
    let params = params.map_err(drop);
    let (parts, body) = request.into_parts();
    let asked = Asked::of(route, &site, peer, params.as_ref().ok(), &parts);
    let admitted = Call::admit(site.clone(), route, peer, params, &parts).await;
    let (answered, body) = match admitted {
        Ok(call) => (handler(call.with_body(body)).await, Body::empty()),
        Err(oops) => (Err(oops), body),
    };
    let refused = match &answered {
        Err(oops) => Some(oops.0.code),
        Ok(response) => response.extensions().get().map(|RefusedWith(code)| *code),
    };
    if let (Some(code), Some(asked)) = (refused, asked) {
        asked.refused(code).await;
    }
    match (answered, route.served) {
        (Err(oops), Served::Plain(_)) => {
            let id = request_id(&parts);
            let Parts {
                method,
                uri,
                headers,
                ..
            } = parts;
            plain::refused(&site, &method, &uri, &headers, &id, body, oops).await
        }
        (answered, _) => answered.into_response(),
    }
}

async fn method_not_allowed(method: Method, uri: Uri) -> Oops {
    Oops::new(
        Code::MethodNotAllowed,
        format!(
            "`{}` does not take {method}; see the header Allow",
            uri.path()
        ),
    )
}

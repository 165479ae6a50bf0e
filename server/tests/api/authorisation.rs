//! Who may do what. The tests walk the one table of all routes, so that a route
//! that is added is tested as well: one whose path or body they do not know fails
//! them.

use baton::{
    http::routes::{ROUTES, Route, Shape, Verb},
    people::Access,
};
use baton_client::Role;
use serde_json::json;

use crate::{
    requests::Request,
    schema,
    server::{HOLDER, PASSWORD, Server},
};

const ROLES: [Role; 4] = [Role::Viewer, Role::Holder, Role::Operator, Role::Admin];

/// Somebody who asks.
struct Who {
    name: String,
    role: Option<Role>,
    /// What they send along, if anything.
    header: Option<(&'static str, String)>,
}

impl Who {
    fn new(name: &str, role: Option<Role>, header: Option<(&'static str, String)>) -> Self {
        Self {
            name: name.to_owned(),
            role,
            header,
        }
    }

    fn by_cookie(&self) -> bool {
        matches!(self.header, Some(("Cookie", _)))
    }

    fn asks(&self, request: Request) -> Request {
        match &self.header {
            Some((name, value)) => request.header(name, value),
            None => request,
        }
    }

    /// The error they get from a route with this access.
    fn refusal(&self, access: Access) -> Option<(u16, &'static str)> {
        let needed = access.role()?;
        let Some(role) = self.role else {
            return Some((401, "unauthenticated"));
        };
        let may = match access {
            Access::Hold => role >= needed && !self.by_cookie(),
            Access::Own => self.by_cookie(),
            _ => role >= needed,
        };
        (!may).then_some((403, "forbidden"))
    }
}

/// A request that a route would carry out, about this lease if about one.
pub fn sample(route: &Route, lease: &str) -> Request {
    let path = route
        .path
        .replace("{lease}", lease)
        .replace("{seq}", "1")
        .replace("{name}", "who")
        .replace("{file}", "baton.css");
    assert!(!path.contains('{'), "what does {path} stand for?");
    match (route.method, route.takes) {
        (Verb::Get, Shape::Query("CheckQuery")) => Request::get(format!("{path}?generation=1")),
        (Verb::Get, Shape::Query("AtQuery")) => {
            Request::get(format!("{path}?time=2026-01-01T00:00:00Z"))
        }
        (Verb::Get, Shape::Query("ReportQuery")) => {
            let times = "from=2026-01-01T00:00:00Z&to=2100-01-01T00:00:00Z";
            Request::get(format!("{path}?{times}"))
        }
        (Verb::Get, Shape::Query("TenureQuery")) => Request::get(format!("{path}?holder=h")),
        (Verb::Get, _) => Request::get(path),
        (Verb::Post, Shape::Form(form)) => Request::form(path, &schema::form(form)),
        (Verb::Post, Shape::Json(schema)) => Request::post(path, &schema::body(schema, lease)),
        (Verb::Post, _) => Request::post(path, &json!({})),
    }
}

/// Everybody there is.
async fn everybody(server: &Server) -> Vec<Who> {
    let bearer = |token: &str| Some(("Authorization", format!("Bearer {token}")));
    let mut all = vec![
        Who::new("nobody", None, None),
        Who::new(
            "garbage",
            None,
            bearer("baton_garbage-garbage-garbage-garbage"),
        ),
        Who::new("no token", None, bearer("")),
        Who::new(
            "basic",
            None,
            Some(("Authorization", "Basic YWRtaW46eA==".into())),
        ),
        Who::new(
            "no cookie",
            None,
            Some(("Cookie", "baton_session=guessed".into())),
        ),
        Who::new("the holder", Some(Role::Holder), bearer(HOLDER)),
    ];
    for role in ROLES {
        let token = server
            .token(&format!("{role}-ci"), role.as_str(), &[])
            .await;
        all.push(Who::new(
            &format!("{role}'s token"),
            Some(role),
            bearer(&token),
        ));
        let name = format!("{role}-ana");
        server.user(&name, role.as_str(), PASSWORD).await;
        let cookie = server.sign_in(&name, PASSWORD).await;
        all.push(Who::new(
            &format!("{role}'s session"),
            Some(role),
            Some(("Cookie", cookie)),
        ));
    }
    all
}

#[tokio::test]
async fn every_route_refuses_whom_it_must_and_nobody_else() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let everybody = everybody(&server).await;
    let before = server.everything().await;
    let mut refused = 0;
    for route in ROUTES {
        for who in &everybody {
            let Some((status, code)) = who.refusal(route.access) else {
                continue;
            };
            let answer = server.send(&who.asks(sample(route, "victim"))).await;
            assert_eq!(answer.status, status, "{} {}", who.name, route.path);
            answer.problem(status, code);
            let challenge = answer.header("www-authenticate").is_some();
            assert_eq!(challenge, status == 401, "{} {}", who.name, route.path);
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
    assert_eq!(server.everything().await, before, "nothing was changed");

    for route in ROUTES {
        for (i, who) in everybody.iter().enumerate() {
            // Signing out would end the session that the rest is tried with.
            let ends = who.by_cookie() && route.path == "/sign-out";
            if who.refusal(route.access).is_some() || ends {
                continue;
            }
            let answer = server
                .send(&who.asks(sample(route, &format!("own-{i}"))))
                .await;
            let said = format!("{} {}: {}", who.name, route.path, answer.text());
            assert!(![401, 403].contains(&answer.status), "{said}");
            assert!(answer.status < 500, "{said}");
        }
    }
}

#[tokio::test]
async fn a_tenure_is_its_tokens_alone() {
    let server = Server::start().await;
    let lease = server.acquired("victim", "h").await;
    let before = server.everything().await;
    for role in ["holder", "operator", "admin"] {
        let other = server.token(&format!("{role}-ci"), role, &[]).await;
        for verb in ["renew", "release"] {
            let path = format!("/api/v1/leases/victim/{verb}");
            let body = json!({ "holder": "h", "generation": lease["generation"] });
            let answer = server.post(&path, &other, body).await;
            answer.problem(403, "forbidden");
        }
        let body = schema::body("Renewals", "victim");
        let renewed = server.post("/api/v1/renewals", &other, body).await.ok();
        assert_eq!(renewed["results"][0]["status"], 403);
        assert_eq!(renewed["results"][0]["body"]["code"], "forbidden");
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
}

#[tokio::test]
async fn no_get_changes_anything() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let admin = server.token("root", "admin", &[]).await;
    let cookie = server.sign_in("admin", PASSWORD).await;
    let people = async || {
        let users = server.done(&["user", "list", "--json"]).await;
        let tokens = server.done(&["token", "list", "--json"]).await;
        let mut people: serde_json::Value =
            serde_json::from_str(&format!("[{users},{tokens}]")).expect("it is JSON");
        for token in people[1].as_array_mut().expect("it is a list") {
            token["last_used_at"].take();
        }
        people
    };
    let before = (server.everything().await, people().await);
    for route in ROUTES {
        // Paths that change something with POST change nothing with GET.
        for method in ["GET", "HEAD"] {
            let mut request = sample(route, "victim");
            request.method = method.to_owned();
            server.send(&request.clone().token(&admin)).await;
            server.send(&request.cookie(&cookie)).await;
        }
    }
    assert_eq!((server.everything().await, people().await), before);
}

#[tokio::test]
async fn routes_have_their_methods_and_no_others() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let admin = server.token("root", "admin", &[]).await;
    let before = server.everything().await;
    for route in ROUTES {
        let has = |verb| {
            ROUTES
                .iter()
                .any(|r| r.path == route.path && r.method == verb)
        };
        let known = |method: &str| match method {
            "GET" | "HEAD" => has(Verb::Get),
            "POST" => has(Verb::Post),
            _ => false,
        };
        for method in [
            "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW",
        ] {
            if known(method) {
                continue;
            }
            let mut request = sample(route, "victim").token(&admin);
            request.method = method.to_owned();
            let answer = server.send(&request).await;
            assert_eq!(answer.status, 405, "{request:?}: {}", answer.text());
            let allow = answer.header("allow").unwrap_or_default().to_owned();
            for allowed in ["GET", "HEAD", "POST"] {
                let named = allow.split(',').any(|method| method.trim() == allowed);
                assert_eq!(named, known(allowed), "{request:?}: {allow}");
            }
            if route.is_api() {
                answer.problem(405, "method_not_allowed");
            }
        }
    }
    assert_eq!(server.everything().await, before);
}

#[tokio::test]
async fn strangers_may_look_where_that_is_allowed_and_see_no_payload() {
    let server = Server::with(&["--anonymous-read"]).await;
    let body = json!({ "holder": "h", "ttl_ms": 600_000, "payload": { "secret": "of the work" } });
    server.call("victim", "acquire", body).await.ok();
    let before = server.everything().await;
    for route in ROUTES {
        let answer = server.send(&sample(route, "victim")).await;
        if route.access.changes() {
            answer.problem(401, "unauthenticated");
        } else {
            assert!(
                answer.status < 400 || !route.is_api(),
                "{}: {}",
                route.path,
                answer.text()
            );
        }
        let shown = answer.text();
        assert!(!shown.contains("of the work"), "{}: {shown}", route.path);
        // Who claims to be somebody is held to it.
        if route.access == Access::Read {
            let claim = sample(route, "victim").token("baton_garbage-garbage-garbage-garbage");
            server.send(&claim).await.problem(401, "unauthenticated");
        }
    }
    assert_eq!(server.everything().await, before);
    let seen = server.get("/api/v1/leases/victim", HOLDER).await.ok();
    assert_eq!(seen["payload"]["secret"], "of the work");
}

#[tokio::test]
async fn a_cookie_authorises_no_change_that_another_site_asks_for() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let cookie = server.sign_in("admin", PASSWORD).await;
    let before = server.everything().await;
    for route in ROUTES {
        if route.method != Verb::Post {
            continue;
        }
        for (header, value) in [
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
            ("Origin", "https://evil.example"),
            ("Origin", "http://127.0.0.1:1"),
            ("Origin", "null"),
        ] {
            let request = sample(route, "victim")
                .cookie(&cookie)
                .header(header, value);
            let answer = server.send(&request).await;
            assert_eq!(answer.status, 403, "{request:?} {header}: {value}");
            answer.problem(403, "forbidden");
        }
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
    let look = Request::get("/api/v1/leases").cookie(&cookie);
    assert_eq!(
        server.send(&look).await.status,
        200,
        "nor was the session ended"
    );
}

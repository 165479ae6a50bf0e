//! The pages that ask before something is done to a lease: they do what the API
//! does, once, and only for the generation that was seen.

use serde_json::{Value, json};

use crate::{
    requests::{Request, Response},
    server::{HOLDER, PASSWORD, Server},
};

const HTML: &str = "text/html,application/xhtml+xml";

/// A person at a page.
struct Person<'a> {
    server: &'a Server,
    cookie: String,
}

impl<'a> Person<'a> {
    async fn of(server: &'a Server, role: &str) -> Self {
        let name = format!("{role}-ana");
        server.user(&name, role, PASSWORD).await;
        let cookie = server.sign_in(&name, PASSWORD).await;
        Self { server, cookie }
    }

    async fn opens(&self, path: &str) -> Response {
        let request = Request::get(path).cookie(&self.cookie);
        self.server.send(&request.header("Accept", HTML)).await
    }

    async fn sends(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let request = Request::form(path, fields).cookie(&self.cookie);
        self.server.send(&request.header("Accept", HTML)).await
    }

    /// Sends a form that succeeds, and says which entry it leads to.
    async fn does(&self, path: &str, fields: &[(&str, &str)]) -> Option<u64> {
        let answer = self.sends(path, fields).await;
        assert_eq!(answer.status, 303, "{path}: {}", answer.text());
        let to = answer.header("location").expect("it leads on");
        let lease = path.rsplit_once('/').expect("it has a lease").0;
        assert!(to.starts_with(lease), "{to}");
        let after = to.split_once("?after=").map(|(_, seq)| seq);
        after.map(|seq| seq.parse().expect("a seq"))
    }
}

async fn lease(server: &Server, name: &str) -> Value {
    let path = format!("/api/v1/leases/{name}");
    server.get(&path, HOLDER).await.ok()
}

async fn entry(server: &Server, seq: u64) -> Value {
    let path = format!("/api/v1/handovers/{seq}");
    server.get(&path, HOLDER).await.ok()
}

#[tokio::test]
async fn a_form_forces_as_the_api_does_and_leads_to_its_entry() {
    let server = Server::start().await;
    let ana = Person::of(&server, "operator").await;
    for (then, bar, reserved) in [
        ("anyone", json!(null), json!(null)),
        ("holder", json!("h"), json!(null)),
        ("everyone", json!(null), json!(null)),
        ("successor", json!(null), json!("next")),
    ] {
        let name = format!("forced.{then}");
        server.acquired(&name, "h").await;
        let path = format!("/leases/{name}/force-release");
        let page = ana.opens(&path).await;
        assert_eq!(page.status, 200);
        let shown = page.text();
        for said in [
            "name=\"expected_generation\" value=\"1\"",
            "so it is probably alive",
        ] {
            assert!(shown.contains(said), "{said}: {shown}");
        }
        let seq = ana
            .does(
                &path,
                &[
                    ("expected_generation", "1"),
                    ("reason", "wedged\r\nin discovery"),
                    ("incident", " INC-4711 "),
                    ("then", then),
                    ("for_ms", "600000"),
                    ("successor", "next"),
                ],
            )
            .await
            .expect("it left an entry");
        let entry = entry(&server, seq).await;
        assert_eq!(entry["event"], "forced");
        assert_eq!(entry["reason"], "wedged\nin discovery");
        assert_eq!(entry["incident"], "INC-4711");
        assert_eq!(entry["actor"], "user:operator-ana");
        let lease = lease(&server, &name).await;
        assert_eq!(
            (&lease["state"], &lease["generation"]),
            (&json!("free"), &json!(2))
        );
        assert_eq!(
            lease["barred"].is_null(),
            !["holder", "everyone"].contains(&then)
        );
        assert_eq!(lease["barred"]["holder"], bar, "{then}");
        assert_eq!(lease["reserved"]["holder"], reserved, "{then}");
    }
}

#[tokio::test]
async fn what_is_wrong_comes_back_beside_what_was_typed_and_nothing_is_done() {
    let server = Server::start().await;
    let ana = Person::of(&server, "operator").await;
    server.acquired("a", "h").await;
    let before = server.everything().await;
    let long = "x".repeat(10_000);
    let incident = "</textarea><script>alert(1)</script>";
    for (field, value, said) in [
        ("reason", "  ", "must not be blank"),
        ("reason", "\u{200b}\u{feff}", "must not be blank"),
        ("reason", long.as_str(), "has at most 2000 characters"),
        ("for_ms", "1", "is 1000 to 86400000"),
        ("successor", "", "has 1 to 255 characters"),
        ("expected_generation", "x", "generation"),
        ("then", "maybe", "is anyone, holder, everyone or successor"),
    ] {
        let mut fields = vec![
            ("expected_generation", "1"),
            ("reason", "why not"),
            ("incident", incident),
            ("then", "successor"),
            ("successor", "next"),
            ("for_ms", "60000"),
        ];
        for sent in &mut fields {
            if sent.0 == field {
                sent.1 = value;
            }
        }
        let answer = ana.sends("/leases/a/force-release", &fields).await;
        assert_eq!(answer.status, 422, "{field}: {}", answer.text());
        let shown = answer.text();
        assert!(
            field == "expected_generation" || shown.contains(said),
            "{field}: {shown}"
        );
        assert!(shown.contains("Nothing was done"), "{shown}");
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("alert(1)"), "{shown}");
        // A program that sends a form gets the API's problem.
        let request = Request::form("/leases/a/force-release", &fields).cookie(&ana.cookie);
        server.send(&request).await.problem(422, "invalid");
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
}

#[tokio::test]
async fn only_the_generation_that_was_seen_is_forced() {
    let server = Server::start().await;
    let ana = Person::of(&server, "operator").await;
    let ben = Person::of(&server, "admin").await;
    server.acquired("a", "h").await;
    let form = |reason| [("expected_generation", "1"), ("reason", reason)];
    let seq = ana.does("/leases/a/force-release", &form("by ana")).await;
    let seq = seq.expect("it left an entry");
    server.acquired("a", "h2").await;
    let before = server.everything().await;

    let late = ben.sends("/leases/a/force-release", &form("by ben")).await;
    assert_eq!(late.status, 409);
    let shown = late.text();
    for said in [
        "changed hands while you looked",
        "operator-ana",
        "by ana",
        "h2",
        "data-part=\"moved\"",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    // The same once more, as after an answer that was lost; the log has the reason
    // without the blank that a phone's keyboard leaves behind it.
    for reason in ["by ana", "by ana "] {
        let again = ana.sends("/leases/a/force-release", &form(reason)).await;
        assert_eq!(again.status, 409);
        let shown = again.text();
        assert!(shown.contains("You did this already"), "{shown}");
        assert!(shown.contains(&format!("/leases/a?after={seq}")), "{shown}");
    }
    assert_eq!(server.everything().await, before, "nothing was done twice");
}

#[tokio::test]
async fn a_protected_lease_wants_its_name_typed() {
    let server = Server::start().await;
    let (admin, ana) = (
        Person::of(&server, "admin").await,
        Person::of(&server, "operator").await,
    );
    server.acquired("a.b", "h").await;
    admin
        .does("/leases/a.b/protect", &[("reason", "payroll")])
        .await;
    for (path, typed, status) in [
        ("force-release", "", 422),
        ("force-release", "a.c", 422),
        ("step-down", "", 422),
        ("step-down", "a.b", 303),
        ("force-release", "a.b", 303),
    ] {
        let path = format!("/leases/a.b/{path}");
        assert!(
            ana.opens(&path)
                .await
                .text()
                .contains("name=\"typed_name\"")
        );
        let mut form = vec![
            ("expected_generation", "1"),
            ("reason", "r"),
            ("deadline_ms", "60000"),
        ];
        form.push(("typed_name", typed));
        assert_eq!(
            ana.sends(&path, &form).await.status,
            status,
            "{path} {typed}"
        );
    }
    let refused = ana.sends("/leases/a.b/unprotect", &[("reason", "r")]).await;
    assert_eq!(refused.status, 403);
    admin
        .does("/leases/a.b/unprotect", &[("reason", "done")])
        .await;
    assert_eq!(lease(&server, "a.b").await["protected"], false);
}

#[tokio::test]
async fn each_way_there_has_its_way_back() {
    let server = Server::start().await;
    let ana = Person::of(&server, "operator").await;
    server.acquired("a", "h").await;
    let at = |word: &str| format!("/leases/a/{word}");
    let why = [("reason", "r"), ("incident", "INC-1")];

    let ask = [
        ("reason", "r"),
        ("expected_generation", "1"),
        ("deadline_ms", "60000"),
        ("then", "successor"),
        ("successor", "next"),
        ("for_ms", "60000"),
    ];
    ana.does(&at("step-down"), &ask).await.expect("an entry");
    let asked = lease(&server, "a").await;
    assert_eq!(asked["step_down"]["successor"], "next");
    ana.does(&at("cancel-step-down"), &why)
        .await
        .expect("an entry");
    assert!(lease(&server, "a").await["step_down"].is_null());
    // There is nothing left to cancel: it is done, and leaves no entry.
    assert_eq!(ana.does(&at("cancel-step-down"), &why).await, None);

    ana.does(&at("pause"), &why).await.expect("an entry");
    assert_eq!(lease(&server, "a").await["paused"]["incident"], "INC-1");
    ana.does(&at("unpause"), &why).await.expect("an entry");
    assert!(lease(&server, "a").await["paused"].is_null());

    let force = [
        ("reason", "r"),
        ("expected_generation", "1"),
        ("then", "everyone"),
        ("for_ms", "600000"),
    ];
    ana.does(&at("force-release"), &force)
        .await
        .expect("an entry");
    let seen = [("reason", "r"), ("expected_generation", "2")];
    ana.does(&at("lift"), &seen).await.expect("an entry");
    let lifted = lease(&server, "a").await;
    assert!(lifted["barred"].is_null());
    assert_eq!(lifted["generation"], 2, "no hands were changed");
    server.acquired("a", "h2").await;

    // Lifting never takes a lease away, whatever generation it brings.
    let held = [("reason", "r"), ("expected_generation", "3")];
    for word in ["lift", "reset-attempts"] {
        let refused = ana.sends(&at(word), &held).await;
        assert_eq!(refused.status, 409, "{word}");
        assert_eq!(ana.sends(&at(word), &seen).await.status, 409, "{word}");
    }
    assert_eq!(lease(&server, "a").await["holder"], "h2");
}

#[tokio::test]
async fn attempts_are_reset_and_what_is_kept_stays() {
    let server = Server::start().await;
    let ana = Person::of(&server, "operator").await;
    for holder in ["h1", "h2"] {
        let body = json!({ "holder": holder, "ttl_ms": 1_000, "wait_ms": 10_000 });
        server.call("a", "acquire", body).await.ok();
    }
    let generation = lease(&server, "a").await["generation"].to_string();
    let force = [
        ("reason", "r"),
        ("expected_generation", generation.as_str()),
        ("then", "successor"),
        ("successor", "next"),
        ("for_ms", "600000"),
    ];
    ana.does("/leases/a/force-release", &force)
        .await
        .expect("an entry");
    let before = lease(&server, "a").await;
    assert_eq!(before["attempt"], 1);
    let generation = before["generation"].to_string();
    let reset = [
        ("reason", "fixed"),
        ("expected_generation", generation.as_str()),
    ];
    ana.does("/leases/a/reset-attempts", &reset)
        .await
        .expect("an entry");
    let after = lease(&server, "a").await;
    assert_eq!(after["attempt"], 0);
    assert_eq!(after["reserved"]["holder"], "next");
    assert_eq!(after["generation"], before["generation"]);
}

#[tokio::test]
async fn viewers_see_why_they_cannot_and_strangers_come_back_with_their_words() {
    let server = Server::start().await;
    let vera = Person::of(&server, "viewer").await;
    server.acquired("a", "h").await;
    let page = vera.opens("/leases/a/force-release").await;
    assert_eq!(page.status, 200);
    let shown = page.text();
    assert!(shown.contains("this takes the role operator"), "{shown}");
    assert!(!shown.contains("<textarea"), "{shown}");
    let refused = vera
        .sends("/leases/a/pause", &[("reason", "mine & yours")])
        .await;
    assert_eq!(refused.status, 403);
    assert!(
        refused.text().contains("mine &amp; yours"),
        "{}",
        refused.text()
    );

    let stranger = Request::get("/leases/a/pause?reason=x").header("Accept", HTML);
    let answer = server.send(&stranger).await;
    assert_eq!(answer.status, 303);
    let to = answer.header("location").expect("it leads on");
    assert_eq!(to, "/sign-in?next=%2Fleases%2Fa%2Fpause%3Freason%3Dx");
    let form = Request::form(
        "/leases/a/force-release",
        &[("expected_generation", "1"), ("reason", "mine & yours")],
    );
    let answer = server.send(&form.header("Accept", HTML)).await;
    assert_eq!(answer.status, 401);
    assert!(answer.header("www-authenticate").is_some());
    let again = "/sign-in?next=%2Fleases%2Fa%2Fforce-release%3Freason%3Dmine%2520%2526%2520yours";
    assert!(answer.text().contains(again), "{}", answer.text());
}

#[tokio::test]
async fn a_lease_that_never_was_can_be_paused_and_nothing_else() {
    let server = Server::start().await;
    let ana = Person::of(&server, "operator").await;
    let page = ana.opens("/leases/new/force-release").await;
    assert_eq!(page.status, 404);
    assert!(
        page.text().contains("There is no such lease"),
        "{}",
        page.text()
    );
    let form = [("expected_generation", "0"), ("reason", "r")];
    assert_eq!(
        ana.sends("/leases/new/force-release", &form).await.status,
        404
    );
    assert_eq!(ana.opens("/leases/new/pause").await.status, 200);
    ana.does("/leases/new/pause", &[("reason", "freeze")])
        .await
        .expect("an entry");
    assert_eq!(lease(&server, "new").await["paused"]["reason"], "freeze");
}

#[tokio::test]
async fn who_comes_second_hears_who_was_first() {
    let server = Server::start().await;
    let (first, second) = (
        Person::of(&server, "operator").await,
        Person::of(&server, "admin").await,
    );
    server.acquired("a", "h").await;
    // Both look at the pages, and then both send them.
    let shown = second.opens("/leases/a/step-down").await.text();
    let shown_at = said_at(&shown);
    let ask = |reason| {
        [
            ("expected_generation", "1"),
            ("shown_at", shown_at.as_str()),
            ("deadline_ms", "60000"),
            ("reason", reason),
        ]
    };
    first
        .does("/leases/a/step-down", &ask("disk is full"))
        .await;
    first
        .does("/leases/a/pause", &[("reason", "moving house")])
        .await;
    let before = server.everything().await;
    let late = second.sends("/leases/a/step-down", &ask("slow")).await;
    assert_eq!(late.status, 422);
    let said = late.text();
    for part in [
        "user:operator-ana asked for it at 20",
        "disk is full",
        "to replace that",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let late = second.sends("/leases/a/pause", &[("reason", "slow")]).await;
    assert_eq!(late.status, 200);
    let said = late.text();
    for part in [
        "It is paused already: by <bdi>operator-ana</bdi>, at ",
        "moving house",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(
        server.everything().await,
        before,
        "nothing was done over it"
    );
    // Who has heard of it can replace it.
    let again = said_at(&second.opens("/leases/a/step-down").await.text());
    let form = [
        ("expected_generation", "1"),
        ("shown_at", again.as_str()),
        ("deadline_ms", "60000"),
        ("reason", "slow"),
    ];
    second.does("/leases/a/step-down", &form).await;
    assert_eq!(lease(&server, "a").await["step_down"]["reason"], "slow");
}

/// When a form was shown.
fn said_at(page: &str) -> String {
    let rest = page.split("name=\"shown_at\" value=\"").nth(1);
    let at = rest.and_then(|rest| rest.split('"').next());
    at.expect("the form says when it was shown").to_owned()
}

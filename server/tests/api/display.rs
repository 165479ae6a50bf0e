//! How pages are shown: chosen by anybody, kept in cookies, and in every page.

use crate::{
    requests::{Request, Response},
    server::{PASSWORD, Server},
};

const HTML: &str = "text/html,application/xhtml+xml";

fn choose(fields: &[(&str, &str)]) -> Request {
    Request::form("/display", fields).header("Accept", HTML)
}

/// The cookies that an answer sets, each with its attributes.
fn cookies(answer: &Response) -> Vec<&str> {
    let set = answer.headers.iter();
    set.filter(|(name, _)| name == "set-cookie")
        .map(|(_, cookie)| cookie.as_str())
        .collect()
}

#[tokio::test]
async fn a_choice_is_kept_for_a_year_and_leads_back() {
    let server = Server::start().await;
    let fields = [
        ("theme", "dark"),
        ("times", "local"),
        ("keys", "off"),
        ("next", "/leases/a?last=1h"),
    ];
    let answer = server.send(&choose(&fields)).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/leases/a?last=1h"))
    );
    let rest = "; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000";
    let set = ["theme=dark", "times=local", "keys=off"].map(|word| format!("{word}{rest}"));
    assert_eq!(cookies(&answer), set);

    // Every page says so, the one that says there is nothing, too.
    let cookie = "theme=dark; times=local; keys=off";
    for path in ["/sign-in", "/display", "/no-such-page"] {
        let request = Request::get(path).header("Accept", HTML).cookie(cookie);
        let html = server.send(&request).await.text();
        let marks = r#"<html lang="en" data-theme="dark" data-times="local" data-keys="off">"#;
        assert!(html.contains(marks), "{path}: {html}");
    }
    let plain = server.send(&Request::get("/sign-in")).await.text();
    assert!(plain.contains(r#"<html lang="en">"#), "{plain}");
}

#[tokio::test]
async fn behind_https_the_cookies_insist_on_it() {
    let server = Server::with(&["--public-url", "https://baton.example"]).await;
    let answer = server
        .send(&choose(&[]).header("Origin", "https://baton.example"))
        .await;
    let set = cookies(&answer);
    assert_eq!(set.len(), 3, "{set:?}");
    assert!(set.iter().all(|set| set.ends_with("; Secure")), "{set:?}");
}

#[tokio::test]
async fn it_leads_nowhere_else() {
    let server = Server::start().await;
    for next in ["https://evil.example", "//evil.example", "/\\evil", "x", ""] {
        let answer = server.send(&choose(&[("next", next)])).await;
        let to = (answer.status, answer.header("location"));
        assert_eq!(to, (303, Some("/")), "{next:?}");
        let page = Request::get(format!("/display?next={next}")).header("Accept", HTML);
        let html = server.send(&page).await.text();
        assert!(html.contains(r#"name="next" value="/""#), "{html}");
    }
}

#[tokio::test]
async fn what_there_is_not_cannot_be_chosen() {
    let server = Server::start().await;
    let wrong = [
        ("theme", "dark"),
        ("times", "<b>mars</b>"),
        ("next", "/act"),
    ];
    let answer = server.send(&choose(&wrong)).await;
    assert_eq!((answer.status, cookies(&answer).len()), (422, 0));
    let html = answer.text();
    assert!(
        html.contains("`&lt;b&gt;mars&lt;/b&gt;` is none of utc, local, ago"),
        "{html}"
    );
    // What could be read stays as it was sent.
    assert!(html.contains(r#"value="dark" checked"#), "{html}");
    assert!(html.contains(r#"value="/act""#), "{html}");

    let program = Request::form("/display", &wrong);
    let problem = server.send(&program).await.problem(422, "invalid");
    assert_eq!(problem["errors"][0]["field"], "times");
}

#[tokio::test]
async fn the_page_knows_who_looks_and_does_not_need_to() {
    let server = Server::start().await;
    let cookie = server.sign_in("admin", PASSWORD).await;
    let look = Request::get("/display").header("Accept", HTML);
    let html = server.send(&look.clone().cookie(&cookie)).await.text();
    assert!(html.contains("Sign out"), "{html}");
    let answer = server.send(&look).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("Not signed in"), "{}", answer.text());
}

#[tokio::test]
async fn a_browser_asks_for_a_file_of_this_version_only_once() {
    let server = Server::start().await;
    let cookie = server.sign_in("admin", PASSWORD).await;
    let page = Request::get("/").header("Accept", HTML).cookie(&cookie);
    let html = server.send(&page).await.text();
    for file in ["baton.css", "baton.js", "baton_bg.wasm"] {
        let plain = format!("/pkg/{file}");
        let starts: Vec<_> = html.match_indices(&plain).map(|(at, _)| at).collect();
        assert!(!starts.is_empty(), "{file} is nowhere in {html}");
        for start in starts {
            let rest = &html[start..];
            let end = rest.find('"').expect("an address ends");
            let answer = server.send(&Request::get(&rest[..end])).await;
            assert_eq!(answer.status, 200, "{}", &rest[..end]);
            let kept = answer.header("cache-control").expect("it says how long");
            assert_eq!(kept, "public, max-age=31536000, immutable");
        }
        for other in [plain.clone(), format!("{plain}?v=0123456789abcdef")] {
            let answer = server.send(&Request::get(&other)).await;
            assert_eq!(answer.header("cache-control"), Some("no-cache"), "{other}");
        }
        let missing = server.send(&Request::get("/pkg/baton.txt")).await;
        assert_eq!(missing.header("cache-control"), Some("no-store"));
    }
}

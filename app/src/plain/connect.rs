//! How a program becomes a holder: lines to paste, filled with this server's
//! address.

use leptos::prelude::*;

/// The page, for a server that is reached at `address`.
pub fn connect_page(address: &str, admin: bool) -> AnyView {
    let token = if admin {
        view! {
            "Every program needs a token of role holder: "
            <a href="/tokens/new">"create one"</a>
            ", and put it where the lines below find it."
        }
        .into_any()
    } else {
        "Every program needs a token of role holder: an admin creates one. Put it where the lines below find it.".into_any()
    };
    let blocks = blocks(address).map(|(id, title, about, lines)| {
        view! {
            <section class="lines">
                <h2 id=id>{title}</h2>
                <p>{about}</p>
                <pre tabindex="0" aria-labelledby=id>
                    <code>{lines}</code>
                </pre>
            </section>
        }
    });
    view! {
        <main class="connect">
            <h1>"Connect a holder"</h1>
            <p>{token}</p>
            <pre tabindex="0" aria-label="The environment">
                <code>{format!("export BATON_URL={address}\nexport BATON_TOKEN=baton_…")}</code>
            </pre>
            {blocks.collect_view()}
            <p class="muted small">
                "Whatever holds: stop the work when a renewal is refused, or when no answer came for two thirds of the ttl, and carry the generation into everything that is written."
            </p>
        </main>
    }
    .into_any()
}

type Block = (&'static str, &'static str, &'static str, String);

fn blocks(address: &str) -> [Block; 3] {
    let call = |verb: &str, body: &str| {
        format!(
            "curl {address}/api/v1/leases/first.lease/{verb} \\\n  \
             -H \"Authorization: Bearer $BATON_TOKEN\" \\\n  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{body}'"
        )
    };
    let curl = format!(
        "{}\n\n# every 10 s, with the generation that acquire answered\n{}",
        call("acquire", r#"{"holder":"me-1","ttl_ms":30000}"#),
        call("renew", r#"{"holder":"me-1","generation":1}"#)
    );
    let rust = "use baton_client::{Client, Generation, keeper::{HoldOptions, Keeper, KeeperOptions}};

async fn lead(sweep: impl AsyncFn(Generation)) -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(\"ADDRESS\", std::env::var(\"BATON_TOKEN\").ok())?;
    let keeper = Keeper::new(client, KeeperOptions::default());
    let mut lease = keeper.hold(\"first.lease\".parse()?, HoldOptions::default());
    loop {
        let tenure = lease.tenure().await?; // waits until the lease is ours
        let _lost = tenure.run(sweep(tenure.generation())).await; // drops the work when it no longer is
    }
}";
    [
        (
            "run",
            "Any program, on Linux",
            "Runs a command only while the lease is held; it is stopped, with all that it started, before anybody else can have it.",
            "baton run first.lease --ttl 10s -- ./work".to_owned(),
        ),
        (
            "rust",
            "Rust",
            "The crate renews, counts its own deadlines and fails closed.",
            rust.replace("ADDRESS", address),
        ),
        (
            "curl",
            "Anything that speaks HTTP",
            "Acquire, and then renew every third of the ttl. The answer to acquire holds the generation.",
            curl,
        ),
    ]
}

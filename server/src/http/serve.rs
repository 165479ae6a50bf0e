//! Starting and stopping the server.

use std::{
    fs::File,
    io::{IsTerminal, Write},
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{Router, middleware};
use tokio::{net::TcpListener, signal::unix::SignalKind};
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;
use tower_http::{catch_panic::CatchPanicLayer, compression::CompressionLayer, csrf::CsrfLayer};
use tracing_appender::non_blocking::WorkerGuard;
use url::Url;

use crate::{
    checkpoint::{self, Key, KeyError, Schedule},
    database::{Database, LockError, OpenError},
    metrics,
    people::{FirstStart, People, PeopleError},
    store::{
        Store,
        keeping::{KeepError, Lacking, Standing},
    },
};

use super::{
    Inner, Site,
    headers::{self, CrossSite},
    listen,
    observe::{Ids, observe},
    pages, router,
};

/// From the signal to the end: what is under way has this long.
const STOP_WITHIN: Duration = Duration::from_secs(4);
/// The last entries of the access log have this long, and so long more the database.
const FINISH_WITHIN: Duration = Duration::from_millis(500);

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Which database.
    pub database: String,
    /// Where browsers find the page, if a proxy stands before it.
    pub public_url: Option<Url>,
    /// Whose word is taken for where a request comes from.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whether strangers may look.
    pub anonymous_read: bool,
    /// Checkpoints to take; none if nobody asked for them.
    pub checkpoints: Option<CheckpointOptions>,
    /// A file whose newest checkpoint the log must contain.
    pub checkpoint: Option<PathBuf>,
}

/// How the server takes checkpoints.
#[derive(Debug, Clone)]
pub struct CheckpointOptions {
    /// How often.
    pub every: Duration,
    /// The file that they are added to; the server's log, if there is none.
    pub file: Option<PathBuf>,
    /// The file of the key; it is made if it is not there.
    pub key: PathBuf,
}

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The database cannot be opened.
    #[error("cannot open the database")]
    Open(#[from] OpenError),
    /// The database does not answer.
    #[error("the database does not answer")]
    Database(#[from] sqlx::Error),
    /// Another server serves the same file.
    #[error(
        "another server already serves {0}: one SQLite file takes one server; \
         stop the other, or use PostgreSQL for several"
    )]
    Taken(PathBuf),
    /// The file cannot be had for this server alone.
    #[error("cannot lock the database")]
    Lock(#[source] LockError),
    /// There is no key to sign checkpoints with.
    #[error("cannot sign checkpoints")]
    CheckpointKey(#[from] KeyError),
    /// The first user and token cannot be made.
    #[error("cannot set up the first user and token")]
    People(#[from] PeopleError),
    /// The address is taken, or not this machine's.
    #[error(
        "cannot listen on {address}: is another server running there? Choose another with --listen"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The public address cannot be what browsers send as their origin.
    #[error("`{0}` is not the address of a page: use https://HOST or http://HOST:PORT")]
    PublicUrl(Url),
    /// The checkpoint cannot be read.
    #[error("cannot read the checkpoint {file}")]
    Checkpoint {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: checkpoint::ReadError,
    },
    /// The checkpoint cannot be held against the log.
    #[error("cannot hold the checkpoint against the log")]
    Check(#[from] KeepError),
    /// Somebody else in this process counts already.
    #[error("cannot count requests")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}

/// Whether a file is not there, or has nothing in it.
fn is_empty(file: &Path) -> bool {
    std::fs::metadata(file).map_or(!file.exists(), |found| found.len() == 0)
}

/// Serves until SIGTERM or SIGINT, then answers what is under way and ends.
///
/// # Errors
/// The database cannot be used, or the address is taken.
pub async fn serve(options: ServeOptions) -> Result<(), ServeError> {
    let _log = start_logging();
    // First all that can fail: what a first start makes is shown only once.
    let listening = |source| ServeError::Listen {
        address: options.listen,
        source,
    };
    let listener = TcpListener::bind(options.listen).await.map_err(listening)?;
    let csrf = csrf(options.public_url.as_ref())?;
    let metrics = metrics::start()?;
    // Its own file has nothing in it before the first checkpoint.
    let own = options
        .checkpoints
        .as_ref()
        .and_then(|own| own.file.clone());
    let not_yet =
        own.is_some_and(|own| options.checkpoint.as_ref() == Some(&own) && is_empty(&own));
    let checkpoints = options.checkpoints.map(schedule).transpose()?;
    let database = Database::connect(&options.database).await?;
    // Before the schema changes: another server may be serving this file.
    let _lock = lock(&database)?;
    database.migrate(&options.database).await?;
    let people = People::new(&database);
    let first = people
        .ensure_first_people(
            std::env::var("BATON_ADMIN_PASSWORD").ok(),
            std::env::var("BATON_HOLDER_TOKEN").ok(),
        )
        .await?;
    people.refresh().await?;
    tokio::spawn(people.clone().follow());
    tokio::spawn(people.access_log().clone().follow());
    let store = Store::start(&database).await?;
    if let Some(file) = options.checkpoint.as_ref().filter(|_| !not_yet) {
        check(&store, file).await?;
    }
    say_what_is_lacking(&store).await?;
    tokio::spawn(store.clone().keep_verified());
    let address = match &options.public_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{}", listener.local_addr().map_err(listening)?),
    };
    let stop = CancellationToken::new();
    let site = Site {
        inner: Arc::new(Inner {
            store: store.clone(),
            people: people.clone(),
            secure: address.starts_with("https:"),
            address,
            trusted_proxies: options.trusted_proxies,
            anonymous_read: options.anonymous_read,
            metrics,
            stop: stop.clone(),
        }),
    };
    if let Some(checkpoints) = checkpoints {
        tokio::spawn(checkpoints.run(store.reader().clone(), stop.clone()));
    }
    let app = app(site.clone(), csrf);
    tracing::info!(address = %listener.local_addr().map_err(listening)?, "listening");
    greet(&site.inner.address, first.as_ref());
    tokio::spawn(stop_on_signal(stop.clone(), store));
    let overdue = CancellationToken::new();
    tokio::spawn(given_up(stop.clone(), overdue.clone()));
    tokio::select! {
        () = listen::serve(listener, app, stop) => {}
        () = overdue.cancelled() => tracing::warn!("stopping although some requests are still under way"),
    }
    // What was only counted: this is its last chance.
    drop(tokio::time::timeout(FINISH_WITHIN, people.access_log().finish()).await);
    let too_late = async {
        overdue.cancelled().await;
        tokio::time::sleep(FINISH_WITHIN).await;
    };
    tokio::select! {
        closed = database.close() => {
            if let Err(error) = closed {
                tracing::warn!(%error, "the database was not closed in good order");
            }
        }
        () = too_late => tracing::warn!("stopping although the database is not closed"),
    }
    Ok(())
}

/// Makes ready to take checkpoints.
fn schedule(options: CheckpointOptions) -> Result<Schedule, KeyError> {
    let (key, made) = Key::open(&options.key)?;
    if made {
        tracing::info!(file = %options.key.display(), key = key.public(), "made a key for checkpoints");
    }
    Ok(Schedule {
        every: options.every,
        file: options.file,
        key,
    })
}

/// What refuses the changes that other sites ask for.
fn csrf(public_url: Option<&Url>) -> Result<CsrfLayer, ServeError> {
    let Some(url) = public_url else {
        return Ok(CsrfLayer::new());
    };
    let wrong = || ServeError::PublicUrl(url.clone());
    // The pages are at the root, so there is no path before them.
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong());
    }
    CsrfLayer::new()
        .add_trusted_origin(url.origin().ascii_serialization())
        .map_err(|_| wrong())
}

/// All routes, with what goes around every request.
fn app(site: Site, csrf: CsrfLayer) -> Router {
    let around = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(Ids::new(), observe))
        .layer(middleware::from_fn_with_state(site.clone(), headers::guard))
        .layer(CompressionLayer::new())
        .layer(CatchPanicLayer::custom(panicked))
        .layer(csrf.with_rejection_response(CrossSite));
    let router = router::router().merge(pages::router());
    router.layer(around).with_state(site)
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> axum::response::Response {
    use axum::response::IntoResponse;
    super::answer::Oops::from(crate::store::StoreError::Internal).into_response()
}

/// A SQLite file takes one server: its clock and its writer are that process's.
fn lock(database: &Database) -> Result<Option<File>, ServeError> {
    database.lock().map_err(|error| match error {
        LockError::Taken(file) => ServeError::Taken(file),
        other => ServeError::Lock(other),
    })
}

/// Holds the newest checkpoint of a file against the log, before anything is
/// granted.
async fn check(store: &Store, file: &Path) -> Result<(), ServeError> {
    let file_of = || file.to_path_buf();
    let seen = checkpoint::newest(file).map_err(|source| ServeError::Checkpoint {
        file: file_of(),
        source,
    })?;
    match store.keeping().check(&seen).await? {
        Standing::Contained => tracing::info!(seq = seen.seq, "the log contains the checkpoint"),
        Standing::Archived => {
            tracing::info!(
                seq = seen.seq,
                "the checkpoint is of a part that was archived"
            );
        }
        Standing::Answered => {
            tracing::info!(
                seq = seen.seq,
                "everything was raised after the checkpoint was ahead"
            );
        }
        // It is noted, and said with what was noted.
        Standing::Lacking(_) => {}
    }
    Ok(())
}

/// Says at each start that nothing is granted, and why: this server or another one
/// found a checkpoint that the log does not contain.
async fn say_what_is_lacking(store: &Store) -> Result<(), ServeError> {
    let lacking = store.keeping().lacks().await.map_err(KeepError::from)?;
    let Some((seen, lacking)) = lacking else {
        return Ok(());
    };
    metrics::behind(true);
    match lacking {
        Lacking::Shorter { head } => tracing::error!(
            checkpoint = seen.seq,
            log = head,
            "the log does not contain the checkpoint, it is shorter: commits were lost, and \
             generations could repeat. Nothing is granted until `baton raise-floor`"
        ),
        Lacking::Other { hash } => tracing::error!(
            checkpoint = seen.seq,
            hash = seen.hash,
            log = hash.as_deref().unwrap_or("no entry"),
            "the log does not contain the checkpoint, it has another hash at that seq: is it \
             another database, or was its history replaced? Generations could repeat. Nothing \
             is granted until `baton raise-floor`"
        ),
    }
    Ok(())
}

/// Starts to log, until what is returned is dropped. Lines wait for stderr in a
/// thread of their own: a log that is closed or that nobody reads costs lines, and
/// never makes a lease wait.
fn start_logging() -> WorkerGuard {
    let (log, guard) = tracing_appender::non_blocking(std::io::stderr());
    let filter = tracing_subscriber::EnvFilter::try_from_env("BATON_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,memory_serve=warn"));
    // Somebody else in this process may log already, as a test does.
    drop(
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(log)
            // To stderr, as a panic if that is closed.
            .log_internal_errors(false)
            .try_init(),
    );
    guard
}

/// Says where the page is and, on a first start, how to begin. This is the only
/// place where made-up secrets ever show.
fn greet(address: &str, first: Option<&FirstStart>) {
    let mut text = format!("Baton is at {address}\n");
    if let Some(first) = first {
        if let Some(password) = &first.admin_password {
            text += &format!("Sign in as admin with the password {}\n", password.reveal());
        }
        if let Some(token) = &first.holder_token {
            text += &format!("A token for holders: {}\n", token.reveal());
        }
        if first.admin_password.is_some() || first.holder_token.is_some() {
            text += "This is shown only now. ";
        }
        let token = first.holder_token.as_ref();
        let token = token.map_or("$BATON_HOLDER_TOKEN", |token| token.reveal());
        text += &format!(
            "Acquire a first lease:\n  \
            curl -s {address}/api/v1/leases/hello/acquire -H \"Authorization: Bearer {token}\" \
            -H 'Content-Type: application/json' -d '{{\"holder\":\"me\",\"ttl_ms\":60000}}'\n"
        );
    }
    // Nobody may be reading; the server serves all the same.
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

async fn stop_on_signal(stop: CancellationToken, store: Store) {
    let signal = |kind| tokio::signal::unix::signal(kind);
    match (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        _ => {
            tracing::error!("cannot listen for signals; only a kill will stop this server");
            return;
        }
    }
    tracing::info!("stopping: answering what is under way");
    stop.cancel();
    store.hurry();
    store.hub().stop();
}

/// Some time after the stop was asked for, what is left is overdue.
async fn given_up(stop: CancellationToken, overdue: CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(STOP_WITHIN).await;
    overdue.cancel();
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request, routing::get};
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn a_bug_is_answered_with_an_id_and_without_its_words() {
        let around = ServiceBuilder::new()
            .layer(middleware::from_fn_with_state(Ids::new(), observe))
            .layer(CatchPanicLayer::custom(panicked));
        async fn broken() -> &'static str {
            panic!("what nobody should read")
        }
        let app: Router = Router::new().route("/", get(broken)).layer(around);
        let request = Request::new(Body::empty());
        let answer = app.oneshot(request).await.expect("it is answered");
        assert_eq!(answer.status(), 500);
        let id = answer.headers()["x-request-id"].clone();
        let body = axum::body::to_bytes(answer.into_body(), 10_000).await;
        let text = String::from_utf8_lossy(&body.expect("there is a body")).into_owned();
        let problem: baton_client::Problem = serde_json::from_str(&text).expect("a problem");
        assert_eq!(problem.code, baton_client::Code::Internal);
        assert_eq!(problem.request_id.as_deref(), id.to_str().ok());
        assert!(!text.contains("nobody should read"), "{text}");
    }
}

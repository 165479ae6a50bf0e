//! Connections: taken, served over HTTP/1.1, and closed. Nobody can keep one
//! open by sending headers slowly, or fill the memory with them.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

/// How long a request's head may take, and how long a connection is kept without
/// one: longer than proxies and clients keep theirs, so that it is they who hang
/// up and no request is lost to a connection that just closed.
const HEAD_WITHIN: Duration = Duration::from_secs(75);
/// The longest head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// When no connection can be taken, as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(500);

/// Serves until `stop`, and then until every request under way is answered.
pub async fn serve(listener: TcpListener, app: Router, stop: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let taken = tokio::select! {
            () = stop.cancelled() => break,
            taken = listener.accept() => taken,
        };
        match taken {
            Ok((stream, peer)) => {
                connections.spawn(connection(stream, peer, app.clone(), stop.clone()));
            }
            Err(error) if is_of_one(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// The failure of one connection says nothing about the next.
fn is_of_one(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

async fn connection(stream: TcpStream, peer: SocketAddr, app: Router, stop: CancellationToken) {
    // Events are small and must not wait for the one before to be confirmed.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection may be slow");
    }
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let app = app.clone();
        async move { Ok::<_, Infallible>(app.oneshot(request).await.unwrap_or_else(|e| match e {})) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service)
    );
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

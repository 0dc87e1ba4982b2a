//! Connections: accepted until the program stops, and each with timeouts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use seenguard_server::may_log;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

use crate::Failure;
use crate::cli::Listening;
use crate::shutdown::{self, Stage};

/// Timeout of a client that reads nothing of the response.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);
/// Most connections at the same time; further ones wait until one ends.
const MAX_CONNECTIONS: usize = 10_000;
/// The pause after accepting failed, such as with too many open files.
const PAUSE: Duration = Duration::from_millis(100);

pub async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| format!("cannot listen at {address}: {error}").into())
}

/// Prints the address for the parent process, such as a script that chose port 0.
pub fn announce(listener: &TcpListener) -> Result<(), Failure> {
    println!("listening on http://{}", listener.local_addr()?);
    Ok(())
}

/// Serves until the program stops; then completes the requests in progress.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    mut stage: watch::Receiver<Stage>,
    options: Listening,
) -> Result<(), Failure> {
    let connections = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accept = async {
            // The semaphore is never closed.
            let permit = room.clone().acquire_owned().await.ok();
            listener.accept().await.map(|(stream, _)| (stream, permit))
        };
        tokio::select! {
            accepted = accept => match accepted {
                Ok((stream, permit)) => begin(stream, permit, router.clone(), options.idle_seconds, &connections),
                Err(error) => {
                    if may_log("accept", "") {
                        tracing::warn!(%error, "a connection cannot be accepted");
                    }
                    sleep(PAUSE).await;
                }
            },
            () = shutdown::wait(&mut stage, Stage::Stopping) => break,
        }
    }
    drop(listener);
    if timeout(options.shutdown_seconds, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests have not ended in time, and are given up");
    }
    Ok(())
}

fn begin(
    stream: TcpStream,
    permit: Option<OwnedSemaphorePermit>,
    router: Router,
    idle: Duration,
    connections: &GracefulShutdown,
) {
    // A response is one or a few writes, which must not wait for another one.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection has ended before it began");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(TAKEN_WITHIN));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection has ended early");
        }
        drop(permit);
    });
}

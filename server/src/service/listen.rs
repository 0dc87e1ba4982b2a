//! Accepts connections until the program stops, and closes each after its timeouts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use seenguard_server::may_log;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::io::{InspectReader, InspectWriter};

use crate::Failure;
use crate::cli::Listening;
use crate::shutdown::{self, Stage};

/// Timeout of a client that does not read the response.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a header, from its first byte.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Most concurrent connections; further ones wait until one ends.
const MAX_CONNECTIONS: usize = 10_000;
/// The pause after a failure to accept, such as with too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The phase of a connection, which determines its timeout. hyper's own timeout of a header would start at the end of
/// the previous request.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Waits for the first byte of a request, or for the client to read the response.
    Idle,
    /// Waits for the rest of a header.
    Header,
    /// Waits for the rest of a request, and for its response.
    Request,
}

pub async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| {
        format!("cannot listen on {address}: {error}: choose an address of this machine and a free port").into()
    })
}

/// Prints the address for the parent process, such as a script that chose port 0.
pub fn announce(listener: &TcpListener) -> Result<(), Failure> {
    println!("listening on http://{}", listener.local_addr()?);
    Ok(())
}

/// Serves until the program stops, then completes the requests in progress.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    mut stage: watch::Receiver<Stage>,
    options: Listening,
) -> Result<(), Failure> {
    let connections = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accept = async {
            // The semaphore is never closed.
            let permit = permits.clone().acquire_owned().await.ok();
            listener.accept().await.map(|(stream, _)| (stream, permit))
        };
        tokio::select! {
            accepted = accept => match accepted {
                Ok((stream, permit)) => begin(stream, permit, router.clone(), options.idle_seconds, &connections),
                Err(error) => {
                    if may_log("accept", "") {
                        tracing::warn!(%error, "cannot accept a connection");
                    }
                    sleep(PAUSE).await;
                }
            },
            () = shutdown::wait(&mut stage, Stage::Stopping) => break,
        }
    }
    drop(listener);
    if timeout(options.shutdown_seconds, connections.shutdown()).await.is_err() {
        tracing::warn!("shutdown timeout: requests in progress are aborted");
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
    // Without Nagle's algorithm, since a response is one or a few writes.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "connection ended before its first byte");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READ_TIMEOUT));
    let phase = watch::Sender::new(Phase::Idle);
    let overdue = overdue(phase.subscribe(), idle);
    let (reading, writing) = (phase.clone(), phase.clone());
    let stream = InspectReader::new(Box::pin(stream), move |bytes: &[u8]| {
        if !bytes.is_empty() {
            reading.send_if_modified(begin_header);
        }
    });
    // A write restarts the idle timeout, since the client reads.
    let stream = InspectWriter::new(stream, move |_: &[u8]| {
        writing.send_if_modified(|phase| *phase == Phase::Idle);
    });
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request| {
        phase.send_replace(Phase::Request);
        let (response, phase) = (router.call(request), phase.clone());
        async move {
            let response = response.await;
            phase.send_replace(Phase::Idle);
            response
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(%error, "connection failed");
            },
            () = overdue => tracing::debug!("connection closed after its timeout"),
        }
        drop(permit);
    });
}

fn begin_header(phase: &mut Phase) -> bool {
    let is_first_byte = *phase == Phase::Idle;
    if is_first_byte {
        *phase = Phase::Header;
    }
    is_first_byte
}

/// Resolves when a phase exceeds its timeout.
async fn overdue(mut phase: watch::Receiver<Phase>, idle: Duration) {
    loop {
        let now = *phase.borrow_and_update();
        let limit = match now {
            Phase::Idle => idle,
            Phase::Header => HEADER_TIMEOUT,
            // The routes have their own timeouts.
            Phase::Request => Duration::MAX,
        };
        if !matches!(timeout(limit, phase.changed()).await, Ok(Ok(()))) {
            return;
        }
    }
}

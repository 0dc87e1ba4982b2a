//! A connection to Redis that is replaced if it is dead, and waited for if it is slow.

use std::fmt;
use std::pin::Pin;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ConstantBuilder};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, Pipeline, RedisError,
    RedisFuture, RedisResult, Value, cmd,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::failures::error_of;
use super::security::{Security, no_url};
use crate::error::{Error, in_time};

/// If no data arrives for this long while commands wait, a second connection is opened.
const SILENCE: Duration = Duration::from_secs(1);
/// Timeout of opening a connection and of its first command.
const OPENED_WITHIN: Duration = Duration::from_secs(2);
/// If no data arrives for this long on a replaced connection, its waiting commands fail.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(3);
/// How often connections are checked.
const LOOK: Duration = Duration::from_millis(200);
/// The least interval of attempts to connect; with jitter up to twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// Timeout of a response of a cluster's node.
const NODE_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// A connection to Redis, or to a Redis Cluster. A clone shares it, as do concurrent calls. It is opened in the
/// background, and again when it is lost: meanwhile each command fails at once. If no data arrives for a second while
/// commands wait, or if Redis has become a replica, a second connection is opened, with its host's name resolved again;
/// it takes over once it responds. A slow response is awaited: timeouts are the caller's task.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seenguard_server::RedisConnection;
/// let mut connection = RedisConnection::open("redis://127.0.0.1/")?;
/// let length: u64 = redis::cmd("LLEN").arg("seen:ada").query_async(&mut connection).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisConnection(Arc<Shared>);

struct Shared {
    target: Target,
    line: Mutex<Option<Line>>,
    was_connected: AtomicBool,
    /// Requests another connection at once.
    wanted: Notify,
}

enum Target {
    Single(Box<ConnectionInfo>, Security),
    Cluster(Box<ClusterClient>),
}

/// The underlying connection.
#[derive(Clone)]
struct Line {
    way: Way,
    traffic: Arc<Traffic>,
}

#[derive(Clone)]
enum Way {
    Single(MultiplexedConnection, AbortHandle),
    /// It manages its connections itself.
    Cluster(ClusterConnection),
}

impl RedisConnection {
    /// To the Redis at this URL: `redis://[user:password@]host[:port][/database]`, or, with the feature `tls`,
    /// `rediss://…`, whose certificate must be of an authority that this system knows, or of one in the file that the
    /// variable `SSL_CERT_FILE` names. Within a runtime of Tokio.
    ///
    /// # Errors
    /// [`BadOption`](crate::ErrorKind::BadOption) for an invalid URL.
    pub fn open(url: impl IntoConnectionInfo) -> Result<Self, Error> {
        let info = url.into_connection_info().map_err(|_| no_url())?;
        let security = Security::of(info.addr())?;
        Ok(Self::to(Target::Single(Box::new(info), security)))
    }

    /// A connection to the cluster with nodes at these URLs.
    ///
    /// # Errors
    /// As [`RedisConnection::open`].
    pub fn open_cluster<U: IntoConnectionInfo>(urls: impl IntoIterator<Item = U>) -> Result<Self, Error> {
        let client = ClusterClient::builder(urls)
            // If one node hangs, there is time for another.
            .connection_timeout(OPENED_WITHIN / 2)
            .response_timeout(NODE_ANSWERS_WITHIN)
            .retries(0)
            .build();
        Ok(Self::to(Target::Cluster(Box::new(client.map_err(error_of)?))))
    }

    fn to(target: Target) -> Self {
        let shared = Arc::new(Shared {
            target,
            line: Mutex::default(),
            was_connected: AtomicBool::new(false),
            wanted: Notify::new(),
        });
        tokio::spawn(look_after(Arc::downgrade(&shared)));
        RedisConnection(shared)
    }

    /// Whether it is to a cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.0.target, Target::Cluster(_))
    }

    /// Whether there is a connection now.
    pub fn is_connected(&self) -> bool {
        self.0.line().is_some()
    }

    /// Whether there ever was one.
    pub fn was_connected(&self) -> bool {
        self.0.was_connected.load(Ordering::Relaxed)
    }

    /// Opens a second connection, which takes over: this one leads to a replica.
    pub(super) fn renew(&self) {
        self.0.wanted.notify_one();
    }

    /// Checks that Redis responds: in a cluster, all masters.
    ///
    /// # Errors
    /// Errors of Redis, or of a missing connection.
    pub async fn ping(&self) -> Result<(), Error> {
        let answer: RedisResult<Value> = cmd("PING").query_async(&mut self.clone()).await;
        answer.map(drop).map_err(error_of)
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn needs_another(&self) -> bool {
        match &*self.line() {
            None => true,
            Some(line) => line.traffic.is_silent(SILENCE),
        }
    }

    /// Updates the state of the connection from responses.
    fn note(&self, line: &Line, answers: Result<&[Value], &RedisError>) {
        if line.way.is_cluster() {
            return;
        }
        match answers {
            Ok(answers) if answers.iter().any(is_of_a_replica) => self.wanted.notify_one(),
            Err(error) if error.is_unrecoverable_error() || error.is_connection_dropped() => self.lose(line),
            _ => {}
        }
    }

    /// A connection has ended; another one may have replaced it.
    fn lose(&self, line: &Line) {
        self.line()
            .take_if(|current| Arc::ptr_eq(&current.traffic, &line.traffic));
        self.wanted.notify_one();
    }

    async fn open(&self) -> RedisResult<Line> {
        let traffic = Arc::new(Traffic::new());
        let way = match &self.target {
            Target::Cluster(client) => Way::Cluster(client.get_async_connection().await?),
            Target::Single(info, security) => open_single(info, security, &traffic).await?,
        };
        let mut line = Line { way, traffic };
        let _: Value = cmd("PING").query_async(&mut line).await?;
        Ok(line)
    }
}

fn is_of_a_replica(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.code() == "READONLY")
}

async fn open_single(info: &ConnectionInfo, security: &Security, traffic: &Arc<Traffic>) -> RedisResult<Way> {
    let (ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }) = info.addr() else {
        return Err(RedisError::from((
            ErrorKind::InvalidClientConfig,
            "no address of Redis",
        )));
    };
    let stream = TcpStream::connect((host.as_str(), *port)).await?;
    stream.set_nodelay(true)?;
    let watched = Watched {
        stream,
        traffic: traffic.clone(),
    };
    let stream = security.secure(host, watched).await?;
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    let (connection, driver) = MultiplexedConnection::new_with_config(info.redis_settings(), stream, config).await?;
    Ok(Way::Single(connection, tokio::spawn(driver).abort_handle()))
}

/// Opens a connection when one is needed, until no handle of `shared` is left.
async fn look_after(shared: Weak<Shared>) {
    let mut pauses = ConstantBuilder::default()
        .with_delay(PAUSE)
        .with_jitter()
        .without_max_times()
        .build();
    let mut has_told = false;
    while let Some(shared) = shared.upgrade() {
        if shared.line().is_some() {
            // Check the connection also without a request.
            let is_wanted = timeout(LOOK, shared.wanted.notified()).await.is_ok();
            if !is_wanted && !shared.needs_another() {
                continue;
            }
        }
        match in_time(OPENED_WITHIN, async { shared.open().await.map_err(error_of) }).await {
            Ok(line) => {
                let old = shared.line().replace(line);
                shared.was_connected.store(true, Ordering::Relaxed);
                old.map(|old| tokio::spawn(retire(old)));
                tracing::info!("connected to Redis");
                has_told = false;
            }
            Err(_) if has_told => {}
            Err(error) => {
                tracing::warn!(%error, "Redis cannot be reached: it is tried each second");
                has_told = true;
            }
        }
        // Holds no reference meanwhile.
        drop(shared);
        sleep(pauses.next().unwrap_or(PAUSE)).await;
    }
}

/// Closes a replaced connection once it has no waiting commands, or was silent for long.
async fn retire(old: Line) {
    let Way::Single(connection, driver) = old.way else {
        return;
    };
    // Each waiting command holds the connection itself.
    drop(connection);
    while old.traffic.waiting.load(Ordering::Relaxed) > 0 && !old.traffic.is_silent(GIVEN_UP_AFTER) {
        sleep(LOOK).await;
    }
    driver.abort();
}

impl Way {
    fn is_cluster(&self) -> bool {
        matches!(self, Way::Cluster(_))
    }
}

impl ConnectionLike for Line {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let answer = match &mut self.way {
            Way::Single(connection, _) => connection.req_packed_command(command),
            Way::Cluster(connection) => connection.req_packed_command(command),
        };
        self.traffic.waiting_for(answer)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let answers = match &mut self.way {
            Way::Single(connection, _) => connection.req_packed_commands(pipeline, offset, count),
            Way::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        };
        self.traffic.waiting_for(answers)
    }

    fn get_db(&self) -> i64 {
        match &self.way {
            Way::Single(connection, _) => connection.get_db(),
            Way::Cluster(connection) => connection.get_db(),
        }
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let mut line = self.0.line().clone().ok_or_else(not_connected)?;
            let answer = line.req_packed_command(command).await;
            self.0.note(&line, answer.as_ref().map(slice::from_ref));
            answer
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let mut line = self.0.line().clone().ok_or_else(not_connected)?;
            let answers = line.req_packed_commands(pipeline, offset, count).await;
            self.0.note(&line, answers.as_deref());
            answers
        })
    }

    fn get_db(&self) -> i64 {
        self.0.line().as_ref().map_or(0, ConnectionLike::get_db)
    }
}

impl fmt::Debug for RedisConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisConnection")
            .field("is_cluster", &self.is_cluster())
            .field("is_connected", &self.is_connected())
            .finish()
    }
}

fn not_connected() -> RedisError {
    RedisError::from((ErrorKind::Io, "there is no connection to Redis now"))
}

/// The traffic of a connection, and its waiting commands.
struct Traffic {
    begun: Instant,
    /// Milliseconds since `begun`: when data arrived last, or when the first of the waiting commands began to wait.
    last_ms: AtomicU64,
    waiting: AtomicUsize,
}

impl Traffic {
    fn new() -> Self {
        Traffic {
            begun: Instant::now(),
            last_ms: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
        }
    }

    fn touch(&self) {
        let ms = self.begun.elapsed().as_millis() as u64;
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    /// Counts a waiting command until its response arrives or it is dropped.
    fn waiting_for<'a, T: 'a>(self: &Arc<Self>, answer: RedisFuture<'a, T>) -> RedisFuture<'a, T> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
            self.touch();
        }
        let waiting = Waiting(self.clone());
        Box::pin(async move {
            let _waiting = waiting;
            answer.await
        })
    }

    fn is_silent(&self, how_long: Duration) -> bool {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        self.waiting.load(Ordering::Relaxed) > 0 && self.begun.elapsed().saturating_sub(last) > how_long
    }
}

/// A command that waits for its response.
struct Waiting(Arc<Traffic>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that notes when data arrives.
struct Watched<S> {
    stream: S,
    traffic: Arc<Traffic>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        if polled.is_ready() {
            self.traffic.touch();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

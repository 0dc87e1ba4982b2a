//! The connection to Redis: redis-rs's own one, and another if it leads nowhere.

use std::fmt;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    Client, Cmd, ErrorKind as RedisErrorKind, IntoConnectionInfo, Pipeline, RedisError, RedisFuture, RedisResult,
    Value, cmd,
};
use tokio::time::{sleep, timeout};

use super::failures::error_of;
use crate::error::{Error, ErrorKind, in_time};
use crate::log::may_log;

/// Timeout of a connection, without its first command.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);
/// Timeout of opening a connection. In a cluster a node that hangs takes a second as a seed, and a second as a master.
const OPENED_WITHIN: Duration = Duration::from_secs(4);
/// If no command is answered for this long while one waits, another connection is opened.
const SILENCE: Duration = Duration::from_secs(1);
/// Timeout of an answer: the deadline of calls.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);
/// The same of a cluster's node: its slots are found anew while the others wait.
const NODE_ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// The pause between attempts to open a connection, and the longest one of redis-rs's.
const PAUSE: Duration = Duration::from_millis(500);

/// A connection to Redis, or to a Redis Cluster, which reconnects. A clone shares it, as do concurrent calls. It is
/// opened in the background: until then each command fails at once. If no command is answered for a second, or if Redis
/// has become a replica, another connection is opened, with the host's name resolved again; it takes over once it has
/// answered. An answer that was waited for may still come by the former one.
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
    is_opening: AtomicBool,
    begun: Instant,
    /// Microseconds since `begun`: when a command was answered last.
    answered: AtomicU64,
}

enum Target {
    Single(Box<Client>),
    Cluster(Box<ClusterClient>),
}

#[derive(Clone)]
enum Line {
    Single(ConnectionManager),
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
        let client = url
            .into_connection_info()
            .and_then(|info| Client::open(info.set_tcp_settings(tcp())));
        // redis-rs's message may quote the password.
        let client = client.map_err(|_| {
            let form = "the URL of Redis is redis://[user:password@]host[:port][/database], or rediss://… by TLS";
            Error::new(ErrorKind::BadOption, form)
        })?;
        Ok(Self::to(Target::Single(Box::new(client))))
    }

    /// A connection to the cluster with nodes at these URLs. It is there when one of the nodes has answered.
    ///
    /// # Errors
    /// As [`RedisConnection::open`].
    pub fn open_cluster<U: IntoConnectionInfo>(urls: impl IntoIterator<Item = U>) -> Result<Self, Error> {
        let client = ClusterClient::builder(urls)
            .connection_timeout(CONNECTED_WITHIN)
            .response_timeout(NODE_ANSWERS_WITHIN)
            .tcp_settings(tcp())
            .retries(0)
            .build();
        Ok(Self::to(Target::Cluster(Box::new(client.map_err(error_of)?))))
    }

    fn to(target: Target) -> Self {
        // An app may have several providers, of which rustls would choose none.
        #[cfg(feature = "tls")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        let connection = RedisConnection(Arc::new(Shared {
            target,
            line: Mutex::default(),
            is_opening: AtomicBool::new(false),
            begun: Instant::now(),
            answered: AtomicU64::new(0),
        }));
        connection.renew();
        connection
    }

    /// Whether it is to a cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.0.target, Target::Cluster(_))
    }

    /// Whether it was ever connected.
    pub fn was_connected(&self) -> bool {
        self.0.line().is_some()
    }

    /// Opens another connection, which takes over.
    pub(super) fn renew(&self) {
        if !self.0.is_opening.swap(true, Ordering::Relaxed) {
            tokio::spawn(open(Arc::downgrade(&self.0)));
        }
    }

    /// Checks that Redis responds: in a cluster, all masters.
    ///
    /// # Errors
    /// Errors of Redis, or of a missing connection.
    pub async fn ping(&self) -> Result<(), Error> {
        let answer: RedisResult<Value> = cmd("PING").query_async(&mut self.clone()).await;
        answer.map(drop).map_err(error_of)
    }

    fn connected(&self) -> RedisResult<Line> {
        let line = self.0.line().clone();
        line.ok_or_else(|| RedisError::from((RedisErrorKind::Io, "there is no connection to Redis yet")))
    }

    /// Awaits an answer. Opens another connection if it leads nowhere.
    async fn watched<T>(&self, mut answer: RedisFuture<'_, T>, parts: fn(&T) -> &[Value]) -> RedisResult<T> {
        let sent = self.0.micros();
        let answer = match timeout(SILENCE, &mut answer).await {
            Ok(answer) => answer,
            Err(_) => {
                if self.0.answered.load(Ordering::Relaxed) <= sent {
                    self.renew();
                }
                answer.await
            }
        };
        match &answer {
            Ok(values) => {
                self.0.answered.fetch_max(self.0.micros(), Ordering::Relaxed);
                if parts(values).iter().any(is_of_a_replica) && !self.is_cluster() {
                    self.renew();
                }
            }
            Err(error) if may_log("command", "") => tracing::warn!(%error, "a command to Redis has failed"),
            Err(_) => {}
        }
        answer
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn micros(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    async fn open_line(&self) -> RedisResult<Line> {
        match &self.target {
            Target::Single(client) => {
                let config = ConnectionManagerConfig::new()
                    .set_connection_timeout(Some(CONNECTED_WITHIN))
                    .set_response_timeout(Some(ANSWERED_WITHIN))
                    .set_number_of_retries(2)
                    .set_max_delay(PAUSE);
                let mut manager = ConnectionManager::new_with_config((**client).clone(), config).await?;
                cmd("PING").exec_async(&mut manager).await?;
                Ok(Line::Single(manager))
            }
            // One of its nodes has answered: to wait for all would be to wait for one that hangs.
            Target::Cluster(client) => client.get_async_connection().await.map(Line::Cluster),
        }
    }
}

fn is_of_a_replica(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.code() == "READONLY")
}

/// Against lost packets: the kernel of a process that hangs still acknowledges.
fn tcp() -> TcpSettings {
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5));
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(Duration::from_secs(2));
    settings
}

/// Opens a connection, again and again while it fails and somebody has a handle of it.
async fn open(shared: Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        let opened = in_time(OPENED_WITHIN, async { shared.open_line().await.map_err(error_of) }).await;
        let is_open = opened.is_ok();
        match opened {
            Ok(line) => {
                shared.answered.fetch_max(shared.micros(), Ordering::Relaxed);
                let former = shared.line().replace(line);
                drop(former);
                tracing::info!("connected to Redis");
            }
            Err(error) if may_log("connection", error.code()) => {
                tracing::warn!(%error, "Redis cannot be reached: it is retried")
            }
            Err(_) => {}
        }
        // If what is there now is a replica, too, it is not left at once.
        sleep(PAUSE).await;
        if is_open {
            return shared.is_opening.store(false, Ordering::Relaxed);
        }
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            match &mut self.connected()? {
                Line::Single(line) => self.watched(line.req_packed_command(command), slice::from_ref).await,
                Line::Cluster(line) => self.watched(line.req_packed_command(command), slice::from_ref).await,
            }
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            match &mut self.connected()? {
                Line::Single(line) => {
                    self.watched(line.req_packed_commands(pipeline, offset, count), Vec::as_slice)
                        .await
                }
                Line::Cluster(line) => {
                    self.watched(line.req_packed_commands(pipeline, offset, count), Vec::as_slice)
                        .await
                }
            }
        })
    }

    fn get_db(&self) -> i64 {
        self.0.line().as_ref().map_or(0, |line| match line {
            Line::Single(line) => line.get_db(),
            Line::Cluster(line) => line.get_db(),
        })
    }
}

impl fmt::Debug for RedisConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisConnection")
            .field("is_cluster", &self.is_cluster())
            .field("was_connected", &self.was_connected())
            .finish()
    }
}

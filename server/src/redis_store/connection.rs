//! The connection to Redis: one of redis-rs, which is replaced when it has failed.

use std::fmt;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use metrics::{counter, histogram};
#[cfg(feature = "tls")]
use redis::TlsCertificates;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    Arg, AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind as RedisErrorKind, IntoConnectionInfo, Pipeline,
    RedisError, RedisFuture, RedisResult, Value, cmd,
};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::failures::error_of;
use crate::error::{Error, ErrorKind, in_time};
use crate::log::may_log;

/// Timeout of establishing a connection, without its first command.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of opening a connection. In a cluster a hanging node delays it by a second as a seed, and by a second as a
/// master.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);
/// If no command gets a response for this long while one waits, the connection is replaced.
const SILENCE: Duration = Duration::from_secs(1);
/// Timeout of a response: the deadline of calls.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a response of a cluster's node. It is shorter, since all commands wait during a slot refresh.
const NODE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between attempts to open a connection.
const PAUSE: Duration = Duration::from_millis(500);
/// The pause after a cluster's connection was opened, since a hanging master causes reconnections all the time.
const CLUSTER_PAUSE: Duration = Duration::from_secs(5);

/// The address of Redis or of some nodes of a Redis Cluster, with credentials and certificates.
#[derive(Debug, Clone)]
pub struct RedisTarget {
    nodes: Vec<ConnectionInfo>,
    is_cluster: bool,
    #[cfg(feature = "tls")]
    certificates: Option<TlsCertificates>,
}

impl RedisTarget {
    /// The Redis at this URL: `redis://[user:password@]host[:port][/database]`, or, with the feature `tls`,
    /// `rediss://…`.
    ///
    /// # Errors
    /// [`BadOption`](crate::ErrorKind::BadOption) for an invalid URL.
    pub fn single(url: impl IntoConnectionInfo) -> Result<Self, Error> {
        Self::of([url], false)
    }

    /// The Redis Cluster with nodes at these URLs, of which one must respond.
    ///
    /// # Errors
    /// As [`RedisTarget::single`].
    pub fn cluster<U: IntoConnectionInfo>(urls: impl IntoIterator<Item = U>) -> Result<Self, Error> {
        Self::of(urls, true)
    }

    fn of<U: IntoConnectionInfo>(urls: impl IntoIterator<Item = U>, is_cluster: bool) -> Result<Self, Error> {
        let nodes = urls.into_iter().map(IntoConnectionInfo::into_connection_info);
        // redis-rs's message may quote the password.
        let nodes: Vec<_> = nodes.collect::<RedisResult<_>>().map_err(|_| {
            let form = "the URL of Redis is redis://[user:password@]host[:port][/database], or rediss://… over TLS";
            Error::new(ErrorKind::BadOption, form)
        })?;
        if nodes.is_empty() {
            return Err(Error::new(
                ErrorKind::BadOption,
                "a Redis Cluster needs the URL of a node",
            ));
        }
        Ok(RedisTarget {
            nodes,
            is_cluster,
            #[cfg(feature = "tls")]
            certificates: None,
        })
    }

    /// The certificate authority and the client certificate of a connection over TLS. Without them the authorities of
    /// this system, or of the file in the variable `SSL_CERT_FILE`, are trusted.
    #[cfg(feature = "tls")]
    pub fn certificates(self, certificates: TlsCertificates) -> Self {
        let certificates = Some(certificates);
        RedisTarget { certificates, ..self }
    }

    /// Opens and closes a connection.
    ///
    /// # Errors
    /// [`BadOption`](crate::ErrorKind::BadOption) for invalid certificates, [`Denied`](seenguard::StoreFailure::Denied) for
    /// wrong credentials, or errors of the connection.
    pub async fn check(&self) -> Result<(), Error> {
        in_time(OPEN_TIMEOUT, self.client()?.connect()).await.map(drop)
    }

    fn client(&self) -> Result<Target, Error> {
        #[cfg(feature = "tls")]
        let certificates = self.certificates.as_ref();
        if self.is_cluster {
            let builder = ClusterClient::builder(self.nodes.clone())
                .connection_timeout(CONNECTION_TIMEOUT)
                .response_timeout(NODE_RESPONSE_TIMEOUT)
                .tcp_settings(tcp())
                .retries(0);
            #[cfg(feature = "tls")]
            let builder = match certificates {
                Some(certificates) => builder.certs(certificates.clone()),
                None => builder,
            };
            return builder.build().map(Target::Cluster).map_err(error_of);
        }
        let node = self.nodes[0].clone().set_tcp_settings(tcp());
        #[cfg(feature = "tls")]
        if let Some(certificates) = certificates {
            let client = Client::build_with_tls(node, certificates.clone());
            return client
                .map(Target::Single)
                .map_err(|error| Error::new(ErrorKind::BadOption, error));
        }
        Client::open(node).map(Target::Single).map_err(error_of)
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each connection that is opened"
)]
enum Target {
    Single(Client),
    Cluster(ClusterClient),
}

impl Target {
    async fn connect(&self) -> Result<Connection, Error> {
        let opened = async {
            match self {
                Target::Single(client) => {
                    let config = AsyncConnectionConfig::new()
                        .set_connection_timeout(Some(CONNECTION_TIMEOUT))
                        .set_response_timeout(Some(RESPONSE_TIMEOUT));
                    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
                    cmd("PING").exec_async(&mut connection).await?;
                    Ok(Connection::Single(connection))
                }
                // One node has responded. Waiting for all would mean waiting for one that hangs.
                Target::Cluster(client) => client.get_async_connection().await.map(Connection::Cluster),
            }
        };
        opened.await.map_err(error_of)
    }
}

#[derive(Clone)]
enum Connection {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// A connection to Redis, or to a Redis Cluster, which reconnects. Clones and concurrent calls share it. It is opened
/// in the background: until then each command fails at once. It is replaced if it is lost, if no command gets a
/// response for a second, or if Redis has become a replica; in a cluster, if a node does not respond to a command within
/// a second, at most every five seconds. For each new connection the target is read and the host's name resolved again;
/// it is used once it has responded. Calls in progress may still get a response by the previous one.
///
/// It wraps redis-rs's `MultiplexedConnection` or `ClusterConnection`. A `ConnectionManager` would reconnect only with
/// the credentials that it was created with, and never again after they were refused.
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
    read_target: Box<dyn Fn() -> Result<RedisTarget, Error> + Send + Sync>,
    is_cluster: bool,
    current: watch::Sender<Option<Connection>>,
    is_opening: AtomicBool,
    started: Instant,
    /// The time of the latest response, in microseconds since `started`.
    answered: AtomicU64,
}

impl RedisConnection {
    /// Connects to the Redis at this URL. Needs a Tokio runtime.
    ///
    /// # Errors
    /// As [`RedisTarget::single`].
    pub fn open(url: impl IntoConnectionInfo) -> Result<Self, Error> {
        let target = RedisTarget::single(url)?;
        Self::reading(move || Ok(target.clone()))
    }

    /// Connects to the cluster with nodes at these URLs. Needs a Tokio runtime.
    ///
    /// # Errors
    /// As [`RedisTarget::cluster`].
    pub fn open_cluster<U: IntoConnectionInfo>(urls: impl IntoIterator<Item = U>) -> Result<Self, Error> {
        let target = RedisTarget::cluster(urls)?;
        Self::reading(move || Ok(target.clone()))
    }

    /// Connects to the target that `read_target` returns, now and for each reconnection, since credentials and certificates
    /// may change. Needs a Tokio runtime.
    ///
    /// # Errors
    /// Those of `read_target`, and [`BadOption`](crate::ErrorKind::BadOption) for invalid certificates.
    pub fn reading(
        read_target: impl Fn() -> Result<RedisTarget, Error> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        // If an app has several providers, rustls chooses none.
        #[cfg(feature = "tls")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        let target = read_target()?;
        target.client()?;
        let connection = RedisConnection(Arc::new(Shared {
            read_target: Box::new(read_target),
            is_cluster: target.is_cluster,
            current: watch::Sender::new(None),
            is_opening: AtomicBool::new(false),
            started: Instant::now(),
            answered: AtomicU64::new(0),
        }));
        connection.renew();
        Ok(connection)
    }

    /// Whether it is a connection to a cluster.
    pub fn is_cluster(&self) -> bool {
        self.0.is_cluster
    }

    /// Whether it was ever connected.
    pub fn was_connected(&self) -> bool {
        self.0.current.borrow().is_some()
    }

    /// Waits for the first connection.
    pub async fn opened(&self) {
        // It cannot fail: `self` has the sender.
        let _ = self.0.current.subscribe().wait_for(Option::is_some).await;
    }

    /// Replaces the connection, unless that is in progress.
    pub(super) fn renew(&self) {
        if !self.0.is_opening.swap(true, Ordering::Relaxed) {
            tokio::spawn(open(Arc::downgrade(&self.0)));
        }
    }

    /// Sends a PING; in a cluster, to all masters.
    ///
    /// # Errors
    /// Errors of Redis, or of a missing connection.
    pub async fn ping(&self) -> Result<(), Error> {
        let answer: RedisResult<Value> = cmd("PING").query_async(&mut self.clone()).await;
        answer.map(drop).map_err(error_of)
    }

    fn connected(&self) -> RedisResult<Connection> {
        let current = self.0.current.borrow().clone();
        current.ok_or_else(|| RedisError::from((RedisErrorKind::Io, "not connected to Redis yet")))
    }

    /// Awaits a response. Replaces the connection if it has failed.
    async fn watched<T>(&self, mut answer: RedisFuture<'_, T>, parts: fn(&T) -> &[Value]) -> RedisResult<T> {
        let sent = self.0.micros();
        let answer = match timeout(SILENCE, &mut answer).await {
            Ok(answer) => answer,
            Err(_) => {
                self.renew_if_silent(sent);
                answer.await
            }
        };
        match &answer {
            Err(error) if error.code().is_none() => {
                // redis-rs reconnects to a cluster's node whose connection is closed, but not to a silent one: the other
                // nodes may respond, and another master may have its slots.
                let is_lost = match self.is_cluster() {
                    true => error.is_timeout(),
                    false => error.is_unrecoverable_error(),
                };
                if is_lost {
                    self.renew();
                }
                self.renew_if_silent(sent);
                if may_log("command", "") {
                    tracing::warn!(%error, "Redis command failed");
                }
            }
            answered => {
                self.0.answered.fetch_max(self.0.micros(), Ordering::Relaxed);
                let values = answered.as_ref().map(parts).unwrap_or_default();
                if values.iter().any(is_read_only_error) && !self.is_cluster() {
                    self.renew();
                }
            }
        }
        answer
    }

    /// Replaces the connection if no command got a response for a second, nor since this one was sent.
    fn renew_if_silent(&self, sent: u64) {
        let answered = self.0.answered.load(Ordering::Relaxed);
        if answered <= sent && self.0.micros() - answered >= SILENCE.as_micros() as u64 {
            self.renew();
        }
    }
}

impl Shared {
    fn micros(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    async fn connect(&self) -> Result<Connection, Error> {
        (self.read_target)()?.client()?.connect().await
    }
}

fn is_read_only_error(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.code() == "READONLY")
}

/// TCP settings that detect lost packets. They do not detect a process that hangs, whose kernel still acknowledges.
fn tcp() -> TcpSettings {
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5));
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(Duration::from_secs(2));
    settings
}

/// Opens a connection. Retries until it succeeds or the last handle is dropped.
async fn open(shared: Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        let opened = in_time(OPEN_TIMEOUT, shared.connect()).await;
        let is_open = opened.is_ok();
        match opened {
            Ok(connection) => {
                shared.answered.fetch_max(shared.micros(), Ordering::Relaxed);
                if shared.current.send_replace(Some(connection)).is_some() {
                    counter!("seenguard_redis_reconnects_total").increment(1);
                }
                tracing::info!("connected to Redis");
            }
            Err(error) if may_log("connection", error.code()) => {
                tracing::warn!(%error, "cannot connect to Redis, retrying")
            }
            Err(_) => {}
        }
        // Do not reconnect at once if the new connection is to a replica, too.
        sleep(if is_open && shared.is_cluster {
            CLUSTER_PAUSE
        } else {
            PAUSE
        })
        .await;
        if is_open {
            return shared.is_opening.store(false, Ordering::Relaxed);
        }
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let start = Instant::now();
            let mut connection = self.connected()?;
            let answer = match &mut connection {
                Connection::Single(connection) => connection.req_packed_command(command),
                Connection::Cluster(connection) => connection.req_packed_command(command),
            };
            let answer = self.watched(answer, slice::from_ref).await;
            // It blocks until there are entries.
            if !matches!(command.args_iter().next(), Some(Arg::Simple(b"XREADGROUP"))) {
                histogram!("seenguard_redis_command_seconds").record(start.elapsed().as_secs_f64());
            }
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
            let mut connection = self.connected()?;
            let answers = match &mut connection {
                Connection::Single(connection) => connection.req_packed_commands(pipeline, offset, count),
                Connection::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
            };
            self.watched(answers, Vec::as_slice).await
        })
    }

    fn get_db(&self) -> i64 {
        self.connected().map_or(0, |connection| match connection {
            Connection::Single(connection) => connection.get_db(),
            Connection::Cluster(connection) => connection.get_db(),
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

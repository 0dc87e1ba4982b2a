//! The connection to Redis: redis-rs's own, and another one once it has failed.

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

/// Timeout of a connection, without its first command.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of opening a connection. In a cluster a node that hangs takes a second as a seed, and a second as a master.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);
/// If no command is answered for this long while one waits, another connection is opened.
const SILENCE: Duration = Duration::from_secs(1);
/// Timeout of an answer: the deadline of calls.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The same of a cluster's node: during a slot refresh all commands wait.
const NODE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between attempts to open a connection.
const PAUSE: Duration = Duration::from_millis(500);
/// The pause after a cluster's connection was opened: one is opened each time while a master hangs.
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

    /// The Redis Cluster with nodes at these URLs. One that answers is enough.
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

    /// Opens a connection, and closes it.
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
    async fn connect(&self) -> Result<Line, Error> {
        let opened = async {
            match self {
                Target::Single(client) => {
                    let config = AsyncConnectionConfig::new()
                        .set_connection_timeout(Some(CONNECTION_TIMEOUT))
                        .set_response_timeout(Some(RESPONSE_TIMEOUT));
                    let mut line = client.get_multiplexed_async_connection_with_config(&config).await?;
                    cmd("PING").exec_async(&mut line).await?;
                    Ok(Line::Single(line))
                }
                // One of its nodes has answered: to wait for all would be to wait for one that hangs.
                Target::Cluster(client) => client.get_async_connection().await.map(Line::Cluster),
            }
        };
        opened.await.map_err(error_of)
    }
}

#[derive(Clone)]
enum Line {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// A connection to Redis, or to a Redis Cluster, which reconnects. A clone shares it, as do concurrent calls. It is
/// opened in the background: until then each command fails at once. Another connection is opened if this one is lost, if
/// no command is answered for a second, or if Redis has become a replica; to a cluster, if a node does not answer a
/// command within a second, at most every five seconds. For each the target is read and the host's
/// name resolved again; it takes over once it has answered. The former one may still bring an answer that a call waits
/// for.
///
/// It is redis-rs's `MultiplexedConnection`, or `ClusterConnection`. A `ConnectionManager` would reconnect with the
/// credentials that it was made with, and never again after they were refused.
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
    read: Box<dyn Fn() -> Result<RedisTarget, Error> + Send + Sync>,
    is_cluster: bool,
    line: watch::Sender<Option<Line>>,
    is_opening: AtomicBool,
    begun: Instant,
    /// Microseconds since `begun`: when a command was answered last.
    answered: AtomicU64,
}

impl RedisConnection {
    /// To the Redis at this URL. Within a runtime of Tokio.
    ///
    /// # Errors
    /// As [`RedisTarget::single`].
    pub fn open(url: impl IntoConnectionInfo) -> Result<Self, Error> {
        let target = RedisTarget::single(url)?;
        Self::reading(move || Ok(target.clone()))
    }

    /// To the cluster with nodes at these URLs.
    ///
    /// # Errors
    /// As [`RedisTarget::cluster`].
    pub fn open_cluster<U: IntoConnectionInfo>(urls: impl IntoIterator<Item = U>) -> Result<Self, Error> {
        let target = RedisTarget::cluster(urls)?;
        Self::reading(move || Ok(target.clone()))
    }

    /// To the target that `read` returns, now and for each next connection: credentials and certificates may change
    /// meanwhile.
    ///
    /// # Errors
    /// Those of `read`, and [`BadOption`](crate::ErrorKind::BadOption) for invalid certificates.
    pub fn reading(read: impl Fn() -> Result<RedisTarget, Error> + Send + Sync + 'static) -> Result<Self, Error> {
        // An app may have several providers, of which rustls would choose none.
        #[cfg(feature = "tls")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        let target = read()?;
        target.client()?;
        let connection = RedisConnection(Arc::new(Shared {
            read: Box::new(read),
            is_cluster: target.is_cluster,
            line: watch::Sender::new(None),
            is_opening: AtomicBool::new(false),
            begun: Instant::now(),
            answered: AtomicU64::new(0),
        }));
        connection.renew();
        Ok(connection)
    }

    /// Whether it is to a cluster.
    pub fn is_cluster(&self) -> bool {
        self.0.is_cluster
    }

    /// Whether it was ever connected.
    pub fn was_connected(&self) -> bool {
        self.0.line.borrow().is_some()
    }

    /// Waits for the first connection.
    pub async fn opened(&self) {
        // The sender lives as long as this.
        let _ = self.0.line.subscribe().wait_for(Option::is_some).await;
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
        let line = self.0.line.borrow().clone();
        line.ok_or_else(|| RedisError::from((RedisErrorKind::Io, "there is no connection to Redis yet")))
    }

    /// Awaits an answer. Opens another connection if this one has failed.
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
                // redis-rs reconnects to a cluster's node whose connection is closed, but not to one that is silent: the
                // other nodes may answer, and another master may have its slots.
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
                if values.iter().any(is_of_a_replica) && !self.is_cluster() {
                    self.renew();
                }
            }
        }
        answer
    }

    /// Renews the connection if no command was answered for a second, nor since this moment.
    fn renew_if_silent(&self, sent: u64) {
        let answered = self.0.answered.load(Ordering::Relaxed);
        if answered <= sent && self.0.micros() - answered >= SILENCE.as_micros() as u64 {
            self.renew();
        }
    }
}

impl Shared {
    fn micros(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    async fn open_line(&self) -> Result<Line, Error> {
        (self.read)()?.client()?.connect().await
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
        let opened = in_time(OPEN_TIMEOUT, shared.open_line()).await;
        let is_open = opened.is_ok();
        match opened {
            Ok(line) => {
                shared.answered.fetch_max(shared.micros(), Ordering::Relaxed);
                if shared.line.send_replace(Some(line)).is_some() {
                    counter!("seenguard_redis_reconnects_total").increment(1);
                }
                tracing::info!("connected to Redis");
            }
            Err(error) if may_log("connection", error.code()) => {
                tracing::warn!(%error, "cannot connect to Redis, retrying")
            }
            Err(_) => {}
        }
        // If what is there now is a replica, too, it is not left at once.
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
            let begun = Instant::now();
            let mut line = self.connected()?;
            let answer = match &mut line {
                Line::Single(line) => line.req_packed_command(command),
                Line::Cluster(line) => line.req_packed_command(command),
            };
            let answer = self.watched(answer, slice::from_ref).await;
            // This one waits for entries.
            if !matches!(command.args_iter().next(), Some(Arg::Simple(b"XREADGROUP"))) {
                histogram!("seenguard_redis_command_seconds").record(begun.elapsed().as_secs_f64());
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
            let mut line = self.connected()?;
            let answers = match &mut line {
                Line::Single(line) => line.req_packed_commands(pipeline, offset, count),
                Line::Cluster(line) => line.req_packed_commands(pipeline, offset, count),
            };
            self.watched(answers, Vec::as_slice).await
        })
    }

    fn get_db(&self) -> i64 {
        self.connected().map_or(0, |line| match line {
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

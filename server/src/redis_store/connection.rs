//! One face for the connections to a single Redis and to a cluster.

use std::fmt;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, ErrorKind, IntoConnectionInfo, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use crate::error::Error;

/// For a connection to be there.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(2);
/// For an answer. A fork of a large Redis stops it for a second or so.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// A pause before a connection is tried again.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// A connection to Redis that is made anew by itself when it is lost. A clone shares it; many calls at once share it,
/// too. Those of the crate `redis` turn into one by `into`.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seenguard_server::Error> {
/// use seenguard_server::RedisConnection;
/// let mut connection = RedisConnection::open(&["redis://127.0.0.1/"]).await?;
/// let length: u64 = redis::cmd("LLEN").arg("seen:ada").query_async(&mut connection).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisConnection(Kind);

#[derive(Clone)]
enum Kind {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl RedisConnection {
    /// Connects to the Redis at these URLs (`redis://[user:password@]host[:port][/database]`): of a cluster some of its
    /// nodes, else one. Whether it is a cluster, Redis says.
    ///
    /// # Errors
    /// [`Error::Storage`] if none answers, or an URL is none.
    pub async fn open<U: IntoConnectionInfo + Clone>(urls: &[U]) -> Result<Self, Error> {
        let mut failure = RedisError::from((ErrorKind::InvalidClientConfig, "no URL of Redis is given"));
        for url in urls {
            let client = Client::open(url.clone())?;
            match connect(client).await {
                Ok((_, true)) => return Ok(cluster(urls).await?.into()),
                Ok((connection, false)) => return Ok(connection.into()),
                Err(error) => failure = error,
            }
        }
        Err(failure.into())
    }

    /// Whether it is to a cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.0, Kind::Cluster(_))
    }

    /// Asks for a sign of life: of a cluster, of all masters.
    ///
    /// # Errors
    /// [`Error::Storage`] if there is none.
    pub async fn ping(&self) -> Result<(), Error> {
        let answer: RedisResult<Value> = redis::cmd("PING").query_async(&mut self.clone()).await;
        Ok(answer.map(drop)?)
    }
}

/// Connects to a node, and asks whether it is one of a cluster.
async fn connect(client: Client) -> RedisResult<(ConnectionManager, bool)> {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECTION_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        .set_max_delay(MAX_PAUSE)
        .set_number_of_retries(2);
    let mut connection = ConnectionManager::new_with_config(client, config).await?;
    let said: String = redis::cmd("INFO").arg("cluster").query_async(&mut connection).await?;
    Ok((connection, said.contains("cluster_enabled:1")))
}

async fn cluster<U: IntoConnectionInfo + Clone>(urls: &[U]) -> RedisResult<ClusterConnection> {
    let client = ClusterClient::builder(urls.iter().cloned())
        .connection_timeout(CONNECTION_TIMEOUT)
        .response_timeout(RESPONSE_TIMEOUT)
        .max_retry_wait(MAX_PAUSE.as_millis() as u64)
        .build()?;
    client.get_async_connection().await
}

impl From<ConnectionManager> for RedisConnection {
    fn from(connection: ConnectionManager) -> Self {
        RedisConnection(Kind::Single(connection))
    }
}

impl From<ClusterConnection> for RedisConnection {
    fn from(connection: ClusterConnection) -> Self {
        RedisConnection(Kind::Cluster(connection))
    }
}

impl ConnectionLike for RedisConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match &mut self.0 {
            Kind::Single(connection) => connection.req_packed_command(command),
            Kind::Cluster(connection) => connection.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match &mut self.0 {
            Kind::Single(connection) => connection.req_packed_commands(pipeline, offset, count),
            Kind::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match &self.0 {
            Kind::Single(connection) => connection.get_db(),
            Kind::Cluster(connection) => connection.get_db(),
        }
    }
}

impl fmt::Debug for RedisConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisConnection")
            .field("is_cluster", &self.is_cluster())
            .finish_non_exhaustive()
    }
}

/// What the crate `redis` reports.
impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        Error::Storage(error.into())
    }
}

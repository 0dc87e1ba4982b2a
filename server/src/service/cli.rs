//! The command line, and its environment variables.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand};
use redis::{ClientTlsConfig, TlsCertificates};
use seenguard::{ChainOptions, PENDING_SECONDS};
use seenguard_server::{RedisTarget, RouterOptions};

/// The user's name in a namespace template.
const USER: &str = "{user}";

/// Filters and pages ranked ids so that no person sees an item twice: a service for a ranker in any language.
///
/// Without options everything is in memory, and the service listens on http://127.0.0.1:8080. Request a page:
///
///     curl -d '{"ranked": ["a", "b", "c"], "size": 2}' http://127.0.0.1:8080/v1/users/ada/page
///
/// /openapi.json describes all routes.
#[derive(Debug, Parser)]
#[command(
    name = "seenguard-server",
    version,
    verbatim_doc_comment,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub serve: Serve,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Apply the reports in a stream (--stream) or a topic (--kafka) to the users' chains. Run any number of consumers
    Consume(Box<Consume>),
    /// Check all options and files, Redis, the scripts, the stream or topic, and the namespace: one line each. Exits
    /// with 1 if something is wrong. Takes the options of the service; `check consume` takes those of a consumer
    Check(Box<Check>),
    /// Print the number of dead letters of a stream in Redis for each code, and the age of the oldest
    DeadLetters(Box<DeadLetters>),
    /// Apply an event mapping to each line of the standard input, and print the reports
    #[cfg(feature = "kafka")]
    Mapping {
        /// JSON file with the mapping, as for `consume --kafka-event-mapping`
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Check {
    #[command(subcommand)]
    pub command: Option<CheckCommand>,
    #[command(flatten)]
    pub serve: Serve,
}

#[derive(Debug, Subcommand)]
pub enum CheckCommand {
    /// Check the options of a consumer
    Consume(Box<Consume>),
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Address and port of the service. An address beyond the loopback needs --token-file
    #[arg(
        long,
        env = "SEENGUARD_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080"
    )]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub listening: Listening,
    /// Stream in Redis to which reports are appended, for `seenguard-server consume`. Default: reports are applied at
    /// once
    #[arg(long, env = "SEENGUARD_STREAM", value_name = "NAME")]
    pub stream: Option<String>,
    #[cfg(feature = "kafka")]
    #[command(flatten)]
    pub kafka: Kafka,
    /// Largest size of the stream in Redis, in bytes; beyond it the response to a report is 503. Leave memory for the
    /// users' chains
    #[arg(long, env = "SEENGUARD_STREAM_MAX_BYTES", value_name = "BYTES", default_value_t = 1 << 30)]
    pub stream_max_bytes: u64,
    /// Largest body of a page's request, in bytes, up to 64 MiB
    #[arg(long, env = "SEENGUARD_MAX_BODY_BYTES", value_name = "BYTES", default_value_t = 2 << 20, value_parser = clap::value_parser!(u32).range(1..=RouterOptions::MAX_BODY_BYTES as i64))]
    pub max_body_bytes: u32,
    /// Request timeout in seconds; the response is 503
    #[arg(long, env = "SEENGUARD_TIMEOUT_SECONDS", value_name = "SECONDS", default_value = "20", value_parser = seconds(1..=3_600))]
    pub timeout_seconds: Duration,
    /// File with the tokens for /v1/users/{user}/export and /v1/users/forget, in the form of --token-file. Default: no
    /// access if --token-file is set, else access without a token
    #[arg(long, env = "SEENGUARD_ADMIN_TOKEN_FILE", value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,
    /// Separate address and port of /healthz, /readyz and /metrics, without tokens: restrict it to your monitoring.
    /// Default: they are served at --listen
    #[arg(long, env = "SEENGUARD_ADMIN_LISTEN", value_name = "ADDRESS")]
    pub admin_listen: Option<SocketAddr>,
    /// Time in seconds after which /readyz succeeds even if Redis was never connected: pages are then degraded
    #[arg(long, env = "SEENGUARD_READY_SECONDS", value_name = "SECONDS", default_value = "30", value_parser = seconds(0..=86_400))]
    pub ready_seconds: Duration,
    /// Time in seconds after SIGTERM for which the service still accepts requests while /readyz fails
    #[arg(long, env = "SEENGUARD_DRAIN_SECONDS", value_name = "SECONDS", default_value = "5", value_parser = seconds(0..=86_400))]
    pub drain_seconds: Duration,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Consume {
    /// Stream in Redis to read
    #[arg(long, env = "SEENGUARD_STREAM", value_name = "NAME")]
    pub stream: Option<String>,
    #[cfg(feature = "kafka")]
    #[command(flatten)]
    pub kafka: Kafka,
    /// Topic for dead letters, the records that cannot be applied. Default: they are skipped and counted
    #[cfg(feature = "kafka")]
    #[arg(long, env = "SEENGUARD_KAFKA_DEAD_LETTERS", value_name = "TOPIC", requires = "kafka")]
    pub kafka_dead_letters: Option<String>,
    /// Name of the group of consumers that share the stream or topic
    #[arg(long, env = "SEENGUARD_GROUP", value_name = "NAME", default_value = "seenguard")]
    pub group: String,
    /// Name of this consumer, unique in its group. Default: the host's name, or else the process id
    #[arg(long, env = "HOSTNAME", value_name = "NAME", default_value_t = format!("process-{}", std::process::id()))]
    pub name: String,
    /// Largest number of reports that are applied together
    #[arg(long, env = "SEENGUARD_BATCH", value_name = "REPORTS", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub batch: u32,
    /// JSON file that maps your own tracking events in the topic to reports. Default: the topic has reports
    #[cfg(feature = "kafka")]
    #[arg(long, env = "SEENGUARD_KAFKA_EVENT_MAPPING", value_name = "FILE", requires = "kafka")]
    pub kafka_event_mapping: Option<PathBuf>,
    /// Largest batch from Kafka, in bytes
    #[cfg(feature = "kafka")]
    #[arg(long, env = "SEENGUARD_BATCH_BYTES", value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_bytes: u32,
    /// Exit when all reports are applied that the stream or topic had at the start. For a rebuild, with its own --group
    /// and --prefix
    #[arg(long)]
    pub until_end: bool,
    /// Make reports of another namespace or key, and unreadable events, dead letters even before the first report was
    /// applied. Default: they are held, and with 100 of them the consumer exits with 78, because --namespace, --prefix
    /// or the event mapping is wrong
    #[arg(long)]
    pub set_aside_all: bool,
    /// Time in seconds after which another consumer claims entries in Redis that were read but not acknowledged
    #[arg(long, env = "SEENGUARD_CLAIM_SECONDS", value_name = "SECONDS", default_value = "30", value_parser = seconds(1..=86_400))]
    pub claim_seconds: Duration,
    /// Address and port of /healthz, /readyz and /metrics. An address beyond the loopback needs --token-file. Default:
    /// they are not served
    #[arg(long, env = "SEENGUARD_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub listening: Listening,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct DeadLetters {
    /// Stream in Redis whose dead letters are listed
    #[arg(long, env = "SEENGUARD_STREAM", value_name = "NAME")]
    pub stream: String,
    /// Also print the code and the id of each entry
    #[arg(long)]
    pub ids: bool,
    #[command(flatten)]
    pub common: Common,
}

/// The options of a Kafka topic instead of a Redis stream.
#[cfg(feature = "kafka")]
#[derive(Debug, Clone, Args)]
pub struct Kafka {
    /// Brokers of the Kafka cluster with the reports, host:port,host:port. Instead of --stream
    #[arg(long, env = "SEENGUARD_KAFKA", value_name = "HOSTS", conflicts_with = "stream")]
    pub kafka: Option<String>,
    /// Topic of the reports, which must exist
    #[arg(
        long,
        env = "SEENGUARD_KAFKA_TOPIC",
        value_name = "NAME",
        default_value = "seenguard-reports"
    )]
    pub kafka_topic: String,
    /// File with settings of librdkafka, one key=value in each line; docs/streams.md lists the reserved keys. It is
    /// read at the start. Default: none
    #[arg(long, env = "SEENGUARD_KAFKA_PROPERTIES", value_name = "FILE", requires = "kafka")]
    pub kafka_properties: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct Listening {
    /// File with the clients' tokens, one in each line, of 16 characters or more, to be sent as `Authorization: Bearer
    /// <token>`. It is reloaded every 5 seconds. Default: no token, on the loopback only
    #[arg(long, env = "SEENGUARD_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Time in seconds after which a connection without a request is closed. Set it above your load balancer's idle
    /// timeout. A header must arrive within 10 seconds of its first byte
    #[arg(long, env = "SEENGUARD_IDLE_SECONDS", value_name = "SECONDS", default_value = "75", value_parser = seconds(1..=3_600))]
    pub idle_seconds: Duration,
    /// Shutdown timeout in seconds for requests or a batch in progress, after draining
    #[arg(
        long,
        env = "SEENGUARD_SHUTDOWN_SECONDS",
        value_name = "SECONDS",
        default_value = "20",
        value_parser = seconds(0..=86_400)
    )]
    pub shutdown_seconds: Duration,
}

/// The common options of the service and the consumer.
#[derive(Debug, Args)]
pub struct Common {
    #[command(flatten)]
    pub redis: Redis,
    /// Prefix of all keys in Redis
    #[arg(long, env = "SEENGUARD_PREFIX", value_name = "STRING", default_value = "seen:")]
    pub prefix: String,
    /// Template of the namespace with which the page opens its guard, such as "home:{user}". Required with --redis, so
    /// that reports of a signed-out person's tab are not added to the next person's history. Use "{user}" for several
    /// feeds
    #[arg(long, env = "SEENGUARD_NAMESPACE", value_name = "TEMPLATE")]
    pub namespace: Option<String>,
    /// Time in seconds for which a device's pending impressions are stored
    #[arg(long, env = "SEENGUARD_PENDING_SECONDS", value_name = "SECONDS", default_value_t = PENDING_SECONDS)]
    pub pending_seconds: u32,
    #[command(flatten)]
    chain: Chain,
    #[command(flatten)]
    logs: Logs,
}

/// The options of Redis. Files are read again for each connection.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Redis (files are read again for each connection)")]
pub struct Redis {
    /// URL of Redis, redis://[user:password@]host[:port][/database], or rediss://… over TLS; with --cluster the URLs of
    /// some nodes, separated by commas. Default: chains are in memory
    #[arg(
        long,
        env = "SEENGUARD_REDIS",
        value_name = "URL",
        value_delimiter = ',',
        hide_env_values = true
    )]
    redis: Vec<String>,
    /// File with the value of --redis, which may have a password
    #[arg(long, env = "SEENGUARD_REDIS_FILE", value_name = "FILE", conflicts_with = "redis")]
    redis_file: Option<PathBuf>,
    /// Redis is a Redis Cluster
    #[arg(long, env = "SEENGUARD_CLUSTER")]
    cluster: bool,
    /// PEM file with the certificate authorities of Redis. Default: those of the system, or of the file in SSL_CERT_FILE
    #[arg(long, env = "SEENGUARD_REDIS_TLS_CA", value_name = "FILE")]
    redis_tls_ca: Option<PathBuf>,
    /// PEM file with the client certificate for Redis. Default: none
    #[arg(
        long,
        env = "SEENGUARD_REDIS_TLS_CERT",
        value_name = "FILE",
        requires = "redis_tls_key"
    )]
    redis_tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --redis-tls-cert
    #[arg(
        long,
        env = "SEENGUARD_REDIS_TLS_KEY",
        value_name = "FILE",
        requires = "redis_tls_cert"
    )]
    redis_tls_key: Option<PathBuf>,
}

/// The options of chains.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chains (GET /v1/plan computes them for a feed)")]
struct Chain {
    /// Number of items in each shard
    #[arg(long, env = "SEENGUARD_CAPACITY", value_name = "ITEMS", default_value_t = ChainOptions::RECOMMENDED.capacity)]
    capacity: u32,
    /// Number of full shards that are stored
    #[arg(long, env = "SEENGUARD_SHARDS", value_name = "SHARDS", default_value_t = ChainOptions::RECOMMENDED.shards)]
    shards: usize,
    /// Share of fresh items that a full shard stops wrongly, between 0 and 1
    #[arg(long, env = "SEENGUARD_FALSE_POSITIVE_RATE", value_name = "RATE", default_value_t = ChainOptions::RECOMMENDED.false_positive_rate)]
    false_positive_rate: f64,
    /// Time in seconds for which no item is shown again; 0: as long as the shards have it
    #[arg(long, env = "SEENGUARD_TTL_SECONDS", value_name = "SECONDS", default_value_t = ChainOptions::RECOMMENDED.ttl_seconds)]
    ttl_seconds: u32,
    /// Seed of the hashes, the same in a whole deployment
    #[arg(long, env = "SEENGUARD_SEED", value_name = "NUMBER", default_value_t = ChainOptions::RECOMMENDED.seed)]
    seed: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Logs (on standard error; JSON unless that is a terminal)")]
pub struct Logs {
    /// Lowest level that is logged: off, error, warn, info, debug or trace
    #[arg(long, env = "SEENGUARD_LOG", value_name = "LEVEL", default_value = "info")]
    pub log: tracing::level_filters::LevelFilter,
}

/// A number of seconds in this range.
fn seconds(range: RangeInclusive<u64>) -> impl TypedValueParser<Value = Duration> {
    clap::value_parser!(u64).range(range).map(Duration::from_secs)
}

impl Cli {
    /// Refuses invalid combinations of options. A list of dead letters does not need the options of chains.
    pub fn checked(&self) -> Result<(), String> {
        match &self.command {
            Some(Command::DeadLetters(_)) => Ok(()),
            _ => self.common().0.checked(),
        }
    }

    /// The common options of all commands.
    pub fn common(&self) -> (&Common, &Logs) {
        let common = match &self.command {
            None => &self.serve.common,
            Some(Command::Consume(consume)) => &consume.common,
            Some(Command::Check(check)) => check.common(),
            Some(Command::DeadLetters(letters)) => &letters.common,
            #[cfg(feature = "kafka")]
            Some(Command::Mapping { .. }) => &self.serve.common,
        };
        (common, &common.logs)
    }
}

impl Check {
    pub fn common(&self) -> &Common {
        match &self.command {
            None => &self.serve.common,
            Some(CheckCommand::Consume(consume)) => &consume.common,
        }
    }
}

/// Reads a file that an option names.
pub fn read(option: &str, file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| file_error(option, file, &error))
}

/// The message of an error with an option's file.
pub fn file_error(option: &str, file: &Path, what: &dyn fmt::Display) -> String {
    format!("{option} {}: {what}", file.display())
}

impl Redis {
    pub fn is_given(&self) -> bool {
        !self.redis.is_empty() || self.redis_file.is_some()
    }

    /// The target of a new connection, by the current files.
    pub fn target(&self) -> Result<RedisTarget, String> {
        let urls = match &self.redis_file {
            Some(file) => read("--redis-file", file)?
                .split(',')
                .map(|url| url.trim().to_owned())
                .collect(),
            None => self.redis.clone(),
        };
        let is_tls = urls.iter().all(|url| url.starts_with("rediss://"));
        let target = match (urls.as_slice(), self.cluster) {
            ([url], false) => RedisTarget::single(url.as_str()),
            (urls, _) => RedisTarget::cluster(urls.iter().map(String::as_str)),
        };
        let target = target.map_err(|error| error.to_string())?;
        let certificates = self.certificates()?;
        match certificates.root_cert.is_some() || certificates.client_tls.is_some() {
            true if !is_tls => Err("certificates need Redis over TLS: the URL must begin with rediss://".to_owned()),
            true => Ok(target.certificates(certificates)),
            false => Ok(target),
        }
    }

    fn certificates(&self) -> Result<TlsCertificates, String> {
        let pem = |option: &str, file: &Option<PathBuf>| -> Result<Option<Vec<u8>>, String> {
            let Some(file) = file else { return Ok(None) };
            let text = read(option, file)?;
            match text.contains("-----BEGIN ") {
                true => Ok(Some(text.into_bytes())),
                false => Err(file_error(option, file, &"the file must be PEM")),
            }
        };
        let client_cert = pem("--redis-tls-cert", &self.redis_tls_cert)?;
        let client_key = pem("--redis-tls-key", &self.redis_tls_key)?;
        let client_tls = client_cert.zip(client_key);
        Ok(TlsCertificates {
            client_tls: client_tls.map(|(client_cert, client_key)| ClientTlsConfig {
                client_cert,
                client_key,
            }),
            root_cert: pem("--redis-tls-ca", &self.redis_tls_ca)?,
        })
    }
}

impl Common {
    /// Refuses invalid combinations of options.
    pub fn checked(&self) -> Result<(), String> {
        match &self.namespace {
            None if self.redis.is_given() => Err(format!(
                "--redis needs --namespace, such as \"home:{USER}\": without it, reports of a signed-out person's tab \
                 would be added to the next person's history"
            )),
            Some(template) if !template.contains(USER) => Err(format!(
                "--namespace {template:?} is the same for all users: add {USER}, which stands for the user's name"
            )),
            _ => Ok(()),
        }
    }

    pub fn namespace_of(&self) -> Option<impl Fn(&str) -> String + Send + Sync + 'static> {
        let template = self.namespace.clone()?;
        Some(move |user: &str| template.replace(USER, user))
    }

    pub fn chain_options(&self) -> ChainOptions {
        ChainOptions {
            capacity: self.chain.capacity,
            shards: self.chain.shards,
            false_positive_rate: self.chain.false_positive_rate,
            ttl_seconds: self.chain.ttl_seconds,
            seed: self.chain.seed,
            ..ChainOptions::RECOMMENDED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_namespace_is_made_of_its_template() {
        let cli = Cli::parse_from(["seenguard-server", "--namespace", "home:{user}"]);
        let (common, _) = cli.common();
        assert_eq!(common.checked(), Ok(()));
        assert_eq!(
            common.namespace_of().map(|namespace_of| namespace_of("ada")),
            Some("home:ada".to_owned())
        );
        let cli = Cli::parse_from(["seenguard-server", "--namespace", "home"]);
        assert!(cli.common().0.checked().is_err());
    }
}

//! The command line, and the variables of the environment that stand for it.

use std::fs;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand};
use seenguard::{ChainOptions, PENDING_SECONDS};
use seenguard_server::RouterOptions;

/// What {user} stands for in a namespace.
const USER: &str = "{user}";

/// Never shows a person anything twice: a service that filters and pages ranked ids, for a ranker in any language.
///
/// Without options it keeps everything in memory, and answers at http://127.0.0.1:8080. Ask it for a page:
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
    /// Takes what the service has appended to a stream (--stream) into the users' chains. Run as many as you like
    Consume(Box<Consume>),
    /// Prints how many dead letters of a stream in Redis there are of each code, and the age of the oldest
    DeadLetters(Box<DeadLetters>),
    /// Says of events on the standard input, one a line, what an event mapping makes of them
    #[cfg(feature = "kafka")]
    Mapping {
        /// As of `consume --kafka-event-mapping`
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct Serve {
    /// The address and port to listen at; beyond the loopback only with --token-file
    #[arg(
        long,
        env = "SEENGUARD_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080"
    )]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub listening: Listening,
    /// Append reports to this stream in Redis, for `seenguard-server consume`; without it they are taken in at once
    #[arg(long, env = "SEENGUARD_STREAM", value_name = "NAME")]
    pub stream: Option<String>,
    #[cfg(feature = "kafka")]
    #[command(flatten)]
    pub kafka: Kafka,
    /// Most bytes of the stream in Redis, which needs room for the users' chains, too: beyond them reports are answered by
    /// 503
    #[arg(long, env = "SEENGUARD_STREAM_MAX_BYTES", value_name = "BYTES", default_value_t = 1 << 30)]
    pub stream_max_bytes: u64,
    /// Most bytes of the body of a page, up to 64 MiB
    #[arg(long, env = "SEENGUARD_MAX_BODY_BYTES", value_name = "BYTES", default_value_t = 2 << 20, value_parser = clap::value_parser!(u32).range(1..=RouterOptions::MAX_BODY_BYTES as i64))]
    pub max_body_bytes: u32,
    /// After so many seconds a request is given up, and answered by 503
    #[arg(long, env = "SEENGUARD_TIMEOUT_SECONDS", value_name = "SECONDS", default_value = "20", value_parser = seconds(1..=3_600))]
    pub timeout_seconds: Duration,
    /// A file with the tokens, as of --token-file, of those who may export a person's data and delete many histories at
    /// once. Without it nobody may where --token-file is given
    #[arg(long, env = "SEENGUARD_ADMIN_TOKEN_FILE", value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,
    /// Where to serve /healthz, /readyz and /metrics, and nothing else: they are not at --listen then. Without a token: let
    /// nobody else reach it
    #[arg(long, env = "SEENGUARD_ADMIN_LISTEN", value_name = "ADDRESS")]
    pub admin_listen: Option<SocketAddr>,
    /// After so many seconds it is ready even if it was never connected to Redis: it makes pages, degraded
    #[arg(long, env = "SEENGUARD_READY_SECONDS", value_name = "SECONDS", default_value = "30", value_parser = seconds(0..=86_400))]
    pub ready_seconds: Duration,
    /// For how many seconds to serve on, not ready, when it is asked to end
    #[arg(long, env = "SEENGUARD_DRAIN_SECONDS", value_name = "SECONDS", default_value = "5", value_parser = seconds(0..=86_400))]
    pub drain_seconds: Duration,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Consume {
    /// The stream in Redis
    #[arg(long, env = "SEENGUARD_STREAM", value_name = "NAME")]
    pub stream: Option<String>,
    #[cfg(feature = "kafka")]
    #[command(flatten)]
    pub kafka: Kafka,
    /// The topic in which to set aside what no chain takes; without it that is skipped and counted
    #[cfg(feature = "kafka")]
    #[arg(long, env = "SEENGUARD_KAFKA_DEAD_LETTERS", value_name = "TOPIC", requires = "kafka")]
    pub kafka_dead_letters: Option<String>,
    /// The group of consumers that share it
    #[arg(long, env = "SEENGUARD_GROUP", value_name = "NAME", default_value = "seenguard")]
    pub group: String,
    /// This consumer's name in the group, other than those that run beside it
    #[arg(long, env = "HOSTNAME", value_name = "NAME", default_value_t = format!("process-{}", std::process::id()))]
    pub name: String,
    /// Most reports that are taken in at once
    #[arg(long, env = "SEENGUARD_BATCH", value_name = "REPORTS", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub batch: u32,
    /// The topic has a team's own tracking events: a file of JSON that says where they have what a report needs
    #[cfg(feature = "kafka")]
    #[arg(long, env = "SEENGUARD_KAFKA_EVENT_MAPPING", value_name = "FILE", requires = "kafka")]
    pub kafka_event_mapping: Option<PathBuf>,
    /// Most bytes of them that Kafka brings at once
    #[cfg(feature = "kafka")]
    #[arg(long, env = "SEENGUARD_BATCH_BYTES", value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch_bytes: u32,
    /// End when all is taken in that was in the stream at the beginning: for a rebuild, with a group and a prefix of its own
    #[arg(long)]
    pub until_end: bool,
    /// Make reports of another namespace or key, and unreadable events, dead letters before one was applied. Without it they
    /// are held, and with 100 of them the consumer exits with 78: --namespace, --prefix or the event mapping is wrong
    #[arg(long)]
    pub set_aside_all: bool,
    /// After so many seconds another consumer takes over what one was given from Redis and has not acknowledged
    #[arg(long, env = "SEENGUARD_CLAIM_SECONDS", value_name = "SECONDS", default_value = "30", value_parser = seconds(1..=86_400))]
    pub claim_seconds: Duration,
    /// Where to serve /healthz, /readyz and /metrics; beyond the loopback only with --token-file. Without it, nowhere
    #[arg(long, env = "SEENGUARD_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub listening: Listening,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct DeadLetters {
    /// The stream in Redis whose dead letters they are
    #[arg(long, env = "SEENGUARD_STREAM", value_name = "NAME")]
    pub stream: String,
    /// Also print the code and the id of each entry
    #[arg(long)]
    pub ids: bool,
    #[command(flatten)]
    pub common: Common,
}

/// A topic of Kafka in the place of a stream in Redis.
#[cfg(feature = "kafka")]
#[derive(Debug, Clone, Args)]
pub struct Kafka {
    /// Reports are in a topic of Kafka, in place of --stream: some of its brokers, host:port,host:port
    #[arg(long, env = "SEENGUARD_KAFKA", value_name = "HOSTS", conflicts_with = "stream")]
    pub kafka: Option<String>,
    /// The topic, which must be there
    #[arg(
        long,
        env = "SEENGUARD_KAFKA_TOPIC",
        value_name = "NAME",
        default_value = "seenguard-reports"
    )]
    pub kafka_topic: String,
    /// A file with more of librdkafka's settings, a key=value a line: docs/streams.md says which ones are the service's
    #[arg(long, env = "SEENGUARD_KAFKA_PROPERTIES", value_name = "FILE", requires = "kafka")]
    pub kafka_properties: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct Listening {
    /// A file with the tokens of which a request has to bring one, `Authorization: Bearer <token>`: one a line, each of 16
    /// characters or more. It is read anew every 5 seconds
    #[arg(long, env = "SEENGUARD_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// How many seconds a request's headers may take, and a connection may wait for its next request: for longer than
    /// clients keep one, which would send a request while it is being closed
    #[arg(long, env = "SEENGUARD_IDLE_SECONDS", value_name = "SECONDS", default_value = "10", value_parser = seconds(1..=3_600))]
    pub idle_seconds: Duration,
    /// How many seconds to wait, when it is to end, for what it has begun
    #[arg(
        long,
        env = "SEENGUARD_SHUTDOWN_SECONDS",
        value_name = "SECONDS",
        default_value = "20",
        value_parser = seconds(0..=86_400)
    )]
    pub shutdown_seconds: Duration,
}

/// What the service and the consumer have in common.
#[derive(Debug, Args)]
pub struct Common {
    /// Where Redis is: redis://[user:password@]host[:port][/database], or rediss://… by TLS; of a cluster some of its nodes
    #[arg(
        long,
        env = "SEENGUARD_REDIS",
        value_name = "URL",
        value_delimiter = ',',
        hide_env_values = true
    )]
    redis: Vec<String>,
    /// A file that has this, since it may have a password
    #[arg(long, env = "SEENGUARD_REDIS_FILE", value_name = "FILE", conflicts_with = "redis")]
    redis_file: Option<PathBuf>,
    /// It is a Redis Cluster
    #[arg(long, env = "SEENGUARD_CLUSTER")]
    pub cluster: bool,
    /// What the names of the keys in Redis begin with
    #[arg(long, env = "SEENGUARD_PREFIX", value_name = "TEXT", default_value = "seen:")]
    pub prefix: String,
    /// The namespace of a user's devices, as the page opens its guard, such as "home:{user}". Always give it: without
    /// it, what a tab sends whose person has signed out counts for the next one
    #[arg(long, env = "SEENGUARD_NAMESPACE", value_name = "TEMPLATE")]
    pub namespace: Option<String>,
    /// How many seconds to keep what a device has pending
    #[arg(long, env = "SEENGUARD_PENDING_SECONDS", value_name = "SECONDS", default_value_t = PENDING_SECONDS)]
    pub pending_seconds: u32,
    #[command(flatten)]
    chain: Chain,
    #[command(flatten)]
    logs: Logs,
}

/// The same for all users; GET /v1/plan says what a feed needs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chains")]
struct Chain {
    /// Items a shard
    #[arg(long, env = "SEENGUARD_CAPACITY", value_name = "ITEMS", default_value_t = ChainOptions::RECOMMENDED.capacity)]
    capacity: u32,
    /// Shards that are kept
    #[arg(long, env = "SEENGUARD_SHARDS", value_name = "SHARDS", default_value_t = ChainOptions::RECOMMENDED.shards)]
    shards: usize,
    /// The share of fresh items that a full shard stops wrongly
    #[arg(long, env = "SEENGUARD_FALSE_POSITIVE_RATE", value_name = "RATE", default_value_t = ChainOptions::RECOMMENDED.false_positive_rate)]
    false_positive_rate: f64,
    /// Seconds for which nothing is shown again; 0: as long as the shards hold it
    #[arg(long, env = "SEENGUARD_TTL_SECONDS", value_name = "SECONDS", default_value_t = ChainOptions::RECOMMENDED.ttl_seconds)]
    ttl_seconds: u32,
    /// Seed of the hashes, one for a deployment
    #[arg(long, env = "SEENGUARD_SEED", value_name = "NUMBER", default_value_t = ChainOptions::RECOMMENDED.seed)]
    seed: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Logs, on standard error: for people at a terminal, else an object of JSON a line")]
pub struct Logs {
    /// What to log: off, error, warn, info, debug or trace
    #[arg(long, env = "SEENGUARD_LOG", value_name = "LEVEL", default_value = "info")]
    pub log: tracing::level_filters::LevelFilter,
}

/// A number of seconds in this range.
fn seconds(range: RangeInclusive<u64>) -> impl TypedValueParser<Value = Duration> {
    clap::value_parser!(u64).range(range).map(Duration::from_secs)
}

impl Cli {
    /// Refuses what the types of the options let pass. A list of dead letters needs none of the options of chains.
    pub fn checked(&self) -> Result<(), String> {
        match &self.command {
            Some(Command::DeadLetters(_)) => Ok(()),
            _ => self.common().0.checked(),
        }
    }

    /// What both commands have.
    pub fn common(&self) -> (&Common, &Logs) {
        let common = match &self.command {
            None => &self.serve.common,
            Some(Command::Consume(consume)) => &consume.common,
            Some(Command::DeadLetters(letters)) => &letters.common,
            #[cfg(feature = "kafka")]
            Some(Command::Mapping { .. }) => &self.serve.common,
        };
        (common, &common.logs)
    }
}

impl Common {
    /// Where Redis is; nowhere if everything is kept in memory.
    pub fn redis_urls(&self) -> Result<Vec<String>, String> {
        let Some(file) = &self.redis_file else {
            return Ok(self.redis.clone());
        };
        let text = fs::read_to_string(file).map_err(|error| format!("--redis-file {}: {error}", file.display()))?;
        Ok(text.split(',').map(|url| url.trim().to_owned()).collect())
    }

    /// Refuses what the types of the options let pass.
    pub fn checked(&self) -> Result<(), String> {
        let is_in_redis = !self.redis_urls()?.is_empty();
        match &self.namespace {
            None if is_in_redis => Err(format!(
                "--redis needs --namespace, as \"home:{USER}\": without it, what a tab sends whose person has signed out \
                 counts for the next person"
            )),
            Some(template) if !template.contains(USER) => Err(format!(
                "--namespace {template:?} is the same for all users: put {USER} where the user's name goes"
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

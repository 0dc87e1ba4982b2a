//! Tests of reports through Kafka, over librdkafka's mock cluster with injected errors.

use std::collections::BTreeMap;
use std::future::pending;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{BorrowedMessage, Header, Headers, Message, OwnedHeaders};
use rdkafka::mocking::{MockCluster, MockCoordinator};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use serde_json::json;

use super::Storage;
use super::program::{Program, check, command, forged, nothing_pending, now};
use crate::redis_server::RedisServer;
use crate::waiting::{eventually, promised};
use seenguard_server::testing::{body, device, shows};

const TOPIC: &str = "reports";
const DEAD: &str = "dead";
const PARTITIONS: i32 = 3;
const BROKERS: i32 = 3;
const USERS: usize = 40;
const GROUP: &str = "seenguard";

/// A topic in a mock cluster of its own.
struct Topic {
    cluster: MockCluster<'static, DefaultProducerContext>,
    storage: Storage,
    hosts: String,
}

impl Topic {
    fn over(redis: &RedisServer) -> Self {
        Topic::new(Storage::in_redis(redis.url(), "seen:"))
    }

    fn new(storage: Storage) -> Self {
        let cluster = MockCluster::new(BROKERS).unwrap();
        for topic in [TOPIC, DEAD] {
            cluster.create_topic(topic, PARTITIONS, BROKERS).unwrap();
        }
        let hosts = cluster.bootstrap_servers();
        Topic {
            cluster,
            storage,
            hosts,
        }
    }

    fn serve(&self) -> Program {
        let service = Program::serve(
            &self.storage.arguments,
            &["--kafka", &self.hosts, "--kafka-topic", TOPIC],
        );
        eventually("Kafka responds", || {
            (service.get("/readyz?stream").status == 200).then_some(())
        });
        service
    }

    fn consume(&self, name: &str, more: &[&str]) -> Program {
        let options = ["--kafka", &self.hosts, "--kafka-topic", TOPIC, "--name", name];
        Program::consume(&self.storage.arguments, &[&options, more].concat())
    }

    /// Writes a record as another program.
    fn write(&self, key: Option<&str>, value: Option<&str>, form: Option<&str>) {
        self.write_with("none", key, value, form);
    }

    fn write_with(&self, codec: &str, key: Option<&str>, value: Option<&str>, form: Option<&str>) {
        let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
            .set("bootstrap.servers", &self.hosts)
            .set("partitioner", "murmur2_random")
            .set("compression.codec", codec)
            .set("message.max.bytes", "4000000")
            .create()
            .unwrap();
        let mut record: BaseRecord<'_, str, str> = BaseRecord::to(TOPIC);
        record.key = key;
        record.payload = value;
        record.headers = form.map(|form| {
            OwnedHeaders::new().insert(Header {
                key: "seenguard",
                value: Some(form),
            })
        });
        producer.send(record).unwrap();
        producer.flush(Duration::from_secs(30)).unwrap();
    }

    /// Reads `count` records of a topic. Returns the result of `map` for each.
    fn read<T>(&self, topic: &str, count: usize, map: impl Fn(&BorrowedMessage<'_>) -> T) -> Vec<T> {
        let reader: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &self.hosts)
            .set("group.id", "the test")
            .set("auto.offset.reset", "earliest")
            .create()
            .unwrap();
        reader.subscribe(&[topic]).unwrap();
        let mut read = Vec::new();
        eventually("the records come", || {
            if let Some(Ok(message)) = reader.poll(Duration::from_millis(100)) {
                read.push(map(&message));
            }
            (read.len() == count).then_some(())
        });
        read
    }

    /// Makes the next `count` requests of this kind fail.
    fn fail(&self, requests: RDKafkaApiKey, error: RDKafkaRespErr, count: usize) {
        self.cluster.request_errors(requests, &vec![error; count]);
    }
}

/// A record form that no version writes.
const NO_FORMS: [&str; 4] = ["one", "0", "-1", ""];

/// Waits until this user's pages leave these ids out.
fn knows(service: &Program, user: &str, ids: &[&str]) {
    let mut ranked = ids.to_vec();
    ranked.push("never shown");
    eventually("it is applied", || {
        (service.page(user, &ranked, ranked.len()) == ["never shown"]).then_some(())
    });
}

fn posts(service: &Program, user: &str, id: &str) -> u16 {
    let body = body(user, &[id], now(), nothing_pending(user));
    service.post(&format!("/v1/users/{user}/impressions"), body).status
}

pub fn reports_reach_the_chains_through_kafka(storage: &Storage) {
    let topic = Topic::new(storage.clone());
    let service = topic.serve();
    service.report("ada", &["a"]);
    service.report("ada", &["b"]);
    service.report("bob", &["c"]);
    let refused = service.post("/v1/users/ada/impressions", body("bob", &["a"], now(), None));
    assert_eq!(refused.code(409), "wrong-namespace");
    let pending = shows(&mut device("eve", 1), &["a"], now());
    let posted = body("eve", &["a"], now(), Some(pending.clone()));
    assert_eq!(service.post("/v1/users/eve/impressions", posted).status, 204);
    assert_eq!(service.page("eve", &["a", "b"], 2), ["b"]);
    // The user is the key, and pending impressions are only in the store.
    let records = topic.read(TOPIC, 4, |message| {
        let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap().to_vec()).unwrap();
        (text(message.key()), text(message.payload()), message.partition())
    });
    assert!(
        records
            .iter()
            .all(|(_, value, _)| !value.contains("pending") && !value.contains(&pending)),
        "{records:?}"
    );
    let partitions: Vec<i32> = records
        .iter()
        .filter(|(user, ..)| user == "ada")
        .map(|of| of.2)
        .collect();
    assert_eq!(partitions.len(), 2);
    assert_eq!(partitions[0], partitions[1]);
    assert_eq!(service.page("ada", &["a", "b"], 2), ["a", "b"]);

    let consumer = topic.consume("first", &[]);
    knows(&service, "ada", &["a", "b"]);
    knows(&service, "bob", &["c"]);
    eventually("pending impressions are applied, too", || {
        (consumer.number("seenguard_reports_total") == 4.0).then_some(())
    });
    // A group without committed offsets starts at the first records, so that nothing is lost.
    assert_eq!(consumer.number("seenguard_kafka_resets_total"), 0.0);
    assert_eq!(
        consumer.number("seenguard_kafka_assigned_partitions"),
        f64::from(PARTITIONS)
    );
    assert_eq!(consumer.get("/readyz").status, 200);
    consumer.terminate();
    let (status, log) = consumer.ended();
    assert!(status.success(), "{log}");
    // Offsets are committed for the group.
    let consumer = topic.consume("second", &[]);
    service.report("bob", &["d"]);
    knows(&service, "bob", &["c", "d"]);
    assert_eq!(consumer.number("seenguard_reports_total"), 1.0);
}

pub fn without_a_broker_reports_are_refused_and_pages_are_served() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let consumer = topic.consume("one", &[]);
    service.report("ada", &["a"]);
    knows(&service, "ada", &["a"]);
    topic.cluster.broker_down(-1).unwrap();
    let start = Instant::now();
    let refused = service.post(
        "/v1/users/ada/impressions",
        body("ada", &["b"], now(), nothing_pending("ada")),
    );
    assert_eq!(refused.code(503), "stream");
    let took = start.elapsed();
    assert!(took < promised("a report without Kafka is answered by 503"), "{took:?}");
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
    assert_eq!(service.get("/readyz").status, 200);
    assert_eq!(service.get("/readyz?stream").code(503), "stream");
    assert_eq!(service.number("seenguard_stream_answers"), 0.0);
    topic.cluster.broker_up(-1).unwrap();
    eventually("reports are accepted again", || {
        (posts(&service, "ada", "b") == 204).then_some(())
    });
    knows(&service, "ada", &["a", "b"]);
    drop(consumer);
}

pub fn brokers_that_are_away_are_logged_once_and_counted() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let consumer = topic.consume("one", &[]);
    service.report("ada", &["a"]);
    knows(&service, "ada", &["a"]);
    topic.cluster.broker_down(-1).unwrap();
    let failures = |program: &Program| program.number("seenguard_kafka_broker_failures_total");
    eventually("both have failed repeatedly, and reports are refused", || {
        let is_refused = posts(&service, "ada", "b") == 503;
        (is_refused && failures(&service) >= 20.0 && failures(&consumer) >= 20.0).then_some(())
    });
    topic.cluster.broker_up(-1).unwrap();
    eventually("reports are accepted again", || {
        (posts(&service, "ada", "b") == 204).then_some(())
    });
    knows(&service, "ada", &["a", "b"]);
    for program in [&service, &consumer] {
        let log = program.log();
        // Failed requests and rounds are logged once a second.
        let each_second = ["request failed", "entries stay in the stream"];
        let is_other = |line: &&str| !each_second.iter().any(|event| line.contains(event));
        let lines = log.lines().filter(is_other).count();
        assert!((2..=8).contains(&lines), "{lines} lines: {log}");
        assert!(log.contains("Kafka client recovered"), "{log}");
    }
}

pub fn an_acknowledgement_is_of_all_replicas() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    // For longer than the service retries.
    let (produce, too_few) = (
        RDKafkaApiKey::Produce,
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
    );
    topic.fail(produce, too_few, 10_000);
    let refused = service.post(
        "/v1/users/ada/impressions",
        body("ada", &["a"], now(), nothing_pending("ada")),
    );
    assert_eq!(refused.code(503), "stream");
    topic.cluster.clear_request_errors(produce);
    eventually("reports are accepted again", || {
        (posts(&service, "ada", "b") == 204).then_some(())
    });
    topic.fail(produce, RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, 1);
    let refused = service.post(
        "/v1/users/ada/impressions",
        body("ada", &["c"], now(), nothing_pending("ada")),
    );
    assert_eq!(refused.code(413), "too-large");
}

pub fn after_a_fatal_error_a_new_producer_replaces_the_old_one() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    service.report("ada", &["a"]);
    let out_of_order = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
    topic.fail(RDKafkaApiKey::Produce, out_of_order, 1);
    assert_eq!(posts(&service, "ada", "b"), 503);
    eventually("reports are accepted again", || {
        (posts(&service, "ada", "b") == 204).then_some(())
    });
    assert_eq!(service.number("seenguard_kafka_producer_restarts_total"), 1.0);
    let consumer = topic.consume("one", &[]);
    knows(&service, "ada", &["a", "b"]);
    drop(consumer);
}

pub fn records_that_cannot_be_applied_move_to_the_topic_of_dead_letters() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let at = now().unix_ms();
    let report = json!({ "namespace": "home:ada", "receivedAt": at, "impressions": [{ "id": "a", "at": at }] });
    let report = report.to_string();
    let too_large = report.replace(r#""a""#, &format!("{:?}", "a".repeat(300_000)));
    service.report("bob", &["a"]);
    topic.write(None, Some(&report), None);
    topic.write(Some(""), Some(&report), None);
    topic.write(Some("bob"), Some("no JSON"), Some("1"));
    topic.write(Some("bob"), Some(&report), Some("1"));
    topic.write(Some("ada"), Some(&too_large), None);
    topic.write(Some("ada"), None, None);
    for form in NO_FORMS {
        topic.write(Some("ada"), Some(&report), Some(form));
    }
    service.report("bob", &["b"]);
    // The body that a device has posted is valid, too.
    let posted = String::from_utf8(body("ada", &["b"], now(), None)).unwrap();
    topic.write(Some("ada"), Some(&posted), None);
    let consumer = topic.consume("one", &["--kafka-dead-letters", DEAD]);
    knows(&service, "bob", &["a", "b"]);
    knows(&service, "ada", &["b"]);
    let mut letters = topic.read(DEAD, 6 + NO_FORMS.len(), |message| {
        let headers = message.headers().unwrap();
        let headers: BTreeMap<String, String> = headers
            .iter()
            .map(|header| {
                (
                    header.key.to_owned(),
                    String::from_utf8(header.value.unwrap().to_vec()).unwrap(),
                )
            })
            .collect();
        assert_eq!(headers["seenguard-topic"], TOPIC);
        assert!(headers.contains_key("seenguard-partition") && headers.contains_key("seenguard-offset"));
        let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        (
            headers["seenguard-code"].clone(),
            text(message.key()),
            text(message.payload()),
        )
    });
    letters.sort();
    let of_no_form = vec![("bad-report", Some("ada"), Some(report.as_str())); NO_FORMS.len()];
    let expected = [
        &[
            ("bad-option", None, Some(report.as_str())),
            ("bad-option", Some(""), Some(&report)),
            ("bad-report", Some("ada"), None),
        ],
        &of_no_form[..],
        &[
            ("bad-report", Some("bob"), Some("no JSON")),
            ("too-large", Some("ada"), Some(&too_large)),
            ("wrong-namespace", Some("bob"), Some(&report)),
        ],
    ]
    .concat()
    .into_iter()
    .map(|(code, key, value)| (code.to_owned(), key.map(str::to_owned), value.map(str::to_owned)));
    assert_eq!(letters, expected.collect::<Vec<_>>());
    assert_eq!(consumer.number("seenguard_dead_letters_total"), letters.len() as f64);
    assert_eq!(
        consumer.number(r#"seenguard_dead_letters_total{code="bad-option"}"#),
        2.0
    );
}

pub fn dead_letters_come_back_by_a_consumer_of_their_topic() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    service.report("ada", &["a"]);
    // With a wrong setting it moves valid records to the dead letters.
    let wrong = [
        "consume",
        "--listen",
        "127.0.0.1:0",
        "--namespace",
        "work:{user}",
        "--set-aside-all",
    ];
    let kafka = [
        "--kafka",
        &topic.hosts,
        "--kafka-topic",
        TOPIC,
        "--kafka-dead-letters",
        DEAD,
    ];
    let arguments = [&wrong[..], &kafka].concat().into_iter().map(str::to_owned);
    let consumer = Program::start(arguments.chain(topic.storage.arguments.iter().cloned()));
    eventually("it is set aside", || {
        (consumer.number("seenguard_dead_letters_total") == 1.0).then_some(())
    });
    assert_eq!(service.page("ada", &["a", "b"], 2), ["a", "b"]);
    let options = [
        "--kafka",
        &topic.hosts,
        "--kafka-topic",
        DEAD,
        "--group",
        "redrive-1",
        "--until-end",
    ];
    let (status, log) = Program::consume(&topic.storage.arguments, &options).ended();
    assert!(status.success(), "{log}");
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
}

pub fn a_record_too_large_for_the_topic_of_dead_letters_is_truncated() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    // By default a producer sends 1 MB at most.
    let large = format!("no JSON {}", "x".repeat(1_500_000));
    topic.write(Some("ada"), Some(&large), None);
    let consumer = topic.consume("one", &["--kafka-dead-letters", DEAD]);
    let letters = topic.read(DEAD, 1, |message| {
        let headers: BTreeMap<String, String> = message
            .headers()
            .unwrap()
            .iter()
            .map(|header| {
                let value = String::from_utf8(header.value.unwrap().to_vec()).unwrap();
                (header.key.to_owned(), value)
            })
            .collect();
        (
            message.key().unwrap().to_vec(),
            message.payload().unwrap().to_vec(),
            headers,
        )
    });
    let (key, value, headers) = &letters[0];
    assert_eq!((&key[..], &value[..]), (&b"ada"[..], &large.as_bytes()[..65_536]));
    assert_eq!(headers["seenguard-code"], "too-large");
    assert_eq!(
        (&*headers["seenguard-topic"], &*headers["seenguard-offset"]),
        (TOPIC, "0")
    );
    assert_eq!(headers["seenguard-bytes"], large.len().to_string());
    service.report("ada", &["a"]);
    knows(&service, "ada", &["a"]);
    assert_eq!(consumer.number("seenguard_failed_rounds_total"), 0.0);
}

pub fn records_that_cannot_become_dead_letters_stay_in_the_topic() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    topic.write(Some("bob"), Some("no JSON"), None);
    let too_few = RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS;
    topic.fail(RDKafkaApiKey::Produce, too_few, 10_000);
    let consumer = topic.consume("one", &["--kafka-dead-letters", DEAD]);
    eventually("it has failed", || {
        (consumer.number("seenguard_failed_rounds_total") >= 1.0).then_some(())
    });
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 0.0);
    // Later records do not wait for the dead letter.
    topic.cluster.clear_request_errors(RDKafkaApiKey::Produce);
    service.report("bob", &["a"]);
    knows(&service, "bob", &["a"]);
    assert_eq!(topic.read(DEAD, 1, |message| message.offset()), [0]);
}

pub fn a_partition_waits_for_a_version_that_reads_it() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    service.report("ada", &["a"]);
    topic.write(Some("ada"), Some("something new"), Some("2"));
    service.report("ada", &["b"]);
    let others: Vec<String> = (0..9).map(|user| format!("user-{user}")).collect();
    for user in &others {
        service.report(user, &["a"]);
    }
    let partitions: BTreeMap<String, i32> = topic
        .read(TOPIC, 3 + others.len(), |message| {
            let user = String::from_utf8(message.key().unwrap().to_vec()).unwrap();
            (user, message.partition())
        })
        .into_iter()
        .collect();
    let consumer = topic.consume("one", &["--kafka-dead-letters", DEAD]);
    knows(&service, "ada", &["a"]);
    let elsewhere: Vec<&String> = others
        .iter()
        .filter(|&user| partitions[user] != partitions["ada"])
        .collect();
    assert!(!elsewhere.is_empty());
    let waiting = 2 + others.len() - elsewhere.len();
    for user in &elsewhere {
        knows(&service, user, &["a"]);
    }
    eventually("it has logged that", || {
        consumer.log().contains("a newer version").then_some(())
    });
    eventually("it is not ready", || {
        (consumer.get("/readyz").status == 503).then_some(())
    });
    // The other partitions are as fast as before: no round fails, which would cause a pause.
    service.report(elsewhere[0], &["b"]);
    knows(&service, elsewhere[0], &["a", "b"]);
    assert_eq!(consumer.get("/readyz").status, 503);
    assert_eq!(consumer.number("seenguard_failed_rounds_total"), 0.0);
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 0.0);
    assert_eq!(consumer.number("seenguard_kafka_newer_partitions"), 1.0);
    assert!(consumer.number("seenguard_kafka_lag_seconds") > 0.0);
    eventually("the lag is reported", || {
        (consumer.number_so_far("seenguard_kafka_lag_records") == Some(waiting as f64)).then_some(())
    });
}

pub fn an_outage_of_redis_moves_no_offset() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let at = now().unix_ms();
    for user in 0..USERS {
        let report = json!({ "namespace": format!("home:user-{user}"), "receivedAt": at,
            "impressions": [{ "id": "a", "at": at }] });
        topic.write(Some(&format!("user-{user}")), Some(&report.to_string()), Some("1"));
    }
    redis.pause();
    let consumer = topic.consume("one", &["--kafka-dead-letters", DEAD, "--batch", "10"]);
    eventually("it has failed", || {
        (consumer.number("seenguard_failed_rounds_total") >= 1.0).then_some(())
    });
    assert_eq!(consumer.get("/readyz?storage").status, 503);
    // Also before the group has assigned partitions.
    eventually("it reports the lag", || {
        (consumer.number_so_far("seenguard_kafka_lag_records") == Some(USERS as f64)).then_some(())
    });
    let log = consumer.log();
    assert!(log.contains("entries stay in the stream"), "{log}");
    // Another consumer starts at the committed offset.
    consumer.kill();
    redis.resume();
    let consumer = topic.consume("two", &["--kafka-dead-letters", DEAD]);
    let service = Program::serve(&topic.storage.arguments, &[]);
    for user in 0..USERS {
        knows(&service, &format!("user-{user}"), &["a"]);
    }
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 0.0);
}

pub fn brokers_that_change_their_minds_cost_nothing() {
    use RDKafkaRespErr::*;
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let consumer = topic.consume("one", &[]);
    service.report("ada", &["0"]);
    knows(&service, "ada", &["0"]);
    let cluster = &topic.cluster;
    let changes: [(&str, &dyn Fn()); 7] = [
        ("1", &|| {
            cluster
                .coordinator(MockCoordinator::Group(GROUP.to_owned()), 2)
                .unwrap()
        }),
        ("2", &|| {
            topic.fail(RDKafkaApiKey::Heartbeat, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, 1)
        }),
        ("3", &|| {
            topic.fail(
                RDKafkaApiKey::OffsetCommit,
                RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                3,
            )
        }),
        ("4", &|| {
            topic.fail(
                RDKafkaApiKey::Heartbeat,
                RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                3,
            )
        }),
        ("5", &|| {
            (0..PARTITIONS).for_each(|partition| cluster.partition_leader(TOPIC, partition, Some(3)).unwrap())
        }),
        ("6", &|| {
            topic.fail(RDKafkaApiKey::Fetch, RD_KAFKA_RESP_ERR__TRANSPORT, 2)
        }),
        ("7", &|| {
            topic.fail(RDKafkaApiKey::Produce, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, 1)
        }),
    ];
    let mut shown = vec!["0"];
    for (id, change) in &changes {
        change();
        eventually("a report is accepted", || {
            (posts(&service, "ada", id) == 204).then_some(())
        });
        shown.push(id);
        knows(&service, "ada", &shown);
    }
    // Heartbeats are some seconds apart.
    eventually("it was out of its group", || {
        (consumer.number(r#"seenguard_kafka_rebalances_total{kind="lost"}"#) >= 1.0).then_some(())
    });
    drop(consumer);
}

pub fn all_codecs_are_read() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let codecs = ["none", "gzip", "snappy", "lz4", "zstd"];
    for codec in codecs {
        let posted = String::from_utf8(body("ada", &[codec], now(), None)).unwrap();
        topic.write_with(codec, Some("ada"), Some(&posted), None);
    }
    let consumer = topic.consume("one", &[]);
    knows(&service, "ada", &codecs);
    drop(consumer);
}

pub fn a_consumer_without_brokers_ends_at_sigterm() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let consumer = topic.consume("one", &[]);
    service.report("ada", &["a"]);
    knows(&service, "ada", &["a"]);
    topic.cluster.broker_down(-1).unwrap();
    consumer.terminate();
    let (status, log) = consumer.ended();
    assert!(status.success(), "{log}");
}

pub fn a_topic_is_replayed_to_its_end_next_to_the_running_consumer() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let running = topic.consume("running", &[]);
    let users: Vec<String> = (0..USERS).map(|user| format!("user-{user}")).collect();
    for user in &users {
        service.report(user, &["a", "b"]);
        service.report(user, &["c"]);
        knows(&service, user, &["a", "b", "c"]);
    }
    // Changes by the routes are in the topic, too.
    let [unseen, forgotten, seen_again] = [&users[0], &users[1], &users[2]];
    assert_eq!(
        service
            .post(&format!("/v1/users/{seen_again}/unsee"), r#"{"ids": ["a"]}"#)
            .status,
        204
    );
    service.report(seen_again, &["a"]);
    knows(&service, seen_again, &["a", "b", "c"]);
    assert_eq!(
        service
            .post(&format!("/v1/users/{unseen}/unsee"), r#"{"ids": ["a"]}"#)
            .status,
        204
    );
    assert_eq!(
        service
            .request("DELETE", &format!("/v1/users/{forgotten}/history"), &[], "")
            .status,
        204
    );
    let replayed = Storage::in_redis(redis.url(), "new:");
    let options = [
        "--kafka",
        &topic.hosts,
        "--kafka-topic",
        TOPIC,
        "--group",
        "rebuild-1",
        "--until-end",
    ];
    let (status, log) = Program::consume(&replayed.arguments, &options).ended();
    assert!(status.success(), "{log}");
    let rebuilt = Program::serve(&replayed.arguments, &[]);
    assert_eq!(rebuilt.page(unseen, &["a", "b", "c", "d"], 4), ["a", "d"]);
    assert_eq!(rebuilt.page(forgotten, &["a", "b", "c", "d"], 4), ["a", "b", "c", "d"]);
    let mut client = redis.client();
    for user in users.iter().filter(|user| *user != forgotten) {
        let shards = |prefix: &str, client: &mut redis::Connection| -> Vec<String> {
            redis::cmd("LRANGE")
                .arg(format!("{prefix}{user}"))
                .arg(&["0", "-1"])
                .query(client)
                .unwrap()
        };
        let before = shards("seen:", &mut client);
        assert!(!before.is_empty());
        assert_eq!(shards("new:", &mut client), before, "{user}");
    }
    // The fields next to the shards are equal, too: each entry has its time.
    for user in users.iter().filter(|user| *user != forgotten) {
        let mut fields = |prefix: &str| -> BTreeMap<String, String> {
            let fields: BTreeMap<String, String> = redis::cmd("HGETALL")
                .arg(format!("{prefix}{user}:meta"))
                .query(&mut client)
                .unwrap();
            let is_entry = |name: &str| name.starts_with("unseen:") || name.starts_with("seen:");
            fields.into_iter().filter(|(name, _)| is_entry(name)).collect()
        };
        let before = fields("seen:");
        if user == unseen || user == seen_again {
            let kinds: Vec<&str> = before.keys().map(|name| name.split(':').next().unwrap()).collect();
            assert_eq!(kinds, [if user == unseen { "unseen" } else { "seen" }], "{before:?}");
        }
        assert_eq!(fields("new:"), before, "{user}");
    }
    drop(running);
}

pub fn wrong_settings_of_kafka_end_the_service_with_a_message() {
    let file = std::env::temp_dir().join(format!("seenguard-kafka-{}.properties", std::process::id()));
    for (text, named) in [
        ("security.protocol=SSL\nssl.truststore.location=/a", "ssl.ca.location"),
        ("acks=1", "is reserved"),
        ("no.such.key=1", "no.such.key"),
    ] {
        std::fs::write(&file, text).unwrap();
        let arguments = [
            "--listen",
            "127.0.0.1:0",
            "--redis",
            "redis://127.0.0.1:1",
            "--namespace",
            "home:{user}",
        ];
        let kafka = ["--kafka", "localhost:1", "--kafka-properties", file.to_str().unwrap()];
        let arguments = arguments.iter().chain(&kafka).map(|&argument| argument.to_owned());
        let output = command(arguments).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && log.contains(named), "{log}");
    }
    std::fs::remove_file(&file).unwrap();
}

pub fn a_teams_own_events_are_applied_and_a_wrong_mapping_acknowledges_nothing() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = Program::serve(&topic.storage.arguments, &[]);
    let at = now().unix_ms();
    let ids: Vec<String> = (0..120).map(|id| format!("article-{id}")).collect();
    for id in &ids {
        let event = json!({ "event": "view", "context": { "userId": "ada" }, "item": { "id": id }, "ts": at });
        topic.write(Some("ada"), Some(&event.to_string()), None);
    }
    topic.write(Some("ada"), Some(r#"{ "event": "click" }"#), None);
    let hidden = json!({ "event": "hide", "context": { "userId": "ada" }, "item": { "id": ids[0] }, "ts": at + 1 });
    topic.write(Some("ada"), Some(&hidden.to_string()), None);
    let file = std::env::temp_dir().join(format!("seenguard-mapping-{}.json", std::process::id()));
    let write = |user: &str| {
        let mapping = json!({ "user": user, "id": "/item/id", "at": "/ts", "namespace": "home:{user}",
            "when": [{ "field": "/event", "is": ["view"] }], "unseenWhen": [{ "field": "/event", "is": ["hide"] }] });
        std::fs::write(&file, mapping.to_string()).unwrap();
    };
    let consume = || {
        let mapping = ["--kafka-event-mapping", file.to_str().unwrap()];
        topic.consume("one", &[&["--kafka-dead-letters", DEAD], &mapping[..]].concat())
    };
    write("/context/user");
    let (status, log) = consume().ended();
    assert!(
        !status.success() && log.contains("the event mapping is probably wrong"),
        "{log}"
    );
    write("/context/userId");
    let consumer = consume();
    let seen: Vec<&str> = ids[1..].iter().map(String::as_str).collect();
    knows(&service, "ada", &seen);
    assert_eq!(service.page("ada", &[&ids[0], &ids[1]], 2), [ids[0].clone()]);
    assert_eq!(consumer.number("seenguard_skipped_records_total"), 1.0);
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 0.0);
    std::fs::remove_file(&file).unwrap();
}

/// Writes a file with an event mapping whose user is at this pointer.
fn mapping(name: &str, user: &str) -> std::path::PathBuf {
    let file = std::env::temp_dir().join(format!("seenguard-mapping-{name}-{}.json", std::process::id()));
    let mapping = json!({ "user": user, "id": "/id", "at": "/ts", "namespace": "home:{user}" });
    std::fs::write(&file, mapping.to_string()).unwrap();
    file
}

pub fn unreadable_events_after_readable_ones_end_no_consumer() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = Program::serve(&topic.storage.arguments, &[]);
    let file = mapping("later", "/user");
    let consume = || topic.consume("one", &["--kafka-event-mapping", file.to_str().unwrap()]);
    let event = |id: &str| json!({ "user": "ada", "id": id, "ts": now().unix_ms() }).to_string();
    topic.write(Some("ada"), Some(&event("a")), None);
    let consumer = consume();
    knows(&service, "ada", &["a"]);
    consumer.terminate();
    assert!(consumer.ended().0.success());
    for _ in 0..120 {
        topic.write(Some("ada"), Some("{}"), None);
    }
    topic.write(Some("ada"), Some(&event("b")), None);
    let consumer = consume();
    knows(&service, "ada", &["a", "b"]);
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 120.0);
    std::fs::remove_file(&file).unwrap();
}

pub fn events_of_a_wrong_mapping_are_held_also_after_others_were_skipped() {
    // Longer than the interval of commits, and than the retries of an entry.
    const WAIT: Duration = Duration::from_secs(12);
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let file = std::env::temp_dir().join(format!("seenguard-mapping-skips-{}.json", std::process::id()));
    let mapping = json!({ "user": "/user", "id": "/id", "namespace": "home:{user}",
        "when": [{ "field": "/event", "is": ["view"] }] });
    std::fs::write(&file, mapping.to_string()).unwrap();
    let options = [
        "--kafka-event-mapping",
        file.to_str().unwrap(),
        "--kafka-dead-letters",
        DEAD,
    ];
    let write = |event: &str, count: usize| {
        let event = json!({ "event": event, "person": "ada", "id": "a" }).to_string();
        (0..count).for_each(|_| topic.write(Some("ada"), Some(&event), None));
    };
    write("click", 5);
    write("view", 40);
    let consumer = topic.consume("one", &options);
    eventually("it is not ready", || {
        (consumer.get("/readyz").status == 503).then_some(())
    });
    assert_eq!(consumer.number("seenguard_skipped_records_total"), 5.0);
    sleep(WAIT);
    write("click", 1);
    eventually("the next one is skipped", || {
        (consumer.number("seenguard_skipped_records_total") == 6.0).then_some(())
    });
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 0.0);
    assert_eq!(consumer.get("/readyz").status, 503);
    assert!(consumer.log().contains("holding entries"), "{}", consumer.log());
    write("view", 70);
    let (status, log) = consumer.ended();
    assert_eq!(status.code(), Some(78), "{log}");
    // A supervisor may start it again all the same.
    let (status, log) = topic.consume("one", &options).ended();
    assert_eq!(status.code(), Some(78), "{log}");
    let consumer = topic.consume("one", &[&options[..], &["--set-aside-all"]].concat());
    eventually("they become dead letters with the option", || {
        (consumer.number("seenguard_dead_letters_total") == 110.0).then_some(())
    });
    std::fs::remove_file(&file).unwrap();
}

pub fn large_reports_of_another_namespace_end_the_consumer() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let at = now().unix_ms();
    let ids: Vec<_> = (0..100)
        .map(|id| json!({ "id": format!("{id}-{}", "x".repeat(300)), "at": at }))
        .collect();
    let report = json!({ "namespace": "other:ada", "now": at, "impressions": ids }).to_string();
    for _ in 0..90 {
        topic.write(Some("ada"), Some(&report), None);
    }
    let (status, log) = topic.consume("one", &[]).ended();
    assert_eq!(status.code(), Some(78), "{log}");
    assert!(log.contains("--namespace"), "{log}");
}

pub fn large_events_that_a_wrong_mapping_cannot_read_end_the_consumer() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let file = mapping("large", "/user");
    let large = json!({ "person": "ada", "more": "x".repeat(50_000) }).to_string();
    for _ in 0..90 {
        topic.write(Some("ada"), Some(&large), None);
    }
    let (status, log) = topic
        .consume("one", &["--kafka-event-mapping", file.to_str().unwrap()])
        .ended();
    assert_eq!(status.code(), Some(78), "{log}");
    assert!(log.contains("the event mapping is probably wrong"), "{log}");
    std::fs::remove_file(&file).unwrap();
}

pub fn a_rebuild_from_a_topic_in_use_ends() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    for user in 0..USERS {
        service.report(&format!("user-{user}"), &["a"]);
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Each partition gets records all the time.
        for user in 0..8 {
            let (is_done, service) = (&is_done, &service);
            scope.spawn(move || {
                while !is_done.load(Ordering::SeqCst) {
                    service.report(&format!("user-{user}"), &["b"]);
                }
            });
        }
        let options = [
            "--kafka",
            &topic.hosts,
            "--kafka-topic",
            TOPIC,
            "--group",
            "rebuild-1",
            "--until-end",
        ];
        let mut rebuild = Program::consume(&topic.storage.arguments, &options);
        let ended = eventually("it ends", || rebuild.has_ended());
        is_done.store(true, Ordering::SeqCst);
        assert!(ended.success(), "{}", rebuild.log());
    });
    let rebuilt = Program::serve(&topic.storage.arguments, &[]);
    for user in 0..USERS {
        knows(&rebuilt, &format!("user-{user}"), &["a"]);
    }
}

pub fn a_consumer_of_a_wrong_topic_is_not_ready() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let options = ["--kafka", &topic.hosts, "--kafka-topic", "nowhere", "--name", "one"];
    let consumer = Program::consume(&topic.storage.arguments, &options);
    eventually("it is not ready", || {
        (consumer.get("/readyz").status == 503).then_some(())
    });
    assert!(consumer.number("seenguard_failed_rounds_total") >= 1.0);
}

pub fn a_consumer_that_may_not_read_is_not_ready() {
    use RDKafkaRespErr::{RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED};
    let redis = RedisServer::start(&[]);
    let of_group = |topic: &Topic| {
        let refused = RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
        topic.fail(RDKafkaApiKey::JoinGroup, refused, 10_000);
    };
    let of_topic = |topic: &Topic| {
        let refused = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        topic.cluster.topic_error(TOPIC, refused).unwrap();
    };
    for refuse in [&of_group as &dyn Fn(&Topic), &of_topic] {
        let topic = Topic::over(&redis);
        refuse(&topic);
        let consumer = topic.consume("one", &[]);
        eventually("it is not ready", || {
            (consumer.get("/readyz").status == 503).then_some(())
        });
        assert!(consumer.number("seenguard_failed_rounds_total") >= 1.0);
    }
}

pub fn a_consumer_with_a_wrong_password_is_not_ready() {
    const SOON: Duration = Duration::from_secs(30);
    let redis = RedisServer::start(&[]);
    let file = std::env::temp_dir().join(format!("seenguard-password-{}.properties", std::process::id()));
    let settings =
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=ada\nsasl.password=a-secret\n";
    std::fs::write(&file, settings).unwrap();
    let storage = Storage::in_redis(redis.url(), "seen:");
    let kafka = [
        "--kafka",
        &broker_that_refuses_passwords(),
        "--kafka-properties",
        file.to_str().unwrap(),
    ];
    let start = Instant::now();
    let consumer = Program::consume(&storage.arguments, &kafka);
    eventually("it is not ready", || {
        (consumer.get("/readyz").status == 503).then_some(())
    });
    // Not because no round has succeeded for a minute.
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert!(consumer.number("seenguard_failed_rounds_total") >= 1.0);
    assert!(!consumer.log().contains("a-secret"), "{}", consumer.log());
    std::fs::remove_file(&file).unwrap();
}

/// Starts a broker that offers SASL's mechanism PLAIN and refuses every user. Returns its address.
fn broker_that_refuses_passwords() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            std::thread::spawn(|| refuse_password(client.unwrap()));
        }
    });
    address
}

/// Responds to requests of Kafka's protocol until the connection ends.
fn refuse_password(mut client: TcpStream) -> std::io::Result<()> {
    loop {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut request = vec![0; u32::from_be_bytes(length) as usize];
        client.read_exact(&mut request)?;
        // The kind of the request and its version.
        let body: &[u8] = match (request[1], request[3]) {
            // ApiVersions: SaslHandshake to version 1, ApiVersions and SaslAuthenticate of version 0.
            (18, 0) => b"\0\0\0\0\0\x03\0\x11\0\0\0\x01\0\x12\0\0\0\0\0\x24\0\0\0\0",
            // Of a later version: an unsupported one.
            (18, _) => b"\0\x23\0\0\0\0",
            (17, _) => b"\0\0\0\0\0\x01\0\x05PLAIN",
            // SaslAuthenticate: SASL_AUTHENTICATION_FAILED.
            _ => b"\0\x3a\0\0\0\0\0\0",
        };
        let length = 4 + body.len() as u32;
        let response = [&length.to_be_bytes()[..], &request[4..8], body].concat();
        client.write_all(&response)?;
    }
}

pub fn a_fatal_error_of_the_client_ends_the_consumer_with_status_1() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let file = std::env::temp_dir().join(format!("seenguard-fatal-{}.properties", std::process::id()));
    std::fs::write(&file, "group.instance.id=one").unwrap();
    let consumer = topic.consume("one", &["--kafka-properties", file.to_str().unwrap()]);
    assigned(&consumer);
    // Another consumer has the same name in the group.
    let fenced = RDKafkaRespErr::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
    topic.fail(RDKafkaApiKey::Heartbeat, fenced, 1);
    let (status, log) = consumer.ended();
    assert_eq!(status.code(), Some(1), "{log}");
    std::fs::remove_file(&file).unwrap();
}

/// Waits until a consumer has all partitions.
fn assigned(consumer: &Program) {
    eventually("it has the partitions", || {
        let count = consumer.number_so_far("seenguard_kafka_assigned_partitions");
        (count == Some(f64::from(PARTITIONS))).then_some(())
    });
}

pub fn an_idle_topic_is_ready_again_once_a_permission_is_back() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let consumer = topic.consume("one", &[]);
    assigned(&consumer);
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    topic.fail(RDKafkaApiKey::Fetch, refused, 10_000);
    eventually("it is not ready", || {
        (consumer.get("/readyz").status == 503).then_some(())
    });
    topic.cluster.clear_request_errors(RDKafkaApiKey::Fetch);
    eventually("it is ready", || (consumer.get("/readyz").status == 200).then_some(()));
}

pub fn an_idle_topic_is_healthy_once_the_leader_of_each_partition_has_responded() {
    const AWAY: i32 = 3;
    let topic = Topic::new(Storage::in_redis(String::new(), "seen:"));
    for partition in 0..PARTITIONS {
        let leader = if partition == 0 { AWAY } else { 1 };
        topic.cluster.partition_leader(TOPIC, partition, Some(leader)).unwrap();
    }
    let group = MockCoordinator::Group(GROUP.to_owned());
    topic.cluster.coordinator(group, 1).unwrap();
    topic.cluster.broker_down(AWAY).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let mut options = seenguard_server::ConsumerOptions::new("one");
    options.ready_for = Duration::from_secs(2);
    let store = seenguard_server::SeenStore::new(
        seenguard_server::MemoryBackend::default(),
        seenguard_server::StoreOptions::default(),
    );
    let kafka = Arc::new(seenguard_server::Kafka::new(&topic.hosts, TOPIC));
    let consumer = seenguard_server::Consumer::new(store.unwrap(), kafka, options);
    let health = consumer.health();
    runtime.spawn(consumer.run(pending()));
    eventually("it is not well", || (!health.is_ready()).then_some(()));
    sleep(Duration::from_secs(3));
    assert!(!health.is_ready());
    topic.cluster.broker_up(AWAY).unwrap();
    eventually("it is well", || health.is_ready().then_some(()));
}

pub fn records_that_are_deleted_before_they_are_read_are_counted() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let consumer = topic.consume("one", &[]);
    service.report("ada", &["a"]);
    knows(&service, "ada", &["a"]);
    assert_eq!(consumer.number("seenguard_kafka_resets_total"), 0.0);
    consumer.pause();
    service.report("ada", &["lost"]);
    // A partition of this cluster has 5 MB at most.
    let large = "x".repeat(500_000);
    for _ in 0..20 {
        topic.write(Some("ada"), Some(&large), None);
    }
    service.report("ada", &["b"]);
    consumer.resume();
    knows(&service, "ada", &["a", "b"]);
    assert_eq!(service.page("ada", &["lost"], 1), ["lost"]);
    eventually("it is counted", || {
        (consumer.number("seenguard_kafka_resets_total") == 1.0).then_some(())
    });
    assert!(
        consumer.log().contains("were deleted before they were read"),
        "{}",
        consumer.log()
    );
    // It is counted once, and later records are applied.
    service.report("ada", &["c"]);
    knows(&service, "ada", &["a", "b", "c"]);
    assert_eq!(consumer.number("seenguard_kafka_resets_total"), 1.0);
}

pub fn a_device_forges_nothing_by_a_collector_that_copies_its_report() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let service = topic.serve();
    let consumer = topic.consume("one", &[]);
    service.report("ada", &["a", "b"]);
    knows(&service, "ada", &["a", "b"]);
    assert_eq!(service.post("/v1/users/ada/unsee", r#"{"ids": ["a"]}"#).status, 204);
    topic.write(Some("ada"), Some(&forged("ada", "a")), None);
    knows(&service, "ada", &["a", "b"]);
    drop(consumer);
}

pub fn a_consumer_ends_in_time_while_redis_hangs_and_commits_nothing() {
    const REPORTS: usize = 200;
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    for user in 0..REPORTS {
        let user = format!("user-{user}");
        let posted = String::from_utf8(body(&user, &["a"], now(), None)).unwrap();
        topic.write(Some(&user), Some(&posted), None);
    }
    redis.pause();
    let consumer = topic.consume("one", &[]);
    eventually("it has all", || {
        let waits = |name| consumer.number_so_far(name).is_some_and(|number| number > 0.0);
        (waits("seenguard_kafka_lag_seconds") && waits("seenguard_kafka_lag_records")).then_some(())
    });
    let start = Instant::now();
    consumer.terminate();
    let (status, log) = consumer.ended();
    let took = start.elapsed();
    assert!(
        status.success() && took < promised("the program ends after SIGTERM"),
        "{took:?} {log}"
    );
    redis.resume();
    let consumer = topic.consume("two", &[]);
    eventually("all are applied", || {
        (consumer.number("seenguard_reports_total") == REPORTS as f64).then_some(())
    });
}

pub fn check_reads_the_topic_and_its_namespaces() {
    let redis = RedisServer::start(&[]);
    let topic = Topic::over(&redis);
    let run = |name: &str, namespace: &str| {
        let options = ["--namespace", namespace, "--kafka", &topic.hosts, "--kafka-topic", name];
        let options = options
            .map(str::to_owned)
            .into_iter()
            .chain(topic.storage.arguments.clone());
        check(["check", "consume"].map(str::to_owned).into_iter().chain(options))
    };
    let (code, printed) = run(TOPIC, "home:{user}");
    assert!(
        code == 0 && printed.contains("namespace: no entries to check"),
        "{printed}"
    );
    // The mock cluster does not have this request, like a broker that denies it.
    assert!(printed.contains("ok     min.insync.replicas: "), "{printed}");
    for user in ["ada", "bob", "eve"] {
        let report = String::from_utf8(body(user, &["a"], now(), None)).unwrap();
        topic.write(Some(user), Some(&report), None);
    }
    let (code, printed) = run(TOPIC, "home:{user}");
    assert!(code == 0 && printed.contains("3 of the first 3"), "{printed}");
    let (code, printed) = run(TOPIC, "explore:{user}");
    assert!(
        code == 1 && printed.contains("wrong  namespace: 3 of the first 3"),
        "{printed}"
    );
    let (code, printed) = run("no-such-topic", "home:{user}");
    assert!(code == 1 && printed.contains("wrong  stream: "), "{printed}");
}

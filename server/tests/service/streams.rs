//! Tests of reports through a Redis stream, and of its consumers.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::streams::StreamRangeReply;
use redis::{Client, Commands, Connection, RedisResult, cmd};

use super::Storage;
use super::program::{Program, command, forged, now};
use crate::redis_server::RedisServer;
use crate::waiting::eventually;
use seenguard_server::testing::{body, device, shows};
use serde_json::json;

const USERS: usize = 40;
const ROUNDS: usize = 15;
const KILLS: usize = 4;

/// A stream in this test's Redis.
struct Stream<'a> {
    storage: &'a Storage,
    name: String,
}

impl<'a> Stream<'a> {
    /// On a cluster each command goes to the stream's node.
    fn new(storage: &'a Storage) -> Self {
        let name = format!("{}reports", storage.arguments.get(3).map_or("", |prefix| prefix));
        Stream { storage, name }
    }

    fn serve(&self) -> Program {
        Program::serve(&self.storage.arguments, &["--stream", &self.name])
    }

    fn consume(&self, name: &str, claim_seconds: &str) -> Program {
        let options = [
            "--stream",
            &self.name,
            "--name",
            name,
            "--claim-seconds",
            claim_seconds,
            "--batch",
            "10",
        ];
        Program::consume(&self.storage.arguments, &options)
    }

    /// Sends a command to the node that has the stream.
    fn ask<T>(&self, ask: impl Fn(&mut Connection, &str) -> RedisResult<T>) -> T {
        let answer = ask(&mut connection(&self.storage.url), &self.name);
        match answer {
            // "MOVED 12182 127.0.0.1:7001"
            Err(error) if error.code() == Some("MOVED") => {
                let address = error
                    .detail()
                    .and_then(|detail| detail.split(' ').next_back())
                    .unwrap()
                    .to_owned();
                ask(&mut connection(&format!("redis://{address}")), &self.name).unwrap()
            }
            answer => answer.unwrap(),
        }
    }

    /// Delivers some of the group's entries to a consumer, which does not acknowledge them.
    fn deliver(&self, consumer: &str, entries: usize) {
        self.ask(|connection, name| {
            cmd("XGROUP")
                .arg(&["CREATE", name, "seenguard", "0"])
                .exec(connection)?;
            let read = [
                "GROUP",
                "seenguard",
                consumer,
                "COUNT",
                &entries.to_string(),
                "STREAMS",
                name,
                ">",
            ];
            cmd("XREADGROUP").arg(&read).exec(connection)
        });
        assert_eq!(self.unacknowledged(), entries);
    }

    fn len(&self) -> usize {
        self.ask(|connection, name| connection.xlen(name))
    }

    /// The number of entries that were delivered and not acknowledged.
    fn unacknowledged(&self) -> usize {
        let pending: (usize, Option<String>, Option<String>, redis::Value) =
            self.ask(|connection, name| cmd("XPENDING").arg(name).arg("seenguard").query(connection));
        pending.0
    }
}

impl Stream<'_> {
    /// The same number, if the group exists yet.
    fn unacknowledged_so_far(&self) -> usize {
        type Pending = (usize, Option<String>, Option<String>, redis::Value);
        let pending: RedisResult<Pending> = cmd("XPENDING")
            .arg(&self.name)
            .arg("seenguard")
            .query(&mut connection(&self.storage.url));
        pending.map_or(0, |pending| pending.0)
    }
}

fn connection(url: &str) -> Connection {
    Client::open(url).unwrap().get_connection().unwrap()
}

pub fn reports_reach_the_chains_through_the_stream(storage: &Storage) {
    let stream = Stream::new(storage);
    let service = stream.serve();
    service.report("ada", &["a"]);
    service.report("ada", &["b"]);
    service.report("bob", &["c"]);
    // Reports are only in the stream, and pending impressions only in the store.
    let pending = shows(&mut device("eve", 1), &["a"], now());
    let posted = body("eve", &["a"], now(), Some(pending.clone()));
    assert_eq!(service.post("/v1/users/eve/impressions", posted).status, 204);
    let entries: StreamRangeReply = stream.ask(|connection, name| connection.xrange_all(name));
    let entries = entries_of(entries);
    assert_eq!(entries.len(), 4);
    for (_, fields) in &entries {
        assert_eq!(fields["form"], "1");
        assert!(
            !fields["report"].contains(&pending) && !fields["report"].contains("pending"),
            "{fields:?}"
        );
    }
    assert_eq!(service.page("ada", &["a", "b"], 2), ["a", "b"]);
    // A report without a pending list counts for pages at once.
    let posted = service.post("/v1/users/zoe/impressions", body("zoe", &["a"], now(), None));
    assert_eq!((posted.status, stream.len()), (204, 5));
    assert_eq!(service.page("zoe", &["a", "b"], 2), ["b"]);
    assert_eq!(service.page("eve", &["a", "b"], 2), ["b"]);
    let refused = service.post("/v1/users/ada/impressions", body("bob", &["a"], now(), None));
    assert_eq!((refused.code(409).as_str(), stream.len()), ("wrong-namespace", 5));

    let consumer = stream.consume("first", "30");
    eventually("all are applied", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("ada", &["a", "b", "c"], 3), ["c"]);
    assert_eq!(service.page("bob", &["a", "b", "c"], 3), ["a", "b"]);
    assert_eq!(consumer.number("seenguard_reports_total"), 5.0);
    assert_eq!(consumer.number("seenguard_lag_seconds_count"), 5.0);
    assert_eq!(consumer.get("/readyz").status, 200);
    service.report("bob", &["a"]);
    eventually("it is applied", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("bob", &["a", "b", "c"], 3), ["b"]);
    consumer.terminate();
    let (status, log) = consumer.ended();
    assert!(status.success(), "{log}");
    assert_eq!(stream.unacknowledged(), 0);
}

pub fn a_consumer_claims_the_entries_of_a_dead_one(storage: &Storage) {
    let stream = Stream::new(storage);
    let service = stream.serve();
    for user in ["ada", "bob", "eve"] {
        service.report(user, &["a"]);
    }
    // This consumer never continues.
    stream.deliver("dead", 2);
    let consumer = stream.consume("alive", "1");
    eventually("all are applied", || (stream.len() == 0).then_some(()));
    for user in ["ada", "bob", "eve"] {
        assert_eq!(service.page(user, &["a", "b"], 2), ["b"]);
    }
    assert_eq!(consumer.number("seenguard_claimed_total"), 2.0);
}

pub fn a_consumer_that_is_started_again_first_applies_its_own_entries(storage: &Storage) {
    let stream = Stream::new(storage);
    let service = stream.serve();
    service.report("ada", &["a"]);
    stream.deliver("one", 1);
    // Entries are claimed only after a day.
    let consumer = stream.consume("one", "86400");
    eventually("it is applied", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
    assert_eq!(consumer.number("seenguard_claimed_total"), 0.0);
    assert!(!consumer.log().contains("WARN"), "{}", consumer.log());
}

pub fn i6_consumers_that_are_killed_lose_nothing(storage: &Storage) {
    let stream = Stream::new(storage);
    let service = stream.serve();
    let users: Vec<String> = (0..USERS).map(|user| format!("user-{user}")).collect();
    let ids: Vec<String> = (0..ROUNDS).map(|round| format!("article-{round}")).collect();
    let mut kills = 0;
    let mut consumer = stream.consume("one", "1");
    let other = stream.consume("other", "1");
    for (round, id) in ids.iter().enumerate() {
        for user in &users {
            service.report(user, &[id]);
        }
        if round % (ROUNDS / KILLS) == 0 {
            consumer.kill();
            kills += 1;
            consumer = stream.consume("one", "1");
        }
    }
    eventually("all are applied", || (stream.len() == 0).then_some(()));
    assert!(kills >= KILLS);
    let mut ranked: Vec<&str> = ids.iter().map(String::as_str).collect();
    ranked.push("never shown");
    for user in &users {
        assert_eq!(service.page(user, &ranked, ranked.len()), ["never shown"], "{user}");
    }
    assert_eq!(stream.unacknowledged(), 0);
    drop((consumer, other));
}

pub fn entries_that_cannot_be_applied_become_dead_letters_and_block_nothing() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let add = |fields: &[&str]| {
        stream.ask(|connection, name| cmd("XADD").arg(name).arg("*").arg(fields).exec(connection));
    };
    let at = now().unix_ms();
    let report = json!({ "namespace": "home:ada", "receivedAt": at, "impressions": [{ "id": "a", "at": at }] });
    let report = &report.to_string();
    add(&["user", "ada"]);
    add(&["report", report]);
    add(&["user", "ada", "report", "no JSON"]);
    add(&["user", "ada:meta", "form", "1", "report", report]);
    // Another user's namespace, among valid reports of the same user.
    add(&["user", "bob", "form", "1", "report", report]);
    // The value of this key is not a list.
    let mut client = redis.client();
    client.set::<_, _, ()>("seen:eve", "no list").unwrap();
    service.report("bob", &["b"]);
    add(&["user", "eve", "form", "1", "report", &report.replace("ada", "eve")]);
    // A report without a form is a device's, whose times are of its clock.
    add(&["user", "ada", "report", report]);
    for form in ["2", "0", "one"] {
        add(&["user", "ada", "form", form, "report", report]);
    }
    let consumer = stream.consume("one", "1");
    eventually("the valid report is applied, and nine become dead letters", || {
        (stream.len() == 1).then_some(())
    });
    assert_eq!(service.page("bob", &["a", "b"], 2), ["a"]);
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 9.0);
    eventually("the report of a key of another type becomes one, too", || {
        (stream.len() == 0).then_some(())
    });
    assert_eq!(stream.unacknowledged(), 0);
    let dead = format!("{{{}}}:dead", stream.name);
    let codes: Vec<(String, HashMap<String, String>)> = client.xrange_all(&dead).map(entries_of).unwrap();
    let codes: Vec<&str> = codes.iter().map(|(_, fields)| fields["code"].as_str()).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            "bad-option",
            "bad-report",
            "bad-report",
            "bad-report",
            "bad-report",
            "bad-report",
            "bad-report",
            "bad-report",
            "storage",
            "wrong-namespace"
        ]
    );
    consumer.kill();
    let list = |more: &[&str]| {
        let arguments = ["dead-letters", "--stream", &stream.name];
        let arguments = arguments.iter().chain(more).map(|&argument| argument.to_owned());
        let output = command(arguments.chain(storage.arguments.iter().cloned()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = list(&[]);
    let counts: Vec<&str> = listed.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(
        counts,
        ["bad-option: 1", "bad-report: 7", "storage: 1", "wrong-namespace: 1"]
    );
    assert_eq!(list(&["--ids"]).lines().count(), codes.len() + counts.len());
    // Once the cause is removed, the dead letters are consumed.
    client.del::<_, ()>("seen:eve").unwrap();
    let again = Stream {
        storage: &storage,
        name: dead,
    };
    let consumer = again.consume("one", "1");
    eventually("the dead letter is applied", || {
        (service.page("eve", &["a", "b"], 2) == ["b"]).then_some(())
    });
    drop(consumer);
}

pub fn a_device_forges_nothing_by_a_producer_that_copies_its_report() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let _consumer = stream.consume("one", "1");
    service.report("ada", &["a", "b"]);
    eventually("it is applied", || {
        (service.page("ada", &["a", "b", "c"], 3) == ["c"]).then_some(())
    });
    assert_eq!(service.post("/v1/users/ada/unsee", r#"{"ids": ["a"]}"#).status, 204);
    add(&stream, &[b"user", b"ada", b"report", forged("ada", "a").as_bytes()]);
    eventually("it is applied", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("ada", &["a", "b", "c"], 3), ["c"]);
}

pub fn damaged_shards_and_dead_letters_are_logged_once_a_second() {
    const EACH: usize = 100;
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let consumer = stream.consume("one", "1");
    let start = Instant::now();
    for number in 0..EACH {
        let user = format!("user-{number}");
        redis
            .client()
            .lpush::<_, _, ()>(format!("seen:{user}"), "no shard")
            .unwrap();
        assert_eq!(service.page(&user, &["a"], 1), ["a"]);
        add(&stream, &[b"no", b"report"]);
    }
    eventually("all become dead letters", || (stream.len() == 0).then_some(()));
    let most = start.elapsed().as_secs() as usize + 1;
    assert_eq!(service.number("seenguard_damaged_total"), EACH as f64);
    assert_eq!(consumer.number("seenguard_dead_letters_total"), EACH as f64);
    for (program, line) in [(&service, "cannot be read"), (&consumer, "moved to the dead letters")] {
        let logged = program.log().matches(line).count();
        assert!((1..=most).contains(&logged), "{line}: {logged} of {most}");
    }
    // Each outage is logged, not only the first one.
    let outages = || service.log().matches("degraded page").count();
    for number in 1..=2 {
        redis.pause();
        service.page_for("ada", &["a"], 1, &[]);
        redis.resume();
        eventually("it is logged", || (outages() == number).then_some(()));
        eventually("Redis answers", || {
            (service.get("/readyz?storage").status == 200).then_some(())
        });
        sleep(Duration::from_secs(1));
    }
}

fn entries_of(range: StreamRangeReply) -> Vec<(String, HashMap<String, String>)> {
    let text = |value| redis::from_redis_value(value).unwrap();
    let fields =
        |map: HashMap<String, redis::Value>| map.into_iter().map(|(name, value)| (name, text(value))).collect();
    range
        .ids
        .into_iter()
        .map(|entry| (entry.id, fields(entry.map)))
        .collect()
}

pub fn the_commands_that_the_docs_list_are_all_that_redis_must_let_it_run() {
    let docs = include_str!("../../../docs/service.md");
    let (_, listed) = docs.split_once("ACL SETUSER seenguard ").unwrap();
    let rules = listed.split("```").next().unwrap().split_whitespace();
    let redis = RedisServer::start(&[]);
    cmd("ACL")
        .arg(&["SETUSER", "seenguard"])
        .arg(rules.collect::<Vec<_>>())
        .exec(&mut redis.client())
        .unwrap();
    let url = format!("redis://seenguard:a-long-password@127.0.0.1:{}", redis.port);
    let storage = Storage {
        arguments: ["--redis", &url].map(str::to_owned).to_vec(),
        url: redis.url(),
    };
    let stream = Stream {
        storage: &storage,
        name: "reports".to_owned(),
    };
    let (service, consumer) = (stream.serve(), stream.consume("one", "1"));
    eventually("it is connected", || {
        (service.get("/readyz?storage").status == 200).then_some(())
    });
    let pending = shows(&mut device("ada", 1), &["a"], now());
    let posted = service.post("/v1/users/ada/impressions", body("ada", &["a"], now(), Some(pending)));
    assert_eq!(posted.status, 204);
    stream.ask(|connection, name| cmd("XADD").arg(name).arg(&["*", "user", "ada"]).exec(connection));
    eventually("both are applied", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
    assert_eq!(service.post("/v1/users/ada/unsee", r#"{"ids": ["a"]}"#).status, 204);
    assert_eq!(service.request("DELETE", "/v1/users/ada/history", &[], "").status, 204);
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 1.0);
    // Long enough for the periodic commands.
    eventually("it claims abandoned entries", || {
        let used: String = cmd("INFO").arg("commandstats").query(&mut redis.client()).ok()?;
        used.contains("cmdstat_xautoclaim").then_some(())
    });
    // The same holds for consuming dead letters.
    let docs = include_str!("../../../docs/streams.md");
    let redrive = docs
        .lines()
        .find(|line| line.contains("--stream '{reports}:dead'"))
        .unwrap();
    let mut redrive: Vec<String> = redrive.split(' ').skip(1).map(|part| part.replace('\'', "")).collect();
    let address = 1 + redrive.iter().position(|argument| argument == "--redis").unwrap();
    redrive[address] = url;
    let (status, log) = Program::start(
        redrive
            .into_iter()
            .chain(["--listen", "127.0.0.1:0"].map(str::to_owned)),
    )
    .ended();
    assert!(status.success(), "{log}");
    let refused: Vec<redis::Value> = cmd("ACL").arg("LOG").query(&mut redis.client()).unwrap();
    assert!(refused.is_empty(), "{refused:?}");
}

pub fn nothing_is_acknowledged_that_another_device_may_show() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let pending = shows(&mut device("ada", 1), &["a"], now());
    let report = || {
        service.post(
            "/v1/users/ada/impressions",
            body("ada", &["a"], now(), Some(pending.clone())),
        )
    };
    // A device's list cannot be stored in a key that is not a hash, although the stream accepts the report.
    let mut client = redis.client();
    client.set::<_, _, ()>("seen:ada:pending", "no hash").unwrap();
    assert_eq!(report().code(503), "storage");
    client.del::<_, ()>("seen:ada:pending").unwrap();
    assert_eq!(report().status, 204);
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
}

pub fn nothing_is_acknowledged_that_is_not_stored() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    service.report("ada", &["a"]);
    service.report("bob", &["a"]);
    // The consumer may read the stream, but not the users' keys.
    let rules = |rules: &[&str]| {
        cmd("ACL")
            .arg("SETUSER")
            .arg("consumer")
            .arg(rules)
            .exec(&mut redis.client())
            .unwrap();
    };
    rules(&["on", ">a-long-password", "~seen:reports", "+@all"]);
    let limited = format!("redis://consumer:a-long-password@127.0.0.1:{}", redis.port);
    let consumer = Program::consume(
        &["--redis", &limited, "--stream", &stream.name].map(str::to_owned),
        &["--name", "one"],
    );
    eventually("it has failed repeatedly", || {
        (consumer.number("seenguard_failed_rounds_total") >= 2.0).then_some(())
    });
    assert_eq!((stream.len(), stream.unacknowledged()), (2, 2));
    rules(&["~seen:*"]);
    eventually("all are applied", || (stream.len() == 0).then_some(()));
    for user in ["ada", "bob"] {
        assert_eq!(service.page(user, &["a", "b"], 2), ["b"]);
    }
}

pub fn a_stream_that_has_filled_redis_drains() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let direct = Program::serve(&storage.arguments, &[]);
    direct.report("eve", &["a"]);
    stream.ask(|connection, name| cmd("XADD").arg(name).arg(&["*", "no", "report"]).exec(connection));
    for user in ["ada", "bob"] {
        service.report(user, &["a"]);
    }
    // The stream never had a consumer.
    cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .exec(&mut redis.client())
        .unwrap();
    // What is pending is stored first.
    for service in [&service, &direct] {
        let posted = service.post("/v1/users/eve/impressions", body("eve", &["b"], now(), None));
        assert_eq!(posted.code(503), "storage");
    }
    let consumer = stream.consume("one", "30");
    eventually("all are applied", || (stream.len() == 0).then_some(()));
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 1.0);
    for user in ["ada", "bob"] {
        assert_eq!(service.page(user, &["a", "b"], 2), ["b"]);
    }
    assert_eq!(stream.unacknowledged(), 0);
    let dead: usize = redis.client().xlen(format!("{{{}}}:dead", stream.name)).unwrap();
    assert_eq!(dead, 1);
}

pub fn a_stream_that_is_too_large_leaves_memory_for_the_chains(storage: &Storage) {
    let stream = Stream::new(storage);
    let service = Program::serve(
        &storage.arguments,
        &["--stream", &stream.name, "--stream-max-bytes", "10000"],
    );
    let ids: Vec<String> = (0..100).map(|id| format!("article-{id}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let report = || service.post("/v1/users/ada/impressions", body("ada", &ids, now(), None));
    eventually("it refuses reports", || {
        let answer = report();
        (answer.status == 503).then(|| assert_eq!(answer.code(503), "stream"))
    });
    assert_eq!(service.post("/v1/users/ada/unsee", r#"{"ids": ["a"]}"#).status, 204);
    let consumer = stream.consume("one", "30");
    eventually("it accepts reports again", || (report().status == 204).then_some(()));
    eventually("all are applied", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("ada", &[ids[0], "b"], 2), ["b"]);
    drop(consumer);
}

pub fn a_consumer_that_was_stopped_loses_nothing_to_the_one_that_overtakes_it(storage: &Storage) {
    let stream = Stream::new(storage);
    let service = stream.serve();
    let stopped = stream.consume("stopped", "1");
    eventually("it waits for entries", || {
        (stopped.get("/readyz").status == 200).then_some(())
    });
    service.report("ada", &["before"]);
    eventually("it has started", || (stream.len() == 0).then_some(()));
    // It gets an entry while it is suspended.
    let entries = eventually("it has an entry", || {
        stopped.pause();
        service.report("ada", &["a"]);
        sleep(Duration::from_millis(100));
        let entries = stream.unacknowledged();
        if entries != stream.len() {
            stopped.resume();
        }
        (entries > 0 && entries == stream.len()).then_some(entries)
    });
    // Newer entries of the same user: another impression, and an `unsee` of the first id.
    let at = now().unix_ms();
    let unseen = json!({ "namespace": "home:ada", "now": at, "impressions": [{ "id": "b", "at": at }],
        "unseen": [{ "id": "a", "at": at }, { "id": "before", "at": at }] });
    let posted = service.post("/v1/users/ada/impressions", unseen.to_string());
    assert_eq!(posted.status, 204);
    let ranked = ["a", "b", "before", "c"];
    let other = stream.consume("other", "86400");
    eventually("it is overtaken", || (stream.len() == entries).then_some(()));
    assert_eq!(service.page("ada", &ranked, 4), ["a", "before", "c"]);
    other.kill();
    let other = stream.consume("other", "1");
    eventually("the other consumer claims its entry", || {
        (stream.len() == 0).then_some(())
    });
    // An id that was unseen before its impression arrived stays seen.
    assert_eq!(service.page("ada", &ranked, 4), ["before", "c"]);
    // It still processes the entry that the other one has applied, so the entry is applied twice.
    stopped.resume();
    service.report("ada", &["d"]);
    eventually("both apply entries", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("ada", &["a", "b", "before", "c", "d"], 5), ["before", "c"]);
    drop((stopped, other));
}

/// Adds an entry as another program.
fn add(stream: &Stream<'_>, fields: &[&[u8]]) {
    stream.ask(|connection, name| cmd("XADD").arg(name).arg("*").arg(fields).exec(connection));
}

pub fn dead_letters_are_never_dropped_by_their_number() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let dead = format!("{{{}}}:dead", stream.name);
    let mut client = redis.client();
    let length = |client: &mut Connection| -> usize { client.xlen(&dead).unwrap() };
    // One of them has expired.
    let fill = "redis.call('XADD', KEYS[1], '1-1', 'code', 'old') \
        for number = 1, 10000 do redis.call('XADD', KEYS[1], '*', 'code', 'storage') end";
    cmd("EVAL").arg(fill).arg(1).arg(&dead).exec(&mut client).unwrap();
    let service = stream.serve();
    let consumer = stream.consume("one", "1");
    eventually("expired letters are removed without a new one", || {
        (length(&mut client) == 10_000).then_some(())
    });
    assert_eq!(consumer.get("/readyz").status, 200);
    add(&stream, &[b"no", b"report"]);
    service.report("ada", &["a"]);
    eventually("it is not ready", || {
        (consumer.get("/readyz").status == 503).then_some(())
    });
    assert_eq!(length(&mut client), 10_000);
    assert!(stream.unacknowledged() > 0);
    client
        .xtrim::<_, ()>(&dead, redis::streams::StreamMaxlen::Equals(9_000))
        .unwrap();
    eventually("it goes on", || (stream.len() == 0).then_some(()));
    eventually("it is ready", || (consumer.get("/readyz").status == 200).then_some(()));
    assert_eq!(length(&mut client), 9_001);
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
}

pub fn an_entry_of_another_program_blocks_nothing() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    add(&stream, &[b"\xff", b"\xfe", b"user", b"ada"]);
    let long = "x".repeat(100);
    let fields: Vec<&[u8]> = (0..20_000).map(|_| long.as_bytes()).collect();
    add(&stream, &fields);
    service.report("ada", &["a"]);
    let _consumer = stream.consume("one", "1");
    eventually("all are acknowledged", || (stream.len() == 0).then_some(()));
    assert_eq!(service.page("ada", &["a", "b"], 2), ["b"]);
    let letters: redis::Value = cmd("XRANGE")
        .arg(&[&format!("{{{}}}:dead", stream.name), "-", "+"])
        .query(&mut redis.client())
        .unwrap();
    type Letter = (String, Vec<Vec<u8>>);
    let letters: Vec<Letter> = redis::from_redis_value(letters).unwrap();
    assert_eq!(letters.len(), 2);
    for (_, fields) in &letters {
        assert_eq!(fields[..2], [b"code".to_vec(), b"bad-report".to_vec()]);
    }
    assert_eq!((letters[0].1.len(), letters[1].1.len()), (8, 6));
    assert_eq!((&*letters[1].1[4], letters[1].1[5].len()), (&b"content"[..], 65_536));
}

pub fn a_batch_is_bounded_in_bytes() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let large = vec![b'x'; 1 << 20];
    for _ in 0..40 {
        add(&stream, &[b"user", b"ada", b"report", &large]);
    }
    let consumer = Program::consume(&storage.arguments, &["--stream", &stream.name, "--name", "one"]);
    let mut most = 0;
    eventually("all are acknowledged", || {
        most = most.max(stream.unacknowledged_so_far());
        (stream.len() == 0).then_some(())
    });
    assert!((1..=16).contains(&most), "{most} MiB at once");
    drop(consumer);
}

pub fn a_report_that_is_too_long_for_an_entry_becomes_two() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    // The times of the device's clock have fewer digits than those of the server's clock in the stream.
    let ids: Vec<String> = (0..1_000).map(|id| format!("{id:-<240}")).collect();
    let impressions: Vec<_> = ids.iter().map(|id| json!({ "id": id, "at": 1000 })).collect();
    let report = json!({ "namespace": "home:ada", "now": 1000, "impressions": impressions }).to_string();
    assert!(report.len() < 256 << 10, "{}", report.len());
    assert_eq!(service.post("/v1/users/ada/impressions", report).status, 204);
    assert_eq!(stream.len(), 2);
    let consumer = stream.consume("one", "1");
    eventually("both are applied", || (stream.len() == 0).then_some(()));
    assert_eq!(consumer.number("seenguard_dead_letters_total"), 0.0);
    let ranked: Vec<&str> = ids.iter().map(String::as_str).chain(["new"]).collect();
    assert_eq!(service.page("ada", &ranked, 10), ["new"]);
}

pub fn a_consumer_that_is_gone_leaves_the_group() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let consumers = || -> Vec<String> {
        let about: redis::streams::StreamInfoConsumersReply =
            redis.client().xinfo_consumers(&stream.name, "seenguard").unwrap();
        about.consumers.into_iter().map(|consumer| consumer.name).collect()
    };
    // One consumer has an entry, the others have none.
    stream.serve().report("ada", &["a"]);
    stream.deliver("has one", 1);
    for name in ["has none", "late"] {
        let create = ["CREATECONSUMER", &stream.name, "seenguard", name];
        cmd("XGROUP").arg(&create).exec(&mut redis.client()).unwrap();
    }
    assert_eq!(consumers().len(), 3);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let connection = || seenguard_server::RedisConnection::open(redis.url()).unwrap();
    let store = seenguard_server::SeenStore::new(
        seenguard_server::MemoryBackend::default(),
        seenguard_server::StoreOptions::default(),
    );
    let mut options = seenguard_server::ConsumerOptions::new("one");
    options.claim_after = Duration::from_secs(3_600);
    options.remove_idle_after = Duration::from_millis(500);
    sleep(Duration::from_secs(1));
    let consumer = seenguard_server::Consumer::new(
        store.unwrap(),
        std::sync::Arc::new(seenguard_server::Stream::new(connection(), &stream.name)),
        options,
    );
    runtime.spawn(consumer.run(std::future::pending()));
    eventually("consumers without entries are removed", || {
        let mut left = consumers();
        left.sort();
        (left == ["has one", "one"]).then_some(())
    });
}

pub fn a_rebuild_from_a_stream_in_use_ends_and_reports_no_lag() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let ids: Vec<String> = (0..50).map(|id| format!("article-{id}")).collect();
    for id in &ids {
        service.report("ada", &[id]);
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Entries are appended all the time.
        scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                service.report("bob", &["a"]);
            }
        });
        let mut consumer = Program::consume(
            &storage.arguments,
            &["--stream", &stream.name, "--name", "one", "--batch", "5", "--until-end"],
        );
        let mut lag = None;
        let ended = eventually("it ends", || {
            lag = consumer.number_if_running("seenguard_lag_seconds_count").or(lag);
            consumer.has_ended()
        });
        is_done.store(true, Ordering::SeqCst);
        assert!(ended.success(), "{}", consumer.log());
        assert!(lag.is_none_or(|lag| lag == 0.0), "{lag:?}");
    });
    let ranked: Vec<&str> = ids.iter().map(String::as_str).chain(["new"]).collect();
    assert_eq!(service.page("ada", &ranked, 10), ["new"]);
}

/// Starts a consumer with wrong options.
fn mistaken(stream: &Stream<'_>, options: &[&str]) -> Program {
    let own = [
        "consume",
        "--listen",
        "127.0.0.1:0",
        "--stream",
        &stream.name,
        "--name",
        "one",
    ];
    let own = own.into_iter().chain(options.iter().copied()).map(str::to_owned);
    Program::start(own.chain(stream.storage.arguments[..2].iter().cloned()))
}

pub fn a_consumer_with_a_wrong_namespace_or_prefix_acknowledges_nothing() {
    const REPORTS: usize = 150;
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let users: Vec<String> = (0..REPORTS).map(|user| format!("user-{user}")).collect();
    for user in &users {
        service.report(user, &["a"]);
        redis
            .client()
            .set::<_, _, ()>(format!("other:{user}"), "no list")
            .unwrap();
    }
    for (options, named) in [
        (["--namespace", "other:{user}", "--prefix", "seen:"], "--namespace"),
        (["--namespace", "home:{user}", "--prefix", "other:"], "--prefix"),
    ] {
        let (status, log) = mistaken(&stream, &options).ended();
        assert_eq!(status.code(), Some(78), "{log}");
        assert!(log.contains(named), "{log}");
        assert_eq!(stream.len(), REPORTS);
        assert!(
            !redis
                .client()
                .exists::<_, bool>(format!("{{{}}}:dead", stream.name))
                .unwrap()
        );
    }
    let _consumer = stream.consume("one", "1");
    eventually("all are applied", || (stream.len() == 0).then_some(()));
    for user in &users {
        assert_eq!(service.page(user, &["a", "b"], 2), ["b"], "{user}");
    }
}

pub fn entries_of_another_namespace_are_held_until_one_is_applied() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    let service = stream.serve();
    let dead = || {
        redis
            .client()
            .xlen::<_, usize>(format!("{{{}}}:dead", stream.name))
            .unwrap()
    };
    let at = now().unix_ms();
    let report = json!({ "namespace": "home:eve", "receivedAt": at, "impressions": [{ "id": "a", "at": at }] });
    let report = report.to_string();
    let add_odd = || {
        for _ in 0..3 {
            add(&stream, &[b"user", b"ada", b"form", b"1", b"report", report.as_bytes()]);
        }
    };
    add_odd();
    let consumer = stream.consume("one", "1");
    eventually("it is not ready", || {
        (consumer.get("/readyz").status == 503).then_some(())
    });
    assert_eq!((stream.len(), stream.unacknowledged(), dead()), (3, 3, 0));
    assert!(consumer.log().contains("holding entries"), "{}", consumer.log());
    service.report("ada", &["a"]);
    eventually("they become dead letters", || (stream.len() == 0).then_some(()));
    assert_eq!(dead(), 3);
    eventually("it is ready", || (consumer.get("/readyz").status == 200).then_some(()));
    add_odd();
    eventually("later ones become dead letters at once", || {
        (stream.len() == 0 && dead() == 6).then_some(())
    });
    consumer.kill();
    add_odd();
    let _consumer = Program::consume(
        &storage.arguments,
        &["--stream", &stream.name, "--name", "one", "--set-aside-all"],
    );
    eventually("they become dead letters with the option", || {
        (dead() == 9).then_some(())
    });
}

/// Adds reports of another user's namespace.
fn add_of_another_namespace(stream: &Stream<'_>, count: usize) {
    let report = json!({ "namespace": "home:eve", "now": 1000, "impressions": [{ "id": "a", "at": 1000 }] });
    let script = "for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'user', 'ada', 'report', ARGV[2]) end";
    stream.ask(|connection, name| {
        let mut add = cmd("EVAL");
        add.arg(script).arg(1).arg(name).arg(count).arg(report.to_string());
        add.exec(connection)
    });
}

pub fn held_entries_that_an_operator_removes_no_longer_count() {
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    add_of_another_namespace(&stream, 60);
    let consumer = stream.consume("one", "1");
    let is_held = || {
        eventually("it is not ready", || {
            (consumer.get("/readyz").status == 503 && stream.unacknowledged_so_far() == 60).then_some(())
        });
    };
    is_held();
    let entries: StreamRangeReply = stream.ask(|connection, name| connection.xrange_all(name));
    let ids: Vec<String> = entries.ids.into_iter().map(|entry| entry.id).collect();
    stream.ask(|connection, name| cmd("XACK").arg(name).arg("seenguard").arg(&ids).exec(connection));
    stream.ask(|connection, name| connection.xdel::<_, _, ()>(name, &ids));
    eventually("it is ready", || (consumer.get("/readyz").status == 200).then_some(()));
    // Together with removed entries they would reach the limit.
    add_of_another_namespace(&stream, 60);
    is_held();
}

pub fn many_entries_of_another_namespace_slow_a_consumer_down() {
    const SOON: Duration = Duration::from_secs(10);
    let redis = RedisServer::start(&[]);
    let storage = Storage::in_redis(redis.url(), "seen:");
    let stream = Stream::new(&storage);
    stream.serve().report("ada", &["a"]);
    add_of_another_namespace(&stream, 1_500);
    let consumer = Program::consume(&storage.arguments, &["--stream", &stream.name, "--name", "one"]);
    eventually("it has logged that", || {
        consumer.log().contains("consuming slowly").then_some(())
    });
    let left = stream.len();
    assert!(left >= 300, "{left}");
    sleep(Duration::from_secs(2));
    assert_eq!(stream.len(), left);
    // The pause between batches does not delay the end.
    let start = Instant::now();
    consumer.terminate();
    let (status, log) = consumer.ended();
    assert!(status.success() && start.elapsed() < SOON, "{log}");
}

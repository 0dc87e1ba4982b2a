//! Tests of operation: authorization, shutdown, limits, metrics and logs.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use seenguard::Time;
use seenguard_server::testing::{body, device, shows};
use serde_json::json;

use super::program::{Program, check, command, now, rest, send};
use crate::redis_server::RedisServer;
use crate::waiting::{PATIENCE, eventually, promised};

pub fn beyond_the_loopback_the_service_needs_a_token() {
    let refused = command(["--listen", "0.0.0.0:0"].map(str::to_owned)).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("--token-file"),
        "{refused:?}"
    );

    let file = std::env::temp_dir().join(format!("seenguard-token-{}", std::process::id()));
    let given = ["--listen", "0.0.0.0:0", "--token-file", &file.to_string_lossy()].map(str::to_owned);
    for (content, output) in [("", "empty"), ("too short", "16 characters")] {
        fs::write(&file, content).unwrap();
        let refused = command(given.clone()).output().unwrap();
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(1) && text.contains(output), "{text}");
    }
    const TOKENS: [&str; 3] = ["a-first-token-0123", "a-second-token-456", "a-third-token-7890"];
    fs::write(&file, TOKENS[..2].join("\n")).unwrap();
    let program = Program::start(given);
    let ask = |path: &str, value: &str| program.request("GET", path, &[("Authorization", value)], "");
    for path in ["/v1/users/ada/snapshot", "/metrics", "/openapi.json", "/anything"] {
        assert_eq!(program.get(path).code(401), "unauthorized", "{path}");
        for wrong in [
            "Bearer a-first-token-012",
            "Bearer a-first-token-01234",
            "Bearer",
            "Basic a-first-token-0123",
            "",
        ] {
            assert_eq!(ask(path, wrong).code(401), "unauthorized", "{path}, {wrong}");
        }
    }
    let bearer = |token: &str| format!("Bearer {token}");
    assert_eq!(ask("/v1/users/ada/snapshot", &bearer(TOKENS[0])).status, 200);
    let numbers = ask("/metrics", &bearer(TOKENS[1])).body;
    assert!(!numbers.contains(r#"status="401""#), "{numbers}");
    // The file changes while the program runs; an empty file is ignored.
    fs::write(&file, "").unwrap();
    eventually("it has logged that", || {
        program.log().contains("keeping the previous tokens").then_some(())
    });
    assert_eq!(ask("/metrics", &bearer(TOKENS[0])).status, 200);
    fs::write(&file, TOKENS[1..].join("\n")).unwrap();
    eventually("the new token is accepted", || {
        (ask("/metrics", &bearer(TOKENS[2])).status == 200).then_some(())
    });
    assert_eq!(ask("/metrics", &bearer(TOKENS[0])).code(401), "unauthorized");
    // The tokens of the file do not authorize administration.
    for path in ["/v1/users/ada/export", "/v1/users/forget"] {
        let answer = program.request("POST", path, &[("Authorization", &bearer(TOKENS[2]))], "{}");
        assert_eq!(answer.code(401), "unauthorized", "{path}");
    }
    fs::remove_file(&file).unwrap();
    // The supervisor that restarts it need not have the token.
    assert_eq!(
        (program.get("/healthz").status, program.get("/readyz").status),
        (200, 200)
    );
}

pub fn administration_needs_a_token_of_its_own() {
    const TOKENS: [&str; 2] = ["a-token-of-apps-01", "an-administrator-1"];
    let file = |number: usize| {
        let file = std::env::temp_dir().join(format!("seenguard-token-{number}-{}", std::process::id()));
        fs::write(&file, TOKENS[number]).unwrap();
        file
    };
    let [apps, administrators] = [file(0), file(1)];
    let program = Program::serve(
        &[],
        &[
            "--token-file",
            apps.to_str().unwrap(),
            "--admin-token-file",
            administrators.to_str().unwrap(),
        ],
    );
    let ask = |method: &str, path: &str, token: usize, body: &str| {
        let token = format!("Bearer {}", TOKENS[token]);
        program.request(method, path, &[("Authorization", &token)], body)
    };
    let pending = shows(&mut device("ada", 1), &["c"], now());
    let report = String::from_utf8(body("ada", &["a", "b"], now(), Some(pending.clone()))).unwrap();
    assert_eq!(ask("POST", "/v1/users/ada/impressions", 0, &report).status, 204);
    assert_eq!(ask("POST", "/v1/users/ada/unsee", 0, r#"{"ids": ["a"]}"#).status, 204);
    let export = "/v1/users/ada/export";
    assert_eq!(ask("GET", export, 0, "").code(401), "unauthorized");
    let exported = ask("GET", export, 1, "").json(200);
    assert_eq!(exported["unseen"][0]["id"], "a");
    assert_eq!(exported["seen"], json!([]));
    assert!(
        exported["pending"][0].as_str().unwrap().ends_with(&pending),
        "{exported}"
    );
    assert!(exported["shardBytes"][0].as_u64().unwrap() > 0, "{exported}");
    // Several users, one of them invalid.
    let people = r#"{"users": ["ada", "ada:meta", "bob"]}"#;
    assert_eq!(ask("POST", "/v1/users/forget", 0, people).code(401), "unauthorized");
    let answer = ask("POST", "/v1/users/forget", 1, people).json(200);
    assert_eq!(answer, json!({ "results": [{}, { "code": "bad-option" }, {}] }));
    let exported = ask("GET", export, 1, "").json(200);
    assert_eq!((&exported["unseen"], &exported["pending"]), (&json!([]), &json!([])));
    assert!(exported["forgetBefore"].as_u64().unwrap() > 1_764_000_000, "{exported}");
    let too_many = json!({ "users": vec!["ada"; 1_001] }).to_string();
    assert_eq!(ask("POST", "/v1/users/forget", 1, &too_many).code(413), "too-large");
    // It authorizes nothing else.
    assert_eq!(ask("GET", "/v1/users/ada/snapshot", 1, "").code(401), "unauthorized");
    for file in [apps, administrators] {
        fs::remove_file(file).unwrap();
    }
}

pub fn wrong_options_end_the_service_with_a_message() {
    for (arguments, status, output) in [
        (vec!["--capacity", "0"], 1, "capacity"),
        (vec!["--capacity", "many"], 2, "--capacity"),
        (vec!["--namespace", "home"], 1, "{user}"),
        (vec!["--redis", "redis://127.0.0.1"], 1, "--namespace"),
        (vec!["--redis-file", "/nowhere", "--namespace", "{user}"], 1, "/nowhere"),
        (vec!["--max-body-bytes", "67108865"], 2, "--max-body-bytes"),
        (vec!["--token-file", "/nowhere"], 1, "/nowhere"),
        (vec!["--stream", "reports"], 1, "--redis"),
        (vec!["--redis", "nothing", "--namespace", "{user}"], 1, "redis://"),
        (vec!["consume", "--stream", "reports"], 1, "--redis"),
        (vec!["consume"], 1, "--stream"),
    ] {
        let mut program = command(
            ["--listen", "127.0.0.1:0"]
                .map(str::to_owned)
                .into_iter()
                .filter(|_| arguments[0] != "consume"),
        );
        let ended = program.args(&arguments).output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(status), "{arguments:?}: {text}");
        assert!(text.contains(output), "{arguments:?}: {text}");
    }
}

pub fn a_request_that_takes_too_long_is_cancelled() {
    let program = Program::serve(&[], &["--timeout-seconds", "1"]);
    let mut stream = program.connect();
    send(
        &mut stream,
        "POST /v1/users/ada/page HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    );
    let answer = rest(stream);
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.contains(r#""code":"timeout""#),
        "{answer}"
    );
    assert_eq!(program.page("ada", &["a"], 1), ["a"]);
}

pub fn requests_in_progress_are_completed_before_the_service_ends() {
    let program = Program::serve(&[], &[]);
    let report = String::from_utf8(body("ada", &["a"], now(), None)).unwrap();
    let (first, second) = report.split_at(report.len() / 2);
    let mut stream = program.connect();
    let length = report.len();
    let head = format!("POST /v1/users/ada/impressions HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    send(&mut stream, &(head + first));
    // Once it has responded to a later request, it has read the beginning of this one.
    eventually("it has read the beginning", || {
        (program.get("/healthz").status == 200).then_some(())
    });
    let idle = program.connect();
    // It has accepted this connection, too: one in the backlog would be reset.
    assert_eq!(program.get("/healthz").status, 200);
    program.terminate();
    eventually("it accepts no more connections", || {
        (!program.is_listening()).then_some(())
    });
    send(&mut stream, second);
    let answer = rest(stream);
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    assert_eq!(rest(idle), "");
    let (status, log) = program.ended();
    assert!(status.success(), "{log}");
}

pub fn the_service_drains_at_a_signal_and_ends_at_once_at_a_second_one() {
    let program = Program::serve(&[], &["--drain-seconds", "3600"]);
    program.terminate();
    eventually("it is not ready any more", || {
        (program.get("/readyz").status == 503).then_some(())
    });
    assert_eq!(program.get("/readyz").code(503), "stopping");
    assert_eq!(program.page("ada", &["a"], 1), ["a"]);
    program.terminate();
    assert_eq!(program.ended().0.code(), Some(1));

    let program = Program::serve(&[], &["--drain-seconds", "1"]);
    program.terminate();
    assert!(program.ended().0.success());
}

/// The beginning of a request with a body of unknown length, with this first part.
fn chunked(part: &str) -> String {
    let head = "POST /v1/users/ada/page HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{part}\r\n", part.len())
}

pub fn bodies_of_unknown_length_reserve_only_the_memory_that_they_need() {
    let program = Program::serve(&[], &[]);
    let mut slow: Vec<_> = (0..100).map(|_| program.connect()).collect();
    for stream in &mut slow {
        send(stream, &chunked("{"));
    }
    for _ in 0..10 {
        assert_eq!(program.page("ada", &["a"], 1), ["a"]);
    }
}

pub fn requests_beyond_the_limits_are_refused() {
    let program = Program::serve(&[], &[]);
    // 32 incomplete bodies of 2 MiB.
    let start = Instant::now();
    let part = chunked(&" ".repeat((2 << 20) - 1));
    let mut slow: Vec<_> = (0..32).map(|_| program.connect()).collect();
    for stream in &mut slow {
        send(stream, &part);
    }
    let page = json!({ "ranked": ["an id that needs more room than is left"], "size": 1 }).to_string();
    let busy = eventually("the limit is reached", || {
        let answer = program.post("/v1/users/ada/page", &page);
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(busy.code(503), "busy");
    // Requests without a body and reports get responses, and the incomplete bodies time out.
    assert_eq!(program.get("/v1/users/ada/snapshot").status, 200);
    program.report("ada", &["a"]);
    let answer = rest(slow.remove(0));
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.contains(r#""code":"timeout""#),
        "{answer}"
    );
    let took = start.elapsed();
    assert!(took < promised("a body takes to arrive"), "{took:?}");
    eventually("pages are accepted again", || {
        (program.post("/v1/users/ada/page", &page).status == 200).then_some(())
    });
    // One line a second and cause.
    let logged = program.log().matches(r#""code":"timeout""#).count();
    assert!((1..5).contains(&logged), "{logged}");
}

pub fn a_connection_over_the_limit_waits_for_another_one_to_end() {
    const MOST: usize = 10_000;
    let more = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let limit = rustix::process::Rlimit {
        current: more,
        maximum: more,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let program = Program::serve(&[], &["--idle-seconds", "600"]);
    let mut open: Vec<_> = (0..MOST).map(|_| program.connect()).collect();
    // The last of them gets a response and stays open; the next one waits.
    send(open.last_mut().unwrap(), "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut answer = [0; 12];
    open.last_mut().unwrap().read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let mut waiting = program.connect();
    send(
        &mut waiting,
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    waiting.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    assert!(
        waiting.read(&mut answer).is_err(),
        "it gets a response in addition to {MOST} others"
    );
    open.clear();
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(rest(waiting).starts_with("HTTP/1.1 200"));
}

pub fn i5_pages_of_an_outage_take_little_memory() {
    const PAGES: usize = 1_500;
    /// The bytes of each page that waits, with its connection.
    const BYTES_EACH: u64 = 64 << 10;
    let redis = RedisServer::start(&[]);
    let program = Program::serve(&["--redis".to_owned(), redis.url()], &[]);
    program.report("ada", &["a"]);
    program.page("ada", &["a"], 1);
    let before = program.memory();
    redis.pause();
    let ranked: Vec<String> = (0..100).map(|id| format!("article-{id}")).collect();
    let body = json!({ "ranked": ranked, "size": 1 }).to_string();
    let length = body.len();
    let request = format!(
        "POST /v1/users/ada/page HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut streams: Vec<_> = (0..PAGES).map(|_| program.connect()).collect();
    for stream in &mut streams {
        send(stream, &request);
    }
    let mut most = 0;
    for stream in streams {
        most = most.max(program.memory());
        assert!(rest(stream).contains(r#""degraded":true"#));
    }
    redis.resume();
    let grown = most.saturating_sub(before);
    assert!(grown < PAGES as u64 * BYTES_EACH, "{grown} bytes for {PAGES} pages");
}

pub fn repeated_refusals_are_logged_once_a_second() {
    let program = Program::serve(&[], &[]);
    let start = Instant::now();
    for _ in 0..200 {
        let posted = program.post("/v1/users/ada/impressions", body("bob", &["a"], now(), None));
        assert_eq!(posted.code(409), "wrong-namespace");
        assert_eq!(
            program.post("/v1/users/ada/impressions", "no JSON").code(400),
            "bad-report"
        );
    }
    let most = start.elapsed().as_secs() as usize + 1;
    for code in ["wrong-namespace", "bad-report"] {
        let logged = program.log().matches(code).count();
        assert!((1..=most).contains(&logged), "{code}: {logged} of {most}");
    }
}

pub fn metrics_and_health_may_listen_elsewhere() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let program = Program::serve(&[], &["--admin-listen", &port.to_string()]);
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(program.get(path).code(404), "not-found", "{path}");
    }
    assert_eq!(program.page("ada", &["a"], 1), ["a"]);
    let ask = |path: &str| {
        let answer = ureq::get(format!("http://{port}{path}"))
            .config()
            .http_status_as_error(false)
            .build()
            .call();
        let mut answer = answer.unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    };
    assert_eq!(
        (ask("/healthz").1.as_str(), ask("/readyz").1.as_str()),
        ("ok\n", "ready\n")
    );
    assert!(ask("/metrics").1.contains(r#"route="/v1/users/{user}/page""#));
    assert_eq!(ask("/v1/users/ada/snapshot").0, 404);
    program.terminate();
    assert!(program.ended().0.success());
}

pub fn methods_that_a_client_makes_up_are_one_series() {
    let program = Program::serve(&[], &[]);
    for method in ["BREW", "WHEN", "PUT"] {
        program.request(method, "/v1/users/ada/page", &[], "");
    }
    let series = r#"seenguard_requests_total{route="/v1/users/{user}/page",method="other",status="405"}"#;
    assert_eq!(program.number(series), 3.0);
}

pub fn i5_without_redis_the_service_makes_degraded_pages() {
    let mut redis = RedisServer::start(&[]);
    let arguments = ["--redis".to_owned(), redis.url()];
    let program = Program::serve(&arguments, &[]);
    program.report("ada", &["a"]);
    assert_eq!(program.get("/readyz").body, "ready\n");
    assert_eq!(program.get("/readyz?storage").body, "ready\n");
    let without = |program: &Program| {
        let page = program.post("/v1/users/ada/page", r#"{"ranked": ["a"], "size": 1}"#);
        assert_eq!(
            page.json(200),
            json!({ "items": ["a"], "next": null, "degraded": true })
        );
        let start = Instant::now();
        let posted = program.post("/v1/users/ada/impressions", body("ada", &["b"], now(), None));
        assert_eq!(posted.code(503), "storage");
        let took = start.elapsed();
        assert!(took < promised("a report without Redis is answered by 503"), "{took:?}");
        let snapshot = program.get("/v1/users/ada/snapshot");
        assert_eq!(snapshot.code(503), "storage");
        // The address of Redis is only in the log.
        assert!(!snapshot.body.contains("127.0.0.1"), "{snapshot:?}");
        assert_eq!(program.get("/readyz?storage").code(503), "storage");
        assert_eq!(program.get("/healthz").body, "ok\n");
        assert!(program.number("seenguard_degraded_pages_total") >= 1.0);
    };
    let again = |program: &Program| {
        eventually("it is connected again", || {
            (program.get("/readyz?storage").status == 200).then_some(())
        });
    };
    redis.pause();
    without(&program);
    assert_eq!(program.get("/readyz").status, 200);
    redis.resume();
    again(&program);
    assert_eq!(program.page("ada", &["a", "c"], 2), ["c"]);
    redis.kill();
    without(&program);
    assert_eq!(program.get("/readyz").status, 200);
    // A service that starts meanwhile makes pages, too, and is not ready yet.
    let late = Program::serve(&arguments, &[]);
    without(&late);
    assert_eq!(late.get("/readyz").code(503), "storage");
    redis.restart();
    for program in [&program, &late] {
        again(program);
        assert_eq!(program.get("/readyz").status, 200);
        assert_eq!(program.page("ada", &["a", "b"], 2), ["a", "b"]);
    }
    late.terminate();
    assert!(late.ended().0.success());
}

pub fn a_service_started_without_redis_is_ready_after_a_while() {
    let mut redis = RedisServer::start(&[]);
    redis.kill();
    let arguments = ["--redis".to_owned(), redis.url()];
    let start = |seconds| Program::serve(&arguments, &["--ready-seconds", seconds]);
    let (program, never) = (start("1"), start("3600"));
    assert_eq!(program.get("/healthz").body, "ok\n");
    eventually("it is ready", || (program.get("/readyz").status == 200).then_some(()));
    let page = program.page_for("ada", &["a"], 1, &[]);
    assert_eq!(page, json!({ "items": ["a"], "next": null, "degraded": true }));
    assert_eq!(never.get("/readyz").code(503), "storage");
    for program in [program, never] {
        program.terminate();
        assert!(program.ended().0.success());
    }
}

pub fn redis_over_tls_has_to_show_a_trusted_certificate() {
    let (redis, other) = (RedisServer::start(&[]), RedisServer::start(&[]));
    let ((url, [certificate, _]), (_, [another, _])) = (redis.listen_with_tls(false), other.listen_with_tls(false));
    let serve = |authority: &Path| {
        let arguments = [
            "--listen",
            "127.0.0.1:0",
            "--namespace",
            "home:{user}",
            "--drain-seconds",
            "0",
        ];
        let mut command = command(arguments.into_iter().chain(["--redis", &url]).map(str::to_owned));
        command.env("SSL_CERT_FILE", authority);
        Program::run(command)
    };
    let (program, wary) = (serve(&certificate), serve(&another));
    eventually("it is connected", || {
        (program.get("/readyz?storage").status == 200).then_some(())
    });
    program.report("ada", &["a"]);
    assert_eq!(program.page("ada", &["a", "b"], 2), ["b"]);
    let stored: usize = redis::Commands::llen(&mut redis.client(), "seen:ada").unwrap();
    assert_eq!(stored, 1);
    eventually("it has logged that", || {
        wary.log().contains("invalid peer certificate").then_some(())
    });
    assert_eq!(wary.get("/readyz?storage").code(503), "storage");
}

pub fn credentials_and_certificates_are_read_for_each_connection() {
    let redis = RedisServer::start(&[]);
    let (url, files) = redis.listen_with_tls(true);
    let copy = |name: &str, content: &[u8]| {
        let file = std::env::temp_dir().join(format!("seenguard-{name}-{}", std::process::id()));
        fs::write(&file, content).unwrap();
        file
    };
    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| copy(name, b"-----BEGIN nothing"));
    let address = copy("address", url.as_bytes());
    let options = [
        ("--redis-tls-ca", &ca),
        ("--redis-tls-cert", &cert),
        ("--redis-tls-key", &key),
    ];
    let given = |option: &'static str, file: &std::path::PathBuf| [option.to_owned(), file.display().to_string()];
    let arguments: Vec<String> = options
        .into_iter()
        .flat_map(|(option, file)| given(option, file))
        .collect();
    // A file without a certificate ends the process at the start.
    let mut refused = command(["--namespace", "{user}", "--redis", &url].map(str::to_owned));
    let refused = refused.args(&arguments).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let use_files = |files: &[std::path::PathBuf; 2]| {
        for (to, from) in [(&ca, &files[0]), (&cert, &files[0]), (&key, &files[1])] {
            fs::copy(from, to).unwrap();
        }
    };
    use_files(&files);
    let arguments: Vec<String> = arguments.into_iter().chain(given("--redis-file", &address)).collect();
    let program = Program::serve(&arguments, &[]);
    let is_connected = || (program.get("/readyz?storage").status == 200).then_some(());
    eventually("it is connected with a client certificate", is_connected);
    program.report("ada", &["a"]);
    // Change the certificate and the password, and close the connections.
    let another = redis.renew_certificates();
    let mut client = redis.client();
    redis::cmd("CONFIG")
        .arg(&["SET", "requirepass", "s3cret"])
        .exec(&mut client)
        .unwrap();
    redis::cmd("CLIENT")
        .arg(&["KILL", "TYPE", "normal", "SKIPME", "yes"])
        .exec(&mut client)
        .unwrap();
    eventually("it has lost its connection", || {
        (program.get("/readyz?storage").status == 503).then_some(())
    });
    use_files(&another);
    assert_eq!(program.get("/readyz?storage").status, 503);
    fs::write(&address, url.replace("127.0.0.1", ":s3cret@127.0.0.1")).unwrap();
    eventually("it is connected again", is_connected);
    assert_eq!(program.page("ada", &["a", "b"], 2), ["b"]);
    assert!(program.number("seenguard_redis_reconnects_total") >= 1.0);
    assert!(!program.log().contains("s3cret"), "{}", program.log());
    for file in [ca, cert, key, address] {
        fs::remove_file(file).unwrap();
    }
}

pub fn a_connection_without_a_request_is_closed() {
    let program = Program::serve(&[], &["--idle-seconds", "2"]);
    let start = Instant::now();
    // One connection sends nothing at all, the other nothing after a response.
    let streams = ["", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"].map(|sent| {
        let mut stream = program.connect();
        send(&mut stream, sent);
        stream
    });
    let answers = streams.map(rest);
    let took = start.elapsed();
    assert!((2..8).contains(&took.as_secs()), "{took:?}");
    assert_eq!(answers[0], "");
    assert!(answers[1].starts_with("HTTP/1.1 200"), "{answers:?}");
}

pub fn a_header_that_drips_is_cut_and_an_idle_connection_is_not() {
    let program = Program::serve(&[], &[]);
    let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut idle = program.connect();
    send(&mut idle, request);
    let mut answer = [0; 12];
    idle.read_exact(&mut answer).unwrap();
    // A header that arrives byte by byte without an end, and starts long after the connection.
    let mut dripping = program.connect();
    std::thread::sleep(Duration::from_secs(2));
    let start = Instant::now();
    let limit = promised("a header takes to arrive");
    dripping.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    send(&mut dripping, "GET /healthz HTTP/1.1\r\nX: ");
    let mut is_open = true;
    while is_open && start.elapsed() < limit {
        let _ = dripping.write_all(b"x");
        is_open = dripping
            .read(&mut answer)
            .is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    }
    let took = start.elapsed();
    assert!(!is_open && took > limit / 4, "{took:?}");
    // The other connection has been idle for longer, as connections of a pool are.
    send(&mut idle, &request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    let answers = rest(idle);
    assert!(answers.contains("HTTP/1.1 200"), "{answers}");
    let help = command(["--help".to_owned()]).output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout);
    let (_, idle_seconds) = help.split_once("--idle-seconds").unwrap();
    assert!(
        idle_seconds.split("--").next().unwrap().contains("[default: 75]"),
        "{idle_seconds}"
    );
}

pub fn the_metrics_count_requests_and_their_results() {
    let program = Program::serve(&[], &[]);
    let minute_ago = Time::from_unix_ms(now().unix_ms() - 60_000);
    let mut report: serde_json::Value = serde_json::from_slice(&body("ada", &["a", "b"], minute_ago, None)).unwrap();
    report["now"] = now().unix_ms().into();
    assert_eq!(
        program.post("/v1/users/ada/impressions", report.to_string()).status,
        204
    );
    program.page("ada", &["a", "b", "c"], 2);
    program.page("ada", &["c", "d"], 2);
    assert_eq!(program.number("seenguard_reports_total"), 1.0);
    assert_eq!(program.number("seenguard_impressions_total"), 2.0);
    assert_eq!(program.number("seenguard_short_pages_total"), 1.0);
    assert_eq!(program.number("seenguard_conflicts_total"), 0.0);
    assert_eq!(program.number("seenguard_retries_total"), 0.0);
    // By the device's clock they were shown a minute before.
    assert_eq!(program.number("seenguard_lag_seconds_count"), 2.0);
    let sum = program.number("seenguard_lag_seconds_sum");
    assert!((119.0..300.0).contains(&sum), "{sum}");
    let page = r#"route="/v1/users/{user}/page""#;
    assert_eq!(
        program.number(&format!(
            r#"seenguard_requests_total{{{page},method="POST",status="200"}}"#
        )),
        2.0
    );
    assert_eq!(
        program.number(&format!("seenguard_request_seconds_count{{{page}}}")),
        2.0
    );
}

pub fn commands_and_reconnects_of_redis_are_counted() {
    let mut redis = RedisServer::start(&[]);
    let program = Program::serve(&["--redis".to_owned(), redis.url()], &[]);
    program.report("ada", &["a"]);
    let commands = program.number("seenguard_redis_command_seconds_count");
    assert!(commands >= 2.0, "{commands}");
    assert_eq!(program.number("seenguard_redis_reconnects_total"), 0.0);
    program.page("ada", &["a"], 1);
    assert!(program.number("seenguard_redis_command_seconds_count") > commands);
    redis.kill();
    redis.restart();
    eventually("it is connected again", || {
        program.page("ada", &["a"], 1);
        (program.number("seenguard_redis_reconnects_total") >= 1.0).then_some(())
    });
}

pub fn each_metric_has_a_description_with_advice() {
    let program = Program::serve(&[], &[]);
    program.report("ada", &["a"]);
    let metrics = program.get("/metrics").body;
    let described: Vec<_> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# HELP "))
        .collect();
    assert!(described.len() > 20, "{metrics}");
    for line in described {
        assert!(line.matches(". ").count() + line.matches(": ").count() >= 1, "{line}");
        assert!(line.ends_with('.'), "{line}");
    }
    for series in metrics.lines().filter(|line| line.starts_with("# TYPE ")) {
        let name = series.split(' ').nth(2).unwrap();
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name} is not described");
    }
}

pub fn the_log_has_the_trace_of_a_request() {
    let program = Program::serve(&[], &[]);
    let trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    for parent in [
        format!("00-{trace_id}-00f067aa0ba902b7-01"),
        "00-no-trace-at-all".to_owned(),
    ] {
        let headers = [("traceparent", parent.as_str())];
        let refused = program.request("POST", "/v1/users/ada/impressions", &headers, parent.replace('-', "{"));
        assert_eq!(refused.code(400), "bad-report");
        // One line a second and cause.
        std::thread::sleep(Duration::from_millis(1_100));
    }
    program.terminate();
    let (_, log) = program.ended();
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused: Vec<_> = lines.iter().filter(|line| line["code"] == "bad-report").collect();
    assert_eq!(refused.len(), 2, "{log}");
    assert_eq!(refused[0]["span"]["trace_id"], trace_id, "{log}");
    assert_eq!(refused[1]["span"], json!(null), "{log}");
    assert!(!log.contains("no-trace"), "{log}");
}

pub fn several_feeds_are_served_by_one_process() {
    let redis = RedisServer::start(&[]);
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--drain-seconds",
        "0",
        "--namespace",
        "{user}",
        "--redis",
    ];
    let program = Program::start(arguments.map(str::to_owned).into_iter().chain([redis.url()]));
    let report = |feed: &str| {
        let user = format!("{feed}:ada");
        let impressions = json!([{ "id": "a", "at": now().unix_ms() }]);
        let body = json!({ "namespace": &user, "now": now().unix_ms(), "impressions": impressions });
        assert_eq!(
            program
                .post(&format!("/v1/users/{user}/impressions"), body.to_string())
                .status,
            204
        );
    };
    report("home");
    assert_eq!(program.page("home:ada", &["a", "b"], 2), ["b"]);
    assert_eq!(program.page("explore:ada", &["a", "b"], 2), ["a", "b"]);
    report("explore");
    // Reports of one feed do not affect another.
    let of_home = json!({ "namespace": "home:ada", "now": now().unix_ms(), "impressions": [] }).to_string();
    assert_eq!(
        program.post("/v1/users/explore:ada/impressions", of_home).code(409),
        "wrong-namespace"
    );
    // A person's export and deletion take one call for each feed.
    let bytes = |feed: &str| {
        let exported = program.get(&format!("/v1/users/{feed}:ada/export")).json(200);
        exported["shardBytes"].as_array().unwrap().len()
    };
    assert_eq!((bytes("home"), bytes("explore")), (1, 1));
    let forgotten = program.post("/v1/users/forget", r#"{"users": ["home:ada"]}"#);
    assert_eq!(forgotten.json(200), json!({ "results": [{}] }));
    assert_eq!((bytes("home"), bytes("explore")), (0, 1));
    assert_eq!(program.page("home:ada", &["a", "b"], 2), ["a", "b"]);
    assert_eq!(program.page("explore:ada", &["a", "b"], 2), ["b"]);
}

pub fn the_docs_have_each_option_with_its_default() {
    let docs = include_str!("../../../docs/service.md");
    let (_, table) = docs.split_once("| option | default | sets |").unwrap();
    let rows: Vec<_> = table.split("\n\n").next().unwrap().lines().skip(2).collect();
    let mut names = Vec::new();
    for command_name in [
        &[][..],
        &["consume"],
        &["dead-letters"],
        &["check"],
        &["check", "consume"],
    ] {
        let arguments = command_name
            .iter()
            .chain(&["--help"])
            .map(|&argument| argument.to_owned());
        let help = String::from_utf8(command(arguments).output().unwrap().stdout).unwrap();
        for option in help.split("\n      --").skip(1) {
            let name = option.split([' ', '\n']).next().unwrap();
            let row = rows
                .iter()
                .find(|row| row.split(" | ").next().unwrap().contains(&format!("`--{name}`")));
            let row = row.unwrap_or_else(|| panic!("docs/service.md has no --{name}"));
            // The default of --name is the host's name, or contains the process id.
            if let Some((_, default)) = option.split_once("[default: ").filter(|_| name != "name") {
                let default = default.split(']').next().unwrap();
                assert!(row.contains(&format!("`{default}`")), "--{name}: {default}: {row}");
            }
            for (value, unit) in [("<SECONDS>", "seconds"), ("<BYTES>", "bytes")] {
                assert!(
                    !option.contains(value) || option.to_lowercase().contains(unit),
                    "--{option}"
                );
            }
            names.push(format!("`--{name}`"));
        }
    }
    assert!(names.len() > 60, "{names:?}");
    if cfg!(feature = "kafka") {
        for row in rows {
            for name in row
                .split(" | ")
                .next()
                .unwrap()
                .split_whitespace()
                .filter(|word| word.starts_with('`'))
            {
                let name = name.trim_end_matches(',');
                assert!(names.iter().any(|known| known == name), "there is no {name}");
            }
        }
    }
}

pub fn check_has_a_line_for_each_step() {
    let checked = |arguments: &[&str]| check(["check"].iter().chain(arguments).map(|&argument| argument.to_owned()));
    let mut redis = RedisServer::start(&[]);
    let url = redis.url();
    let storage = ["--redis", &url, "--namespace", "home:{user}", "--stream", "reports"];
    let (code, printed) = checked(&storage);
    assert_eq!(code, 0, "{printed}");
    let lines: Vec<_> = printed.lines().collect();
    assert!(
        lines.len() == 5 && lines.iter().all(|line| line.starts_with("ok ")),
        "{printed}"
    );
    assert!(printed.contains("namespace: no entries to check"), "{printed}");
    let left: Vec<String> = redis::Commands::keys(&mut redis.client(), "*").unwrap();
    assert_eq!(left, [""; 0], "it leaves nothing");
    // A consumer's options, too, and a service in memory.
    assert_eq!(checked(&[&["consume"][..], &storage].concat()).0, 0);
    assert_eq!(checked(&[]).0, 0);
    // The namespace of the entries.
    let program = Program::serve(&["--redis".to_owned(), url.clone()], &["--stream", "reports"]);
    for id in ["a", "b", "c"] {
        program.report("ada", &[id]);
    }
    let (code, printed) = checked(&storage);
    assert!(code == 0 && printed.contains("3 of the first 3"), "{printed}");
    let (code, printed) = checked(&["--redis", &url, "--namespace", "explore:{user}", "--stream", "reports"]);
    assert!(
        code == 1 && printed.contains("wrong  namespace: 3 of the first 3"),
        "{printed}"
    );
    // A command that Redis does not permit.
    let rules = ["SETUSER", "some", "on", "nopass", "~*", "+@all", "-lset"];
    redis::cmd("ACL").arg(&rules).exec(&mut redis.client()).unwrap();
    let some = url.replace("127", "some:x@127");
    let (code, printed) = checked(&["--redis", &some, "--namespace", "home:{user}"]);
    assert!(
        code == 1 && printed.contains("wrong  scripts: ") && printed.contains("replace: "),
        "{printed}"
    );
    let (code, printed) = checked(&[
        "--redis",
        &url.replace("127", "none:x@127"),
        "--namespace",
        "home:{user}",
    ]);
    assert!(code == 1 && printed.contains("wrong  Redis"), "{printed}");
    redis.kill();
    let (code, printed) = checked(&storage);
    assert!(code == 1 && printed.contains("wrong  Redis"), "{printed}");
    // Invalid options and files.
    for (arguments, text) in [
        (vec!["--redis", &url], "--namespace"),
        (vec!["--token-file", "/nowhere"], "/nowhere"),
        (vec!["--capacity", "0"], "capacity"),
        (vec!["--redis-file", "/nowhere", "--namespace", "{user}"], "/nowhere"),
        (
            vec!["--redis", &url, "--namespace", "{user}", "--redis-tls-ca", "/nowhere"],
            "/nowhere",
        ),
        (vec!["consume"], "--stream"),
    ] {
        let (code, printed) = checked(&arguments);
        assert!(
            code == 1 && printed.starts_with("wrong  options: ") && printed.contains(text),
            "{printed}"
        );
    }
}

pub fn the_log_names_no_user() {
    let mut redis = RedisServer::start(&[]);
    let url = format!("redis://:s3cret@127.0.0.1:{}", redis.port);
    let arguments = ["--redis".to_owned(), redis.url()];
    let more = ["--log", "trace"];
    let program = Program::serve(&arguments, &more);
    program.report("ada-lovelace", &["article-17"]);
    program.page("ada-lovelace", &["article-17", "article-18"], 2);
    program.post(
        "/v1/users/ada-lovelace/impressions",
        body("bob-the-builder", &["article-19"], now(), None),
    );
    program.post("/v1/users/ada-lovelace/impressions", r#"{"namespace": "article-20"}"#);
    program.post(
        "/v1/users/ada-lovelace:meta/page",
        r#"{"ranked": ["article-21"], "size": 1}"#,
    );
    // Values that serde's messages quote.
    for (route, body) in [
        (
            "users/ada-lovelace/impressions",
            r#"{"namespace": "home:ada-lovelace", "now": "article-27", "impressions": []}"#,
        ),
        ("users/ada-lovelace/page", r#"{"ranked": ["a"], "size": "article-28"}"#),
        (
            "users/ada-lovelace/page",
            r#"{"ranked": ["a"], "size": 1, "article-29": 1}"#,
        ),
        ("users/ada-lovelace/unsee", r#"{"ids": "article-30"}"#),
        (
            "impressions",
            r#"{"user": "ada-lovelace", "form": "article-31", "report": {}}"#,
        ),
    ] {
        program.post(&format!("/v1/{route}"), body);
    }
    // A damaged shard.
    let mut client = redis.client();
    redis::cmd("LPUSH")
        .arg("seen:ada-lovelace")
        .arg("article-22")
        .exec(&mut client)
        .unwrap();
    redis::cmd("HSET")
        .arg("seen:ada-lovelace:meta")
        .arg("unseen:article-23")
        .arg("x")
        .exec(&mut client)
        .unwrap();
    program.page("ada-lovelace", &["article-24"], 1);
    redis.kill();
    program.post(
        "/v1/users/ada-lovelace/page",
        r#"{"ranked": ["article-25"], "size": 1}"#,
    );
    program.post(
        "/v1/users/ada-lovelace/impressions",
        body("ada-lovelace", &["article-26"], now(), None),
    );
    program.terminate();
    let (status, log) = program.ended();
    assert!(status.success(), "{log}");
    for private in ["ada", "lovelace", "bob", "article"] {
        assert!(!log.contains(private), "{private} is in {log}");
    }
    // Each line of the log is an object, and storage failures have a cause.
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for code in [
        "wrong-namespace",
        "bad-report",
        "bad-option",
        "bad-base64",
        "bad-snapshot",
        "storage",
    ] {
        assert!(lines.iter().any(|line| line["code"] == code), "{code} is not in {log}");
    }

    let failed = lines.iter().find(|line| line["code"] == "storage").unwrap();
    assert!(failed["cause"].as_str().unwrap().len() > 20, "{failed}");

    // The password appears nowhere else.
    let file = std::env::temp_dir().join(format!("seenguard-redis-url-{}", std::process::id()));
    fs::write(&file, format!("{url}\n")).unwrap();
    let given = [
        "--listen",
        "127.0.0.1:0",
        "--namespace",
        "{user}",
        "--redis-file",
        &file.to_string_lossy(),
    ];
    let mut program = command(given.map(str::to_owned));
    let mut process = program.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let mut output = String::new();
    while !output.contains("cannot connect to Redis") {
        log.read_line(&mut output).unwrap();
    }
    process.kill().unwrap();
    process.wait().unwrap();
    fs::remove_file(&file).unwrap();
    assert!(!output.contains("s3cret"), "{output}");
    let help = command(["--help".to_owned()])
        .env("SEENGUARD_REDIS", &url)
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("s3cret"), "{help:?}");
}

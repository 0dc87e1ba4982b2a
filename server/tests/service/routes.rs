//! Tests of the routes' requests and responses.

use seenguard::device::{DEFAULT_REMEMBER, Guard};
use seenguard::{ChainSnapshot, PlanJson, PlanOptions, Snapshot, plan};
use serde_json::{Value, json};

use super::Storage;
use super::program::{Program, forged, now, texts};
use seenguard_server::testing::{body, device};

const RANKED: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

pub fn reported_items_are_left_out_of_pages(storage: &Storage) {
    let program = Program::serve(&storage.arguments, &[]);
    assert_eq!(program.page("ada", &RANKED, 3), ["a", "b", "c"]);
    program.report("ada", &["a", "c"]);
    assert_eq!(program.page("ada", &RANKED, 3), ["b", "d", "e"]);
    assert_eq!(program.page("bob", &RANKED, 3), ["a", "b", "c"]);
    // Also sent as text, and for a user whose name must be percent-encoded.
    let name = "a/b é?";
    let posted = program.request(
        "POST",
        "/v1/users/a%2Fb%20%C3%A9%3F/impressions",
        &[("Content-Type", "text/plain;charset=UTF-8")],
        body(name, &["a"], now(), None),
    );
    assert_eq!(posted.status, 204, "{posted:?}");
    assert_eq!(program.page("a%2Fb%20%C3%A9%3F", &RANKED, 2), ["b", "c"]);
}

pub fn a_page_continues_at_the_cursor_of_the_previous_one(storage: &Storage) {
    let program = Program::serve(&storage.arguments, &[]);
    let first = program.page_for("ada", &RANKED, 2, &[]);
    program.report("ada", &["a", "b"]);
    let ask = |cursor: &Value| {
        let request = json!({ "ranked": RANKED, "size": 2, "cursor": cursor }).to_string();
        program.post("/v1/users/ada/page", request).json(200)
    };
    let second = ask(&first["next"]);
    assert_eq!(texts(&second["items"]), ["c", "d"]);
    let third = ask(&second["next"]);
    assert_eq!(
        (texts(&third["items"]), &third["next"]),
        (vec!["e".into(), "f".into()], &Value::Null)
    );
    // Any other string requests the first page.
    assert_eq!(texts(&ask(&json!("no cursor"))["items"]), ["c", "d"]);
}

pub fn shards_that_a_device_has_are_sent_as_references(storage: &Storage) {
    // Each shard is full after one report, so that several are sealed.
    let program = Program::serve(&storage.arguments, &["--capacity", "2"]);
    program.report("ada", &RANKED);
    let whole = program.get("/v1/users/ada/snapshot");
    assert_eq!(whole.caching, "private, no-store");
    let whole: ChainSnapshot = serde_json::from_str(&whole.body).unwrap();
    assert_eq!(whole.shards.len(), 3);
    let mut guard = Guard::new(30.0, DEFAULT_REMEMBER).unwrap();
    guard.apply(Snapshot::from(&whole), now()).unwrap();

    let held = guard.held();
    let page = program.page_for("ada", &["a", "g"], 1, &[("Seen-Held", &held)]);
    let alone = program
        .request("GET", "/v1/users/ada/snapshot", &[("Seen-Held", &held)], "")
        .json(200);
    for snapshot in [&page["snapshot"], &alone] {
        let snapshot: ChainSnapshot = serde_json::from_value(snapshot.clone()).unwrap();
        assert!(
            snapshot.shards.iter().all(|shard| shard.starts_with('~')),
            "{snapshot:?}"
        );
        guard.apply(Snapshot::from(&snapshot), now()).unwrap();
        assert_eq!(guard.filter(&["a", "g"], now()), [1]);
    }
}

pub fn i1_an_item_pending_on_one_device_does_not_come_on_another(storage: &Storage) {
    let program = Program::serve(&storage.arguments, &[]);
    let [mut desk, mut phone] = [1, 2].map(|seed| device("ada", seed));
    let pending = |device: &mut Guard, ids: &[&str]| {
        device.record(ids, now());
        device.pending_list(4_000, now())
    };
    let shown = pending(&mut desk, &["a", "b"]);
    let page = program.page_for("ada", &RANKED, 2, &[("Seen-Pending", &shown)]);
    assert_eq!(texts(&page["items"]), ["c", "d"]);
    let nothing = pending(&mut phone, &[]);
    let page = program.page_for("ada", &RANKED, 2, &[("seen-pending", &nothing)]);
    assert_eq!(texts(&page["items"]), ["c", "d"]);
    // A report can send it, too.
    let shown = pending(&mut desk, &["c"]);
    let posted = program.post("/v1/users/ada/impressions", body("ada", &["a"], now(), Some(shown)));
    assert_eq!(posted.status, 204);
    assert_eq!(program.page("ada", &RANKED, 2), ["d", "e"]);
    // The pending list of another user's device is ignored.
    let mut other = device("bob", 3);
    let others = pending(&mut other, &["d"]);
    program.page_for("ada", &RANKED, 2, &[("Seen-Pending", &others)]);
    assert_eq!(program.page("ada", &RANKED, 2), ["d", "e"]);
}

pub fn unseen_ids_and_deleted_histories_are_fresh_again(storage: &Storage) {
    let program = Program::serve(&storage.arguments, &[]);
    program.report("ada", &RANKED);
    assert_eq!(
        program.post("/v1/users/ada/unsee", r#"{"ids": ["b", "d"]}"#).status,
        204
    );
    let page = program.page_for("ada", &RANKED, 6, &[]);
    assert_eq!(texts(&page["items"]), ["b", "d"]);
    assert_eq!(page["snapshot"]["unseen"].as_array().map(Vec::len), Some(2));
    let deleted = program.request("DELETE", "/v1/users/ada/history", &[], "");
    assert_eq!(deleted.status, 204);
    let page = program.page_for("ada", &RANKED, 6, &[]);
    assert_eq!(texts(&page["items"]), RANKED);
    assert!(page["snapshot"]["forgetBefore"].as_u64() >= Some(now().unix_seconds() - 60));
}

pub fn seen_items_fill_up_pages_if_they_may() {
    let program = Program::serve(&[], &[]);
    program.report("ada", &["a", "b"]);
    let ask = |repeats: &str| {
        let request = json!({ "ranked": ["a", "b", "c"], "size": 2, "repeats": repeats }).to_string();
        program.post("/v1/users/ada/page", request).json(200)
    };
    assert_eq!(texts(&ask("drop")["items"]), ["c"]);
    assert_eq!(texts(&ask("last")["items"]), ["c", "a"]);
}

pub fn a_wrong_request_gets_its_code() {
    let program = Program::serve(&[], &[]);
    let (page, report, unsee) = ("/v1/users/ada/page", "/v1/users/ada/impressions", "/v1/users/ada/unsee");
    let another = r#"{"namespace": "home:bob", "now": 1, "impressions": []}"#;
    let of_a_long_name = format!("/v1/users/{}/snapshot", "x".repeat(60_000));
    for (method, path, body, status, code) in [
        ("GET", of_a_long_name.as_str(), "", 400, "bad-option"),
        ("POST", page, "", 400, "bad-request"),
        ("POST", page, "{", 400, "bad-request"),
        ("POST", page, r#"{"size": 1}"#, 400, "bad-request"),
        ("POST", page, r#"{"ranked": [], "size": -1}"#, 400, "bad-request"),
        ("POST", page, r#"{"ranked": [17], "size": 1}"#, 400, "bad-request"),
        ("POST", page, r#"{"ranked": [["a"]], "size": 1}"#, 400, "bad-request"),
        (
            "POST",
            page,
            r#"{"ranked": [], "size": 1, "repeats": "first"}"#,
            400,
            "bad-request",
        ),
        (
            "POST",
            page,
            r#"{"ranked": [], "size": 1, "curser": "a"}"#,
            400,
            "bad-request",
        ),
        ("POST", page, r#"{"ranked": [], "size": 0}"#, 400, "bad-option"),
        ("POST", page, r#"{"ranked": [], "size": 10001}"#, 400, "bad-option"),
        ("POST", report, "not JSON", 400, "bad-report"),
        (
            "POST",
            report,
            r#"{"namespace": "home:ada", "now": 1}"#,
            400,
            "bad-report",
        ),
        ("POST", report, another, 409, "wrong-namespace"),
        ("POST", unsee, r#"{"ids": "a"}"#, 400, "bad-request"),
        (
            "POST",
            "/v1/users/ada:meta/page",
            r#"{"ranked": [], "size": 1}"#,
            400,
            "bad-option",
        ),
        ("GET", "/v1/users/%ff/snapshot", "", 400, "bad-request"),
        ("GET", "/v1/plan?perDay=10&windowDays=30", "", 400, "bad-request"),
        (
            "GET",
            "/v1/plan?perDay=0&windowDays=30&falsePositiveRate=0.1",
            "",
            400,
            "bad-option",
        ),
        (
            "GET",
            "/v1/plan?perDay=1e9&windowDays=30&falsePositiveRate=0.1",
            "",
            400,
            "too-large",
        ),
        ("GET", page, "", 405, "method-not-allowed"),
        ("GET", "/v1/users//snapshot", "", 400, "bad-option"),
        ("GET", "/v2", "", 404, "not-found"),
    ] {
        let answer = program.request(method, path, &[], body);
        assert_eq!(answer.code(status), code, "{method} {path} {body}: {answer:?}");
    }
    // Nothing of them was applied, and the program still responds.
    assert_eq!(program.page("ada", &RANKED, 6), RANKED);
}

pub fn a_request_may_have_so_much_and_no_more() {
    let program = Program::serve(&[], &["--max-body-bytes", "1000"]);
    let ranked = |ids: usize| json!({ "ranked": vec!["id"; ids], "size": 1 }).to_string();
    assert_eq!(program.post("/v1/users/ada/page", ranked(5)).status, 200);
    assert_eq!(program.post("/v1/users/ada/page", ranked(200)).code(413), "too-large");

    let program = Program::serve(&[], &[]);
    let ids = |count: usize| vec!["id"; count];
    assert_eq!(program.post("/v1/users/ada/page", ranked(20_000)).status, 200);
    assert_eq!(
        program.post("/v1/users/ada/page", ranked(20_001)).code(413),
        "too-large"
    );
    let post = |body: Vec<u8>| program.post("/v1/users/ada/impressions", body);
    assert_eq!(post(body("ada", &ids(1_000), now(), None)).status, 204);
    assert_eq!(post(body("ada", &ids(1_001), now(), None)).code(413), "too-large");
    let long = "x".repeat(90_000);
    assert_eq!(
        post(body("ada", &[&long, &long, &long], now(), None)).code(413),
        "too-large"
    );
    // Too long ids are left out, and the others are applied.
    assert_eq!(post(body("ada", &[&long, "b"], now(), None)).status, 204);
    assert_eq!(program.number("seenguard_ids_left_out_total"), 1.0);
    assert_eq!(program.page("ada", &[&long, "b"], 2), [long.as_str()]);
    assert_eq!(program.number("seenguard_ids_unfiltered_total"), 1.0);
    let longer = "x".repeat(1_500_000);
    assert_eq!(program.page("ada", &["b", &longer], 2), [longer.as_str()]);
    assert_eq!(program.number("seenguard_ids_unfiltered_total"), 2.0);
    assert_eq!(post(body("ada", &[&longer], now(), None)).code(413), "too-large");
    assert_eq!(program.page("ada", &["a"], 1), ["a"]);
}

pub fn a_chain_is_planned_as_the_crate_plans_it() {
    let program = Program::serve(&[], &[]);
    let planned = program
        .get("/v1/plan?perDay=300&windowDays=14&falsePositiveRate=0.01&perRefresh=20")
        .json(200);
    let mut options = PlanOptions::new(300.0, 14.0, 0.01);
    options.per_refresh = 20.0;
    let expected = serde_json::to_value(PlanJson::from(plan(&options).unwrap())).unwrap();
    assert_eq!(planned["shards"], 19);
    assert_eq!(planned, expected);
}

/// Lines of a bulk request: a user, and a report of a server, as it is in the stream, or of a device.
fn lines(records: &[(&str, Value)]) -> String {
    let line = |(user, report): &(&str, Value)| {
        let form = report.get("now").is_none().then_some(1);
        json!({ "user": user, "form": form, "report": report }).to_string() + "\n"
    };
    records.iter().map(line).collect()
}

pub fn reports_of_many_are_applied_at_once(storage: &Storage) {
    let program = Program::serve(&storage.arguments, &[]);
    let at = now().unix_ms();
    let entry = |id: &str| json!([{ "id": id, "at": at }]);
    let report = |user: &str, id: &str| json!({ "namespace": format!("home:{user}"), "receivedAt": at, "impressions": entry(id) });
    let posted: Value = serde_json::from_slice(&body("bob", &["a"], now(), None)).unwrap();
    let unseen_again = json!({ "namespace": "home:ada", "receivedAt": at, "impressions": [], "unseen": entry("a") });
    let batch = lines(&[
        ("ada", report("ada", "a")),
        ("bob", posted),
        ("ada", report("ada", "b")),
        ("eve", report("bob", "a")),
        ("", report("", "a")),
        ("ada", json!("no report")),
        ("ada", unseen_again),
    ]) + "no JSON\n\n";
    for _ in 0..2 {
        // The whole request may be repeated.
        let answer = program.post("/v1/impressions", &batch).json(200);
        let refused = [
            (3, "wrong-namespace"),
            (4, "bad-option"),
            (5, "bad-report"),
            (7, "bad-report"),
        ];
        let refused: Vec<Value> = refused.map(|(line, code)| json!({ "line": line, "code": code })).into();
        assert_eq!(answer, json!({ "taken": 4, "refused": refused }));
        assert_eq!(program.page("ada", &["a", "b", "c"], 3), ["a", "c"]);
        assert_eq!(program.page("bob", &["a", "b"], 2), ["b"]);
        assert_eq!(program.page("eve", &["a", "b"], 2), ["a", "b"]);
    }
    assert_eq!(
        program.post("/v1/impressions", "").json(200),
        json!({ "taken": 0, "refused": [] })
    );
    // An invalid form is not taken for a newer one.
    for form in [json!("1"), json!(0), json!(-1), json!(1.5)] {
        let line = json!({ "user": "ada", "form": form, "report": report("ada", "d") }).to_string();
        let refused = json!([{ "line": 0, "code": "bad-report" }]);
        let answer = program.post("/v1/impressions", line).json(200);
        assert_eq!(answer, json!({ "taken": 0, "refused": refused }), "{form}");
    }
    // A device's report counts as of its record's time: applied late, it does not override a later `unsee`.
    let posted: Value = serde_json::from_slice(&body("bob", &["a"], now(), None)).unwrap();
    let line = |at: Value| json!({ "user": "bob", "at": at, "report": posted }).to_string();
    assert_eq!(program.post("/v1/users/bob/unsee", r#"{"ids": ["a"]}"#).status, 204);
    for (written, page) in [(json!(at - 3_600_000), vec!["a", "b"]), (json!(null), vec!["b"])] {
        assert_eq!(program.post("/v1/impressions", line(written)).json(200)["taken"], 1);
        assert_eq!(program.page("bob", &["a", "b"], 2), page);
    }
    // A request with a record of a newer version is refused as a whole, so that nothing is lost.
    let newer = lines(&[("ada", report("ada", "d"))]) + &json!({ "user": "ada", "form": 2, "report": {} }).to_string();
    assert_eq!(program.post("/v1/impressions", newer).code(503), "newer-form");
    assert_eq!(program.page("ada", &["c", "d"], 2), ["c", "d"]);
}

pub fn a_device_cannot_set_the_arrival_of_a_report_or_delete_a_history() {
    let program = Program::serve(&[], &[]);
    program.report("ada", &["a", "b"]);
    let unsee = || program.post("/v1/users/ada/unsee", r#"{"ids": ["a"]}"#).status;
    assert_eq!(unsee(), 204);
    let report: Value = serde_json::from_str(&forged("ada", "a")).unwrap();
    let line = json!({ "user": "ada", "report": report }).to_string();
    assert_eq!(program.post("/v1/impressions", line).json(200)["taken"], 1);
    assert_eq!(program.page("ada", &["a", "b", "c"], 3), ["c"]);
    assert_eq!(unsee(), 204);
    assert_eq!(
        program.post("/v1/users/ada/impressions", forged("ada", "a")).status,
        204
    );
    assert_eq!(program.page("ada", &["a", "b", "c"], 3), ["c"]);
    // Nor by a report that a job copies without parsing, and that contains more fields after its end.
    for more in [r#", "form": 1"#, r#", "at": 0"#] {
        let line = format!(r#"{{"user":"ada","form":null,"at":null,"report":{report}{more}}}"#);
        let refused = json!([{ "line": 0, "code": "bad-report" }]);
        assert_eq!(
            program.post("/v1/impressions", line).json(200)["refused"],
            refused,
            "{more}"
        );
    }
}

pub fn many_reports_at_once_are_limited() {
    let program = Program::serve(&[], &[]);
    let at = now().unix_ms();
    let of = |user: &str, ids: usize| {
        let impressions: Vec<Value> = (0..ids).map(|id| json!({ "id": id.to_string(), "at": at })).collect();
        json!({ "namespace": format!("home:{user}"), "receivedAt": at, "impressions": impressions })
    };
    let users: Vec<String> = (0..=500).map(|user| user.to_string()).collect();
    let of_users = |users: &[String]| -> String { users.iter().map(|user| lines(&[(user, of(user, 1))])).collect() };
    assert_eq!(
        program.post("/v1/impressions", of_users(&users[1..])).json(200)["taken"],
        500
    );
    assert_eq!(program.post("/v1/impressions", of_users(&users)).code(413), "too-large");
    let of_ids = |more: usize| lines(&vec![("ada", of("ada", 1_000)); 10]) + &lines(&vec![("ada", of("ada", 1)); more]);
    assert_eq!(program.post("/v1/impressions", of_ids(0)).json(200)["taken"], 10);
    assert_eq!(program.post("/v1/impressions", of_ids(1)).code(413), "too-large");
    let large = " ".repeat((1 << 20) + 1);
    assert_eq!(program.post("/v1/impressions", large).code(413), "too-large");
    // The limit also holds for a single report.
    let answer = program
        .post("/v1/impressions", lines(&[("ada", of("ada", 1_001))]))
        .json(200);
    assert_eq!(answer["refused"][0], json!({ "line": 0, "code": "too-large" }));
}

pub fn responses_match_the_openapi_description() {
    let program = Program::serve(&[], &[]);
    let description = program.get("/openapi.json").json(200);
    let paths = description["paths"].as_object().unwrap();
    let mut routes = Vec::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            routes.push(format!("{} {path}", method.to_uppercase()));
            // The route exists, and its responses to invalid requests are described.
            let answer = program.request(&method.to_uppercase(), &path.replace("{user}", "ada"), &[], "[");
            let status = answer.status.to_string();
            assert!(
                operation["responses"].get(&status).is_some(),
                "{method} {path}: {answer:?}"
            );
        }
    }
    routes.sort();
    let expected = [
        "DELETE /v1/users/{user}/history",
        "GET /v1/plan",
        "GET /v1/users/{user}/export",
        "GET /v1/users/{user}/snapshot",
        "POST /v1/impressions",
        "POST /v1/users/forget",
        "POST /v1/users/{user}/impressions",
        "POST /v1/users/{user}/page",
        "POST /v1/users/{user}/unsee",
    ];
    assert_eq!(routes, expected);

    // With all optional fields of a response.
    program.report("bob", &RANKED);
    program.post("/v1/users/bob/unsee", r#"{"ids": ["a"]}"#);
    let page = program.page_for("bob", &RANKED, 1, &[]);
    let schema = |name: &str| &description["components"]["schemas"][name];
    expect_described(&page, schema("Page"));
    expect_described(&page["snapshot"], schema("Snapshot"));
    expect_described(&page["snapshot"]["unseen"][0], schema("Impression"));
    program.request("DELETE", "/v1/users/bob/history", &[], "");
    expect_described(&program.get("/v1/users/bob/snapshot").json(200), schema("Snapshot"));
    expect_described(&program.get("/v2").json(404), schema("Problem"));
    let planned = program
        .get("/v1/plan?perDay=300&windowDays=14&falsePositiveRate=0.01")
        .json(200);
    expect_described(&planned, schema("Plan"));
}

/// Checks that an object has all properties that its schema requires, and none that it does not describe.
fn expect_described(object: &Value, schema: &Value) {
    let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("{schema}"));
    for name in object.as_object().unwrap().keys() {
        assert!(properties.contains_key(name), "{name} of {object} is not in {schema}");
    }
    for name in texts(&schema["required"]) {
        assert!(object.get(&name).is_some(), "{object} lacks {name}");
    }
}

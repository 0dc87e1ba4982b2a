//! Devices' pending lists: how a page leaves their ids out, and how a store stores them.

use crate::common::{START, at, ids, list_of, options};
use seenguard::hash::hash_id;
use seenguard::{
    ChainOptions, MAX_PENDING_DEVICES, PENDING_SECONDS, PageRequest, Pending, PendingUpdate, Repeats, ShardChain,
    Split, StoreKeys,
};

/// The pending list of a device.
fn text(device: &str, counter: &str, ids: &[&str]) -> String {
    format!("{device}.{counter}.0.{}", list_of(ids))
}

/// The name of a device of a namespace, as documented.
fn device(namespace: &str, number: u64) -> String {
    let digits = |mut value: u64, length: usize| {
        let mut text = String::new();
        for _ in 0..length {
            text.insert(0, char::from_digit((value % 36) as u32, 36).unwrap());
            value /= 36;
        }
        text
    };
    digits(hash_id(namespace.as_bytes(), 0), 4) + &digits(number, 8)
}

/// The stored lists after these were reported, a second apart.
fn stored(texts: &[&str]) -> String {
    texts.iter().zip(START..).fold(String::new(), |stored, (text, now)| {
        let pending = PendingUpdate::of(text, None, at(now), PENDING_SECONDS).unwrap();
        let lines = pending.added_to(&stored).unwrap();
        lines.unwrap_or(stored)
    })
}

fn chain(ids: &[&str]) -> ShardChain {
    let mut chain = ShardChain::new(ChainOptions::RECOMMENDED).unwrap();
    chain.record(ids, at(START)).unwrap();
    chain
}

const POOL: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The ids of the pool that are fresh for the requesting device.
fn fresh(chain: &ShardChain, pending: Pending<'_>) -> Vec<&'static str> {
    let fresh = chain.filter(&POOL, pending, at(START + 60)).unwrap();
    fresh.into_iter().map(|index| POOL[index as usize]).collect()
}

/// The stored lists with a request of the device with this list.
fn requested_by<'a>(requesting: &'a str, pending: Pending<'a>) -> Pending<'a> {
    Pending {
        requesting: Some(requesting),
        ..pending
    }
}

#[test]
fn i1_pending_ids_of_another_device_are_left_out() {
    let (phone, tablet) = (device("home:ada", 1), device("home:ada", 2));
    let chain = chain(&["a"]);
    let before = chain.clone();
    let stored = stored(&[&text(&phone, "1", &["b"]), &text(&tablet, "1", &["c"])]);
    let requesting = text(&phone, "2", &["d"]);
    let requesting = Some(requesting.as_str());
    let pending = Pending {
        requesting,
        stored: &stored,
        ..Pending::default()
    };
    // The requesting device's list is that of the request, not the stored one.
    assert_eq!(fresh(&chain, pending), ["b", "e"]);
    let asks_without = text(&phone, "2", &[]);
    assert_eq!(fresh(&chain, requested_by(&asks_without, pending)), ["b", "d", "e"]);
    // For a device without a name or a list, all stored lists are of other devices.
    assert_eq!(
        fresh(
            &chain,
            Pending {
                requesting: None,
                ..pending
            }
        ),
        ["d", "e"]
    );
    let unnamed = text("", "2", &["d"]);
    assert_eq!(fresh(&chain, requested_by(&unnamed, pending)), ["e"]);
    // Neither the chain nor a snapshot contains them.
    let request = PageRequest {
        size: 9,
        pending,
        ..PageRequest::default()
    };
    let page = chain.page(&POOL, &request, at(START + 60)).unwrap();
    assert_eq!(page.snapshot, before.snapshot(at(START + 60), None).unwrap());
}

#[test]
fn an_item_that_is_pending_elsewhere_comes_last_among_seen_items() {
    let stored = stored(&[&text(&device("home:ada", 1), "1", &["a", "d"])]);
    let pending = Pending {
        stored: &stored,
        ..Pending::default()
    };
    let chain = chain(&["a", "b"]);
    let (fresh, seen) = (vec![2, 4], vec![1, 0, 3]);
    assert_eq!(chain.split(&POOL, pending, at(START)).unwrap(), Split { fresh, seen });
    let request = PageRequest {
        size: 5,
        repeats: Repeats::Last,
        pending,
        ..PageRequest::default()
    };
    assert_eq!(chain.page(&POOL, &request, at(START)).unwrap().items, [2, 4, 1, 0, 3]);
}

#[test]
fn i1_another_device_stops_no_id_that_the_chain_lists_as_unseen() {
    let (phone, tablet) = (device("home:ada", 1), device("home:ada", 2));
    let mut chain = chain(&["a", "b"]);
    chain.unsee(&["a", "b"], at(START)).unwrap();
    let stored = stored(&[&text(&phone, "1", &["a", "c"])]);
    let requesting = text(&tablet, "1", &["b"]);
    let pending = Pending {
        requesting: Some(&requesting),
        stored: &stored,
        ..Pending::default()
    };
    // The requesting device's own list stops it.
    assert_eq!(fresh(&chain, pending), ["a", "d", "e"]);
}

#[test]
fn i1_a_list_from_before_the_deletion_is_left_out() {
    let mut chain = chain(&["a"]);
    chain.forget(at(START + 10)).unwrap();
    // The latest deletion that these devices know of: none; and START + 9, 10 and 11.
    let texts = [
        (1, "0", "a"),
        (2, "t68n49", "b"),
        (3, "t68n4a", "c"),
        (4, "t68n4b", "d"),
    ]
    .map(|(number, forgotten, id)| {
        let device = device("home:ada", number);
        format!("{device}.1.{forgotten}.{}", list_of(&[id]))
    });
    let stored = stored(&texts.each_ref().map(String::as_str));
    let pending = Pending {
        stored: &stored,
        ..Pending::default()
    };
    assert_eq!(fresh(&chain, pending), ["a", "b", "e"]);
    let expected = [&POOL[..], &POOL, &["a", "b", "d", "e"], &["a", "b", "c", "e"]];
    for (text, expected) in texts.iter().zip(expected) {
        assert_eq!(fresh(&chain, Some(text.as_str()).into()), expected);
    }
}

#[test]
fn a_list_of_another_namespace_is_ignored_if_the_namespace_is_known() {
    let chain = chain(&["a"]);
    let (own, other) = (device("home:ada", 1), device("home:bob", 1));
    let stored = stored(&[&text(&own, "1", &["b"]), &text(&other, "1", &["c"])]);
    let requesting = text(&device("home:bob", 2), "1", &["d"]);
    let pending = Pending {
        requesting: Some(&requesting),
        stored: &stored,
        ..Pending::default()
    };
    assert_eq!(fresh(&chain, pending), ["e"]);
    let pending = Pending {
        namespace: Some("home:ada"),
        ..pending
    };
    assert_eq!(fresh(&chain, pending), ["c", "d", "e"]);
    assert_eq!(
        PendingUpdate::of(&requesting, Some("home:ada"), at(START + 9), PENDING_SECONDS),
        None
    );
    assert!(PendingUpdate::of(&requesting, Some("home:bob"), at(START + 9), PENDING_SECONDS).is_some());
    // A list without a name may be of any namespace; it is used only for this request.
    let unnamed = text("", "1", &["d"]);
    assert_eq!(fresh(&chain, requested_by(&unnamed, pending)), ["c", "e"]);
    assert_eq!(
        PendingUpdate::of(&unnamed, Some("home:ada"), at(START + 9), PENDING_SECONDS),
        None
    );
}

#[test]
fn i1_a_store_has_each_devices_list_with_the_highest_counter() {
    let phone = device("home:ada", 1);
    let reported = |texts: &[(&str, &[&str])]| {
        let texts: Vec<String> = texts.iter().map(|(counter, ids)| text(&phone, counter, ids)).collect();
        stored(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // Numbers to the base 36: "10" is higher than "z".
    assert_eq!(
        reported(&[("z", &["a"]), ("10", &["b"]), ("z", &["c"]), ("0z", &["c"])]),
        reported(&[("z", &["a"]), ("10", &["b"])])
    );
    let expected = format!("{} {}\n", START + 1, text(&phone, "10", &["b"]));
    assert_eq!(reported(&[("z", &["a"]), ("10", &["b"])]), expected);
    // Of one counter the latest.
    assert_ne!(reported(&[("z", &["a"]), ("z", &["b"])]), reported(&[("z", &["a"])]));
}

#[test]
fn an_unchanged_list_is_not_stored_again() {
    let reported = text(&device("home:ada", 1), "z", &["a"]);
    let stored = stored(&[&reported]);
    let pending = PendingUpdate::of(&reported, None, at(START + 9), PENDING_SECONDS).unwrap();
    assert_eq!(pending.added_to(&stored), Ok(None));
    let empty = text(&device("home:ada", 2), "0", &[]);
    let nothing = PendingUpdate::of(&empty, None, at(START + 9), PENDING_SECONDS).unwrap();
    assert_eq!(nothing.added_to(&stored), Ok(None));
}

#[test]
fn an_empty_list_replaces_an_older_one_and_keeps_its_counter() {
    let (phone, tablet) = (device("home:ada", 1), device("home:ada", 2));
    let (first, other) = (text(&phone, "5", &["a"]), text(&tablet, "1", &["b"]));
    let empty = |counter| text(&phone, counter, &[]);
    assert_eq!(stored(&[&first, &other, &empty("4")]), stored(&[&first, &other]));
    let emptied = stored(&[&first, &other, &empty("6")]);
    let pending = Pending {
        stored: &emptied,
        ..Pending::default()
    };
    assert_eq!(fresh(&chain(&[]), pending), ["a", "c", "d", "e"]);
    // The first one arrives again, late.
    assert_eq!(stored(&[&first, &other, &empty("6"), &first]), emptied);
}

#[test]
fn devices_with_empty_lists_are_dropped_first() {
    let reported = |number: usize, counter, ids: &[&str]| text(&device("home:ada", number as u64), counter, ids);
    let mut texts: Vec<String> = (1..=MAX_PENDING_DEVICES)
        .map(|number| reported(number, "1", &["a"]))
        .collect();
    texts.push(reported(MAX_PENDING_DEVICES, "2", &[]));
    texts.push(reported(MAX_PENDING_DEVICES + 1, "1", &["b"]));
    let stored = stored(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let has = |number: usize| stored.contains(&device("home:ada", number as u64));
    assert!(
        (1..=MAX_PENDING_DEVICES + 1).all(|number| has(number) == (number != MAX_PENDING_DEVICES)),
        "{stored}"
    );
}

#[test]
fn a_script_gets_lists_in_their_shortest_form() {
    let phone = device("home:ada", 1);
    let (long, short) = (text(&phone, "00z", &["a"]), text(&phone, "z", &["a"]));
    let reported = PendingUpdate::of(&long, None, at(START), PENDING_SECONDS).unwrap();
    let command = StoreKeys::of("seen:", "ada", false).unwrap().store_pending(&reported);
    let expected = [&phone, "z", &short, &START.to_string(), "172800", "1"];
    assert_eq!(command.arguments, expected);
}

#[test]
fn i7_only_the_latest_devices_are_stored() {
    let pool = ids("item", 0..MAX_PENDING_DEVICES + 2);
    let texts: Vec<String> = (1..)
        .zip(&pool)
        .map(|(number, id)| text(&device("home:ada", number), "1", &[id]))
        .collect();
    let mut reported: Vec<&str> = texts.iter().map(String::as_str).collect();
    let again = text(&device("home:ada", 1), "2", &["item-0"]);
    reported.insert(MAX_PENDING_DEVICES, &again);
    let stored = stored(&reported);
    assert_eq!(stored.lines().count(), MAX_PENDING_DEVICES);
    let pending = Pending {
        stored: &stored,
        ..Pending::default()
    };
    assert_eq!(chain(&[]).filter(&pool, pending, at(START)).unwrap(), [1, 2]);
}

#[test]
fn a_store_with_too_many_devices_drops_the_oldest_that_was_read() {
    let pool = ids("item", 0..MAX_PENDING_DEVICES + 2);
    // The second oldest list is empty: it is dropped first.
    let line = |(number, id): (usize, &String)| {
        let listed: &[&str] = if number == 1 { &[] } else { &[id] };
        let text = text(&device("home:ada", number as u64), "1", listed);
        format!("{} {text}", START + number as u64)
    };
    let lines: Vec<String> = pool.iter().enumerate().map(line).collect();
    let stored = lines.join("\n");
    let pending = Pending {
        stored: &stored,
        ..Pending::default()
    };
    assert_eq!(chain(&[]).filter(&pool, pending, at(START)).unwrap(), [0, 1]);
    let keys = || StoreKeys::of("seen:", "ada", false).unwrap();
    let dropped = keys().drop_devices(&stored, None).unwrap();
    assert_eq!(dropped.keys, ["seen:ada:pending"]);
    let gone = [0, 1].map(|number| [device("home:ada", number), lines[number as usize].clone()]);
    assert_eq!(dropped.arguments, gone.concat());
    assert_eq!(keys().drop_devices(&lines[2..].join("\n"), None), None);
}

#[test]
fn an_expired_list_is_ignored_and_removed_with_the_next_change() {
    let (phone, tablet) = (device("home:ada", 1), device("home:ada", 2));
    let (first, second) = (text(&phone, "1", &["a"]), text(&tablet, "1", &["b"]));
    let stored = stored(&[&first, &second]);
    // The first was stored 60 seconds before, the second 59.
    let life = 59;
    let pending = Pending {
        stored: &stored,
        stored_seconds: life,
        ..Pending::default()
    };
    assert_eq!(fresh(&chain(&[]), pending), ["a", "c", "d", "e"]);
    let third = text(&device("home:ada", 3), "1", &["c"]);
    let lines = PendingUpdate::of(&third, None, at(START + 60), life)
        .unwrap()
        .added_to(&stored);
    assert_eq!(lines.unwrap().unwrap().lines().count(), 2);
}

#[test]
fn an_invalid_list_is_not_stored_and_stops_nothing() {
    let phone = device("home:ada", 1);
    let valid = text(&phone, "1", &["a"]);
    let list = list_of(&["a"]);
    let broken = [
        String::new(),
        valid.replace('.', ":"),
        valid[..valid.len() - 1].into(),
        format!("{valid} "),
        format!("{valid}!!!!"),
        format!("{phone}.1.{list}"),
        format!("{phone}.1.-1.{list}"),
        format!("{phone}x.1.0.{list}"),
        format!("{valid}{}", list.repeat(1_000)),
    ];
    for text in &broken {
        assert_eq!(
            PendingUpdate::of(text, None, at(START + 9), PENDING_SECONDS),
            None,
            "{text}"
        );
        let lines = format!("{START} {text}\n{text}\nsoon {valid}\n{valid}\n");
        let pending = Pending {
            requesting: Some(text),
            stored: &lines,
            ..Pending::default()
        };
        assert_eq!(fresh(&chain(&[]), pending), POOL, "{text}");
    }
}

#[test]
fn default_stores_agree_with_a_plan() {
    let plan = seenguard::plan(&seenguard::PlanOptions::new(150.0, 30.0, 0.005)).unwrap();
    assert_eq!(plan.chain, ChainOptions::RECOMMENDED);
    let guava = ChainOptions::recommended(seenguard::Format::Guava);
    assert_eq!((guava.ttl_seconds, guava.capacity), (0, 281));
    ShardChain::new(guava).unwrap();
    assert_eq!(
        ShardChain::new(options(7, 5, 3_600))
            .unwrap()
            .life_seconds(at(START))
            .unwrap(),
        3_600 + 900
    );
}

#[test]
fn i5_damaged_fields_next_to_the_shards_are_left_out() {
    let mut first = chain(&["a", "b", "c"]);
    first.unsee(&["a", "b"], at(START)).unwrap();
    let stored = first.stored(at(START)).unwrap();
    let (mut again, _) = ShardChain::from_shards(&stored.shards, ChainOptions::RECOMMENDED).unwrap();
    let fields: Vec<&str> = stored
        .fields
        .iter()
        .flat_map(|(name, value)| [&**name, value])
        .collect();
    assert_eq!(again.restore_fields(&fields), Ok(0));
    assert_eq!(again.stored(at(START)), Ok(stored.clone()));
    for damage in [
        ["forgetBefore", "1e99"],
        ["forgetBefore", "4294967296"],
        ["forgetBefore", ""],
        ["unseen:c", "-1"],
        ["unseen:c", "99999999999999999999"],
        ["unseen:c", "4294967296000"],
    ] {
        let mut fields = fields.clone();
        fields.extend(damage);
        let (mut again, _) = ShardChain::from_shards(&stored.shards, ChainOptions::RECOMMENDED).unwrap();
        assert_eq!(again.restore_fields(&fields), Ok(1), "{damage:?}");
        assert_eq!(again.stored(at(START)), Ok(stored.clone()), "{damage:?}");
    }
    // Unknown fields belong to another writer, and stay.
    let (mut again, _) = ShardChain::from_shards(&stored.shards, ChainOptions::RECOMMENDED).unwrap();
    assert_eq!(again.restore_fields(&["other", "no number"]), Ok(0));
    assert_eq!(
        again.stored(at(START)).unwrap().fields,
        [("other".to_owned(), "no number".to_owned())]
    );
    let many: Vec<String> = (0..1_010)
        .flat_map(|id| [format!("unseen:{id}"), id.to_string()])
        .collect();
    assert_eq!(chain(&["1009"]).restore_fields(&many), Ok(10));
    let broken: [&[u8]; 2] = [b"unseen:\xff", b"1"];
    assert_eq!(chain(&["a"]).restore_fields(&broken), Ok(1));
}

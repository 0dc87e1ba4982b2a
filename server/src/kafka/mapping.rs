//! Maps a team's own tracking events to reports.

use seenguard::{Impression, ReceivedReport, Report, Time};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::{Error, ErrorKind};

/// The placeholder of the user in a namespace.
const USER: &str = "{user}";

/// Maps events to reports by JSON Pointers (RFC 6901). In `ids` a `*` stands for all elements of a list.
///
/// ```
/// use seenguard_server::EventMapping;
///
/// let mapping = EventMapping::parse(
///     r#"{ "user": "/context/userId", "ids": "/items/*/id", "at": "/ts", "atUnit": "s",
///          "when": [{ "field": "/event", "is": ["impression", "view"] }], "namespace": "home:{user}" }"#,
/// )?;
/// let event = br#"{ "event": "view", "context": { "userId": "ada" }, "items": [{ "id": "a" }, { "id": 7 }], "ts": 1764000000 }"#;
/// let written = seenguard::Time::from_unix_seconds(1_764_000_001);
/// let (user, report) = mapping.report(None, event, written)?.expect("it is a view");
/// assert_eq!((user.as_str(), report.impressions[1].id.as_str()), ("ada", "7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventMapping {
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    user_from_key: bool,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    ids: Option<String>,
    #[serde(default)]
    at: Option<String>,
    #[serde(default)]
    at_unit: Unit,
    #[serde(default)]
    when: Vec<Condition>,
    #[serde(default)]
    unseen_when: Vec<Condition>,
    namespace: String,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Ms,
    S,
    Iso,
}

/// The condition that a field has one of these values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    field: String,
    is: Vec<Value>,
}

impl EventMapping {
    /// Parses a mapping from JSON.
    ///
    /// # Errors
    /// [`ErrorKind::BadOption`], with the cause.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refused = |what: &str| Error::new(ErrorKind::BadOption, format!("the event mapping {what}"));
        let mapping: EventMapping =
            serde_json::from_str(text).map_err(|error| refused(&format!("cannot be read: {error}")))?;
        let EventMapping {
            user,
            user_from_key,
            id,
            ids,
            at,
            when,
            unseen_when,
            namespace,
            ..
        } = &mapping;
        if user.is_some() == *user_from_key {
            return Err(refused("must have either \"user\" or \"userFromKey\": true"));
        }
        if id.is_some() == ids.is_some() {
            return Err(refused("must have either \"id\" or \"ids\""));
        }
        if !namespace.contains(USER) {
            return Err(refused(
                "must have a \"namespace\" with {user} in it, as the page opens its guard",
            ));
        }
        let conditions = when.iter().chain(unseen_when).map(|condition| &condition.field);
        for pointer in [user, id, at].into_iter().flatten().chain(conditions) {
            if !pointer.starts_with('/') || pointer.contains("/*") {
                return Err(refused(&format!(
                    "has {pointer:?}, which is not a JSON Pointer to one value, such as \"/item/id\""
                )));
            }
        }
        match ids {
            Some(pointer) if pointer.matches("/*").count() != 1 || !pointer.starts_with('/') => Err(refused(
                "must have in \"ids\" a JSON Pointer with one * for all elements of a list, such as \"/items/*/id\"",
            )),
            _ => Ok(mapping),
        }
    }

    /// Returns the user and the report of an event that was written at this time; `None` if it is not an impression.
    ///
    /// # Errors
    /// The code of the error, if the event is unreadable.
    pub fn report(
        &self,
        key: Option<&[u8]>,
        event: &[u8],
        written: Time,
    ) -> Result<Option<(String, ReceivedReport)>, &'static str> {
        let bad = ErrorKind::BadReport.code();
        let event: Value = crate::json::from_slice(event).map_err(|_| bad)?;
        let hold = |conditions: &[Condition]| conditions.iter().all(|condition| condition.holds(&event));
        let is_unseen = !self.unseen_when.is_empty() && hold(&self.unseen_when);
        if !is_unseen && !hold(&self.when) {
            return Ok(None);
        }
        let user = match &self.user {
            Some(pointer) => event.pointer(pointer).and_then(id_of),
            None => key.and_then(|key| std::str::from_utf8(key).ok()).map(str::to_owned),
        };
        let user = user
            .filter(|user| !user.is_empty())
            .ok_or(ErrorKind::BadOption.code())?;
        let at = match &self.at {
            Some(pointer) => self.at_unit.time(event.pointer(pointer).ok_or(bad)?).ok_or(bad)?,
            None => written,
        };
        let mut report = Report::new(self.namespace.replace(USER, &user), written);
        let entries = if is_unseen {
            &mut report.unseen
        } else {
            &mut report.impressions
        };
        for id in self.ids_of(&event).ok_or(bad)? {
            entries.push(Impression { id, at });
        }
        Ok(Some((user, report.received(written))))
    }

    fn ids_of(&self, event: &Value) -> Option<Vec<String>> {
        let Some((list, rest)) = self.ids.as_deref().and_then(|ids| ids.split_once("/*")) else {
            return Some(vec![id_of(event.pointer(self.id.as_deref()?)?)?]);
        };
        let list = event.pointer(list)?.as_array()?;
        list.iter().map(|item| id_of(item.pointer(rest)?)).collect()
    }
}

impl Condition {
    fn holds(&self, event: &Value) -> bool {
        event.pointer(&self.field).is_some_and(|value| self.is.contains(value))
    }
}

impl Unit {
    fn time(self, value: &Value) -> Option<Time> {
        match self {
            Unit::Ms => Some(Time::from_unix_ms(value.as_f64().filter(|&ms| ms >= 0.0)? as u64)),
            Unit::S => Some(Time::from_unix_ms(
                (value.as_f64().filter(|&s| s >= 0.0)? * 1000.0) as u64,
            )),
            Unit::Iso => {
                let at = OffsetDateTime::parse(value.as_str()?, &Rfc3339).ok()?;
                Some(Time::from_unix_ms(
                    u64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()?,
                ))
            }
        }
    }
}

/// The id in a value: a string, or an integer as a string.
fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WRITTEN: Time = Time::from_unix_seconds(1_764_000_000);

    fn mapping(more: Value) -> Result<EventMapping, Error> {
        let mut all = json!({ "user": "/user", "id": "/id", "namespace": "home:{user}" });
        for (key, value) in more.as_object().unwrap() {
            match value {
                Value::Null => drop(all.as_object_mut().unwrap().remove(key)),
                value => all[key] = value.clone(),
            }
        }
        EventMapping::parse(&all.to_string())
    }

    fn read(more: Value, event: Value) -> Result<Option<(String, ReceivedReport)>, &'static str> {
        mapping(more)
            .unwrap()
            .report(Some(b"key"), event.to_string().as_bytes(), WRITTEN)
    }

    #[test]
    fn events_become_reports() {
        let seconds = |seconds| Time::from_unix_seconds(seconds);
        let views = json!([{ "field": "/event", "is": ["view", 7] }]);
        let hides = json!([{ "field": "/event", "is": ["hide"] }]);
        let lists = json!({ "id": null, "ids": "/items/*/id" });
        for (more, event, user, seen, unseen, at) in [
            (
                json!({}),
                json!({ "user": "ada", "id": "a" }),
                "ada",
                vec!["a"],
                vec![],
                WRITTEN,
            ),
            (
                json!({}),
                json!({ "user": 17, "id": 4 }),
                "17",
                vec!["4"],
                vec![],
                WRITTEN,
            ),
            (
                json!({ "user": null, "userFromKey": true }),
                json!({ "id": "a" }),
                "key",
                vec!["a"],
                vec![],
                WRITTEN,
            ),
            (
                lists,
                json!({ "user": "ada", "items": [{ "id": "a" }, { "id": 2 }] }),
                "ada",
                vec!["a", "2"],
                vec![],
                WRITTEN,
            ),
            (
                json!({ "at": "/at" }),
                json!({ "user": "ada", "id": "a", "at": 1_763_000_000_500_u64 }),
                "ada",
                vec!["a"],
                vec![],
                Time::from_unix_ms(1_763_000_000_500),
            ),
            (
                json!({ "at": "/at", "atUnit": "s" }),
                json!({ "user": "ada", "id": "a", "at": 1_763_000_000 }),
                "ada",
                vec!["a"],
                vec![],
                seconds(1_763_000_000),
            ),
            (
                json!({ "at": "/at", "atUnit": "iso" }),
                json!({ "user": "ada", "id": "a", "at": "2025-11-13T02:13:20+00:00" }),
                "ada",
                vec!["a"],
                vec![],
                seconds(1_763_000_000),
            ),
            // A time in the future becomes now.
            (
                json!({ "at": "/at", "atUnit": "s" }),
                json!({ "user": "ada", "id": "a", "at": 1_765_000_000 }),
                "ada",
                vec!["a"],
                vec![],
                WRITTEN,
            ),
            (
                json!({ "when": views }),
                json!({ "user": "ada", "id": "a", "event": 7 }),
                "ada",
                vec!["a"],
                vec![],
                WRITTEN,
            ),
            (
                json!({ "when": views, "unseenWhen": hides }),
                json!({ "user": "ada", "id": "a", "event": "hide" }),
                "ada",
                vec![],
                vec!["a"],
                WRITTEN,
            ),
        ] {
            let (read_user, report) = read(more, event.clone()).unwrap().unwrap();
            let ids = |entries: &[Impression]| entries.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
            assert_eq!(
                (read_user.as_str(), ids(&report.impressions), ids(&report.unseen)),
                (
                    user,
                    seen.iter().map(|id| id.to_string()).collect(),
                    unseen.iter().map(|id: &&str| id.to_string()).collect()
                ),
                "{event}"
            );
            assert!(
                report
                    .impressions
                    .iter()
                    .chain(&report.unseen)
                    .all(|entry| entry.at == at),
                "{event}: {report:?}"
            );
            assert_eq!(
                (report.namespace, report.received_at),
                (format!("home:{user}"), WRITTEN)
            );
        }
    }

    #[test]
    fn events_that_are_not_impressions_are_skipped_and_unreadable_ones_have_a_code() {
        let views = json!({ "when": [{ "field": "/event", "is": ["view"] }] });
        for event in [json!({ "event": "click" }), json!({ "id": "a" }), json!([])] {
            assert_eq!(read(views.clone(), event.clone()), Ok(None), "{event}");
        }
        for (more, event, code) in [
            (json!({}), json!({ "user": "ada" }), "bad-report"),
            (json!({}), json!({ "user": "ada", "id": 1.5 }), "bad-report"),
            (json!({}), json!({ "user": "ada", "id": null }), "bad-report"),
            (json!({}), json!({ "id": "a" }), "bad-option"),
            (json!({}), json!({ "user": "", "id": "a" }), "bad-option"),
            (
                json!({ "at": "/at" }),
                json!({ "user": "ada", "id": "a", "at": -1 }),
                "bad-report",
            ),
            (
                json!({ "at": "/at", "atUnit": "iso" }),
                json!({ "user": "ada", "id": "a", "at": "yesterday" }),
                "bad-report",
            ),
            (
                json!({ "id": null, "ids": "/items/*/id" }),
                json!({ "user": "ada", "items": [{}] }),
                "bad-report",
            ),
        ] {
            assert_eq!(read(more, event.clone()), Err(code), "{event}");
        }
        assert_eq!(
            mapping(json!({})).unwrap().report(None, b"no JSON", WRITTEN),
            Err("bad-report")
        );
    }

    #[test]
    fn an_error_of_a_mapping_names_the_mistake() {
        for (more, named) in [
            (json!({ "user": null }), "userFromKey"),
            (json!({ "userFromKey": true }), "userFromKey"),
            (json!({ "ids": "/items/*/id" }), "ids"),
            (json!({ "id": null, "ids": "/items/id" }), "one *"),
            (json!({ "id": "item.id" }), "item.id"),
            (json!({ "namespace": "home" }), "{user}"),
            (json!({ "atUnit": "minutes" }), "minutes"),
            (json!({ "jq": ".user" }), "jq"),
        ] {
            let error = mapping(more.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadOption);
            assert!(error.to_string().contains(named), "{more}: {error}");
        }
    }
}

//! A backend elsewhere, behind HTTP: one of `seenguard/server`, which `tests/service/together/promises.test.ts` serves.

use async_trait::async_trait;
use seenguard::PendingToKeep;
use seenguard_server::{Backend, Error, ErrorKind, Loaded, Replacement};
use serde_json::{Value, json};

pub struct OverHttp {
    url: String,
}

impl OverHttp {
    pub fn new(url: String) -> Self {
        OverHttp { url }
    }

    async fn ask(&self, verb: &str, user: &str, what: Value) -> Result<Value, Error> {
        let (url, body) = (format!("{}/{verb}", self.url), json!([user, what]).to_string());
        let ask = move || ureq::post(url).send(body)?.body_mut().read_to_string();
        let answer = tokio::task::spawn_blocking(ask).await.unwrap();
        let wrong = |error: String| Error::new(ErrorKind::WrongType, error);
        serde_json::from_str(&answer.map_err(|error| wrong(error.to_string()))?)
            .map_err(|error| wrong(error.to_string()))
    }

    async fn store(&self, verb: &str, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        let what = json!({
            "revision": replacement.revision,
            "before": *replacement.before,
            "after": *replacement.after,
            "lifeSeconds": replacement.life_seconds,
        });
        Ok(self.ask(verb, user, what).await? == true)
    }
}

fn json_of(told: &PendingToKeep) -> Value {
    json!({ "text": told.text(), "at": told.at().unix_seconds(), "lifeSeconds": told.life_seconds() })
}

#[async_trait]
impl Backend for OverHttp {
    async fn load(&self, user: &str, told: Option<&PendingToKeep>) -> Result<Loaded, Error> {
        let loaded = self.ask("load", user, told.map(json_of).into()).await?;
        let text = loaded.get("stored").map(Value::to_string).unwrap_or_default();
        let kept = loaded["kept"].as_str().unwrap();
        Loaded::of_text(&text, loaded["revision"].as_u64().unwrap(), kept)
    }

    async fn keep(&self, user: &str, told: &PendingToKeep) -> Result<(), Error> {
        self.ask("keep", user, json_of(told)).await.map(drop)
    }

    async fn replace(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        self.store("replace", user, replacement).await
    }

    async fn forget(&self, user: &str, replacement: &Replacement) -> Result<bool, Error> {
        self.store("forget", user, replacement).await
    }
}

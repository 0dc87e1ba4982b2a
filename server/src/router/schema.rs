//! What `/openapi.json` says of JSON that the crate `seenguard` reads and writes.

use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi, ToSchema};

/// The description, without the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Seenguard",
        description = "Never shows a person anything twice: filters and pages ranked ids, and takes what devices report.",
    ),
    modifiers(&Token)
)]
pub struct Description;

/// What requests bring where the program was given a token's file; elsewhere nothing is needed.
struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut Document) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", scheme);
        let nothing = SecurityRequirement::default();
        let token = SecurityRequirement::new("token", Vec::<String>::new());
        document.security = Some(vec![nothing, token]);
    }
}

/// A page.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what PageAnswer writes")]
pub struct Page {
    /// The items of the page, by their ids.
    items: Vec<String>,
    /// The cursor of the next page: short, and safe in a URL. null: there is no more.
    next: Option<String>,
    /// What the items were filtered against: send it to the device, which gives it to `guard.apply`. Absent if the page is
    /// degraded.
    snapshot: Option<Snapshot>,
    /// Whether the page was made without what is stored of its user, which was away: send it to the device, too.
    degraded: Option<bool>,
}

/// What is known to be seen, for a device.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes a seenguard::ChainSnapshot")]
pub struct Snapshot {
    /// Grows with every change.
    version: Option<u64>,
    /// Newest first: base64, or the reference to a shard that the device holds.
    shards: Vec<String>,
    /// The server's clock, Unix seconds.
    now: u64,
    /// Ids that are unseen; absent if none was.
    unseen: Option<Vec<Impression>>,
    /// When the history was deleted, Unix seconds; absent if never.
    forget_before: Option<u64>,
}

/// What a device posts.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes a seenguard::Report")]
pub struct Report {
    /// What the page opened its guard with.
    namespace: String,
    /// The device's clock, Unix milliseconds.
    now: u64,
    /// What was on the screen.
    impressions: Vec<Impression>,
    /// What is unseen.
    unseen: Option<Vec<Impression>>,
    /// What the device has pending.
    pending: Option<String>,
}

/// An id and a time.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes a seenguard::Impression")]
pub struct Impression {
    id: String,
    /// Unix milliseconds.
    at: u64,
}

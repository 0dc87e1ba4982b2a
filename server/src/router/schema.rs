//! The OpenAPI document without the routes.

use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// The document, to which the routes are added.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Seenguard",
        description = "Filters and pages ranked ids so that no person sees an item twice, and stores the impressions that devices report.",
    ),
    modifiers(&Token)
)]
pub struct Description;

/// The bearer token of requests, if the program has a token file.
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

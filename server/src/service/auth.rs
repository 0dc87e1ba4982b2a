//! Access: on the loopback without a token; beyond it with the token.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use subtle::ConstantTimeEq;

use crate::Failure;
use crate::problem::Problem;

/// What a request has to bring; none: nothing.
#[derive(Clone)]
pub struct Token(Option<Arc<str>>);

impl Token {
    /// Reads the token's file. Refuses an address beyond the loopback without one.
    pub fn of(listen: SocketAddr, file: Option<&Path>) -> Result<Self, Failure> {
        let Some(file) = file else {
            return match listen.ip().is_loopback() {
                true => Ok(Token(None)),
                false => Err(format!(
                    "every client that reaches {listen} could read and delete what people have seen: give --token-file, \
                     or listen at 127.0.0.1"
                )
                .into()),
            };
        };
        let text = fs::read_to_string(file).map_err(|error| format!("--token-file {}: {error}", file.display()))?;
        match text.trim() {
            "" => Err(format!("--token-file {} is empty", file.display()).into()),
            token => Ok(Token(Some(token.into()))),
        }
    }

    fn admits(&self, request: &Request) -> bool {
        let Some(token) = &self.0 else { return true };
        let header = request.headers().get(header::AUTHORIZATION);
        let brought = header.and_then(|value| value.to_str().ok()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        // How long it takes must not tell how much of it was right.
        brought.is_some_and(|brought| brought.as_bytes().ct_eq(token.as_bytes()).into())
    }
}

/// Lets pass what has the token.
pub async fn authorize(State(token): State<Token>, request: Request, next: Next) -> Result<Response, Problem> {
    if token.admits(&request) {
        return Ok(next.run(request).await);
    }
    let detail = "bring the token of --token-file: Authorization: Bearer <token>";
    Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail))
}

//! Authorization by tokens, which are optional on the loopback only.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use seenguard_server::Problem;
use subtle::ConstantTimeEq;
use tokio::time::sleep;

use crate::Failure;
use crate::cli::{self, file_error};

/// The interval at which token files are reloaded.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);
const MIN_CHARACTERS: usize = 16;

/// The routes that need a token of --admin-token-file.
const ADMINISTRATION: [&str; 2] = ["/v1/users/{user}/export", "/v1/users/forget"];

/// The valid tokens for each kind of route.
#[derive(Clone)]
pub struct Access {
    all: Tokens,
    administration: Tokens,
}

impl Access {
    /// Reads the files, now and at intervals. Refuses an address beyond the loopback without a token file. Without any
    /// file no request needs a token.
    pub fn of(listen: SocketAddr, file: Option<&Path>, administration: Option<&Path>) -> Result<Self, Failure> {
        if file.is_none() && !listen.ip().is_loopback() {
            return Err(format!(
                "--listen {listen} without --token-file would let every client read and delete histories: add --token-file, \
                 or listen on 127.0.0.1"
            )
            .into());
        }
        let all = file.map(|file| Tokens::read(file, "--token-file")).transpose()?;
        let administration = match (administration, &all) {
            (Some(file), _) => Tokens::read(file, "--admin-token-file")?,
            (None, Some(_)) => Tokens(Some(Arc::default())),
            (None, None) => Tokens(None),
        };
        let all = all.unwrap_or(Tokens(None));
        Ok(Access { all, administration })
    }
}

/// The valid tokens; `None` if requests need no token.
#[derive(Clone)]
struct Tokens(Option<Arc<RwLock<Vec<String>>>>);

impl Tokens {
    fn read(file: &Path, option: &'static str) -> Result<Self, Failure> {
        let tokens = Arc::new(RwLock::new(read(file, option)?));
        tokio::spawn(reload_periodically(file.to_owned(), option, tokens.clone()));
        Ok(Tokens(Some(tokens)))
    }

    fn admit(&self, request: &Request) -> bool {
        let Some(tokens) = &self.0 else { return true };
        let header = request.headers().get(header::AUTHORIZATION);
        let token = header.and_then(|value| value.to_str().ok()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        let Some(sent) = token else { return false };
        let tokens = tokens.read().unwrap_or_else(PoisonError::into_inner);
        // Constant time: the duration must not reveal how much of a token is right.
        tokens
            .iter()
            .any(|token| sent.as_bytes().ct_eq(token.as_bytes()).into())
    }
}

/// Reloads a token file at intervals, so that tokens can be rotated without a restart: add the new token, change the
/// clients, remove the old one.
async fn reload_periodically(file: PathBuf, option: &'static str, tokens: Arc<RwLock<Vec<String>>>) {
    loop {
        sleep(RELOAD_INTERVAL).await;
        match read(&file, option) {
            Ok(read) => *tokens.write().unwrap_or_else(PoisonError::into_inner) = read,
            Err(error) => tracing::warn!(error, "cannot reload the token file, keeping the previous tokens"),
        }
    }
}

fn read(file: &Path, option: &str) -> Result<Vec<String>, String> {
    let text = cli::read(option, file)?;
    let tokens = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tokens: Vec<String> = tokens.map(str::to_owned).collect();
    if tokens.is_empty() {
        return Err(file_error(
            option,
            file,
            &"the file is empty: write one token in each line",
        ));
    }
    if tokens.iter().any(|token| token.len() < MIN_CHARACTERS) {
        return Err(file_error(
            option,
            file,
            &"a token has fewer than 16 characters: make it longer",
        ));
    }
    Ok(tokens)
}

/// Passes requests with a valid token.
pub async fn authorize(
    State(access): State<Access>,
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (tokens, option) = match route {
        Some(route) if ADMINISTRATION.contains(&route.as_str()) => (&access.administration, "--admin-token-file"),
        _ => (&access.all, "--token-file"),
    };
    if tokens.admit(&request) {
        return Ok(next.run(request).await);
    }
    let detail = format!("the request has no valid token: send a token of {option} as Authorization: Bearer <token>");
    Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail))
}

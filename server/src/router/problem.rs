//! Error responses by RFC 9457: `application/problem+json`.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{Error, ErrorKind};

/// The base URL of the documentation's site, relative until it has a host.
const DOCS: &str = "/";

/// An error response: why a request was refused or has failed, and the remedy.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// The URL of the problem's page, on the documentation's site.
    #[serde(rename = "type")]
    #[schema(example = "/service#wrong-namespace")]
    kind: String,
    /// The status in words.
    #[schema(example = "Conflict")]
    title: &'static str,
    /// The status of the response.
    #[schema(example = 409)]
    status: u16,
    /// The cause and the remedy, for people; it may change.
    detail: String,
    /// The stable code, for programs.
    #[schema(example = "wrong-namespace")]
    code: &'static str,
    /// The cause for the log only.
    #[serde(skip)]
    cause: String,
}

impl Problem {
    /// A problem with a stable code, and the remedy.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Problem {
            kind: format!("{DOCS}service#{code}"),
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            detail: detail.into(),
            code,
            cause: String::new(),
        }
    }

    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    /// The request is invalid.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// The request exceeds a limit.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    /// The storage or this process is temporarily unavailable.
    pub fn unavailable(code: &'static str, detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (code, message) = (error.code(), error.to_string());
        match error.kind() {
            ErrorKind::BadReport if code == "too-large" => Problem::too_large(message),
            ErrorKind::BadReport | ErrorKind::BadOption => Problem::new(StatusCode::BAD_REQUEST, code, message),
            ErrorKind::WrongNamespace => {
                let todo = "respond to the device with 409, too, so that it stores its impressions until its person is signed in again";
                Problem::new(StatusCode::CONFLICT, code, format!("{message}; {todo}"))
            }
            ErrorKind::Internal => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, code, message),
            // The storage's address and error are for the log only.
            _ => Problem {
                cause: message,
                ..Problem::unavailable(code, "the storage cannot serve the request: send it again in a moment")
            },
        }
    }
}

impl Problem {
    /// A report could not be appended to the stream.
    #[cfg(feature = "consumer")]
    pub(super) fn of_stream(error: Error) -> Self {
        match error.kind() {
            ErrorKind::BadReport => error.into(),
            _ => Problem {
                cause: error.to_string(),
                ..Problem::unavailable(
                    "stream",
                    "the stream does not accept reports: send it again in a moment",
                )
            },
        }
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Problem::bad_request(format!(
            "the user in the address must be percent-encoded UTF-8: {}",
            rejection.body_text()
        ))
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Problem::bad_request(format!(
            "the query does not match /openapi.json: {}",
            rejection.body_text()
        ))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(Reason {
            code: self.code,
            cause: self.cause,
        });
        response
    }
}

/// The reason of a problem response, for logs.
#[derive(Debug, Clone, Default)]
pub struct Reason {
    /// The code of the problem.
    pub code: &'static str,
    /// Details that are not for clients: the storage's address and error.
    pub cause: String,
}

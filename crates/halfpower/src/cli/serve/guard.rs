//! What every request has to be, and what every answer has.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Longer addresses are refused.
const ADDRESS_MAX: usize = 4096;

/// The names of this server.
#[derive(Clone)]
pub(super) struct Guard(Arc<[String; 2]>);

impl Guard {
    pub(super) fn of(port: u16) -> Guard {
        Guard(Arc::new(["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"))))
    }

    /// Why a request is refused: another site may have made a browser send it.
    fn refuses(&self, headers: &HeaderMap) -> Option<&'static str> {
        let value = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let is_own = |host: &str| self.0.iter().any(|own| own == host);
        if !value(header::HOST).is_some_and(is_own) {
            return Some("this is the server of another host name");
        }
        let origin = value(header::ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(is_own));
        let site = value(HeaderName::from_static("sec-fetch-site"));
        let is_here = origin && site.is_none_or(|site| ["same-origin", "none"].contains(&site));
        (!is_here).then_some("the request comes from another site")
    }
}

/// Refuses what a browser should not have sent, and forbids the pages to load anything.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = if request.uri().to_string().len() > ADDRESS_MAX {
        Refusal(StatusCode::URI_TOO_LONG, "the address is too long".to_owned()).into_response()
    } else if let Some(why) = guard.refuses(request.headers()) {
        Refusal(StatusCode::FORBIDDEN, why.to_owned()).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static("default-src 'none'"));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A page. A random number marks its script and style; the browser runs no other.
pub(super) struct Html(pub(super) String);

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        let Ok(nonce) = super::token() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
        let page = self.0.replace("<script>", &format!("<script nonce=\"{nonce}\">"));
        let page = page.replace("<style>", &format!("<style nonce=\"{nonce}\">"));
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        );
        let kind = (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned());
        ([kind, (header::CONTENT_SECURITY_POLICY, policy)], page).into_response()
    }
}

/// Why there is no answer.
pub(super) struct Refusal(pub(super) StatusCode, pub(super) String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], self.1 + "\n").into_response()
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Refusal {
        let is_gone = matches!(error.downcast_ref(), Some(crate::store::StoreError::NoRun(_)));
        let status = if is_gone { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
        Refusal(status, crate::sanitize::sanitize(&format!("{error:#}")).into_owned())
    }
}

//! The error for a redirect that is not followed, because it leads to another origin or there were too many.

use reqwest::{Response, Url};

use super::{ErrorKind, ModelError};
use crate::domain::redact::Redactor;
use crate::domain::text::{clip, one_line};

/// Returns the error for a redirect from the server at `base`. The error names the origin of the new address, with
/// secrets redacted, or says "another address" if `response` contains no valid one.
pub fn redirect_error(base: &str, response: &Response) -> ModelError {
    let to = response
        .headers()
        .get("location")
        .and_then(|to| response.url().join(to.to_str().ok()?).ok())
        .map_or_else(|| "another address".into(), |to| redacted_origin(&to));
    ModelError::new(
        ErrorKind::Redirected,
        format!(
            "{base} redirects to {}; crewdeck does not follow the redirect, to protect key and conversation",
            clip(&one_line(&to), 200)
        ),
        "If the new address is right, set it with --base-url.",
    )
}

fn redacted_origin(url: &Url) -> String {
    Redactor::default()
        .text(&url.origin().ascii_serialization())
        .into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use crate::model::ErrorKind;
    use crate::model::http::Http;
    use crate::model::openai;

    const KEYS: [&str; 4] = ["x-api-key", "authorization", "api-key", "x-custom-key"];

    fn client(server: &MockServer) -> Http {
        let headers = KEYS.map(|name| (name, "secret".to_string()));
        Http::new(
            &server.uri(),
            headers.into(),
            &openai::SPEC,
            Duration::from_secs(9),
        )
        .unwrap()
    }

    async fn mount_redirect(server: &MockServer, from: &str, to: &str, status: u16) {
        let answer = ResponseTemplate::new(status).insert_header("location", to);
        let mock = Mock::given(path(from)).respond_with(answer);
        mock.mount(server).await;
    }

    #[tokio::test]
    async fn redirect_to_another_origin_is_not_followed() {
        for status in [301, 302, 303, 307, 308] {
            let (first, second) = (MockServer::start().await, MockServer::start().await);
            let there = format!("{}/models", second.uri());
            mount_redirect(&first, "/models", &there, status).await;
            mount_redirect(&first, "/chat", &there, status).await;
            let http = client(&first);
            let listed = http.models("/models").await.unwrap_err();
            let posted = http.post("/chat", serde_json::json!({})).await;
            let posted = posted.err().unwrap();
            for error in [listed, posted] {
                assert_eq!(error.kind, ErrorKind::Redirected, "{status}");
                assert!(error.message.contains(&second.uri()), "{}", error.message);
            }
            assert!(
                second.received_requests().await.unwrap().is_empty(),
                "{status}"
            );
            assert_eq!(
                first.received_requests().await.unwrap().len(),
                2,
                "{status}"
            );
        }
    }

    #[tokio::test]
    async fn redirect_within_the_origin_keeps_the_keys() {
        let server = MockServer::start().await;
        mount_redirect(&server, "/models", "/v2/models", 307).await;
        let list = serde_json::json!({"data": [{"id": "m"}]});
        let mock = Mock::given(path("/v2/models"));
        mock.respond_with(ResponseTemplate::new(200).set_body_json(list))
            .mount(&server)
            .await;
        let found = client(&server).models("/models").await.unwrap();
        assert_eq!(found, ["m"]);
        let requests = server.received_requests().await.unwrap();
        for name in KEYS {
            assert!(requests[1].headers.contains_key(name), "{name}");
        }
    }

    #[tokio::test]
    async fn redirect_loops_end_after_the_maximum() {
        let server = MockServer::start().await;
        mount_redirect(&server, "/models", "/models", 307).await;
        let error = client(&server).models("/models").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Redirected);
        assert!(server.received_requests().await.unwrap().len() <= 7);
    }
}

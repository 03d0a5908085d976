//! The login to an MCP server over HTTP: OAuth 2.1 with an authorization code and PKCE. After the login, the login page
//! redirects the browser to a local port on which crewdeck listens.

use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, OAuthClientConfig, OAuthState,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::call::{LoginChallenge, describe};
use super::credentials::CredentialFile;
use crate::domain::mcp::OAuthClient;
use crate::domain::text::{clip, one_line};
use crate::http::client_builder;

/// Maximum time to wait for the user to log in with the browser. Then the login fails.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum time for one request from the browser. Then the request is ignored, and the wait for the login goes on.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size, in bytes, of a request from the browser. A larger request is ignored.
const REQUEST_MAX: usize = 16 * 1024;
/// The path of the URL to which the browser is redirected after the login.
const CALLBACK_PATH: &str = "/callback";

/// Logs in to the server at `url` as `client`, and stores the tokens in `file`. `challenge` is the `WWW-Authenticate`
/// header with which the server demanded the login; it may be empty. Calls `open` with the URL of the login page, which
/// the user must open in a browser, and waits at most [`LOGIN_TIMEOUT`] for the user.
///
/// # Errors
/// Returns why the login failed, on one line without control characters.
pub async fn login(
    url: &str,
    client: &OAuthClient,
    file: CredentialFile,
    challenge: LoginChallenge,
    open: impl FnOnce(&str) + Send,
) -> Result<(), String> {
    // Creating a client installs the TLS provider that the SDK's HTTP client needs.
    drop(client_builder(url));
    let listener = TcpListener::bind(("127.0.0.1", client.callback_port.unwrap_or(0)))
        .await
        .map_err(|e| match client.callback_port {
            Some(port) => format!(
                "cannot listen for the browser on port {port}: {e}: end the program that uses it, or change \
                 oauth.callbackPort"
            ),
            None => format!("cannot open a local port for the browser to return to after the login: {e}"),
        })?;
    let port = listener
        .local_addr()
        .map_err(|e| {
            format!("cannot open a local port for the browser to return to after the login: {e}")
        })?
        .port();
    // Users register a client with `localhost`, as for other programs. Without a registration, the address is safer.
    let host = match client.callback_port {
        Some(_) => "localhost",
        None => "127.0.0.1",
    };
    let callback = format!("http://{host}:{port}{CALLBACK_PATH}");
    let mut manager = AuthorizationManager::new(url).await.map_err(|e| text(&e))?;
    manager.set_credential_store(file);
    let mut state = OAuthState::Unauthorized(manager);
    let mut request = AuthorizationRequest::new(&callback).with_client_name("crewdeck");
    if !challenge.is_empty() {
        request = request.with_challenge(challenge);
    }
    if let Some(id) = &client.id {
        request = request.with_preregistered_client(id);
        if let Some(secret) = &client.secret {
            request = request.with_client_secret(secret);
        }
    }
    state.start_authorization(request).await.map_err(|e| {
        let hint = match (&e, &client.id) {
            (AuthError::RegistrationFailed(_), None) => {
                ". If the server does not support dynamic client registration, register a client and set oauth.clientId to its id"
            }
            _ => "",
        };
        text(&e) + hint
    })?;
    let page = state.get_authorization_url().await.map_err(|e| text(&e))?;
    if !page.starts_with("https://") && !page.starts_with("http://") {
        return Err("the URL of the login page does not begin with http:// or https://".into());
    }
    let Some(expected) = parameter(&page, "state") else {
        return Err("the URL of the login page has no state parameter".into());
    };
    open(&page);
    let waited = wait_for_callback(&listener, &expected);
    let waited = tokio::time::timeout(LOGIN_TIMEOUT, waited).await;
    let query = waited.map_err(|_| {
        "the login was not completed in the browser within 5 min: log in again".to_string()
    })??;
    state
        .handle_callback_url(&format!("{callback}?{query}"))
        .await
        .map_err(|e| text(&e))
}

/// Returns an authorization manager with the stored tokens, which it renews as `client`; `None` if none are stored.
///
/// # Errors
/// Returns why the stored tokens cannot be used.
pub async fn load_manager(
    url: &str,
    client: &OAuthClient,
    file: CredentialFile,
) -> Result<Option<AuthorizationManager>, AuthError> {
    if !file.exists() {
        return Ok(None);
    }
    let mut manager = AuthorizationManager::new(url).await?;
    manager.set_credential_store(file);
    if !manager.initialize_from_store().await? {
        return Ok(None);
    }
    // The stored tokens are without the secret. If they belong to another client, the SDK does not renew them.
    if let (Some(id), Some(secret)) = (&client.id, &client.secret) {
        let config = OAuthClientConfig::new(id, url).with_client_secret(secret);
        manager.configure_client(config)?;
    }
    Ok(Some(manager))
}

fn text(error: &AuthError) -> String {
    describe(error)
}

/// Returns the value of the query parameter `name` of `url`; `None` if `url` is invalid or has no such parameter.
fn parameter(url: &str, name: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    let mut pairs = url.query_pairs();
    let (_, value) = pairs.find(|(key, _)| key == name)?;
    Some(value.into_owned())
}

/// Waits until the login page redirects the browser to crewdeck with the state `expected`. Returns the query of the
/// requested URL, which contains the authorization code.
///
/// # Errors
/// Fails if the login was refused, or if no connection can be accepted.
async fn wait_for_callback(listener: &TcpListener, expected: &str) -> Result<String, String> {
    loop {
        let (stream, _) = listener
            .accept()
            .await
            .map_err(|e| format!("cannot accept the connection of the browser: {e}"))?;
        // Other requests of the browser, such as that for an icon, do not end the wait.
        if let Ok(Some(answer)) =
            tokio::time::timeout(REQUEST_TIMEOUT, serve(stream, expected)).await
        {
            return answer;
        }
    }
}

/// Answers one HTTP request, and returns the [`callback_query`] of the request. Returns `None` if the request is
/// incomplete or longer than [`REQUEST_MAX`].
async fn serve(mut stream: TcpStream, expected: &str) -> Option<Result<String, String>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > REQUEST_MAX || stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let answer = callback_query(&head, expected);
    let (status, message) = match &answer {
        Some(Ok(_)) => (
            "200 OK",
            "Return to crewdeck for the result. You can close this page.",
        ),
        Some(Err(_)) => ("200 OK", "The login failed. crewdeck shows the reason."),
        None => ("404 Not Found", "Page not found."),
    };
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n{message}",
        message.len()
    );
    // If this fails, the browser shows no page, but the login continues.
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
    answer
}

/// Returns the query of a request for `CALLBACK_PATH`, or an error if the query says that the login was refused.
/// `None` for any other request, and for one with a state other than `expected`: any web page can make the browser send
/// such a request.
fn callback_query(head: &str, expected: &str) -> Option<Result<String, String>> {
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    let (path, query) = target.split_once('?')?;
    if path != CALLBACK_PATH {
        return None;
    }
    let url = format!("http://127.0.0.1/?{query}");
    let value = |name: &str| parameter(&url, name);
    if value("state")? != expected {
        return None;
    }
    if let Some(error) = value("error") {
        let detail = value("error_description").unwrap_or_default();
        let text = format!("the login was refused: {error} {detail}");
        return Some(Err(clip(&one_line(text.trim()), 300)));
    }
    value("code").map(|_| Ok(query.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_callbacks_with_a_code_and_a_state_are_accepted() {
        let request = |target: &str| callback_query(&format!("GET {target} HTTP/1.1\r\n\r\n"), "b");
        assert_eq!(
            request("/callback?code=a&state=b"),
            Some(Ok("code=a&state=b".into()))
        );
        let refused = request("/callback?error=access_denied&error_description=no%0Away&state=b");
        assert!(
            refused
                .unwrap()
                .unwrap_err()
                .starts_with("the login was refused: access_denied no")
        );
        for other in [
            "/favicon.ico",
            "/callback",
            "/callback?code=a",
            "/callback?code=a&state=forged",
            "/callback?error=access_denied",
            "/callback?error=access_denied&state=forged",
            "/x?code=a&state=b",
        ] {
            assert_eq!(request(other), None, "{other}");
        }
        assert_eq!(
            callback_query("POST /callback?code=a&state=b HTTP/1.1", "b"),
            None
        );
    }
}

//! MCP servers over HTTP: headers, logins, redirects and failures.

use std::collections::BTreeMap;
use std::net::TcpListener;

use crewdeck::domain::mcp::{
    OAuthClient, ServerConfig, ServerSource, ServerState, ServerTransport,
};
use crewdeck::domain::redact::Redactor;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::{TestPool, wait_until};

fn http_config(url: &str) -> ServerConfig {
    let headers = [("Authorization", "Bearer secret-token"), ("X-Key", "k")];
    ServerConfig {
        name: "s".into(),
        source: ServerSource::User,
        role: None,
        transport: ServerTransport::Http {
            url: url.into(),
            headers: headers.map(|(k, v)| (k.to_string(), v.to_string())).into(),
        },
        call_timeout: None,
        start_timeout: None,
        oauth: OAuthClient::default(),
        is_always_loaded: false,
    }
}

/// Answers as a server of a protocol version with `initialize`, without event streams.
fn answer(request: &Request) -> ResponseTemplate {
    let message: Value = serde_json::from_slice(&request.body).unwrap();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "t", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "called"}]}),
        name if name.starts_with("notifications/") => return ResponseTemplate::new(202),
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return ResponseTemplate::new(200)
                .set_body_json(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
    };
    ResponseTemplate::new(200)
        .set_body_json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

async fn mcp_server(at: &str) -> MockServer {
    let server = MockServer::start().await;
    let post = Mock::given(method("POST")).and(path(at));
    post.respond_with(answer).mount(&server).await;
    let other = Mock::given(method("GET")).and(path(at));
    other
        .respond_with(ResponseTemplate::new(405))
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn tools_are_called_over_http_with_the_configured_headers() {
    let server = mcp_server("/mcp").await;
    let test = TestPool::new(vec![http_config(&format!(
        "{}/mcp?key=secret",
        server.uri()
    ))]);
    test.start().await;
    let result = test.call("mcp__s__echo", json!({})).await.unwrap();
    assert_eq!(result.text, "called");
    let target = test.pool.status()[0].target.clone();
    assert_eq!(target, format!("{}/mcp", server.uri()));
    let requests = server.received_requests().await.unwrap();
    for request in requests {
        assert_eq!(request.headers["authorization"], "Bearer secret-token");
        assert_eq!(request.headers["x-key"], "k");
    }
    test.pool.shutdown().await;
}

#[tokio::test]
async fn refused_credentials_need_a_login() {
    for challenge in [None, Some("Bearer realm=\"x\"")] {
        let server = MockServer::start().await;
        let mut refusal = ResponseTemplate::new(401);
        if let Some(challenge) = challenge {
            refusal = refusal.insert_header("www-authenticate", challenge);
        }
        Mock::given(method("POST"))
            .respond_with(refusal)
            .mount(&server)
            .await;
        let test = TestPool::new(vec![http_config(&server.uri())]);
        test.pool.ensure_started(&["s"]).await;
        assert_eq!(test.state(), ServerState::NeedsLogin, "{challenge:?}");
    }
}

#[tokio::test]
async fn credentials_refused_during_a_call_need_a_login() {
    let server = MockServer::start().await;
    let post = Mock::given(method("POST"));
    let refusing = |request: &Request| {
        let is_call = String::from_utf8_lossy(&request.body).contains("tools/call");
        if is_call {
            ResponseTemplate::new(401)
        } else {
            answer(request)
        }
    };
    post.respond_with(refusing).mount(&server).await;
    let test = TestPool::new(vec![http_config(&server.uri())]);
    test.start().await;
    let error = test.call("mcp__s__echo", json!({})).await.unwrap_err();
    assert!(
        error.to_string().contains("the user must log in to it"),
        "{error}"
    );
    wait_until("it needs a login", || {
        test.state() == ServerState::NeedsLogin
    })
    .await;
    test.pool.shutdown().await;
}

/// Opens a login page as a browser does, and follows its redirects to the callback.
pub fn browse(url: &str) {
    let url = url.to_string();
    tokio::spawn(async move { reqwest::get(url).await.unwrap() });
}

/// Starts a server that demands a token, with a login page that issues it at once. Tokens expire after 1 s. The server
/// registers clients.
async fn server_with_login() -> MockServer {
    let server = login_server().await;
    let register = |request: &Request| {
        let mut body: Value = serde_json::from_slice(&request.body).unwrap();
        body["client_id"] = json!("client-1");
        ResponseTemplate::new(201).set_body_json(body)
    };
    Mock::given(method("POST"))
        .and(path("/register"))
        .respond_with(register)
        .mount(&server)
        .await;
    server
}

/// Like [`server_with_login`], but does not register clients.
pub async fn login_server() -> MockServer {
    let server = MockServer::start().await;
    let base = server.uri();
    let challenge =
        format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
    let post = Mock::given(method("POST")).and(path("/mcp"));
    let guarded = move |request: &Request| {
        let token = request
            .headers
            .get("authorization")
            .map(|v| v.to_str().unwrap().to_string());
        if token.is_some_and(|token| token.starts_with("Bearer token-")) {
            return answer(request);
        }
        ResponseTemplate::new(401).insert_header("www-authenticate", challenge.as_str())
    };
    post.respond_with(guarded).mount(&server).await;
    let get = Mock::given(method("GET")).and(path("/mcp"));
    get.respond_with(ResponseTemplate::new(405))
        .mount(&server)
        .await;
    let resource = json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]});
    let metadata = json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    });
    for (at, body) in [
        ("/.well-known/oauth-protected-resource/mcp", resource),
        ("/.well-known/oauth-authorization-server", metadata),
    ] {
        let answer = ResponseTemplate::new(200).set_body_json(body);
        Mock::given(method("GET"))
            .and(path(at))
            .respond_with(answer)
            .mount(&server)
            .await;
    }
    let authorize = |request: &Request| {
        let value = |name: &str| {
            let mut pairs = request.url.query_pairs();
            pairs.find(|(key, _)| key == name).unwrap().1.into_owned()
        };
        assert_eq!(value("code_challenge_method"), "S256");
        let to = format!(
            "{}?code=code-1&state={}",
            value("redirect_uri"),
            value("state")
        );
        ResponseTemplate::new(302).insert_header("location", to)
    };
    Mock::given(method("GET"))
        .and(path("/authorize"))
        .respond_with(authorize)
        .mount(&server)
        .await;
    let token = |request: &Request| {
        let form = String::from_utf8_lossy(&request.body).into_owned();
        let token = if form.contains("grant_type=refresh_token") {
            assert!(form.contains("refresh_token=refresh-1"), "{form}");
            "token-refreshed"
        } else {
            assert!(
                form.contains("code=code-1") && form.contains("code_verifier="),
                "{form}"
            );
            "token-first"
        };
        ResponseTemplate::new(200).set_body_json(json!({
            "access_token": token, "token_type": "Bearer", "expires_in": 1, "refresh_token": "refresh-1",
        }))
    };
    Mock::given(method("POST"))
        .and(path("/token"))
        .respond_with(token)
        .mount(&server)
        .await;
    server
}

/// Returns the configuration of a server that has no credentials but those of a login.
fn config_without_headers(server: &MockServer) -> ServerConfig {
    let mut config = http_config(&format!("{}/mcp", server.uri()));
    if let ServerTransport::Http { headers, .. } = &mut config.transport {
        headers.clear();
    }
    config
}

#[tokio::test]
async fn login_is_stored_refreshed_and_deleted() {
    let server = server_with_login().await;
    let logins = tempfile::tempdir().unwrap();
    let config = config_without_headers(&server);
    let redactor = Redactor::default();
    let pool = || {
        TestPool::with(vec![config.clone()], |options| {
            options.logins = Some(logins.path().join("tokens"));
            options.redactor = redactor.clone();
        })
    };
    let test = pool();
    test.pool.ensure_started(&["s"]).await;
    assert_eq!(test.state(), ServerState::NeedsLogin);
    assert!(!redactor.has_secret("token-first"));
    test.pool.login("s", browse).await.unwrap();
    assert_eq!(redactor.text("token-first"), "[redacted: MCP_LOGIN]");
    test.start().await;
    assert_eq!(
        test.call("mcp__s__echo", json!({})).await.unwrap().text,
        "called"
    );
    test.pool.shutdown().await;
    // Another session uses the stored tokens, and refreshes those that expired.
    let test = pool();
    test.start().await;
    let requests = server.received_requests().await.unwrap();
    let last = requests
        .iter()
        .rev()
        .find(|r| r.url.path() == "/mcp" && r.method == "POST");
    assert_eq!(
        last.unwrap().headers["authorization"],
        "Bearer token-refreshed"
    );
    for token in ["token-refreshed", "refresh-1"] {
        assert_eq!(redactor.text(token), "[redacted: MCP_LOGIN]");
    }
    assert!(test.pool.logout("s").await.unwrap());
    wait_until("a login is needed", || {
        test.state() == ServerState::NeedsLogin
    })
    .await;
    assert!(!test.pool.logout("s").await.unwrap());
    test.pool.shutdown().await;
}

#[tokio::test]
async fn damaged_or_refused_tokens_need_a_login() {
    let server = server_with_login().await;
    let logins = tempfile::tempdir().unwrap();
    let config = config_without_headers(&server);
    let pool = || {
        TestPool::with(vec![config.clone()], |options| {
            options.logins = Some(logins.path().to_owned());
        })
    };
    let test = pool();
    test.pool.ensure_started(&["s"]).await;
    test.pool.login("s", browse).await.unwrap();
    test.start().await;
    test.pool.shutdown().await;

    // The server no longer knows the client.
    let refusal = ResponseTemplate::new(401).set_body_json(json!({"error": "invalid_client"}));
    Mock::given(method("POST"))
        .and(path("/token"))
        .and(wiremock::matchers::body_string_contains("refresh_token="))
        .respond_with(refusal)
        .with_priority(1)
        .mount(&server)
        .await;
    let test = pool();
    test.pool.ensure_started(&["s"]).await;
    assert_eq!(test.state(), ServerState::NeedsLogin);
    test.pool.shutdown().await;

    let file = std::fs::read_dir(logins.path()).unwrap().flatten();
    let file = file
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "json"));
    std::fs::write(file.unwrap(), "damaged").unwrap();
    let test = pool();
    test.pool.ensure_started(&["s"]).await;
    assert_eq!(test.state(), ServerState::NeedsLogin);
    test.pool.login("s", browse).await.unwrap();
    test.pool.shutdown().await;
}

/// Opens a login page as a browser does, while a web page sends forged requests to the callback.
fn browse_while_others_guess(url: &str) {
    let url = url.to_string();
    tokio::spawn(async move {
        let page = reqwest::Url::parse(&url).unwrap();
        let (_, callback) = page
            .query_pairs()
            .find(|(key, _)| key == "redirect_uri")
            .unwrap();
        for forged in ["code=x&state=y", "error=access_denied", "error=x&state=y"] {
            let answer = reqwest::get(format!("{callback}?{forged}")).await.unwrap();
            assert_eq!(answer.status(), 404, "{forged}");
        }
        let done = reqwest::get(url).await.unwrap().text().await.unwrap();
        assert!(done.contains("Return to crewdeck"), "{done}");
    });
}

#[tokio::test]
async fn forged_callbacks_do_not_end_a_login() {
    let server = server_with_login().await;
    let logins = tempfile::tempdir().unwrap();
    let config = config_without_headers(&server);
    let test = TestPool::with(vec![config], |options| {
        options.logins = Some(logins.path().to_owned());
    });
    test.pool.ensure_started(&["s"]).await;
    test.pool
        .login("s", browse_while_others_guess)
        .await
        .unwrap();
    test.pool.shutdown().await;
}

#[tokio::test]
async fn registered_client_logs_in_at_servers_that_register_none() {
    let server = login_server().await;
    let logins = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let pool = |id: Option<&str>, callback_port| {
        let mut config = config_without_headers(&server);
        let id = id.map(String::from);
        let secret = id.as_ref().map(|_| "client-secret".to_string());
        config.oauth = OAuthClient {
            id,
            secret,
            callback_port,
        };
        TestPool::with(vec![config], |options| {
            options.logins = Some(logins.path().to_owned());
        })
    };
    let test = pool(None, None);
    let error = test.pool.login("s", browse).await.unwrap_err().to_string();
    assert!(error.contains("set oauth.clientId to its id"), "{error}");

    let test = pool(Some("mine"), Some(port));
    let error = test.pool.login("s", browse).await.unwrap_err().to_string();
    let expected = format!("cannot listen for the browser on port {port}: ");
    assert!(error.contains(&expected), "{error}");
    drop(taken);
    test.pool.login("s", browse).await.unwrap();
    test.start().await;
    test.pool.shutdown().await;
    let requests = server.received_requests().await.unwrap();
    let page = requests.iter().find(|r| r.url.path() == "/authorize");
    let query: BTreeMap<_, _> = page.unwrap().url.query_pairs().collect();
    assert_eq!(query["client_id"], "mine");
    let callback = format!("http://localhost:{port}/callback");
    assert_eq!(query["redirect_uri"], callback);
    let token = requests.iter().find(|r| r.url.path() == "/token").unwrap();
    let basic = "Basic bWluZTpjbGllbnQtc2VjcmV0"; // mine:client-secret
    assert_eq!(token.headers["authorization"], basic);

    // The secret is also sent when another session renews the tokens.
    let test = pool(Some("mine"), None);
    test.start().await;
    test.pool.shutdown().await;
    let requests = server.received_requests().await.unwrap();
    let of_tokens = requests.iter().filter(|r| r.url.path() == "/token");
    let renewals: Vec<_> = of_tokens
        .filter(|r| String::from_utf8_lossy(&r.body).contains("grant_type=refresh_token"))
        .collect();
    assert!(!renewals.is_empty());
    for renewal in renewals {
        assert_eq!(renewal.headers["authorization"], basic);
    }
}

#[tokio::test]
async fn programs_have_no_login() {
    let test = TestPool::new(vec![super::test_config("s", &[])]);
    let error = test.pool.login("s", |_| {}).await.unwrap_err();
    assert!(
        error.to_string().contains("only servers over HTTP"),
        "{error}"
    );
}

#[tokio::test]
async fn redirect_to_another_origin_is_not_followed() {
    let (first, second) = (MockServer::start().await, mcp_server("/mcp").await);
    let there = format!("{}/mcp", second.uri());
    let redirect = ResponseTemplate::new(307).insert_header("location", there);
    Mock::given(method("POST"))
        .respond_with(redirect)
        .mount(&first)
        .await;
    let test = TestPool::new(vec![http_config(&first.uri())]);
    test.pool.ensure_started(&["s"]).await;
    assert!(matches!(
        test.state(),
        ServerState::Restarting { .. } | ServerState::Starting | ServerState::Failed { .. }
    ));
    test.pool.shutdown().await;
    assert!(second.received_requests().await.unwrap().is_empty());
}

/// Forwards connections to `server` until the task is aborted. Returns its address.
async fn forward_to(server: &MockServer) -> (String, tokio::task::JoinHandle<()>) {
    let to = *server.address();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut to = tokio::net::TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
            });
        }
    });
    (url, task)
}

#[tokio::test]
async fn server_that_is_gone_is_tried_again() {
    let server = mcp_server("/mcp").await;
    let (url, forwarding) = forward_to(&server).await;
    let test = TestPool::new(vec![http_config(&format!("{url}?key=secret"))]);
    test.start().await;
    forwarding.abort();
    forwarding.await.unwrap_err();
    let error = test.call("mcp__s__echo", json!({})).await.unwrap_err();
    let text = error.to_string();
    // Reset, if a connection was waiting to be accepted.
    let is_gone = ["Connection refused", "Connection reset"]
        .iter()
        .any(|why| text.contains(why));
    assert!(text.contains("is not available") && is_gone, "{text}");
    assert!(!text.contains("secret"), "{text}");
    wait_until("it has failed", || {
        matches!(test.state(), ServerState::Failed { .. })
    })
    .await;
    let ServerState::Failed { why } = test.state() else {
        panic!()
    };
    assert!(why.contains("cannot connect to http://127.0.0.1"), "{why}");
    assert!(!why.contains("secret"), "{why}");
}

#[tokio::test]
async fn invalid_header_is_a_permanent_failure() {
    let mut config = http_config("http://127.0.0.1:9");
    if let ServerTransport::Http { headers, .. } = &mut config.transport {
        *headers = BTreeMap::from([("bad name".to_string(), "x".to_string())]);
    }
    let test = TestPool::new(vec![config]);
    test.pool.ensure_started(&["s"]).await;
    let ServerState::Failed { why } = test.state() else {
        panic!("{:?}", test.state())
    };
    assert_eq!(why, "the header 'bad name' has an invalid name or value");
}

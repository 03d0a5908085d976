//! Problem responses of servers: error statuses, wait times, broken streams, silence.

use std::time::Duration;

use crewdeck::domain::chat::Block;
use crewdeck::model::provider::ModelServerConfig;
use crewdeck::model::{ErrorKind, StopReason};
use serde_json::json;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{ANTHROPIC, KEY, anthropic, call_model, mock_server, openai, responses, sse, vendor};

#[tokio::test]
async fn every_error_status_has_its_kind_and_a_hint() {
    for (status, body, fault, hint_part) in [
        (
            401,
            json!({"error": {"message": "invalid key"}}),
            ErrorKind::Auth,
            "Check ",
        ),
        // Anthropic's error for a wrong key, although the header is right.
        (
            401,
            json!({"error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
            ErrorKind::Auth,
            "Check ",
        ),
        (403, json!({}), ErrorKind::Auth, "Check "),
        (
            404,
            json!({"error": {"message": "no such model"}}),
            ErrorKind::UnknownModel,
            "/model",
        ),
        (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "too large"}}),
            ErrorKind::ContextTooLong,
            "",
        ),
        (422, json!("odd"), ErrorKind::BadRequest, ""),
        (
            429,
            json!({"error": {"type": "rate_limit_error", "message": "slow"}}),
            ErrorKind::RateLimited,
            "Wait",
        ),
        (
            429,
            json!({"error": {"type": "insufficient_quota", "message": "You exceeded your current quota"}}),
            ErrorKind::Auth,
            "billing",
        ),
        (
            400,
            json!({"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API"}}),
            ErrorKind::Auth,
            "billing",
        ),
        (402, json!({}), ErrorKind::Auth, "billing"),
        (408, json!({}), ErrorKind::Timeout, "Try again"),
        (409, json!({}), ErrorKind::Timeout, "Try again"),
        (500, json!({}), ErrorKind::Server, "Try again"),
        (
            529,
            json!({"error": {"type": "overloaded_error"}}),
            ErrorKind::Server,
            "Try again",
        ),
    ] {
        let server = mock_server(ResponseTemplate::new(status).set_body_json(&body)).await;
        for config in [anthropic(&server), openai(&server), responses(&server)] {
            let error = call_model(&config).await.unwrap_err();
            assert_eq!(error.kind, fault, "{status} {body}");
            assert!(
                error.hint.contains(hint_part),
                "{status} {body}: {}",
                error.hint
            );
            let shown = format!("{error} {error:?} {config:?}");
            assert!(!shown.contains(KEY), "{shown}");
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

#[tokio::test]
async fn hint_about_a_refused_key_names_the_variable_of_the_key() {
    for config in [anthropic, openai, responses] {
        let server = mock_server(ResponseTemplate::new(401)).await;
        let config = ModelServerConfig {
            key_var: "PROXY_API_KEY".into(),
            ..config(&server)
        };
        let error = call_model(&config).await.unwrap_err();
        let hint = &error.hint;
        assert!(hint.starts_with("Check PROXY_API_KEY: "), "{hint}");
    }
}

#[tokio::test]
async fn hint_names_only_settings_of_its_provider() {
    let field = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'";
    for (status, message, at_anthropic, at_openai) in [
        (
            400,
            field,
            "a smaller max_tokens at the top",
            "[openai] max_tokens_field",
        ),
        (400, "anthropic-version: unknown", "[anthropic] version", ""),
        (
            401,
            "x-api-key header is not supported",
            "[anthropic] key_header",
            "OPENAI_API_KEY",
        ),
        (
            401,
            "no Authorization header with a bearer",
            "[anthropic] key_header",
            "OPENAI_API_KEY",
        ),
        (
            401,
            "invalid x-api-key",
            "[anthropic] key_header",
            "OPENAI_API_KEY",
        ),
        (401, "wrong", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
    ] {
        let body = json!({"error": {"message": message}});
        let server = mock_server(ResponseTemplate::new(status).set_body_json(&body)).await;
        let other = ["[openai]", "[anthropic]"];
        let both = [
            (anthropic(&server), at_anthropic),
            (openai(&server), at_openai),
        ];
        for ((config, expected), other) in both.into_iter().zip(other) {
            let hint = call_model(&config).await.unwrap_err().hint;
            assert!(hint.contains(expected), "{message}: {hint}");
            assert!(!hint.contains(other), "{message}: {hint}");
        }
    }
}

#[tokio::test]
async fn wait_time_is_read_from_response_headers() {
    let soon = jiff::Timestamp::now() + Duration::from_secs(90);
    let date = soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for (headers, min, max) in [
        (
            vec![("retry-after-ms", "250"), ("retry-after", "9")],
            250,
            250,
        ),
        (vec![("retry-after", "7")], 7000, 7000),
        (
            vec![("retry-after-ms", "-1"), ("retry-after", "7")],
            7000,
            7000,
        ),
        (vec![("retry-after", date.as_str())], 60_000, 91_000),
    ] {
        let mut response = ResponseTemplate::new(429);
        for (name, value) in &headers {
            response = response.insert_header(*name, *value);
        }
        let server = mock_server(response).await;
        let wait = call_model(&openai(&server))
            .await
            .unwrap_err()
            .wait
            .unwrap()
            .as_millis();
        assert!((min..=max).contains(&wait), "{headers:?}: {wait}");
    }
    // A wait that is too long is an error that names it.
    let hours = ResponseTemplate::new(429).insert_header("retry-after", "5401");
    let server = mock_server(hours).await;
    let error = call_model(&anthropic(&server)).await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("; the server asks to wait 91 min"),
        "{error}"
    );
    let never = ResponseTemplate::new(500).insert_header("x-should-retry", "false");
    let server = mock_server(never).await;
    assert_eq!(
        call_model(&anthropic(&server)).await.unwrap_err().retry,
        Some(false)
    );
}

#[tokio::test]
async fn broken_responses_are_errors_and_unusual_ones_accepted() {
    let html = ResponseTemplate::new(200).set_body_raw("<html>", "text/html");
    let server = mock_server(html).await;
    for config in [anthropic(&server), openai(&server), responses(&server)] {
        let error = call_model(&config).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidResponse);
        assert!(error.hint.contains("--base-url"), "{}", error.hint);
    }
    let server = mock_server(sse(&ANTHROPIC[..ANTHROPIC.len() - 60])).await;
    assert_eq!(
        call_model(&anthropic(&server)).await.unwrap_err().kind,
        ErrorKind::Truncated
    );
    let server = mock_server(sse("")).await;
    assert_eq!(
        call_model(&openai(&server)).await.unwrap_err().kind,
        ErrorKind::Truncated
    );
    let whole = json!({"choices": [{"message": {"content": "hi", "tool_calls": [
        {"id": "x", "function": {"name": "glob", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let server = mock_server(ResponseTemplate::new(200).set_body_json(whole)).await;
    let reply = call_model(&openai(&server)).await.unwrap();
    assert_eq!(
        (reply.blocks.len(), reply.usage.prompt(), reply.stop),
        (2, 3, StopReason::ToolUse)
    );
    let whole = json!({"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3}});
    let server = mock_server(ResponseTemplate::new(200).set_body_json(whole)).await;
    assert_eq!(
        call_model(&anthropic(&server)).await.unwrap().blocks,
        [Block::text("hi")]
    );
    let empty = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let server = mock_server(sse(empty)).await;
    assert_eq!(call_model(&openai(&server)).await.unwrap().blocks, []);
}

#[tokio::test]
async fn unreachable_server_error_names_the_address() {
    // A free port: the listener is closed again.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let config = ModelServerConfig {
        base_url: address.clone(),
        ..vendor("openai")
    };
    let error = call_model(&config).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert!(
        error.to_string().contains(&address) && error.hint.contains("--base-url"),
        "{error} {}",
        error.hint
    );
}

#[tokio::test]
async fn silent_server_times_out_after_the_configured_time() {
    let delayed = sse(ANTHROPIC).set_delay(Duration::from_secs(60));
    let server = mock_server(delayed).await;
    let mut config = anthropic(&server);
    config.read_timeout = Duration::from_secs(1);
    let error = call_model(&config).await.unwrap_err();
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (ErrorKind::Timeout, "the server sent nothing for 1 s")
    );
}

#[tokio::test]
async fn connection_closed_early_is_not_an_unreachable_server() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.readable().await.unwrap();
            // Closing with unread bytes sends a reset.
            drop(stream);
        }
    });
    let config = ModelServerConfig {
        base_url,
        ..vendor("openai")
    };
    let error = call_model(&config).await.unwrap_err();
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (
            ErrorKind::Truncated,
            "the connection was closed before the server responded"
        )
    );
}

#[tokio::test]
async fn model_lists_of_every_format_are_read() {
    for (body, names) in [
        (json!({"data": [{"id": "a"}, {"id": "b"}]}), vec!["a", "b"]),
        (
            json!({"models": [{"name": "c"}, {"model": "d"}]}),
            vec!["c", "d"],
        ),
    ] {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).set_body_json(body);
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(answer)
            .mount(&server)
            .await;
        for config in [anthropic(&server), openai(&server), responses(&server)] {
            assert_eq!(config.connect().unwrap().list().await.unwrap(), names);
        }
    }
}

#[tokio::test]
async fn model_list_gives_context_windows_without_more_requests() {
    for (entry, window) in [
        (json!({"id": "m", "context_length": 65_536}), Some(65_536)),
        (json!({"id": "m", "max_model_len": 40_960}), Some(40_960)),
        (
            json!({"id": "m", "max_input_tokens": 500_000}),
            Some(500_000),
        ),
        (
            json!({"id": "/models/m.gguf", "meta": {"n_ctx": 16_384, "n_ctx_train": 32_768}}),
            Some(16_384),
        ),
        (json!({"id": "m"}), None),
    ] {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).set_body_json(json!({"data": [entry]}));
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(answer)
            .mount(&server)
            .await;
        for config in [anthropic(&server), openai(&server), responses(&server)] {
            let model = config.connect().unwrap();
            assert_eq!(model.listed_window("m"), None);
            let before = server.received_requests().await.unwrap().len();
            model.list().await.unwrap();
            let listed = model.listed_window("m").map(|w| (w.tokens, w.is_assumed));
            assert_eq!(listed, window.map(|tokens| (tokens, false)), "{entry}");
            let after = server.received_requests().await.unwrap().len();
            assert_eq!(after, before + 1);
        }
    }
}

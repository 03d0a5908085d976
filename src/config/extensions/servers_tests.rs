//! Tests of the parser of MCP server files: every field and every mistake.

use std::collections::BTreeMap;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::super::variables::Variable;
use super::*;
use crate::domain::mcp::OAuthClient;

fn lookup(name: &str) -> Variable {
    match name {
        "HOME" => Variable::Value("/home/ada".into()),
        "BREAK" => Variable::Value("a\nb".into()),
        "API_KEY" => Variable::Withheld,
        _ => Variable::Unset,
    }
}

fn read(text: &str) -> ParsedServers {
    parse(text.as_bytes(), ServerSource::Project, &lookup)
}

/// Parses one server with the name `s`.
fn one(server: &str) -> ParsedServers {
    read(&format!("{{\"mcpServers\": {{\"s\": {server}}}}}"))
}

fn table(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(a, b): &(&str, &str)| (a.to_string(), b.to_string());
    entries.iter().map(owned).collect()
}

#[test]
fn every_field_of_a_program_is_read() {
    let found = one(
        r#"{"command": "${HOME}/bin/srv", "args": ["--db", "${DB:-a b}", "${API_KEY}"], "env": {"A": "${HOME}", "B": ""},
            "cwd": "sub", "timeout": 90000, "startTimeout": 5000, "alwaysLoad": true, "type": "stdio", "description": "x"}"#,
    );
    assert_eq!(found.problems, [""; 0]);
    let server = &found.servers[0];
    assert_eq!(
        server.config,
        ServerConfig {
            name: "s".into(),
            source: ServerSource::Project,
            role: None,
            transport: ServerTransport::Program {
                command: "/home/ada/bin/srv".into(),
                args: vec!["--db".into(), "a b".into(), "${API_KEY}".into()],
                env: table(&[("A", "/home/ada"), ("B", "")]),
                dir: Some("sub".into()),
            },
            call_timeout: Some(Duration::from_secs(90)),
            start_timeout: Some(Duration::from_secs(5)),
            oauth: OAuthClient::default(),
            is_always_loaded: true,
        }
    );
    assert!(server.is_withheld);
    assert_eq!(
        server.target,
        "${HOME}/bin/srv --db '${DB:-a b}' ${API_KEY}"
    );
    assert_eq!(
        server.details,
        "${HOME}/bin/srv --db '${DB:-a b}' ${API_KEY}, in sub, with A=${HOME} B=''"
    );
}

#[test]
fn every_field_of_an_http_server_is_read() {
    for kind in ["http", "streamable-http"] {
        let found = one(&format!(
            r#"{{"type": "{kind}", "url": "https://x.example/mcp?a=${{A:-1}}", "headers": {{"Authorization": "Bearer ${{API_KEY}}"}}, "timeout": 1500.9}}"#
        ));
        assert_eq!(found.problems, [""; 0]);
        let server = &found.servers[0];
        assert_eq!(
            server.config.transport,
            ServerTransport::Http {
                url: "https://x.example/mcp?a=1".into(),
                headers: table(&[("Authorization", "Bearer ${API_KEY}")]),
            }
        );
        assert_eq!(
            server.config.call_timeout,
            Some(Duration::from_millis(1500))
        );
        assert!(server.command.texts.is_empty() && server.is_withheld);
        assert_eq!(
            server.details,
            "https://x.example/mcp?a=${A:-1}, with Authorization='Bearer ${API_KEY}'"
        );
    }
}

#[test]
fn client_of_a_login_is_read() {
    let with = |oauth: &str| {
        one(&format!(
            r#"{{"type": "http", "url": "https://x.example/mcp", "oauth": {oauth}}}"#
        ))
    };
    let found = with(r#"{"clientId": "${HOME}-id", "callbackPort": 8080}"#);
    assert_eq!(found.problems, [""; 0]);
    let client = OAuthClient {
        id: Some("/home/ada-id".into()),
        secret: None,
        callback_port: Some(8080),
    };
    assert_eq!(found.servers[0].config.oauth, client);
    assert_eq!(
        found.servers[0].details,
        "https://x.example/mcp, logs in as client /home/ada-id, login returns to port 8080"
    );
    assert_eq!(with("{}").servers[0].config.oauth, OAuthClient::default());
    let found = with(r#"{"clientId": "a", "scopes": "x"}"#);
    assert_eq!(
        found.problems,
        [
            "server s: oauth.scopes is ignored: crewdeck uses clientId, clientSecret, callbackPort, and asks the server for the rest"
        ]
    );
    assert_eq!(found.servers[0].config.oauth.id, Some("a".into()));
}

#[test]
fn client_secret_is_read_and_shown_as_it_is_written() {
    let with = |oauth: &str| {
        one(&format!(
            r#"{{"type": "http", "url": "https://x.example/mcp", "oauth": {oauth}}}"#
        ))
    };
    let found = with(r#"{"clientId": "a", "clientSecret": "${HOME}-secret"}"#);
    assert_eq!(found.problems, [""; 0]);
    let server = &found.servers[0];
    assert_eq!(
        server.config.oauth.secret.as_deref(),
        Some("/home/ada-secret")
    );
    assert_eq!(
        server.details,
        "https://x.example/mcp, logs in as client a with the secret ${HOME}-secret"
    );
    assert!(!format!("{:?}", server.config).contains("ada-secret"));
    let withheld = with(r#"{"clientId": "a", "clientSecret": "${API_KEY}"}"#);
    assert!(withheld.servers[0].is_withheld);
    for (oauth, why) in [
        (
            r#"{"clientSecret": "b"}"#,
            "oauth.clientSecret needs oauth.clientId",
        ),
        (
            r#"{"clientId": "a", "clientSecret": ""}"#,
            "oauth.clientSecret is empty",
        ),
    ] {
        let found = with(oauth);
        assert!(found.problems[0].contains(why), "{:?}", found.problems);
        assert_eq!(found.servers, []);
    }
}

type TimeoutOf = fn(&ServerConfig) -> Option<Duration>;

#[test]
fn timeouts_of_the_environment_are_the_defaults() {
    let text = r#"{"mcpServers": {
        "a": {"command": "a"},
        "b": {"command": "b", "timeout": 2000, "startTimeout": 2000}
    }}"#;
    let of_start: TimeoutOf = |config| config.start_timeout;
    let of_call: TimeoutOf = |config| config.call_timeout;
    let variables = [
        ("MCP_TIMEOUT", of_start, of_call),
        ("MCP_TOOL_TIMEOUT", of_call, of_start),
    ];
    for (variable, timeout, other) in variables {
        let with = |value: &'static str| {
            let lookup = move |name: &str| {
                if name == variable {
                    Variable::Value(value.into())
                } else {
                    Variable::Unset
                }
            };
            let found = parse(text.as_bytes(), ServerSource::User, &lookup);
            let all = |timeout: TimeoutOf| -> Vec<_> {
                let ms = |server: &ParsedServer| timeout(&server.config).map(|t| t.as_millis());
                found.servers.iter().map(ms).collect()
            };
            assert_eq!(all(other), [None, Some(2000)]);
            (all(timeout), found.problems.clone())
        };
        assert_eq!(with("60000"), (vec![Some(60_000), Some(2000)], vec![]));
        assert_eq!(with(""), (vec![None, Some(2000)], vec![]));
        for wrong in ["5", "soon", "-1"] {
            let (all, problems) = with(wrong);
            assert_eq!(all, [None, Some(2000)]);
            assert_eq!(
                problems,
                [format!(
                    "the environment variable {variable} is '{wrong}' and is ignored: set it to 1000 or more (milliseconds)"
                )]
            );
        }
    }
}

/// Servers that cannot be used, each with the problem that is reported.
const MISTAKES: &[(&str, &str)] = &[
    (
        r#"{"command": "a", "startTimeout": "1"}"#,
        "startTimeout must be a number of milliseconds",
    ),
    (
        r#"{"type": "http", "url": "http://a", "oauth": []}"#,
        "oauth must be an object",
    ),
    (
        r#"{"type": "http", "url": "http://a", "oauth": {"clientId": " "}}"#,
        "oauth.clientId is empty",
    ),
    (
        r#"{"type": "http", "url": "http://a", "oauth": {"clientId": 5}}"#,
        "clientId must be a string",
    ),
    (
        r#"{"type": "http", "url": "http://a", "oauth": {"callbackPort": 0}}"#,
        "oauth.callbackPort must be a port from 1 to 65535",
    ),
    (
        r#"{"type": "http", "url": "http://a", "oauth": {"callbackPort": 65536}}"#,
        "oauth.callbackPort must be a port from 1 to 65535",
    ),
    ("[]", "the value must be an object"),
    ("null", "the value must be an object"),
    ("{}", "command or url is missing"),
    (r#"{"command": null}"#, "command or url is missing"),
    (r#"{"type": "stdio"}"#, "command is missing"),
    (r#"{"command": 5}"#, "command must be a string"),
    (r#"{"command": "  "}"#, "command is empty"),
    (
        r#"{"command": "a\u0000b"}"#,
        "command contains a NUL character",
    ),
    (
        r#"{"command": "a", "args": "b"}"#,
        "args must be an array of strings",
    ),
    (
        r#"{"command": "a", "args": [1]}"#,
        "args must be an array of strings",
    ),
    (
        r#"{"command": "a", "env": []}"#,
        "env must be an object of strings",
    ),
    (
        r#"{"command": "a", "env": {"PORT": 80}}"#,
        "env.PORT must be a string",
    ),
    (r#"{"command": "a", "env": {"": "x"}}"#, "env contains ''"),
    (
        r#"{"command": "a", "env": {"A=B": "x"}}"#,
        "env contains 'A=B'",
    ),
    (r#"{"command": "a", "cwd": 1}"#, "cwd must be a string"),
    (
        r#"{"command": "a", "timeout": "5"}"#,
        "timeout must be a number",
    ),
    (
        r#"{"command": "a", "timeout": -5}"#,
        "timeout must be a number",
    ),
    (
        r#"{"command": "a", "alwaysLoad": 1}"#,
        "alwaysLoad must be true or false",
    ),
    (
        r#"{"command": "a", "url": "http://b"}"#,
        "both command and url",
    ),
    (
        r#"{"type": "stdio", "url": "http://b"}"#,
        "it has a url although its type is stdio",
    ),
    (
        r#"{"type": "http", "command": "a"}"#,
        "remove command or type",
    ),
    (
        r#"{"url": "http://b"}"#,
        "url needs a type: add \"type\": \"http\"",
    ),
    (r#"{"type": "http"}"#, "url is missing"),
    (
        r#"{"type": "http", "url": "ftp://b"}"#,
        "url is 'ftp://b': it must begin with http",
    ),
    (
        r#"{"type": "http", "url": "http://"}"#,
        "it must begin with http",
    ),
    (
        r#"{"type": "http", "url": "http://a b"}"#,
        "it must begin with http",
    ),
    (
        r#"{"type": "http", "url": "http://b", "headers": {"a b": "c"}}"#,
        "headers contains 'a b'",
    ),
    (
        r#"{"type": "http", "url": "http://b", "headers": {"a": "${BREAK}"}}"#,
        "the header a contains a line break",
    ),
    (
        r#"{"type": "sse", "url": "http://b"}"#,
        "the transport sse is not supported: use \"type\": \"http\"",
    ),
    (
        r#"{"type": "ws", "url": "ws://b"}"#,
        "the transport ws is not supported: use \"type\": \"http\"",
    ),
    (
        r#"{"type": "grpc", "url": "http://b"}"#,
        "unknown type 'grpc'",
    ),
    (r#"{"type": 1}"#, "type must be a string"),
];

#[test]
fn mistakes_are_named_with_their_server() {
    for (server, problem) in MISTAKES {
        let text = format!(
            "{{\"mcpServers\": {{\"a\": {{\"command\": \"x\"}}, \"s\": {server}, \"z\": {{\"command\": \"y\"}}}}}}"
        );
        let found = read(&text);
        let names: Vec<&str> = found
            .servers
            .iter()
            .map(|s| s.config.name.as_str())
            .collect();
        assert_eq!(names, ["a", "z"], "{server}");
        assert!(
            found.unusable.len() == 1 && found.unusable[0].0 == "s",
            "{server}"
        );
        assert!(
            found.problems.len() == 1
                && found.problems[0].starts_with("server s: ")
                && found.problems[0].contains(problem),
            "{server}: {:?}",
            found.problems
        );
    }
}

#[test]
fn warnings_leave_the_server_usable() {
    for (server, problem) in [
        (
            r#"{"command": "a", "comand": "b"}"#,
            "unknown field 'comand' is ignored: did you mean 'command'?",
        ),
        (
            r#"{"command": "a", "zzz": 1}"#,
            "unknown field 'zzz' is ignored",
        ),
        (
            r#"{"command": "a", "headersHelper": "x"}"#,
            "headersHelper is not supported",
        ),
        (
            r#"{"command": "a", "timeout": 999}"#,
            "timeout is 999 ms and is ignored: give at least 1000 ms",
        ),
        (
            r#"{"command": "a", "args": ["${NONE}", "${NONE}"]}"#,
            "args names the variable NONE, which is not set",
        ),
    ] {
        let found = one(server);
        assert_eq!(found.servers.len(), 1, "{server}");
        assert!(
            found.problems.len() == 1 && found.problems[0].contains(problem),
            "{server}: {:?}",
            found.problems
        );
    }
}

#[test]
fn syntax_errors_have_line_and_column() {
    for (text, problem) in [
        ("", ":1:0: EOF"),
        (
            "{\n  \"mcpServers\": {\n    \"a\": {,\n",
            ":3:11: key must be a string",
        ),
        (
            "{\"mcpServers\": []}",
            ":1:15: invalid type: sequence, expected an object",
        ),
        ("[]", ":1:"),
    ] {
        let found = read(text);
        assert!(
            found.problems.len() == 1 && found.problems[0].starts_with(problem),
            "{text}: {:?}",
            found.problems
        );
    }
    assert_eq!(read("\u{feff}{\"other\": 1}"), ParsedServers::default());
    assert_eq!(read("{\"mcpServers\": null}"), ParsedServers::default());
}

#[test]
fn names_are_checked_and_unique() {
    let found = read(
        r#"{"mcpServers": {"a b": {"command": "x"}, "a__b": {"command": "x"}, "": {"command": "x"}, "é\u001b": {"command": "x"},
            "twice": {"command": "first"}, "twice": {"command": "second"}}}"#,
    );
    assert_eq!(found.servers.len(), 1);
    assert_eq!(found.servers[0].target, "first");
    assert_eq!(found.problems.len(), 5, "{:?}", found.problems);
    assert!(found.problems.iter().all(|p| !p.contains('\u{1b}')));
    assert!(found.problems[4].contains("used twice"));
}

#[test]
fn control_characters_are_not_shown() {
    let found = one(r#"{"command": "a\u001b[2J", "args": ["b\u202ec\n"]}"#);
    let server = &found.servers[0];
    for text in [&server.target, &server.details] {
        assert!(!text.chars().any(crate::domain::text::is_hidden), "{text}");
    }
}

//! Parses the files that configure MCP servers: `.mcp.json` and the user's `mcp.json`. A mistake in one server does not
//! affect the others. Pure.

mod fields;

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use self::fields::{TIMEOUT_MIN_MS, timeout_of};
use super::command_words::CommandWords;
use super::json::{self, Entries, flag, format_line, shown_message, strings, text};
use super::variables::{Lookup, Variable};
use crate::domain::mcp::{
    SERVER_NAME_MAX, ServerConfig, ServerSource, ServerTransport, is_server_name,
};
use crate::domain::text::{closest_match, escape_control_chars, one_line};

/// Maximum number of servers in one file. Further servers are not used.
const SERVERS_MAX: usize = 100;
/// The environment variable with the start time-out, in milliseconds, of servers without the field `startTimeout`.
const START_VARIABLE: &str = "MCP_TIMEOUT";
/// The environment variable with the time-out, in milliseconds, of calls to servers without the field `timeout`.
const CALL_VARIABLE: &str = "MCP_TOOL_TIMEOUT";

/// The names of the fields that the declaration of a server can have.
const FIELDS: &[&str] = &[
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "timeout",
    "startTimeout",
    "alwaysLoad",
    "oauth",
];
/// Fields that other programs use and crewdeck does not, each with advice for the user. If the advice is empty,
/// crewdeck does not warn about the field.
const UNUSED_FIELDS: &[(&str, &str)] = &[
    (
        "headersHelper",
        "is not supported: set the header in headers, with ${VAR} for a secret",
    ),
    ("description", ""),
];
/// A valid server from a file that configures MCP servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedServer {
    pub config: ServerConfig,
    /// The command line or the URL as it is written in the file, but on one line and without control characters.
    pub target: String,
    /// The text of `target`, followed by the work directory and the environment variables of a program, or the headers
    /// and the login client of a URL, all as they are written in the file.
    pub details: String,
    /// The parts of the configuration that may name files that the program runs. Its field `search` contains folders
    /// only if the configuration sets the variable `PATH`.
    pub command: CommandWords,
    /// Whether the server uses a secret whose value was withheld, see [`Variable::Withheld`].
    pub is_withheld: bool,
}

/// The parsed content of a file that configures MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedServers {
    pub servers: Vec<ParsedServer>,
    /// Errors and warnings for the user, in the order of the file.
    pub problems: Vec<String>,
    /// The names of the invalid servers, each with the reason. `problems` contains the reason too.
    pub unusable: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerFile {
    #[serde(default)]
    mcp_servers: Option<Entries>,
}

/// Parses the content of a file that configures MCP servers. `lookup` returns the values of the environment variables
/// that the file names. Errors are in the `problems` of the result.
pub fn parse(bytes: &[u8], source: ServerSource, lookup: &Lookup<'_>) -> ParsedServers {
    let mut out = ParsedServers::default();
    let entries = match json::parse::<ServerFile>(bytes) {
        Ok(file) => file.mcp_servers.unwrap_or_default().0,
        Err(why) => {
            out.problems.push(why);
            return out;
        }
    };
    if entries.len() > SERVERS_MAX {
        out.problems.push(format!(
            "only the first {SERVERS_MAX} of {} servers are used",
            entries.len()
        ));
    }
    let [start_timeout, call_timeout] = [START_VARIABLE, CALL_VARIABLE].map(|variable| {
        let text = match lookup(variable) {
            Variable::Value(text) if !entries.is_empty() && !text.is_empty() => text,
            _ => return None,
        };
        let found = text.parse().ok().and_then(timeout_of);
        if found.is_none() {
            out.problems.push(format!(
                "the environment variable {variable} is '{}' and is ignored: set it to {TIMEOUT_MIN_MS} or more (milliseconds)",
                format_line(&text)
            ));
        }
        found
    });
    for (at, (name, value)) in entries.iter().enumerate().take(SERVERS_MAX) {
        let say = |what: String| format!("server {}: {what}", format_line(name));
        if entries[..at].iter().any(|(earlier, _)| earlier == name) {
            let what =
                "the name is used twice, and only the first server is used: rename one of them"
                    .to_string();
            out.problems.push(say(what));
            continue;
        }
        let mut entry = ServerEntry {
            lookup,
            warnings: Vec::new(),
            is_withheld: false,
        };
        let parsed = entry.parse(name, value, source);
        out.problems.extend(
            entry
                .warnings
                .into_iter()
                .map(|what| say(shown_message(&what))),
        );
        match parsed {
            Ok(mut server) => {
                let config = &mut server.config;
                config.start_timeout = config.start_timeout.or(start_timeout);
                config.call_timeout = config.call_timeout.or(call_timeout);
                out.servers.push(server);
            }
            Err(why) => {
                let why = shown_message(&why);
                out.unusable.push((format_line(name), why.clone()));
                out.problems.push(say(why));
            }
        }
    }
    out
}

/// Checks a server that is about to be added to a file.
///
/// # Errors
/// Returns the error that [`parse`] would report about it, or else the first warning. The values of environment variables
/// are not checked.
pub fn check(name: &str, value: &Value) -> Result<(), String> {
    let mut entry = ServerEntry {
        lookup: &|_| Variable::Withheld,
        warnings: Vec::new(),
        is_withheld: false,
    };
    entry.parse(name, value, ServerSource::User)?;
    entry.warnings.into_iter().next().map_or(Ok(()), Err)
}

/// Parses the declaration of one MCP server and collects the warnings about it.
struct ServerEntry<'a> {
    lookup: &'a Lookup<'a>,
    warnings: Vec<String>,
    is_withheld: bool,
}

impl ServerEntry<'_> {
    fn parse(
        &mut self,
        name: &str,
        value: &Value,
        source: ServerSource,
    ) -> Result<ParsedServer, String> {
        if !is_server_name(name) {
            return Err(format!(
                "a name has 1 to {SERVER_NAME_MAX} letters, digits, - and _, no __ and no _ at the end: rename it"
            ));
        }
        let fields = value.as_object().ok_or("the value must be an object")?;
        self.name_unknown(fields);
        let is_http = is_http(fields)?;
        let call_timeout = self.timeout(fields, "timeout")?;
        let start_timeout = self.timeout(fields, "startTimeout")?;
        let is_always_loaded = flag(fields, "alwaysLoad")?;
        let (transport, target, mut details, command) = if is_http {
            self.http(fields)?
        } else {
            self.program(fields)?
        };
        let oauth = self.oauth(fields, is_http)?;
        if let Some(id) = &oauth.id {
            details.push_str(&format!(", logs in as client {}", quote(id)));
        }
        let secret = fields
            .get("oauth")
            .and_then(|oauth| oauth.get("clientSecret"));
        if let Some(written) = secret
            .filter(|_| oauth.secret.is_some())
            .and_then(Value::as_str)
        {
            details.push_str(&format!(" with the secret {}", quote(written)));
        }
        if let Some(port) = oauth.callback_port {
            details.push_str(&format!(", login returns to port {port}"));
        }
        Ok(ParsedServer {
            config: ServerConfig {
                name: name.to_string(),
                source,
                role: None,
                transport,
                call_timeout,
                start_timeout,
                oauth,
                is_always_loaded,
            },
            target: one_line(&escape_control_chars(&target)),
            details: one_line(&escape_control_chars(&details)),
            command,
            is_withheld: self.is_withheld,
        })
    }

    fn name_unknown(&mut self, fields: &Map<String, Value>) {
        for name in fields
            .keys()
            .filter(|name| !FIELDS.contains(&name.as_str()))
        {
            let unused = UNUSED_FIELDS.iter().find(|(known, _)| known == name);
            match (unused, closest_match(name, FIELDS)) {
                (Some((_, "")), _) => {}
                (Some((known, why)), _) => self.warnings.push(format!("{known} {why}")),
                (None, Some(nearest)) => self.warnings.push(format!(
                    "unknown field '{}' is ignored: did you mean '{nearest}'?",
                    format_line(name)
                )),
                (None, None) => self.warnings.push(format!(
                    "unknown field '{}' is ignored: use {}",
                    format_line(name),
                    FIELDS.join(", ")
                )),
            }
        }
    }

    fn program(&mut self, fields: &Map<String, Value>) -> Result<Transport, String> {
        let written = text(fields, "command")?.ok_or("command is missing")?;
        if written.trim().is_empty() {
            return Err("command is empty: name a program".into());
        }
        let mut args = Vec::new();
        let mut line = vec![quote(written)];
        for arg in strings(fields, "args")?.unwrap_or_default() {
            line.push(quote(&arg));
            args.push(self.expand("args", &arg)?);
        }
        let target = line.join(" ");
        let command = self.expand("command", written)?;
        let (env, env_text) = self.table(fields, "env")?;
        for name in env.keys() {
            if name.is_empty() || name.contains('=') {
                return Err(format!(
                    "env contains '{}', which is not a valid variable name",
                    format_line(name)
                ));
            }
        }
        let dir = text(fields, "cwd")?;
        let dir = dir.map(|dir| self.expand("cwd", dir)).transpose()?;
        let mut details = target.clone();
        if let Some(dir) = text(fields, "cwd")? {
            details.push_str(&format!(", in {dir}"));
        }
        details.push_str(&env_text.map_or(String::new(), |env| format!(", with {env}")));
        let words = CommandWords::of_program(&command, &args, &env);
        let transport = ServerTransport::Program {
            command,
            args,
            env,
            dir: dir.map(PathBuf::from),
        };
        Ok((transport, target, details, words))
    }

    fn http(&mut self, fields: &Map<String, Value>) -> Result<Transport, String> {
        let written = text(fields, "url")?.ok_or("url is missing")?;
        let url = self.expand("url", written)?;
        let is_web = ["http://", "https://", "${"].iter().any(|start| {
            let head = url.get(..start.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(start)) && url.len() > start.len()
        });
        if !is_web || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(format!(
                "url is '{}': it must begin with http:// or https:// and contain no blanks",
                format_line(written)
            ));
        }
        let (headers, headers_text) = self.table(fields, "headers")?;
        for (name, value) in &headers {
            if !is_header_name(name) {
                return Err(format!(
                    "headers contains '{}', which is not a valid header name",
                    format_line(name)
                ));
            }
            if value.contains(|c: char| c.is_control() && c != '\t') {
                return Err(format!(
                    "the header {name} contains a line break or a control character"
                ));
            }
        }
        let mut details = written.to_string();
        details.push_str(&headers_text.map_or(String::new(), |all| format!(", with {all}")));
        let transport = ServerTransport::Http { url, headers };
        let command = CommandWords::default();
        Ok((transport, written.to_string(), details, command))
    }
}

/// The transport of a server, followed by its [`ParsedServer::target`], [`ParsedServer::details`] and
/// [`ParsedServer::command`].
type Transport = (ServerTransport, String, String, CommandWords);

/// Returns true if the fields `type`, `command` and `url` declare a server that is reached by HTTP, and false if they
/// declare a program.
///
/// # Errors
/// Returns the reason if the fields contradict each other or the type is not supported.
fn is_http(fields: &Map<String, Value>) -> Result<bool, String> {
    let has = |field: &str| fields.get(field).is_some_and(|value| !value.is_null());
    match (text(fields, "type")?, has("command"), has("url")) {
        (None | Some("stdio"), true, true) => {
            Err("it has both command and url: keep one of them".into())
        }
        (Some("stdio"), false, true) => {
            Err("it has a url although its type is stdio: use \"type\": \"http\"".into())
        }
        (Some("http" | "streamable-http"), true, _) => {
            Err("it has a command although its type is http: remove command or type".into())
        }
        (None, true, false) | (Some("stdio"), _, false) => Ok(false),
        (Some("http" | "streamable-http"), false, _) => Ok(true),
        (None, false, true) => Err("url needs a type: add \"type\": \"http\"".into()),
        (None, false, false) => Err("command or url is missing".into()),
        (Some("sse"), _, _) => Err(
            "the transport sse is not supported: use \"type\": \"http\" with the server's streamable HTTP address, which often ends with /mcp"
                .into(),
        ),
        (Some("ws" | "websocket"), _, _) => Err(
            "the transport ws is not supported: use \"type\": \"http\" with the server's streamable HTTP address".into(),
        ),
        (Some(other), _, _) => Err(format!(
            "unknown type '{}': use \"http\", or command without a type",
            format_line(other)
        )),
    }
}

fn is_header_name(name: &str) -> bool {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(is_token)
}

/// Returns `word` as it would be written in a shell, with quotes if necessary, so that the user sees where an argument
/// ends.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,${}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
#[path = "servers_tests.rs"]
mod tests;

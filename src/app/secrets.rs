//! Finds the secrets to redact: in the environment variables of this process, in the configurations of MCP servers, and in
//! the headers of named models.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::extensions::{Variable, expand};
use crate::domain::external_agent::ExternalAgent;
use crate::domain::mcp::{ServerConfig, ServerTransport};
use crate::domain::named_model::NamedModel;
use crate::domain::redact::Redactor;
use crate::domain::secret_env::{self, WithheldReason};

/// Suffixes in the names of environment variables whose values are not secret, although the variable may belong to a
/// model or cloud provider. Redacting a region or a model name would damage many texts. A password in a URL is detected
/// elsewhere, by its format.
const PLAIN_ENDS: &[&str] = &[
    "_URL",
    "_URI",
    "_ENDPOINT",
    "_HOST",
    "_REGION",
    "_LOCATION",
    "_ZONE",
    "_PROFILE",
    "_MODEL",
    "_VERSION",
    "_OUTPUT",
    "_PAGER",
    "_FILE",
    "_PATH",
    "_DIR",
    "_PROJECT",
    "_LOG",
    "_MODE",
];

/// Environment variables whose values are not secret in a header. Commands of agents need them, and redacting the name of
/// the user would damage many paths.
const PLAIN_VARIABLES: &[&str] = &[
    "USER", "LOGNAME", "USERNAME", "HOME", "HOST", "HOSTNAME", "PWD", "SHELL", "LANG", "TZ",
];

/// The name in the placeholder of a redacted client secret.
const CLIENT_SECRET: &str = "MCP_CLIENT_SECRET";

/// Builds a redactor for the secrets in this process's environment variables.
pub fn redactor() -> Redactor {
    let all = std::env::vars_os();
    let text =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Redactor::new(text.filter(|(name, value)| is_secret(name, value)))
}

/// Returns the secret values in the environment variables, headers and login clients of MCP servers, each with the name
/// for its placeholder. Words, paths and settings such as a region are left out, as for crewdeck's own environment
/// variables.
pub fn of_servers(servers: &[ServerConfig]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for server in servers {
        match &server.transport {
            ServerTransport::Program { env, .. } => {
                let values = env.iter().filter(|(name, value)| is_secret(name, value));
                out.extend(values.map(|(name, value)| (name.clone(), value.clone())));
            }
            ServerTransport::Http { headers, .. } => {
                out.extend(
                    headers
                        .iter()
                        .filter_map(|(name, value)| header_secret(name, value)),
                );
                let secret = server.oauth.secret.iter();
                let secret = secret.filter(|secret| !is_plain_word(secret));
                out.extend(secret.map(|secret| (CLIENT_SECRET.to_string(), secret.clone())));
            }
        }
    }
    out
}

/// Returns the secret values in the headers of named models, each with the name for its placeholder. Leaves out common
/// words and numbers. `environment` returns the value of an environment variable.
pub fn of_models(
    models: &BTreeMap<String, NamedModel>,
    environment: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let lookup = |name: &str| {
        let value = environment(name).filter(|_| !PLAIN_VARIABLES.contains(&name));
        Variable::Value(value.unwrap_or_default())
    };
    let headers = models.values().flat_map(|model| &model.headers);
    headers
        .filter_map(|(name, value)| header_secret(name, &expand(value, &lookup).ok()?.text))
        .collect()
}

/// Returns the environment variables that the headers of named models use, without those whose values are never secret.
pub fn header_variables(models: &BTreeMap<String, NamedModel>) -> BTreeSet<String> {
    let found = RefCell::new(BTreeSet::new());
    let lookup = |name: &str| {
        if !PLAIN_VARIABLES.contains(&name) {
            found.borrow_mut().insert(name.to_string());
        }
        Variable::Unset
    };
    for value in models.values().flat_map(|model| model.headers.values()) {
        // A text that is too long is reported when the model is used.
        let _ = expand(value, &lookup);
    }
    found.into_inner()
}

/// Returns the name of a header and its secret part; `None` if its value is a common word or number.
fn header_secret(name: &str, value: &str) -> Option<(String, String)> {
    // In `Bearer TOKEN`, only the token is secret.
    let token = value.rsplit(' ').next().unwrap_or(value);
    (!is_plain_word(token)).then(|| (name.to_string(), token.to_string()))
}

/// Returns the secret values in the environment variables that the settings give to external agents, each with the name
/// for its placeholder.
pub fn of_agents<'a>(agents: impl IntoIterator<Item = &'a ExternalAgent>) -> Vec<(String, String)> {
    let env = agents.into_iter().flat_map(|agent| {
        let preset = agent.preset.map_or(&[][..], |preset| preset.env);
        let is_own = move |(name, value): &(&String, &String)| {
            !preset.contains(&(name.as_str(), value.as_str()))
        };
        agent.env.iter().filter(is_own)
    });
    let secrets = env.filter(|(name, value)| is_secret(name, value));
    secrets
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn is_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_one = match secret_env::reason(name, value) {
        None => false,
        Some(WithheldReason::Name) => !is_plain_word(value),
        Some(WithheldReason::Shape | WithheldReason::Random) => true,
    };
    is_one && !PLAIN_ENDS.iter().any(|end| upper.ends_with(end)) && !is_path(value)
}

/// Maximum length, in characters, of a value that counts as a common word.
const WORD_MAX: usize = 16;
/// Maximum length, in characters, of a value that counts as a common number.
const NUMBER_MAX: usize = 6;

/// Returns whether the value of a variable is a common word or number. Such a value is not redacted: redacting
/// `postgres` everywhere, for example, would damage files and prompts and protect nothing. Commands of agents still do
/// not get the variable.
fn is_plain_word(value: &str) -> bool {
    let length = value.chars().count();
    let is_number = length <= NUMBER_MAX && value.chars().all(|c| c.is_ascii_digit());
    // Capitals after the first character suggest a random value.
    let rest = value.trim_start_matches(char::is_uppercase);
    let is_word = length <= WORD_MAX
        && value.chars().all(char::is_alphabetic)
        && (rest.is_empty()
            || (length - rest.chars().count() <= 1 && !rest.contains(char::is_uppercase)));
    is_number || is_word
}

/// Returns whether the value of a variable is a path. The path of a key file is not secret, and occurs in many texts.
fn is_path(value: &str) -> bool {
    value.starts_with("~/") || (value.starts_with('/') && value[1..].contains('/'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;

    use super::{CLIENT_SECRET, header_variables, is_secret, of_agents, of_models, of_servers};
    use crate::domain::external_agent::{ExternalAgent, ExternalAgentSettings, PRESETS};
    use crate::domain::mcp::{OAuthClient, ServerConfig, ServerSource, ServerTransport};
    use crate::domain::named_model::NamedModel;
    use crate::domain::secret_env;

    fn values(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        let all = all.iter();
        all.map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    }

    #[test]
    fn only_secrets_of_servers_are_redacted() {
        let server = |transport| ServerConfig {
            name: "a".into(),
            source: ServerSource::User,
            role: None,
            transport,
            call_timeout: None,
            start_timeout: None,
            oauth: OAuthClient {
                secret: Some("client-of-mine".into()),
                ..OAuthClient::default()
            },
            is_always_loaded: false,
        };
        let env = values(&[
            ("DB", "data/app.db"),
            ("TZ", "Europe/Berlin"),
            ("GITHUB_TOKEN", "a-token-of-mine"),
            ("MINE", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"),
        ]);
        let headers = values(&[("Authorization", "Bearer of-some-kind")]);
        let found = of_servers(&[
            server(ServerTransport::Program {
                command: "x".into(),
                args: Vec::new(),
                env,
                dir: None,
            }),
            server(ServerTransport::Http {
                url: "http://x".into(),
                headers,
            }),
        ]);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["GITHUB_TOKEN", "MINE", "Authorization", CLIENT_SECRET]
        );
    }

    #[test]
    fn secrets_in_headers_of_models_are_redacted_and_withheld() {
        let headers = [
            ("Authorization", "Bearer corp-abc-1"),
            ("X-Corp", "${CORP_THING:-none} ${CORP_ID}"),
            ("X-Team", "web"),
            ("X-User", "${USER}"),
            ("X-Unset", "${NONE}"),
        ];
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_string()));
        let model = NamedModel {
            headers: headers.into(),
            ..NamedModel::default()
        };
        let models = BTreeMap::from([("a".to_string(), model)]);
        let environment = |name: &str| match name {
            "USER" => Some("ada.lovelace".to_string()),
            "CORP_ID" => Some("id-of-corp-7".to_string()),
            _ => None,
        };
        let found = of_models(&models, environment);
        let found: Vec<(&str, &str)> = found.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(
            found,
            [("Authorization", "corp-abc-1"), ("X-Corp", "id-of-corp-7")]
        );
        let variables = header_variables(&models);
        assert_eq!(Vec::from_iter(variables), ["CORP_ID", "CORP_THING", "NONE"]);
    }

    #[test]
    fn secrets_in_the_settings_of_external_agents_are_redacted() {
        let settings = ExternalAgentSettings {
            env: values(&[
                ("MY_TOKEN", "a-literal-token-value"),
                ("REGION", "eu-north-1"),
            ]),
            ..ExternalAgentSettings::default()
        };
        let expand = |text: &str| Ok(text.to_string());
        let agents: Vec<_> = PRESETS
            .iter()
            .map(|preset| ExternalAgent::resolve(preset.name, &settings, &expand).unwrap())
            .collect();
        let found = of_agents(&agents);
        let secret = ("MY_TOKEN".to_string(), "a-literal-token-value".to_string());
        assert_eq!(found, vec![secret; PRESETS.len()]);
    }

    #[test]
    fn account_names_and_regions_are_not_secret() {
        for name in [
            "ANTHROPIC_API_KEY",
            "AWS_SESSION_TOKEN",
            "aws_secret_access_key",
            "DB_PASSWORD",
            "OPENAI_ORG",
        ] {
            assert!(is_secret(name, "words-of-it"), "{name}");
        }
        for name in [
            "AWS_REGION",
            "ANTHROPIC_BASE_URL",
            "anthropic_model",
            "AWS_PROFILE",
            "PATH",
        ] {
            assert!(!is_secret(name, "words-of-it"), "{name}");
        }
    }

    #[test]
    fn plain_word_password_is_withheld_but_not_redacted() {
        for word in ["postgres", "Postgres", "ADMIN", "changeme", "123456"] {
            assert!(!is_secret("DB_PASS", word), "{word}");
            assert!(secret_env::reason("DB_PASS", word).is_some(), "{word}");
        }
        for value in [
            "hunter2-and-more",
            "kJhGfDsAqWeRtY",
            "qwertzuiopasdfghjkl",
            "postgres://ada:postgres@db/x",
            "12345678901",
        ] {
            assert!(is_secret("DB_PASS", value), "{value}");
        }
    }

    #[test]
    fn path_of_a_key_is_not_secret() {
        assert!(!is_secret("SSH_KEY", "/home/ada/.ssh/id"));
        assert!(is_secret("SSH_KEY", "/b3BlbnNzaC1r"));
    }
}

//! Which environment variables a child must not see.

use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Ends of names that hold secrets.
const ENDS: &[&str] = &[
    "_API_KEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_PASSWD",
    "_CREDENTIALS",
    "_ACCESS_KEY",
    "_PRIVATE_KEY",
];
/// Starts of names that belong to model and cloud providers.
const STARTS: &[&str] = &[
    "ANTHROPIC_",
    "OPENAI_",
    "AWS_",
    "AZURE_",
    "GOOGLE_APPLICATION_",
    "GEMINI_",
    "MISTRAL_",
    "GROQ_",
    "OPENROUTER_",
];
/// Whole names.
const NAMES: &[&str] = &[
    "API_KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "CREWDECK_KEY",
];

/// Takes secrets away from what `command` will see.
pub fn scrub(command: &mut Command) {
    for name in secrets(std::env::vars_os().map(|(name, _)| name)) {
        command.env_remove(name);
    }
}

/// The names among `all` that a child must not see.
fn secrets(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    all.filter(|name| is_secret(name)).collect()
}

/// Whether a variable of that name holds a secret, or leads to the account of one.
pub fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    NAMES.contains(&name.as_str())
        || ENDS.iter().any(|end| name.ends_with(end))
        || STARTS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hidden_and_what_programs_need_is_not() {
        for hidden in [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "openai_base_url",
            "MY_API_KEY",
            "NPM_TOKEN",
            "AWS_SESSION",
            "DB_PASSWORD",
            "GITHUB_TOKEN",
            "SERVICE_CREDENTIALS",
        ] {
            assert!(is_secret(OsStr::new(hidden)), "{hidden}");
        }
        for seen in [
            "PATH",
            "HOME",
            "LANG",
            "CARGO_HOME",
            "TERM",
            "SSH_AUTH_SOCK",
            "TOKENIZERS_PARALLELISM",
        ] {
            assert!(!is_secret(OsStr::new(seen)), "{seen}");
        }
    }
}

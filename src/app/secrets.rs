//! Which secrets are looked for in what leaves the crew: the values of this process's own variables.

use std::ffi::OsStr;

use crate::domain::redact::Redactor;
use crate::process::environment;

/// Ends of names that belong to an account and hold no secret: a region or a model's name stands in many texts.
/// A password within an address is found by its shape.
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

/// What takes them out.
pub fn redactor() -> Redactor {
    let all = std::env::vars_os();
    let text =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Redactor::new(text.filter(|(name, _)| is_secret(name)))
}

fn is_secret(name: &str) -> bool {
    let plain = name.to_ascii_uppercase();
    environment::is_secret(OsStr::new(name)) && !PLAIN_ENDS.iter().any(|end| plain.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn what_names_an_account_is_no_secret() {
        for name in [
            "ANTHROPIC_API_KEY",
            "AWS_SESSION_TOKEN",
            "aws_secret_access_key",
            "DB_PASSWORD",
            "OPENAI_ORG",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "AWS_REGION",
            "ANTHROPIC_BASE_URL",
            "anthropic_model",
            "AWS_PROFILE",
            "PATH",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}

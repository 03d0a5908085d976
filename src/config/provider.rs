//! Selects the model provider from options, settings and environment variables.

use super::Settings;

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The Anthropic Messages API.
    Anthropic,
    /// The `OpenAI` Chat Completions API, of any server.
    OpenAi,
    /// The built-in scripted model of the demo.
    Demo,
    /// A scripted model from the named file.
    Script(String),
}

/// The provider variables that are set in the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Whether `ANTHROPIC_API_KEY` is set.
    pub anthropic_key: Source,
    /// Whether `OPENAI_API_KEY` is set.
    pub openai_key: Source,
    /// Whether `ANTHROPIC_BASE_URL` is set.
    pub anthropic_url: Source,
    /// Whether `OPENAI_BASE_URL` is set.
    pub openai_url: Source,
}

/// Whether an environment variable is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The variable is set.
    There,
    /// The variable is not set.
    Missing,
}

/// Selects the provider: by name, else by the API key that is set, else by the server address. Returns `Ok(None)` if
/// none of these is given; the caller may then look for a local server.
///
/// # Errors
/// Fails if the provider name is unknown.
pub fn choose(
    name: Option<&str>,
    settings: &Settings,
    found: Found,
) -> Result<Option<Choice>, String> {
    if let Some(name) = name.or(settings.provider.as_deref()) {
        return match name {
            "anthropic" => Ok(Some(Choice::Anthropic)),
            "openai" => Ok(Some(Choice::OpenAi)),
            "demo" => Ok(Some(Choice::Demo)),
            other => match other.strip_prefix("script:") {
                Some(file) if !file.is_empty() => Ok(Some(Choice::Script(file.into()))),
                Some(_) | None => Err(format!(
                    "unknown provider '{other}': use anthropic, openai, demo or script:FILE"
                )),
            },
        };
    }
    Ok(match (found.anthropic_key, found.openai_key) {
        (Source::There, _) => Some(Choice::Anthropic),
        (Source::Missing, Source::There) => Some(Choice::OpenAi),
        (Source::Missing, Source::Missing) => match (found.anthropic_url, found.openai_url) {
            (Source::There, _) => Some(Choice::Anthropic),
            (Source::Missing, Source::There) => Some(Choice::OpenAi),
            // The API of this address is unknown; most servers offer Chat Completions.
            (Source::Missing, Source::Missing) => {
                settings.base_url.as_ref().map(|_| Choice::OpenAi)
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Found = Found {
        anthropic_key: Source::Missing,
        openai_key: Source::Missing,
        anthropic_url: Source::Missing,
        openai_url: Source::Missing,
    };

    #[test]
    fn without_keys_the_address_selects_the_provider() {
        let (set, none) = (
            Settings {
                base_url: Some("http://127.0.0.1:1/v1".into()),
                ..Settings::default()
            },
            Settings::default(),
        );
        let anthropic = Found {
            anthropic_url: Source::There,
            ..NOTHING
        };
        let openai = Found {
            openai_url: Source::There,
            ..NOTHING
        };
        let keyed = Found {
            anthropic_key: Source::There,
            ..openai
        };
        assert_eq!(choose(None, &none, anthropic), Ok(Some(Choice::Anthropic)));
        assert_eq!(choose(None, &none, openai), Ok(Some(Choice::OpenAi)));
        assert_eq!(choose(None, &none, keyed), Ok(Some(Choice::Anthropic)));
        assert_eq!(choose(None, &set, NOTHING), Ok(Some(Choice::OpenAi)));
    }

    #[test]
    fn option_beats_setting_beats_keys() {
        let set = Settings {
            provider: Some("openai".into()),
            ..Settings::default()
        };
        let both = Found {
            anthropic_key: Source::There,
            openai_key: Source::There,
            ..NOTHING
        };
        let none = Settings::default();
        assert_eq!(choose(Some("demo"), &set, both), Ok(Some(Choice::Demo)));
        assert_eq!(choose(None, &set, both), Ok(Some(Choice::OpenAi)));
        assert_eq!(choose(None, &none, both), Ok(Some(Choice::Anthropic)));
        assert_eq!(choose(None, &none, NOTHING), Ok(None));
        assert_eq!(
            choose(Some("script:a.yaml"), &none, NOTHING),
            Ok(Some(Choice::Script("a.yaml".into())))
        );
        assert!(
            choose(Some("antropic"), &none, NOTHING)
                .unwrap_err()
                .contains("anthropic, openai")
        );
        assert!(choose(Some("script:"), &none, NOTHING).is_err());
    }
}

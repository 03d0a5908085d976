//! Selects the model provider from options, settings and environment variables.

use super::Settings;

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderChoice {
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
pub struct ProviderEnv {
    /// Whether `ANTHROPIC_API_KEY` is set.
    pub anthropic_key: EnvVar,
    /// Whether `OPENAI_API_KEY` is set.
    pub openai_key: EnvVar,
    /// Whether `ANTHROPIC_BASE_URL` is set.
    pub anthropic_url: EnvVar,
    /// Whether `OPENAI_BASE_URL` is set.
    pub openai_url: EnvVar,
}

/// Whether an environment variable is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvVar {
    /// The variable is set.
    Set,
    /// The variable is not set.
    Missing,
}

/// Selects the provider: by name, else by the API key that is set, else by the server address. Returns `Ok(None)` if
/// none of these is given; the caller may then look for a local server.
///
/// # Errors
/// Fails if the provider name is unknown.
pub fn choose_provider(
    name: Option<&str>,
    settings: &Settings,
    found: ProviderEnv,
) -> Result<Option<ProviderChoice>, String> {
    if let Some(name) = name.or(settings.provider.as_deref()) {
        return match name {
            "anthropic" => Ok(Some(ProviderChoice::Anthropic)),
            "openai" => Ok(Some(ProviderChoice::OpenAi)),
            "demo" => Ok(Some(ProviderChoice::Demo)),
            other => match other.strip_prefix("script:") {
                Some(file) if !file.is_empty() => Ok(Some(ProviderChoice::Script(file.into()))),
                Some(_) | None => Err(format!(
                    "unknown provider '{other}': use anthropic, openai, demo or script:FILE"
                )),
            },
        };
    }
    Ok(match (found.anthropic_key, found.openai_key) {
        (EnvVar::Set, _) => Some(ProviderChoice::Anthropic),
        (EnvVar::Missing, EnvVar::Set) => Some(ProviderChoice::OpenAi),
        (EnvVar::Missing, EnvVar::Missing) => match (found.anthropic_url, found.openai_url) {
            (EnvVar::Set, _) => Some(ProviderChoice::Anthropic),
            (EnvVar::Missing, EnvVar::Set) => Some(ProviderChoice::OpenAi),
            // The API of this address is unknown; most servers offer Chat Completions.
            (EnvVar::Missing, EnvVar::Missing) => {
                settings.base_url.as_ref().map(|_| ProviderChoice::OpenAi)
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ProviderEnv = ProviderEnv {
        anthropic_key: EnvVar::Missing,
        openai_key: EnvVar::Missing,
        anthropic_url: EnvVar::Missing,
        openai_url: EnvVar::Missing,
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
        let anthropic = ProviderEnv {
            anthropic_url: EnvVar::Set,
            ..NOTHING
        };
        let openai = ProviderEnv {
            openai_url: EnvVar::Set,
            ..NOTHING
        };
        let keyed = ProviderEnv {
            anthropic_key: EnvVar::Set,
            ..openai
        };
        assert_eq!(
            choose_provider(None, &none, anthropic),
            Ok(Some(ProviderChoice::Anthropic))
        );
        assert_eq!(
            choose_provider(None, &none, openai),
            Ok(Some(ProviderChoice::OpenAi))
        );
        assert_eq!(
            choose_provider(None, &none, keyed),
            Ok(Some(ProviderChoice::Anthropic))
        );
        assert_eq!(
            choose_provider(None, &set, NOTHING),
            Ok(Some(ProviderChoice::OpenAi))
        );
    }

    #[test]
    fn option_beats_setting_beats_keys() {
        let set = Settings {
            provider: Some("openai".into()),
            ..Settings::default()
        };
        let both = ProviderEnv {
            anthropic_key: EnvVar::Set,
            openai_key: EnvVar::Set,
            ..NOTHING
        };
        let none = Settings::default();
        assert_eq!(
            choose_provider(Some("demo"), &set, both),
            Ok(Some(ProviderChoice::Demo))
        );
        assert_eq!(
            choose_provider(None, &set, both),
            Ok(Some(ProviderChoice::OpenAi))
        );
        assert_eq!(
            choose_provider(None, &none, both),
            Ok(Some(ProviderChoice::Anthropic))
        );
        assert_eq!(choose_provider(None, &none, NOTHING), Ok(None));
        assert_eq!(
            choose_provider(Some("script:a.yaml"), &none, NOTHING),
            Ok(Some(ProviderChoice::Script("a.yaml".into())))
        );
        assert!(
            choose_provider(Some("antropic"), &none, NOTHING)
                .unwrap_err()
                .contains("anthropic, openai")
        );
        assert!(choose_provider(Some("script:"), &none, NOTHING).is_err());
    }
}

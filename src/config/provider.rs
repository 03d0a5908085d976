//! Which provider: from the options, the settings, the keys that are there, or a local server.

use super::Settings;

/// Where the model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, of any server.
    OpenAi,
    /// The built-in scripted model of the demo.
    Demo,
    /// A scripted model from a file.
    Script(String),
}

/// What the surroundings offer.
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

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It is.
    There,
    /// It is not.
    Missing,
}

/// The provider to use: as named, else by the key that is there, else by the address. `Ok(None)`: nothing points to
/// one, a local server may be looked for.
///
/// # Errors
/// The name is none of the known ones.
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
            // An address without a wire's name: most servers speak Chat Completions.
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
    fn without_keys_an_address_points_to_its_wire() {
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
    fn the_option_wins_then_the_setting_then_the_keys() {
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

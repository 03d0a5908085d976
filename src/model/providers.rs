//! Selects the model provider from options, settings and environment variables. Does no I/O.

pub use super::PROVIDERS;
use super::openai;
use super::provider::ProviderSpec;

/// The provider that is used for a server whose API is unknown, because most servers offer Chat Completions.
pub static COMPATIBLE: &ProviderSpec = &openai::SPEC;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderChoice {
    Server(&'static ProviderSpec),
    /// The built-in scripted model of the demo.
    Demo,
    /// A scripted model; the string is the path of its script.
    Script(String),
}

/// Selects the provider `name`. Without a name, selects the first of [`PROVIDERS`] whose API key is set in the
/// environment, else the first whose server address is set there, else [`COMPATIBLE`] if the settings contain the
/// address `base_url`. Returns `Ok(None)` if none of these is given; the caller may then look for a local server.
/// `environment` returns the value of a variable, or `None` if the variable is unset or blank.
///
/// # Errors
/// Fails if the provider name is unknown.
pub fn choose(
    name: Option<&str>,
    base_url: Option<&str>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Option<ProviderChoice>, String> {
    if let Some(name) = name {
        return by_name(name).map(Some);
    }
    let with = |variable: fn(&ProviderSpec) -> &str| {
        let mut all = PROVIDERS.iter().copied();
        all.find(|spec| environment(variable(spec)).is_some())
    };
    let spec = with(|spec| spec.key_var)
        .or_else(|| with(|spec| spec.url_var))
        .or_else(|| base_url.map(|_| COMPATIBLE));
    Ok(spec.map(ProviderChoice::Server))
}

fn by_name(name: &str) -> Result<ProviderChoice, String> {
    if let Some(spec) = PROVIDERS.iter().find(|spec| spec.name == name) {
        return Ok(ProviderChoice::Server(spec));
    }
    match (name, name.strip_prefix("script:")) {
        ("demo", _) => Ok(ProviderChoice::Demo),
        (_, Some(file)) if !file.is_empty() => Ok(ProviderChoice::Script(file.into())),
        _ => Err(format!(
            "unknown provider '{name}': use {}, demo or script:FILE",
            list(|spec| spec.name.into(), ", ")
        )),
    }
}

/// Calls `describe` for each provider, and joins the results with `separator`.
pub fn list(describe: impl Fn(&ProviderSpec) -> String, separator: &str) -> String {
    let all: Vec<String> = PROVIDERS.iter().map(|spec| describe(spec)).collect();
    all.join(separator)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::{anthropic, is_local};

    const ANTHROPIC: Option<ProviderChoice> = Some(ProviderChoice::Server(&anthropic::SPEC));
    const OPENAI: Option<ProviderChoice> = Some(ProviderChoice::Server(&openai::SPEC));

    fn choose_with_variables(
        name: Option<&str>,
        base_url: Option<&str>,
        set: &[&str],
    ) -> Result<Option<ProviderChoice>, String> {
        choose(name, base_url, |variable| {
            set.contains(&variable).then(|| "value".into())
        })
    }

    #[test]
    fn name_beats_keys_beat_addresses_beat_settings() {
        let url = Some("http://127.0.0.1:1/v1");
        let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
        for (name, base_url, set, wanted) in [
            (Some("openai"), url, &keys[..], OPENAI),
            (Some("demo"), url, &keys, Some(ProviderChoice::Demo)),
            (None, url, &keys, ANTHROPIC),
            (None, url, &["OPENAI_API_KEY", "ANTHROPIC_BASE_URL"], OPENAI),
            (
                None,
                None,
                &["ANTHROPIC_API_KEY", "OPENAI_BASE_URL"],
                ANTHROPIC,
            ),
            (None, None, &["OPENAI_BASE_URL"], OPENAI),
            (None, url, &["ANTHROPIC_BASE_URL"], ANTHROPIC),
            (None, url, &[], OPENAI),
            (None, None, &[], None),
        ] {
            assert_eq!(
                choose_with_variables(name, base_url, set),
                Ok(wanted),
                "{name:?} {set:?}"
            );
        }
    }

    #[test]
    fn script_needs_a_file_and_unknown_names_are_rejected() {
        let script = ProviderChoice::Script("a.yaml".into());
        assert_eq!(
            choose_with_variables(Some("script:a.yaml"), None, &[]),
            Ok(Some(script))
        );
        for (name, error) in [
            (
                "antropic",
                "unknown provider 'antropic': use anthropic, openai, demo or script:FILE",
            ),
            ("script:", "unknown provider 'script:'"),
        ] {
            let found = choose_with_variables(Some(name), None, &[]).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn declarations_are_complete_and_unique() {
        let mut names = BTreeSet::from(["demo", "script"]);
        for spec in PROVIDERS {
            for name in [spec.name, spec.key_var, spec.url_var] {
                assert!(names.insert(name), "{name} is used twice");
            }
            assert!(spec.vendor_url.starts_with("https://"), "{}", spec.name);
            let servers = spec.local_servers.iter();
            assert!(servers.into_iter().all(|server| is_local(server.base_url)));
        }
    }
}

//! Selects the model provider from options, settings and environment variables. Does no I/O.

pub use super::PROVIDERS;
use super::openai;
use super::provider::{AutoSelect, ProviderSpec};

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
/// address `base_url`. Skips providers whose [`AutoSelect`] does not permit a selection without the name. Returns
/// `Ok(None)` if nothing selects a provider; the caller may then look for a local server. `environment` returns the
/// value of a variable, or `None` if the variable is unset or blank.
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
    let may = |spec: &&ProviderSpec| match spec.auto_select {
        AutoSelect::KeyOrAddress => true,
        AutoSelect::VendorAddress => {
            let address = base_url.map(str::to_string);
            let address = address.or_else(|| environment(spec.url_var));
            address.is_none_or(|url| spec.is_vendor_address(&url))
        }
        AutoSelect::Never => false,
    };
    let with = |variable: fn(&ProviderSpec) -> &str| {
        let mut all = PROVIDERS.iter().copied().filter(may);
        all.find(|spec| environment(variable(spec)).is_some())
    };
    let spec = with(|spec| spec.key_var)
        .or_else(|| with(|spec| spec.url_var))
        .or_else(|| base_url.map(|_| COMPATIBLE));
    Ok(spec.map(ProviderChoice::Server))
}

/// Returns the provider to use for the server at `base_url` if only this address is configured. This is the provider
/// with [`AutoSelect::VendorAddress`] whose vendor has the address, or [`COMPATIBLE`] if there is none.
pub fn of_address(base_url: &str) -> &'static ProviderSpec {
    let mut all = PROVIDERS.iter().copied();
    let is_own = |spec: &&ProviderSpec| {
        spec.auto_select == AutoSelect::VendorAddress && spec.is_vendor_address(base_url)
    };
    all.find(is_own).unwrap_or(COMPATIBLE)
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
            names(PROVIDERS.iter().copied())
        )),
    }
}

/// Returns the providers that have a wire format of their own.
pub fn wires() -> impl Iterator<Item = &'static ProviderSpec> {
    let all = PROVIDERS.iter().copied();
    all.filter(|spec| spec.auto_select != AutoSelect::Never)
}

/// Returns the providers of vendors whose servers speak the wire format of [`COMPATIBLE`].
pub fn vendors() -> impl Iterator<Item = &'static ProviderSpec> {
    let all = PROVIDERS.iter().copied();
    all.filter(|spec| spec.auto_select == AutoSelect::Never)
}

/// Returns the names of the providers, separated by commas.
pub fn names(specs: impl Iterator<Item = &'static ProviderSpec>) -> String {
    let all: Vec<&str> = specs.map(|spec| spec.name).collect();
    all.join(", ")
}

/// Returns the environment variables whose API key selects a provider without its name, each once, in the order of
/// [`PROVIDERS`].
pub fn selecting_keys() -> Vec<&'static str> {
    let mut keys: Vec<&str> = wires().map(|spec| spec.key_var).collect();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::provider::ModelServerConfig;
    use crate::model::{anthropic, is_local, responses};

    const ANTHROPIC: Option<ProviderChoice> = Some(ProviderChoice::Server(&anthropic::SPEC));
    const OPENAI: Option<ProviderChoice> = Some(ProviderChoice::Server(&openai::SPEC));
    const RESPONSES: Option<ProviderChoice> = Some(ProviderChoice::Server(&responses::SPEC));

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
                &["OPENAI_API_KEY", "ANTHROPIC_BASE_URL"],
                RESPONSES,
            ),
            (None, None, &["OPENAI_API_KEY", "GROQ_API_KEY"], RESPONSES),
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
    fn address_of_openai_alone_selects_its_own_api() {
        for (url, expected) in [
            ("https://api.openai.com/v1", &responses::SPEC),
            ("https://api.groq.com/openai/v1", &openai::SPEC),
            ("http://127.0.0.1:11434/v1", &openai::SPEC),
            ("no address", &openai::SPEC),
        ] {
            assert_eq!(of_address(url).name, expected.name, "{url}");
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
                "unknown provider 'antropic': use anthropic, responses, openai, openrouter, groq, deepseek, mistral, gemini, azure, vllm, demo or script:FILE",
            ),
            ("script:", "unknown provider 'script:'"),
        ] {
            let found = choose_with_variables(Some(name), None, &[]).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn responses_is_selected_only_for_the_vendors_address() {
        let key = "OPENAI_API_KEY";
        for (base_url, address, expected) in [
            (None, None, RESPONSES),
            (Some("https://api.openai.com/v1"), None, RESPONSES),
            (None, Some("https://api.openai.com/v1/"), RESPONSES),
            (Some("http://127.0.0.1:8080/v1"), None, OPENAI),
            (None, Some("https://gateway.example.com/v1"), OPENAI),
            (None, Some("http://api.openai.com/v1"), OPENAI),
            (None, Some("https://api.openai.com.example.org/v1"), OPENAI),
        ] {
            let environment = |variable: &str| match variable {
                "OPENAI_BASE_URL" => address.map(String::from),
                _ => (variable == key).then(|| "sk-x".into()),
            };
            assert_eq!(
                choose(None, base_url, environment),
                Ok(expected),
                "{base_url:?} {address:?}"
            );
            let named = choose(Some("openai"), base_url, environment);
            assert_eq!(named, Ok(OPENAI));
        }
    }

    #[test]
    fn vendors_are_used_only_if_they_are_named() {
        for spec in vendors() {
            let set = [spec.key_var, spec.url_var];
            assert_eq!(
                choose_with_variables(None, None, &set),
                Ok(None),
                "{}",
                spec.name
            );
            let named = choose_with_variables(Some(spec.name), None, &["ANTHROPIC_API_KEY"]);
            assert_eq!(named, Ok(Some(ProviderChoice::Server(spec))));
        }
        assert_eq!(vendors().count(), 7);
    }

    #[test]
    fn only_https_hosts_of_a_vendor_are_its_own() {
        let azure = by_name("azure");
        let Ok(ProviderChoice::Server(azure)) = azure else {
            panic!("{azure:?}")
        };
        for (url, expected) in [
            ("https://r.openai.azure.com/openai/v1", true),
            ("https://r.services.ai.azure.com", true),
            ("http://r.openai.azure.com", false),
            ("https://openai.azure.com.example.org", false),
            ("https://example.org/.openai.azure.com", false),
            ("r.openai.azure.com", false),
            ("", false),
        ] {
            assert_eq!(azure.is_vendor_address(url), expected, "{url}");
        }
    }

    #[test]
    fn declarations_are_complete_and_unique() {
        let mut names = BTreeSet::from(["demo", "script"]);
        for spec in PROVIDERS {
            assert!(names.insert(spec.name), "{} is used twice", spec.name);
            // Both wire formats of OpenAI have the same key and address.
            if spec.auto_select != AutoSelect::VendorAddress {
                for name in [spec.key_var, spec.url_var] {
                    assert!(names.insert(name), "{name} is used twice");
                }
            }
            let is_own = spec.vendor_url.is_empty() && !spec.vendor_hosts.is_empty();
            let is_vendors = spec.vendor_url.starts_with("https://");
            assert!(
                is_vendors || is_local(spec.vendor_url) || is_own,
                "{}",
                spec.name
            );
            let servers = spec.local_servers.iter();
            assert!(servers.into_iter().all(|server| is_local(server.base_url)));
        }
    }

    #[test]
    fn calls_of_a_vendors_server_cost_what_its_price_list_says() {
        for spec in PROVIDERS {
            let config = ModelServerConfig {
                base_url: match spec.vendor_hosts.first() {
                    Some(host) => format!("https://resource{host}"),
                    None => spec.vendor_url.into(),
                },
                ..ModelServerConfig::new(spec)
            };
            let model = config.connect().unwrap();
            let expected = !is_local(&config.base_url);
            assert_eq!(model.is_remote(), expected, "{}", spec.name);
        }
    }

    #[test]
    fn settings_page_lists_every_provider() {
        let page = include_str!("../../docs/settings.md");
        for spec in PROVIDERS {
            let ProviderSpec {
                name,
                key_var,
                url_var,
                ..
            } = spec;
            let row = format!("| `{name}` | {} | `{key_var}`", spec.api);
            let row = page.lines().find(|line| line.starts_with(&row));
            assert!(row.is_some_and(|row| row.contains(*url_var)), "{name}");
        }
    }
}

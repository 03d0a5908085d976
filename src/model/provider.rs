//! What a model provider declares, and the configuration of one of its servers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::sse::SseEvent;
use super::{Delta, Model, ModelError, Reply};
use crate::domain::text::{clip, one_line};

/// Default of the setting `model_timeout_s`: the maximum time without data from the server. It is long, because local
/// models process long prompts slowly.
pub const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// The declaration of a provider: its names, environment variables, settings, known servers and functions.
#[derive(Debug)]
pub struct ProviderSpec {
    /// The provider's name in options, settings and reports.
    pub name: &'static str,
    /// The name of the provider's API, without the word "API".
    pub api: &'static str,
    /// The environment variable that holds the API key.
    pub key_var: &'static str,
    /// The environment variable that holds the address of the server.
    pub url_var: &'static str,
    /// The address of the vendor's server. If the key from `key_var` is sent to another address, the user gets a
    /// notice.
    pub vendor_url: &'static str,
    /// Settings that only this provider has. In the settings file they are in the table with the provider's name.
    pub options: &'static [ProviderOption],
    /// Servers to look for on this machine if no provider is configured.
    pub local_servers: &'static [LocalServer],
    /// Returns advice for an HTTP error. The arguments are the status code and the server's error text in lower case.
    pub refusal_hints: fn(u16, &str) -> RefusalHints,
    pub decoder: fn() -> Box<dyn Decode>,
    /// Creates the client. Sends no request yet. Fails if the address or a header value is invalid.
    pub connect: fn(&ModelServerConfig) -> Result<Arc<dyn Model>, ModelError>,
}

impl ProviderSpec {
    /// Checks that each option has one of the values in [`ProviderOption::values`].
    ///
    /// # Errors
    /// Names the first invalid value and the valid ones.
    pub fn check_options(&self, options: &BTreeMap<String, String>) -> Result<(), String> {
        for ProviderOption { name, values } in self.options {
            match options.get(*name) {
                Some(value) if !values.is_empty() && !values.contains(&value.as_str()) => {
                    let (provider, known) = (self.name, values.join(" or "));
                    let value = one_line(&clip(value, 80));
                    return Err(format!("{provider}.{name} is '{value}': use {known}"));
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}

/// Two providers are equal if their names are equal.
impl PartialEq for ProviderSpec {
    fn eq(&self, other: &ProviderSpec) -> bool {
        self.name == other.name
    }
}

impl Eq for ProviderSpec {}

#[derive(Debug)]
pub struct ProviderOption {
    /// The name of the setting in the provider's table of the settings file.
    pub name: &'static str,
    /// The valid values; empty if any text is valid.
    pub values: &'static [&'static str],
}

/// A model server that may run on this machine. It needs no API key.
#[derive(Debug)]
pub struct LocalServer {
    pub name: &'static str,
    /// The address where the program listens unless it is configured otherwise.
    pub base_url: &'static str,
}

/// A provider's advice about a refused request, for the error message.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RefusalHints {
    /// Advice on the setting that caused the refusal, if the error text shows which setting it is. Replaces all other
    /// hints.
    pub setting: Option<&'static str>,
    /// Text to append to the hint about a refused API key; may be empty.
    pub key: &'static str,
    /// The hint for a refused request whose status has no general hint; may be empty.
    pub request: &'static str,
}

/// Turns the events of a streamed response into deltas. Does no I/O.
pub trait Decode: Send + 'static {
    /// Consumes one event and appends its deltas to `out`.
    ///
    /// # Errors
    /// Fails if the event reports an error or violates the API format.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), ModelError>;

    /// Returns the reply if the response is complete by the rules of the API, else `None`. Called when the stream ends
    /// or its connection fails, unless [`Decode::event`] has already produced [`Delta::Done`].
    fn reply(&mut self) -> Option<Reply>;
}

#[derive(Debug, Clone)]
pub struct ModelServerConfig {
    pub spec: &'static ProviderSpec,
    pub base_url: String,
    /// The API key; `None` to send none, as a local server may need none.
    pub key: Option<SecretString>,
    /// The options that the user has set, by their names in [`ProviderSpec::options`].
    pub options: BTreeMap<String, String>,
    pub read_timeout: Duration,
}

impl ModelServerConfig {
    /// Creates the configuration of the vendor's own server, without a key.
    pub fn new(spec: &'static ProviderSpec) -> ModelServerConfig {
        ModelServerConfig {
            spec,
            base_url: spec.vendor_url.into(),
            key: None,
            options: BTreeMap::new(),
            read_timeout: READ_TIMEOUT,
        }
    }

    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Creates the client. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn connect(&self) -> Result<Arc<dyn Model>, ModelError> {
        (self.spec.connect)(self)
    }
}

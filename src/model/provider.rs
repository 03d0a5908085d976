//! What a model provider declares, and the configuration of one of its servers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::sse::SseEvent;
use super::{Delta, ErrorKind, Model, ModelError, Reply};
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
    /// The condition under which the provider is selected without its name.
    pub auto_select: AutoSelect,
    /// The environment variable that holds the API key.
    pub key_var: &'static str,
    /// The environment variable that holds the address of the server.
    pub url_var: &'static str,
    /// The address of the vendor's server; empty if each customer has an address of their own. If the key from
    /// `key_var` is sent to another address, the user gets a notice.
    pub vendor_url: &'static str,
    /// Ends of host names, such as `.example.com`, that belong to the vendor besides the host of `vendor_url`.
    pub vendor_hosts: &'static [&'static str],
    /// Settings that only this provider has. In the settings file they are in the table with the provider's name.
    pub options: &'static [ProviderOption],
    /// Servers to look for on this machine if no provider is configured.
    pub local_servers: &'static [LocalServer],
    /// Whether requests can limit the tokens that the model uses to think.
    pub has_thinking_budget: bool,
    /// Returns advice for an HTTP error. The arguments are the status code and the server's error text in lower case.
    pub refusal_hints: fn(u16, &str) -> RefusalHints,
    pub decoder: fn() -> Box<dyn Decode>,
    /// Creates the client. Sends no request yet. Fails if the address or a header value is invalid.
    pub connect: fn(&ModelServerConfig) -> Result<Arc<dyn Model>, ModelError>,
}

/// The condition under which a provider is selected although neither an option nor a setting names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoSelect {
    /// The provider is selected if its API key or its server address is in the environment.
    KeyOrAddress,
    /// Like [`AutoSelect::KeyOrAddress`], but only if no address is set or the address is the vendor's. With another
    /// address, the same variables usually belong to a server that has a different API.
    VendorAddress,
    /// The provider is never selected without its name, because many users have the vendor's API key in the environment
    /// for other programs.
    Never,
}

impl ProviderSpec {
    /// Returns whether `url` is an address of the vendor: it has the origin of `vendor_url`, or it uses https and its
    /// host ends with one of `vendor_hosts`.
    pub fn is_vendor_address(&self, url: &str) -> bool {
        let Ok(parsed) = reqwest::Url::parse(url) else {
            return false;
        };
        let host = parsed.host_str().unwrap_or_default();
        let is_own = self.vendor_hosts.iter().any(|end| host.ends_with(end));
        (is_own && parsed.scheme() == "https")
            || super::origin(url) == super::origin(self.vendor_url)
    }

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
    /// The name of the environment variable with the API key, for messages: [`ProviderSpec::key_var`], or the variable
    /// that the user's settings name.
    pub key_var: String,
    /// The options that the user has set, by their names in [`ProviderSpec::options`].
    pub options: BTreeMap<String, String>,
    pub read_timeout: Duration,
    /// Additional headers of each request; their values may be secret.
    pub headers: BTreeMap<String, String>,
}

/// Two configurations are equal if they have the same provider, address, API key, options, headers and timeout.
impl PartialEq for ModelServerConfig {
    fn eq(&self, other: &ModelServerConfig) -> bool {
        self.spec == other.spec
            && self.base_url.trim_end_matches('/') == other.base_url.trim_end_matches('/')
            && self.options == other.options
            && self.headers == other.headers
            && self.read_timeout == other.read_timeout
            && self.has_key_of(other)
    }
}

impl ModelServerConfig {
    /// Creates the configuration of the vendor's own server, without a key.
    pub fn new(spec: &'static ProviderSpec) -> ModelServerConfig {
        ModelServerConfig {
            spec,
            base_url: spec.vendor_url.into(),
            key: None,
            key_var: spec.key_var.into(),
            options: BTreeMap::new(),
            read_timeout: READ_TIMEOUT,
            headers: BTreeMap::new(),
        }
    }

    fn has_key_of(&self, other: &ModelServerConfig) -> bool {
        let key = |config: &ModelServerConfig| {
            let key = config.key.as_ref();
            key.map(|key| key.expose_secret().to_string())
        };
        key(self) == key(other)
    }

    /// Returns whether requests of both configurations go to the same server with the same API key, so that they share
    /// its rate limits. False if the address is invalid.
    pub fn shares_limits_with(&self, other: &ModelServerConfig) -> bool {
        let origin = super::origin(&self.base_url);
        origin.is_some() && origin == super::origin(&other.base_url) && self.has_key_of(other)
    }

    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Returns the name of the server for [`crate::domain::chat::AnswerOrigin::server`]: the provider and the origin,
    /// such as `responses https://api.openai.com`.
    pub fn server_name(&self) -> Arc<str> {
        let origin = super::origin(&self.base_url).unwrap_or_default();
        format!("{} {origin}", self.spec.name).into()
    }

    /// Checks that the configuration contains an address. It can be missing only for a provider without a
    /// [`ProviderSpec::vendor_url`].
    ///
    /// # Errors
    /// Says how to set the address.
    pub fn check_address(&self) -> Result<(), ModelError> {
        if !self.base_url.is_empty() {
            return Ok(());
        }
        let ProviderSpec { name, url_var, .. } = self.spec;
        let host = self.spec.vendor_hosts.first().unwrap_or(&"");
        Err(ModelError::new(
            ErrorKind::BadRequest,
            format!(
                "the provider {name} needs an address, because it contains the name of your resource"
            ),
            format!(
                "Set it: --base-url https://RESOURCE{host}, or export {url_var}=https://RESOURCE{host}."
            ),
        ))
    }

    /// Creates the client. Sends no request yet.
    ///
    /// # Errors
    /// Fails if the address or a header value is invalid.
    pub fn connect(&self) -> Result<Arc<dyn Model>, ModelError> {
        self.check_address()?;
        (self.spec.connect)(self)
    }
}

//! The setting `hub`: how crewdeck logs in to a hub, how a new crew is stored there, and where its hosts exchange branches.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use secrecy::SecretString;
use serde::Deserialize;

use crate::store::{
    HubAddress, HubLogin, HubSecret, HubSettings, HubStorage, regular_file, transport_of,
};

/// The keys of the setting.
pub const HUB_KEYS: &[&str] = &[
    "user",
    "nkey_file",
    "credentials",
    "secret_file",
    "ca",
    "cert",
    "key",
    "replicas",
    "storage",
    "mail_max_mb",
    "remote",
];
/// The highest accepted value of `replicas`, as the server accepts it.
const REPLICAS_MAX: usize = 5;
/// The highest accepted value of `mail_max_mb`: a TiB.
const MAIL_MAX_MB: i64 = 1024 * 1024;
/// Maximum size of a file with the seed of an NKey, in bytes.
const SEED_MAX: u64 = 4096;
/// Maximum size of a file with the secret of a crew, in bytes.
const SECRET_FILE_MAX: u64 = 16 * 1024;
/// Variable with the life of a lease in whole seconds. For tests of whole processes, in which a lost host must not take long;
/// a release build ignores it.
const TEST_LEASE: &str = "CREWDECK_TEST_LEASE_SECONDS";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StorageWord {
    File,
    Memory,
}

/// The values of the setting. Secrets are not among them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HubOptions {
    user: Option<String>,
    nkey_file: Option<PathBuf>,
    credentials: Option<PathBuf>,
    secret_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    replicas: Option<usize>,
    storage: Option<StorageWord>,
    mail_max_mb: Option<i64>,
    remote: Option<String>,
}

impl HubOptions {
    /// Returns these options, overridden by those that are set in `later`.
    #[must_use]
    pub fn merged_with(self, later: HubOptions) -> HubOptions {
        HubOptions {
            user: later.user.or(self.user),
            nkey_file: later.nkey_file.or(self.nkey_file),
            credentials: later.credentials.or(self.credentials),
            secret_file: later.secret_file.or(self.secret_file),
            ca: later.ca.or(self.ca),
            cert: later.cert.or(self.cert),
            key: later.key.or(self.key),
            replicas: later.replicas.or(self.replicas),
            storage: later.storage.or(self.storage),
            mail_max_mb: later.mail_max_mb.or(self.mail_max_mb),
            remote: later.remote.or(self.remote),
        }
    }

    /// Checks what the types do not ensure.
    ///
    /// # Errors
    /// Returns the end of a sentence that begins with the name of the setting.
    pub fn check(&self) -> Result<(), String> {
        if let Some(replicas) = self.replicas.filter(|n| ![1, 3, REPLICAS_MAX].contains(n)) {
            return Err(format!(
                ".replicas is {replicas}: give 1, 3 or {REPLICAS_MAX}"
            ));
        }
        if let Some(size) = self.mail_max_mb.filter(|n| !(1..=MAIL_MAX_MB).contains(n)) {
            return Err(format!(
                ".mail_max_mb is {size}: give a number from 1 to {MAIL_MAX_MB}"
            ));
        }
        if self.cert.is_some() != self.key.is_some() {
            return Err(".cert and hub.key need each other: set both".into());
        }
        if let Some(remote) = &self.remote {
            transport_of(remote.trim()).map_err(|why| format!(".remote {why}"))?;
        }
        Ok(())
    }

    /// Returns the git remote through which the hosts of a crew exchange branches: the name of a remote of the clone, a URL or
    /// an absolute path.
    pub fn remote(&self) -> Option<&str> {
        self.remote.as_deref().map(str::trim)
    }

    /// Returns what a connection to the hub at `url` needs. `variable` returns the value of an environment variable.
    ///
    /// # Errors
    /// When the address or the secret is invalid, a file cannot be read, or several logins are set.
    pub fn settings(
        &self,
        url: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<HubSettings> {
        let address = HubAddress::parse(url)?;
        let certificate = self.cert.clone().zip(self.key.clone());
        let files = [&self.ca, &self.cert, &self.key, &self.credentials];
        for path in files.into_iter().flatten() {
            check_readable(path)?;
        }
        let defaults = HubSettings::new(address);
        Ok(HubSettings {
            secret: self.secret(&variable)?,
            lease_life: test_lease_life(&variable).unwrap_or(defaults.lease_life),
            login: self.login(variable)?,
            is_mail_max_set: self.mail_max_mb.is_some(),
            ca: self.ca.clone(),
            client_certificate: certificate,
            replicas: self.replicas.unwrap_or(defaults.replicas),
            storage: match self.storage {
                Some(StorageWord::Memory) => HubStorage::Memory,
                Some(StorageWord::File) | None => HubStorage::File,
            },
            mail_bytes_max: self
                .mail_max_mb
                .map_or(defaults.mail_bytes_max, |size| size * 1024 * 1024),
            ..defaults
        })
    }

    /// Returns the secret of the crew. The variable overrides the file.
    fn secret(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Option<HubSecret>> {
        let set = variable("CREWDECK_HUB_SECRET").filter(|value| !value.trim().is_empty());
        let text = match (set, &self.secret_file) {
            (Some(text), _) => text,
            (None, Some(path)) => regular_file::read_text(path, SECRET_FILE_MAX)
                .with_context(|| format!("hub.secret_file: {}", path.display()))?,
            (None, None) => return Ok(None),
        };
        Ok(Some(HubSecret::new(&text)?))
    }

    fn login(&self, variable: impl Fn(&str) -> Option<String>) -> Result<HubLogin> {
        let secret = |name: &str| {
            let value = variable(name).filter(|value| !value.trim().is_empty());
            value.map(|value| SecretString::from(value.trim()))
        };
        let user = variable("CREWDECK_HUB_USER").or_else(|| self.user.clone());
        let credentials = variable("CREWDECK_HUB_CREDENTIALS").map(PathBuf::from);
        let mut logins = Vec::new();
        if let Some(password) = secret("CREWDECK_HUB_PASSWORD") {
            let Some(name) = user else {
                bail!("CREWDECK_HUB_PASSWORD is set, but no user: set CREWDECK_HUB_USER");
            };
            logins.push(HubLogin::User { name, password });
        }
        logins.extend(secret("CREWDECK_HUB_TOKEN").map(HubLogin::Token));
        logins.extend(secret("CREWDECK_HUB_NKEY").map(HubLogin::NKey));
        if let Some(path) = credentials {
            check_readable(&path)?;
            logins.push(HubLogin::Credentials(path));
        }
        if logins.len() > 1 {
            bail!(
                "several logins for the hub are set: set only one of CREWDECK_HUB_PASSWORD, CREWDECK_HUB_TOKEN, CREWDECK_HUB_NKEY and CREWDECK_HUB_CREDENTIALS"
            );
        }
        if let Some(login) = logins.pop() {
            return Ok(login);
        }
        if let Some(path) = &self.credentials {
            return Ok(HubLogin::Credentials(path.clone()));
        }
        if let Some(path) = &self.nkey_file {
            let seed = regular_file::read_text(path, SEED_MAX);
            let seed = seed.with_context(|| format!("hub.nkey_file: {}", path.display()))?;
            return Ok(HubLogin::NKey(SecretString::from(seed.trim())));
        }
        Ok(HubLogin::None)
    }
}

/// Returns the life of a lease that a test has set for all processes of its crew; `None` for the usual one.
fn test_lease_life(variable: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    if !cfg!(debug_assertions) {
        return None;
    }
    let seconds: u64 = variable(TEST_LEASE)?.trim().parse().ok()?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

fn check_readable(path: &Path) -> Result<()> {
    regular_file::open(path).with_context(|| format!("the hub needs {}", path.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::secret_env::is_secret_name;

    const URL: &str = "nats://127.0.0.1:4222/web";

    #[test]
    fn login_comes_from_one_variable_or_else_from_a_file() {
        let login = |options: &HubOptions, set: &[(&str, &str)]| {
            let set: Vec<(String, String)> = set
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect();
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone())
            };
            options
                .settings(URL, variable)
                .map(|settings| settings.login)
        };
        let none = HubOptions::default();
        assert!(matches!(login(&none, &[]).unwrap(), HubLogin::None));
        let token = [("CREWDECK_HUB_TOKEN", "t")];
        assert!(matches!(login(&none, &token).unwrap(), HubLogin::Token(_)));
        let password = [("CREWDECK_HUB_PASSWORD", "p")];
        assert!(login(&none, &password).is_err());
        let user = HubOptions {
            user: Some("bob".into()),
            ..HubOptions::default()
        };
        assert!(matches!(
            login(&user, &password).unwrap(),
            HubLogin::User { .. }
        ));
        let both = [token[0], ("CREWDECK_HUB_NKEY", "SU")];
        assert!(login(&none, &both).is_err());
        let seed = tempfile::NamedTempFile::new().unwrap();
        let file = HubOptions {
            nkey_file: Some(seed.path().into()),
            ..HubOptions::default()
        };
        assert!(matches!(login(&file, &[]).unwrap(), HubLogin::NKey(_)));
        let missing = HubOptions {
            ca: Some("/nowhere/ca.pem".into()),
            ..HubOptions::default()
        };
        let error = format!("{:#}", login(&missing, &[]).unwrap_err());
        assert!(error.contains("/nowhere/ca.pem"), "{error}");
    }

    #[test]
    fn secret_comes_from_the_variable_or_else_from_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let options = HubOptions {
            secret_file: Some(file.path().into()),
            ..HubOptions::default()
        };
        let secret = |options: &HubOptions, set: Option<&str>| {
            let set = set.map(String::from);
            let variable = |name: &str| set.clone().filter(|_| name == "CREWDECK_HUB_SECRET");
            options
                .settings(URL, variable)
                .map(|settings| settings.has_secret())
                .map_err(|error| format!("{error:#}"))
        };
        let long = "a secret of the crew web";
        assert_eq!(secret(&HubOptions::default(), None), Ok(false));
        assert_eq!(secret(&HubOptions::default(), Some(" ")), Ok(false));
        assert_eq!(secret(&HubOptions::default(), Some(long)), Ok(true));
        let error = secret(&options, None).unwrap_err();
        assert!(error.contains("CREWDECK_HUB_SECRET"), "{error}");
        // The variable counts, although the file is not usable.
        assert_eq!(secret(&options, Some(long)), Ok(true));
        std::fs::write(file.path(), format!("{long}\n")).unwrap();
        assert_eq!(secret(&options, None), Ok(true));
        let missing = HubOptions {
            secret_file: Some("/nowhere/secret".into()),
            ..HubOptions::default()
        };
        let error = secret(&missing, None).unwrap_err();
        assert!(error.contains("/nowhere/secret"), "{error}");
    }

    #[test]
    fn variable_of_tests_shortens_leases_in_debug_builds() {
        let life = |set: Option<&str>| {
            let set = set.map(String::from);
            let variable = |name: &str| set.clone().filter(|_| name == TEST_LEASE);
            let settings = HubOptions::default().settings(URL, variable);
            settings.unwrap().lease_life
        };
        let usual = life(None);
        let short = if cfg!(debug_assertions) {
            Duration::from_secs(3)
        } else {
            usual
        };
        assert_eq!(life(Some("3")), short);
        for invalid in ["", "0", "-1", "x"] {
            assert_eq!(life(Some(invalid)), usual, "{invalid}");
        }
    }

    #[test]
    fn secrets_are_withheld_from_commands() {
        for name in ["PASSWORD", "TOKEN", "NKEY", "CREDENTIALS", "SECRET"] {
            assert!(is_secret_name(&format!("CREWDECK_HUB_{name}")), "{name}");
        }
    }

    #[test]
    fn impossible_values_are_rejected() {
        for (text, hint) in [
            ("replicas = 2", ".replicas is 2"),
            ("mail_max_mb = 0", ".mail_max_mb is 0"),
            ("cert = '/a'", "need each other"),
            ("remote = '--upload-pack=x'", ".remote begins with '-'"),
            ("remote = 'ext::sh -c x'", ".remote names a program"),
        ] {
            let options: HubOptions = toml::from_str(text).unwrap();
            let error = options.check().unwrap_err();
            assert!(error.contains(hint), "{text}: {error}");
        }
        let options: HubOptions = toml::from_str("remote = ' origin'").unwrap();
        assert_eq!(
            (options.check(), options.remote()),
            (Ok(()), Some("origin"))
        );
        assert!(toml::from_str::<HubOptions>("password = 'x'").is_err());
    }
}

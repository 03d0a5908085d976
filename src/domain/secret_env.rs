//! Detects environment variables that hold secrets, by their name, and by the format and the randomness of their value.
//!
//! A false positive costs a line in the settings (`pass_env`); a false negative leaks a key. Names are therefore
//! matched broadly. Values that are random but not secret are common, for example commits, checksums, UUIDs and session
//! ids. A variable with a random value is therefore passed on if the format of the value or the variable's name shows
//! that it is one of these.

use super::redact::Redactor;

mod random;
mod words;

use words::words;

/// Why an environment variable is withheld from the programs of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithheldReason {
    /// The name indicates a secret.
    Name,
    /// The value has the format of a secret: a key with a known prefix, a JSON web token, a private key, an HTTP header
    /// with a secret, a password in a URL or connection string, or the address of a webhook.
    Shape,
    /// The value contains text that looks like random characters, as keys do; see `random::is_random`.
    Random,
}

/// Prefixes in the names of variables of model and cloud providers. All variables with one of these prefixes are
/// withheld, except the [`EXEMPT_NAMES`].
const PROVIDERS: &[&str] = &[
    "ANTHROPIC_",
    "OPENAI_",
    "AWS_",
    "AZURE_",
    "GOOGLE_APPLICATION_",
    "GEMINI_",
    "MISTRAL_",
    "GROQ_",
    "OPENROUTER_",
    "DEEPSEEK_",
];

/// Words that indicate a secret if the variable's name contains one of them as a whole word, with or without a number
/// after it.
const WORDS: &[&str] = &[
    "KEY", "KEYS", "PASS", "PW", "PWD", "AUTH", "DSN", "PAT", "JWT", "CRED", "CREDS", "COOKIE",
    "COOKIES", "NETRC", "WEBHOOK", "SALT", "PEPPER", "BEARER", "SID", "UNSEAL", "MNEMONIC", "OTP",
    "TOTP",
];
/// Words in names of variables that indicate a secret even if they are only a part of a word: `APITOKEN`, `OAUTH2`,
/// `PGPASSWORD`.
const PARTS: &[&str] = &[
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "CREDENTIAL",
    "APIKEY",
    "OAUTH",
    "AUTHORIZATION",
];
/// Words in names of variables that indicate a secret unless the value is a number, a path or `random`. The seed of a
/// wallet is secret; the seed of a test run is a number and not secret.
const SEEDS: &[&str] = &["SEED", "SEEDS"];
/// Words in names of variables that indicate a secret if the value has at least [`PIN_MIN`] characters. A shorter value
/// is taken for the number of a pin on a circuit board.
const PINS: &[&str] = &["PIN"];
/// Minimum length of a personal identification number, in characters.
const PIN_MIN: usize = 4;
/// Endings of words in names of variables that indicate a secret: `SSHKEY`, `MYSQLPWD`, `SMTPPASS`.
const ENDS: &[&str] = &["KEY", "PASS", "PWD", "DSN", "AUTH"];

/// Words that match [`PARTS`] or [`ENDS`] but do not indicate a secret.
const OTHER_WORDS: &[&str] = &[
    "TOKENIZER",
    "TOKENIZERS",
    "TOKENIZATION",
    "MONKEY",
    "TURKEY",
    "HOTKEY",
    "DONKEY",
    "BYPASS",
    "COMPASS",
    "TRESPASS",
    "UNAUTH",
];
/// Names of variables that look like names of secrets, but whose values are not secret. Some values are paths of
/// sockets and files; the sandbox controls access to them. A variable with one of these names is still withheld if its
/// value has the format of a secret.
const EXEMPT_NAMES: &[&str] = &[
    "PWD",
    "OLDPWD",
    "SSH_AUTH_SOCK",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "KEYTIMEOUT",
    "KITTY_PUBLIC_KEY",
    "GNOME_KEYRING_CONTROL",
    "LS_COLORS",
    "SYSTEMD_EXEC_PID",
    // Paths of certificates. They are public, and builds need them.
    "AWS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
];
/// Beginnings of names to which the same applies. `GIT_CONFIG_KEY_0` contains the name of a setting of git.
const EXEMPT_PREFIXES: &[&str] = &["XDG_", "GIT_CONFIG_KEY_"];
/// Values that only switch something on or off.
const SWITCHES: &[&str] = &[
    "", "0", "1", "true", "false", "yes", "no", "on", "off", "none",
];

/// Parameters of connection strings and URLs whose value is a secret, in lowercase.
const PARAMETERS: &[&str] = &[
    "password=",
    "passwd=",
    "pwd=",
    "accountkey=",
    "sharedaccesskey=",
    "sharedaccesssignature=",
    "client_secret=",
    "access_token=",
    "api_key=",
    "apikey=",
    "_authtoken=",
];
/// Parts of webhook addresses, in lowercase. A URL that contains one of them is a secret, because the URL alone gives
/// access.
const SECRET_ADDRESSES: &[&str] = &[
    "hooks.slack.com/services/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "outlook.office.com/webhook/",
];

/// Returns why the variable `name` with `value` is withheld from the programs of agents. Returns `None` if the variable
/// is passed on.
pub fn reason(name: &str, value: &str) -> Option<WithheldReason> {
    let is_exempt = is_exempt(name);
    let is_named = is_secret_name(name) || is_seed_name(name, value) || is_pin_name(name, value);
    if !is_exempt && is_named && !is_switch(name, value) {
        return Some(WithheldReason::Name);
    }
    if has_secret_shape(value) {
        return Some(WithheldReason::Shape);
    }
    let is_random = !is_exempt && !random::is_random_name(name) && random::is_random(value);
    is_random.then_some(WithheldReason::Random)
}

/// Returns whether the name alone indicates a secret, or begins with a prefix of a model or cloud provider. Returns
/// false for exempt names, such as `SSH_AUTH_SOCK`.
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    if is_exempt(name) {
        return false;
    }
    PROVIDERS.iter().any(|start| upper.starts_with(start))
        || words(name).iter().any(|word| is_secret_word(word))
        || has_joined_word(&upper)
}

fn has_word(name: &str, wanted: &[&str]) -> bool {
    words(name).iter().any(|w| wanted.contains(&w.as_str()))
}

/// Returns whether the name contains a word of [`SEEDS`], and the value is neither a number, nor a path, nor `random`.
fn is_seed_name(name: &str, value: &str) -> bool {
    let value = value.trim();
    let digits = value.trim_start_matches(['-', '+']);
    let is_number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => hex.len() <= 16 && hex.chars().all(|c| c.is_ascii_hexdigit()),
        None => digits.chars().all(|c| c.is_ascii_digit()),
    };
    let is_other = is_number || value.contains(['/', '\\', '.']) || value == "random";
    has_word(name, SEEDS) && !is_other
}

/// Returns whether the name contains the word `PIN`, and the value has at least [`PIN_MIN`] characters.
fn is_pin_name(name: &str, value: &str) -> bool {
    has_word(name, PINS) && value.trim().chars().count() >= PIN_MIN
}

fn is_exempt(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let has_exempt_prefix = EXEMPT_PREFIXES.iter().any(|start| upper.starts_with(start));
    EXEMPT_NAMES.contains(&upper.as_str()) || has_exempt_prefix
}

/// Returns whether the value is one of the [`SWITCHES`]. Always returns false for the variables of model and cloud
/// providers, because all of them are withheld.
fn is_switch(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_providers = PROVIDERS.iter().any(|start| upper.starts_with(start));
    let value = value.trim().to_ascii_lowercase();
    !is_providers && SWITCHES.contains(&value.as_str())
}

fn is_secret_word(word: &str) -> bool {
    if OTHER_WORDS.contains(&word) {
        return false;
    }
    // Ignore a trailing number, as in `KEY2` and `TOKEN1`.
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    WORDS.contains(&word)
        || PARTS.iter().any(|part| word.contains(part))
        || ENDS.iter().any(|end| word.ends_with(end))
}

/// Returns whether the name, given in uppercase, contains a term of several words that indicates a secret, such as
/// `CONNECTION_STRING`.
fn has_joined_word(upper: &str) -> bool {
    ["PASS_WORD", "PASS_PHRASE", "CONNECTION_STRING", "CONN_STR"]
        .iter()
        .any(|joined| upper.contains(joined))
}

fn has_secret_shape(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let has_parameter = PARAMETERS.iter().any(|start| {
        let mut starts = lower.match_indices(start).map(|(at, _)| at + start.len());
        starts.any(|at| lower[at..].starts_with(|c: char| !" $;&%<{\"'".contains(c)))
    });
    has_parameter
        || SECRET_ADDRESSES.iter().any(|start| lower.contains(start))
        || has_address_with_password(value)
        || Redactor::default().has_secret(value)
}

/// Returns whether the value contains a URL of the form `scheme://user:password@host`, or of the form
/// `scheme://user@host` with a random user name, as in some DSNs.
fn has_address_with_password(value: &str) -> bool {
    value.match_indices("://").any(|(at, mark)| {
        let after = &value[at + mark.len()..];
        let ends = |c: char| c.is_whitespace() || "/?#\"'".contains(c);
        let authority = after.split(ends).next().unwrap_or_default();
        match authority.rsplit_once('@').map(|(user, _)| user) {
            Some(user) => match user.split_once(':') {
                Some((_, password)) => !password.is_empty(),
                None => random::is_random(user),
            },
            None => false,
        }
    })
}

#[cfg(test)]
mod tests;

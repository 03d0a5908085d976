//! Tells which environment variables hold secrets: by the words of the name, by the shape of the value, and by how
//! random the value is. Pure.
//!
//! A false alarm costs a line in the settings (`pass_env`), a miss costs a key; so names are judged strictly and random
//! values with care. Values that are random and no secret are common (commits, checksums, UUIDs, session ids), and are
//! left alone where they look like one or their name says so.

use super::redact::Redactor;

mod random;

/// Why a variable is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its name says that it holds a secret.
    Name,
    /// Its value has the shape of one: a key with a known start, a JSON web token, a private key, a password in an
    /// address or in a connection string.
    Shape,
    /// Its value is as random as a key.
    Random,
}

/// Starts of names that belong to model and cloud providers.
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
];

/// Words of which one in a name makes it a secret.
const WORDS: &[&str] = &[
    "KEY", "KEYS", "PASS", "PW", "PWD", "AUTH", "DSN", "PAT", "JWT", "CRED", "CREDS", "COOKIE",
    "COOKIES", "NETRC", "WEBHOOK", "SALT", "PEPPER", "BEARER", "SID", "UNSEAL", "MNEMONIC", "OTP",
    "TOTP",
];
/// The same, also as a part of a word: `APITOKEN`, `OAUTH2`, `PGPASSWORD`.
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
/// Words that make it one unless the value is a number or a file: a wallet has a seed, and so has a test.
const SEEDS: &[&str] = &["SEED", "SEEDS"];
/// Words that make it one if the value has at least [`PIN_MIN`] digits: the pins of a circuit board have smaller numbers.
const PINS: &[&str] = &["PIN"];
/// Fewest digits of a personal identification number.
const PIN_MIN: usize = 4;
/// Ends of words that make it one: `SSHKEY`, `MYSQLPWD`, `SMTPPASS`.
const ENDS: &[&str] = &["KEY", "PASS", "PWD", "DSN", "AUTH"];

/// Words with one of those parts or ends that mean something else.
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
/// Names that fit the rules and hold no secret. The sockets and files of the desktop and of ssh are left to the sandbox.
const HARMLESS: &[&str] = &[
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
    // Paths of certificates, which are public; builds need them.
    "AWS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
];
/// Values that say only whether something is on.
const SWITCHES: &[&str] = &[
    "", "0", "1", "true", "false", "yes", "no", "on", "off", "none",
];

/// Names of parameters, in small letters, whose value in a connection string or in an address is a secret.
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
/// Addresses, in small letters, that are a secret themselves: who knows them may write there.
const SECRET_ADDRESSES: &[&str] = &[
    "hooks.slack.com/services/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "outlook.office.com/webhook/",
];

/// Why the variable `name` with `value` is withheld from the programs of agents; `None`: it is passed on.
pub fn reason(name: &str, value: &str) -> Option<Reason> {
    let is_harmless = is_harmless(name);
    let is_named = names_secret(name) || names_seed(name, value) || names_pin(name, value);
    if !is_harmless && is_named && !is_switch(name, value) {
        return Some(Reason::Name);
    }
    if has_secret_shape(value) {
        return Some(Reason::Shape);
    }
    let is_random = !is_harmless && !random::names_random(name) && random::is_random(value);
    is_random.then_some(Reason::Random)
}

/// Whether the name alone says that it holds a secret, or leads to the account of one.
pub fn names_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    if is_harmless(name) {
        return false;
    }
    PROVIDERS.iter().any(|start| upper.starts_with(start))
        || words(name).iter().any(|word| is_secret_word(word))
        || has_joined_word(&upper)
}

fn has_word(name: &str, wanted: &[&str]) -> bool {
    words(name).iter().any(|w| wanted.contains(&w.as_str()))
}

/// Whether the name speaks of a seed, and the value is neither a number nor a path nor `random`.
fn names_seed(name: &str, value: &str) -> bool {
    let value = value.trim();
    let digits = value.trim_start_matches(['-', '+']);
    let is_number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => hex.len() <= 16 && hex.chars().all(|c| c.is_ascii_hexdigit()),
        None => digits.chars().all(|c| c.is_ascii_digit()),
    };
    let is_other = is_number || value.contains(['/', '\\', '.']) || value == "random";
    has_word(name, SEEDS) && !is_other
}

/// Whether the name speaks of a PIN, and the value is as long as one.
fn names_pin(name: &str, value: &str) -> bool {
    has_word(name, PINS) && value.trim().chars().count() >= PIN_MIN
}

fn is_harmless(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    HARMLESS.contains(&upper.as_str()) || upper.starts_with("XDG_")
}

/// A provider's own variables are withheld whatever they say: also a switch names an account.
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
    // `KEY2`, `TOKEN1`.
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    WORDS.contains(&word)
        || PARTS.iter().any(|part| word.contains(part))
        || ENDS.iter().any(|end| word.ends_with(end))
}

/// Whether words that are written apart make one: `API_KEY` is found by `KEY`, `PASS_WORD` and `PASS_PHRASE` by this.
fn has_joined_word(upper: &str) -> bool {
    ["PASS_WORD", "PASS_PHRASE", "CONNECTION_STRING", "CONN_STR"]
        .iter()
        .any(|joined| upper.contains(joined))
}

/// The words of a name in capital letters: parted by anything but letters and digits, and where a small letter comes
/// before a capital one.
fn words(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins || !c.is_ascii_alphanumeric() {
            out.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = out.last_mut()
        {
            word.push(c.to_ascii_uppercase());
        }
        before = c;
    }
    out.retain(|word| !word.is_empty());
    out
}

fn has_secret_shape(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let has_parameter = PARAMETERS.iter().any(|start| {
        let mut behind = lower.match_indices(start).map(|(at, _)| at + start.len());
        behind.any(|at| lower[at..].starts_with(|c: char| !" $;&%<{\"'".contains(c)))
    });
    has_parameter
        || SECRET_ADDRESSES.iter().any(|start| lower.contains(start))
        || has_address_with_password(value)
        || Redactor::default().finds(value)
}

/// Whether the value holds `scheme://user:password@host`, or a random user alone as the DSN of a service has.
fn has_address_with_password(value: &str) -> bool {
    value.match_indices("://").any(|(at, mark)| {
        let behind = &value[at + mark.len()..];
        let ends = |c: char| c.is_whitespace() || "/?#\"'".contains(c);
        let authority = behind.split(ends).next().unwrap_or_default();
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

//! Why a remote repository cannot be used, with what the user can do about it.

/// Parts of git's and ssh's messages that say that a login failed.
const LOGIN_FAILURES: &[&str] = &[
    "could not read username",
    "could not read password",
    "terminal prompts disabled",
    "authentication failed",
    "permission denied",
    "host key verification failed",
];
/// Parts of messages of HTTPS servers that say that the login does not suffice.
const HTTP_LOGIN_FAILURES: &[&str] = &["returned error: 401", "returned error: 403"];
/// Parts of messages that say that there is no repository at an address.
const MISSING: &[&str] = &[
    "does not appear to be a git repository",
    "repository not found",
    "' not found",
];
/// Parts of messages that say that a server did not answer.
const UNREACHABLE: &[&str] = &[
    "could not resolve host",
    "connection refused",
    "connection reset",
    "connection closed",
    "timed out",
    "no route to host",
    "network is unreachable",
    "failed to connect",
    "couldn't connect",
    "unable to connect",
    "hung up unexpectedly",
];
/// The beginning of an advice of git that says nothing new.
const NOISE: &str = "Please make sure you have the correct access rights";

/// Why the repository through which a crew exchanges branches (setting `hub.remote`) cannot be used. `remote` is its name
/// or its address without passwords.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteFailure {
    /// The value of the setting cannot be used. The string is the end of a sentence.
    #[error("hub.remote {0}")]
    Address(String),
    #[error(
        "{remote} rejects the login: {why}. crewdeck does not let git ask for passwords and keys: run git ls-remote {remote} in a shell, then try again"
    )]
    Login { remote: String, why: String },
    #[error(
        "{remote} cannot be reached: {why}. Check the connection and hub.remote, then try again"
    )]
    Unreachable { remote: String, why: String },
    #[error(
        "there is no git repository at {remote}: {why}. Create it (git init --bare), or correct hub.remote"
    )]
    Missing { remote: String, why: String },
    /// Git, a hook or the server has refused what was to be done.
    #[error("{remote}: {what} failed: {why}")]
    Refused {
        remote: String,
        /// The git command, such as `git push`.
        what: &'static str,
        why: String,
    },
    /// Another host has changed what was to be changed.
    #[error("{remote} has other work as {name}, which was not replaced: {why}. Try again")]
    OtherWork {
        remote: String,
        /// The full name of the ref.
        name: String,
        why: String,
    },
}

impl RemoteFailure {
    /// Returns the error for the git command `what`, which has failed with the message `why`. `is_local` says whether the
    /// remote is a folder of this machine, for which no login is needed.
    pub fn of(remote: &str, is_local: bool, what: &'static str, why: &str) -> RemoteFailure {
        let remote = remote.to_string();
        let why = why.split(NOISE).next().unwrap_or_default();
        let why = why.trim_end_matches([' ', '.']).to_string();
        let said = why.to_lowercase();
        let says = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
        if !is_local && (says_login_failed(&why) || says(HTTP_LOGIN_FAILURES)) {
            RemoteFailure::Login { remote, why }
        } else if says(MISSING) {
            RemoteFailure::Missing { remote, why }
        } else if says(UNREACHABLE) {
            RemoteFailure::Unreachable { remote, why }
        } else {
            RemoteFailure::Refused { remote, what, why }
        }
    }
}

/// Returns whether the message of a command says that a login failed.
pub fn says_login_failed(message: &str) -> bool {
    let said = message.to_lowercase();
    LOGIN_FAILURES.iter().any(|part| said.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_distinguished_by_the_message() {
        let of = |is_local, why| RemoteFailure::of("r", is_local, "git push", why).to_string();
        for (is_local, why, begin) in [
            (
                false,
                "git@a: Permission denied (publickey). fatal: Could not read from remote repository.",
                "r rejects the login: git@a",
            ),
            (
                true,
                "error: unable to create temporary object directory: Permission denied",
                "r: git push failed: error",
            ),
            (
                false,
                "fatal: unable to access 'https://a/': The requested URL returned error: 403",
                "r rejects the login",
            ),
            (
                false,
                "ssh: Could not resolve hostname a: Name or service not known",
                "r cannot be reached",
            ),
            (
                true,
                "fatal: '/x' does not appear to be a git repository",
                "there is no git repository at r",
            ),
            (false, "[remote rejected] (hook declined)", "r: git push"),
        ] {
            let text = of(is_local, why);
            assert!(text.starts_with(begin), "{text}");
        }
        let text = of(
            false,
            "fatal: x. Please make sure you have the correct access rights and the repository exists.",
        );
        assert_eq!(text, "r: git push failed: fatal: x");
    }
}

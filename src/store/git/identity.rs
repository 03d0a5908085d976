//! The author of commits: the user, or crewdeck if the user has configured no name.

use super::{Git, GitError};

/// The git settings for the author of a commit, each with the value that crewdeck uses if the user has configured none.
const FALLBACKS: [(&str, &str); 2] = [
    ("user.name", "crewdeck"),
    ("user.email", "crewdeck@localhost"),
];

impl Git {
    /// Returns a copy of this [`Git`] that creates commits with the user as author. If the user has configured no name
    /// or no e-mail address, the copy uses the value in `FALLBACKS` instead.
    ///
    /// # Errors
    /// When git's settings cannot be read.
    pub fn committer(&self) -> Result<Git, GitError> {
        let configured =
            self.run(&["config", "--null", "--get-regexp", r"^user\.(name|email)$"])?;
        let is_set = |key: &str| {
            // If a key has several values, git uses the last one.
            let entries = configured.out.rsplit('\0');
            let mut values = entries.filter_map(|entry| entry.strip_prefix(key));
            values.next().is_some_and(|value| !value.trim().is_empty())
        };
        let missing = FALLBACKS.iter().filter(|(key, _)| !is_set(key));
        Ok(Git {
            identity: missing
                .map(|(key, value)| format!("{key}={value}"))
                .collect(),
            ..self.clone()
        })
    }
}

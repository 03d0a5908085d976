//! Which environment variables programs of agents do not see.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;
use std::sync::{PoisonError, RwLock};

use crate::domain::secret_env::{self, Reason};

/// The variables that the user's settings pass on although they look like secrets. One set for the process, as the
/// environment is.
static PASSED: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Passes these variables on from now on, and no others that look like secrets.
pub fn pass(names: impl IntoIterator<Item = String>) {
    *PASSED.write().unwrap_or_else(PoisonError::into_inner) = names.into_iter().collect();
}

/// Removes secrets from what `command` will see.
pub fn scrub(command: &mut Command) {
    let passed = PASSED.read().unwrap_or_else(PoisonError::into_inner);
    for (name, _) in secrets(std::env::vars_os()) {
        if !name.to_str().is_some_and(|name| passed.contains(name)) {
            command.env_remove(name);
        }
    }
}

/// The names of this process's own variables that hold secrets, by the alphabet.
pub fn withheld() -> Vec<(String, Reason)> {
    let mut all: Vec<(String, Reason)> = secrets(std::env::vars_os())
        .map(|(name, reason)| (name.to_string_lossy().into_owned(), reason))
        .collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

fn secrets(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, Reason)> {
    all.filter_map(|(name, value)| {
        let reason = secret_env::reason(&name.to_string_lossy(), &value.to_string_lossy())?;
        Some((name, reason))
    })
}

//! Finds the repository through which a crew exchanges branches, and checks that it can be used.

use std::path::{Path, PathBuf};

use crate::domain::redact::Redactor;
use crate::domain::text::{clip, join_names, one_line};
use crate::store::StoreError;
use crate::store::git::{
    Git, GitError, RemoteFailure, RemoteTransport, Repo, SharedRemote, transport_of,
};

/// Maximum number of remotes that an error names.
const REMOTES_MAX: usize = 5;
/// Maximum length of an address in an error, in characters.
const SHOWN_MAX: usize = 200;

/// Returns the repository that `wanted` names: a remote of `repo`, a URL or an absolute path. Contacts no server.
///
/// # Errors
/// When there is no such remote, git would push to several places, the address has a form that is not allowed, or the
/// repository is in the project.
pub(super) fn find_shared_remote(repo: &Repo, wanted: &str) -> Result<SharedRemote, StoreError> {
    let wanted = wanted.trim();
    let direct = transport_of(wanted).map_err(address)?;
    let names = repo.git.ok(&["remote"])?;
    let names: Vec<String> = names.lines().map(String::from).collect();
    if names.iter().any(|name| name == wanted) {
        return named_remote(repo, wanted);
    }
    let is_path = direct == RemoteTransport::File;
    if is_path && !wanted.starts_with('/') && !wanted.starts_with("file://") {
        let known = match names.as_slice() {
            [] => "this repository has none".into(),
            names => format!("existing: {}", join_names(names, REMOTES_MAX, names.len())),
        };
        return Err(address(format!(
            "is {:?}, but there is no git remote of this name ({known}): give the name of a remote, a URL or an absolute path",
            clip(wanted, 80)
        )));
    }
    // The user's settings of git may replace the address.
    let used = repo.git.ok(&["ls-remote", "--get-url", "--", wanted])?;
    let transport = transport_of(&used).map_err(|why| replaced(wanted, &why))?;
    check_place(repo, transport, &used)?;
    Ok(SharedRemote {
        source: wanted.into(),
        shown: shown(wanted),
        transport,
    })
}

/// Returns the remote `name` of `repo`. Refs are read where git pushes to.
fn named_remote(repo: &Repo, name: &str) -> Result<SharedRemote, StoreError> {
    let git = &repo.git;
    if is_mirror(git, name)? {
        return Err(address(format!(
            "names {name}, to which git pushes all branches at once (remote.{name}.mirror): give another remote or a URL"
        )));
    }
    let urls = git.ok(&["remote", "get-url", "--push", "--all", name])?;
    let mut urls = urls.lines();
    let url = urls.next().unwrap_or_default();
    if urls.next().is_some() {
        return Err(address(format!(
            "names {name}, for which git pushes to several repositories (git remote get-url --push --all {name}): give another remote or a URL"
        )));
    }
    let transport = transport_of(url).map_err(|why| replaced(name, &why))?;
    check_place(repo, transport, url)?;
    let fetched_from = git.ok(&["remote", "get-url", name])?;
    let is_same = fetched_from == url;
    Ok(SharedRemote {
        source: if is_same { name } else { url }.into(),
        shown: if is_same { name.into() } else { shown(url) },
        transport,
    })
}

fn is_mirror(git: &Git, name: &str) -> Result<bool, GitError> {
    let key = format!("remote.{name}.mirror");
    let answer = git.run(&["config", "--type=bool", "--get", &key])?;
    Ok(answer.out.trim() == "true")
}

/// Checks that a repository that is a folder is not in the project: git runs its hooks, and agents can write there.
fn check_place(repo: &Repo, transport: RemoteTransport, url: &str) -> Result<(), StoreError> {
    if transport == RemoteTransport::Network {
        return Ok(());
    }
    let path = folder_of(&repo.root, url);
    let real = path.canonicalize().unwrap_or(path);
    if real.starts_with(&repo.root) || real.starts_with(repo.common()) {
        return Err(address(format!(
            "is {}, which is in this project, where agents can write hooks: use a repository outside of it",
            real.display()
        )));
    }
    Ok(())
}

/// Returns the folder that `url`, a path or a `file://` URL, names. Paths are relative to `root`.
fn folder_of(root: &Path, url: &str) -> PathBuf {
    let path = match url.strip_prefix("file://") {
        // What is before the first slash is a host, which git ignores.
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None => url,
    };
    root.join(path)
}

fn replaced(wanted: &str, why: &str) -> StoreError {
    address(format!(
        "is {}, but the address that git uses for it {why}",
        shown(wanted)
    ))
}

fn address(why: String) -> StoreError {
    GitError::from(RemoteFailure::Address(why)).into()
}

fn shown(address: &str) -> String {
    clip(&one_line(&Redactor::default().text(address)), SHOWN_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn folder_of_an_address_is_relative_to_the_root() {
        let root = Path::new("/r");
        for (url, folder) in [
            ("/srv/a.git", "/srv/a.git"),
            ("../a.git", "/r/../a.git"),
            ("file:///srv/a.git", "/srv/a.git"),
            ("file://localhost/srv/a.git", "/srv/a.git"),
        ] {
            assert_eq!(folder_of(root, url), Path::new(folder), "{url}");
        }
    }
}

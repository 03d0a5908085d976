//! The folders that all commands can write besides their work directory: the caches of builds, and those of the settings.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Caches that builds write, relative to the home directory. Folders of programs that the user runs, such as
/// `~/.cargo/bin`, are not included.
const CACHES: &[&str] = &[
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm",
    ".yarn",
    ".bun/install/cache",
    ".local/share/pnpm",
    ".gradle/caches",
    ".gradle/daemon",
    ".m2/repository",
    ".nuget/packages",
    "go/pkg",
    "Library/Caches",
];

/// The folder itself, in [`MOVED_CACHES`].
const ITSELF: &[&str] = &[""];

/// Variables with which the user moves caches to other folders, and what builds write there, relative to the folder.
const MOVED_CACHES: &[(&str, &[&str])] = &[
    ("XDG_CACHE_HOME", ITSELF),
    (
        "CARGO_HOME",
        &[
            "registry",
            "git",
            ".package-cache",
            ".package-cache-mutate",
            ".global-cache",
        ],
    ),
    ("GOPATH", &["pkg"]),
    ("GOMODCACHE", ITSELF),
    ("GOCACHE", ITSELF),
    ("npm_config_cache", ITSELF),
    ("NPM_CONFIG_CACHE", ITSELF),
    ("PIP_CACHE_DIR", ITSELF),
    ("UV_CACHE_DIR", ITSELF),
    ("YARN_CACHE_FOLDER", ITSELF),
    ("GRADLE_USER_HOME", &["caches", "daemon"]),
    ("NUGET_PACKAGES", ITSELF),
];

/// Returns the folders that all commands can write: first known caches below `home`, then the folders `named`, in which
/// a leading `~` stands for `home`. Without `home`, there are no caches and `~` is not replaced.
pub fn writable_folders(home: Option<&Path>, named: &[String]) -> Vec<PathBuf> {
    let caches = home
        .into_iter()
        .flat_map(|home| CACHES.iter().map(|c| home.join(c)));
    let named = named.iter().map(|name| match (name.as_str(), home) {
        ("~", Some(home)) => home.to_path_buf(),
        (name, Some(home)) if name.starts_with("~/") => home.join(&name[2..]),
        (name, _) => name.into(),
    });
    caches.chain(named).collect()
}

/// Returns the caches that environment variables place in other folders, as images of containers often do. `variable`
/// returns the value of a variable. A folder that contains `home` or the project `root` is left out, because commands
/// could then write everything in it.
pub fn moved_caches(
    home: Option<&Path>,
    root: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let is_cache = |folder: &Path| {
        let contains = |path: &Path| path.starts_with(folder);
        folder.is_absolute()
            && !folder.components().any(|part| part == Component::ParentDir)
            && !home.is_some_and(contains)
            && !contains(root)
    };
    let mut caches = Vec::new();
    for (name, entries) in MOVED_CACHES {
        let Some(value) = variable(name) else {
            continue;
        };
        // GOPATH can name several folders.
        for folder in std::env::split_paths(&value).filter(|folder| is_cache(folder)) {
            caches.extend(entries.iter().map(|entry| match *entry {
                "" => folder.clone(),
                entry => folder.join(entry),
            }));
        }
    }
    caches
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn moved(variables: &[(&str, &str)]) -> Vec<String> {
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(found.1))
        };
        let caches = moved_caches(Some(Path::new("/home/a")), Path::new("/src/project"), value);
        caches.iter().map(|p| p.display().to_string()).collect()
    }

    #[test]
    fn caches_are_writable_where_variables_place_them() {
        assert_eq!(moved(&[]), Vec::<String>::new());
        assert_eq!(
            moved(&[
                ("CARGO_HOME", "/usr/local/cargo"),
                ("GOPATH", "/go:/home/a/go"),
                ("npm_config_cache", "/var/npm"),
                ("PATH", "/bin"),
            ]),
            [
                "/usr/local/cargo/registry",
                "/usr/local/cargo/git",
                "/usr/local/cargo/.package-cache",
                "/usr/local/cargo/.package-cache-mutate",
                "/usr/local/cargo/.global-cache",
                "/go/pkg",
                "/home/a/go/pkg",
                "/var/npm",
            ]
        );
    }

    #[test]
    fn folder_above_home_or_project_is_no_cache() {
        for folder in [
            "/",
            "/home/a",
            "/src",
            "/src/project",
            "off",
            "",
            "/home/a/x/..",
        ] {
            let found = moved(&[("XDG_CACHE_HOME", folder)]);
            assert_eq!(found, Vec::<String>::new(), "{folder}");
        }
        let inside = "/src/project/.cache";
        assert_eq!(moved(&[("GOCACHE", inside)]), [inside]);
    }
}

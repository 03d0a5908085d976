//! The folders that all commands can write besides their work directory: the caches of builds, and those of the settings.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::process::environment;

/// An entry of the home directory or of the folder that a variable names: its path in it, and the program that fills it.
/// A folder with a program is created for commands if it is missing and the program is installed.
type CacheEntry = (&'static str, Option<&'static str>);

/// A program that is always installed.
const ANY: Option<&str> = Some("sh");
const CARGO: Option<&str> = Some("cargo");
const GO: Option<&str> = Some("go");
const NPM: Option<&str> = Some("npm");

/// Caches that builds write, relative to the home directory. Folders of programs that the user runs, such as
/// `~/.cargo/bin`, are not included.
const CACHES: &[CacheEntry] = &[
    (".cache", ANY),
    (".cargo/registry", CARGO),
    (".cargo/git", CARGO),
    (".cargo/.package-cache", None),
    (".cargo/.package-cache-mutate", None),
    (".cargo/.global-cache", None),
    (".npm", NPM),
    (".yarn", None),
    (".bun/install/cache", None),
    (".local/share/pnpm", None),
    (".gradle/caches", None),
    (".gradle/daemon", None),
    (".m2/repository", Some("mvn")),
    (".nuget/packages", None),
    ("go/pkg", GO),
    ("Library/Caches", None),
];

/// Variables with which the user moves caches to other folders, and what builds write there, relative to the folder. The
/// empty path is the folder itself.
const MOVED_CACHES: &[(&str, &[CacheEntry])] = &[
    ("XDG_CACHE_HOME", &[("", ANY)]),
    (
        "CARGO_HOME",
        &[
            ("registry", CARGO),
            ("git", CARGO),
            (".package-cache", None),
            (".package-cache-mutate", None),
            (".global-cache", None),
        ],
    ),
    ("GOPATH", &[("pkg", GO)]),
    ("GOMODCACHE", &[("", GO)]),
    ("GOCACHE", &[("", GO)]),
    ("npm_config_cache", &[("", NPM)]),
    ("NPM_CONFIG_CACHE", &[("", NPM)]),
    ("PIP_CACHE_DIR", &[("", Some("python3"))]),
    ("UV_CACHE_DIR", &[("", Some("uv"))]),
    ("YARN_CACHE_FOLDER", &[("", Some("yarn"))]),
    ("GRADLE_USER_HOME", &[("caches", None), ("daemon", None)]),
    ("NUGET_PACKAGES", &[("", None)]),
];

/// A cache that commands can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheFolder {
    pub path: PathBuf,
    program: Option<&'static str>,
}

impl CacheFolder {
    fn of(folder: &Path, (path, program): CacheEntry) -> CacheFolder {
        let path = match path {
            "" => folder.to_path_buf(),
            path => folder.join(path),
        };
        CacheFolder { path, program }
    }

    /// Creates the cache if it is missing and its program is installed: a command cannot create it, because it can write
    /// only below the cache. `dir` is the directory in which the command runs.
    pub fn create(&self, dir: &Path) {
        let Some(program) = self.program.filter(|_| !self.path.exists()) else {
            return;
        };
        if environment::find_program(program, dir).is_none() {
            return;
        }
        if let Err(error) = fs::create_dir_all(&self.path) {
            tracing::warn!("the cache {} is not created: {error}", self.path.display());
        }
    }
}

/// Returns the folders that all commands can write: first known caches below `home`, then the folders `named`, in which
/// a leading `~` stands for `home`. Without `home`, there are no caches and `~` is not replaced.
pub fn writable_folders(home: Option<&Path>, named: &[String]) -> Vec<PathBuf> {
    let caches = home.into_iter().flat_map(caches_of);
    let named = named.iter().map(|name| match (name.as_str(), home) {
        ("~", Some(home)) => home.to_path_buf(),
        (name, Some(home)) if name.starts_with("~/") => home.join(&name[2..]),
        (name, _) => name.into(),
    });
    caches.map(|cache| cache.path).chain(named).collect()
}

/// Returns the known caches: those below `home`, and those that environment variables place in other folders, as images
/// of containers often do. `variable` returns the value of a variable. A folder of a variable that contains `home` or the
/// project `root` is left out, because commands could then write everything in it.
pub fn cache_folders(
    home: Option<&Path>,
    root: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<CacheFolder> {
    let is_cache = |folder: &Path| {
        let contains = |path: &Path| path.starts_with(folder);
        folder.is_absolute()
            && !folder.components().any(|part| part == Component::ParentDir)
            && !home.is_some_and(contains)
            && !contains(root)
    };
    let mut caches: Vec<CacheFolder> = home.into_iter().flat_map(caches_of).collect();
    for (name, entries) in MOVED_CACHES {
        let Some(value) = variable(name) else {
            continue;
        };
        // GOPATH can name several folders.
        for folder in std::env::split_paths(&value).filter(|folder| is_cache(folder)) {
            let moved = entries.iter().map(|entry| CacheFolder::of(&folder, *entry));
            caches.extend(moved);
        }
    }
    caches
}

fn caches_of(home: &Path) -> impl Iterator<Item = CacheFolder> {
    CACHES
        .iter()
        .map(move |entry| CacheFolder::of(home, *entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Returns the caches that these variables place in other folders.
    fn moved(variables: &[(&str, &str)]) -> Vec<String> {
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(found.1))
        };
        let caches = cache_folders(Some(Path::new("/home/a")), Path::new("/src/project"), value);
        let paths = caches.iter().map(|cache| cache.path.display().to_string());
        paths.skip(CACHES.len()).collect()
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

    #[test]
    fn missing_caches_of_installed_programs_are_created() {
        let dir = tempfile::tempdir().unwrap();
        let create = |path: &'static str, program| {
            let entry = CacheFolder::of(dir.path(), (path, program));
            entry.create(dir.path());
            entry.path
        };
        assert!(create("a/b", ANY).is_dir());
        assert!(!create("c", None).exists());
        assert!(!create("d", Some("no-such-program")).exists());
        std::fs::write(dir.path().join("file"), "kept").unwrap();
        let kept = std::fs::read_to_string(create("file", ANY));
        assert_eq!(kept.unwrap(), "kept");
    }
}

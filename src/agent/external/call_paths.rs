//! The files of an external agent's tool call, and whether they are inside of a directory.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::domain::agent_update::AgentToolCall;
use crate::domain::path::without_dots;

/// Names of argument fields that contain a path, in lower case and without `_`. Fields whose names end with `path` or
/// `paths` contain one too and are not listed here.
const PATH_FIELDS: &[&str] = &[
    "file",
    "files",
    "filename",
    "filenames",
    "targetfile",
    "directory",
    "dir",
    "folder",
    "grantroot",
    "destination",
];
/// Names of argument fields that contain the directory in which a command runs, in lower case and without `_`.
const DIR_FIELDS: &[&str] = &["cwd", "workdir", "workingdirectory", "directory", "dirpath"];
/// Folders in which git and crewdeck keep their state, directly below the root of a project or worktree. [`is_inside`]
/// treats them as if they were outside of the project or worktree.
const STATE_FOLDERS: &[&str] = &[
    ".git",
    ".tasks",
    ".team",
    ".worktrees",
    ".transcripts",
    ".crewdeck",
];
/// Names of files and folders that contain settings of coding agents, such as what an agent may do without asking.
/// [`is_writable`] returns false for a path that contains one of these names at any level.
const SETTINGS: &[&str] = &[
    ".git",
    ".claude",
    ".codex",
    ".gemini",
    ".qwen",
    ".opencode",
    ".goose",
    ".goosehints",
    ".mcp.json",
    "opencode.json",
    "opencode.jsonc",
];

/// Returns the paths that a call reads or changes, as the agent reports them, sorted and without duplicates.
pub fn paths(call: &AgentToolCall) -> Vec<&str> {
    let diffs = call.diffs.iter().map(|change| change.path.as_str());
    let places = call.locations.iter().map(|place| place.path.as_str());
    let mut out: Vec<&str> = diffs.chain(places).collect();
    if let Some(input) = &call.raw_input {
        add_paths(input, &mut out);
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Adds to `out` the paths in `input`, the arguments of a call. Also searches nested objects and arrays.
fn add_paths<'a>(input: &'a Value, out: &mut Vec<&'a str>) {
    match input {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = plain_name(name);
                let is_path = name.ends_with("path") || name.ends_with("paths");
                if is_path || PATH_FIELDS.contains(&name.as_str()) {
                    add_texts(value, out);
                }
                // Codex reports changes by their paths.
                if name == "changes"
                    && let Value::Object(changes) = value
                {
                    out.extend(changes.keys().map(String::as_str));
                }
                add_paths(value, out);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_paths(item, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn add_texts<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => out.extend(items.iter().filter_map(Value::as_str)),
        value => out.extend(value.as_str()),
    }
}

/// Returns the directories in which a command runs, as the agent reports them.
pub fn command_dirs(call: &AgentToolCall) -> Vec<&str> {
    let fields = call.raw_input.as_ref().and_then(Value::as_object);
    let fields = fields.into_iter().flatten();
    let dirs = fields.filter(|(name, _)| DIR_FIELDS.contains(&plain_name(name).as_str()));
    dirs.filter_map(|(_, dir)| dir.as_str()).collect()
}

fn plain_name(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "")
}

/// Returns whether `path`, absolute or relative to `dir`, is `dir` or below it, both as it is written and with its
/// symbolic links resolved. False for a path in one of the `STATE_FOLDERS`, and if a link cannot be resolved.
pub fn is_inside(dir: &Path, path: &str) -> bool {
    let is_state = |rest: &Path| {
        let first = rest.components().next();
        first.is_some_and(|first| is_one_of(first, STATE_FOLDERS))
    };
    places_below(dir, path).is_some_and(|places| !places.iter().any(|rest| is_state(rest)))
}

/// Returns whether an agent may change `path` without approval: the path is inside of `dir` (see [`is_inside`]), and
/// none of its components is the name of an agent's settings (`SETTINGS`).
pub fn is_writable(dir: &Path, path: &str) -> bool {
    let is_settings = |rest: &Path| rest.components().any(|part| is_one_of(part, SETTINGS));
    let places = places_below(dir, path);
    is_inside(dir, path) && places.is_some_and(|places| !places.iter().any(|p| is_settings(p)))
}

fn is_one_of(part: Component<'_>, names: &[&str]) -> bool {
    let part = part.as_os_str().to_string_lossy();
    names.iter().any(|name| part.eq_ignore_ascii_case(name))
}

/// Returns `path` relative to `dir`: as it is written, and with its symbolic links resolved. `None` if either is
/// outside of `dir`, or if `dir` or a link cannot be resolved.
fn places_below(dir: &Path, path: &str) -> Option<[PathBuf; 2]> {
    let whole = dir.join(path);
    let real_dir = dir.canonicalize().ok()?;
    let written = without_dots(&whole);
    let written = written
        .strip_prefix(dir)
        .or_else(|_| written.strip_prefix(&real_dir));
    let written = written.ok()?.to_path_buf();
    let resolved = resolve(&whole)?;
    let resolved = resolved.strip_prefix(&real_dir).ok()?.to_path_buf();
    Some([written, resolved])
}

/// Returns the absolute `path` with its symbolic links resolved. Components that do not exist are kept. `None` if a
/// link cannot be resolved. This includes a link whose target does not exist, because a write through the link could
/// create the target.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
        match out.symlink_metadata() {
            Ok(found) if found.is_symlink() => out = out.canonicalize().ok()?,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_paths_below_the_directory_are_inside() {
        let dir = tempfile::tempdir().unwrap();
        let (work, other) = (dir.path().join("work"), dir.path().join("other"));
        std::fs::create_dir_all(work.join("src")).unwrap();
        std::fs::create_dir_all(other.join("sub")).unwrap();
        symlink(&other, work.join("link")).unwrap();
        symlink(other.join("sub"), work.join("sub")).unwrap();
        symlink(other.join("new"), work.join("dangling")).unwrap();
        symlink("src", work.join("alias")).unwrap();
        symlink("loop", work.join("loop")).unwrap();
        let absolute = work.join("src/new.rs");
        for (path, expected) in [
            ("src/a.rs", true),
            ("new/folder/a.rs", true),
            ("alias/a.rs", true),
            (absolute.to_str().unwrap(), true),
            ("../other/a.rs", false),
            ("src/../../other/a", false),
            ("link/a.rs", false),
            ("sub/../a.rs", false),
            ("dangling", false),
            ("dangling/a.rs", false),
            ("loop/a.rs", false),
            ("/etc/passwd", false),
            (".git/config", false),
            (".Git/config", false),
            (".tasks/task_1.json", false),
        ] {
            assert_eq!(is_inside(&work, path), expected, "{path}");
            assert_eq!(is_writable(&work, path), expected, "{path}");
        }
    }

    #[test]
    fn settings_of_agents_are_readable_but_not_writable_also_through_links() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".claude")).unwrap();
        std::fs::create_dir(dir.path().join("plain")).unwrap();
        symlink(".claude", dir.path().join("link")).unwrap();
        symlink("plain", dir.path().join(".qwen")).unwrap();
        for path in [
            ".claude/settings.json",
            "link/settings.json",
            ".qwen/settings.json",
            "a/.Codex/config.toml",
            "a/opencode.json",
        ] {
            assert!(is_inside(dir.path(), path), "{path}");
            assert!(!is_writable(dir.path(), path), "{path}");
        }
        assert!(is_writable(dir.path(), "plain/claude.md"));
    }
}

//! Reads `.worktreeinclude`.

use std::io::ErrorKind;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::domain::text::{clip, one_line};
use crate::domain::worktree::INCLUDE_FILE;
use crate::store::{os_errors, regular_file};

/// Maximum size of the file, in bytes.
const SIZE_MAX: u64 = 64 * 1024;
/// Maximum number of lines that are reported as wrong. The number of further ones is reported too.
const PROBLEMS_MAX: usize = 5;
/// Maximum length of a line in a report, in characters.
const LINE_SHOWN_MAX: usize = 80;

/// The patterns in `.worktreeinclude`.
pub struct IncludePatterns {
    files: Gitignore,
    /// Matches the folders that a pattern with a path names on the way to its files: `a` and `a/b` for `a/b/*.json`.
    named_folders: Gitignore,
    /// Whether a pattern can match in folders that it does not name, as `*.key` does.
    pub is_floating: bool,
    /// What is wrong with lines of the file.
    pub problems: Vec<String>,
}

/// Returns whether the root has a file `.worktreeinclude`, or something else of that name.
pub fn is_there(root: &Path) -> bool {
    root.join(INCLUDE_FILE).symlink_metadata().is_ok()
}

/// Reads the patterns. Returns `None` if there is no such file.
///
/// # Errors
/// Fails with the reason if the file cannot be used: it is a symbolic link, is too large or cannot be read.
pub fn read(root: &Path) -> Option<Result<IncludePatterns, String>> {
    let path = root.join(INCLUDE_FILE);
    let unused = |why: &str| Some(Err(format!("{INCLUDE_FILE} is not used: {why}")));
    match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => {
            return unused("it is a symbolic link: replace it by a file");
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return unused(&os_errors::explain(&error)),
    }
    match regular_file::read_text(&path, SIZE_MAX) {
        Ok(text) => Some(Ok(parse(&text, root))),
        Err(error) => unused(&os_errors::explain(&error)),
    }
}

fn parse(text: &str, root: &Path) -> IncludePatterns {
    // The paths that are matched are relative to the root.
    let (mut files, mut folders) = (GitignoreBuilder::new(""), GitignoreBuilder::new(""));
    let mut is_floating = false;
    let mut problems: Vec<String> = Vec::new();
    let mut wrong_count = 0;
    let text = text.trim_start_matches('\u{feff}');
    for (at, line) in text.lines().enumerate() {
        let pattern = line.trim_end();
        if pattern.is_empty() || pattern.starts_with('#') {
            continue;
        }
        let (is_negated, path) = match pattern.strip_prefix('!') {
            Some(path) => (true, path),
            None => (false, pattern),
        };
        let why = match outside(path, root) {
            Some(why) => Some(why.to_string()),
            None => files.add_line(None, line).err().map(|error| {
                let error = clip(&error.to_string(), LINE_SHOWN_MAX);
                format!("is not a valid pattern ({error})")
            }),
        };
        if let Some(why) = why {
            wrong_count += 1;
            if wrong_count <= PROBLEMS_MAX {
                let shown = clip(&one_line(pattern), LINE_SHOWN_MAX);
                let why = one_line(&why);
                problems.push(format!(
                    "{INCLUDE_FILE}, line {}: {shown} {why}, so it matches nothing",
                    at + 1
                ));
            }
        } else if !is_negated {
            is_floating |= add_folders(&mut folders, path);
        }
    }
    if wrong_count > PROBLEMS_MAX {
        let more = wrong_count - PROBLEMS_MAX;
        problems.push(format!("{INCLUDE_FILE}: {more} more lines match nothing"));
    }
    let files = files.build().unwrap_or_else(|error| {
        let why = one_line(&error.to_string());
        problems.push(format!("{INCLUDE_FILE} is not used: {why}"));
        Gitignore::empty()
    });
    IncludePatterns {
        files,
        named_folders: folders.build().unwrap_or_else(|_| Gitignore::empty()),
        is_floating,
        problems,
    }
}

/// Returns why a pattern cannot match a file of the project; `None` if it can.
///
/// A pattern that begins with `/` is relative to the root, as in `.gitignore`. It counts as an absolute path if its first
/// folder exists on this machine and not in the root.
fn outside(pattern: &str, root: &Path) -> Option<&'static str> {
    if pattern.split('/').any(|part| part == "..") {
        return Some("leads out of the project");
    }
    if pattern.starts_with("~/") {
        return Some("is a path outside of the project");
    }
    let first = pattern.strip_prefix('/')?.split('/').next()?;
    let is_literal = !first.is_empty() && !first.contains(['*', '?', '[', '\\']);
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let is_absolute =
        is_literal && !exists(&root.join(first)) && exists(&Path::new("/").join(first));
    is_absolute.then_some("is an absolute path (write paths relative to the project)")
}

/// Adds the folders that `pattern` names on the way to its files. Returns whether the pattern can match in folders that
/// it does not name.
fn add_folders(folders: &mut GitignoreBuilder, pattern: &str) -> bool {
    let is_anchored = pattern.starts_with('/');
    let parts: Vec<&str> = pattern.trim_matches('/').split('/').collect();
    let starts_anywhere = parts.first() == Some(&"**");
    for end in 1..parts.len() {
        let folder = parts[..end].join("/");
        if parts[..end].iter().all(|part| *part == "**") {
            continue;
        }
        let start = if starts_anywhere { "" } else { "/" };
        // A pattern with a valid path has valid folders.
        let _ = folders.add_line(None, &format!("{start}{folder}/"));
    }
    starts_anywhere || (parts.len() == 1 && !is_anchored)
}

impl IncludePatterns {
    /// Returns whether a file is to be copied. `path` is relative to the root. The pattern that matches the file itself
    /// counts, else the one that matches the nearest folder; of several patterns, the last one.
    pub fn matches(&self, path: &Path) -> bool {
        self.files
            .matched_path_or_any_parents(path, false)
            .is_ignore()
    }

    /// Returns whether all files in a folder are to be copied, except those that other patterns leave out.
    pub fn matches_folder(&self, path: &Path) -> bool {
        self.files
            .matched_path_or_any_parents(path, true)
            .is_ignore()
    }

    /// Returns whether a pattern names this folder, as a whole or on the way to its files.
    pub fn names_folder(&self, path: &Path) -> bool {
        self.matches_folder(path) || self.named_folders.matched(path, true).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn parsed(text: &str) -> IncludePatterns {
        parse(text, Path::new("/nowhere"))
    }

    #[test]
    fn patterns_match_as_in_gitignore() {
        let text = "# comment\n\n.env*\r\n!.env.example\n/top.txt\nconfig/*.json\nlocal/\n**/deep/key\ndata/**\n\\#x\n\
                    a b\\ \n";
        let patterns = parsed(text);
        assert_eq!(patterns.problems, Vec::<String>::new());
        for (path, is_included) in [
            (".env", true),
            ("sub/.env.local", true),
            (".env.example", false),
            ("sub/.env.example", false),
            ("top.txt", true),
            ("sub/top.txt", false),
            ("config/a.json", true),
            ("config/sub/a.json", false),
            ("sub/config/a.json", false),
            ("local/a/b", true),
            ("sub/local/a", true),
            ("local", false),
            ("deep/key", true),
            ("x/deep/key", true),
            ("x/deep/key2", false),
            ("data/x/y", true),
            ("#x", true),
            ("a b ", true),
            ("a b", false),
            ("# comment", false),
        ] {
            assert_eq!(patterns.matches(Path::new(path)), is_included, "{path}");
        }
    }

    #[test]
    fn later_pattern_leaves_out_a_file_of_an_included_folder() {
        let patterns = parsed("secrets/\n!secrets/prod.key\n");
        assert!(patterns.matches(Path::new("secrets/dev.key")));
        assert!(!patterns.matches(Path::new("secrets/prod.key")));
        assert!(patterns.matches_folder(Path::new("secrets")));
    }

    #[test]
    fn folders_on_the_way_to_named_files_are_named() {
        let patterns = parsed("/a/b/*.json\n**/x/y\nz/**/key\n");
        for (folder, is_named) in [
            ("a", true),
            ("a/b", true),
            ("a/c", false),
            ("sub/a", false),
            ("x", true),
            ("sub/x", true),
            ("sub", false),
            ("z", true),
            ("z/any/folder", true),
            ("node_modules", false),
        ] {
            assert_eq!(
                patterns.names_folder(Path::new(folder)),
                is_named,
                "{folder}"
            );
        }
        assert!(patterns.is_floating, "**/x/y");
        assert!(!parsed("/a\nb/c\n!*.key\n").is_floating);
        assert!(parsed("*.key\n").is_floating && parsed("local/\n").is_floating);
    }

    #[test]
    fn paths_out_of_the_project_match_nothing_and_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let text = "../../.ssh\nok\n~/.netrc\n/etc/passwd\n!../x\na/../b\n/top\n";
        let patterns = parse(text, dir.path());
        let starts: Vec<&str> = patterns
            .problems
            .iter()
            .map(|p| p.split(" (").next().unwrap())
            .collect();
        assert_eq!(
            starts,
            [
                ".worktreeinclude, line 1: ../../.ssh leads out of the project, so it matches nothing",
                ".worktreeinclude, line 3: ~/.netrc is a path outside of the project, so it matches nothing",
                ".worktreeinclude, line 4: /etc/passwd is an absolute path",
                ".worktreeinclude, line 5: !../x leads out of the project, so it matches nothing",
                ".worktreeinclude, line 6: a/../b leads out of the project, so it matches nothing",
            ]
        );
        assert!(patterns.matches(Path::new("ok")) && patterns.matches(Path::new("top")));
        assert!(!patterns.matches(Path::new("etc/passwd")));
        std::fs::create_dir(dir.path().join("etc")).unwrap();
        let patterns = parse("/etc/passwd\n", dir.path());
        assert!(patterns.matches(Path::new("etc/passwd")) && patterns.problems.is_empty());
    }

    #[test]
    fn reports_of_wrong_lines_are_bounded() {
        let long = format!("{}\n", "../x".repeat(100));
        let patterns = parsed(&format!("a{{b\n{}", long.repeat(20)));
        assert_eq!(patterns.problems.len(), PROBLEMS_MAX + 1);
        assert!(patterns.problems.iter().all(|p| p.chars().count() < 300));
        assert_eq!(
            patterns.problems[PROBLEMS_MAX],
            ".worktreeinclude: 16 more lines match nothing"
        );
    }

    #[test]
    fn link_or_large_file_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path()).is_none() && !is_there(dir.path()));
        let path = dir.path().join(INCLUDE_FILE);
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(is_there(dir.path()));
        let why = |root: &Path| read(root).unwrap().err().unwrap();
        assert!(why(dir.path()).contains("symbolic link"));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, vec![b'a'; 70_000]).unwrap();
        assert!(why(dir.path()).contains("larger than 64 KiB"));
        std::fs::write(&path, "\u{feff}a\n").unwrap();
        let patterns = read(dir.path()).unwrap().ok().unwrap();
        assert!(patterns.matches(Path::new("a")));
    }
}

//! Reads the instruction files of a project: AGENTS.md, or else CLAUDE.md with its imports, in every directory from the
//! project's root down to the work directory. Files outside of the root are never read.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::markdown_files;
use crate::domain::memory::{MemoryFile, ProjectMemory};
use crate::domain::text::one_line;

/// Names of instruction files. In each directory, the first of these files that is not empty is used.
const NAMES: &[&str] = &["AGENTS.md", CLAUDE];
/// The instruction file whose `@PATH` words are imports, as in Claude Code.
const CLAUDE: &str = "CLAUDE.md";
/// Maximum length of a chain of imports, in which each file imports the next one.
const DEPTH_MAX: usize = 5;
/// Maximum number of files that are read, and maximum number of imports that are followed in one file.
const FILES_MAX: usize = 64;
/// Maximum number of files that are reported as not read.
const SKIPPED_MAX: usize = 64;
/// Hidden folders whose files can be imported. Other hidden folders may contain secrets; these contain files that are
/// written for agents.
const AGENT_FOLDERS: &[&str] = &[".claude", ".crewdeck", ".github", ".cursor", ".agents"];
/// Extensions of the files that can be imported: text files, but not data or keys.
const ENDINGS: &[&str] = &["md", "mdc", "markdown", "txt", "rst", "adoc"];

/// Reads the instruction files of the project: first those in `root`, then those in each folder on the way from `root`
/// to `dir`, the directory in which crewdeck was started. If `dir` is not below `root`, only files in `root` are read.
pub fn project_memory(root: &Path, dir: &Path) -> ProjectMemory {
    let mut reader = MemoryReader {
        memory: ProjectMemory::default(),
        seen: BTreeSet::new(),
    };
    let Ok(open) = Dir::open_ambient_dir(root, ambient_authority()) else {
        return reader.memory;
    };
    let below = dir.strip_prefix(root).unwrap_or(Path::new(""));
    let mut folder = PathBuf::new();
    reader.read_folder(&open, &folder);
    for part in below.components() {
        folder.push(part);
        reader.read_folder(&open, &folder);
    }
    reader.memory
}

struct MemoryReader {
    memory: ProjectMemory,
    /// The paths of the files that were read, without symbolic links. A file is read once.
    seen: BTreeSet<PathBuf>,
}

impl MemoryReader {
    fn read_folder(&mut self, root: &Dir, folder: &Path) {
        for name in NAMES {
            let path = folder.join(name);
            if root.symlink_metadata(&path).is_err() {
                continue;
            }
            if self.read(root, &path, None, 0) {
                return;
            }
        }
    }

    /// Reads the file at `path`, which is relative to `root`, and its imports. `by` is the file that imports it, if
    /// any, and `depth` the number of imports that lead to it. Returns whether the file has text; `false` if it cannot
    /// be read.
    fn read(&mut self, root: &Dir, path: &Path, by: Option<&str>, depth: usize) -> bool {
        let shown = one_line(&path.to_string_lossy());
        let text = match markdown_files::read(root, path) {
            Ok(text) => text,
            Err(why) => {
                self.skip(shown, why);
                return false;
            }
        };
        if text.trim().is_empty() {
            return false;
        }
        let real = root
            .canonicalize(path)
            .unwrap_or_else(|_| path.to_path_buf());
        if !self.seen.insert(real) {
            return true;
        }
        if self.memory.files.len() == FILES_MAX {
            self.skip(shown, format!("only {FILES_MAX} files are read"));
            return true;
        }
        let is_importing = by.is_some() || path.file_name().is_some_and(|name| name == CLAUDE);
        let imports = if is_importing {
            imports(&text)
        } else {
            Vec::new()
        };
        self.memory.files.push(MemoryFile {
            path: shown.clone(),
            text,
            imported_by: by.map(str::to_string),
        });
        for import in imports {
            self.import(root, path, &shown, &import, depth + 1);
        }
        true
    }

    fn import(&mut self, root: &Dir, from: &Path, by: &str, import: &str, depth: usize) {
        let shown = format!("@{} in {by}", one_line(import));
        let folder = from.parent().unwrap_or(Path::new(""));
        let Some(path) = inside(folder, Path::new(import)) else {
            return self.skip(shown, "it is outside of the project".into());
        };
        if root.symlink_metadata(&path).is_err() {
            // A word such as @alice is probably not an import, so it is not reported.
            if import.contains('/') || path.extension().is_some() {
                self.skip(shown, "there is no such file".into());
            }
            return;
        }
        if root.metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            return;
        }
        let real = root.canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(why) = refuses(&path).or_else(|| refuses(&real)) {
            return self.skip(shown, why.into());
        }
        if depth > DEPTH_MAX {
            return self.skip(
                shown,
                format!("it is nested more than {DEPTH_MAX} imports deep"),
            );
        }
        self.read(root, &path, Some(by), depth);
    }

    fn skip(&mut self, path: String, why: String) {
        let entry = (path, why);
        if self.memory.skipped.len() < SKIPPED_MAX && !self.memory.skipped.contains(&entry) {
            self.memory.skipped.push(entry);
        }
    }
}

/// Returns why the file at `path` must not be imported: it could hold a secret, or it is no text file. Returns `None`
/// if the file may be imported.
fn refuses(path: &Path) -> Option<&'static str> {
    let is_hidden = |part: Component<'_>| {
        let name = part.as_os_str().to_string_lossy();
        name.starts_with('.') && !AGENT_FOLDERS.contains(&name.as_ref())
    };
    if path.components().any(is_hidden) {
        return Some("hidden files can hold secrets and are not imported");
    }
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    let is_text = ending.is_none_or(|ending| ENDINGS.contains(&ending.as_str()));
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let is_plain_name = path.extension().is_some()
        || matches!(
            stem.as_str(),
            "readme" | "contributing" | "changelog" | "license" | "authors"
        );
    let is_secret = ["secret", "credential", "password", "id_rsa", "id_ed25519"]
        .iter()
        .any(|word| stem.contains(word));
    if is_secret {
        return Some("files with this name can hold secrets and are not imported");
    }
    (!is_text || !is_plain_name).then_some("only text files such as .md and .txt are imported")
}

/// Joins `folder`, which is relative to the root, and `path`. Returns `None` if `path` is absolute, contains a folder
/// named `~`, or leads to the root itself or out of it.
fn inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    let mut out = folder.to_path_buf();
    for part in path.components() {
        match part {
            Component::Normal(name) if name == "~" => return None,
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!out.as_os_str().is_empty()).then_some(out)
}

/// Returns the paths in the words `@PATH` of `text`, at most [`FILES_MAX`], without punctuation at their ends. Skips
/// code blocks, code in backticks and paths longer than 1,024 bytes.
fn imports(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        // Every second part is between backticks and is skipped.
        for part in line.split('`').step_by(2) {
            for word in part.split_whitespace() {
                let path = word
                    .strip_prefix('@')
                    .map(|w| w.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']));
                if let Some(path) = path.filter(|p| !p.is_empty() && p.len() <= 1024)
                    && out.len() < FILES_MAX
                {
                    out.push(path.to_string());
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use pretty_assertions::assert_eq;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn paths(memory: &ProjectMemory) -> Vec<&str> {
        memory.files.iter().map(|f| f.path.as_str()).collect()
    }

    #[test]
    fn every_directory_down_to_the_work_directory_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "AGENTS.md", "root");
        write(root, "CLAUDE.md", "not read");
        write(root, "a/AGENTS.md", " \n");
        write(root, "a/CLAUDE.md", "a");
        write(root, "a/b/c/AGENTS.md", "c");
        write(root, "other/AGENTS.md", "not read");
        assert_eq!(paths(&project_memory(root, root)), ["AGENTS.md"]);
        let memory = project_memory(root, &root.join("a/b/c"));
        assert_eq!(
            paths(&memory),
            ["AGENTS.md", "a/CLAUDE.md", "a/b/c/AGENTS.md"]
        );
        assert_eq!(memory.skipped, []);
        assert_eq!(
            paths(&project_memory(root, Path::new("/elsewhere"))),
            ["AGENTS.md"]
        );
    }

    #[test]
    fn imports_are_followed_inside_the_project_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = &dir.path().join("root");
        write(dir.path(), "outside.md", "outside");
        write(
            root,
            "CLAUDE.md",
            "See @docs/a.md, @README and ask @alice or me@docs.md.\n`@docs/code.md`\n```\n@docs/code.md\n```\n\
             @../outside.md @/etc/hostname @~/x.md @gone.md @.env @key.pem @out.md @my-secrets.md @docs @.claude/rules.md",
        );
        write(root, "docs/a.md", "@b.md @../CLAUDE.md");
        write(root, "docs/b.md", "@a.md");
        for path in [
            "docs/code.md",
            "README",
            ".env",
            "key.pem",
            "my-secrets.md",
            ".claude/rules.md",
        ] {
            write(root, path, path);
        }
        symlink(dir.path().join("outside.md"), root.join("out.md")).unwrap();
        let memory = project_memory(root, root);
        assert_eq!(
            paths(&memory),
            [
                "CLAUDE.md",
                "docs/a.md",
                "docs/b.md",
                "README",
                ".claude/rules.md"
            ]
        );
        assert_eq!(memory.files[2].imported_by.as_deref(), Some("docs/a.md"));
        let skipped: Vec<&str> = memory
            .skipped
            .iter()
            .map(|(path, _)| path.as_str())
            .collect();
        assert_eq!(
            skipped,
            [
                "@../outside.md in CLAUDE.md",
                "@/etc/hostname in CLAUDE.md",
                "@~/x.md in CLAUDE.md",
                "@gone.md in CLAUDE.md",
                "@.env in CLAUDE.md",
                "@key.pem in CLAUDE.md",
                "out.md",
                "@my-secrets.md in CLAUDE.md",
            ]
        );
        assert!(!memory.prompt().contains("outside\n"));
    }

    #[test]
    fn imports_of_agents_files_are_text_and_chains_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "AGENTS.md", "@one.md");
        write(root, "one.md", "1");
        assert_eq!(paths(&project_memory(root, root)), ["AGENTS.md"]);
        fs::remove_file(root.join("AGENTS.md")).unwrap();
        write(root, "CLAUDE.md", "@n1.md");
        for n in 1..10 {
            write(root, &format!("n{n}.md"), &format!("@n{}.md", n + 1));
        }
        let memory = project_memory(root, root);
        assert_eq!(paths(&memory).len(), 1 + DEPTH_MAX);
        assert_eq!(memory.skipped[0].0, "@n6.md in n5.md");
    }
}

//! Decides which files git ignores, from the files `.gitignore` that a scan meets on its way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules that apply in one folder: those of its own `.gitignore`, then those of the folders above it, then those of
/// the repository and the user. The first rules that mention a path decide about it.
#[derive(Debug, Clone)]
pub struct IgnoreRules(Arc<RuleLevel>);

#[derive(Debug)]
struct RuleLevel {
    patterns: Gitignore,
    /// The length of the path of the folder to which the patterns are relative, with the slash at its end, in bytes.
    prefix: usize,
    above: Option<IgnoreRules>,
}

impl IgnoreRules {
    /// Returns the rules of the top folder before its own `.gitignore` is read. `files` are the contents of the user's
    /// and the repository's files of patterns; a later one takes precedence.
    pub fn new(files: &[Vec<u8>]) -> IgnoreRules {
        let mut builder = GitignoreBuilder::new("");
        for text in files {
            add_lines(&mut builder, text);
        }
        IgnoreRules(Arc::new(RuleLevel {
            patterns: builder.build().unwrap_or_else(|_| Gitignore::empty()),
            prefix: 0,
            above: None,
        }))
    }

    /// Returns the rules of the folder `folder`, a path relative to the top folder. `text` is the content of the
    /// folder's `.gitignore`.
    pub fn with_file(&self, folder: &[u8], text: &[u8]) -> IgnoreRules {
        let mut builder = GitignoreBuilder::new("");
        add_lines(&mut builder, text);
        IgnoreRules(Arc::new(RuleLevel {
            patterns: builder.build().unwrap_or_else(|_| Gitignore::empty()),
            prefix: if folder.is_empty() {
                0
            } else {
                folder.len() + 1
            },
            above: Some(self.clone()),
        }))
    }

    /// Returns whether the rules ignore `path`, which is relative to the top folder and lies in the folder of the
    /// rules. Whether a folder above `path` is ignored is not considered.
    pub fn ignore(&self, path: &[u8], is_folder: bool) -> bool {
        let mut level = Some(self);
        while let Some(IgnoreRules(rules)) = level {
            let inside = path.get(rules.prefix..).unwrap_or_default();
            let inside = Path::new(OsStr::from_bytes(inside));
            match rules.patterns.matched(inside, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = rules.above.as_ref(),
            }
        }
        false
    }
}

/// Adds the patterns of a file. Lines that are not valid patterns match nothing, as in git.
fn add_lines(builder: &mut GitignoreBuilder, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn nearest_rules_decide() {
        let user = IgnoreRules::new(&[b"*.log\n".to_vec(), b"!keep.log\n".to_vec()]);
        let top = user.with_file(b"", b"/target/\n*.tmp\n");
        let inner = top.with_file(b"a/b", b"!own.tmp\n/only-here\n");
        let cases: [(&IgnoreRules, &str, bool, bool); 9] = [
            (&top, "x.log", false, true),
            (&top, "keep.log", false, false),
            (&top, "target", true, true),
            (&top, "target", false, false),
            (&inner, "a/b/own.tmp", false, false),
            (&inner, "a/b/other.tmp", false, true),
            (&inner, "a/b/only-here", false, true),
            (&inner, "a/b/c/only-here", false, false),
            (&inner, "a/b/x.log", false, true),
        ];
        for (rules, path, is_folder, expected) in cases {
            let is_ignored = rules.ignore(path.as_bytes(), is_folder);
            assert_eq!(is_ignored, expected, "{path}");
        }
    }
}

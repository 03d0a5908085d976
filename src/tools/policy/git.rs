//! Decides which git commands need approval. A command whose effect can be undone with the repository needs no
//! approval. Does no I/O.

use std::ffi::OsStr;
use std::path::Path;

use super::paths::CommandDir;
use super::words::{SimpleCommand, Word, has_flag};

/// Git subcommands that can change the history. They start another program only with some arguments, such as
/// `--upload-pack`; [`is_single_flagged_command`] recognizes these arguments.
const HISTORY: &[&str] = &[
    "push",
    "fetch",
    "pull",
    "branch",
    "tag",
    "update-ref",
    "reset",
    "reflog",
    "gc",
    "prune",
    "replace",
    "remote",
];

/// Returns whether `simple` is one git command that can change the history ([`HISTORY`]), needs approval, and starts no
/// other program. Returns false if it uses an output redirection, an assignment, an expansion or a file name pattern,
/// if it reads its input from a pipe, file or here-document, or if an option precedes the subcommand.
pub fn is_single_flagged_command(simple: &SimpleCommand, dir: &CommandDir<'_>) -> bool {
    let Some((program, args)) = simple.words.split_first() else {
        return false;
    };
    let starts_another = |arg: &Word| {
        ["-pack", "--exec", "ext::"]
            .iter()
            .any(|part| arg.text.contains(part))
    };
    program.text == "git"
        && simple.words.iter().all(Word::is_plain)
        && simple.redirects.is_empty()
        && !simple.assigns
        && !simple.is_fed
        && args
            .first()
            .is_some_and(|verb| HISTORY.contains(&verb.text.as_str()))
        && !args.iter().any(starts_another)
        && approval_reason(args, dir).is_some()
}

/// Git subcommands, besides `push`, that change another repository or send commits to other machines: always, or with the
/// given argument.
const PUBLISHING: &[(&str, Option<&str>)] = &[
    ("send-pack", None),
    ("http-push", None),
    ("send-email", None),
    ("imap-send", None),
    ("lfs", Some("push")),
    ("subtree", Some("push")),
    ("svn", Some("dcommit")),
    ("p4", Some("submit")),
];

/// Returns why git needs approval to run with the arguments `args`; `None` if it needs none.
pub fn approval_reason(args: &[Word], dir: &CommandDir<'_>) -> Option<String> {
    let (verb, rest) = verb(args)?;
    if !verb.is_plain() {
        return Some("the git subcommand is known only at run time".into());
    }
    let has = |text: &str| rest.iter().any(|a| a.text == text);
    let because = |why: &str| Some(format!("git {} {why}", verb.text));
    // After the subcommand, these words mean something else: `git switch -c` creates a branch.
    let before_verb = &args[..args.len() - rest.len() - 1];
    if let Some(option) = before_verb.iter().find(|a| {
        a.text == "-c"
            || ["--config-env", "--exec-path"]
                .iter()
                .any(|o| a.text.starts_with(o))
    }) {
        let (option, _) = option.text.split_once('=').unwrap_or((&option.text, ""));
        return Some(format!("git {option} can make git start other programs"));
    }
    match verb.text.as_str() {
        "push" => because("changes another repository"),
        _ if publishes(&verb.text, rest) => because("publishes commits"),
        "reset" if has("--hard") || has("--merge") => because("discards uncommitted work"),
        "clean" if !has("-n") && !has("--dry-run") => because("deletes untracked files"),
        "checkout" | "restore" | "switch"
            if has("--")
                || has(".")
                || has_flag(rest, 'f', "--force")
                || has("--discard-changes") =>
        {
            because("discards uncommitted work")
        }
        "checkout" if checks_out_files(rest) => because("discards uncommitted work"),
        "restore" if !has("--staged") => because("discards uncommitted work"),
        "branch"
            if ["-D", "-M", "-C"].iter().any(|flag| has(flag))
                || has_flag(rest, 'f', "--force") =>
        {
            because("can lose commits")
        }
        // In a worktree, `git branch -d` and `git branch -m` need no approval: a command without approval can change
        // only branches that commands in that worktree created.
        "branch"
            if !dir.is_worktree()
                && (has_flag(rest, 'd', "--delete") || has_flag(rest, 'm', "--move")) =>
        {
            because("deletes or renames a branch")
        }
        "stash" if has("drop") || has("clear") => because("discards stashed work"),
        "tag" if has("-d") || has("--delete") || has_flag(rest, 'f', "--force") => {
            because("deletes or moves a tag")
        }
        "update-ref" | "reflog" | "filter-branch" | "filter-repo" | "gc" | "prune" | "replace" => {
            because("can lose commits permanently")
        }
        "config" if rest.len() > 1 && !has("--get") && !has("--list") && !has("-l") => {
            because("changes git settings")
        }
        "remote" | "submodule"
            if !rest.is_empty() && !has("-v") && !has("status") && !has("show") =>
        {
            because("changes remotes or submodules")
        }
        "clone" | "fetch" | "pull" => because("connects to other machines"),
        "worktree" if has("remove") || has("prune") => because("can delete a worktree"),
        _ => None,
    }
}

/// Returns whether the subcommand `verb` with the arguments `args` is one of [`PUBLISHING`]. An argument that is known only
/// at run time counts as the given one.
fn publishes(verb: &str, args: &[Word]) -> bool {
    PUBLISHING.iter().any(|(name, argument)| {
        let has = |argument: &str| args.iter().any(|a| a.text == argument || !a.is_plain());
        *name == verb && argument.is_none_or(has)
    })
}

/// Returns whether the arguments of `git checkout` seem to name files, which git then overwrites. Without `--`, a
/// single argument can be a branch or a file; [`seems_file`] decides. Several arguments name at least one file, unless
/// an option (`-b`, `-B` or `--orphan`) creates a branch.
fn checks_out_files(args: &[Word]) -> bool {
    if has_flag(args, 'b', "--orphan") || has_flag(args, 'B', "--orphan") {
        return false;
    }
    let mut names = args
        .iter()
        .filter(|arg| arg.text == "-" || !arg.text.starts_with('-'));
    match (names.next(), names.next()) {
        (None, _) => false,
        (Some(name), None) => seems_file(name),
        (Some(_), Some(_)) => true,
    }
}

/// Returns whether an argument seems to name files instead of a branch or commit. True if git does not allow the
/// argument as the name of a branch, such as `./` or `src/*`. Also true if the argument has a file extension, such as
/// `src/main.rs`; an extension that begins with a digit does not count, as in `v1.0`. A file without an extension, such
/// as `Makefile`, is not recognized.
fn seems_file(arg: &Word) -> bool {
    let text = arg.text.as_str();
    let is_no_ref = arg.globs
        || text.starts_with('.')
        || text.contains("/.")
        || text.ends_with('/')
        || text.contains([':', '*', '?', '[', '\\']);
    // `main...feature` is the merge base of two branches.
    let is_merge_base = text.contains("...");
    is_no_ref
        || !is_merge_base
            && Path::new(text)
                .extension()
                .and_then(OsStr::to_str)
                .is_some_and(|extension| {
                    !extension.starts_with(|first: char| first.is_ascii_digit())
                })
}

/// Skips the options before git's subcommand. Returns the subcommand and its arguments; `None` if there is no
/// subcommand.
fn verb(args: &[Word]) -> Option<(&Word, &[Word])> {
    let mut rest = args;
    loop {
        let (first, more) = rest.split_first()?;
        match first.text.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix"
            | "--attr-source" => rest = more.get(1..)?,
            text if text.starts_with('-') => rest = more,
            _ => return Some((first, more)),
        }
    }
}

//! Session permissions for commands: which ones the user can grant for a command, and which commands they cover. Does
//! no I/O.
//!
//! A user who grants a session permission has seen only one command, so the permission must not cover anything that
//! this command does not show. There are two kinds:
//! - The same command, if its text alone determines what runs.
//! - Commands with the same program and subcommand, if there is no pipe, redirection or expansion and no earlier
//!   command that could change which program runs.

use super::commands;
use super::paths::CommandDir;
use super::words::{SimpleCommand, Word, parse};
use crate::domain::permission::PermissionScope;

/// Shell builtins that can change what later commands in the same command line do.
const STATE_BUILTINS: &[&str] = &[
    "export", "alias", "unalias", "set", "shopt", "source", ".", "declare", "typeset", "local",
    "readonly", "hash", "enable", "trap", "eval", "exec", "builtin", "command", "unset", "pushd",
    "popd", "read", "mapfile", "printf", "let", "function", "bind", "complete", "umask", "ulimit",
];
/// Programs whose first argument is not a subcommand but, for example, a file.
/// [`commands::runs_or_writes_its_arguments`] lists further such programs.
const WITHOUT_SUBCOMMANDS: &[&str] = &[
    "rm",
    "find",
    "fd",
    "sed",
    "psql",
    "mysql",
    "sqlite3",
    "dropdb",
    "redis-cli",
    "mongosh",
    "ansible",
    "ansible-playbook",
    "make",
    "test",
    "expr",
    "git-shell",
    "script",
    "strace",
    "gdb",
    "ltrace",
    "tmux",
    "screen",
    "vim",
    "vi",
    "nano",
    "less",
    "man",
    "ed",
    "emacs",
];
/// Subcommands that can run another program, which is named by their arguments.
const RUNNERS: &[&str] = &[
    "exec",
    "run",
    "x",
    "dlx",
    "eval",
    "shell",
    "sh",
    "bash",
    "ssh",
    "script",
    "debug",
    "attach",
    "repl",
    "console",
    "cp",
    "proxy",
    "alias",
    "config",
    "plugin",
    "extension",
];
/// Maximum length, in bytes, of a command that can be allowed by its exact text.
const EXACT_MAX: usize = 4 * 1024;
/// Maximum length, in bytes, of the words in a permission for a program and subcommand.
const WORDS_MAX: usize = 80;

/// Returns the session permissions that the user can grant for `command`. `all` contains the simple commands of
/// `command`, and `asked` those of them that need approval. If `asked` is empty, because `command` needs approval for
/// another reason, all of them are considered. Returns an empty list if the user can only allow this one call.
pub fn offered_scopes(
    command: &str,
    all: &[SimpleCommand],
    asked: &[&SimpleCommand],
) -> Vec<PermissionScope> {
    let mut out = Vec::new();
    if all.iter().all(is_known) && command.len() <= EXACT_MAX {
        out.push(PermissionScope::Exact {
            command: command.trim().into(),
        });
    }
    let asked: Vec<&SimpleCommand> = if asked.is_empty() {
        all.iter().collect()
    } else {
        asked.to_vec()
    };
    let mut words = asked.iter().map(|s| first_words(s));
    if let Some(Some(first)) = words.next()
        && words.all(|w| w.as_ref() == Some(&first))
        && is_alone(all)
    {
        out.push(PermissionScope::Begins { words: first });
    }
    out
}

/// Returns whether the permissions `scopes` cover `command`. `all` contains the simple commands of `command`, and
/// `asked` those of them that need approval.
///
/// - [`PermissionScope::Exact`] covers a command with the same text, apart from whitespace at both ends, if the text
///   determines what runs.
/// - Permissions of the kind [`PermissionScope::Begins`] cover a command if `asked` is not empty, and each simple
///   command in `asked` begins with the words of one of them. No simple command in `all` may affect another one or
///   leave the work directory.
pub fn cover(
    scopes: &[PermissionScope],
    command: &str,
    all: &[SimpleCommand],
    asked: &[&SimpleCommand],
    dir: &CommandDir<'_>,
) -> bool {
    let is_exact = |s: &PermissionScope| match s {
        PermissionScope::Exact { command: allowed } => {
            allowed == command.trim() && all.iter().all(is_known)
        }
        _ => false,
    };
    if scopes.iter().any(is_exact) {
        return true;
    }
    let begins = |simple: &SimpleCommand| {
        scopes.iter().any(|s| match s {
            PermissionScope::Begins { words } => has_first(simple, words),
            _ => false,
        })
    };
    is_alone(all)
        && all.iter().all(|s| keeps_directory(s, dir))
        && !asked.is_empty()
        && asked.iter().all(|s| begins(s))
}

/// Returns whether the text of the command determines what runs: the shell expands nothing in the text except file name
/// patterns.
fn is_known(simple: &SimpleCommand) -> bool {
    let known = |w: &Word| !w.expands;
    simple.words.iter().all(known) && simple.redirects.iter().all(known)
}

/// Returns whether the simple commands cannot affect each other: none reads from a pipe, has a redirection, assignment,
/// expansion or file name pattern, or is a builtin in [`STATE_BUILTINS`]. They may still change the directory with
/// `cd`.
fn is_alone(all: &[SimpleCommand]) -> bool {
    all.iter().all(|simple| {
        let name = simple.words.first().map_or("", |w| w.text.as_str());
        !simple.is_fed
            && !simple.assigns
            && simple.redirects.is_empty()
            && simple.words.iter().all(Word::is_plain)
            && !STATE_BUILTINS.contains(&name)
    })
}

/// Returns false for a `cd` whose argument is not a relative path to a directory below the work directory, and true for
/// every other command. The caller excludes `pushd` and `popd` with [`is_alone`].
fn keeps_directory(simple: &SimpleCommand, dir: &CommandDir<'_>) -> bool {
    match simple.words.split_first() {
        Some((name, args)) if name.text == "cd" => {
            matches!(args, [to] if dir.may_write(to) && !to.text.starts_with(['/', '-']))
        }
        Some(_) | None => true,
    }
}

/// Returns the program and its subcommand, for example `docker compose`. Returns `None` if these two words do not show
/// what the command does:
/// - A word is missing, or is not a plain name of lower-case characters, digits, `-`, `_` and `:`.
/// - The program takes no subcommands, or is in [`STATE_BUILTINS`].
/// - The subcommand can run another program ([`RUNNERS`]).
/// - Both words together are longer than [`WORDS_MAX`].
fn first_words(simple: &SimpleCommand) -> Option<String> {
    let [program, sub, ..] = simple.words.as_slice() else {
        return None;
    };
    let (program, sub) = (plain(program)?, plain(sub)?);
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_:".contains(c))
    };
    let fits = is_name(program)
        && is_name(sub)
        && !commands::runs_or_writes_its_arguments(program)
        && !WITHOUT_SUBCOMMANDS.contains(&program)
        && !STATE_BUILTINS.contains(&program)
        && !RUNNERS.contains(&sub);
    let words = format!("{program} {sub}");
    (fits && words.len() <= WORDS_MAX).then_some(words)
}

fn plain(word: &Word) -> Option<&str> {
    word.is_plain().then_some(word.text.as_str())
}

fn has_first(simple: &SimpleCommand, words: &str) -> bool {
    // Check the words again: a permission that another program has written may contain words that crewdeck would not
    // have offered.
    first_words(simple).is_some_and(|first| first == words)
}

/// Returns whether a permission for commands can be granted. The text of [`PermissionScope::Exact`] must determine what
/// runs. The words of [`PermissionScope::Begins`] must be a program and subcommand that `first_words` accepts. Returns
/// false for permissions for MCP servers.
pub fn is_valid(scope: &PermissionScope) -> bool {
    match scope {
        PermissionScope::Exact { command } => {
            parse(command).is_ok_and(|all| !all.is_empty() && all.iter().all(is_known))
        }
        PermissionScope::Begins { words } => {
            parse(words).is_ok_and(|all| all.len() == 1 && all.iter().all(|s| has_first(s, words)))
        }
        PermissionScope::Server { .. }
        | PermissionScope::ServerTool { .. }
        | PermissionScope::ServerFolder { .. }
        | PermissionScope::ServerCall { .. } => false,
    }
}

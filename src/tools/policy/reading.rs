//! Decides whether a command only reads files. Does no I/O.

use super::words::{self, SimpleCommand};

/// Programs that only read, whatever their arguments are.
const READERS: &[&str] = &[
    "cat", "cmp", "diff", "du", "grep", "head", "ls", "pwd", "stat", "tail", "wc",
];
/// Subcommands of git that only read, unless an argument names a file to write or a program to run (`GIT_EXCEPTIONS`).
/// Programs that the configuration of git names, such as `diff.external`, are not considered.
const GIT_READERS: &[&str] = &["diff", "log", "show", "status"];
const GIT_EXCEPTIONS: &[&str] = &["--output", "--ext-diff", "--textconv"];

/// Returns whether a shell command certainly only reads files. Returns false for all other commands, and for commands
/// that only read but use a program that is not in the lists of this module.
pub fn only_reads(command: &str) -> bool {
    words::parse(command).is_ok_and(|all| !all.is_empty() && all.iter().all(is_reader))
}

fn is_reader(simple: &SimpleCommand) -> bool {
    if simple.assigns || !simple.redirects.is_empty() || simple.words.iter().any(|w| w.expands) {
        return false;
    }
    let texts: Vec<&str> = simple.words.iter().map(|word| word.text.as_str()).collect();
    match texts.as_slice() {
        ["git", subcommand, args @ ..] => {
            let is_exception = |arg: &&str| GIT_EXCEPTIONS.iter().any(|e| arg.starts_with(e));
            GIT_READERS.contains(subcommand) && !args.iter().any(is_exception)
        }
        [name, ..] => READERS.contains(name),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_certainly_read_are_readers() {
        for command in [
            "ls -la",
            "cat a.txt | grep x | wc -l",
            "git log --oneline -5 && git status",
            "git diff main -- src",
        ] {
            assert!(only_reads(command), "{command}");
        }
        for command in [
            "",
            "touch a",
            "cat a > b",
            "cat $(rm a)",
            "A=1 cat a",
            "git -c core.pager=x log",
            "git diff --output=a",
            "git commit -m x",
            "ls; rm a",
            "./cat a",
            "cargo test",
            "cat 'unclosed",
        ] {
            assert!(!only_reads(command), "{command}");
        }
    }
}

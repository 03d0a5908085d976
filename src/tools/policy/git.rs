//! What git may do unasked: everything that can be found again in the repository. Pure.

use super::commands::has_flag;
use super::paths::Place;
use super::words::{Simple, Word};

/// Verbs that change history and start no program that a command could name.
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

/// Whether a program is one git command that the user is asked about, which does what its words say and starts nothing
/// else.
pub fn is_decided_alone(simple: &Simple, place: &Place<'_>) -> bool {
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
        && danger(args, place).is_some()
}

/// Why a git command needs somebody's word; `None`: it needs none.
pub fn danger(args: &[Word], place: &Place<'_>) -> Option<String> {
    let (verb, rest) = verb(args)?;
    if !verb.is_plain() {
        return Some("which git command it is is only known when it runs".into());
    }
    let has = |text: &str| rest.iter().any(|a| a.text == text);
    let because = |why: &str| Some(format!("git {} {why}", verb.text));
    if args
        .iter()
        .any(|a| a.text == "-c" || a.text.starts_with("--exec-path"))
    {
        return Some("git -c can make git start other programs".into());
    }
    match verb.text.as_str() {
        "push" => because("changes another repository"),
        "reset" if has("--hard") || has("--merge") => {
            because("--hard throws uncommitted work away")
        }
        "clean" if !has("-n") && !has("--dry-run") => {
            because("deletes files that git does not know")
        }
        "checkout" | "restore" | "switch"
            if has("--")
                || has(".")
                || has_flag(rest, 'f', "--force")
                || has("--discard-changes") =>
        {
            because("throws uncommitted work away")
        }
        "restore" if !has("--staged") => because("throws uncommitted work away"),
        "branch"
            if ["-D", "-M", "-C"].iter().any(|flag| has(flag))
                || has_flag(rest, 'f', "--force") =>
        {
            because("can drop commits")
        }
        // A command that the user is not asked about changes only branches that commands in its directory have made.
        "branch"
            if !place.is_worktree()
                && (has_flag(rest, 'd', "--delete") || has_flag(rest, 'm', "--move")) =>
        {
            because("deletes or renames a branch")
        }
        "stash" if has("drop") || has("clear") => because("throws stashed work away"),
        "tag" if has("-d") || has("--delete") || has_flag(rest, 'f', "--force") => {
            because("deletes or moves a tag")
        }
        "update-ref" | "reflog" | "filter-branch" | "filter-repo" | "gc" | "prune" | "replace" => {
            because("can drop commits for good")
        }
        "config" if rest.len() > 1 && !has("--get") && !has("--list") && !has("-l") => {
            because("changes how git works")
        }
        "remote" | "submodule"
            if !rest.is_empty() && !has("-v") && !has("status") && !has("show") =>
        {
            because("changes the repository's links to others")
        }
        "clone" | "fetch" | "pull" => because("reaches other machines"),
        "worktree" if has("remove") || has("prune") => because("can delete a worktree"),
        _ => None,
    }
}

/// The git verb behind git's own options.
fn verb(args: &[Word]) -> Option<(&Word, &[Word])> {
    let mut rest = args;
    loop {
        let (first, more) = rest.split_first()?;
        match first.text.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => rest = more.get(1..)?,
            text if text.starts_with('-') => rest = more,
            _ => return Some((first, more)),
        }
    }
}

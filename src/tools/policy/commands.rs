//! Decides which programs need approval. Does no I/O.

use super::addresses::only_here;
use super::git;
use super::paths::CommandDir;
use super::words::{self, SimpleCommand, Word, has_flag};
use super::wrappers::{self, Unwrapped};

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];
const INTERPRETERS: &[&str] = &[
    "python", "python2", "python3", "perl", "ruby", "node", "php", "lua", "deno", "bun", "awk",
    "gawk",
];
/// A command with inline code (`python -c …`) needs approval if the code contains one of these texts.
const RISKY_CODE_WORDS: &[&str] = &[
    "rmtree",
    "unlink",
    "remove",
    "rmdir",
    "system",
    "subprocess",
    "popen",
    "exec",
    "spawn",
    "kill",
    "eval",
    "socket",
    "urllib",
    "requests",
    "http",
    "/dev/",
    "chmod",
    "truncate",
    "rename",
    "__import__",
    "fork",
];
const OTHER_USER: &[&str] = &[
    "sudo", "su", "doas", "pkexec", "runuser", "chroot", "unshare", "nsenter",
];
const MACHINE: &[&str] = &[
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "systemctl",
    "service",
    "launchctl",
    "mount",
    "umount",
    "swapoff",
    "swapon",
    "insmod",
    "rmmod",
    "modprobe",
    "sysctl",
    "iptables",
    "nft",
    "ip",
    "ifconfig",
    "crontab",
    "at",
    "useradd",
    "userdel",
    "usermod",
    "groupadd",
    "passwd",
    "chpasswd",
    "visudo",
    "hostname",
    "date",
];
const DISKS: &[&str] = &[
    "dd",
    "fdisk",
    "sfdisk",
    "gdisk",
    "parted",
    "wipefs",
    "shred",
    "blkdiscard",
    "mkswap",
    "cryptsetup",
    "lvremove",
    "zpool",
    "hdparm",
    "badblocks",
    "srm",
];
const NETWORK: &[&str] = &[
    "curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "scp", "sftp", "rsync",
    "ftp", "mail", "sendmail",
];
const REMOTE: &[&str] = &[
    "kubectl",
    "helm",
    "terraform",
    "tofu",
    "pulumi",
    "ansible",
    "ansible-playbook",
    "aws",
    "gcloud",
    "az",
    "heroku",
    "fly",
    "flyctl",
    "vercel",
    "netlify",
    "gh",
    "glab",
    "docker",
    "podman",
    "dropdb",
    "redis-cli",
    "mongosh",
];
const KILLERS: &[&str] = &["kill", "pkill", "killall", "xkill", "fuser"];
/// Programs that write the files named by their arguments.
const WRITERS: &[&str] = &[
    "cp",
    "mv",
    "ln",
    "install",
    "tee",
    "touch",
    "mkdir",
    "rmdir",
    "truncate",
    "unlink",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "setfacl",
    "tar",
    "unzip",
    "split",
    "patch",
    "fallocate",
];

pub fn approval_reason(simple: &SimpleCommand, dir: &CommandDir<'_>) -> Option<String> {
    if let Some(target) = simple.redirects.iter().find(|t| !dir.may_write(t)) {
        return Some(format!("it writes to {}", format_word(target)));
    }
    let Unwrapped {
        words,
        wrapper,
        splits_text,
    } = wrappers::strip(&simple.words);
    if splits_text {
        return Some("env -S runs a text as a command".into());
    }
    let (program, args) = words.split_first()?;
    if !program.is_plain() {
        return Some("the program name is known only at run time".into());
    }
    if let Some(wrapper) = wrapper {
        if program.text.contains(char::is_whitespace) {
            return command_text(wrapper, &words, dir);
        }
        // The value of an option that is not known here.
        if program.text.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(format!("crewdeck cannot tell which program {wrapper} runs"));
        }
    }
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let is = |list: &[&str]| list.contains(&name);
    if is(OTHER_USER) {
        return Some(format!("{name} runs programs as another user"));
    }
    if is(MACHINE) && !args.is_empty() || ["shutdown", "reboot", "halt", "poweroff"].contains(&name)
    {
        return Some(format!("{name} can change the system"));
    }
    if is(DISKS) || name.starts_with("mkfs") {
        return Some(format!("{name} can destroy whole disks or files"));
    }
    if is(KILLERS) {
        return Some(format!("{name} stops other programs"));
    }
    if is(NETWORK) && !only_here(name, args) {
        return Some(format!("{name} connects to other machines"));
    }
    if is(REMOTE) {
        return Some(format!(
            "{name} can change things outside the work directory"
        ));
    }
    if is(SHELLS) {
        return shell(simple, args, dir);
    }
    if INTERPRETERS
        .iter()
        .any(|i| name == *i || is_version_of(name, i))
    {
        return interpreter(name, simple, args);
    }
    match name {
        "rm" => rm(args, dir),
        "find" | "fd" => find(args, dir),
        "git" => git::approval_reason(args, dir),
        "crewdeck" if opens_pull_request(args) => {
            Some("crewdeck worktree pr pushes a branch, which only the user does".into())
        }
        "eval" => Some("eval runs text that is known only at run time".into()),
        "trap" => args
            .iter()
            .find(|a| !a.text.starts_with('-'))
            .and_then(|code| {
                if code.expands {
                    Some("trap runs text that is known only at run time".into())
                } else {
                    code_reason(&code.text, dir)
                }
            }),
        "sed" | "perl"
            if args
                .iter()
                .any(|a| a.text.starts_with("-i") || a.text == "--in-place") =>
        {
            outside(name, args, dir)
        }
        "chmod" | "chown" | "chgrp" if has_flag(args, 'R', "--recursive") => {
            Some(format!("{name} -R changes many files at once"))
        }
        // A range of numbers, such as `{777..777}`, is not expanded.
        "chmod"
            if args
                .iter()
                .any(|a| a.text.ends_with("777") || a.globs && a.text.contains("..")) =>
        {
            Some("chmod makes a file writable for every user".into())
        }
        "npm" | "yarn" | "pnpm" | "cargo" | "twine" | "gem" if publishes(args) => {
            Some(format!("{name} publishes a package"))
        }
        "psql" | "mysql" | "sqlite3" if args.iter().any(|a| drops(&a.text)) => {
            Some(format!("{name} deletes data"))
        }
        _ if is(WRITERS) => outside(name, args, dir),
        _ => git_program(name, program, args, dir),
    }
}

/// Returns why the program `name` of git, such as `git-push`, which is the same as `git push`, needs approval; `None` if it
/// needs none or is no program of git.
fn git_program(name: &str, word: &Word, args: &[Word], dir: &CommandDir<'_>) -> Option<String> {
    let verb = Word {
        text: name.strip_prefix("git-")?.into(),
        ..word.clone()
    };
    let words: Vec<Word> = std::iter::once(verb).chain(args.iter().cloned()).collect();
    git::approval_reason(&words, dir)
}

/// Returns whether the program `name` runs, changes or contacts what its arguments name. A permission for the first two
/// words of its commands would then cover too much. True for wrappers, shells, interpreters, and programs that change
/// the machine, write files, stop processes or use the network. False for all other programs, and for the programs in
/// [`REMOTE`], whose first argument is a subcommand.
pub fn runs_or_writes_its_arguments(name: &str) -> bool {
    let lists = [
        SHELLS,
        INTERPRETERS,
        OTHER_USER,
        MACHINE,
        DISKS,
        NETWORK,
        KILLERS,
        WRITERS,
    ];
    wrappers::is_wrapper(name)
        || lists.iter().any(|l| l.contains(&name))
        || INTERPRETERS.iter().any(|i| is_version_of(name, i))
        || name.starts_with("mkfs")
}

/// Returns why the command line that the program `wrapper` passes to a shell needs approval; `None` if it needs none.
/// The command line consists of all `words`, joined with spaces; the first of them contains several words of the shell.
fn command_text(wrapper: &str, words: &[Word], dir: &CommandDir<'_>) -> Option<String> {
    if wrapper != "watch" || words.iter().any(|word| word.expands) {
        return Some(format!("{wrapper} runs a text as a command"));
    }
    let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    code_reason(&text.join(" "), dir)
}

/// Returns why the shell command `code` needs approval; `None` if it needs none.
fn code_reason(code: &str, dir: &CommandDir<'_>) -> Option<String> {
    match words::parse(code) {
        Ok(inner) => inner.iter().find_map(|s| approval_reason(s, dir)),
        Err(why) => Some(format!("crewdeck cannot tell what the command does: {why}")),
    }
}

fn rm(args: &[Word], dir: &CommandDir<'_>) -> Option<String> {
    let targets: Vec<&Word> = args.iter().filter(|a| !a.text.starts_with('-')).collect();
    let is_temporary = |w: &&Word| w.is_plain() && CommandDir::is_temporary(&w.text);
    if has_flag(args, 'r', "--recursive") || has_flag(args, 'R', "--recursive") {
        let kept = targets.iter().find(|w| !is_temporary(w))?;
        return Some(format!("it deletes {} recursively", format_word(kept)));
    }
    if let Some(target) = targets.iter().find(|w| !dir.may_write(w)) {
        return Some(format!("it deletes {}", format_word(target)));
    }
    let wide = targets
        .iter()
        .find(|w| w.globs && w.text.starts_with(['*', '.', '?', '[']))?;
    Some(format!("it deletes {}", format_word(wide)))
}

fn find(args: &[Word], dir: &CommandDir<'_>) -> Option<String> {
    if args.iter().any(|a| a.text == "-delete") {
        return Some("find -delete deletes every file it finds".into());
    }
    if args
        .iter()
        .any(|a| a.text.starts_with("-fprint") || a.text == "-fls")
    {
        return Some("find writes its result to a file".into());
    }
    let starts = |a: &Word| {
        ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec"].contains(&a.text.as_str())
    };
    args.iter()
        .enumerate()
        .filter(|(_, a)| starts(a))
        .find_map(|(at, _)| {
            let words: Vec<Word> = args[at + 1..]
                .iter()
                .take_while(|a| a.text != ";" && a.text != "+")
                .map(|a| Word {
                    expands: a.expands || a.text.contains("{}"),
                    ..a.clone()
                })
                .collect();
            approval_reason(
                &SimpleCommand {
                    words,
                    ..SimpleCommand::default()
                },
                dir,
            )
        })
}

fn shell(simple: &SimpleCommand, args: &[Word], dir: &CommandDir<'_>) -> Option<String> {
    let is_code =
        |a: &Word| a.text.starts_with('-') && !a.text.starts_with("--") && a.text.contains('c');
    if let Some(at) = args.iter().position(is_code) {
        let Some(code) = args.get(at + 1).filter(|w| !w.expands) else {
            return Some("the shell runs text that is known only at run time".into());
        };
        return code_reason(&code.text, dir);
    }
    if has_flag(args, 'n', "--noexec") {
        return None; // only checks the syntax
    }
    let script = args
        .iter()
        .find(|a| !a.text.starts_with('-') || a.text == "-");
    match script {
        Some(file) if file.is_plain() && file.text != "-" => None,
        Some(_) => Some("the shell runs a script that is known only at run time".into()),
        None if simple.is_fed => Some("a shell runs whatever its input contains".into()),
        None => None,
    }
}

fn interpreter(name: &str, simple: &SimpleCommand, args: &[Word]) -> Option<String> {
    let takes_code = |a: &Word| {
        matches!(
            a.text.as_str(),
            "-c" | "-e" | "-E" | "-r" | "--eval" | "-pe" | "-ne" | "-p"
        )
    };
    let code = match args.iter().position(takes_code) {
        Some(at) => args.get(at + 1),
        None if name.contains("awk") => args.iter().find(|a| !a.text.starts_with('-')),
        None if simple.is_fed && args.iter().all(|a| a.text.starts_with('-')) => {
            return Some(format!("{name} runs whatever its input contains"));
        }
        None => return None,
    }?;
    let risky = RISKY_CODE_WORDS.iter().find(|c| code.text.contains(**c));
    match risky {
        Some(word) => Some(format!("the {name} code contains the risky word '{word}'")),
        None if code.expands => Some(format!("the {name} code is known only at run time")),
        None => None,
    }
}

/// Returns why a command of the program `name` needs approval; `None` if it needs none. The program writes the files
/// that its arguments name. The reason names the first argument that [`CommandDir::may_write`] does not allow; for
/// `mv`, it can also be a device.
///
/// Checks only arguments that the shell expands at run time, and arguments that look like a path: they begin with `/`,
/// `~`, `.git`, `.team` or `.tasks`, or contain `..`.
fn outside(name: &str, args: &[Word], dir: &CommandDir<'_>) -> Option<String> {
    let is_path = |w: &&Word| {
        w.expands
            || w.text.starts_with(['/', '~'])
            || w.text.contains("..")
            || w.text.starts_with(".git")
            || w.text.starts_with(".team")
            || w.text.starts_with(".tasks")
    };
    // Writing to a device is fine, but a file moved to one is lost.
    let may = |w: &Word| dir.may_write(w) && !(name == "mv" && w.text.starts_with("/dev/"));
    let target = args.iter().filter(is_path).find(|w| !may(w))?;
    Some(format!("{name} changes {}", format_word(target)))
}

fn publishes(args: &[Word]) -> bool {
    args.iter()
        .any(|a| ["publish", "upload", "push", "unpublish", "yank"].contains(&a.text.as_str()))
}

/// Returns whether the arguments of `crewdeck` seem to be those of `crewdeck worktree pr`. The command itself refuses to
/// run for an agent.
fn opens_pull_request(args: &[Word]) -> bool {
    let at = args.iter().position(|arg| arg.text == "worktree");
    let rest = at.and_then(|at| args.get(at + 1..)).unwrap_or_default();
    rest.iter().any(|arg| arg.text == "pr" || !arg.is_plain())
}

fn drops(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["drop ", "delete ", "truncate "]
        .iter()
        .any(|word| lower.contains(word))
}

fn is_version_of(name: &str, interpreter: &str) -> bool {
    name.strip_prefix(interpreter)
        .is_some_and(|v| !v.is_empty() && v.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn format_word(word: &Word) -> String {
    if word.text.is_empty() {
        "a file that is known only at run time".into()
    } else {
        word.text.clone()
    }
}

//! Which programs work with a folder or a file now. Asked before a lock is taken away that one of them may hold.

use std::path::Path;

/// Whether some git works in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitUse {
    /// None does.
    None,
    /// None that this system shows: the processes of this user and namespace are shown, others may not be.
    NoneShown,
    /// This process does, or it may: it belongs to another user and does not show where it works.
    By(u32),
    /// This system does not show it.
    Unknown,
}

/// Whether a git of any user works in one of these folders, which are without symbolic links: by its current directory,
/// or because its arguments or its environment name one of them. A git that waits for an editor or a pager counts.
#[cfg(target_os = "linux")]
pub fn git_in(places: &[&Path]) -> GitUse {
    for (id, dir) in processes() {
        let name = std::fs::read(dir.join("comm")).unwrap_or_default();
        if !name.starts_with(b"git") || id == std::process::id() || has_ended(&dir) {
            continue;
        }
        let is_here = match std::fs::read_link(dir.join("cwd")) {
            Ok(cwd) => places.iter().any(|p| cwd.starts_with(p)) || names(&dir, places),
            // It belongs to another user, or it has begun to end: that can look like a refusal too.
            Err(_) => !has_ended(&dir),
        };
        if is_here {
            return GitUse::By(id);
        }
    }
    if shows_all_processes() {
        GitUse::None
    } else {
        GitUse::NoneShown
    }
}

/// Whether `/proc` shows the processes of all users and namespaces.
#[cfg(target_os = "linux")]
fn shows_all_processes() -> bool {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    namespace.as_os_str() == FIRST_NAMESPACE && shows_all_users(&mounts)
}

/// The process namespace in which the system itself was started (`PROC_PID_INIT_INO`): all others are below it.
#[cfg(target_os = "linux")]
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Whether the lines of `mountinfo` say of `/proc` that it hides nothing.
#[cfg(target_os = "linux")]
fn shows_all_users(mounts: &str) -> bool {
    // `22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=2`; a later mount covers an earlier one.
    let proc = mounts
        .lines()
        .rfind(|l| l.split(' ').nth(4) == Some("/proc"));
    let options = proc.and_then(|line| line.split_once(" - ")?.1.split(' ').nth(2));
    options.is_some_and(|options| {
        let hides = |option: &str| match option.split_once('=') {
            Some(("hidepid", how)) => !["0", "off"].contains(&how),
            Some(("subset", _)) => true,
            _ => false,
        };
        !options.split(',').any(hides)
    })
}

/// Whether a process of this user has `path` open.
#[cfg(target_os = "linux")]
pub fn has_open(path: &Path) -> bool {
    processes().any(|(_, dir)| {
        let files = std::fs::read_dir(dir.join("fd")).into_iter().flatten();
        files
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|open| open == path))
    })
}

/// Whether a git works in one of these folders: not shown by this operating system.
#[cfg(not(target_os = "linux"))]
pub fn git_in(_: &[&Path]) -> GitUse {
    GitUse::Unknown
}

/// Whether a process has a file open: not shown by this operating system.
#[cfg(not(target_os = "linux"))]
pub fn has_open(_: &Path) -> bool {
    false
}

/// All processes with their folders in `/proc`.
#[cfg(target_os = "linux")]
fn processes() -> impl Iterator<Item = (u32, std::path::PathBuf)> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        Some((id, entry.path()))
    })
}

/// Whether it has ended, or is ending: it has no memory any more.
#[cfg(target_os = "linux")]
fn has_ended(dir: &Path) -> bool {
    let stat = std::fs::read_to_string(dir.join("stat")).unwrap_or_default();
    let mut fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let state = fields.next().unwrap_or("Z");
    // The 23rd field of proc(5); the state is the third.
    let memory = fields.nth(19).unwrap_or("0");
    matches!(state, "Z" | "X") || memory == "0"
}

/// Whether the arguments or the environment of a process name one of the places (`--git-dir`, `GIT_DIR`).
#[cfg(target_os = "linux")]
fn names(dir: &Path, places: &[&Path]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    ["cmdline", "environ"].iter().any(|file| {
        let text = std::fs::read(dir.join(file)).unwrap_or_default();
        let mut words = text.split(|b| *b == 0);
        words.any(|word| {
            let is_git = *file == "cmdline" || word.starts_with(b"GIT_");
            is_git && places.iter().any(|p| holds(word, p.as_os_str().as_bytes()))
        })
    })
}

#[cfg(target_os = "linux")]
fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len().max(1)).any(|window| window == part)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn gits_that_end_during_the_look_are_not_counted() {
        let place = tempfile::tempdir().unwrap();
        let has_looked = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !has_looked.load(Ordering::Relaxed) {
                        let mut git = Command::new("git");
                        git.arg("--version").stdout(Stdio::null()).current_dir("/");
                        assert!(git.status().unwrap().success());
                    }
                });
            }
            let counted = (0..2000).find(|_| matches!(git_in(&[place.path()]), GitUse::By(_)));
            has_looked.store(true, Ordering::Relaxed);
            assert_eq!(counted, None);
        });
    }

    #[test]
    fn a_proc_that_hides_processes_is_recognized() {
        let first = "21 27 0:20 / /sys rw - sysfs sysfs rw\n22 27 0:21 / /proc rw,relatime";
        for (options, shows_all) in [
            ("proc proc rw", true),
            ("proc proc rw,hidepid=0", true),
            ("proc proc rw,hidepid=off", true),
            ("proc proc rw,hidepid=2", false),
            ("proc proc rw,gid=4,hidepid=invisible", false),
            ("proc proc rw,subset=pid", false),
        ] {
            let mounts = format!("{first} - {options}\n");
            assert_eq!(shows_all_users(&mounts), shows_all, "{options}");
        }
        let covered =
            format!("{first} - proc proc rw\n30 22 0:9 / /proc rw - proc p rw,hidepid=1\n");
        assert!(!shows_all_users(&covered));
        assert!(!shows_all_users(""), "no /proc at all");
    }
}

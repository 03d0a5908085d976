//! Finds processes that use a folder or a file. Called before a lock file is removed, because a process that uses the
//! folder may still hold the lock.

use std::path::Path;

/// The result of [`git_in`]: whether a git process uses one of the given folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitUse {
    /// No git process uses the folders.
    None,
    /// No visible git process uses one of the given folders. Processes of other user accounts or namespaces may be
    /// invisible.
    NoneShown,
    /// The git process with this id uses one of the folders. A git process of another user counts too, because its
    /// working directory is not visible.
    By(u32),
    /// This operating system does not show which files a process uses.
    Unknown,
}

/// Finds out whether a git process of any user uses one of these folders. A process is a git process if its name begins
/// with `git`; this process does not count. The paths must be absolute and must not contain symbolic links. A process
/// uses a folder if its working directory is in the folder, or if its arguments or its environment variables `GIT_…`
/// contain the path. A git process that waits for an editor or a pager counts too.
#[cfg(target_os = "linux")]
pub fn git_in(folders: &[&Path]) -> GitUse {
    for (id, dir) in processes() {
        let name = std::fs::read(dir.join("comm")).unwrap_or_default();
        if !name.starts_with(b"git") || id == std::process::id() || has_ended(&dir) {
            continue;
        }
        let is_here = match std::fs::read_link(dir.join("cwd")) {
            Ok(cwd) => folders.iter().any(|p| cwd.starts_with(p)) || mentions_any(&dir, folders),
            // The process belongs to another user, which counts as use, or it is exiting, which does not.
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

/// Returns whether `/proc` shows the processes of all users and namespaces.
#[cfg(target_os = "linux")]
fn shows_all_processes() -> bool {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    namespace.as_os_str() == FIRST_NAMESPACE && shows_all_users(&mounts)
}

/// The target of `/proc/self/ns/pid` in the initial PID namespace (`PROC_PID_INIT_INO` in the kernel). All other PID
/// namespaces are nested in that one.
#[cfg(target_os = "linux")]
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Returns whether `/proc` shows the processes of all users, according to the content of `mountinfo`.
#[cfg(target_os = "linux")]
fn shows_all_users(mounts: &str) -> bool {
    // `22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=2`; the last of several mounts on `/proc` is the visible
    // one.
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

/// Returns whether a process has the file `path` open. The path must be absolute and must not contain symbolic links.
/// Does not find processes whose open files this user cannot see: processes of other users, unless this user is root.
#[cfg(target_os = "linux")]
pub fn has_open(path: &Path) -> bool {
    processes().any(|(_, dir)| {
        let files = std::fs::read_dir(dir.join("fd")).into_iter().flatten();
        files
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|open| open == path))
    })
}

/// Returns [`GitUse::Unknown`]: only Linux shows what a process uses.
#[cfg(not(target_os = "linux"))]
pub fn git_in(_: &[&Path]) -> GitUse {
    GitUse::Unknown
}

/// Returns `false`: only Linux shows the open files of a process.
#[cfg(not(target_os = "linux"))]
pub fn has_open(_: &Path) -> bool {
    false
}

/// Iterates over the processes in `/proc`. Each item is the process id and the path of the folder `/proc/ID`.
#[cfg(target_os = "linux")]
fn processes() -> impl Iterator<Item = (u32, std::path::PathBuf)> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        Some((id, entry.path()))
    })
}

/// Returns whether the process with the folder `dir` in `/proc` has exited or is exiting. A process is exiting if its
/// virtual memory size is 0.
#[cfg(target_os = "linux")]
fn has_ended(dir: &Path) -> bool {
    let stat = std::fs::read_to_string(dir.join("stat")).unwrap_or_default();
    let mut fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let state = fields.next().unwrap_or("Z");
    // `vsize`, field 23 in proc(5). The state is field 3.
    let memory = fields.nth(19).unwrap_or("0");
    matches!(state, "Z" | "X") || memory == "0"
}

/// Returns whether the process with the folder `dir` in `/proc` names one of `folders`: in an argument, such as the
/// value of `--git-dir`, or in an environment variable that begins with `GIT_`, such as `GIT_DIR`.
#[cfg(target_os = "linux")]
fn mentions_any(dir: &Path, folders: &[&Path]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    ["cmdline", "environ"].iter().any(|file| {
        let text = std::fs::read(dir.join(file)).unwrap_or_default();
        let mut words = text.split(|b| *b == 0);
        words.any(|word| {
            let is_git = *file == "cmdline" || word.starts_with(b"GIT_");
            is_git
                && folders
                    .iter()
                    .any(|p| holds(word, p.as_os_str().as_bytes()))
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
    fn exiting_git_processes_are_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        let mut git = Command::new("git");
                        git.arg("--version").stdout(Stdio::null()).current_dir("/");
                        assert!(git.status().unwrap().success());
                    }
                });
            }
            let counted = (0..2000).find(|_| matches!(git_in(&[folder.path()]), GitUse::By(_)));
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(counted, None);
        });
    }

    #[test]
    fn hidden_processes_are_detected_from_mountinfo() {
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

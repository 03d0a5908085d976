//! The private view of the mounts: folders that a command may not write are mounted read-only over themselves.
//!
//! Only for a process with one thread, since the kernel gives a user namespace to no other.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use super::Mount;
use super::plan::SHARED_IN_GIT;

/// Most entries of a git folder that are shown in a view of it.
const ENTRIES_MAX: usize = 512;
/// Where the system shows terminals.
const TERMINALS: &str = "/dev/pts";

/// Gives this process a view of its own. Where the work directory is the current one, it must be entered anew.
///
/// # Errors
/// What the kernel refused, in one line; the view may be half made then, and only less can be written in it.
pub fn make(steps: &[Mount]) -> Result<(), String> {
    separate().map_err(|e| format!("a mount namespace is refused: {e}"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|e| format!("mounts can not be made private: {e}"))?;
    for step in steps {
        let (path, done) = match step {
            Mount::ReadOnlyBut(places) => (Path::new("/"), read_only_but(places)),
            Mount::ReadOnly(path) => (path.as_path(), over_itself(path, Writing::Forbidden)),
            Mount::Writable(path) => (path.as_path(), over_itself(path, Writing::Allowed)),
            Mount::GitFolder(path) => (path.as_path(), git_folder(path)),
            Mount::Terminals => (Path::new(TERMINALS), terminals()),
        };
        done.map_err(|e| format!("{} can not be mounted: {e}", path.display()))?;
    }
    Ok(())
}

/// Steps that need everything that a view needs, and change nothing for a process that ends right after.
pub fn trial() -> Vec<Mount> {
    vec![Mount::ReadOnly("/proc".into()), Mount::Terminals]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    Allowed,
    Forbidden,
}

/// Enters a mount namespace; who may not do so by itself does it in a user namespace in which it is the same user.
fn separate() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() && nix::sched::unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        return Ok(());
    }
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write(
        "/proc/self/uid_map",
        format!("{user} {user} 1", user = user.as_raw()),
    )?;
    fs::write(
        "/proc/self/gid_map",
        format!("{group} {group} 1", group = group.as_raw()),
    )
}

/// Mounts a path over itself; one that is not there is left out.
fn over_itself(path: &Path, writing: Writing) -> io::Result<()> {
    match mount_bind_recursive(path, path) {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(why) => Err(why.into()),
        Ok(()) => set(path, writing),
    }
}

/// Makes a mount read-only or writable. Its other flags stay: the kernel lets nobody drop those that it locked.
fn set(path: &Path, writing: Writing) -> io::Result<()> {
    let now = statvfs(path)?.f_flag;
    let is_read_only = now.contains(StatVfsMountFlags::RDONLY);
    if is_read_only == (writing == Writing::Forbidden) {
        return Ok(());
    }
    let mut flags = MountFlags::BIND;
    for (have, keep) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if now.contains(have) {
            flags |= keep;
        }
    }
    match writing {
        Writing::Forbidden => Ok(mount_remount(path, flags | MountFlags::RDONLY, c"")?),
        Writing::Allowed => match mount_remount(path, flags, c"") {
            // The file system itself is read-only, so nothing is lost.
            Err(Errno::PERM | Errno::ROFS) => Ok(()),
            other => Ok(other?),
        },
    }
}

/// Makes all mounts read-only but those below `places`, which become mounts for that.
fn read_only_but(places: &[PathBuf]) -> io::Result<()> {
    for place in places {
        let is_below = |other: &PathBuf| place != other && place.starts_with(other);
        // Within another it stays a part of it, so that files can be moved between them.
        if !places.iter().any(is_below) {
            over_itself(place, Writing::Allowed)?;
        }
    }
    for mount in mount_points(&fs::read_to_string("/proc/self/mountinfo")?) {
        if places.iter().any(|place| mount.starts_with(place)) {
            continue;
        }
        match set(&mount, Writing::Forbidden) {
            Ok(()) => {}
            // Another one hides it, or it can not be reached: it can not be changed there either.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::PermissionDenied
                ) && mount != Path::new("/") => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Where the mounts of a `mountinfo` are.
fn mount_points(text: &str) -> impl Iterator<Item = PathBuf> {
    let fields = text.lines().filter_map(|line| line.split(' ').nth(4));
    fields.map(|field| PathBuf::from(unescaped(field)))
}

/// A field of `mountinfo`, in which blanks and the like stand as octal numbers.
fn unescaped(field: &str) -> String {
    let codes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let text = field.to_string();
    codes
        .iter()
        .fold(text, |text, (code, plain)| text.replace(code, plain))
}

/// Puts a set of terminals, in which there is none yet, in the place of all others.
fn terminals() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    match mount(
        "crewdeck",
        TERMINALS,
        "devpts",
        flags,
        c"newinstance,ptmxmode=0666,mode=0620",
    ) {
        // A machine without terminals has nothing to keep.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => return Ok(()),
        done => done?,
    }
    // A device of its own would make terminals of the old set; where it is a link it leads to the new one.
    let maker = Path::new("/dev/ptmx");
    if maker.symlink_metadata().is_ok_and(|m| !m.is_symlink()) {
        mount_bind_recursive("/dev/pts/ptmx", maker)?;
    }
    Ok(())
}

/// Puts an empty folder in the place of a git folder, with all that was in it mounted there: the shared parts
/// writable, the rest read-only.
fn git_folder(dir: &Path) -> io::Result<()> {
    let entries = entries(dir)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("crewdeck", dir, "tmpfs", flags, c"size=64m,mode=0700")?;
    let filled = entries.iter().try_for_each(|entry| entry.put_into(dir));
    if filled.is_err() {
        // Better the folder as it is, which Landlock guards, than half of it.
        unmount(dir, UnmountFlags::DETACH)?;
    }
    filled
}

/// Something that lies in a git folder, held open.
struct Entry {
    name: PathBuf,
    open: OwnedFd,
    kind: fs::FileType,
}

fn entries(dir: &Path) -> io::Result<Vec<Entry>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        // A lock is somebody's at this moment, and no part of the repository.
        if name.extension().is_some_and(|e| e == "lock") {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = match rustix::fs::open(entry.path(), flags, Mode::empty()) {
            // Gone since: a temporary file.
            Err(Errno::NOENT) => continue,
            open => open?,
        };
        if out.len() == ENTRIES_MAX {
            return Err(io::Error::other("there are too many files in it"));
        }
        out.push(Entry {
            name,
            open,
            kind: entry.file_type()?,
        });
    }
    Ok(out)
}

impl Entry {
    fn put_into(&self, dir: &Path) -> io::Result<()> {
        let target = dir.join(&self.name);
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()));
        if self.kind.is_symlink() {
            let leads = rustix::fs::readlinkat(&self.open, "", Vec::new())?;
            return Ok(rustix::fs::symlink(leads.as_c_str(), target)?);
        }
        if self.kind.is_dir() {
            fs::create_dir(&target)?;
        } else {
            fs::write(&target, "")?;
        }
        mount_bind_recursive(&source, &target)?;
        let is_shared = SHARED_IN_GIT
            .iter()
            .any(|name| self.name == Path::new(name));
        set(
            &target,
            if is_shared {
                Writing::Allowed
            } else {
                Writing::Forbidden
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn mounts_are_found_also_with_blanks_in_their_names() {
        let text = "22 1 0:1 / / rw,relatime - ext4 /dev/root rw\n\
                    23 22 0:2 / /mnt/a\\040b\\134c rw shared:1 - tmpfs none rw\nshort line\n";
        let found: Vec<PathBuf> = mount_points(text).collect();
        assert_eq!(found, ["/", "/mnt/a b\\c"].map(PathBuf::from));
    }
}

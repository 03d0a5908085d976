//! A control group of the kernel for one command. The kernel counts memory and processes exactly and immediately,
//! whereas the [`Monitor`](super::monitor::Monitor) can only measure at intervals.
//!
//! Not every user may create a control group: a login shell and a container often have only read access. The command
//! then runs without a control group, and the monitor alone enforces the limits.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, unlinkat};
use rustix::process::{Pid, getpid, test_kill_process};

use super::monitor::{KERNEL_LIMIT_FACTOR, MIB};
use crate::domain::sandbox::CommandLimits;

/// Prefix of the name of a group. The prefix is followed by the process id of the supervisor that has created the
/// group.
const PREFIX: &str = "crewdeck-";
/// Maximum depth of nested groups that are removed together with a command's group.
const NESTED_MAX: usize = 32;
const MEMORY: &str = "memory";
const PROCESSES: &str = "pids";

/// What the kernel has refused to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    Memory,
    /// The kernel refused to create a process or thread, because of the process limit.
    Process,
}

/// The groups of one command: one for each hierarchy of the kernel that has a controller for memory or processes.
/// They are removed when the value is dropped.
#[derive(Debug)]
pub struct Cgroup(Vec<Group>);

impl Cgroup {
    /// Creates the groups for a command of this process, with limits but without members. Must be called before the
    /// process enters a mount view, in which the groups are read-only. `None` if there is nothing to limit, or if this
    /// user may not create a group.
    pub fn create(limits: CommandLimits) -> Option<Cgroup> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups: Vec<Group> = hierarchies(&own, &mounts)
            .iter()
            .filter_map(|hierarchy| Group::create(hierarchy, limits))
            .collect();
        (!groups.is_empty()).then_some(Cgroup(groups))
    }

    /// Calls `start` while this process is a member of the groups, so that the processes that it starts are members
    /// too.
    ///
    /// # Errors
    /// Fails, without a call of `start`, if this process cannot enter a group. The process is then in its previous
    /// groups.
    pub fn with_membership<T>(&self, start: impl FnOnce() -> T) -> io::Result<T> {
        let entered = self.0.iter().try_for_each(|group| join(&group.members));
        let result = entered.map(|()| start());
        for group in &self.0 {
            // A process that may enter the group may also leave it: the kernel demands the same rights for both.
            let _ = join(&group.outer_members);
        }
        result
    }

    /// Returns what the kernel has refused to the command since it began; `None` if nothing. If it has refused both
    /// resources, returns [`Refused::Memory`].
    pub fn refused(&self) -> Option<Refused> {
        let is_refused = |refused| self.0.iter().any(|group| group.has_refused(refused));
        [Refused::Memory, Refused::Process]
            .into_iter()
            .find(|refused| is_refused(*refused))
    }

    /// Returns whether the kernel enforces the memory limit.
    pub fn limits_memory(&self) -> bool {
        self.0.iter().any(|group| group.limits_memory)
    }
}

/// Makes this process a member of a group. `members` is the group's file `cgroup.procs`.
fn join(mut members: &File) -> io::Result<()> {
    members.write_all(b"0")
}

/// The version of the kernel's cgroup interface. It decides the names of the files in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A hierarchy of groups in which a group for a command could be created.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    /// The group of this process.
    own: PathBuf,
    /// The groups in which the new group could be created, in order of preference: first the group of this process.
    parents: Vec<PathBuf>,
}

/// Returns the hierarchies with a controller for memory or processes. `own` is the text of `/proc/self/cgroup`, and
/// `mounts` is the text of `/proc/self/mountinfo`.
fn hierarchies(own: &str, mounts: &str) -> Vec<Hierarchy> {
    let lines = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let version = match controllers {
            "" => Version::Two,
            _ if controllers
                .split(',')
                .any(|c| [MEMORY, PROCESSES].contains(&c)) =>
            {
                Version::One
            }
            _ => return None,
        };
        let (point, root) = mounts.lines().find_map(|mount| {
            let (fields, file_system) = mount.split_once(" - ")?;
            let mut fields = fields.split(' ').skip(3);
            let (root, point) = (fields.next()?, fields.next()?);
            let mut file_system = file_system.split(' ');
            let (kind, options) = (file_system.next()?, file_system.nth(1)?);
            let is_it = match version {
                Version::Two => kind == "cgroup2",
                Version::One => {
                    kind == "cgroup"
                        && controllers
                            .split(',')
                            .all(|c| options.split(',').any(|o| o == c))
                }
            };
            is_it.then_some((Path::new(point), Path::new(root)))
        })?;
        // Outside of its cgroup namespace, a process sees a path above the root, such as `/../x`.
        let below = Path::new(path).strip_prefix(root).ok()?;
        if below.components().any(|part| part.as_os_str() == "..") {
            return None;
        }
        let own = if below == Path::new("") {
            point.into()
        } else {
            point.join(below)
        };
        let mut parents = vec![own.clone()];
        // In version two, a group that has processes has no children with limits, but it can have siblings. A command
        // of a limited command stays within the limits of that.
        let is_limited = own
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        if version == Version::Two && own != point && !is_limited {
            parents.extend(own.parent().map(Path::to_path_buf));
        }
        Some(Hierarchy {
            version,
            own,
            parents,
        })
    });
    lines.collect()
}

/// One control group of the kernel for a command. Its files were opened before the process entered a mount view, and
/// can still be used there.
#[derive(Debug)]
struct Group {
    version: Version,
    parent: OwnedFd,
    name: String,
    folder: OwnedFd,
    members: File,
    /// The file `cgroup.procs` of the group to which this process belonged when this group was created.
    outer_members: File,
    limits_memory: bool,
}

impl Group {
    fn create(hierarchy: &Hierarchy, limits: CommandLimits) -> Option<Group> {
        let outer_members = writable(&hierarchy.own.join("cgroup.procs"))?;
        let parent = hierarchy.parents.iter().find(|parent| {
            let enabled = fs::read_to_string(parent.join("cgroup.subtree_control"));
            hierarchy.version == Version::One
                || enabled.is_ok_and(|all| {
                    all.split_whitespace()
                        .any(|c| [MEMORY, PROCESSES].contains(&c))
                })
        })?;
        remove_abandoned(parent);
        let name = format!("{PREFIX}{}", getpid().as_raw_nonzero());
        let folder_flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let at = open(parent, folder_flags, Mode::empty()).ok()?;
        mkdirat(&at, &name, Mode::from_raw_mode(0o755)).ok()?;
        let opened = openat(&at, &name, folder_flags, Mode::empty()).ok();
        let members = writable(&parent.join(&name).join("cgroup.procs"));
        let (Some(folder), Some(members)) = (opened, members) else {
            // Fails only if the group is gone.
            let _ = unlinkat(&at, &name, AtFlags::REMOVEDIR);
            return None;
        };
        let mut group = Group {
            version: hierarchy.version,
            parent: at,
            name,
            folder,
            members,
            outer_members,
            limits_memory: false,
        };
        // On an early return, the drop removes the group.
        let is_limited = group.set_limits(limits);
        is_limited.then_some(group)
    }

    /// Sets the memory and process limits of the group. Returns whether the kernel has accepted at least one of them.
    fn set_limits(&mut self, limits: CommandLimits) -> bool {
        let memory = limits
            .memory_mb
            .map(|mb| mb.saturating_mul(MIB).to_string());
        // The kernel counts threads, the setting counts processes.
        let processes = limits.processes.map(|most| {
            u64::from(most)
                .saturating_mul(KERNEL_LIMIT_FACTOR)
                .to_string()
        });
        let (memory_file, swap_file) = match self.version {
            Version::One => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
            Version::Two => ("memory.max", "memory.swap.max"),
        };
        if let Some(most) = memory {
            self.limits_memory = self.set(memory_file, &most);
            if self.limits_memory {
                // In version one, the file limits memory and swap together; in version two, swap alone. A kernel that
                // does not count swap has neither.
                let swap = match self.version {
                    Version::One => most.as_str(),
                    Version::Two => "0",
                };
                self.set(swap_file, swap);
            }
        }
        let limits_processes = processes.is_some_and(|most| self.set("pids.max", &most));
        self.limits_memory || limits_processes
    }

    /// Writes a file of the group. Returns whether the kernel has accepted the value.
    fn set(&self, file: &str, value: &str) -> bool {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let opened = openat(&self.folder, file, flags, Mode::empty());
        opened.is_ok_and(|file| File::from(file).write_all(value.as_bytes()).is_ok())
    }

    /// Returns whether the kernel has refused a member the resource `refused` because of the limit of this group.
    ///
    /// The kernel's counters also rise if the machine or a parent group runs out of memory or processes. Therefore the
    /// values that show whether this group has reached its own limit are read too.
    fn has_refused(&self, refused: Refused) -> bool {
        let read = |file: &str| self.read(file);
        match (refused, self.version) {
            (Refused::Memory, Version::One) => {
                // The counters of failed requests stay 0 on recent kernels, so the peak tells whose limit it was. It can be
                // a little lower than the limit, because the kernel adds several pages at once.
                let peak = number(&read("memory.memsw.max_usage_in_bytes"))
                    .max(number(&read("memory.max_usage_in_bytes")));
                let limit = number(&read("memory.limit_in_bytes"));
                counter(&read("memory.oom_control"), "oom_kill") > 0
                    && peak >= limit.map(|limit| limit - limit / 16)
            }
            (Refused::Memory, Version::Two) => {
                let events = read("memory.events");
                counter(&events, "oom_kill") > 0 && counter(&events, "oom") > 0
            }
            (Refused::Process, _) => {
                // Before Linux 6.10, there is no file with the highest number of processes.
                let peak = number(&read("pids.peak"));
                counter(&read("pids.events"), "max") > 0
                    && peak.is_none_or(|peak| Some(peak) >= number(&read("pids.max")))
            }
        }
    }

    /// Returns the text of a file of the group; empty if it cannot be read.
    fn read(&self, file: &str) -> String {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = openat(&self.folder, file, flags, Mode::empty());
        let text = opened
            .ok()
            .and_then(|file| io::read_to_string(File::from(file)).ok());
        text.unwrap_or_default()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Through the descriptor, the folder can be changed also in a mount view.
        let parent = format!("/proc/self/fd/{}", self.parent.as_raw_fd());
        remove_groups(&Path::new(&parent).join(&self.name), NESTED_MAX);
    }
}

/// Removes a group and the groups that a command has created in it, at most `depth` levels deep. A group with members
/// stays, for example if a process could not be killed. A later command removes it.
fn remove_groups(folder: &Path, depth: usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if depth > 0 {
            remove_groups(&entry.path(), depth - 1);
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Returns the value of a line `NAME 123`; 0 if there is none.
fn counter(text: &str, name: &str) -> u64 {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let mut values =
        lines.filter_map(|(key, value)| (key == name).then(|| value.trim().parse().ok())?);
    values.next().unwrap_or(0)
}

/// Parses the text of a file that contains only one number, such as `12` and a line end; `None` for any other text,
/// such as `max`.
fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn writable(path: &Path) -> Option<File> {
    fs::OpenOptions::new().write(true).open(path).ok()
}

/// Removes the groups of supervisors that were killed. The kernel refuses to remove a group that has members.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let id = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
        if let Some(pid) = id.and_then(Pid::from_raw)
            && test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
        {
            remove_groups(&entry.path(), NESTED_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn found(own: &str, mounts: &str) -> Vec<(Version, String, Vec<String>)> {
        let text = |path: &Path| path.to_str().unwrap().to_string();
        let all = hierarchies(own, mounts);
        let described = all.iter().map(|h| {
            let parents = h.parents.iter().map(|p| text(p)).collect();
            (h.version, text(&h.own), parents)
        });
        described.collect()
    }

    #[test]
    fn groups_of_this_process_are_found_in_both_versions() {
        let one = "\
20 1 0:20 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
21 1 0:21 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
22 1 0:22 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
";
        let own = "9:cpu:/\n8:pids:/\n4:memory:/a/b\n";
        let at = |path: &str| (Version::One, path.to_string(), vec![path.to_string()]);
        assert_eq!(
            found(own, one),
            [at("/sys/fs/cgroup/pids"), at("/sys/fs/cgroup/memory/a/b")]
        );

        let two = "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let in_two = |own: &str, parents: &[&str]| {
            let parents = parents.iter().map(|p| (*p).to_string()).collect();
            vec![(Version::Two, own.to_string(), parents)]
        };
        assert_eq!(
            found("0::/user/app.slice/x.scope\n", two),
            in_two(
                "/sys/fs/cgroup/user/app.slice/x.scope",
                &[
                    "/sys/fs/cgroup/user/app.slice/x.scope",
                    "/sys/fs/cgroup/user/app.slice"
                ]
            )
        );
        assert_eq!(
            found("0::/\n", two),
            in_two("/sys/fs/cgroup", &["/sys/fs/cgroup"])
        );
        // Within a limited command, no group is created beside the limited one.
        let limited = "/sys/fs/cgroup/app.slice/crewdeck-7";
        assert_eq!(
            found("0::/app.slice/crewdeck-7\n", two),
            in_two(limited, &[limited])
        );
    }

    #[test]
    fn groups_that_this_process_cannot_see_are_left_out() {
        let container = "20 1 0:20 /docker/c1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(found("0::/docker/c1\n", container)[0].1, "/sys/fs/cgroup");
        assert_eq!(found("0::/other\n", container), []);
        assert_eq!(
            found("0::/../x\n", &container.replace("/docker/c1", "/")),
            []
        );
        assert_eq!(found("0::/\n", ""), []);
        assert_eq!(found("broken", container), []);
    }

    #[test]
    fn only_the_limit_of_the_group_itself_counts() {
        use Refused::{Memory, Process};
        let refused = |version, files: &[(&str, &str)], refused| {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(dir.path().join(name), text).unwrap();
            }
            let folder = || open(dir.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
            let members = || File::create(dir.path().join("cgroup.procs")).unwrap();
            let group = Group {
                version,
                parent: folder(),
                name: "absent".into(),
                folder: folder(),
                members: members(),
                outer_members: members(),
                limits_memory: true,
            };
            group.has_refused(refused)
        };
        let one = |peak| {
            let files = [
                ("memory.oom_control", "oom_kill 1\n"),
                ("memory.limit_in_bytes", "1600\n"),
                ("memory.max_usage_in_bytes", peak),
            ];
            refused(Version::One, &files, Memory)
        };
        assert!(one("1600\n") && one("1500\n") && !one("1499\n"));
        let two = |events| refused(Version::Two, &[("memory.events", events)], Memory);
        assert!(two("oom 1\noom_kill 1\n") && !two("oom 0\noom_kill 1\n"));
        assert!(!two("oom 1\noom_kill 0\n"));
        let processes = |peak| {
            let files = [
                ("pids.events", "max 2\n"),
                ("pids.max", "64\n"),
                ("pids.peak", peak),
            ];
            refused(Version::Two, &files, Process)
        };
        assert!(processes("64\n") && !processes("9\n"));
        assert!(refused(
            Version::One,
            &[("pids.events", "max 2\n")],
            Process
        ));
        assert!(!refused(Version::One, &[], Process));
    }

    #[test]
    fn counters_are_parsed() {
        let text = "low 0\nmax 12\noom 1\noom_kill 3\n";
        assert_eq!(counter(text, "oom_kill"), 3);
        assert_eq!(counter(text, "oom"), 1);
        assert_eq!(counter(text, "absent"), 0);
        assert_eq!(counter("oom_kill x\n", "oom_kill"), 0);
        assert_eq!((number("12\n"), number("max\n")), (Some(12), None));
    }
}

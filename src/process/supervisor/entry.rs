//! The supervisor process: starts a program and kills its whole process tree when the program or crewdeck ends.

use std::io::Write;

use super::VERB;

/// The exit code after any error, such as wrong usage or an invalid request.
const USAGE: u8 = 2;

pub fn main() -> u8 {
    match run() {
        Ok(()) => 0,
        Err(why) => {
            // Fails if crewdeck has closed the pipe.
            let _ = writeln!(std::io::stderr(), "crewdeck {VERB}: {why}");
            USAGE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn run() -> Result<(), String> {
    Err("the supervisor is not available on this operating system".into())
}

#[cfg(target_os = "linux")]
use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::thread;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{
        Pid, PidfdFlags, Signal, WaitStatus, getpid, pidfd_open, set_child_subreaper, setsid,
    };

    use crate::process::history::SET_ASIDE;
    use crate::process::sandbox::{
        Availability, SandboxPlan, SandboxReport, landlock, landlock_only, mounts,
    };
    use crate::process::supervisor::cgroup::Cgroup;
    use crate::process::supervisor::monitor::{self, Monitor};
    use crate::process::supervisor::process_tree;
    use crate::process::supervisor::protocol::{LINE_MAX, MARK, StartRequest, SupervisorEvent};
    use crate::process::supervisor::{BY_CREWDECK, WITH_STDIN, stdin_passing};
    use crate::process::{DRAIN, GRACE, NetworkReach};

    /// Maximum interval at which exited children are reaped while a program without limits runs, on kernels with
    /// pidfds. With limits, [`Monitor::poll_interval`] applies instead.
    const REAP_INTERVAL: Timespec = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    /// Like [`REAP_INTERVAL`], but on kernels without pidfds (before Linux 5.3), where nothing signals the exit of the
    /// program.
    const REAP_POLL_INTERVAL: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };

    /// Maximum number of writable paths that are reported to crewdeck.
    const REPORTED_MAX: usize = 16;
    /// The error message for a user who runs this internal command by hand.
    const USAGE_MESSAGE: &str =
        "this is an internal command that crewdeck uses to run commands of agents";

    pub fn run() -> Result<(), String> {
        if std::env::args_os().any(|a| a == "--probe") {
            return probe();
        }
        let stdin = std::io::stdin();
        if !std::env::args_os().any(|a| a == BY_CREWDECK) {
            return Err(USAGE_MESSAGE.into());
        }
        let fd = stdin
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| e.to_string())?;
        let mut crewdeck = UnixStream::from(fd);
        let program_stdin = if std::env::args_os().any(|a| a == WITH_STDIN) {
            let passed = stdin_passing::receive(&crewdeck);
            Stdio::from(passed.map_err(|e| format!("cannot receive the standard input: {e}"))?)
        } else {
            Stdio::null()
        };
        let request = read_request(&crewdeck)?;
        let event = match supervise(&request, &crewdeck, program_stdin) {
            Ok(Some(event)) => event,
            // The program could not be killed, so there is no result to report.
            Ok(None) => return Ok(()),
            Err(why) => SupervisorEvent::NotStarted { why },
        };
        send_event(&mut crewdeck, &event)
    }

    fn read_request(crewdeck: &UnixStream) -> Result<StartRequest, String> {
        let mut line = String::new();
        BufReader::new(crewdeck)
            .take(LINE_MAX)
            .read_line(&mut line)
            .map_err(|e| format!("cannot read the request: {e}"))?;
        serde_json::from_str(&line).map_err(|e| format!("the request is invalid: {e}"))
    }

    fn send_event(crewdeck: &mut UnixStream, event: &SupervisorEvent) -> Result<(), String> {
        let mut line = serde_json::to_string(event).map_err(|e| e.to_string())?;
        line.push('\n');
        crewdeck
            .write_all(line.as_bytes())
            .map_err(|e| format!("cannot send the event to crewdeck: {e}"))
    }

    /// Runs the program until it exits, exceeds a limit, or crewdeck closes its end of the socket. Then kills
    /// everything that the program has started. Returns how the program ended; `None` if it could not be killed.
    ///
    /// # Errors
    /// Returns why the program could not be started.
    fn supervise(
        request: &StartRequest,
        crewdeck: &UnixStream,
        stdin: Stdio,
    ) -> Result<Option<SupervisorEvent>, String> {
        set_child_subreaper(Some(getpid()))
            .map_err(|e| format!("cannot become a subreaper: {e}"))?;
        // Keeps the program from drawing on crewdeck's terminal and from inserting keys into it.
        setsid().map_err(|e| format!("cannot leave crewdeck's terminal: {e}"))?;
        // Marks the command as running until all its processes have ended, even if crewdeck does not wait for that. The
        // lock is taken before the mount view is created, because the folder of the lock is read-only in that view.
        let history = request.plan.as_ref().and_then(|plan| plan.history.as_ref());
        let _running = history.and_then(|history| history.mark_running().ok());
        // For the same reason, the group is created before the view.
        let cgroup = request.limits.and_then(Cgroup::create);
        let (plan, without_view) = match request.plan.clone() {
            Some(plan) => {
                let (plan, without_view) = enter_mount_view(plan, request)?;
                (Some(plan), without_view)
            }
            None => {
                if request.network == NetworkReach::Off {
                    mounts::apply(&[], request.network, None)
                        .map_err(|why| network_stays_on(&why))?;
                }
                (None, None)
            }
        };
        let has_view = plan.is_some() && without_view.is_none();
        let mut monitor = request
            .limits
            .and_then(|limits| Monitor::new(limits, cgroup, !has_view));
        if let Some(limits) = request.limits {
            monitor::limit_processes(limits);
        }
        let is_absent = |path: &&PathBuf| path.symlink_metadata().is_err();
        let unwanted = plan.iter().flat_map(|p| &p.unwanted);
        let absent_unwanted: Vec<_> = unwanted.filter(is_absent).collect();
        let set_aside = plan.iter().flat_map(|p| &p.set_aside);
        let absent_set_aside: Vec<_> = set_aside.filter(is_absent).collect();
        let mut command = command(request, stdin)?;
        let mut start = || start(&mut command, plan.as_ref(), without_view.as_deref());
        let pid = match &mut monitor {
            Some(monitor) => monitor.start_command(start),
            None => start(),
        }?;
        let reported_paths = plan.as_ref().filter(|_| without_view.is_some());
        let reported_paths =
            reported_paths.map(|plan| plan.writable.iter().take(REPORTED_MAX).cloned().collect());
        let mut event_socket = crewdeck.try_clone().map_err(|e| e.to_string())?;
        // Fails if crewdeck has ended, which `wait` detects.
        let _ = send_event(
            &mut event_socket,
            &SupervisorEvent::Started {
                pid: pid.as_raw_nonzero().get(),
                git_is_read_only: reported_paths,
            },
        );
        let mut ended = None;
        let on_exit = &mut |child: Pid, status: WaitStatus| {
            if child == pid {
                ended = Some(status);
            }
        };
        monitor::raise_oom_score(pid);
        let mut limit = None;
        let has_leftovers = match wait(pid, crewdeck, &mut monitor, on_exit) {
            SupervisionEnd::LimitExceeded(why) => {
                process_tree::kill_all_now(pid, on_exit);
                limit = Some(why);
                false
            }
            SupervisionEnd::ClientGone => {
                process_tree::terminate(GRACE, on_exit);
                false
            }
            // Processes that exit within `DRAIN` do not count as left running.
            SupervisionEnd::ProgramExited => {
                let has_leftovers = process_tree::wait(DRAIN, on_exit);
                // What is left can be a fork bomb, whose first process ends at once.
                limit = monitor
                    .as_mut()
                    .filter(|_| has_leftovers)
                    .and_then(Monitor::exceeded_limit);
                if limit.is_some() {
                    process_tree::kill_all_now(pid, on_exit);
                } else if has_leftovers {
                    process_tree::terminate(GRACE, on_exit);
                }
                limit = limit.or_else(|| monitor.as_ref().and_then(Monitor::killed_for_memory));
                has_leftovers && limit.is_none()
            }
        };
        for path in absent_unwanted {
            // Usually the file does not exist.
            let _ = std::fs::remove_file(path);
        }
        for path in absent_set_aside {
            let mut aside = path.clone().into_os_string();
            aside.push(SET_ASIDE);
            let _ = std::fs::rename(path, aside);
        }
        if ended.is_none() && limit.is_none() {
            return Ok(None);
        }
        // A program that was killed for a limit counts as killed even if the kernel has not ended it yet.
        let killed = Some(Signal::KILL.as_raw());
        Ok(Some(SupervisorEvent::Ended {
            code: ended.and_then(WaitStatus::exit_status),
            signal: ended.map_or(killed, WaitStatus::terminating_signal),
            left: has_leftovers,
            limit,
        }))
    }

    /// Creates the mount view, the private mount namespace of the command. Returns the plan to enforce with Landlock.
    /// If the view could not be created and the git folder is read-only for that reason, also returns the error.
    ///
    /// # Errors
    /// Fails if the view could not be created although the network must be off.
    fn enter_mount_view(
        mut plan: SandboxPlan,
        request: &StartRequest,
    ) -> Result<(SandboxPlan, Option<String>), String> {
        let made = if plan.view.is_empty() && request.network == NetworkReach::On {
            Err("the plan has no mount view".into())
        } else {
            mounts::apply(
                &plan.view,
                request.network,
                request.limits.and_then(|limits| limits.memory_mb),
            )
        };
        let mut without_view = None;
        match made {
            Ok(()) => plan.writable.append(&mut plan.writable_in_view),
            Err(why) if request.network == NetworkReach::Off => return Err(network_stays_on(&why)),
            // Without the view, the command would write to the repository itself, so the git folder becomes read-only.
            Err(why) if plan.history.is_some() => {
                plan.writable = landlock_only::writable_without_git(&plan);
                without_view = Some(why);
            }
            Err(_) => {}
        }
        // Enters the directory again, so that it and its `..` resolve through the new mounts.
        let _ = std::env::set_current_dir(&request.dir);
        Ok((plan, without_view))
    }

    fn history_unprotected(why: &str) -> String {
        format!(
            "the command was not run: the git history cannot be protected from it. User and mount namespaces are not \
             available ({why}), and the Landlock of this kernel cannot prevent truncation of files (needs Linux 6.2 or \
             newer). Tell the user to run crewdeck doctor. To fix it, allow user namespaces (Ubuntu: sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0; container: a seccomp profile that permits unshare and \
             mount), or set sandbox = \"files\" to run commands without protection of the history"
        )
    }

    fn network_stays_on(why: &str) -> String {
        format!(
            "the command was not run: the setting 'network' turns the network off for it, but network namespaces are not \
             available ({why}). Tell the user to allow user and network namespaces or to set network = \"on\""
        )
    }

    /// Returns the command that starts the program of `request` as the leader of a new process group.
    ///
    /// # Errors
    /// Fails if `request` names no program.
    fn command(request: &StartRequest, stdin: Stdio) -> Result<Command, String> {
        let (program, args) = request.argv.split_first().ok_or("the command is empty")?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&request.dir)
            .envs(&request.env)
            .env(MARK, &request.mark)
            .stdin(stdin)
            .process_group(0);
        Ok(command)
    }

    /// Starts the program in the sandbox. `without_view` is the reason why the mount view could not be created, if
    /// Landlock alone must therefore protect the git folder; otherwise `None`.
    ///
    /// # Errors
    /// Also fails if Landlock alone must protect the git folder and the kernel's Landlock cannot do that.
    fn start(
        command: &mut Command,
        plan: Option<&SandboxPlan>,
        without_view: Option<&str>,
    ) -> Result<Pid, String> {
        // The restriction applies to one thread and the children that it starts, so the supervisor itself stays
        // unrestricted. The thread ends before the program could send it a signal.
        let started = thread::scope(|scope| {
            let sandboxed = scope.spawn(|| {
                if let Some(plan) = plan {
                    let version = landlock::restrict_thread(&plan.writable, plan.abstract_sockets)?;
                    if let Some(why) = without_view
                        && version.is_none_or(|version| version < landlock::TRUNCATE_VERSION)
                    {
                        return Err(history_unprotected(why));
                    }
                }
                let child = command
                    .spawn()
                    .map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
                Ok::<u32, String>(child.id())
            });
            sandboxed.join()
        });
        let id = started.map_err(|_| "the thread that starts the program panicked")??;
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        id.ok_or_else(|| "the program has no process id".into())
    }

    enum SupervisionEnd {
        ProgramExited,
        ClientGone,
        LimitExceeded(String),
    }

    /// Waits until the program has exited or exceeded a limit, or crewdeck has closed its end of the socket. Reaps
    /// exited children and calls `on_exit` for each.
    fn wait(
        program: Pid,
        crewdeck: &UnixStream,
        monitor: &mut Option<Monitor>,
        on_exit: &mut impl FnMut(Pid, WaitStatus),
    ) -> SupervisionEnd {
        let pidfd: Option<OwnedFd> = pidfd_open(program, PidfdFlags::empty()).ok();
        let interval = if pidfd.is_some() {
            REAP_INTERVAL
        } else {
            REAP_POLL_INTERVAL
        };
        let mut has_ended = false;
        loop {
            process_tree::reap(&mut |pid, status| {
                has_ended |= pid == program;
                on_exit(pid, status);
            });
            if has_ended {
                return SupervisionEnd::ProgramExited;
            }
            let mut fds = vec![PollFd::new(crewdeck, PollFlags::IN)];
            fds.extend(pidfd.iter().map(|e| PollFd::new(e, PollFlags::IN)));
            let interval = monitor.as_ref().map_or(interval, Monitor::poll_interval);
            // On an error, the next checks only happen earlier.
            let _ = poll(&mut fds, Some(&interval));
            if let Some(why) = monitor.as_mut().and_then(Monitor::exceeded_limit) {
                return SupervisionEnd::LimitExceeded(why);
            }
            let is_readable = fds.first().is_some_and(|fd| !fd.revents().is_empty());
            // crewdeck sends nothing after the request, so the socket is readable only when it closes.
            if is_readable && matches!((&mut &*crewdeck).read(&mut [0; 64]), Ok(0) | Err(_)) {
                return SupervisionEnd::ClientGone;
            }
        }
    }

    /// Tries whether a mount view with this network access can be created. Changes the mounts of this process, which
    /// must exit soon after.
    fn probe_mounts(network: NetworkReach) -> Availability {
        match mounts::apply(&mounts::probe_steps(), network, None) {
            Ok(()) => Availability::Yes,
            Err(why) => Availability::No { why },
        }
    }

    fn probe() -> Result<(), String> {
        let report = SandboxReport {
            guard: match set_child_subreaper(Some(getpid())) {
                Ok(()) => Availability::Yes,
                Err(e) => Availability::No {
                    why: format!("cannot become a subreaper: {e}"),
                },
            },
            view: probe_mounts(NetworkReach::On),
            network: probe_mounts(NetworkReach::Off),
            landlock: landlock::version(),
        };
        let text = serde_json::to_string(&report).map_err(|e| e.to_string())?;
        writeln!(std::io::stdout(), "{text}").map_err(|e| e.to_string())
    }
}

//! The guard's own process: starts the program, waits for its end or for crewdeck's, and leaves nothing behind.

use std::io::Write;

use super::VERB;

/// The exit code of a guard that nobody should have started.
const USAGE: u8 = 2;

/// Runs the verb. The exit code comes back.
pub fn main() -> u8 {
    match work() {
        Ok(()) => 0,
        Err(why) => {
            // Nobody may be left to read it.
            let _ = writeln!(std::io::stderr(), "crewdeck {VERB}: {why}");
            USAGE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn work() -> Result<(), String> {
    Err("there is no guard on this operating system".into())
}

#[cfg(target_os = "linux")]
use linux::work;

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
        Pid, PidfdFlags, WaitStatus, getpid, pidfd_open, set_child_subreaper, setsid,
    };

    use crate::process::confine::{SandboxPlan, SandboxReport, Works, landlock, landlock_only, mounts};
    use crate::process::guard::monitor::{self, Monitor};
    use crate::process::guard::protocol::{LINE_MAX, MARK, StartRequest, SupervisorEvent};
    use crate::process::guard::process_tree::{self, Children};
    use crate::process::history::SET_ASIDE;
    use crate::process::{DRAIN, GRACE, NetworkReach};

    /// How often children that have ended are collected while the program runs.
    const COLLECT: Timespec = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    /// The same where the kernel does not tell of the program's end (before Linux 5.3).
    const COLLECT_OFTEN: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };

    /// Most writable places that are told.
    const TOLD_MAX: usize = 16;
    /// For who types the verb.
    const NOT_FOR_YOU: &str = "crewdeck starts this by itself, for the programs of agents";

    pub fn work() -> Result<(), String> {
        if std::env::args_os().any(|a| a == "--probe") {
            return probe();
        }
        let stdin = std::io::stdin();
        if !std::env::args_os().any(|a| a == super::super::BY_CREWDECK) {
            return Err(NOT_FOR_YOU.into());
        }
        let fd = stdin
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| e.to_string())?;
        let mut crewdeck = UnixStream::from(fd);
        let order = read(&crewdeck)?;
        let told = match guard(&order, &crewdeck) {
            Ok(Some(told)) => told,
            // Nobody is there to be told.
            Ok(None) => return Ok(()),
            Err(why) => SupervisorEvent::NotStarted { why },
        };
        tell(&mut crewdeck, &told)
    }

    fn read(crewdeck: &UnixStream) -> Result<StartRequest, String> {
        let mut line = String::new();
        BufReader::new(crewdeck)
            .take(LINE_MAX)
            .read_line(&mut line)
            .map_err(|e| format!("no order comes: {e}"))?;
        serde_json::from_str(&line).map_err(|e| format!("the order is none: {e}"))
    }

    fn tell(crewdeck: &mut UnixStream, told: &SupervisorEvent) -> Result<(), String> {
        let mut line = serde_json::to_string(told).map_err(|e| e.to_string())?;
        line.push('\n');
        crewdeck
            .write_all(line.as_bytes())
            .map_err(|e| format!("nobody listens: {e}"))
    }

    /// How the program ended; `None`: crewdeck was gone before.
    fn guard(order: &StartRequest, crewdeck: &UnixStream) -> Result<Option<SupervisorEvent>, String> {
        set_child_subreaper(Some(getpid())).map_err(|e| format!("no subreaper: {e}"))?;
        // Without it the program could draw on crewdeck's terminal, and stuff keys into it.
        setsid().map_err(|e| format!("crewdeck's terminal can not be left: {e}"))?;
        // Until all has ended, also when crewdeck does not wait for that. The view has the folder read-only.
        let history = order.plan.as_ref().and_then(|plan| plan.history.as_ref());
        let _running = history.and_then(|history| history.hold().ok());
        let (plan, without_view) = match order.plan.clone() {
            Some(plan) => {
                let (plan, without_view) = seen_from_a_view(plan, order)?;
                (Some(plan), without_view)
            }
            None => {
                if order.network == NetworkReach::Off {
                    mounts::make(&[], order.network).map_err(|why| stays_on(&why))?;
                }
                (None, None)
            }
        };
        let mut monitor = order.limits.and_then(Monitor::new);
        if let Some(limits) = order.limits {
            monitor::hold_back(limits);
        }
        let is_absent = |path: &&PathBuf| path.symlink_metadata().is_err();
        let unwanted = plan.iter().flat_map(|p| &p.unwanted);
        let absent: Vec<_> = unwanted.filter(is_absent).collect();
        let set_aside = plan.iter().flat_map(|p| &p.set_aside);
        let absent_too: Vec<_> = set_aside.filter(is_absent).collect();
        let pid = start(order, plan.as_ref(), without_view.as_deref())?;
        let places = plan.as_ref().filter(|_| without_view.is_some());
        let places = places.map(|plan| plan.writable.iter().take(TOLD_MAX).cloned().collect());
        let mut crewdeck_hears = crewdeck.try_clone().map_err(|e| e.to_string())?;
        // Where it fails crewdeck is gone, and the next look says so.
        let _ = tell(
            &mut crewdeck_hears,
            &SupervisorEvent::Started {
                pid: pid.as_raw_nonzero().get(),
                git_is_read_only: places,
            },
        );
        let mut ended = None;
        let heard = &mut |child: Pid, status: WaitStatus| {
            if child == pid {
                ended = Some(status);
            }
        };
        monitor::offer_to_the_kernel(pid);
        let mut limit = None;
        let outcome = match wait(pid, crewdeck, &mut monitor, heard) {
            SupervisionEnd::LimitExceeded(why) => {
                process_tree::end_at_once(pid, heard);
                limit = Some(why);
                false
            }
            SupervisionEnd::ClientGone => {
                process_tree::end(GRACE, heard);
                false
            }
            // What is about to end by itself was not left running.
            SupervisionEnd::ProgramExited => match process_tree::wait(DRAIN, heard) {
                Children::None => false,
                Children::Some => {
                    process_tree::end(GRACE, heard);
                    true
                }
            },
        };
        for path in absent {
            // Mostly it is still not there.
            let _ = std::fs::remove_file(path);
        }
        for path in absent_too {
            let mut aside = path.clone().into_os_string();
            aside.push(SET_ASIDE);
            let _ = std::fs::rename(path, aside);
        }
        Ok(ended.map(|status| SupervisorEvent::Ended {
            code: status.exit_status(),
            signal: status.terminating_signal(),
            left: outcome,
            limit,
        }))
    }

    /// Makes the view. Returns the plan that holds with it or, where it is refused, the one that Landlock can hold alone:
    /// then also why, if a git folder is read-only for that.
    fn seen_from_a_view(mut plan: SandboxPlan, order: &StartRequest) -> Result<(SandboxPlan, Option<String>), String> {
        let made = if plan.view.is_empty() && order.network == NetworkReach::On {
            Err("no view was ordered".into())
        } else {
            mounts::make(&plan.view, order.network)
        };
        let mut without_view = None;
        match made {
            Ok(()) => plan.writable.append(&mut plan.writable_in_view),
            Err(why) if order.network == NetworkReach::Off => return Err(stays_on(&why)),
            // It would write the repository itself.
            Err(why) if plan.history.is_some() => {
                plan.writable = landlock_only::writable_beside_git(&plan);
                without_view = Some(why);
            }
            Err(_) => {}
        }
        // The way into the directory leads through the new mounts, also for what `..` means in it.
        let _ = std::env::set_current_dir(&order.dir);
        Ok((plan, without_view))
    }

    fn history_is_open(why: &str) -> String {
        format!(
            "the command was not run: the history of the repository cannot be protected from it, because its private \
             view of the file system failed ({why}) and this kernel has no Landlock that keeps files from being \
             truncated (Linux 6.2 or newer has it). Tell the user. crewdeck doctor shows what is missing. On Linux the \
             view needs user namespaces (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0; container: a \
             seccomp profile that permits unshare and mount). With confine = \"files\" in the settings commands run \
             without protection of the history"
        )
    }

    fn stays_on(why: &str) -> String {
        format!(
            "the command was not run: the setting 'network' turns the network off for it, and that is not possible on \
             this machine ({why}). Tell the user, who can allow user and network namespaces or set network = \"on\""
        )
    }

    /// Starts the program, confined, at the head of a group of its own.
    /// `without_view`: why Landlock alone must keep the git folder.
    fn start(
        order: &StartRequest,
        plan: Option<&SandboxPlan>,
        without_view: Option<&str>,
    ) -> Result<Pid, String> {
        let (program, args) = order.argv.split_first().ok_or("no program was named")?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&order.dir)
            .env(MARK, &order.mark)
            .stdin(Stdio::null())
            .process_group(0);
        // What a thread may not do its children may not do either, and the others of its process still may: so the
        // guard stays outside. The thread is gone before the program could send it a signal.
        let started = thread::scope(|scope| {
            let confined = scope.spawn(|| {
                if let Some(plan) = plan {
                    let version = landlock::raise(&plan.writable, plan.abstract_sockets)?;
                    if let Some(why) = without_view
                        && version.is_none_or(|version| version < landlock::KEEPS_FILES)
                    {
                        return Err(history_is_open(why));
                    }
                }
                let child = command.spawn().map_err(|e| format!("{program}: {e}"))?;
                Ok::<u32, String>(child.id())
            });
            confined.join()
        });
        let id = started.map_err(|_| "the thread that starts it failed")??;
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        id.ok_or_else(|| "it has no process id".into())
    }

    enum SupervisionEnd {
        Program,
        CrewdeckIsGone,
        Limit(String),
    }

    /// Waits until the program has ended or crewdeck has gone.
    fn wait(
        program: Pid,
        crewdeck: &UnixStream,
        monitor: &mut Option<Monitor>,
        heard: &mut impl FnMut(Pid, WaitStatus),
    ) -> SupervisionEnd {
        let ends: Option<OwnedFd> = pidfd_open(program, PidfdFlags::empty()).ok();
        let every = if ends.is_some() {
            COLLECT
        } else {
            COLLECT_OFTEN
        };
        let mut has_ended = false;
        loop {
            process_tree::reap(&mut |pid, status| {
                has_ended |= pid == program;
                heard(pid, status);
            });
            if has_ended {
                return SupervisionEnd::ProgramExited;
            }
            let mut fds = vec![PollFd::new(crewdeck, PollFlags::IN)];
            fds.extend(ends.iter().map(|e| PollFd::new(e, PollFlags::IN)));
            let every = monitor.as_ref().map_or(every, Monitor::pause);
            // Where it fails the next look comes a little early.
            let _ = poll(&mut fds, Some(&every));
            if let Some(why) = monitor.as_mut().and_then(Monitor::exceeded) {
                return SupervisionEnd::LimitExceeded(why);
            }
            let is_said = fds.first().is_some_and(|fd| !fd.revents().is_empty());
            // After its order crewdeck says nothing more: it is the end.
            if is_said && matches!((&mut &*crewdeck).read(&mut [0; 64]), Ok(0) | Err(_)) {
                return SupervisionEnd::ClientGone;
            }
        }
    }

    /// Whether a view can be had with that network.
    fn works(network: NetworkReach) -> Works {
        match mounts::make(&mounts::trial(), network) {
            Ok(()) => Works::Yes,
            Err(why) => Works::No { why },
        }
    }

    fn probe() -> Result<(), String> {
        let report = SandboxReport {
            guard: match set_child_subreaper(Some(getpid())) {
                Ok(()) => Works::Yes,
                Err(e) => Works::No {
                    why: format!("no subreaper: {e}"),
                },
            },
            view: works(NetworkReach::On),
            network: works(NetworkReach::Off),
            landlock: landlock::version(),
        };
        let text = serde_json::to_string(&report).map_err(|e| e.to_string())?;
        writeln!(std::io::stdout(), "{text}").map_err(|e| e.to_string())
    }
}

//! Reads, fetches and pushes refs of a repository that several machines share.
//!
//! Git gets the transports that it may use in a variable, which takes precedence over all of git's settings.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::remote::quote;
use super::{ANSWER_MAX, Git, GitError, RemoteFailure, RemoteTransport, is_hash, start_error};
use crate::process::JobExit;
use crate::process::blocking::{self, BlockingCommand, CommandOutput};

/// Maximum time for the list of refs. Short, because the claims of all teammates wait for it.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for a fetch, and for a push with the hooks of the user.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum number of refs that one git command fetches. The length of a command line is limited.
const REFSPECS_MAX: usize = 500;

/// Settings for a fetch: git checks the objects before it accepts them, and downloads from no other address that the
/// remote names.
const FETCH_SETTINGS: &[&str] = &[
    "-c",
    "transfer.fsckObjects=true",
    "-c",
    "fetch.fsckObjects=true",
    "-c",
    "transfer.bundleURI=false",
];

/// Reasons for which a server rejects a push because the ref has changed at the same time.
const RACES: &[&str] = &[
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
    "fetch first",
    "non-fast-forward",
];

/// A repository that several machines share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRemote {
    /// What git is given: the name of a remote, or an address of a form that [`super::transport_of`] accepts.
    pub source: String,
    /// The name or the address without passwords, for messages.
    pub shown: String,
    pub transport: RemoteTransport,
}

/// How a push that was not refused has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushResult {
    Done,
    /// Nothing was changed, because the ref has commits that the pushed one lacks, or was changed at the same time. The
    /// string is git's reason.
    Outdated(String),
}

impl SharedRemote {
    /// Returns the transports that git may use, as `GIT_ALLOW_PROTOCOL` takes them. Without `file` for servers, an address
    /// that git's settings replace cannot make git run the hooks of a folder of this machine.
    fn transports(&self) -> &'static str {
        match self.transport {
            RemoteTransport::Network => "https:ssh",
            RemoteTransport::File => "file",
        }
    }

    fn failure(&self, what: &'static str, output: &CommandOutput) -> RemoteFailure {
        let is_local = self.transport == RemoteTransport::File;
        RemoteFailure::of(&self.shown, is_local, what, &quote(output))
    }
}

impl Git {
    /// Returns the refs of `remote` below `prefix`, which ends with `/`: their names without the prefix, and their hashes.
    ///
    /// # Errors
    /// When the remote cannot be read, or has too many refs.
    pub fn shared_refs(
        &self,
        remote: &SharedRemote,
        prefix: &str,
    ) -> Result<BTreeMap<String, String>, GitError> {
        let pattern = format!("{prefix}*");
        let source = remote.source.as_str();
        let args: [&str; 6] = ["ls-remote", "--quiet", "--refs", "--", source, &pattern];
        let output = self.run_remote(remote, &args, LIST_TIMEOUT)?;
        if output.ended != JobExit::Code(0) {
            return Err(remote.failure("git ls-remote", &output).into());
        }
        if output.lost > 0 {
            return Err(GitError::TooLong("ls-remote".into()));
        }
        let listed = String::from_utf8_lossy(&output.stdout);
        let found = listed.lines().filter_map(|line| {
            let (hash, name) = line.split_once('\t')?;
            // The pattern also matches at the end of longer names.
            let name = name.strip_prefix(prefix)?;
            is_hash(hash).then(|| (name.to_string(), hash.to_string()))
        });
        Ok(found.collect())
    }

    /// Fetches `refspecs` and nothing else: no tags, no submodules, and no refs of git's settings for the remote. Deletes no
    /// refs. Does not contact the remote if there are none.
    ///
    /// # Errors
    /// When the remote cannot be read, lacks one of the refs, or has sent damaged objects.
    pub fn fetch_shared(&self, remote: &SharedRemote, refspecs: &[String]) -> Result<(), GitError> {
        let fetch: [&str; 10] = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--refmap=",
            "--",
            remote.source.as_str(),
        ];
        for batch in refspecs.chunks(REFSPECS_MAX) {
            let refspecs: Vec<&str> = batch.iter().map(String::as_str).collect();
            let parts: [&[&str]; 3] = [FETCH_SETTINGS, &fetch, &refspecs];
            let args = parts.concat();
            let output = self.run_remote(remote, &args, TRANSFER_TIMEOUT)?;
            if output.ended != JobExit::Code(0) {
                return Err(remote.failure("git fetch", &output).into());
            }
        }
        Ok(())
    }

    /// Pushes `refspec` and nothing else: no tags and no submodules. Without a `+` in `refspec` and without a lease in
    /// `options`, the push never replaces commits of the remote.
    ///
    /// # Errors
    /// When a hook or the server refuses the push, or the remote cannot be reached.
    pub fn push_shared(
        &self,
        remote: &SharedRemote,
        options: &[&str],
        refspec: &str,
    ) -> Result<PushResult, GitError> {
        let push = [
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--no-recurse-submodules",
        ];
        let target = ["--", remote.source.as_str(), refspec];
        let parts: [&[&str]; 3] = [&push, options, &target];
        let args = parts.concat();
        let output = self.run_remote(remote, &args, TRANSFER_TIMEOUT)?;
        if output.ended == JobExit::Code(0) {
            return Ok(PushResult::Done);
        }
        match rejection(&String::from_utf8_lossy(&output.stdout)) {
            Some(why) => Ok(PushResult::Outdated(why)),
            None => Err(remote.failure("git push", &output).into()),
        }
    }

    /// Runs a git command that reaches `remote`.
    fn run_remote(
        &self,
        remote: &SharedRemote,
        args: &[&str],
        timeout: Duration,
    ) -> Result<CommandOutput, GitError> {
        let stopped = || {
            let is_command = |arg: &&&str| ["ls-remote", "fetch", "push"].contains(*arg);
            let what = args.iter().find(is_command).copied().unwrap_or_default();
            GitError::Stopped(what.into())
        };
        // A short command could end before it is stopped.
        if self
            .stop
            .as_ref()
            .is_some_and(|stop| stop.load(Ordering::SeqCst))
        {
            return Err(stopped());
        }
        let git = self.with_variable("GIT_ALLOW_PROTOCOL", remote.transports());
        let output = blocking::run(&BlockingCommand {
            timeout,
            ..git.command(args, ANSWER_MAX)
        })
        .map_err(|error| start_error(&error))?;
        match output.ended {
            JobExit::Code(_) | JobExit::Signal(_) => Ok(output),
            JobExit::TimedOut => Err(GitError::Remote(RemoteFailure::Unreachable {
                remote: remote.shown.clone(),
                why: format!(
                    "git did not end within {} s and was stopped",
                    timeout.as_secs()
                ),
            })),
            JobExit::Cancelled => Err(stopped()),
        }
    }
}

/// Returns why a ref was not updated, from the output of `git push --porcelain`, if the reason is that the remote has other
/// commits or has changed; otherwise `None`.
fn rejection(stdout: &str) -> Option<String> {
    let line = stdout.lines().find_map(|line| line.strip_prefix("!\t"))?;
    let reason = line.rsplit('\t').next().unwrap_or_default();
    let is_outdated =
        reason.starts_with("[rejected]") || RACES.iter().any(|race| reason.contains(race));
    is_outdated.then(|| reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn outdated_push_is_distinguished_from_a_refused_one() {
        for (line, is_outdated) in [
            ("!\ta:refs/x\t[rejected] (fetch first)", true),
            ("!\ta:refs/x\t[rejected] (stale info)", true),
            (
                "!\ta:refs/x\t[remote rejected] (cannot lock ref 'refs/x')",
                true,
            ),
            (
                "!\ta:refs/x\t[remote rejected] (pre-receive hook declined)",
                false,
            ),
            ("*\ta:refs/x\t[new reference]", false),
            ("", false),
        ] {
            let stdout = format!("To /r\n{line}\nDone\n");
            assert_eq!(rejection(&stdout).is_some(), is_outdated, "{line}");
        }
    }
}

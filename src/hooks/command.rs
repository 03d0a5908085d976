//! Runs the command of a hook under the supervisor. The command receives the event on its standard input.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::{Ended, Inner, format_seconds, variables};
use crate::domain::hook::{HookContext, HookEvent, HookResult, HookSpec};
use crate::process::separate_output::{SeparateReport, run_separate};
use crate::process::{AddedEnvironment, CommandSpec, JobExit, JobInput, Reach};

/// Maximum number of bytes that are kept of each of the hook's two outputs, stdout and stderr.
const OUTPUT_MAX: usize = 1024 * 1024;
/// Maximum number of bytes that a hook may print to stdout and stderr together. A hook that prints more is killed.
const FLOOD: u64 = 16 * 1024 * 1024;

/// Names of the variables that stand for the project directory. In a command that is run without a shell, `fill_in`
/// replaces them.
const PROJECT: &[&str] = &["CLAUDE_PROJECT_DIR", "CREWDECK_PROJECT_DIR"];

/// Runs the command of a hook in the agent's work directory ([`Inner::work_dir`]), and returns how it ended. `program`
/// is either a shell command and `None`, or a program and its arguments. `json` is the event, which the hook receives
/// as its input. When `cancel` is cancelled, the command is killed and the result is [`Ended::cancelled`]. A command
/// that cannot be started, runs too long, prints too much or is ended by a signal has failed ([`HookResult::Failed`]).
pub async fn run(
    inner: &Inner,
    hook: &HookSpec,
    program: (&str, Option<&[String]>),
    json: &str,
    context: &HookContext,
    cancel: &CancellationToken,
) -> Ended {
    let scratch = inner.host.scratch.clone();
    let text = json.to_string();
    let sets_variables = hook.event == HookEvent::SessionStart;
    let written = tokio::task::spawn_blocking(move || {
        let env_file = sets_variables.then(|| variables::create_file(&scratch));
        Ok::<_, io::Error>((write_input(&scratch, &text)?, env_file.transpose()?))
    });
    let (stdin, env_file) = match written
        .await
        .map_err(io::Error::other)
        .and_then(|files| files)
    {
        Ok(files) => files,
        Err(e) => {
            return Ended::failed(format!("was not started: its input cannot be written: {e}"));
        }
    };
    let project = inner.host.project.to_string_lossy();
    let argv = match program {
        (command, None) => ["/bin/sh", "-c", command].map(String::from).to_vec(),
        (command, Some(args)) => {
            let words = std::iter::once(command).chain(args.iter().map(String::as_str));
            words.map(|word| fill_in(word, &project)).collect()
        }
    };
    let mut env = own_variables(hook, &project, context);
    env.extend(env_file.iter().map(|file| {
        let path = file.path().to_string_lossy().into_owned();
        (variables::ENV_FILE.to_string(), path)
    }));
    let input = JobInput { stdin, env };
    let job = CommandSpec {
        argv,
        dir: inner.work_dir(context).to_owned(),
        timeout: hook.timeout(),
        keep: OUTPUT_MAX,
        supervisor: inner.host.supervisor.clone(),
        reach: Reach::default(),
        added: AddedEnvironment::default(),
    };
    match run_separate(&job, input, cancel, FLOOD).await {
        Ok(report) => {
            let has_succeeded = report.ended == JobExit::Code(0) && report.limit.is_none();
            let mut ended = interpret_report(hook, report);
            if let Some(file) = env_file.filter(|_| has_succeeded) {
                let read = tokio::task::spawn_blocking(move || variables::read_file(file.path()));
                match read.await {
                    Ok(Ok(text)) => inner.code.record(&hook.source, text),
                    Ok(Err(why)) => ended.note = ended.note.or(Some(why)),
                    Err(_) => {}
                }
            }
            ended
        }
        Err(e) => Ended::failed(format!("cannot be started: {e}")),
    }
}

fn interpret_report(hook: &HookSpec, report: SeparateReport) -> Ended {
    if let Some(limit) = report.limit {
        return Ended::failed(format!("was killed: {limit}"));
    }
    let code = match report.ended {
        _ if report.is_flood => {
            return Ended::failed(format!(
                "printed more than {} MiB and was killed",
                FLOOD / 1024 / 1024
            ));
        }
        JobExit::Cancelled => return Ended::cancelled(),
        JobExit::TimedOut => {
            return Ended::failed(format!(
                "ran longer than {} and was killed",
                format_seconds(hook.timeout())
            ));
        }
        JobExit::Signal(signal) => return Ended::failed(format!("was ended by signal {signal}")),
        JobExit::Code(code) => code,
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let note = if report.lost > 0 {
        Some(format!(
            "printed more than {} MiB, of which only the start was read",
            OUTPUT_MAX / 1024 / 1024
        ))
    } else {
        let why = "exited but left a program running, which was killed";
        report.had_leftovers.then(|| why.to_string())
    };
    let result = HookResult::Exited {
        code,
        stdout: text(report.stdout),
        stderr: text(report.stderr),
    };
    Ended {
        result: Some(result),
        note,
    }
}

/// Returns the environment variables that a hook gets in addition to those of crewdeck. The hook does not inherit
/// variables that look like secrets.
fn own_variables(
    hook: &HookSpec,
    project: &str,
    context: &HookContext,
) -> BTreeMap<String, String> {
    let own = [
        ("CREWDECK_HOOK_EVENT", hook.event.name().to_string()),
        ("CLAUDECODE", "1".into()),
        ("CLAUDE_CODE_SESSION_ID", context.session_id.clone()),
        ("CLAUDE_PID", std::process::id().to_string()),
    ];
    let named = PROJECT.iter().map(|name| (*name, project.to_string()));
    let all = own.into_iter().chain(named);
    all.map(|(name, value)| (name.to_string(), value)).collect()
}

/// Writes the input of a program, and a newline, to a file without a name in the directory `scratch`, and returns the file,
/// open at its start. The system deletes such a file even if crewdeck is killed.
pub(super) fn write_input(scratch: &Path, text: &str) -> io::Result<OwnedFd> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(scratch)?;
    let mut file = tempfile::tempfile_in(scratch)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.rewind()?;
    Ok(file.into())
}

/// Replaces each `${NAME}` in `word` by the project directory, if `NAME` is one of the names in `PROJECT`. The form
/// `$NAME` is not replaced.
fn fill_in(word: &str, project: &str) -> String {
    PROJECT.iter().fold(word.to_string(), |word, name| {
        word.replace(&format!("${{{name}}}"), project)
    })
}

//! Environment variables that hooks set for later commands of agents. A hook appends shell code to the file that
//! `CLAUDE_ENV_FILE` names, usually lines such as `export NAME=value`. After the hook, the code runs once in the sandbox of
//! the agents' commands, and the variables that it has changed are kept.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

use super::command::write_input;
use crate::domain::hook::HookSource;
use crate::domain::ids::Name;
use crate::domain::sandbox::Network;
use crate::domain::text::{clip, escape_control_chars, join_names, one_line};
use crate::process::sandbox::Sandbox;
use crate::process::separate_output::run_separate;
use crate::process::supervisor::Supervisor;
use crate::process::{
    self, AddedEnvironment, CommandSpec, HistoryReach, JobExit, JobInput, NetworkReach, Reach,
    environment,
};
use crate::store::regular_file;

/// The variable that names the file.
pub const ENV_FILE: &str = "CLAUDE_ENV_FILE";
/// Maximum size of the file of one hook, in bytes. A larger one has no effect.
const FILE_MAX: u64 = 32 * 1024;
/// Maximum size of the files of all hooks together, in bytes.
const ALL_MAX: usize = 96 * 1024;
/// Maximum number of variables, and of the bytes of their names and values together. Further ones are left out.
const VARIABLES_MAX: usize = 256;
const BYTES_MAX: usize = 64 * 1024;
/// Maximum number of bytes of the variables before and after the code, which the shell prints.
const OUTPUT_MAX: usize = 1024 * 1024;
/// Maximum time that the code may run.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of names in a message.
const NAMES_MAX: usize = 5;
/// Maximum length, in characters, of an error of the code in a message.
const ERROR_MAX: usize = 200;

/// Prints the variables, then an empty entry, runs the code on standard input, and prints the variables again, also if the
/// code exits. The code is no argument, because other programs can see those, and it may contain secrets.
const EVALUATE: &str = r#"exec 3>&1 >/dev/null
command -p env -0 >&3
printf '\0' >&3
trap 'command -p env -0 >&3' EXIT
eval "$(command -p cat)""#;

/// Variables that every shell sets itself.
const OF_THE_SHELL: &[&str] = &["_", "SHLVL", "PWD", "OLDPWD"];
/// Variables that make a program run another program or read commands from a file. An agent may run such a program
/// without asking.
const DANGEROUS: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "LD_PRELOAD",
    "LD_AUDIT",
    "PAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "EDITOR",
    "VISUAL",
    // git reads its settings there, which name programs.
    "HOME",
    "XDG_CONFIG_HOME",
];
/// Prefixes of variables that crewdeck sets, or with which git protects the history.
const PROTECTED: &[&str] = &["CREWDECK_", "GIT_"];

/// Creates the empty file of a hook in the folder `scratch`, which agents cannot write. Dropping the result deletes the
/// file.
pub fn create_file(scratch: &Path) -> io::Result<NamedTempFile> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(scratch)?;
    tempfile::Builder::new()
        .prefix("env-")
        .suffix(".sh")
        .tempfile_in(scratch)
}

/// Reads what a hook has written to its file.
///
/// # Errors
/// Returns why the text cannot be used, as the end of a sentence.
pub fn read_file(path: &Path) -> Result<String, String> {
    let bytes = regular_file::read(path, FILE_MAX)
        .map_err(|e| format!("left a {ENV_FILE} that cannot be read: {e}"))?;
    String::from_utf8(bytes).map_err(|_| format!("left a {ENV_FILE} that is not UTF-8 text"))
}

/// The code that the hooks of a session have written.
#[derive(Debug, Default)]
pub struct SessionCode {
    texts: Mutex<Texts>,
    /// Held while the code runs, so that the variables always come from all code.
    running: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Texts {
    /// The code of each hook: that of the user's hooks first, and each file's in the order of its hooks.
    all: Vec<(HookSource, String)>,
    has_changed: bool,
}

impl SessionCode {
    /// Replaces the code of a hook. A hook that wrote nothing this time keeps its earlier code, because it may write only
    /// at the start of a session.
    pub fn record(&self, hook: &HookSource, text: String) {
        if text.trim().is_empty() {
            return;
        }
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = texts.all.iter_mut().find(|(known, _)| known == hook);
        match known {
            Some((_, old)) if *old == text => return,
            Some((_, old)) => *old = text,
            None => texts.all.push((hook.clone(), text)),
        }
        texts.all.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        texts.has_changed = true;
    }

    /// Runs the code of all hooks in the sandbox of `agents`, in the directory `dir`, if it has changed since the last
    /// call, and sets the variables of `agents`. Returns problems for the user.
    /// `scratch` is a folder that agents cannot write.
    pub async fn apply(
        &self,
        agents: Option<&Arc<Supervisor>>,
        dir: &Path,
        scratch: &Path,
    ) -> Vec<String> {
        let _one_at_a_time = self.running.lock().await;
        let Some((code, mut problems)) = self.take_changed() else {
            return Vec::new();
        };
        let Some(agents) = agents else {
            problems.push(format!(
                "The variables that hooks wrote to {ENV_FILE} have no effect, because commands of agents run without a supervisor here."
            ));
            return problems;
        };
        match evaluate(agents, dir, scratch, code).await {
            Ok((changed, error)) => {
                let unset = agents.sandbox.as_ref();
                let unset = unset.map(Sandbox::unset_variables);
                let chosen = Chosen::of(changed, &unset.unwrap_or_default());
                problems.extend(error.map(|why| {
                    format!("The code that hooks wrote to {ENV_FILE} printed an error: {why}")
                }));
                problems.extend(chosen.problems());
                agents.variables.set(chosen.variables);
            }
            Err(why) => problems.push(format!(
                "The variables that hooks wrote to {ENV_FILE} are not set: {why}"
            )),
        }
        problems
    }

    fn take_changed(&self) -> Option<(String, Vec<String>)> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::take(&mut texts.has_changed) {
            return None;
        }
        let (mut code, mut problems) = (String::new(), Vec::new());
        for (hook, text) in &texts.all {
            if code.len() + text.len() > ALL_MAX {
                problems.push(format!(
                    "The variables of a hook of {} are not set: all hooks together wrote more than {} KiB to {ENV_FILE}",
                    hook.file,
                    ALL_MAX / 1024
                ));
                continue;
            }
            code.push_str(text);
            code.push('\n');
        }
        Some((code, problems))
    }
}

fn order(hook: &HookSource) -> (bool, &str, usize) {
    (hook.is_project, hook.file.as_str(), hook.index)
}

/// Runs `code` as a command of the lead would run, without the variables of earlier code. Returns the variables that the
/// code has added or changed, and the first line that it printed to standard error.
///
/// # Errors
/// Returns why the variables cannot be determined.
async fn evaluate(
    agents: &Arc<Supervisor>,
    dir: &Path,
    scratch: &Path,
    code: String,
) -> Result<(BTreeMap<String, String>, Option<String>), String> {
    let network = match agents.network.of(&Name::lead()) {
        Network::On => NetworkReach::On,
        Network::Ask | Network::Off => NetworkReach::Off,
    };
    let job = CommandSpec {
        argv: process::shell(EVALUATE.to_string()),
        dir: dir.to_owned(),
        timeout: TIMEOUT,
        keep: OUTPUT_MAX,
        supervisor: Some(Arc::clone(agents)),
        reach: Reach {
            history: HistoryReach::default(),
            network,
        },
        added: AddedEnvironment::default(),
    };
    let scratch = scratch.to_owned();
    let stdin = tokio::task::spawn_blocking(move || write_input(&scratch, &code));
    let stdin = stdin.await.map_err(io::Error::other).and_then(|file| file);
    let input = JobInput {
        stdin: stdin.map_err(|e| format!("the code cannot be passed to a shell: {e}"))?,
        env: BTreeMap::new(),
    };
    let never = CancellationToken::new();
    let report = run_separate(&job, input, &never, OUTPUT_MAX as u64)
        .await
        .map_err(|e| format!("the shell cannot be started: {e}"))?;
    match report.ended {
        JobExit::TimedOut => {
            return Err(format!("the code ran longer than {} s", TIMEOUT.as_secs()));
        }
        JobExit::Cancelled => return Err("the code printed too much".into()),
        // The code may exit with any code: only what it has set counts.
        JobExit::Code(_) => {}
        JobExit::Signal(signal) => return Err(format!("the code was ended by signal {signal}")),
    }
    let error = String::from_utf8_lossy(&report.stderr);
    let error = error.lines().find(|line| !line.trim().is_empty());
    let error = error.map(|line| clip(&one_line(&escape_control_chars(line)), ERROR_MAX));
    match changes(&report.stdout) {
        Some(changed) => Ok((changed, error)),
        None => Err(error.unwrap_or_else(|| "the shell ended without printing them".into())),
    }
}

/// Returns the variables that differ between the two lists in the output of [`EVALUATE`]; `None` if the second list is
/// missing. Leaves out names and values that are not UTF-8, and names that a shell cannot use.
fn changes(output: &[u8]) -> Option<BTreeMap<String, String>> {
    let mut lists = [BTreeMap::new(), BTreeMap::new()];
    let mut list = 0;
    for entry in output.split(|byte| *byte == 0) {
        if entry.is_empty() {
            list += 1;
            if list == lists.len() {
                break;
            }
            continue;
        }
        let Ok(entry) = std::str::from_utf8(entry) else {
            continue;
        };
        if let Some((name, value)) = entry.split_once('=') {
            lists[list].insert(name.to_string(), value.to_string());
        }
    }
    let [before, after] = lists;
    let is_name = |name: &str| {
        let mut chars = name.chars();
        chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut changed = after.clone();
    changed.retain(|name, value| {
        is_name(name) && !OF_THE_SHELL.contains(&name.as_str()) && before.get(name) != Some(value)
    });
    (!after.is_empty()).then_some(changed)
}

/// The variables that commands of agents get, and the names of those that they do not get.
#[derive(Debug, Default)]
struct Chosen {
    variables: BTreeMap<String, String>,
    secret: Vec<String>,
    protected: Vec<String>,
    left_out: Vec<String>,
}

impl Chosen {
    /// `unset` are the names of variables that the sandbox removes.
    fn of(changed: BTreeMap<String, String>, unset: &[String]) -> Chosen {
        let mut out = Chosen::default();
        let mut bytes = 0;
        for (name, value) in changed {
            let is_protected = DANGEROUS.contains(&name.as_str())
                || PROTECTED.iter().any(|start| name.starts_with(start))
                || unset.contains(&name);
            bytes += name.len() + value.len();
            if is_protected {
                out.protected.push(name);
            } else if environment::is_withheld(&name, &value) {
                out.secret.push(name);
            } else if out.variables.len() == VARIABLES_MAX || bytes > BYTES_MAX {
                out.left_out.push(name);
            } else {
                out.variables.insert(name, value);
            }
        }
        out
    }

    fn problems(&self) -> Vec<String> {
        let groups = [
            (
                &self.secret,
                "because they look like secrets; to pass them on, list them in the setting pass_env".to_string(),
            ),
            (
                &self.protected,
                "because the sandbox and the approval of commands rely on them".into(),
            ),
            (
                &self.left_out,
                format!(
                    "because there are more than {VARIABLES_MAX} or more than {} KiB",
                    BYTES_MAX / 1024
                ),
            ),
        ];
        let groups = groups.iter().filter(|(names, _)| !names.is_empty());
        groups
            .map(|(names, why)| {
                format!(
                    "Commands of agents do not get these variables that hooks wrote to {ENV_FILE}, {why}: {}.",
                    join_names(names, NAMES_MAX, names.len())
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(changed: &[(&str, &str)]) -> Chosen {
        let changed = changed.iter();
        let changed = changed.map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        Chosen::of(changed.collect(), &["DISPLAY".to_string()])
    }

    #[test]
    fn only_changed_variables_count() {
        let output = b"A=1\0B=2\0\0A=1\0B=3\0C=a\nb\0SHLVL=2\0BASH_FUNC_f%%=() { :; }\0";
        let expected = [("B", "3"), ("C", "a\nb")].map(|(a, b)| (a.to_string(), b.to_string()));
        assert_eq!(changes(output), Some(expected.into()));
        assert_eq!(changes(b"A=1\0B=2\0\0"), None, "the second list is missing");
        assert_eq!(changes(b""), None);
    }

    #[test]
    fn variables_on_which_safety_rests_are_refused() {
        let all = [
            ("FOO", "bar"),
            ("PATH", "/a:/b"),
            ("GITHUB_TOKEN", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"),
            ("GIT_CONFIG_COUNT", "0"),
            ("BASH_ENV", "evil.sh"),
            ("DISPLAY", ":0"),
            ("CREWDECK_JOB", "x"),
        ];
        let chosen = chosen(&all);
        let names: Vec<&str> = chosen.variables.keys().map(String::as_str).collect();
        assert_eq!(names, ["FOO", "PATH"]);
        assert_eq!(chosen.secret, ["GITHUB_TOKEN"]);
        assert_eq!(
            chosen.protected,
            ["BASH_ENV", "CREWDECK_JOB", "DISPLAY", "GIT_CONFIG_COUNT"]
        );
        let problems = chosen.problems();
        assert_eq!(problems.len(), 2);
        assert!(
            problems[0].ends_with("pass_env: GITHUB_TOKEN."),
            "{problems:?}"
        );
    }

    #[test]
    fn variables_are_bounded() {
        let many: BTreeMap<String, String> = (0..=VARIABLES_MAX)
            .map(|at| (format!("N{at:04}"), "x".into()))
            .collect();
        let chosen = Chosen::of(many, &[]);
        assert_eq!(chosen.variables.len(), VARIABLES_MAX);
        assert_eq!(chosen.left_out.len(), 1);
        let large = Chosen::of([("A".to_string(), "x ".repeat(BYTES_MAX))].into(), &[]);
        assert_eq!(large.left_out, ["A"]);
    }

    #[test]
    fn code_of_a_hook_is_replaced_and_kept_if_it_writes_nothing() {
        let hook = |index| HookSource {
            file: "f".into(),
            is_project: true,
            index,
        };
        let code = SessionCode::default();
        code.record(&hook(0), "export A=1\n".into());
        code.record(&hook(1), "export B=1".into());
        let taken = || code.take_changed().map(|(code, _)| code);
        assert_eq!(taken().as_deref(), Some("export A=1\n\nexport B=1\n"));
        assert_eq!(taken(), None);
        code.record(&hook(0), "  \n".into());
        code.record(&hook(1), "export B=1".into());
        assert_eq!(taken(), None);
        code.record(&hook(0), "export A=2".into());
        assert_eq!(taken().as_deref(), Some("export A=2\nexport B=1\n"));
    }
}

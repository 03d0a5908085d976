//! An eval task: prompt, start files and grader.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// The default tools, for files and commands. Small models do better with few tools.
const DEFAULT_TOOLS: [&str; 4] = ["bash", "read_file", "write_file", "edit_file"];

/// Shell functions for graders. A grader cannot use `! COMMAND` instead, because its failure does not end a script
/// under `sh -e`.
const GRADER_FUNCTIONS: &str = r#"
absent() { if grep -rn "$@" >&2; then echo "still there: $1" >&2; return 1; fi; }
fails() { if "$@"; then echo "does not fail: $*" >&2; return 1; fi; }
"#;

/// Maximum length of the reason for a failure, in characters.
const REASON_MAX: usize = 120;

/// A task, as defined by its file in `evals/tasks/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalTask {
    /// The file name without the extension.
    #[serde(skip)]
    pub name: String,
    /// The tested ability: `fix`, `rename`, `add`, `delete`, `refactor`, `find`, `run`, `board` or `team`.
    pub kind: String,
    pub prompt: String,
    /// The tools of the agents; [`DEFAULT_TOOLS`] if missing.
    tools: Option<Vec<String>>,
    /// A shell script that runs in the work directory after the crew has ended, and succeeds if the task is solved. It
    /// has the lead's last answer in the file `$EVAL_ANSWER`, a scratch directory in `$EVAL_SCRATCH`, the tested
    /// program in `$CREWDECK`, and the functions `absent PATTERN FILE...` and `fails COMMAND...`.
    grade: String,
    /// Rules for the scripted model that solve the task. They prove that the task is solvable and that the grader
    /// accepts a solution.
    pub control: String,
    /// The content of each file at the start, by path. A leading newline of the content is removed.
    files: BTreeMap<String, String>,
}

impl EvalTask {
    /// Reads every task in `dir`, sorted by kind and name.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not a task; the error names the file.
    pub fn load_all(dir: &Path) -> Result<Vec<EvalTask>> {
        let mut tasks = Vec::new();
        for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                tasks.push(EvalTask::load(&path).with_context(|| path.display().to_string())?);
            }
        }
        tasks.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
        Ok(tasks)
    }

    fn load(path: &Path) -> Result<EvalTask> {
        let mut task: EvalTask = toml::from_str(&std::fs::read_to_string(path)?)?;
        let name = path.file_stem().context("the file has no name")?;
        task.name = name.to_string_lossy().into_owned();
        Ok(task)
    }

    /// Returns the value of `--tools` for this task.
    pub fn tools(&self) -> String {
        match &self.tools {
            Some(tools) => tools.join(","),
            None => DEFAULT_TOOLS.join(","),
        }
    }
}

/// A temporary directory with the repository of a task, and a home and scratch directory beside it.
pub struct Workspace {
    dir: tempfile::TempDir,
}

impl Workspace {
    /// Writes the files of `task` and commits them on the branch `main`, except the board in `.tasks`.
    ///
    /// # Errors
    /// Fails if a file cannot be written or git fails.
    pub fn create(task: &EvalTask) -> Result<Workspace> {
        let workspace = Workspace {
            dir: tempfile::tempdir()?,
        };
        for dir in [workspace.root(), workspace.home(), workspace.scratch()] {
            std::fs::create_dir(dir)?;
        }
        for (name, content) in &task.files {
            let path = workspace.root().join(name);
            std::fs::create_dir_all(path.parent().context("a file at the root")?)?;
            std::fs::write(path, content.strip_prefix('\n').unwrap_or(content))?;
        }
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Eval"],
            &["config", "user.email", "eval@example.org"],
            &["config", "core.autocrlf", "false"],
            &["add", "--all", "--", ":!.tasks"],
            &["commit", "--quiet", "--message", "Start"],
        ] {
            let status = Command::new("git")
                .args(args)
                .current_dir(workspace.root())
                .status()
                .context("git")?;
            ensure!(status.success(), "git {} failed", args.join(" "));
        }
        Ok(workspace)
    }

    /// Returns the path of the repository in which crewdeck and the grader run.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    /// Returns the home directory for crewdeck and the grader. It is empty at the start, so that the user's settings do
    /// not affect results.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn scratch(&self) -> PathBuf {
        self.dir.path().join("scratch")
    }

    /// Writes the control rules of `task` as a script of the scripted model and returns the value of `--provider` for
    /// it.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn control_provider(&self, task: &EvalTask) -> Result<String> {
        let path = self.scratch().join("control.yaml");
        std::fs::write(&path, format!("rules:\n{}", task.control))?;
        Ok(format!("script:{}", path.display()))
    }

    /// Runs the grader. Returns why the task is not solved, which is the last line that the grader has written to its standard
    /// error, or `None` if it is solved.
    ///
    /// # Errors
    /// Fails if the file with `answer` cannot be written or the grader cannot be started.
    pub fn grade(&self, task: &EvalTask, crewdeck: &Path, answer: &str) -> Result<Option<String>> {
        let answer_file = self.scratch().join("answer.txt");
        std::fs::write(&answer_file, answer)?;
        let output = Command::new("sh")
            .args(["-e", "-c", &format!("{GRADER_FUNCTIONS}{}", task.grade)])
            .current_dir(self.root())
            .env("HOME", self.home())
            .env("EVAL_ANSWER", &answer_file)
            .env("EVAL_SCRATCH", self.scratch())
            .env("CREWDECK", crewdeck)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .output()
            .context("sh")?;
        if output.status.success() {
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        let reason = last.unwrap_or("the grader failed without a message");
        Ok(Some(reason.trim().chars().take(REASON_MAX).collect()))
    }
}

/// Reads the tasks of this checkout.
///
/// # Errors
/// Fails if there are no tasks or one cannot be read.
pub fn tasks_of_checkout() -> Result<Vec<EvalTask>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/tasks");
    let tasks = EvalTask::load_all(&dir)?;
    if tasks.is_empty() {
        bail!("no tasks in {}", dir.display());
    }
    Ok(tasks)
}

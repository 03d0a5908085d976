//! `crewdeck doctor`: gathers the facts, runs the checks, prints the report, and applies the fixes that the user wants.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::lock::LockAttempt;
use super::{block_on, lock, now, root, secrets, settings, supervisor, theme, worktree_commands};
use crate::cli::GlobalOptions;
use crate::commands::OutputFormat;
use crate::config::extensions::Extensions;
use crate::config::{self, LoadedSettings, ProjectPolicy, SandboxMode, Settings};
use crate::doctor::print::{self, ReportFormat};
use crate::doctor::{
    self, BudgetFacts, CheckFacts, CrewPresence, DoctorContext, EnvironmentFacts, Finding, Level,
    SandboxFacts, SettingsFacts,
};
use crate::domain::text::{clip, escape_control_chars, one_line};
use crate::domain::worktree::{RemovalMode, WorktreeName};
use crate::process::environment;
use crate::protocol::event::NoticeLevel;
use crate::store::{self, Board, Teardown, Worktrees, task_in_worktree};
use crate::ui::{ColorDepth, DoctorResult, ThemeChoice};

mod model;

/// Maximum number of servers and hooks without approval that are listed one by one.
const ITEMS_MAX: usize = 10;
/// Maximum length of a listed server or hook, in characters. The rest is cut.
const ITEM_MAX: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixMode {
    /// Only report the findings.
    Report,
    /// Apply the fixes that the user confirms.
    Ask,
    /// Apply all fixes without asking.
    Fix,
}

impl FixMode {
    pub fn from_options(fix: bool, yes: bool) -> FixMode {
        match (fix, yes) {
            (false, _) => FixMode::Report,
            (true, false) => FixMode::Ask,
            (true, true) => FixMode::Fix,
        }
    }
}

/// Runs `crewdeck doctor` and returns the exit code.
///
/// # Errors
/// Fails if a check failed, and names the failed checks. Also fails if the project directory is not accessible or the
/// output cannot be written.
pub fn main(global: &GlobalOptions, mode: FixMode, form: OutputFormat) -> Result<u8> {
    let root = root(global)?;
    let facts = LocalFacts::gather(global, root);
    let mut place = block_on(async { Ok(facts.with_model(global).await) })?;
    let mut findings = examine(&place);
    let mode = allowed_mode(mode, &place.crew, &findings);
    let mut fixed = Vec::new();
    if mode != FixMode::Report && findings.iter().any(|f| f.fix.is_some()) {
        if form == OutputFormat::Text && mode == FixMode::Ask {
            print_line(&print::report(&findings, paper()))?;
        }
        fixed = apply_fixes(&place, &findings, mode)?;
        place.now = now();
        findings = examine(&place);
    }
    let text = match form {
        OutputFormat::Text => {
            let done = fixed
                .iter()
                .map(|done| escape_control_chars(&format!("fixed: {done}")));
            let gap = (!fixed.is_empty()).then(String::new);
            let report = [print::report(&findings, paper())];
            let lines: Vec<String> = done.chain(gap).chain(report).collect();
            lines.join("\n")
        }
        OutputFormat::Json => {
            escape_control_chars(&serde_json::to_string_pretty(&to_json(&fixed, &findings)?)?)
        }
    };
    print_line(&text)?;
    match print::failure(&findings) {
        Some(failure) => bail!("{failure}"),
        None => Ok(0),
    }
}

/// Runs the checks of `crewdeck doctor` for the project `root`. Fixes nothing. Returns an empty list if the checks
/// panic.
pub async fn check(options: GlobalOptions, root: PathBuf) -> Vec<DoctorResult> {
    let own = options.clone();
    let gathered = spawn_blocking(move || LocalFacts::gather(&own, root)).await;
    let Ok(facts) = gathered else {
        return Vec::new();
    };
    let place = facts.with_model(&options).await;
    let found = spawn_blocking(move || examine(&place)).await;
    let found = found.unwrap_or_default().into_iter();
    found
        .map(|finding| DoctorResult {
            level: match finding.level {
                Level::Ok => NoticeLevel::Info,
                Level::Warn => NoticeLevel::Warn,
                Level::Fail => NoticeLevel::Error,
            },
            check: finding.check.to_string(),
            text: finding.text,
            remedy: finding.remedy.unwrap_or_default(),
        })
        .collect()
}

/// The facts that the command `doctor` gathers without contacting the model server.
struct LocalFacts {
    root: PathBuf,
    settings: Result<Settings>,
    checks: CheckFacts,
    sandbox: SandboxFacts,
    environment: EnvironmentFacts,
}

impl LocalFacts {
    fn gather(global: &GlobalOptions, root: PathBuf) -> LocalFacts {
        let loaded = settings(global, &root);
        let checks = loaded.as_ref().map(check_facts).unwrap_or_default();
        let settings = loaded.map(|loaded| loaded.settings);
        let passed = settings.as_ref().ok().and_then(|s| s.pass_env.clone());
        let sandbox = match settings.as_ref().map(|s| s.sandbox.unwrap_or_default()) {
            Ok(SandboxMode::Off) => SandboxFacts::Off,
            Ok(SandboxMode::Files) => SandboxFacts::WithoutHistory(supervisor::sandbox()),
            Ok(SandboxMode::On) | Err(_) => SandboxFacts::Tried {
                report: supervisor::sandbox(),
                network: settings
                    .as_ref()
                    .ok()
                    .and_then(|s| s.network)
                    .unwrap_or_default(),
            },
        };
        LocalFacts {
            root,
            settings,
            checks,
            sandbox,
            environment: environment_facts(passed.unwrap_or_default()),
        }
    }

    /// Contacts the model server. Returns the facts about it together with the local ones.
    async fn with_model(self, global: &GlobalOptions) -> DoctorContext {
        let settings = self.settings.as_ref();
        let named_models = settings.map(model::named_models);
        let budgets = BudgetFacts {
            budgets: settings.map(|s| s.budget).unwrap_or_default(),
            state_folder: config::state_folder(),
        };
        DoctorContext {
            budgets,
            checks: self.checks,
            named_models: named_models.unwrap_or_default(),
            model: model::facts(global, self.settings).await,
            now: now(),
            crew: running_crew(&self.root),
            settings: settings_facts(&self.root),
            roles: super::assemble::roles(&self.root).read(),
            sandbox: self.sandbox,
            environment: self.environment,
            root: self.root,
        }
    }
}

/// Runs the checks and redacts secrets in the findings. A finding may quote an invalid settings file, which may contain
/// a URL with a password.
fn examine(place: &DoctorContext) -> Vec<Finding> {
    let redactor = secrets::redactor();
    let clean = |text: String| redactor.text(&text).into_owned();
    let found = doctor::examine(place).into_iter();
    found
        .map(|finding| Finding {
            text: clean(finding.text),
            remedy: finding.remedy.map(clean),
            ..finding
        })
        .collect()
}

/// Returns a JSON array with one object per applied fix, followed by one object per finding.
fn to_json(fixed: &[String], findings: &[Finding]) -> Result<Value> {
    let done = |text: &String| json!({"check": "mend", "level": "ok", "text": text});
    let mut all: Vec<Value> = fixed.iter().map(done).collect();
    for finding in findings {
        all.push(serde_json::to_value(finding)?);
    }
    Ok(Value::Array(all))
}

/// Returns the format of the report: with the width and colours of the terminal if standard output is a terminal,
/// otherwise plain text.
fn paper() -> ReportFormat {
    if !std::io::stdout().is_terminal() {
        return ReportFormat::PLAIN;
    }
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    ReportFormat {
        columns: crossterm::terminal::size()
            .ok()
            .map(|(columns, _)| columns.into()),
        has_colours: !is_dumb && theme::color_depth() != ColorDepth::None,
    }
}

/// Prints `text`, whose control characters must already be escaped, to standard output. A closed pipe is not an error.
fn print_line(text: &str) -> Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        // The program that reads the output has closed the pipe, as `| head` does. This is a normal end.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn warn(text: &str) {
    // A failed write does not change the result of the checks.
    let _ = writeln!(std::io::stderr().lock(), "crewdeck: {}", one_line(text));
}

/// Returns the mode to use. If no fix can be applied now, prints a warning and returns [`FixMode::Report`]. This
/// happens if a crew is running, or if the user must confirm fixes and there is no terminal.
fn allowed_mode(mode: FixMode, crew: &CrewPresence, findings: &[Finding]) -> FixMode {
    let wants_fixes = mode != FixMode::Report;
    if wants_fixes && *crew != CrewPresence::None {
        warn("nothing was fixed: a crew is running in this directory. Stop it and try again");
        return FixMode::Report;
    }
    let is_interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if mode == FixMode::Ask && !is_interactive && findings.iter().any(|f| f.fix.is_some()) {
        warn(
            "nothing was fixed: crewdeck needs a terminal to ask before each fix. Add --yes to fix without asking",
        );
        return FixMode::Report;
    }
    mode
}

/// Applies the fixes of `findings`, in [`FixMode::Ask`] only those that the user confirms. Returns one line for each
/// applied fix. A fix that fails only causes a warning. Holds the crew lock meanwhile, so that no crew can start. If a
/// crew already runs, prints a warning and fixes nothing.
fn apply_fixes(place: &DoctorContext, findings: &[Finding], mode: FixMode) -> Result<Vec<String>> {
    store::prepare(&place.root)?;
    let LockAttempt::Acquired(_lock) = lock::take(&place.root, "")? else {
        warn("nothing was fixed: a crew has just started in this directory. Stop it and try again");
        return Ok(Vec::new());
    };
    let mut fixed = Vec::new();
    for (finding, act) in findings
        .iter()
        .filter_map(|f| f.fix.as_ref().map(|m| (f, m)))
    {
        if mode == FixMode::Ask
            && !confirm(&format!("{}\n  {} [y/N] ", finding.text, act.question()))?
        {
            continue;
        }
        let teardown = match act {
            doctor::Fix::RemoveWorktree { name } => tear_down(&place.root, name),
            _ => Ok(Teardown::default()),
        };
        let teardown = match teardown {
            Ok(teardown) => teardown,
            Err(why) => {
                warn(&format!("not fixed: {why}"));
                continue;
            }
        };
        match act.apply(&place.root, now()) {
            Ok(done) => fixed.push(done),
            Err(why) => {
                let why = teardown.refusal(why.to_string());
                warn(&format!("not fixed: {why}"));
            }
        }
    }
    Ok(fixed)
}

/// Runs the teardown command in a worktree that a fix is about to remove, and prints its warning.
///
/// # Errors
/// Fails with the reason if the worktree must not be removed: the command was not run, or a task was claimed in the
/// worktree meanwhile.
fn tear_down(root: &Path, name: &WorktreeName) -> Result<Teardown, String> {
    let trees = Worktrees::open(root);
    if trees.check_remove(name, RemovalMode::OnlyIfSafe).is_err() {
        // The fix says why.
        return Ok(Teardown::default());
    }
    let teardown = worktree_commands::tear_down(root, &trees, name)?;
    if let Some(text) = &teardown.warning {
        warn(text);
    }
    if !teardown.has_run() {
        return Ok(teardown);
    }
    let found = trees.find(name.as_str());
    let at_work = found.and_then(|tree| task_in_worktree(&Board::open(root), &trees, &tree));
    match at_work.map_err(|e| e.to_string())? {
        None => Ok(teardown),
        Some(task) => {
            let why = format!(
                "worktree {name} was not removed: {} works on task {} in it",
                task.owner, task.id
            );
            Err(teardown.refusal(why))
        }
    }
}

fn confirm(question: &str) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    write!(out, "{}", escape_control_chars(question))?;
    out.flush()?;
    let mut answer = String::new();
    let input = std::io::stdin().lock();
    input.take(64).read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn running_crew(root: &Path) -> CrewPresence {
    lock::find_holder(root).map_or(CrewPresence::None, |holder| {
        CrewPresence::Runs(holder.process.map(|id| id.to_string()))
    })
}

/// Returns which checks of tasks the settings have, and whether the project's file has some that do not apply.
fn check_facts(loaded: &LoadedSettings) -> CheckFacts {
    let has_unapproved = match &loaded.project {
        ProjectPolicy::Waiting(found) | ProjectPolicy::Ignored(found) => {
            found.settings.iter().any(|setting| setting.key == "checks")
        }
        ProjectPolicy::Harmless | ProjectPolicy::Approved(_) => false,
    };
    let specs = loaded.settings.checks.iter();
    CheckFacts {
        names: specs.map(|spec| spec.name.clone()).collect(),
        has_unapproved,
    }
}

fn settings_facts(root: &Path) -> SettingsFacts {
    let shown = |path: &PathBuf| match path.strip_prefix(root) {
        Ok(below) => below.display().to_string(),
        Err(_) => super::assemble::format_path(path),
    };
    let mut worktree_disk_limit = None;
    let (error, warnings, project) = match config::load(root, super::check_tools) {
        Ok(loaded) => {
            worktree_disk_limit = loaded.settings.worktree.disk_limit;
            (None, theme_warnings(&loaded.settings), loaded.project)
        }
        Err(e) => (Some(format!("{e:#}")), Vec::new(), ProjectPolicy::Harmless),
    };
    let found = Extensions::load(root);
    let (waiting, ignored) = match project {
        ProjectPolicy::Harmless | ProjectPolicy::Approved(_) => (None, None),
        ProjectPolicy::Waiting(found) => (Some(found.names()), None),
        ProjectPolicy::Ignored(found) => (None, Some(found.names())),
    };
    SettingsFacts {
        files: config::files(root)
            .iter()
            .map(|path| (shown(path), path.exists()))
            .collect(),
        error,
        warnings,
        waiting,
        ignored,
        worktree_disk_limit,
        extensions: (found.servers.len(), found.hooks.len()),
        extension_problems: found.problems.iter().map(ToString::to_string).collect(),
        waiting_extensions: found.waiting_notice(),
        waiting_items: found
            .trust
            .items()
            .filter(|item| item.is_waiting())
            .take(ITEMS_MAX)
            .map(|item| clip(&format!("{}: {}", item.title(), item.runs), ITEM_MAX))
            .collect(),
    }
}

/// Returns the names of the environment variables that contain secrets and are withheld from commands of agents. Also
/// returns `passed`, the names of the variables that the settings pass on.
fn environment_facts(passed: Vec<String>) -> EnvironmentFacts {
    let all = environment::secret_names();
    let names = all.into_iter().map(|(name, _)| name);
    let withheld = names.filter(|name| !passed.contains(name)).collect();
    EnvironmentFacts {
        withheld,
        allowed: passed,
    }
}

/// Returns a warning for each custom theme with colours that are unreadable in this terminal.
fn theme_warnings(settings: &config::Settings) -> Vec<String> {
    let depth = theme::color_depth();
    let own = settings.themes.iter().cloned().map(ThemeChoice::Custom);
    own.filter_map(|own| theme::contrast_warning(&own, depth))
        .collect()
}

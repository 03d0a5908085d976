//! `crewdeck trust`: shows the settings, servers and hooks of the project that need approval, and stores the user's
//! decision.

use std::io::{BufRead, IsTerminal, Read, Write};

use anyhow::{Result, bail};

use super::headless::eprint_line;
use super::{NOTHING, root};
use crate::cli::GlobalOptions;
use crate::cli::trust::Trust;
use crate::config::extensions::{ApprovalRequest, Extensions};
use crate::config::{self, PROJECT_FILE, ProjectPolicy, SensitiveSettings, SettingsDecision};
use crate::domain::text::{count_noun, escape_control_chars, one_line};
use crate::process::supervisor;

/// Maximum number of problems in the files of servers and hooks that [`report`] prints.
const PROBLEMS_MAX: usize = 5;

/// Runs `crewdeck trust` and returns the exit code: [`NOTHING`] if nothing needs approval, else 0.
///
/// # Errors
/// Fails inside an agent's command, if the settings are invalid, if standard input is not a terminal and `--yes` is
/// missing, or if the decision cannot be saved.
pub fn main(global: &GlobalOptions, options: Trust) -> Result<u8> {
    refuse_agents("approve")?;
    let root = root(global)?;
    let extensions = Extensions::load(&root);
    let policy = config::load(&root, super::check_tools)?.project;
    for problem in &extensions.problems {
        eprint_line(&format!("crewdeck: {problem}"));
    }
    let Some(request) = ApprovalRequest::all(&root, &policy, &extensions) else {
        eprint_line("crewdeck: no setting, MCP server or hook of this project needs your approval");
        return Ok(NOTHING);
    };
    let mut out = std::io::stdout().lock();
    if let Some((found, decision)) = &request.settings {
        writeln!(
            out,
            "{} ({}) sets:",
            found.root.join(PROJECT_FILE).display(),
            state(*decision)
        )?;
        for line in &found.settings {
            writeln!(out, "  {}\n      {}", line.text, line.effect)?;
        }
    }
    for item in &request.items {
        let title = one_line(&escape_control_chars(&item.title()));
        writeln!(out, "{title} ({}):", state(item.decision))?;
        writeln!(out, "  {}\n      {}", item.runs, item.effect)?;
    }
    let has_only_settings = request.items.is_empty();
    let what = if has_only_settings {
        "these settings"
    } else {
        "what is shown above"
    };
    let changed = if has_only_settings {
        "If these settings change, crewdeck asks again."
    } else {
        "If a file named above changes, crewdeck asks again."
    };
    let (question, done, decision) = match (options.ignore, options.forget) {
        (false, false) => (
            format!("Approve exactly {what} for this directory? [y/N] "),
            format!("Approved. {} {changed}", effect_of_approval(&request)),
            Some(SettingsDecision::Approved),
        ),
        (true, false) => (
            format!("Ignore {what} in this directory? [y/N] "),
            format!("Ignored. {changed}"),
            Some(SettingsDecision::Ignored),
        ),
        (_, true) => (
            format!("Forget your decision about {what}? [y/N] "),
            "Forgotten. crewdeck asks again at the next start.".to_string(),
            None,
        ),
    };
    if !options.yes && !confirm(&mut out, &question, "the same command with --yes")? {
        return Ok(0);
    }
    if let Some(notice) = request.decide(decision)? {
        eprint_line(&format!("crewdeck: {notice}"));
    }
    writeln!(out, "{done}")?;
    Ok(0)
}

/// Returns what a crewdeck that runs in the project does after an approval of what `request` contains.
fn effect_of_approval(request: &ApprovalRequest) -> &'static str {
    match (request.settings.is_some(), request.items.is_empty()) {
        (true, true) => "If crewdeck is running in this project, restart it.",
        (true, false) => {
            "If crewdeck is running in this project, servers and hooks that waited for the approval run from now on; for the settings, restart it."
        }
        (false, _) => {
            "If crewdeck is running in this project, servers and hooks that waited for the approval run from now on."
        }
    }
}

fn state(decision: Option<SettingsDecision>) -> &'static str {
    match decision {
        Some(SettingsDecision::Approved) => "approved",
        Some(SettingsDecision::Ignored) => "ignored",
        None => "not decided",
    }
}

/// Prints a question to `out`, reads a line from standard input and returns whether it is `y` or `yes`. If not, also
/// prints that nothing changed. `instead` is the command to use without a terminal, for the error message.
///
/// # Errors
/// Fails if standard input is not a terminal.
pub(super) fn confirm(out: &mut impl Write, question: &str, instead: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(
            "standard input is not a terminal, so crewdeck cannot ask: review what is shown above, then run {instead}"
        );
    }
    write!(out, "{question}")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().take(64).read_line(&mut answer)?;
    let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if !is_yes {
        writeln!(out, "Nothing changed.")?;
    }
    Ok(is_yes)
}

/// Returns an error if this process runs in a command that crewdeck has started, because only the user may approve and
/// configure servers. The sandbox of agents also prevents such changes; the error explains why they are not possible.
/// Commands that the user types with `!` are refused too, because they look like commands of agents to this process. `what`
/// is the verb in the error message, such as `approve`.
///
/// # Errors
/// Fails inside a command of an agent, a command that the user typed with `!`, a hook, an MCP server or an external
/// agent.
pub(super) fn refuse_agents(what: &str) -> Result<()> {
    if supervisor::is_in_agent_command() {
        bail!(
            "a command that crewdeck has started, for an agent, a hook or the user (!), cannot {what} this: the user must run it in a shell outside of crewdeck"
        );
    }
    Ok(())
}

/// Prints the problems in the files of servers and hooks, and which servers and how many hooks wait for approval.
pub fn report(extensions: &Extensions) {
    for problem in extensions.problems.iter().take(PROBLEMS_MAX) {
        eprint_line(&format!("crewdeck: {problem}"));
    }
    if extensions.problems.len() > PROBLEMS_MAX {
        let more = count_noun(extensions.problems.len() - PROBLEMS_MAX, "more problem");
        eprint_line(&format!("crewdeck: {more}: run crewdeck doctor"));
    }
    if let Some(notice) = extensions.waiting_notice() {
        eprint_line(&format!("crewdeck: {notice}"));
    }
}

/// Checks that the user has decided on the project's sensitive settings. Prints a note if they are ignored.
///
/// # Errors
/// Fails if the user has not decided. The error names the settings and the command with which to decide.
pub fn check(project: &ProjectPolicy) -> Result<()> {
    match project {
        ProjectPolicy::Harmless | ProjectPolicy::Approved(_) => Ok(()),
        ProjectPolicy::Ignored(found) => {
            eprint_line(&format!("crewdeck: {}", without(found)));
            Ok(())
        }
        ProjectPolicy::Waiting(found) => bail!(
            "{PROJECT_FILE} of this project sets {}, which needs your approval. To review and approve: crewdeck trust. To run without these settings: crewdeck trust --ignore",
            found.names()
        ),
    }
}

/// Checks that the user has decided about the checks of the project's settings file.
///
/// # Errors
/// Fails if the file sets checks and the user has not decided. The error names the command with which to decide.
pub fn check_checks(project: &ProjectPolicy) -> Result<()> {
    match project {
        ProjectPolicy::Waiting(found) if found.settings.iter().any(|s| s.key == "checks") => bail!(
            "{PROJECT_FILE} of this project sets checks, which need your approval. To review and approve: crewdeck trust. To work without them: crewdeck trust --ignore"
        ),
        _ => Ok(()),
    }
}

/// Returns the notice that the sensitive project settings in `found` are ignored.
pub fn without(found: &SensitiveSettings) -> String {
    format!(
        "ignored, as you decided: {} of {PROJECT_FILE}. To change your decision: crewdeck trust",
        found.names()
    )
}

//! `crewdeck trust`: shows the project settings that need approval and saves the user's decision.

use std::io::{BufRead, IsTerminal, Read, Write};

use anyhow::{Result, bail};

use super::headless::eprint_line;
use super::{NOTHING, root};
use crate::cli::GlobalOptions;
use crate::cli::trust::Trust;
use crate::config::{self, PROJECT_FILE, ProjectPolicy, SensitiveSettings, SettingsDecision};

/// Runs `crewdeck trust` and returns the exit code.
///
/// # Errors
/// Fails if the settings are invalid, if standard input is not a terminal and `--yes` is missing, or if the decision
/// cannot be saved.
pub fn main(global: &GlobalOptions, options: Trust) -> Result<u8> {
    let (found, now) = match config::load(&root(global)?)?.project {
        ProjectPolicy::Harmless => {
            eprint_line(&format!(
                "crewdeck: no setting of {PROJECT_FILE} needs your approval"
            ));
            return Ok(NOTHING);
        }
        ProjectPolicy::Approved(found) => (found, "approved"),
        ProjectPolicy::Ignored(found) => (found, "ignored"),
        ProjectPolicy::Waiting(found) => (found, "not decided"),
    };
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} ({now}) sets:",
        found.root.join(PROJECT_FILE).display()
    )?;
    for line in &found.settings {
        writeln!(out, "  {}\n      {}", line.text, line.effect)?;
    }
    let (question, done, decision) = match (options.ignore, options.forget) {
        (false, false) => (
            "Approve exactly these settings for this directory? [y/N] ",
            "Approved. If these settings change, crewdeck asks again.",
            Some(SettingsDecision::Approved),
        ),
        (true, false) => (
            "Run without them in this directory? [y/N] ",
            "Ignored. If these settings change, crewdeck asks again.",
            Some(SettingsDecision::Ignored),
        ),
        (_, true) => (
            "Forget the decision about them? [y/N] ",
            "Forgotten. crewdeck asks again at the next start.",
            None,
        ),
    };
    if !options.yes {
        if !std::io::stdin().is_terminal() {
            bail!(
                "standard input is not a terminal, so crewdeck cannot ask: review the settings above, then run crewdeck trust --yes"
            );
        }
        write!(out, "{question}")?;
        out.flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().take(64).read_line(&mut answer)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            writeln!(out, "Nothing changed.")?;
            return Ok(0);
        }
    }
    if let Some(notice) = found.decide(decision)? {
        eprint_line(&format!("crewdeck: {notice}"));
    }
    writeln!(out, "{done}")?;
    Ok(0)
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
            "{PROJECT_FILE} of this project sets {}, which needs your approval. To review and approve: crewdeck trust. To run without: crewdeck trust --ignore",
            found.names()
        ),
    }
}

/// Returns the notice that the sensitive project settings in `found` are ignored.
pub fn without(found: &SensitiveSettings) -> String {
    format!(
        "{} of {PROJECT_FILE} ignored, as you decided (change it with crewdeck trust)",
        found.names()
    )
}

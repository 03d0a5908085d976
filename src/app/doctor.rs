//! `crewdeck doctor`: finds out what only the roof knows, has the checks run, prints, and mends what the person wants.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::lock::Taken;
use super::{blocked_on, guard, lock, now, root, secrets, settings, theme};
use crate::cli::Global;
use crate::config::{self, Confining, Project};
use crate::doctor::print::{self, Paint, Paper};
use crate::doctor::{self, Crew, EnvironmentFacts, Finding, Place, SandboxFacts, SettingsFacts};
use crate::domain::text::{harmless, one_line};
use crate::process::environment;
use crate::store;
use crate::ui::{ColorDepth, ThemeChoice};
use crate::verbs::Form;

mod model;

/// What the person wants done about what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Tell,
    /// Mend what they say yes to.
    Ask,
    /// Mend it all.
    Mend,
}

impl Wish {
    /// The wish in the options.
    pub fn of(mend: bool, yes: bool) -> Wish {
        match (mend, yes) {
            (false, _) => Wish::Tell,
            (true, false) => Wish::Ask,
            (true, true) => Wish::Mend,
        }
    }
}

/// Runs the verb. The exit code comes back.
///
/// # Errors
/// When something fails: which lines say so.
pub fn main(global: &Global, wish: Wish, form: Form) -> Result<u8> {
    let root = root(global)?;
    let settings = settings(global, &root).map(|loaded| loaded.settings);
    let passed = settings.as_ref().ok().and_then(|s| s.pass_env.clone());
    let sandbox = match settings.as_ref().map(|s| s.confine.unwrap_or_default()) {
        Ok(Confining::Off) => SandboxFacts::Off,
        Ok(Confining::Files) => SandboxFacts::WithoutHistory(guard::sandbox()),
        Ok(Confining::On) | Err(_) => SandboxFacts::Tried {
            report: guard::sandbox(),
            network: settings
                .as_ref()
                .ok()
                .and_then(|s| s.network)
                .unwrap_or_default(),
        },
    };
    let model = blocked_on(async { Ok(model::facts(global, settings).await) })?;
    let mut place = Place {
        now: now(),
        crew: who_runs(&root),
        settings: settings_facts(&root),
        model,
        sandbox,
        environment: withheld(passed.unwrap_or_default()),
        root,
    };
    let mut findings = examine(&place);
    let wish = allowed(wish, &place.crew, &findings);
    let mut mended = Vec::new();
    if wish != Wish::Tell && findings.iter().any(|f| f.mend.is_some()) {
        if form == Form::Text && wish == Wish::Ask {
            say(&print::report(&findings, paper()))?;
        }
        mended = mend(&place, &findings, wish)?;
        place.now = now();
        findings = examine(&place);
    }
    let text = match form {
        Form::Text => {
            let done = mended
                .iter()
                .map(|done| harmless(&format!("mended: {done}")));
            let gap = (!mended.is_empty()).then(String::new);
            let report = [print::report(&findings, paper())];
            let lines: Vec<String> = done.chain(gap).chain(report).collect();
            lines.join("\n")
        }
        Form::Json => harmless(&serde_json::to_string_pretty(&value(&mended, &findings)?)?),
    };
    say(&text)?;
    match print::failure(&findings) {
        Some(failure) => bail!("{failure}"),
        None => Ok(0),
    }
}

/// What was found, without secrets: a settings file that is wrong is quoted, and may hold an address with a password.
fn examine(place: &Place) -> Vec<Finding> {
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

/// The findings as one JSON value; what was mended comes first.
fn value(mended: &[String], findings: &[Finding]) -> Result<Value> {
    let done = |text: &String| json!({"check": "mend", "level": "ok", "text": text});
    let mut all: Vec<Value> = mended.iter().map(done).collect();
    for finding in findings {
        all.push(serde_json::to_value(finding)?);
    }
    Ok(Value::Array(all))
}

/// What the report is printed on.
fn paper() -> Paper {
    if !std::io::stdout().is_terminal() {
        return Paper::PLAIN;
    }
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    Paper {
        columns: crossterm::terminal::size()
            .ok()
            .map(|(columns, _)| columns.into()),
        paint: match theme::color_depth() {
            ColorDepth::None => Paint::Plain,
            _ if is_dumb => Paint::Plain,
            ColorDepth::Sixteen | ColorDepth::Indexed | ColorDepth::True => Paint::Colour,
        },
    }
}

/// Prints `text`, which is harmless.
fn say(text: &str) -> Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        // Nobody reads on (`| head`): the wish was to stop.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn warn(text: &str) {
    // What was found is not worse when this can not be written.
    let _ = writeln!(std::io::stderr().lock(), "crewdeck: {}", one_line(text));
}

/// What of the wish can be had: nobody is asked without a terminal, and a crew that runs keeps its own house.
fn allowed(wish: Wish, crew: &Crew, findings: &[Finding]) -> Wish {
    let is_wanted = wish != Wish::Tell;
    if is_wanted && *crew != Crew::None {
        warn("a crew runs here and sees to its things itself: nothing is mended meanwhile");
        return Wish::Tell;
    }
    let is_there = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if wish == Wish::Ask && !is_there && findings.iter().any(|f| f.mend.is_some()) {
        warn("nobody is here to ask, so nothing is mended: --mend --yes mends without asking");
        return Wish::Tell;
    }
    wish
}

/// Mends; a line for each that was. No crew can begin meanwhile.
fn mend(place: &Place, findings: &[Finding], wish: Wish) -> Result<Vec<String>> {
    store::prepare(&place.root)?;
    let Taken::Mine(_lock) = lock::take(&place.root, "")? else {
        warn("a crew has begun here meanwhile and sees to its things itself: nothing is mended");
        return Ok(Vec::new());
    };
    let mut mended = Vec::new();
    for (finding, act) in findings
        .iter()
        .filter_map(|f| f.mend.as_ref().map(|m| (f, m)))
    {
        if wish == Wish::Ask
            && !says_yes(&format!("{}\n  {} [y/N] ", finding.text, act.question()))?
        {
            continue;
        }
        match act.carry_out(&place.root, now()) {
            Ok(done) => mended.push(done),
            Err(why) => warn(&format!("not mended: {why}")),
        }
    }
    Ok(mended)
}

fn says_yes(question: &str) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    write!(out, "{}", harmless(question))?;
    out.flush()?;
    let mut answer = String::new();
    let input = std::io::stdin().lock();
    input.take(64).read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn who_runs(root: &Path) -> Crew {
    lock::running(root).map_or(Crew::None, |holder| {
        Crew::Runs(holder.process.map(|id| id.to_string()))
    })
}

fn settings_facts(root: &Path) -> SettingsFacts {
    let shown = |path: &PathBuf| match path.strip_prefix(root) {
        Ok(below) => below.display().to_string(),
        Err(_) => super::assemble::shown(path),
    };
    let (error, warnings, project) = match config::load(root) {
        Ok(loaded) => (None, theme_warnings(&loaded.settings), loaded.project),
        Err(e) => (Some(format!("{e:#}")), Vec::new(), Project::Harmless),
    };
    let (waiting, ignored) = match project {
        Project::Harmless | Project::Approved(_) => (None, None),
        Project::Waiting(found) => (Some(found.names()), None),
        Project::Ignored(found) => (None, Some(found.names())),
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
    }
}

/// Which variables commands of agents do not see, by their names alone.
fn withheld(passed: Vec<String>) -> EnvironmentFacts {
    let all = environment::withheld();
    let names = all.into_iter().map(|(name, _)| name);
    let withheld = names.filter(|name| !passed.contains(name)).collect();
    EnvironmentFacts { withheld, passed }
}

/// What of the person's themes could not be read in this terminal.
fn theme_warnings(settings: &config::Settings) -> Vec<String> {
    let depth = theme::color_depth();
    let own = settings.themes.iter().cloned().map(ThemeChoice::Own);
    own.filter_map(|own| theme::hidden(&own, depth)).collect()
}

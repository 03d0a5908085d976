//! The options of `crewdeck task import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::CodeHostArg;
use crate::domain::task_import::{DependencyMode, ITEMS_MAX, ImportFormat};

/// Shown at the end of `crewdeck task import --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck task import plan.md --dry-run       show the tasks that a check list would add
  echo \"- [ ] Write the parser\" | crewdeck task import -
  crewdeck task list --json --dir ~/other | crewdeck task import -
  crewdeck task import --from github --label bug --limit 20
  crewdeck task import --from gitlab --repo acme/tool --no-tags";

/// Number of issues that are read unless `--limit` says otherwise.
const LIMIT: u16 = 50;

// The options of issues also conflict with a file: clap does not require an option that conflicts with a given one, so
// `requires` alone would accept them.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Markdown or JSON file with tasks; - reads standard input
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "from", conflicts_with = "from")]
    pub file: Option<PathBuf>,
    /// Format of the file; default: by its content
    #[arg(long, value_name = "FORMAT", conflicts_with = "from")]
    pub format: Option<FormatArg>,
    /// Read the open issues of the repository with gh or glab, which must be installed and logged in
    #[arg(long, value_name = "SERVICE")]
    pub from: Option<CodeHostArg>,
    /// Only issues with this label (repeatable: all of the labels)
    #[arg(
        long = "label",
        value_name = "LABEL",
        requires = "from",
        conflicts_with = "file"
    )]
    pub labels: Vec<String>,
    /// Read at most N issues, the newest (1 to 1000); default: 50
    #[arg(long, value_name = "N", requires = "from", conflicts_with = "file", value_parser = parse_limit)]
    limit: Option<u16>,
    /// Repository of the issues; default: the one that gh or glab finds in the project
    #[arg(
        long,
        value_name = "OWNER/NAME",
        requires = "from",
        conflicts_with = "file"
    )]
    pub repo: Option<String>,
    /// What to do with stated dependencies; default: all
    #[arg(long, value_name = "MODE")]
    dependencies: Option<DependenciesArg>,
    /// Leave tags and labels out, so that every teammate can claim the tasks
    #[arg(long)]
    pub no_tags: bool,
    /// Check everything and show the tasks, but add none
    #[arg(long)]
    pub dry_run: bool,
}

impl ImportArgs {
    /// Returns the maximum number of issues to read.
    pub fn limit(&self) -> usize {
        usize::from(self.limit.unwrap_or(LIMIT))
    }

    pub fn dependencies(&self) -> DependencyMode {
        match self.dependencies {
            None | Some(DependenciesArg::All) => DependencyMode::All,
            Some(DependenciesArg::Known) => DependencyMode::Known,
            Some(DependenciesArg::Off) => DependencyMode::Off,
        }
    }
}

fn parse_limit(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        Ok(n) if n > 0 && usize::from(n) <= ITEMS_MAX => Ok(n),
        Ok(_) | Err(_) => Err(format!("expected a number from 1 to {ITEMS_MAX}")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Check lists: each - [ ] item is a task
    #[value(alias = "md")]
    Markdown,
    /// An array of tasks, as task list --json prints it
    Json,
    /// One task per line
    Jsonl,
}

impl From<FormatArg> for ImportFormat {
    fn from(format: FormatArg) -> ImportFormat {
        match format {
            FormatArg::Markdown => ImportFormat::Markdown,
            FormatArg::Json => ImportFormat::Json,
            FormatArg::Jsonl => ImportFormat::JsonLines,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DependenciesArg {
    /// Import all; one on an unknown task or issue is an error
    All,
    /// Leave out those on unknown tasks or issues
    Known,
    /// Import none
    Off,
}

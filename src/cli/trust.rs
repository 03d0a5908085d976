//! The options of `crewdeck trust`.

use clap::Args;

/// The examples below the help page.
pub const EXAMPLES: &str = "Examples:
  crewdeck trust             show everything and ask
  crewdeck trust --ignore    run without it from now on
  crewdeck trust --forget    ask again next time";

/// The options of `crewdeck trust`.
#[derive(Debug, Clone, Copy, Args)]
pub struct Trust {
    /// Ignore all of it from now on instead of approving it
    #[arg(long)]
    pub ignore: bool,
    /// Forget the earlier decision
    #[arg(long, conflicts_with = "ignore")]
    pub forget: bool,
    /// Do not ask for confirmation; read what is shown first
    #[arg(long)]
    pub yes: bool,
}

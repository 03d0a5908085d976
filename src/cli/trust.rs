//! The options of `crewdeck trust`.

use clap::Args;

/// The examples below the help page.
pub const EXAMPLES: &str = "Examples:
  crewdeck trust             show the settings and ask
  crewdeck trust --ignore    ignore the settings from now on
  crewdeck trust --forget    ask again next time";

/// The options of `crewdeck trust`.
#[derive(Debug, Clone, Copy, Args)]
pub struct Trust {
    /// Ignore these settings from now on instead of approving them
    #[arg(long)]
    pub ignore: bool,
    /// Forget the earlier decision about these settings
    #[arg(long, conflicts_with = "ignore")]
    pub forget: bool,
    /// Do not ask for confirmation; read the settings first
    #[arg(long)]
    pub yes: bool,
}

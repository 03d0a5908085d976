//! `crewdeck doctor`: checks the setup, finds what earlier crews left behind, and offers fixes.
//!
//! Each check is a file in `checks/` with an entry in the table of `checks/mod.rs`. A check gathers facts through the
//! store or takes them from [`DoctorContext`], and a pure function turns the facts into findings. A check itself
//! changes nothing, but some checks read through stores that rename a damaged file to `NAME.damaged-N`. A change that
//! cannot lose work is offered as a [`Fix`]; for any other change the finding only names the command.

mod checks;
mod finding;
mod fix;
pub mod print;
mod units;

use std::path::PathBuf;

use crate::domain::role::RoleCatalog;
use crate::domain::timestamp::Timestamp;
pub use checks::budgets::BudgetFacts;
pub use checks::environment::EnvironmentFacts;
pub use checks::model::{ModelFacts, ModelListing, ModelServer};
pub use checks::sandbox::SandboxFacts;
pub use checks::settings::SettingsFacts;
pub use checks::task_checks::CheckFacts;
pub use finding::{Finding, Level};
pub use fix::Fix;

/// What the checks need from the caller: the root, the time, and facts that the files below the root do not show.
#[derive(Debug)]
pub struct DoctorContext {
    pub root: PathBuf,
    pub now: Timestamp,
    pub crew: CrewPresence,
    pub settings: SettingsFacts,
    pub roles: RoleCatalog,
    pub model: ModelFacts,
    /// The names of the named models in the settings, each with its model and server, or with the reason why it cannot
    /// be used.
    pub named_models: Vec<(String, Result<String, String>)>,
    pub budgets: BudgetFacts,
    pub checks: CheckFacts,
    pub sandbox: SandboxFacts,
    pub environment: EnvironmentFacts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrewPresence {
    None,
    /// A crew is running. The value is its process id; `None` if the id is unknown.
    Runs(Option<String>),
}

/// Runs all checks and returns their findings in the order of the report. If the root has no crew state, the checks of
/// such state return no findings; only the check `crew` still reports whether a crew is running.
pub fn examine(context: &DoctorContext) -> Vec<Finding> {
    checks::TABLE
        .iter()
        .flat_map(|check| check(context))
        .collect()
}

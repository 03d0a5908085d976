//! Lists the environment variables that look like secrets and are hidden from commands of agents.

use crate::doctor::{DoctorContext, Finding};

const CHECK: &str = "variables";

/// The names of environment variables that crewdeck hides from the commands of agents or passes to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvironmentFacts {
    /// Variables that look like secrets and are hidden from the commands of agents.
    pub withheld: Vec<String>,
    /// All variables that the setting `pass_env` names, so that the commands of agents get them.
    pub allowed: Vec<String>,
}

/// Reports which variables are hidden from the commands of agents, and which ones the setting `pass_env` passes to
/// them. Never warns.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    vec![evaluate(&context.environment)]
}

fn evaluate(facts: &EnvironmentFacts) -> Finding {
    let passed = match facts.allowed.as_slice() {
        [] => String::new(),
        names => format!("; the setting pass_env passes {} to them", names.join(", ")),
    };
    let text = match facts.withheld.as_slice() {
        [] => format!(
            "no variable looks like a secret, so commands of agents see all variables{passed}"
        ),
        names => format!(
            "commands of agents do not see {}{passed}; to pass them a variable, set pass_env = [\"NAME\"]",
            names.join(", ")
        ),
    };
    Finding::ok(CHECK, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withheld_variables_are_listed() {
        let facts = EnvironmentFacts {
            withheld: vec!["A_TOKEN".into(), "B_KEY".into()],
            allowed: vec!["C_KEY".into()],
        };
        let text = evaluate(&facts).text;
        assert!(
            text.starts_with(
                "commands of agents do not see A_TOKEN, B_KEY; the setting pass_env passes C_KEY to them"
            ),
            "{text}"
        );
        assert!(
            evaluate(&EnvironmentFacts::default())
                .text
                .starts_with("no variable looks like a secret")
        );
    }
}

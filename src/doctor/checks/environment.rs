//! The environment: which variables commands of agents do not see, because they look like secrets.

use crate::doctor::{Finding, Place};

const CHECK: &str = "variables";

/// The variables of this process that look like secrets; names only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvironmentFacts {
    /// Those that commands do not see.
    pub withheld: Vec<String>,
    /// Those that the settings pass on.
    pub passed: Vec<String>,
}

/// Looks at them.
pub fn look(place: &Place) -> Vec<Finding> {
    vec![judge(&place.environment)]
}

fn judge(facts: &EnvironmentFacts) -> Finding {
    let passed = match facts.passed.as_slice() {
        [] => String::new(),
        names => format!("; pass_env passes on {}", names.join(", ")),
    };
    let text = match facts.withheld.as_slice() {
        [] => format!("none looks like a secret, commands of agents see them all{passed}"),
        names => format!(
            "commands of agents do not see {}{passed}; pass_env = [\"NAME\"] in your settings passes one on",
            names.join(", ")
        ),
    };
    Finding::ok(CHECK, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withheld_variables_are_named() {
        let facts = EnvironmentFacts {
            withheld: vec!["A_TOKEN".into(), "B_KEY".into()],
            passed: vec!["C_KEY".into()],
        };
        let text = judge(&facts).text;
        assert!(
            text.starts_with(
                "commands of agents do not see A_TOKEN, B_KEY; pass_env passes on C_KEY"
            ),
            "{text}"
        );
        assert!(
            judge(&EnvironmentFacts::default())
                .text
                .starts_with("none looks like a secret")
        );
    }
}

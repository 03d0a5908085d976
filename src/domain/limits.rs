//! What holds the agents up before a call: how many calls go at a time, and the ceilings as they stand now. Pure.

use serde::{Deserialize, Serialize};

use super::ceiling::{Ceiling, Ceilings};
use super::ids::Name;

/// The limits of a crew.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Most calls of the model in flight for the whole team; 0: not known.
    pub calls: usize,
    /// The ceilings as the settings give them.
    #[serde(default)]
    pub ceilings: Ceilings,
    /// Those that the person has raised, each at most once: no more than there are agents and ceilings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<Raised>,
}

/// A ceiling that the person has raised until crewdeck ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Raised {
    /// Which one.
    pub ceiling: Ceiling,
    /// Whose; `None`: the team's.
    pub whose: Option<Name>,
    /// How much may be used now, in tokens or US dollars.
    pub allowed: f64,
}

impl Limits {
    /// How much of `ceiling` may be used now, in tokens or US dollars; `whose` is `None` for the team's. `None`: as much as
    /// one likes.
    pub fn allowed(&self, ceiling: Ceiling, whose: Option<&Name>) -> Option<f64> {
        let base = self.ceilings.of(ceiling)?;
        let is_it = |r: &&Raised| r.ceiling == ceiling && r.whose.as_ref() == whose;
        Some(self.raised.iter().find(is_it).map_or(base, |r| r.allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_raised_counts_for_the_one_it_was_raised_for() {
        let bob = Name::member("bob").unwrap();
        let limits = Limits {
            calls: 4,
            ceilings: Ceilings {
                agent_tokens: Some(400),
                ..Ceilings::default()
            },
            raised: vec![Raised {
                ceiling: Ceiling::AgentTokens,
                whose: Some(bob.clone()),
                allowed: 800.0,
            }],
        };
        let cases = [
            (Ceiling::AgentTokens, Some(bob), Some(800.0)),
            (Ceiling::AgentTokens, Some(Name::lead()), Some(400.0)),
            (Ceiling::TeamCost, None, None),
        ];
        for (ceiling, whose, expected) in cases {
            assert_eq!(limits.allowed(ceiling, whose.as_ref()), expected);
        }
        let line = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&line).unwrap(), limits);
    }
}

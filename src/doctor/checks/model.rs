//! The model: which provider would be used and why, whether there is a key, and whether the server answers.

use crate::doctor::words::count;
use crate::doctor::{Finding, Place};

const CHECK: &str = "model";
const KEY: &str = "key";

/// The model that would be used, as the roof has found it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFacts {
    /// Nothing points to a model, or the settings are wrong: what is missing, and what to do.
    Missing {
        /// What.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// A scripted model, which needs no server.
    Scripted {
        /// Which one.
        what: String,
    },
    /// A server.
    Server(Offer),
}

/// A server and what it offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// `anthropic` or `openai`.
    pub provider: &'static str,
    /// Why this one: `ANTHROPIC_API_KEY is set`.
    pub why: String,
    /// Its address. A password in it is taken out before it is shown.
    pub url: String,
    /// The variable with the key, and whether it is set. Its value is never here.
    pub key: (&'static str, bool),
    /// The model that was named.
    pub wanted: Option<String>,
    /// What the server said.
    pub asked: Asked,
}

/// What a server said when it was asked for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// These.
    Models(Vec<String>),
    /// That it keeps no such list.
    NoList,
    /// Nothing of use: why, and what to do.
    Failed {
        /// Why.
        why: String,
        /// What to do.
        remedy: String,
    },
}

/// Looks at what was found out.
pub fn look(place: &Place) -> Vec<Finding> {
    judge(&place.model)
}

fn judge(facts: &ModelFacts) -> Vec<Finding> {
    match facts {
        ModelFacts::Missing { reason, remedy } => {
            vec![Finding::fail(CHECK, reason.clone(), remedy.clone())]
        }
        ModelFacts::Scripted { what } => {
            vec![Finding::ok(
                CHECK,
                format!("scripted: {what}; needs neither key nor server"),
            )]
        }
        ModelFacts::Server(offer) => vec![server(offer), key(offer)],
    }
}

fn server(offer: &Offer) -> Finding {
    let Offer {
        provider, why, url, ..
    } = offer;
    let place = format!("{provider} at {url} ({why})");
    match (&offer.asked, &offer.wanted) {
        (Asked::Failed { why, remedy }, _) => {
            Finding::fail(CHECK, format!("{place}: {why}"), remedy.clone())
        }
        (Asked::NoList, Some(name)) => Finding::ok(
            CHECK,
            format!("{place}: it answers; it lists no models, {name} is taken on trust"),
        ),
        (Asked::NoList, None) => Finding::fail(
            CHECK,
            format!("{place}: it answers and lists no models"),
            "name one: --model NAME, or model = \"NAME\" in the settings",
        ),
        (Asked::Models(all), _) if all.is_empty() => Finding::fail(
            CHECK,
            format!("{place}: it answers and has no model"),
            "load one there, or name one with --model",
        ),
        (Asked::Models(all), Some(name)) if all.contains(name) => {
            Finding::ok(CHECK, format!("{name}, {place}: it answers"))
        }
        (Asked::Models(all), Some(name)) => Finding::warn(
            CHECK,
            format!(
                "{place}: it answers, and {name} is not among its {}",
                count(all.len(), "model")
            ),
            format!("check the name: it has {}", some(all)),
        ),
        (Asked::Models(all), None) => Finding::ok(
            CHECK,
            format!(
                "{}, {place}: it answers; no model is named, so the first of {} is taken",
                all.first().map_or("", String::as_str),
                all.len()
            ),
        ),
    }
}

fn key(offer: &Offer) -> Finding {
    match offer.key {
        (name, true) => Finding::ok(KEY, format!("{name} is set")),
        (name, false) => Finding::ok(
            KEY,
            format!("{name} is not set; a server on this machine needs none"),
        ),
    }
}

/// The first few names.
fn some(all: &[String]) -> String {
    let shown: Vec<&str> = all.iter().take(5).map(String::as_str).collect();
    let more = if all.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_a_server_says_is_judged() {
        let models =
            |names: &[&str]| Asked::Models(names.iter().map(ToString::to_string).collect());
        let failed = Asked::Failed {
            why: "nothing answers".into(),
            remedy: "start it".into(),
        };
        for (asked, wanted, level, words) in [
            (
                models(&["a", "b"]),
                None,
                Level::Ok,
                "a, openai at http://h (why): it answers; no model is named, so the first of 2",
            ),
            (
                models(&["a", "b"]),
                Some("b"),
                Level::Ok,
                "b, openai at http://h (why): it answers",
            ),
            (
                models(&["a", "b"]),
                Some("c"),
                Level::Warn,
                "c is not among its 2 models",
            ),
            (models(&[]), None, Level::Fail, "has no model"),
            (Asked::NoList, Some("b"), Level::Ok, "on trust"),
            (Asked::NoList, None, Level::Fail, "lists no models"),
            (failed, None, Level::Fail, "http://h (why): nothing answers"),
        ] {
            let facts = ModelFacts::Server(Offer {
                provider: "openai",
                why: "why".into(),
                url: "http://h".into(),
                key: ("OPENAI_API_KEY", false),
                wanted: wanted.map(String::from),
                asked,
            });
            let found = judge(&facts);
            assert_eq!(found[0].level, level, "{found:?}");
            assert!(found[0].text.contains(words), "{found:?}");
            assert_eq!(found[1].check, "key");
        }
    }

    #[test]
    fn a_model_that_is_missing_fails_and_a_script_is_fine() {
        let missing = ModelFacts::Missing {
            reason: "no key".into(),
            remedy: "set one".into(),
        };
        assert_eq!(
            judge(&missing),
            [Finding::fail("model", "no key", "set one")]
        );
        let script = ModelFacts::Scripted {
            what: "the demo".into(),
        };
        assert_eq!(judge(&script)[0].level, Level::Ok);
    }
}

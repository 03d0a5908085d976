//! Checks the model: which provider is used and why, whether its key is set, and whether the server responds.

use crate::doctor::{DoctorContext, Finding};
use crate::domain::text::{count_noun, first_names};

const CHECK: &str = "model";
const KEY: &str = "key";

/// The model that a crew would use. The caller of [`crate::doctor::examine`] determines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFacts {
    /// No model is set up, or the settings are invalid.
    Missing {
        reason: String,
        remedy: String,
    },
    /// A scripted model, which needs no server.
    Scripted {
        what: String,
    },
    Server(ModelServer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelServer {
    pub provider: &'static str,
    /// Why this provider was chosen, such as `ANTHROPIC_API_KEY is set`.
    pub why: String,
    /// The base URL. It may contain a password, which the caller of [`crate::doctor::examine`] redacts in the findings.
    pub url: String,
    /// The environment variable that holds the API key, and whether it is set.
    pub key: (String, bool),
    /// The configured model, if any.
    pub wanted: Option<String>,
    pub listing: ModelListing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelListing {
    /// The names of the models in the server's order. If the settings name no model, the first one is used.
    Models(Vec<String>),
    /// The server responded but offers no list of models, so the name of the configured model cannot be verified.
    NoList,
    /// The server gave no usable answer. The check fails with this reason and remedy.
    Failed { why: String, remedy: String },
}

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    evaluate(&context.model)
}

fn evaluate(facts: &ModelFacts) -> Vec<Finding> {
    match facts {
        ModelFacts::Missing { reason, remedy } => {
            vec![Finding::fail(CHECK, reason.clone(), remedy.clone())]
        }
        ModelFacts::Scripted { what } => {
            vec![Finding::ok(
                CHECK,
                format!("scripted: {what}; needs no key and no server"),
            )]
        }
        ModelFacts::Server(offer) => vec![server(offer), key(offer)],
    }
}

fn server(offer: &ModelServer) -> Finding {
    let ModelServer {
        provider, why, url, ..
    } = offer;
    let server = format!("{provider} at {url} ({why})");
    match (&offer.listing, &offer.wanted) {
        (ModelListing::Failed { why, remedy }, _) => {
            Finding::fail(CHECK, format!("{server}: {why}"), remedy.clone())
        }
        (ModelListing::NoList, Some(name)) => Finding::ok(
            CHECK,
            format!("{server}: responds, but has no model list, so {name} is not verified"),
        ),
        (ModelListing::NoList, None) => Finding::fail(
            CHECK,
            format!("{server}: responds, but has no model list"),
            "choose a model: --model NAME, or model = \"NAME\" in the settings",
        ),
        (ModelListing::Models(all), _) if all.is_empty() => Finding::fail(
            CHECK,
            format!("{server}: responds, but has no models"),
            "load a model on the server, or choose one with --model",
        ),
        (ModelListing::Models(all), Some(name)) if all.contains(name) => {
            Finding::ok(CHECK, format!("{name}, {server}: responds"))
        }
        (ModelListing::Models(all), Some(name)) => Finding::warn(
            CHECK,
            format!(
                "{server}: responds, but {name} is not among its {}",
                count_noun(all.len(), "model")
            ),
            format!("check the model name; the server has {}", first_names(all)),
        ),
        (ModelListing::Models(all), None) => Finding::ok(
            CHECK,
            format!(
                "{}, {server}: responds; no model is configured, so the first of {} is used",
                all.first().map_or("", String::as_str),
                count_noun(all.len(), "model")
            ),
        ),
    }
}

fn key(offer: &ModelServer) -> Finding {
    match &offer.key {
        (name, true) => Finding::ok(KEY, format!("{name} is set")),
        (name, false) => Finding::ok(
            KEY,
            format!("{name} is not set; a local server needs no key"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use pretty_assertions::assert_eq;

    #[test]
    fn server_response_decides_the_level() {
        let models =
            |names: &[&str]| ModelListing::Models(names.iter().map(ToString::to_string).collect());
        let failed = ModelListing::Failed {
            why: "nothing answers".into(),
            remedy: "start it".into(),
        };
        for (asked, wanted, level, words) in [
            (
                models(&["a", "b"]),
                None,
                Level::Ok,
                "a, openai at http://h (why): responds; no model is configured, so the first of 2",
            ),
            (
                models(&["a", "b"]),
                Some("b"),
                Level::Ok,
                "b, openai at http://h (why): responds",
            ),
            (
                models(&["a", "b"]),
                Some("c"),
                Level::Warn,
                "c is not among its 2 models",
            ),
            (models(&[]), None, Level::Fail, "has no models"),
            (
                ModelListing::NoList,
                Some("b"),
                Level::Ok,
                "b is not verified",
            ),
            (ModelListing::NoList, None, Level::Fail, "has no model list"),
            (failed, None, Level::Fail, "http://h (why): nothing answers"),
        ] {
            let facts = ModelFacts::Server(ModelServer {
                provider: "openai",
                why: "why".into(),
                url: "http://h".into(),
                key: ("OPENAI_API_KEY".into(), false),
                wanted: wanted.map(String::from),
                listing: asked,
            });
            let found = evaluate(&facts);
            assert_eq!(found[0].level, level, "{found:?}");
            assert!(found[0].text.contains(words), "{found:?}");
            assert_eq!(found[1].check, "key");
        }
    }

    #[test]
    fn missing_model_fails_and_scripted_model_passes() {
        let missing = ModelFacts::Missing {
            reason: "no key".into(),
            remedy: "set one".into(),
        };
        assert_eq!(
            evaluate(&missing),
            [Finding::fail("model", "no key", "set one")]
        );
        let script = ModelFacts::Scripted {
            what: "the demo".into(),
        };
        assert_eq!(evaluate(&script)[0].level, Level::Ok);
    }
}

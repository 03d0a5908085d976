//! The mode, the model and the effort of a session. Agents offer them in different ways.

use serde_json::{Value, json};

use super::connection::AgentConnection;
use super::types::{SessionChoice, SessionSpec, UnsetChoice};
use super::update::{id, short};
use crate::domain::redact::Redactor;
use crate::domain::text::{join_names, one_line};

/// Maximum number of modes, of models and of efforts that are read from the agent's answer. Further ones are ignored.
const VALUES_MAX: usize = 500;
/// Maximum number of offered values that an error about an unknown value names.
const VALUES_SHOWN_MAX: usize = 20;

/// The modes, models and efforts that a session offers, as in the agent's answer to the request that opened the
/// session.
pub struct SessionOffer {
    answer: Value,
}

/// A mode, model or effort that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OfferedValue {
    id: String,
    name: String,
}

/// The protocol method with which the mode, the model or the effort is set.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Setter {
    /// `session/set_mode`
    Mode,
    /// `session/set_model`, an extension of some agents.
    Model,
    /// `session/set_config_option` for the option with this id.
    Option(String),
}

/// What a session offers for one [`SessionChoice`], such as the mode: the current value and the possible values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OfferedChoice {
    setter: Setter,
    current: Option<String>,
    values: Vec<OfferedValue>,
}

impl SessionOffer {
    pub fn new(answer: Value) -> SessionOffer {
        SessionOffer { answer }
    }

    /// Returns the id of the offered value of `choice` whose id or name is `wanted`; `None` if no such value is
    /// offered.
    pub fn id_of(&self, choice: SessionChoice, wanted: &str) -> Option<String> {
        Some(self.find(choice)?.value(wanted)?.to_string())
    }

    /// Returns how the session offers `choice`; `None` if it does not offer it.
    fn find(&self, choice: SessionChoice) -> Option<OfferedChoice> {
        match choice {
            SessionChoice::Mode => self
                .listed(
                    "modes",
                    "currentModeId",
                    "availableModes",
                    "id",
                    Setter::Mode,
                )
                .or_else(|| self.option(&["mode"], &["mode"])),
            SessionChoice::Model => self.option(&["model"], &["model"]).or_else(|| {
                let names = ("models", "currentModelId", "availableModels", "modelId");
                self.listed(names.0, names.1, names.2, names.3, Setter::Model)
            }),
            SessionChoice::Effort => self.option(
                &["thought_level"],
                &["effort", "reasoning_effort", "thought_level", "thinking"],
            ),
        }
    }

    fn listed(
        &self,
        field: &str,
        current: &str,
        list: &str,
        value: &str,
        setter: Setter,
    ) -> Option<OfferedChoice> {
        let state = self.answer.get(field)?;
        let values = state.get(list)?.as_array()?.iter();
        let values = values.filter_map(|offered| offered_value(offered, value));
        Some(OfferedChoice {
            setter,
            current: id(state, current),
            values: values.take(VALUES_MAX).collect(),
        })
    }

    /// Returns the configuration option with one of these categories, or else with one of these ids.
    fn option(&self, categories: &[&str], ids: &[&str]) -> Option<OfferedChoice> {
        let options = self.answer.get("configOptions")?.as_array()?;
        let has = |option: &Value, field: &str, wanted: &[&str]| {
            let value = option.get(field).and_then(Value::as_str);
            value.is_some_and(|value| wanted.contains(&value))
        };
        let found = options
            .iter()
            .find(|option| has(option, "category", categories));
        let option = found.or_else(|| options.iter().find(|option| has(option, "id", ids)))?;
        let groups = option.get("options")?.as_array()?.iter();
        // An option lists values, or groups of values.
        let values =
            groups.flat_map(
                |entry| match entry.get("options").and_then(Value::as_array) {
                    Some(group) => group.iter().collect(),
                    None => vec![entry],
                },
            );
        let values = values.filter_map(|offered| offered_value(offered, "value"));
        Some(OfferedChoice {
            setter: Setter::Option(id(option, "id")?),
            current: id(option, "currentValue"),
            values: values.take(VALUES_MAX).collect(),
        })
    }
}

fn offered_value(offered: &Value, field: &str) -> Option<OfferedValue> {
    let id = id(offered, field)?;
    let name = offered.get("name").and_then(Value::as_str);
    Some(OfferedValue {
        name: name.unwrap_or(&id).to_string(),
        id,
    })
}

impl OfferedChoice {
    /// Returns the id of the value whose id is `wanted`, or else of the first value whose name is `wanted`; case does
    /// not matter in names.
    fn value(&self, wanted: &str) -> Option<&str> {
        let by_id = self.values.iter().find(|value| value.id == wanted);
        let by_name = || {
            let mut values = self.values.iter();
            values.find(|value| value.name.eq_ignore_ascii_case(wanted))
        };
        Some(by_id.or_else(by_name)?.id.as_str())
    }

    fn unknown_value(&self, redactor: &Redactor) -> String {
        let ids = self.values.iter().take(VALUES_SHOWN_MAX);
        let names: Vec<String> = ids
            .map(|value| one_line(&short(&value.id, redactor)))
            .collect();
        let all = join_names(&names, VALUES_SHOWN_MAX, self.values.len());
        format!("the agent offers: {all}")
    }
}

/// Sets the mode, the model and the effort of `spec` in the session. Returns what could not be set.
pub async fn set_all(
    connection: &AgentConnection,
    session: &str,
    offer: &SessionOffer,
    spec: &SessionSpec,
) -> Vec<UnsetChoice> {
    let mut unset = Vec::new();
    // The mode comes last, so that no other choice can change it.
    for (choice, value) in [
        (SessionChoice::Model, &spec.model),
        (SessionChoice::Effort, &spec.effort),
        (SessionChoice::Mode, &spec.mode),
    ] {
        let Some(value) = value else { continue };
        if let Err(why) = set(connection, session, offer, choice, value).await {
            unset.push(UnsetChoice {
                choice,
                value: value.clone(),
                why,
            });
        }
    }
    unset
}

/// Sets `choice` to the value whose id or name is `wanted`. A value that the agent does not list is sent as it is,
/// except for a mode, which must be listed. The error says why the value could not be set.
pub async fn set(
    connection: &AgentConnection,
    session: &str,
    offer: &SessionOffer,
    choice: SessionChoice,
    wanted: &str,
) -> Result<(), String> {
    let Some(offered) = offer.find(choice) else {
        return Err(format!(
            "the agent offers no choice of the {}",
            choice.label()
        ));
    };
    // Agents may accept more values than they list, such as other names of a model. Modes are always listed.
    let value = match offered.value(wanted) {
        Some(value) => value,
        None if choice == SessionChoice::Mode => {
            return Err(offered.unknown_value(&connection.options.redactor));
        }
        None => wanted,
    };
    // The current value is set again, because it may have changed since the session was opened.
    let (method, params) = match &offered.setter {
        Setter::Mode => (
            "session/set_mode",
            json!({ "sessionId": session, "modeId": value }),
        ),
        Setter::Model => (
            "session/set_model",
            json!({ "sessionId": session, "modelId": value }),
        ),
        Setter::Option(option) => (
            "session/set_config_option",
            json!({ "sessionId": session, "configId": option, "value": value }),
        ),
    };
    let limit = Some(connection.options.request_timeout);
    let answer = connection.request(method, params, limit, |_| {}).await;
    let answer = answer.map_err(|error| {
        if offered.value(wanted).is_some() {
            error.to_string()
        } else {
            format!(
                "{error}; {}",
                offered.unknown_value(&connection.options.redactor)
            )
        }
    })?;
    // The answer has the options after the change: the agent may have ignored the value.
    let after = SessionOffer::new(answer)
        .find(choice)
        .and_then(|choice| choice.current);
    match after {
        Some(after) if after != value => Err(format!("the agent keeps '{}'", one_line(&after))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn offer(answer: Value) -> SessionOffer {
        SessionOffer::new(answer)
    }

    #[test]
    fn values_are_found_in_lists_and_groups() {
        let flat = json!([{ "value": "a", "name": "Model A" }, { "value": "b" }]);
        let groups = json!([{ "group": "g", "name": "G", "options": flat }]);
        for options in [flat, groups] {
            let offer = offer(json!({
                "configOptions": [
                    { "id": "x", "category": "mode", "options": [] },
                    { "id": "m", "category": "model", "currentValue": "b", "options": options },
                ],
            }));
            let choice = offer.find(SessionChoice::Model).unwrap();
            assert_eq!(choice.setter, Setter::Option("m".into()));
            assert_eq!(choice.value("model a"), Some("a"));
            assert_eq!((choice.value("b"), choice.value("c")), (Some("b"), None));
        }
    }

    #[test]
    fn older_lists_of_modes_and_models_are_used() {
        let offer = offer(json!({
            "modes": { "currentModeId": "default", "availableModes": [{ "id": "plan", "name": "Plan" }] },
            "models": { "currentModelId": "m", "availableModels": [{ "modelId": "m", "name": "M" }] },
        }));
        assert_eq!(
            offer.find(SessionChoice::Mode).unwrap().setter,
            Setter::Mode
        );
        assert_eq!(
            offer.find(SessionChoice::Model).unwrap().setter,
            Setter::Model
        );
        assert_eq!(offer.find(SessionChoice::Effort), None);
    }

    #[test]
    fn strange_offers_offer_nothing() {
        for answer in [
            json!(null),
            json!([]),
            json!({ "configOptions": {}, "modes": [], "models": 1 }),
            json!({ "configOptions": [{ "category": "model" }, { "id": "model", "options": 3 }] }),
        ] {
            for choice in [
                SessionChoice::Mode,
                SessionChoice::Model,
                SessionChoice::Effort,
            ] {
                assert_eq!(offer(answer.clone()).find(choice), None);
            }
        }
    }
}

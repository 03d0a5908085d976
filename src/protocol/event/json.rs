//! The flat JSON form of events: `{"seq": …, "at": …, "type": …, "agent": …, …}`.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::sync::LazyLock;

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::agent_field::AgentAfterTag;
use super::{AgentEvent, BoardEvent, Event, EventKind, TeamEvent};

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EventKind::Agent { agent, event } => {
                let fields = serializer.serialize_map(None)?;
                let agent = Some(agent);
                event.serialize(AgentAfterTag { fields, agent })
            }
            EventKind::Board(event) => event.serialize(serializer),
            EventKind::Team(event) => event.serialize(serializer),
            EventKind::Crew(event) => event.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        let mut fields = Fields::deserialize(deserializer)?;
        let decode = || {
            Ok(Event {
                seq: fields.take("seq")?,
                at: fields.take("at")?,
                kind: fields.into_kind()?,
            })
        };
        decode().map_err(|error: serde_json::Error| D::Error::custom(error))
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EventKind, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        fields.into_kind().map_err(D::Error::custom)
    }
}

/// The fields of a JSON object in their order. The fields are in a list and not in a map, because a list is faster to
/// build and journals have many events.
struct Fields<'de>(Vec<(Cow<'de, str>, Value)>);

impl<'de> Fields<'de> {
    fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> serde_json::Result<T> {
        let at = self.0.iter().position(|(key, _)| key == name);
        let at = at.ok_or_else(|| serde_json::Error::missing_field(name))?;
        T::deserialize(self.0.remove(at).1)
    }

    fn into_kind(mut self) -> serde_json::Result<EventKind> {
        let tag = self.0.iter().find(|(key, _)| key == "type");
        let tag = tag.and_then(|(_, tag)| tag.as_str());
        let tag = tag.ok_or_else(|| serde_json::Error::missing_field("type"))?;
        if TAGS.agent.contains(&tag) {
            let agent = self.take("agent")?;
            Ok(self.into_group::<AgentEvent>()?.of(agent))
        } else if TAGS.board.contains(&tag) {
            self.into_group().map(EventKind::Board)
        } else if TAGS.team.contains(&tag) {
            self.into_group().map(EventKind::Team)
        } else {
            // A tag that is in no group is reported as unknown by the decoder of `CrewEvent`.
            self.into_group().map(EventKind::Crew)
        }
    }

    fn into_group<T: Deserialize<'de>>(self) -> serde_json::Result<T> {
        T::deserialize(MapDeserializer::new(self.0.into_iter()))
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields<'de>, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        #[derive(Deserialize)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

        let mut fields = Vec::with_capacity(12);
        while let Some((Key(key), value)) = map.next_entry()? {
            fields.push((key, value));
        }
        Ok(Fields(fields))
    }
}

/// For each group of events, the values that the field `type` can have. All other values belong to [`EventKind::Crew`].
struct Tags {
    agent: &'static [&'static str],
    board: &'static [&'static str],
    team: &'static [&'static str],
}

static TAGS: LazyLock<Tags> = LazyLock::new(|| Tags {
    agent: tags::<AgentEvent>(),
    board: tags::<BoardEvent>(),
    team: tags::<TeamEvent>(),
});

/// Returns all values that the field `type` can have in the JSON form of `T`. For this, decodes a value with an unknown
/// `type`: serde's error lists the known types.
pub(super) fn tags<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown = MapDeserializer::<_, UnknownTag>::new(std::iter::once(("type", "")));
    T::deserialize(unknown).err().map_or(&[], |e| e.known)
}

#[derive(Debug)]
struct UnknownTag {
    known: &'static [&'static str],
}

impl de::Error for UnknownTag {
    fn custom<T: Display>(_: T) -> UnknownTag {
        UnknownTag { known: &[] }
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> UnknownTag {
        UnknownTag { known }
    }
}

impl Display for UnknownTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown tag")
    }
}

impl std::error::Error for UnknownTag {}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::Name;
    use crate::protocol::event::CrewEvent;
    use crate::protocol::{CommandId, EventKind};

    fn read(fields: &str) -> Result<Event, String> {
        let line = format!(r#"{{"seq":1,"at":2.0,{fields}}}"#);
        serde_json::from_str(&line).map_err(|e| e.to_string())
    }

    #[test]
    fn order_of_fields_does_not_matter() {
        let event = read(r#""text":"hi","agent":"lead","later":[1],"type":"text_delta""#);
        let text = "hi".to_string();
        assert_eq!(
            event.unwrap().kind,
            AgentEvent::TextDelta { text }.of(Name::lead())
        );
    }

    #[test]
    fn errors_name_the_cause() {
        for (fields, cause) in [
            (r#""text":"hi""#, "missing field `type`"),
            (r#""type":"turn_started""#, "missing field `agent`"),
            (
                r#""type":"from_the_future""#,
                "unknown variant `from_the_future`",
            ),
            (
                r#""type":"text_delta","agent":"lead""#,
                "missing field `text`",
            ),
        ] {
            let error = read(fields).unwrap_err();
            assert!(error.contains(cause), "{error}");
        }
    }

    #[test]
    fn rejections_in_journals_of_all_versions_are_read() {
        for (fields, command) in [
            ("", None),
            (r#""asked":null,"#, None),
            (r#""asked":{"command":"prompt","to":"lead"},"#, None),
            (r#""command":3,"#, Some(CommandId(3))),
        ] {
            let event = read(&format!(r#""type":"refused",{fields}"why":"no""#));
            let why = "no".to_string();
            let kind = EventKind::Crew(CrewEvent::CommandRejected { command, why });
            assert_eq!(event.unwrap().kind, kind, "{fields}");
        }
    }
}

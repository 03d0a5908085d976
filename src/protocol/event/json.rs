//! The flat JSON form of [`EventKind`]: `{"type": …, "agent": …, …}`.

use std::fmt::{self, Display};
use std::sync::LazyLock;

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use super::{AgentEvent, BoardEvent, CrewEvent, EventKind, TeamEvent};

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EventKind::Agent { agent, event } => {
                let mut event = serde_json::to_value(event).map_err(S::Error::custom)?;
                if let Value::Object(fields) = &mut event {
                    fields.shift_insert(1, "agent".into(), agent.as_str().into());
                }
                event.serialize(serializer)
            }
            EventKind::Board(event) => event.serialize(serializer),
            EventKind::Team(event) => event.serialize(serializer),
            EventKind::Crew(event) => event.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EventKind, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let tag = fields.get("type").and_then(Value::as_str);
        let tag = tag.ok_or_else(|| D::Error::missing_field("type"))?;
        let group = GROUPS.iter().find(|(tags, _)| tags.contains(&tag));
        let Some((_, decode)) = group else {
            return Err(D::Error::custom(format_args!("unknown event type `{tag}`")));
        };
        decode(&mut fields).map_err(D::Error::custom)
    }
}

type Decode = fn(&mut Map<String, Value>) -> serde_json::Result<EventKind>;

/// The groups: the tags of their events, and how they are decoded.
static GROUPS: LazyLock<[(&[&str], Decode); 4]> = LazyLock::new(|| {
    [
        (tags::<AgentEvent>(), |fields| {
            let agent = fields.remove("agent").unwrap_or_default();
            Ok(from_fields::<AgentEvent>(fields)?.of(serde_json::from_value(agent)?))
        }),
        (tags::<BoardEvent>(), |fields| {
            from_fields(fields).map(EventKind::Board)
        }),
        (tags::<TeamEvent>(), |fields| {
            from_fields(fields).map(EventKind::Team)
        }),
        (tags::<CrewEvent>(), |fields| {
            from_fields(fields).map(EventKind::Crew)
        }),
    ]
});

fn from_fields<T: DeserializeOwned>(fields: &mut Map<String, Value>) -> serde_json::Result<T> {
    serde_json::from_value(Value::Object(std::mem::take(fields)))
}

/// Returns the tags of an enum that serde tags with `type`, as its derived decoder reports them for an unknown tag.
fn tags<T: DeserializeOwned>() -> &'static [&'static str] {
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

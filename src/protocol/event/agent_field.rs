//! A serializer that adds the field `agent` to the JSON form of an event of an agent.

use serde::ser::{Error as _, Impossible, SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::domain::ids::Name;

/// A serializer that passes the fields of an event on to `fields`. Adds the field `agent` after the first field, which
/// is the event's tag.
pub struct AgentAfterTag<'a, M> {
    pub fields: M,
    /// The value of the field `agent`; `None` once it is written.
    pub agent: Option<&'a Name>,
}

impl<M: SerializeMap> SerializeMap for AgentAfterTag<'_, M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), M::Error> {
        self.fields.serialize_key(key)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), M::Error> {
        self.fields.serialize_value(value)?;
        let agent = self.agent.take();
        agent.map_or(Ok(()), |agent| self.fields.serialize_entry("agent", agent))
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.fields.end()
    }
}

impl<M: SerializeMap> SerializeStruct for AgentAfterTag<'_, M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        self.serialize_entry(key, value)
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.fields.end()
    }
}

/// Defines the serializer methods for values that are not objects. These methods always return an error, because an
/// event is always an object.
macro_rules! reject {
    ($ok:ty: $($method:ident $(<$T:ident>)? ($($arg:ty),*),)*) => {$(
        fn $method $(<$T: ?Sized + Serialize>)? (self $(, _: $arg)*) -> Result<$ok, M::Error> {
            Err(M::Error::custom("an event must be an object"))
        }
    )*};
}

impl<M: SerializeMap> Serializer for AgentAfterTag<'_, M> {
    type Ok = M::Ok;
    type Error = M::Error;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeSeq = Impossible<M::Ok, M::Error>;
    type SerializeTuple = Impossible<M::Ok, M::Error>;
    type SerializeTupleStruct = Impossible<M::Ok, M::Error>;
    type SerializeTupleVariant = Impossible<M::Ok, M::Error>;
    type SerializeStructVariant = Impossible<M::Ok, M::Error>;

    fn serialize_map(self, _: Option<usize>) -> Result<Self, M::Error> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, M::Error> {
        Ok(self)
    }

    reject! { M::Ok:
        serialize_bool(bool), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
        serialize_f32(f32), serialize_f64(f64), serialize_none(), serialize_some<T>(&T),
        serialize_unit(), serialize_unit_struct(&'static str),
        serialize_unit_variant(&'static str, u32, &'static str),
        serialize_newtype_struct<T>(&'static str, &T),
        serialize_newtype_variant<T>(&'static str, u32, &'static str, &T),
    }

    reject! { Impossible<M::Ok, M::Error>:
        serialize_seq(Option<usize>), serialize_tuple(usize),
        serialize_tuple_struct(&'static str, usize),
        serialize_tuple_variant(&'static str, u32, &'static str, usize),
        serialize_struct_variant(&'static str, u32, &'static str, usize),
    }
}

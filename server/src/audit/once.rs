//! JSON in which no object has a key twice. Readers differ in which of the two they
//! take, so what has one says different things to different people.

use std::{collections::BTreeSet, fmt};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// What was read, which is forgotten at once: it has each key once.
pub struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Once;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_str<E>(self, _: &str) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Once, A::Error> {
        while let Some(Once) = seq.next_element()? {}
        Ok(Once)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once, A::Error> {
        let mut keys: BTreeSet<String> = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let Once = map.next_value()?;
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!(
                    "it is not in canonical form: the key `{key}` is there twice"
                )));
            }
            keys.insert(key);
        }
        Ok(Once)
    }
}

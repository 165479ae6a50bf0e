//! Bodies and queries, read into the wire types: what cannot be read is told
//! from what reads as something else.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use baton_client::Code;
use percent_encoding::percent_decode_str;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{answer::Oops, call::Call};

/// How long a body may take to arrive.
const ARRIVE_WITHIN: Duration = Duration::from_secs(30);

impl Call {
    /// The JSON body, at most `bytes_max` long.
    pub async fn json<T: DeserializeOwned>(&mut self, bytes_max: usize) -> Result<T, Oops> {
        expect_json(&self.headers)?;
        read_json(&read(self.take_body(), bytes_max).await?)
    }

    /// The query.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T, Oops> {
        read_query(&self.query)
    }
}

/// A whole body, at most `bytes_max` long.
pub async fn read(body: Body, bytes_max: usize) -> Result<Bytes, Oops> {
    tokio::time::timeout(ARRIVE_WITHIN, axum::body::to_bytes(body, bytes_max))
        .await
        .map_err(|_| {
            let seconds = ARRIVE_WITHIN.as_secs();
            let detail = format!("the body did not arrive within {seconds} seconds");
            Oops::new(Code::Malformed, detail)
        })?
        .map_err(|error| unread(&error, bytes_max))
}

fn expect_json(headers: &HeaderMap) -> Result<(), Oops> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Oops::new(
            Code::UnsupportedMediaType,
            "the body must come as it is, without Content-Encoding",
        ));
    }
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let got = if kind.is_empty() {
        "there is none".to_owned()
    } else {
        format!("it is `{kind}`")
    };
    Err(Oops::new(
        Code::UnsupportedMediaType,
        format!("the body must come with `Content-Type: application/json`, and {got}"),
    ))
}

/// A body that could not be read to its end: too long, or cut off.
fn unread(error: &axum::Error, bytes_max: usize) -> Oops {
    use std::error::Error as _;
    let too_long = error
        .source()
        .is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
    if too_long {
        Oops::new(
            Code::TooLarge,
            format!("the body is longer than {bytes_max} bytes"),
        )
    } else {
        Oops::new(Code::Malformed, "the body ended early")
    }
}

fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Oops> {
    if let Ok(Named(value)) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    // Only now, to say what is wrong: is it JSON at all, and if so, where does
    // it go astray?
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Oops::new(Code::Malformed, format!("the body is not UTF-8: {error}")))?;
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Err(Oops::new(
            Code::Malformed,
            format!("the body is not JSON: {error}"),
        ));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize(&mut reader) {
        Ok(Named(value)) => Ok(value),
        Err(error) => Err(wrong(&error.path().to_string(), error.inner(), "body")),
    }
}

/// An object, whose fields have names. Serde by itself would read a list of the
/// values as well.
pub struct Named<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
            type Value = T;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer
            .deserialize_map(Object(std::marker::PhantomData))
            .map(Self)
    }
}

fn read_query<T: DeserializeOwned>(query: &str) -> Result<T, Oops> {
    if percent_decode_str(query).decode_utf8().is_err() {
        return Err(Oops::new(
            Code::Malformed,
            "the query is not UTF-8 when percent-decoded",
        ));
    }
    let pairs = form_urlencoded::parse(query.as_bytes());
    let reader = serde_urlencoded::Deserializer::new(pairs);
    serde_path_to_error::deserialize(reader)
        .map_err(|error| wrong(&error.path().to_string(), error.inner(), "query"))
}

fn wrong(path: &str, why: &impl std::fmt::Display, whole: &str) -> Oops {
    let why = why.to_string();
    // What is at the top has no name, or none that was reached.
    let inside = !matches!(path, "" | "." | "?");
    let field = match (named(&why), inside) {
        // An unknown field is already part of the path; the others are not.
        (Some(name), true) if path.rsplit('.').next() != Some(name) => format!("{path}.{name}"),
        (Some(name), false) => name.to_owned(),
        (_, true) => path.to_owned(),
        (None, false) => whole.to_owned(),
    };
    Oops::field(&field, why)
}

/// The field that is missing, unknown or there twice. Serde has no other way to
/// say which than these words; a test holds them.
fn named(why: &str) -> Option<&str> {
    let rest = ["missing field `", "unknown field `", "duplicate field `"]
        .into_iter()
        .find_map(|start| why.strip_prefix(start))?;
    rest.split('`').next()
}

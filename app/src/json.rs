//! JSON as the page's functions carry it. As Leptos' own, but read as text:
//! everything else in the page reads text, and a second reader for bytes would
//! be compiled in full for every type (a tenth of the whole WebAssembly).

use leptos::server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType, codec::Post};
use serde::{Serialize, de::DeserializeOwned};

/// The encoding.
pub struct Text;

/// The same as the body of a `POST`.
pub type Json = Post<Text>;

impl ContentType for Text {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for Text {
    const FORMAT_TYPE: Format = Format::Text;
}

impl<T: Serialize> Encodes<T> for Text {
    type Error = serde_json::Error;

    fn encode(output: &T) -> Result<Bytes, Self::Error> {
        serde_json::to_vec(output).map(Bytes::from)
    }
}

impl<T: DeserializeOwned> Decodes<T> for Text {
    type Error = serde_json::Error;

    fn decode(bytes: Bytes) -> Result<T, Self::Error> {
        // What is not UTF-8 is not JSON either, and the empty text says so.
        serde_json::from_str(std::str::from_utf8(&bytes).unwrap_or_default())
    }
}

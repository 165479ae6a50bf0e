//! Forms: what was typed, what is wrong with it, and the fields that show both.

use baton_client::FieldError;
use leptos::prelude::*;

/// What a person typed into a form, or what its address fills in, and what is
/// wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Filled {
    values: Vec<(String, String)>,
    errors: Vec<FieldError>,
}

impl Filled {
    /// Fields with their values, in the order in which they came.
    pub fn new(values: Vec<(String, String)>) -> Self {
        Self {
            values,
            errors: Vec::new(),
        }
    }

    /// The same, with what is wrong. Errors of fields that the form has under
    /// another name are renamed by `names`: `(theirs, ours)`.
    pub fn wrong(mut self, errors: &[FieldError], names: &[(&str, &str)]) -> Self {
        for error in errors {
            let mut error = error.clone();
            if let Some((_, ours)) = names.iter().find(|(theirs, _)| *theirs == error.field) {
                error.field = (*ours).to_owned();
            }
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
        self
    }

    /// A field's value, empty if it did not come.
    pub fn get(&self, field: &str) -> &str {
        self.all(field).next().unwrap_or_default()
    }

    /// A field's value, if there is more in it than blanks.
    pub fn said(&self, field: &str) -> Option<&str> {
        Some(self.get(field)).filter(|value| !value.trim().is_empty())
    }

    /// All values of a field that can come several times.
    pub fn all(&self, field: &str) -> impl Iterator<Item = &str> {
        self.values
            .iter()
            .filter(move |(name, _)| name == field)
            .map(|(_, value)| value.as_str())
    }

    /// All fields.
    pub fn values(&self) -> &[(String, String)] {
        &self.values
    }

    /// What is wrong.
    pub fn errors(&self) -> &[FieldError] {
        &self.errors
    }

    /// What is wrong with a field, in a sentence.
    pub fn error(&self, field: &str) -> Option<String> {
        let errors = self.errors.iter().filter(|error| error.field == field);
        let said: Vec<&str> = errors.map(|error| error.message.as_str()).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Whether this is the first field that is wrong, where to go on.
    fn is_first_wrong(&self, field: &str) -> bool {
        self.errors
            .first()
            .is_some_and(|error| error.field == field)
    }
}

/// How a field is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Field {
    /// Its name in the form, and its id.
    pub name: &'static str,
    /// What it is.
    pub label: &'static str,
    /// What to know about it.
    pub hint: &'static str,
    /// The most characters that make sense.
    pub chars_max: usize,
    /// The form makes no sense without it.
    pub required: bool,
    /// What browsers may fill in, in HTML's word.
    pub autocomplete: &'static str,
    /// The field is a password.
    pub secret: bool,
}

/// A field of one line.
pub fn text_field(filled: &Filled, field: Field) -> AnyView {
    let Field { name, label, .. } = field;
    let (error, described) = described(filled, name);
    let kind = if field.secret { "password" } else { "text" };
    let value = (!field.secret).then(|| filled.get(name).to_owned());
    view! {
        <div class="field">
            <label for=name>{label} " " {hint(field.hint)}</label>
            <input
                id=name
                name=name
                type=kind
                value=value
                maxlength=field.chars_max.to_string()
                required=field.required
                autocomplete=if field.autocomplete.is_empty() { "off" } else { field.autocomplete }
                autocapitalize="none"
                spellcheck="false"
                autofocus=filled.is_first_wrong(name)
                aria-invalid=described.is_some().then_some("true")
                aria-describedby=described
            />
            {error}
        </div>
    }
    .into_any()
}

/// A field of several lines.
pub fn long_field(filled: &Filled, field: Field) -> AnyView {
    let Field { name, label, .. } = field;
    let (error, described) = described(filled, name);
    // Browsers drop one newline at the start, and this element's text is the one
    // that Leptos does not escape.
    let text = format!("\n{}", html_escape::encode_text(filled.get(name)));
    view! {
        <div class="field">
            <label for=name>{label} " " {hint(field.hint)}</label>
            <textarea
                id=name
                name=name
                rows="2"
                required=field.required
                autofocus=filled.is_first_wrong(name)
                aria-invalid=described.is_some().then_some("true")
                aria-describedby=described
            >
                {text}
            </textarea>
            {error}
        </div>
    }
    .into_any()
}

/// One of a few, each with its value and its words.
pub fn select_field(
    filled: &Filled,
    name: &'static str,
    label: &'static str,
    choices: &[(String, String)],
    first: &str,
) -> AnyView {
    let (error, described) = described(filled, name);
    let chosen = filled.said(name).unwrap_or(first);
    let known = choices.iter().any(|(value, _)| value == chosen);
    // What an address asks for may be none of ours, and is shown all the same.
    let other = (!known).then(|| (chosen.to_owned(), chosen.to_owned()));
    let options = choices.iter().cloned().chain(other).map(|(value, words)| {
        let selected = value == chosen;
        view! {
            <option value=value selected=selected>
                {words}
            </option>
        }
    });
    view! {
        <div class="field">
            <label for=name>{label}</label>
            <select
                id=name
                name=name
                autofocus=filled.is_first_wrong(name)
                aria-invalid=described.is_some().then_some("true")
                aria-describedby=described
            >
                {options.collect_view()}
            </select>
            {error}
        </div>
    }
    .into_any()
}

fn hint(hint: &'static str) -> Option<AnyView> {
    (!hint.is_empty()).then(|| view! { <span class="muted">{hint}</span> }.into_any())
}

/// What is wrong with a field, and its id.
pub fn described(filled: &Filled, name: &str) -> (Option<AnyView>, Option<String>) {
    let Some(text) = filled.error(name) else {
        return (None, None);
    };
    let id = format!("{name}-wrong");
    let error = view! {
        <p class="wrong" id=id.clone()>
            <bdi>{text}</bdi>
        </p>
    };
    (Some(error.into_any()), Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(field: &str, message: &str) -> FieldError {
        FieldError {
            field: field.into(),
            message: message.into(),
        }
    }

    fn filled() -> Filled {
        Filled::new(vec![("reason".into(), "</textarea><b>&".into())]).wrong(
            &[wrong("bar_ms", "is 1"), wrong("reason", "is bad")],
            &[("bar_ms", "for_ms")],
        )
    }

    #[test]
    fn errors_stand_beside_the_fields_that_the_form_has() {
        let filled = filled();
        assert_eq!(filled.error("for_ms").as_deref(), Some("is 1"));
        assert_eq!(filled.error("bar_ms"), None);
        assert!(filled.is_first_wrong("for_ms") && !filled.is_first_wrong("reason"));
    }

    #[test]
    fn what_was_typed_comes_back_as_text() {
        let owner = Owner::new();
        let field = Field {
            name: "reason",
            label: "Why?",
            ..Field::default()
        };
        let html = owner.with(|| long_field(&filled(), field).to_html());
        assert!(html.contains("&lt;/textarea&gt;&lt;b&gt;&amp;"), "{html}");
        assert!(!html.contains("<b>"), "{html}");
        let html = owner.with(|| text_field(&filled(), field).to_html());
        assert!(!html.contains("<b>"), "{html}");
    }
}

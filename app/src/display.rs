//! How a reader wants pages to be shown. Kept in cookies of this site, a choice
//! each, so that it holds in one browser and for whoever uses it, signed in or
//! not.

/// The theme.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system has it.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// How moments are written. The exact time in UTC is to be had in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Times {
    /// In UTC.
    #[default]
    Utc,
    /// In the time zone of the browser, which alone knows it: a page without a
    /// script shows UTC, and says so.
    Local,
    /// How long ago it was on the database's clock.
    Ago,
}

/// Whether pages listen to single keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keys {
    /// They do.
    #[default]
    On,
    /// They do not.
    Off,
}

/// One of a few: its word in the cookie, the form and the document, and what it
/// is called on the page.
pub trait Choice: Copy + Default + PartialEq + 'static {
    /// The cookie's name, and the form field's.
    const FIELD: &'static str;
    /// All there are, the first one the default.
    const ALL: &'static [(Self, &'static str, &'static str)];

    /// The choice of this word.
    fn read(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|choice| choice.1 == word).map(|choice| choice.0)
    }

    /// The word for it.
    fn as_str(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|choice| choice.0 == self)
            .map_or("", |choice| choice.1)
    }

    /// The word for it in the document, which says nothing of what is usual.
    fn marked(self) -> Option<&'static str> {
        (self != Self::default()).then(|| self.as_str())
    }
}

impl Choice for Theme {
    const FIELD: &'static str = "theme";
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::System, "system", "As the system has it"),
        (Self::Light, "light", "Light"),
        (Self::Dark, "dark", "Dark"),
    ];
}

impl Choice for Times {
    const FIELD: &'static str = "times";
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Utc, "utc", "UTC"),
        (Self::Local, "local", "This browser’s local time"),
        (Self::Ago, "ago", "How long ago"),
    ];
}

impl Choice for Keys {
    const FIELD: &'static str = "keys";
    const ALL: &'static [(Self, &'static str, &'static str)] =
        &[(Self::On, "on", "On"), (Self::Off, "off", "Off")];
}

/// All that a reader can choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Display {
    /// The theme.
    pub theme: Theme,
    /// How moments are written.
    pub times: Times,
    /// Whether pages listen to single keys.
    pub keys: Keys,
}

impl Display {
    /// Reads the cookies, asking `get` for each. What cannot be read is taken as
    /// not chosen.
    pub fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        fn chosen<'a, C: Choice>(get: impl Fn(&str) -> Option<&'a str>) -> C {
            get(C::FIELD).and_then(C::read).unwrap_or_default()
        }
        Self {
            theme: chosen(&get),
            times: chosen(&get),
            keys: chosen(&get),
        }
    }

    /// The cookies that keep this: their names and values.
    pub fn cookies(self) -> [(&'static str, &'static str); 3] {
        [
            (Theme::FIELD, self.theme.as_str()),
            (Times::FIELD, self.times.as_str()),
            (Keys::FIELD, self.keys.as_str()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_comes_back_from_its_cookies() {
        for (theme, ..) in Theme::ALL {
            for (times, ..) in Times::ALL {
                for (keys, ..) in Keys::ALL {
                    let display = Display {
                        theme: *theme,
                        times: *times,
                        keys: *keys,
                    };
                    let cookies = display.cookies();
                    let get = |name: &str| cookies.iter().find(|c| c.0 == name).map(|c| c.1);
                    assert_eq!(Display::read(get), display);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_chosen() {
        assert_eq!(Display::read(|_| None), Display::default());
        assert_eq!(Display::read(|_| Some("Dark\"")), Display::default());
        assert_eq!(Display::default().theme.marked(), None);
        assert_eq!(Theme::Dark.marked(), Some("dark"));
    }

    #[test]
    fn the_first_of_all_choices_is_the_default() {
        assert_eq!(Theme::ALL[0].0, Theme::default());
        assert_eq!(Times::ALL[0].0, Times::default());
        assert_eq!(Keys::ALL[0].0, Keys::default());
    }
}

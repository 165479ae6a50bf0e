//! Medians, percentiles, and the table in Markdown.

use std::{fmt::Write as _, time::Duration};

/// A target that a ratio is held against.
#[derive(Clone, Copy)]
pub enum Target {
    /// As much or more is right.
    AtLeast(f64),
    /// As much or less is right.
    AtMost(f64),
    /// Only for information.
    None,
}

impl Target {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMost(most) => ratio <= most,
            Self::None => true,
        }
    }
}

/// The results.
#[derive(Default)]
pub struct Report {
    /// Markdown.
    pub text: String,
    /// What was missed, in words.
    pub missed: Vec<String>,
}

impl Report {
    /// A heading and the head of a table.
    pub fn table(&mut self, title: &str, columns: &[&str]) {
        let _ = write!(self.text, "\n### {title}\n\n| {} |\n|", columns.join(" | "));
        for i in 0..columns.len() {
            self.text
                .push_str(if i == 0 { " --- |" } else { " ---: |" });
        }
        self.text.push('\n');
    }

    /// A line of prose.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    /// A row whose ratio has a target. What it is of what, and the cells before
    /// the ratio.
    pub fn row(&mut self, what: &str, cells: &[String], ratio: f64, target: Target) {
        let (wanted, met) = match target {
            Target::AtLeast(least) => (format!("≥ {least:.2}"), target.is_met(ratio)),
            Target::AtMost(most) => (format!("≤ {most:.2}"), target.is_met(ratio)),
            Target::None => (String::new(), true),
        };
        let shown = if met {
            format!("{ratio:.2}")
        } else {
            format!("**{ratio:.2}**")
        };
        let _ = writeln!(
            self.text,
            "| {what} | {} | {shown} | {wanted} |",
            cells.join(" | ")
        );
        if !met {
            self.missed
                .push(format!("{what}: {ratio:.2}, and it should be {wanted}"));
        }
    }
}

/// The middle one of some measurements.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

/// What so many in a thousand stay within, in milliseconds.
pub fn percentile(took: &mut [Duration], per_mille: usize) -> f64 {
    if took.is_empty() {
        return f64::NAN;
    }
    took.sort_unstable();
    let at = (took.len() * per_mille)
        .div_ceil(1_000)
        .clamp(1, took.len());
    took[at - 1].as_secs_f64() * 1_000.0
}

/// A whole number with its thousands apart.
pub fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

//! Columns, and spans of time, for people.

use baton_client::Timestamp;

/// Rows in aligned columns. The last column is as wide as it likes.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|&h| h.to_owned()).collect()],
        }
    }

    /// A table without headings, for the lines that follow one.
    pub fn bare() -> Self {
        Self { rows: Vec::new() }
    }

    /// One more row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The whole table, each row a line.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let gap = width.saturating_sub(cell.chars().count()) + 2;
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', gap));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        self.rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    }
}

/// A span of time in the two units that matter.
pub fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if ms < 1_000 {
        format!("{ms} ms")
    } else if seconds < 10 {
        format!("{seconds}.{} s", ms % 1_000 / 100)
    } else if minutes == 0 {
        format!("{seconds} s")
    } else if hours == 0 {
        format!("{minutes} m {} s", seconds % 60)
    } else if days == 0 {
        format!("{hours} h {} m", minutes % 60)
    } else {
        format!("{days} d {} h", hours % 24)
    }
}

/// How a moment lies to the `now` of the same answer.
pub fn relative(now: Timestamp, at: Timestamp) -> String {
    if at > now {
        format!("in {}", span(now.ms_until(at)))
    } else {
        format!("{} ago", span(at.ms_until(now)))
    }
}

/// A moment to the millisecond, for a column.
pub fn clock(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('T') {
        Some((day, time)) => format!("{day} {}Z", time.get(..12).unwrap_or(time)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_characters() {
        let mut table = Table::new(&["A", "B", "C"]);
        table.row(vec!["äöü".into(), "1".into(), "x".into()]);
        table.row(vec!["a".into(), "".into(), "".into()]);
        assert_eq!(table.text(), "A    B  C\näöü  1  x\na\n");
    }

    #[test]
    fn spans_are_short() {
        for (ms, text) in [
            (0, "0 ms"),
            (8_290, "8.2 s"),
            (59_999, "59 s"),
            (192_000, "3 m 12 s"),
            (18_180_000, "5 h 3 m"),
            (187_200_000, "2 d 4 h"),
        ] {
            assert_eq!(span(ms), text);
        }
    }

    #[test]
    fn moments_are_told_from_the_answers_own_now() {
        let now = Timestamp::from_micros(1_000_000_000);
        assert_eq!(relative(now, now.plus_ms(8_200)), "in 8.2 s");
        assert_eq!(relative(now.plus_ms(60_000), now), "1 m 0 s ago");
        assert_eq!(clock(now), "1970-01-01 00:16:40.000Z");
    }
}

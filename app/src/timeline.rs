//! The picture of a lease's time: a lane per holder, tenures as bars, lapses
//! and forced releases as marks, worked out as numbers. `timeline_view` draws it.

use baton_client::Timestamp;

use crate::{
    countdown::coarse,
    moment::utc,
    tenures::{End, Tenure},
};

/// Lanes of their own; older holders share the last one.
const LANES_MAX: usize = 12;
/// Ticks along the bottom, at most.
const TICKS_MAX: i64 = 4;

/// A place along the picture, in hundredths of a percent of its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub i64);

impl Place {
    /// As an attribute of SVG.
    pub fn percent(self) -> String {
        let Self(hundredths) = self;
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    }
}

/// A stretch of a tenure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Where it begins.
    pub from: Place,
    /// How long it is; never nothing, so that it can be seen.
    pub width: Place,
    /// The class in the style sheet.
    pub class: &'static str,
    /// What it is, to be had by pointing at it.
    pub title: String,
    /// The generation, where there is room for it.
    pub label: String,
}

/// Something that happened at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Where.
    pub at: Place,
    /// It was forced, and not a lapse.
    pub forced: bool,
    /// What it is.
    pub title: String,
}

/// One holder's time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lane {
    /// Whose it is.
    pub name: String,
    /// The tenures.
    pub stretches: Vec<Stretch>,
    /// What happened to them.
    pub marks: Vec<Mark>,
}

/// The picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Where it begins.
    pub from: Timestamp,
    /// Where it ends.
    pub to: Timestamp,
    /// The lanes, who held last first.
    pub lanes: Vec<Lane>,
    /// Places along the bottom, and what time they are.
    pub ticks: Vec<(Place, String)>,
    /// Where now is, if it is in the picture.
    pub now: Option<Place>,
}

/// The picture of `tenures` (oldest first) from `from` to `to`, at `now`.
pub fn timeline(tenures: &[Tenure], from: Timestamp, to: Timestamp, now: Timestamp) -> Timeline {
    let scale = Scale { from, to };
    let mut lanes: Vec<Lane> = Vec::new();
    let mut earlier = Lane::default();
    let mut others = 0;
    for tenure in tenures.iter().rev() {
        let begin = tenure.from.unwrap_or(from);
        let end = tenure.until.unwrap_or(now);
        if end < from || begin > to {
            continue;
        }
        let name = tenure.holder.as_str();
        let at = lanes.iter().position(|lane| lane.name == name);
        let lane = match at {
            Some(at) => &mut lanes[at],
            None if lanes.len() < LANES_MAX => {
                lanes.push(Lane {
                    name: name.to_owned(),
                    ..Lane::default()
                });
                let last = lanes.len() - 1;
                &mut lanes[last]
            }
            None => {
                others += 1;
                &mut earlier
            }
        };
        draw(lane, tenure, begin, end, scale);
    }
    if others > 0 {
        earlier.name = format!("{others} earlier tenures of other holders");
        lanes.push(earlier);
    }
    Timeline {
        from,
        to,
        lanes,
        ticks: ticks(scale),
        now: (now >= from && now <= to).then(|| scale.place(now)),
    }
}

fn draw(lane: &mut Lane, tenure: &Tenure, begin: Timestamp, end: Timestamp, scale: Scale) {
    let (left, right) = (scale.place(begin), scale.place(end));
    let width = Place((right.0 - left.0).max(20));
    let since = match tenure.from {
        Some(at) => format!("from {}", utc(at)),
        None => "from before what is shown".to_owned(),
    };
    let until = match tenure.until {
        Some(at) => format!("to {}, {}", utc(at), coarse(begin.ms_until(at))),
        None => "until now".to_owned(),
    };
    lane.stretches.push(Stretch {
        from: Place(left.0.min(10_000 - width.0).max(0)),
        width,
        class: match tenure.end {
            End::Open => "open",
            _ => "over",
        },
        title: format!(
            "{}, generation {}: {since} {until}, {}",
            tenure.holder,
            tenure.generation,
            tenure.end.as_str()
        ),
        label: if width.0 > 600 {
            tenure.generation.to_string()
        } else {
            String::new()
        },
    });
    let mut mark = |at: Timestamp, forced: bool, what: &str| {
        if at >= scale.from && at <= scale.to {
            lane.marks.push(Mark {
                at: scale.place(at),
                forced,
                title: format!("{what} at {}", utc(at)),
            });
        }
    };
    for at in &tenure.lapses {
        mark(*at, false, "lapsed");
    }
    if let (End::Forced, Some(at)) = (tenure.end, tenure.until) {
        mark(at, true, "forced");
    }
}

#[derive(Clone, Copy)]
struct Scale {
    from: Timestamp,
    to: Timestamp,
}

impl Scale {
    fn place(self, at: Timestamp) -> Place {
        let whole = i128::from((self.to.micros() - self.from.micros()).max(1));
        let part = i128::from(at.micros() - self.from.micros()).clamp(0, whole);
        // At most 10,000, so it fits.
        Place((part * 10_000 / whole) as i64)
    }
}

/// Round times of day along the bottom.
fn ticks(scale: Scale) -> Vec<(Place, String)> {
    const STEPS_S: [i64; 18] = [
        1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800,
        604_800, 2_592_000,
    ];
    let whole_s = (scale.to.micros() - scale.from.micros()) / 1_000_000;
    let step_s = STEPS_S
        .into_iter()
        .find(|step_s| whole_s / step_s < TICKS_MAX)
        .unwrap_or(whole_s / TICKS_MAX + 1);
    let step = step_s * 1_000_000;
    let first = scale.from.micros().div_euclid(step) + 1;
    let mut ticks = Vec::new();
    for n in first.. {
        let at = Timestamp::from_micros(n * step);
        if at > scale.to || ticks.len() as i64 > TICKS_MAX {
            break;
        }
        let text = if step_s >= 86_400 {
            at.to_string()[..10].to_owned()
        } else if whole_s > 86_400 {
            at.to_string()[5..16].replace('T', " ")
        } else if step_s >= 60 {
            at.to_string()[11..16].to_owned()
        } else {
            at.to_string()[11..19].to_owned()
        };
        ticks.push((scale.place(at), text));
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenures::{
        tenures,
        tests::{at, entry},
    };

    #[test]
    fn each_holder_has_a_lane_and_the_last_comes_first() {
        let entries = [
            entry(0, "granted", 1, Some("a"), None, None),
            entry(25, "lapsed", 1, Some("a"), Some("a"), Some((0, 25))),
            entry(50, "granted", 2, Some("b"), Some("a"), None),
            entry(75, "forced", 3, None, Some("b"), Some((50, 75))),
            entry(80, "granted", 4, Some("a"), None, None),
        ];
        let picture = timeline(&tenures(None, &entries, false), at(0), at(100), at(90));
        let names: Vec<_> = picture
            .lanes
            .iter()
            .map(|lane| lane.name.as_str())
            .collect();
        assert_eq!(names, ["a", "b"]);
        let [open, old] = &picture.lanes[0].stretches[..] else {
            panic!("two tenures of a");
        };
        assert_eq!(
            (open.from, open.width, open.class),
            (Place(8_000), Place(1_000), "open")
        );
        assert_eq!(
            (old.from, old.width, old.class),
            (Place(0), Place(2_500), "over")
        );
        assert_eq!(picture.lanes[0].marks[0].at, Place(2_500));
        assert!(picture.lanes[1].marks[0].forced);
        assert_eq!(picture.now, Some(Place(9_000)));
        assert_eq!(Place(1_203).percent(), "12.03%");
    }

    #[test]
    fn a_hundred_holders_need_thirteen_lanes() {
        let entries: Vec<_> = (0..100)
            .map(|n| {
                entry(
                    n,
                    "granted",
                    n as u64 + 1,
                    Some(&format!("h{n}")),
                    None,
                    None,
                )
            })
            .collect();
        let picture = timeline(&tenures(None, &entries, false), at(0), at(100), at(100));
        assert_eq!(picture.lanes.len(), LANES_MAX + 1);
        assert_eq!(
            picture.lanes[LANES_MAX].name,
            "88 earlier tenures of other holders"
        );
        assert_eq!(picture.lanes[LANES_MAX].stretches.len(), 88);
    }

    #[test]
    fn what_is_outside_is_not_drawn_and_nothing_sticks_out() {
        let entries = [
            entry(0, "granted", 1, Some("a"), None, None),
            entry(10, "released", 2, None, Some("a"), Some((0, 10))),
            entry(20, "granted", 3, Some("b"), None, None),
        ];
        let picture = timeline(&tenures(None, &entries, false), at(30), at(40), at(100));
        assert_eq!(picture.lanes.len(), 1);
        assert_eq!(picture.lanes[0].stretches[0].width, Place(10_000));
        assert_eq!(picture.now, None);
        for lane in &picture.lanes {
            for stretch in &lane.stretches {
                assert!(stretch.from.0 >= 0 && stretch.from.0 + stretch.width.0 <= 10_000);
            }
        }
    }

    #[test]
    fn ticks_are_round_and_few() {
        for s in [1, 3, 50, 100, 4_000, 90_000, 700_000, 40_000_000] {
            let picture = timeline(&[], at(0), at(s), at(s));
            assert!(
                (1..=5).contains(&picture.ticks.len()),
                "{s}: {:?}",
                picture.ticks
            );
        }
        let picture = timeline(&[], at(0), at(1_800), at(0));
        assert_eq!(picture.ticks[0].1, "02:20");
    }
}

//! Owns measuring side by side: contestants take turns round by round, and what counts is the ratio of two of
//! them within a round, because both saw the same machine.
//!
//! *Guarantees*: the order rotates, so none always runs after the same one; every turn is long enough for the
//! clock; the first turns, which touch memory and start threads, do not count. *Not here*: what is run.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::clock::{Seconds, Stopwatch, Who};

/// Something to measure: a name, and one call of the work.
pub struct Contestant<'a> {
    name: String,
    call: Box<dyn FnMut() -> Result<(), Failed> + 'a>,
}

/// Work that could not be done; it ends the contest.
#[derive(Debug, Error)]
#[error("{name}: {why}")]
pub struct Failed {
    /// The contestant.
    pub name: String,
    /// What it said.
    pub why: String,
}

impl<'a> Contestant<'a> {
    /// A contestant whose turn consists of calls of `call`.
    pub fn new<E: fmt::Display>(
        name: impl Into<String>,
        mut call: impl FnMut() -> Result<(), E> + 'a,
    ) -> Contestant<'a> {
        let name = name.into();
        let failed = name.clone();
        let call = move || call().map_err(|e| Failed { name: failed.clone(), why: e.to_string() });
        Contestant { name, call: Box::new(call) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// How long a contest takes.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Whose CPU time is counted.
    pub who: Who,
    /// Rounds; in each, every contestant has one turn.
    pub rounds: usize,
    /// A turn has as many calls as fit in this time, and at least one.
    pub turn: Duration,
    /// Time between turns, for threads of the last contestant to go to sleep.
    pub pause: Duration,
}

/// Seconds per call, by contestant and round.
#[derive(Clone, Debug)]
pub struct Measured {
    names: Vec<String>,
    turns: Vec<Vec<Seconds>>,
}

/// Which clock a ratio is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time that passed.
    Wall,
    /// CPU time used.
    Cpu,
}

impl Clock {
    /// What this clock says.
    pub fn of(self, seconds: Seconds) -> f64 {
        match self {
            Clock::Wall => seconds.wall,
            Clock::Cpu => seconds.cpu,
        }
    }
}

/// The middle of some figures, and the quarters around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// A quarter of the figures is below.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// A quarter of the figures is above.
    pub high: f64,
}

impl Spread {
    /// The spread of figures; of none, not a number.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| -> f64 {
            let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
            let place = part * last as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Spread { low: at(0.25), median: at(0.5), high: at(0.75) }
    }

    /// The spread of the figures times a positive factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Spread {
        let [low, median, high] = [self.low, self.median, self.high].map(|figure| figure * factor);
        Spread { low, median, high }
    }
}

/// `median [low high]`.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As one text, so that it fills a column.
        f.pad(&format!("{:.2} [{:.2} {:.2}]", self.median, self.low, self.high))
    }
}

/// Runs a contest.
///
/// # Errors
/// [`Failed`] as soon as a contestant fails.
pub fn measure(contestants: &mut [Contestant<'_>], plan: Plan) -> Result<Measured, Failed> {
    let mut calls = Vec::with_capacity(contestants.len());
    for contestant in contestants.iter_mut() {
        (contestant.call)()?;
        let watch = Stopwatch::start(plan.who);
        (contestant.call)()?;
        let once = watch.read().wall.max(1e-9);
        calls.push(((plan.turn.as_secs_f64() / once) as u64).clamp(1, 1 << 30));
    }
    let count = contestants.len();
    let mut turns = vec![Vec::with_capacity(plan.rounds); count];
    for round in 0..plan.rounds {
        for i in order(count, round) {
            std::thread::sleep(plan.pause);
            let watch = Stopwatch::start(plan.who);
            for _ in 0..calls[i] {
                (contestants[i].call)()?;
            }
            turns[i].push(watch.read() / calls[i] as f64);
        }
    }
    Ok(Measured { names: contestants.iter().map(|c| c.name.clone()).collect(), turns })
}

/// Who has a turn when: each round starts one further, and every other one goes backwards, so that neighbours
/// change too.
pub fn order(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).map(|i| (i + round) % count).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

impl Measured {
    /// The contestants' names, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Seconds per call of a contestant in each round.
    pub fn turns(&self, contestant: usize) -> &[Seconds] {
        &self.turns[contestant]
    }

    /// Seconds per call of a contestant.
    pub fn seconds(&self, contestant: usize, clock: Clock) -> Spread {
        Spread::of(self.turns[contestant].iter().map(|s| clock.of(*s)))
    }

    /// How many times as fast as `peer` the contestant is: the ratio of each round, then their spread.
    pub fn speed_ratio(&self, contestant: usize, peer: usize, clock: Clock) -> Spread {
        let rounds = self.turns[contestant].iter().zip(&self.turns[peer]);
        Spread::of(rounds.map(|(mine, theirs)| clock.of(*theirs) / clock.of(*mine)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_has_one_turn_a_round_and_the_first_changes() {
        for count in 1..5 {
            for round in 0..2 * count {
                let mut seen = order(count, round);
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>());
            }
            let mut first: Vec<usize> = (0..2 * count).map(|round| order(count, round)[0]).collect();
            first.sort_unstable();
            first.dedup();
            assert!(first.len() >= count.div_ceil(2), "{count}: {first:?}");
        }
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // The second round ran on a machine three times as slow; the ratio is the same.
        let seconds = |wall: f64| Seconds { wall, cpu: wall };
        let measured = Measured {
            names: vec!["a".into(), "b".into()],
            turns: vec![vec![seconds(1.0), seconds(3.0)], vec![seconds(2.0), seconds(6.0)]],
        };
        assert_eq!(measured.speed_ratio(0, 1, Clock::Wall), Spread { low: 2.0, median: 2.0, high: 2.0 });
        assert_eq!(measured.seconds(0, Clock::Cpu).median, 2.0);
    }

    #[test]
    fn a_spread_interpolates() {
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0, 5.0]), Spread { low: 2.0, median: 3.0, high: 4.0 });
        assert_eq!(Spread::of([1.0, 2.0]), Spread { low: 1.25, median: 1.5, high: 1.75 });
        assert!(Spread::of([]).median.is_nan());
    }

    #[test]
    fn a_spread_fills_a_column() {
        let spread = Spread { low: 1.0, median: 1.5, high: 2.25 }.times(2.0);
        assert_eq!(format!("|{spread:>20}|"), "|    3.00 [2.00 4.50]|");
    }

    #[test]
    fn a_failure_names_its_contestant() {
        let mut contestants =
            [Contestant::new("good", || Ok::<(), String>(())), Contestant::new("bad", || Err("no memory"))];
        let plan = Plan { who: Who::Process, rounds: 1, turn: Duration::ZERO, pause: Duration::ZERO };
        let failed = measure(&mut contestants, plan).expect_err("it fails");
        assert_eq!(failed.to_string(), "bad: no memory");
    }
}

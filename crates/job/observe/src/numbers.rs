//! All counters of a port at one moment.

use std::time::Duration;

use bcl_tier::page::{Counter, CounterKind};

/// A number for each counter: as the page has it, or what was added in a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers([f64; Counter::ALL.len()]);

impl Numbers {
    /// What `read` says of each.
    pub fn of(read: impl Fn(Counter) -> u64) -> Self {
        Self(std::array::from_fn(|index| {
            read(Counter::ALL[index]) as f64
        }))
    }

    /// That of one counter.
    pub fn get(&self, counter: Counter) -> f64 {
        self.0[counter as usize]
    }

    /// All, in the order they are shown.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, f64)> + '_ {
        Counter::ALL
            .iter()
            .map(|counter| (*counter, self.get(*counter)))
    }

    /// What was added per second since `before`; levels as they are now.
    pub fn rates_since(&self, before: &Self, time: Duration) -> Self {
        Self(std::array::from_fn(|index| {
            match Counter::ALL[index].kind() {
                CounterKind::Level => self.0[index],
                CounterKind::Total => (self.0[index] - before.0[index]) / time.as_secs_f64(),
            }
        }))
    }
}

#[test]
fn rates_are_differences_over_time_and_levels_stay() {
    let numbers = |sent, posted| {
        Numbers::of(|counter| match counter {
            Counter::SystemSent => sent,
            Counter::Posted => posted,
            _ => 0,
        })
    };
    let rates = numbers(30, 5).rates_since(&numbers(10, 7), Duration::from_secs(2));
    assert_eq!(rates, numbers(10, 5));
}

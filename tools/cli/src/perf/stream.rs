//! One-way runs: a number of messages, and the receiver's word that it has them all.

use std::time::Instant;

use super::endpoint::{Endpoint, Word};
use super::payload::Check;
use super::plan::{CHECKED, Plan};
use super::traffic::{Traffic, WithTraffic};
use crate::failure::Result;

pub struct Sender(pub Plan);

impl WithTraffic for Sender {
    /// Seconds that the measured run took.
    type Output = f64;

    fn run<T: Traffic>(self, end: &mut Endpoint, mut traffic: T) -> Result<f64> {
        let mut seconds = 0.0;
        let mut next = 0;
        end.hear(Word::Ready)?;
        for run in runs(self.0) {
            let begin = Instant::now();
            for number in next..next + run.messages {
                traffic.send(end, number, run.check)?;
            }
            next += run.messages;
            end.hear(Word::Done)?;
            if run.is_measured {
                seconds = begin.elapsed().as_secs_f64();
            }
        }
        traffic.finish(end)?;
        Ok(seconds)
    }
}

pub struct Receiver(pub Plan);

impl WithTraffic for Receiver {
    type Output = ();

    fn run<T: Traffic>(self, end: &mut Endpoint, mut traffic: T) -> Result<()> {
        let mut next = 0;
        end.say(Word::Ready)?;
        for run in runs(self.0) {
            for number in next..next + run.messages {
                traffic.receive(end, number, run.check)?;
            }
            next += run.messages;
            end.say(Word::Done)?;
        }
        traffic.finish(end)
    }
}

struct Run {
    messages: u64,
    check: Check,
    is_measured: bool,
}

fn runs(plan: Plan) -> [Run; 4] {
    let run = |messages, check, is_measured| Run {
        messages,
        check,
        is_measured,
    };
    [
        run(CHECKED, Check::All, false),
        run(plan.warmup, Check::Ends, false),
        run(plan.iterations(), Check::Ends, true),
        run(CHECKED, Check::All, false),
    ]
}

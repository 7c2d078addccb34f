//! Whether the peer's packets come in a stream ([MCP-1.6]).
//!
//! An interface program saves a lone packet the way through the kernel and its receiver a system call. It takes packets one
//! by one, though, and on virtual interfaces the sender's processor does its work; what comes in a stream the kernel hands
//! over many at a time.

use crate::time::{Span, Time};

/// Packets that are judged together.
const WINDOW: u16 = 256;
/// Where more packets come than one in so long they follow closely.
const SPACING: Span = Span::from_us(10);

/// Which part of a window, in 256ths, follows others closely where a stream begins, and where it ends.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    begins: u16,
    ends: u16,
}

impl Shares {
    /// Behind the kernel's driver, where two packets in a row take longer than by the socket: messages of two packets are a
    /// stream.
    pub const BEHIND_DRIVER: Self = Self {
        begins: 103,
        ends: 52,
    };
    /// In the driver: messages of five.
    pub const IN_DRIVER: Self = Self {
        begins: 192,
        ends: 154,
    };
}

/// How the peer's sequenced packets come.
#[derive(Debug, Default)]
pub struct Streaming {
    last_at: Time,
    /// What has passed of the time that one packet is given.
    slack: Span,
    /// We have sent something since the latest packet: the next may be the answer to it.
    may_be_answered: bool,
    /// Of this window: how many, and how many of them followed others closely.
    packets: u16,
    close: u16,
    is_stream: bool,
}

impl Streaming {
    /// One has come; `away` as in [`Common`](crate::common::Common).
    #[inline]
    pub fn on_packet(&mut self, now: Time, away: Span, shares: Shares) {
        let passed = self.slack + now.since(self.last_at);
        self.slack = passed.min(away.max(SPACING));
        self.last_at = now;
        let is_close = self.slack < SPACING && !self.may_be_answered;
        if is_close {
            self.close += 1;
        } else {
            self.slack = self.slack.less(SPACING);
        }
        self.may_be_answered = false;
        self.packets += 1;
        if self.packets == WINDOW {
            let bound = if self.is_stream {
                shares.ends
            } else {
                shares.begins
            };
            self.is_stream = self.close >= bound;
            (self.packets, self.close) = (0, 0);
        }
    }

    /// We have sent one.
    #[inline]
    pub fn on_sent(&mut self) {
        self.may_be_answered = true;
    }

    /// Whether they did so lately.
    #[inline]
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of so many packets 1 us apart, each the answer to one of ours if they are, else with a pause between.
    fn judge(packets: u64, pause_us: u64, answer: bool, shares: Shares) -> bool {
        let (mut streaming, mut now) = (Streaming::default(), Time(0));
        for _ in 0..WINDOW {
            if answer {
                streaming.on_sent();
            }
            for _ in 0..packets {
                streaming.on_packet(now, Span::ZERO, shares);
                now += Span::from_us(1);
            }
            now += Span::from_us(pause_us);
        }
        streaming.is_stream()
    }

    #[test]
    fn what_is_answered_or_comes_seldom_is_no_stream() {
        for shares in [Shares::BEHIND_DRIVER, Shares::IN_DRIVER] {
            assert!(!judge(1, 5, true, shares) && !judge(1, 10, false, shares));
            assert!(judge(1, 1, false, shares) && judge(64, 100, true, shares));
        }
    }

    #[test]
    fn how_many_packets_a_message_may_have_depends_on_where_the_interface_program_is() {
        for (packets, behind, inside) in [(2, true, false), (3, true, false), (6, true, true)] {
            let judged = |shares| judge(packets, 10, true, shares);
            assert_eq!(judged(Shares::BEHIND_DRIVER), behind, "{packets}");
            assert_eq!(judged(Shares::IN_DRIVER), inside, "{packets}");
        }
    }

    /// What is found together after a while may have come singly meanwhile.
    #[test]
    fn who_was_away_cannot_tell_what_has_come_slowly() {
        let stream_of = |packets: u64| {
            let (mut streaming, mut now) = (Streaming::default(), Time(0));
            for _ in 0..u64::from(WINDOW) {
                now += Span::from_ms(1);
                for _ in 0..packets {
                    streaming.on_packet(now, Span::from_ms(1), Shares::BEHIND_DRIVER);
                }
            }
            streaming.is_stream()
        };
        assert!(!stream_of(90) && stream_of(1_000));
    }

    #[test]
    fn a_stream_lasts_until_clearly_fewer_packets_follow_others() {
        let mut streaming = Streaming::default();
        let mut now = Time(0);
        let mut window = |close: u16| {
            for packet in 0..WINDOW {
                let gap = if packet < close { 1 } else { 20 };
                now += Span::from_us(gap);
                streaming.on_packet(now, Span::ZERO, Shares::BEHIND_DRIVER);
            }
            streaming.is_stream()
        };
        assert!(!window(90) && window(140) && window(90) && !window(20));
    }
}

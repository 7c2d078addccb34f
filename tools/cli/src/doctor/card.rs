//! Whether a program that waits may look at the network card itself, or has to wait for its interrupt.

use std::path::Path;

use super::finding::{Finding, ok, warning};

const CHECK: &str = "busy_poll";
/// As the kernel's documentation has it for sockets that read.
const MEND: &str = "sysctl -w net.core.busy_read=50";

/// `is_permitted`: a socket of ours asks the card.
pub fn finding(is_permitted: bool) -> Option<Finding> {
    let interfaces = bcl_udp::route::interfaces().ok()?;
    let is_card = |name: &str| {
        Path::new("/sys/class/net")
            .join(name)
            .join("device")
            .exists()
    };
    let up = interfaces.into_iter().filter(|interface| interface.is_up);
    let card = up
        .map(|interface| interface.name)
        .find(|name| is_card(name));
    Some(judge(is_permitted, card.as_deref()))
}

fn judge(is_permitted: bool, card: Option<&str>) -> Finding {
    match (card, is_permitted) {
        (None, _) => ok(
            CHECK,
            "no interface here is a network card that could be asked for packets",
        ),
        (Some(card), true) => ok(
            CHECK,
            format!("programs that wait look for packets on {card} themselves"),
        ),
        (Some(card), false) => warning(
            CHECK,
            format!(
                "programs that wait get a packet after the interrupt of {card}, some us later than if they asked it"
            ),
            MEND,
        ),
    }
}

#[test]
fn only_a_card_that_may_not_be_asked_is_a_reason_to_warn() {
    use super::finding::Verdict;
    let verdict = |is_permitted, card| judge(is_permitted, card).verdict;
    assert_eq!(verdict(false, Some("eth0")), Verdict::Warning);
    assert_eq!(verdict(true, Some("eth0")), Verdict::Ok);
    assert_eq!(verdict(false, None), Verdict::Ok);
}

//! What programs get.

use super::*;
use crate::getinfo::limits::{CAPS, INJECT_SIZE, LONG_INJECT_SIZE};
use crate::name::FI_ADDR_BCL;

#[test]
fn who_has_no_wish_gets_all_there_is() {
    let offer = offer(0, None, ends()).unwrap();
    assert_eq!(offer.caps, CAPS);
    assert_eq!(
        (offer.ep.r#type, offer.ep.max_msg_size),
        (FI_EP_RDM, usize::MAX)
    );
    assert!(offer.tx.inject_size >= 256 && offer.domain.cq_data_size == 8);
    assert_eq!(offer.domain.av_type, FI_AV_TABLE);
    assert_eq!(offer.domain.mr_mode, FI_MR_SCALABLE);
    assert_eq!(offer.tx.caps & (FI_SEND | FI_RECV), FI_SEND);
    assert_eq!(offer.rx.caps & (FI_SEND | FI_RECV), FI_RECV);
}

#[test]
fn more_is_injected_for_those_who_ask_or_else_wait_for_delivery() {
    let inject_size = |wish: fn(&mut fi_tx_attr)| {
        let mut hints = hints();
        wish(tx(&mut hints));
        ask((1, 17), &hints).unwrap().tx.inject_size
    };
    assert_eq!(inject_size(|_| {}), INJECT_SIZE);
    assert_eq!(inject_size(|tx| tx.inject_size = INJECT_SIZE), INJECT_SIZE);
    assert_eq!(
        inject_size(|tx| tx.inject_size = INJECT_SIZE + 1),
        LONG_INJECT_SIZE
    );
    assert_eq!(
        inject_size(|tx| tx.op_flags = FI_DELIVERY_COMPLETE),
        LONG_INJECT_SIZE
    );
    assert_eq!(inject_size(|tx| tx.op_flags = FI_COMPLETION), INJECT_SIZE);
}

#[test]
fn an_answer_as_hints_is_answered_the_same() {
    let first = offer(fi_version(1, 17), None, ends()).unwrap();
    let again = Hints {
        caps: first.caps,
        addr_format: FI_ADDR_BCL,
        source: Some(first.ends.source.to_bytes().to_vec()),
        tx: Some(first.tx),
        rx: Some(first.rx),
        ep: Some(first.ep),
        domain: Some(first.domain),
        domain_name: Some("bcl".into()),
        fabric_name: Some("bcl".into()),
        ..Hints::default()
    };
    let second = ask((1, 17), &again).unwrap();
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}

#[test]
fn capabilities_are_those_asked_for_and_what_they_entail() {
    for (asked, entailed) in [
        (FI_MSG, FI_SEND | FI_RECV),
        (FI_TAGGED | FI_SEND, 0),
        (FI_TAGGED | FI_RECV, 0),
        (
            FI_TAGGED | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE,
            FI_SEND | FI_RECV,
        ),
    ] {
        let offer = ask(
            (1, 17),
            &Hints {
                caps: asked,
                ..hints()
            },
        )
        .unwrap();
        assert_eq!(
            offer.caps,
            asked | entailed | FI_LOCAL_COMM | FI_REMOTE_COMM
        );
        assert_eq!(offer.tx.caps | offer.rx.caps, asked | entailed);
    }
    check(Err("FI_RMA_EVENT"), |hints| {
        hints.caps = FI_RMA | FI_RMA_EVENT;
    });
    check(Err("ep_attr.max_order_waw_size"), |hints| {
        ep(hints).max_order_waw_size = usize::MAX;
    });
    check(Err("0x800000000000 FI_HMEM"), |hints| {
        hints.caps = FI_MSG | 1 << 47
    });
}

#[test]
fn halves_keep_to_the_whole() {
    let mut hints = Hints {
        caps: FI_TAGGED,
        ..hints()
    };
    tx(&mut hints).caps = FI_TAGGED | FI_SEND;
    rx(&mut hints).caps = FI_TAGGED;
    let offer = ask((1, 17), &hints).unwrap();
    assert_eq!(
        (offer.tx.caps, offer.rx.caps),
        (FI_TAGGED | FI_SEND, FI_TAGGED)
    );
    tx(&mut hints).caps = FI_MSG;
    assert!(ask((1, 17), &hints).unwrap_err().contains("tx_attr.caps"));
}

#[test]
fn models_come_back_as_they_were_asked_for() {
    for threading in FI_THREAD_UNSPEC..=FI_THREAD_ENDPOINT {
        for progress in FI_PROGRESS_AUTO..=FI_PROGRESS_MANUAL {
            for av_type in [FI_AV_MAP, FI_AV_TABLE] {
                let mut hints = hints();
                let wish = domain(&mut hints);
                (wish.threading, wish.av_type) = (threading, av_type);
                (wish.control_progress, wish.data_progress) = (progress, progress);
                wish.resource_mgmt = FI_RM_DISABLED;
                let got = ask((1, 17), &hints).unwrap().domain;
                assert_eq!(got.threading, threading.max(FI_THREAD_SAFE));
                assert_eq!(
                    (got.control_progress, got.data_progress),
                    (progress, progress)
                );
                assert_eq!((got.av_type, got.resource_mgmt), (av_type, FI_RM_DISABLED));
            }
        }
    }
    check(Err("domain_attr.threading is 6"), |hints| {
        domain(hints).threading = 6
    });
    check(Err("domain_attr.av_type is 3"), |hints| {
        domain(hints).av_type = 3
    });
}

#[test]
fn regions_are_used_as_the_program_likes() {
    let bits = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    for (version, asked, got) in [
        ((1, 0), FI_MR_UNSPEC, Some(FI_MR_SCALABLE)),
        ((1, 4), FI_MR_BASIC, Some(FI_MR_BASIC)),
        ((1, 4), bits, None),
        ((1, 5), FI_MR_UNSPEC, Some(0)),
        ((1, 5), FI_MR_BASIC, Some(FI_MR_BASIC)),
        ((2, 0), FI_MR_SCALABLE, Some(FI_MR_SCALABLE)),
        ((1, 17), bits, Some(0)),
        ((1, 17), bits | FI_MR_BASIC, None),
    ] {
        let mut hints = hints();
        domain(&mut hints).mr_mode = asked;
        let answer = ask(version, &hints).map(|offer| offer.domain.mr_mode).ok();
        assert_eq!(answer, got, "{asked:#x} in version {version:?}");
    }
}

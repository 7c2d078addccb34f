//! Attributes as a program gets them: what we have, and of what can be chosen what it wishes.

use std::ptr;

use super::limits::*;
use super::wish::{all_of, at_most, half, one_of};
use crate::abi::*;

pub(super) fn tx_attr(hints: Option<&fi_tx_attr>, caps: u64) -> Result<fi_tx_attr, String> {
    let mut tx = fi_tx_attr {
        caps: caps & TX_CAPS,
        mode: 0,
        op_flags: 0,
        msg_order: MSG_ORDER,
        comp_order: 0,
        inject_size: INJECT_SIZE,
        size: TX_SIZE,
        iov_limit: IOV_LIMIT,
        rma_iov_limit: RMA_IOV_LIMIT,
        tclass: FI_TC_UNSPEC,
    };
    if let Some(hints) = hints {
        tx.caps = half("tx_attr", hints.caps, tx.caps, caps)?;
        tx.op_flags = all_of("tx_attr.op_flags", hints.op_flags, TX_FLAGS)?;
        all_of("tx_attr.msg_order", hints.msg_order, MSG_ORDER)?;
        all_of("tx_attr.comp_order", hints.comp_order, 0)?;
        at_most("tx_attr.inject_size", hints.inject_size, LONG_INJECT_SIZE)?;
        if hints.inject_size > INJECT_SIZE || tx.op_flags & FI_DELIVERY_COMPLETE != 0 {
            tx.inject_size = LONG_INJECT_SIZE;
        }
        at_most("tx_attr.size", hints.size, TX_SIZE)?;
        at_most("tx_attr.iov_limit", hints.iov_limit, IOV_LIMIT)?;
        at_most("tx_attr.rma_iov_limit", hints.rma_iov_limit, RMA_IOV_LIMIT)?;
    }
    Ok(tx)
}

pub(super) fn rx_attr(hints: Option<&fi_rx_attr>, caps: u64) -> Result<fi_rx_attr, String> {
    let mut rx = fi_rx_attr {
        caps: caps & RX_CAPS,
        mode: 0,
        op_flags: 0,
        msg_order: MSG_ORDER,
        comp_order: 0,
        total_buffered_recv: 0,
        size: RX_SIZE,
        iov_limit: IOV_LIMIT,
    };
    if let Some(hints) = hints {
        rx.caps = half("rx_attr", hints.caps, rx.caps, caps)?;
        rx.op_flags = all_of("rx_attr.op_flags", hints.op_flags, RX_FLAGS)?;
        all_of("rx_attr.msg_order", hints.msg_order, MSG_ORDER)?;
        all_of("rx_attr.comp_order", hints.comp_order, 0)?;
        at_most("rx_attr.size", hints.size, RX_SIZE)?;
        at_most("rx_attr.iov_limit", hints.iov_limit, IOV_LIMIT)?;
    }
    Ok(rx)
}

pub(super) fn ep_attr(hints: Option<&fi_ep_attr>) -> Result<fi_ep_attr, String> {
    if let Some(hints) = hints {
        one_of(
            "ep_attr.type",
            hints.r#type,
            &[FI_EP_UNSPEC, FI_EP_RDM],
            "only FI_EP_RDM is there",
        )?;
        one_of(
            "ep_attr.protocol",
            hints.protocol,
            &[FI_PROTO_UNSPEC, PROTOCOL],
            "only BCL's own is there",
        )?;
        at_most(
            "ep_attr.protocol_version",
            hints.protocol_version as usize,
            PROTOCOL_VERSION as usize,
        )?;
        at_most("ep_attr.tx_ctx_cnt", hints.tx_ctx_cnt, 1)?;
        at_most("ep_attr.rx_ctx_cnt", hints.rx_ctx_cnt, 1)?;
        at_most("ep_attr.auth_key_size", hints.auth_key_size, 0)?;
        for (what, size) in [
            ("ep_attr.max_order_raw_size", hints.max_order_raw_size),
            ("ep_attr.max_order_war_size", hints.max_order_war_size),
            ("ep_attr.max_order_waw_size", hints.max_order_waw_size),
        ] {
            at_most(what, size, ORDERED_SIZE)?;
        }
    }
    Ok(fi_ep_attr {
        r#type: FI_EP_RDM,
        protocol: PROTOCOL,
        protocol_version: PROTOCOL_VERSION,
        max_msg_size: usize::MAX,
        msg_prefix_size: 0,
        max_order_raw_size: ORDERED_SIZE,
        max_order_war_size: ORDERED_SIZE,
        max_order_waw_size: ORDERED_SIZE,
        mem_tag_format: TAG_FORMAT,
        tx_ctx_cnt: 1,
        rx_ctx_cnt: 1,
        auth_key_size: 0,
        auth_key: ptr::null_mut(),
    })
}

pub(super) fn domain_attr(
    version: u32,
    hints: Option<&fi_domain_attr>,
) -> Result<fi_domain_attr, String> {
    let mut domain = fi_domain_attr {
        domain: ptr::null_mut(),
        name: ptr::null_mut(),
        threading: FI_THREAD_SAFE,
        control_progress: FI_PROGRESS_AUTO,
        data_progress: FI_PROGRESS_MANUAL,
        resource_mgmt: FI_RM_ENABLED,
        av_type: FI_AV_TABLE,
        mr_mode: mr_mode(version, hints.map_or(FI_MR_UNSPEC, |hints| hints.mr_mode))?,
        mr_key_size: MR_KEY_SIZE,
        cq_data_size: CQ_DATA_SIZE,
        cq_cnt: OBJECT_COUNT,
        ep_cnt: OBJECT_COUNT,
        tx_ctx_cnt: OBJECT_COUNT,
        rx_ctx_cnt: OBJECT_COUNT,
        max_ep_tx_ctx: 1,
        max_ep_rx_ctx: 1,
        max_ep_stx_ctx: 0,
        max_ep_srx_ctx: 0,
        cntr_cnt: OBJECT_COUNT,
        mr_iov_limit: MR_IOV_LIMIT,
        caps: DOMAIN_CAPS,
        mode: 0,
        auth_key: ptr::null_mut(),
        auth_key_size: 0,
        max_err_data: 0,
        mr_cnt: MR_COUNT,
        tclass: FI_TC_UNSPEC,
    };
    if let Some(hints) = hints {
        // Threads, progress and tables: all models are there, and a program counts on the one that it names.
        let choose = |what, place: &mut u32, hint: u32, last: u32| {
            at_most(what, hint as usize, last as usize)?;
            *place = if hint == 0 { *place } else { hint };
            Ok::<_, String>(())
        };
        choose(
            "domain_attr.threading",
            &mut domain.threading,
            hints.threading,
            FI_THREAD_ENDPOINT,
        )?;
        choose(
            "domain_attr.control_progress",
            &mut domain.control_progress,
            hints.control_progress,
            3,
        )?;
        choose(
            "domain_attr.data_progress",
            &mut domain.data_progress,
            hints.data_progress,
            3,
        )?;
        choose(
            "domain_attr.resource_mgmt",
            &mut domain.resource_mgmt,
            hints.resource_mgmt,
            FI_RM_ENABLED,
        )?;
        choose(
            "domain_attr.av_type",
            &mut domain.av_type,
            hints.av_type,
            FI_AV_TABLE,
        )?;
        at_most("domain_attr.cq_data_size", hints.cq_data_size, CQ_DATA_SIZE)?;
        at_most("domain_attr.mr_iov_limit", hints.mr_iov_limit, MR_IOV_LIMIT)?;
        at_most("domain_attr.cntr_cnt", hints.cntr_cnt, OBJECT_COUNT)?;
        at_most("domain_attr.mr_cnt", hints.mr_cnt, MR_COUNT)?;
        at_most("domain_attr.max_err_data", hints.max_err_data, 0)?;
        at_most("domain_attr.auth_key_size", hints.auth_key_size, 0)?;
        all_of("domain_attr.caps", hints.caps, DOMAIN_CAPS)?;
    }
    Ok(domain)
}

/// How regions are to be used. We need nothing, so that a program may do as it likes; since version 1.5 it says that in
/// bits, of which none comes back.
pub(super) fn mr_mode(version: u32, hint: i32) -> Result<i32, String> {
    let old = version < fi_version(1, 5);
    match hint {
        FI_MR_BASIC | FI_MR_SCALABLE => Ok(hint),
        FI_MR_UNSPEC if old => Ok(FI_MR_SCALABLE),
        bits if !old && bits & (FI_MR_BASIC | FI_MR_SCALABLE) == 0 => Ok(0),
        other => Err(format!(
            "domain_attr.mr_mode is {other:#x}: FI_MR_BASIC and FI_MR_SCALABLE stand alone"
        )),
    }
}

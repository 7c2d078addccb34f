//! What they are refused.

use super::*;
use crate::getinfo::limits::*;

#[test]
fn what_is_not_there_is_refused_by_name() {
    check(Ok(()), |hints| ep(hints).r#type = FI_EP_RDM);
    check(Err("only FI_EP_RDM"), |hints| ep(hints).r#type = FI_EP_MSG);
    check(Err("only FI_EP_RDM"), |hints| {
        ep(hints).r#type = FI_EP_DGRAM
    });
    check(Err("ep_attr.protocol is 6"), |hints| ep(hints).protocol = 6);
    check(Err("ep_attr.protocol_version"), |hints| {
        ep(hints).protocol_version = 2
    });
    check(Err("ep_attr.tx_ctx_cnt is 2"), |hints| {
        ep(hints).tx_ctx_cnt = 2
    });
    check(Err("ep_attr.rx_ctx_cnt"), |hints| {
        ep(hints).rx_ctx_cnt = usize::MAX
    });
    check(Err("ep_attr.auth_key_size"), |hints| {
        ep(hints).auth_key_size = 16
    });
    check(Ok(()), |hints| tx(hints).inject_size = LONG_INJECT_SIZE);
    check(Err("tx_attr.inject_size is 16385, and 16384"), |hints| {
        tx(hints).inject_size = LONG_INJECT_SIZE + 1
    });
    check(Err("tx_attr.size"), |hints| tx(hints).size = TX_SIZE + 1);
    check(Err("tx_attr.iov_limit"), |hints| {
        tx(hints).iov_limit = IOV_LIMIT + 1
    });
    check(Err("tx_attr.rma_iov_limit"), |hints| {
        tx(hints).rma_iov_limit = 2
    });
    check(Ok(()), |hints| {
        tx(hints).op_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION
    });
    check(Err("tx_attr.op_flags"), |hints| {
        tx(hints).op_flags = FI_FENCE
    });
    check(Ok(()), |hints| tx(hints).msg_order = FI_ORDER_SAS);
    check(Err("tx_attr.msg_order"), |hints| {
        tx(hints).msg_order = 1 << 7
    });
    check(Err("tx_attr.comp_order"), |hints| tx(hints).comp_order = 1);
    check(Err("rx_attr.size"), |hints| rx(hints).size = RX_SIZE + 1);
    check(Err("rx_attr.iov_limit"), |hints| {
        rx(hints).iov_limit = IOV_LIMIT + 1
    });
    check(Err("rx_attr.op_flags"), |hints| {
        rx(hints).op_flags = FI_INJECT
    });
    check(Err("rx_attr.msg_order"), |hints| {
        rx(hints).msg_order = 1 << 7
    });
    check(Err("rx_attr.comp_order"), |hints| rx(hints).comp_order = 1);
    check(Ok(()), |hints| domain(hints).cq_data_size = 8);
    check(Err("domain_attr.cq_data_size is 9"), |hints| {
        domain(hints).cq_data_size = 9
    });
    check(Err("domain_attr.mr_iov_limit"), |hints| {
        domain(hints).mr_iov_limit = 2
    });
    check(Err("domain_attr.cntr_cnt"), |hints| {
        domain(hints).cntr_cnt = usize::MAX
    });
    check(Err("domain_attr.mr_cnt"), |hints| {
        domain(hints).mr_cnt = usize::MAX
    });
    check(Err("domain_attr.max_err_data"), |hints| {
        domain(hints).max_err_data = 1
    });
    check(Err("domain_attr.caps"), |hints| {
        domain(hints).caps = 1 << 53
    });
    check(Err("fabric 'tcp'"), |hints| {
        hints.fabric_name = Some("tcp".into())
    });
    check(Err("domain 'eth0'"), |hints| {
        hints.domain_name = Some("eth0".into())
    });
    check(Err("FI_FORMAT_UNSPEC"), |hints| {
        hints.addr_format = FI_SOCKADDR_IN
    });
}

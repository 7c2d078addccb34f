//! `rdma/fabric.h`: `fi_info` and its attributes.

use std::ffi::{c_char, c_int, c_void};

use super::{fid, fid_domain, fid_fabric};

structures! {
    fi_info {
        next: *mut fi_info,
        caps: u64,
        mode: u64,
        addr_format: u32,
        src_addrlen: usize,
        dest_addrlen: usize,
        src_addr: *mut c_void,
        dest_addr: *mut c_void,
        handle: *mut fid,
        tx_attr: *mut fi_tx_attr,
        rx_attr: *mut fi_rx_attr,
        ep_attr: *mut fi_ep_attr,
        domain_attr: *mut fi_domain_attr,
        fabric_attr: *mut fi_fabric_attr,
        nic: *mut c_void,
    }
    fi_tx_attr {
        caps: u64,
        mode: u64,
        op_flags: u64,
        msg_order: u64,
        comp_order: u64,
        inject_size: usize,
        size: usize,
        iov_limit: usize,
        rma_iov_limit: usize,
        tclass: u32,
    }
    fi_rx_attr {
        caps: u64,
        mode: u64,
        op_flags: u64,
        msg_order: u64,
        comp_order: u64,
        total_buffered_recv: usize,
        size: usize,
        iov_limit: usize,
    }
    fi_ep_attr {
        r#type: u32,
        protocol: u32,
        protocol_version: u32,
        max_msg_size: usize,
        msg_prefix_size: usize,
        max_order_raw_size: usize,
        max_order_war_size: usize,
        max_order_waw_size: usize,
        mem_tag_format: u64,
        tx_ctx_cnt: usize,
        rx_ctx_cnt: usize,
        auth_key_size: usize,
        auth_key: *mut u8,
    }
    fi_domain_attr {
        domain: *mut fid_domain,
        name: *mut c_char,
        threading: u32,
        control_progress: u32,
        data_progress: u32,
        resource_mgmt: u32,
        av_type: u32,
        mr_mode: c_int,
        mr_key_size: usize,
        cq_data_size: usize,
        cq_cnt: usize,
        ep_cnt: usize,
        tx_ctx_cnt: usize,
        rx_ctx_cnt: usize,
        max_ep_tx_ctx: usize,
        max_ep_rx_ctx: usize,
        max_ep_stx_ctx: usize,
        max_ep_srx_ctx: usize,
        cntr_cnt: usize,
        mr_iov_limit: usize,
        caps: u64,
        mode: u64,
        auth_key: *mut u8,
        auth_key_size: usize,
        max_err_data: usize,
        mr_cnt: usize,
        tclass: u32,
    }
    fi_fabric_attr {
        fabric: *mut fid_fabric,
        name: *mut c_char,
        prov_name: *mut c_char,
        prov_version: u32,
        api_version: u32,
    }
}

constants! {
    u32 {
        FI_FORMAT_UNSPEC = 0,
        FI_SOCKADDR_IN = 2,
        FI_AV_UNSPEC = 0,
        FI_AV_MAP = 1,
        FI_AV_TABLE = 2,
        FI_PROGRESS_UNSPEC = 0,
        FI_PROGRESS_AUTO = 1,
        FI_PROGRESS_MANUAL = 2,
        FI_THREAD_UNSPEC = 0,
        FI_THREAD_SAFE = 1,
        FI_THREAD_FID = 2,
        FI_THREAD_DOMAIN = 3,
        FI_THREAD_COMPLETION = 4,
        FI_THREAD_ENDPOINT = 5,
        FI_RM_UNSPEC = 0,
        FI_RM_DISABLED = 1,
        FI_RM_ENABLED = 2,
        FI_EP_UNSPEC = 0,
        FI_EP_MSG = 1,
        FI_EP_DGRAM = 2,
        FI_EP_RDM = 3,
        FI_PROTO_UNSPEC = 0,
        FI_TC_UNSPEC = 0,
    }
    i32 {
        FI_MR_UNSPEC = 0,
        FI_MR_BASIC = 1 << 0,
        FI_MR_SCALABLE = 1 << 1,
        FI_MR_LOCAL = 1 << 2,
        FI_MR_VIRT_ADDR = 1 << 4,
        FI_MR_ALLOCATED = 1 << 5,
        FI_MR_PROV_KEY = 1 << 6,
        FI_MR_ENDPOINT = 1 << 9,
    }
    u64 {
        FI_ADDR_UNSPEC = u64::MAX,
        FI_ADDR_NOTAVAIL = u64::MAX,
        FI_KEY_NOTAVAIL = u64::MAX,
    }
}

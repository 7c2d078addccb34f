//! The interface program in the kernel, `bpf/mcp.bpf.c`, shown packets by BPF_PROG_TEST_RUN: no interface is needed, but root
//! or CAP_BPF is. Without that each test says that it has checked nothing.
//!
//! - [`kernel`]: a port in the kernel; [`frame`]: packets as they come by an interface.
//! - [`differential`]: whatever comes, it does what the model in `bcl_mcp_model` does. [`traffic`] makes what comes.
//! - [`left_alone`]: what is not for it. [`two_cpus`]: one connection on two CPUs.
//! - [`life`]: pinned, opened again, attached. [`cost`]: what it takes.

mod cost;
mod differential;
mod frame;
mod kernel;
mod left_alone;
mod life;
mod traffic;
mod two_cpus;

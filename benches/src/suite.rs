//! What one run measures: BCL itself, or MPI on BCL.

use crate::error::{Error, Result};
use crate::work::{self, Work};

/// A choice of works and the words around them.
pub struct Suite {
    /// The heading of its report.
    pub title: &'static str,
    /// How it is measured, in a paragraph.
    pub method: &'static str,
    /// What its files are called, without their endings.
    pub files: &'static str,
    works: fn() -> Vec<&'static Work>,
}

const METHOD_OF_BCL: &str = "\
Everyone in turn in each round; a figure is the median of the rounds. Where a hypervisor moves the cores, so that a cache line
takes more than twice as long from one to the other in some rounds, only rounds of the placement that most had are compared, and the
figures have a row for each. Two processes are pinned to a core each, a crowd may use both (`taskset`). Latencies are medians over batches of one run, rates are means.
All receive into memory of the receiving program; streams send the same buffer again and again, one message in flight,
between hosts four. Hosts are two network namespaces with a veth between them; lost packets are lost by bpf/faults.bpf.c
at both ends. fi_pingpong gives means, and for a stream its ping-pong; iperf3 has the congestion control that suits it
best. The memory of a peer is what the port grows by for each peer after its first: private memory and the segments it may
write; the page that a peer lends read-only belongs to the peer. The means need a quiet machine.";

const METHOD_OF_MPI: &str = "\
Everyone in turn in each round; a figure is the median of the rounds, of those with the cores placed alike. The MPI libraries are those of testing/mpi, unmodified,
told by their environment what to run on: our libfabric provider (bcl), libfabric's tcp, UCX's shared memory, or shared memory of
their own. With bcl_coll, MPI_Barrier, MPI_Bcast and small MPI_Allreduce are ours. BCL without MPI is measured as in `make bench`. Hosts are two network namespaces joined by a cable, the same for
all; without hosts all is on one node, and MPICH on bcl runs with MPIR_CVAR_NOLOCAL=1. Of two ranks each spins on a core of its
own; of two hosts with two ranks each has one core, and ranks give way while they wait; 8 ranks on 2 cores run where the
scheduler likes. Streams have four messages in flight between hosts and one on a node, rates 64. Latencies are medians
over batches of one run, the others means; of collective operations, the mean of the slowest rank. Programs are timed without MPI_Init and
MPI_Finalize, in which Open MPI's btl/ofi sleeps for a second. hpcc is Debian's with the input that comes with it, four processes, and counts when it has found all its results
right. The means need a quiet machine.";

/// BCL, the limits of the machine, and what users would take today instead.
pub const BCL: Suite = Suite {
    title: "BCL, the machine and the others",
    method: METHOD_OF_BCL,
    files: "results",
    works: || work::of_bcl().collect(),
};

/// MPI libraries on BCL, on other things, and BCL without them.
pub const MPI: Suite = Suite {
    title: "MPI on BCL and on other things",
    method: METHOD_OF_MPI,
    files: "mpi",
    works: || work::of_mpi().collect(),
};

impl Suite {
    /// Its works that have these names; all of them if there are none.
    ///
    /// # Errors
    /// With the names there are, when one is none of them.
    pub fn works(&self, names: &[String]) -> Result<Vec<&'static Work>> {
        let all = (self.works)();
        if names.is_empty() {
            return Ok(all);
        }
        let find = |name: &String| {
            let found = all.iter().find(|work| work.name == name).copied();
            found.ok_or_else(|| Error::NoSuchWork {
                name: name.clone(),
                names: all
                    .iter()
                    .map(|work| work.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            })
        };
        names.iter().map(find).collect()
    }
}

#[test]
fn works_are_found_in_their_own_suite_only() {
    let names = ["mpi-hosts-rate-8".to_owned()];
    assert_eq!(MPI.works(&names).unwrap()[0].name, names[0]);
    let error = BCL.works(&names).err().unwrap().to_string();
    assert!(
        error.contains("mpi-hosts-rate-8") && error.contains("latency-8"),
        "{error}"
    );
    assert!(MPI.works(&[]).unwrap().len() > 20);
}

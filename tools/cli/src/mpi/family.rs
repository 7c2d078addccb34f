//! The MPI libraries, and what each has to be told.

use clap::ValueEnum;
use serde::Serialize;

/// Libraries that understand the same settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// MPICH 4.2 and later.
    Mpich,
    /// Open MPI 4.1 and 5.
    Openmpi,
    /// Intel MPI 2021.
    Intel,
}

/// Which folder libfabric loads providers from.
pub const PROVIDER_PATH: &str = "FI_PROVIDER_PATH";

impl Family {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mpich => "MPICH",
            Self::Openmpi => "Open MPI",
            Self::Intel => "Intel MPI",
        }
    }

    /// As the command line has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mpich => "mpich",
            Self::Openmpi => "openmpi",
            Self::Intel => "intel",
        }
    }

    /// Beside the folder.
    fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Mpich => &[("FI_PROVIDER", "bcl"), ("MPIR_CVAR_CH4_NETMOD", "ofi")],
            // Messages, then windows: Open MPI would have them elsewhere if it could.
            Self::Openmpi => &[
                ("OMPI_MCA_pml", "cm"),
                ("OMPI_MCA_mtl", "ofi"),
                ("OMPI_MCA_mtl_ofi_provider_include", "bcl"),
                ("OMPI_MCA_btl_ofi_provider_include", "bcl"),
                ("OMPI_MCA_osc", "^ucx"),
            ],
            Self::Intel => &[("FI_PROVIDER", "bcl"), ("I_MPI_FABRICS", "shm:ofi")],
        }
    }

    /// What else its user should know.
    fn note(self) -> &'static str {
        match self {
            Self::Mpich => {
                "MPICH: processes of one host use MPICH's own shared memory; MPIR_CVAR_NOLOCAL=1 has them use BCL."
            }
            Self::Openmpi => {
                "Open MPI: mpirun hands OMPI_MCA_... on to other hosts, the rest it has to be told to: \
                 mpirun -x FI_PROVIDER_PATH ..."
            }
            Self::Intel => {
                "Intel MPI: processes of one host use Intel's own shared memory; I_MPI_FABRICS=ofi has them use BCL."
            }
        }
    }
}

/// What to set.
#[derive(Debug, Serialize)]
pub struct Settings {
    /// Variables and values, in the order in which they are best read.
    #[serde(serialize_with = "as_object")]
    pub environment: Vec<(&'static str, String)>,
    /// Sentences for people.
    pub notes: Vec<&'static str>,
}

impl Settings {
    /// For programs of all of these.
    pub fn of(families: &[Family], folder: &str) -> Self {
        let mut environment = vec![(PROVIDER_PATH, folder.to_owned())];
        for (name, value) in families.iter().flat_map(|family| family.variables()) {
            let variable = (*name, (*value).to_owned());
            if !environment.contains(&variable) {
                environment.push(variable);
            }
        }
        let notes = families.iter().map(|family| family.note()).collect();
        Self { environment, notes }
    }
}

/// What programs are started with.
const PRELOAD: &str = "LD_PRELOAD";

impl Settings {
    /// With BCL's collectives too, before what is loaded already.
    pub fn preload(&mut self, library: String, before: Option<&str>) {
        let others = before
            .into_iter()
            .flat_map(|before| before.split([':', ' ']));
        let others = others.filter(|other| !other.is_empty() && *other != library);
        let all: Vec<&str> = std::iter::once(&*library).chain(others).collect();
        self.environment.push((PRELOAD, all.join(":")));
        self.notes.push(
            "Collectives: mpirun of Open MPI has to hand LD_PRELOAD on to other hosts, too: -x LD_PRELOAD. man 7 bcl_coll_mpi",
        );
    }
}

fn as_object<S: serde::Serializer>(
    pairs: &[(&str, String)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_for_all_is_what_is_said_for_each() {
        let all = Settings::of(Family::value_variants(), "/lib");
        let names: Vec<_> = all.environment.iter().map(|(name, _)| name).collect();
        let mut once = names.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{names:?}");
        for family in Family::value_variants() {
            let one = Settings::of(&[*family], "/lib");
            for variable in &one.environment {
                assert!(all.environment.contains(variable), "{variable:?}");
            }
            assert!(all.notes.contains(&one.notes[0]));
        }
    }

    #[test]
    fn what_is_preloaded_already_stays() {
        let preloaded = |before| {
            let mut settings = Settings::of(&[], "/lib");
            settings.preload("/lib/coll.so".into(), before);
            settings.environment.pop().unwrap()
        };
        assert_eq!(preloaded(None), (PRELOAD, "/lib/coll.so".into()));
        let both = (PRELOAD, "/lib/coll.so:/lib/a.so".into());
        assert_eq!(preloaded(Some("/lib/a.so")), both);
        assert_eq!(preloaded(Some("/lib/a.so /lib/coll.so")), both);
    }

    #[test]
    fn the_manual_page_says_the_same() {
        let page = include_str!("../../../../clients/mpi/man/fi_bcl.7");
        let words: Vec<_> = page.split_whitespace().collect();
        let all = Settings::of(Family::value_variants(), r"\fIDIR\fP");
        for (name, value) in all.environment {
            let setting = format!("{name}={value}");
            assert!(words.contains(&&*setting), "it has no '{setting}'");
        }
    }
}

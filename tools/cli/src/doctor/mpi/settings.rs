//! Whether the settings are in the environment already.

use super::launcher::Launcher;
use crate::doctor::finding::{Finding, ok, warning};
use crate::mpi::family::{Family, Settings};

const CHECK: &str = "mpi_settings";

/// Looks at this process's environment.
pub fn finding(launcher: &Launcher, folder: &str) -> Finding {
    let word = launcher.family.word();
    let (missing, other) = differences(launcher.family, folder, &|name| {
        std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
    });
    if missing.is_empty() && other.is_empty() {
        let text = "they are in the environment, so that programs started from here run over BCL";
        return ok(CHECK, text);
    }
    let mut why = other;
    if !missing.is_empty() {
        why.push(format!("not set is {}", missing.join(", ")));
    }
    warning(
        CHECK,
        format!(
            "programs started from here do not run over BCL: {}",
            why.join(", ")
        ),
        format!("eval \"$(bcl mpi-env {word})\""),
    )
}

/// What is not set, and what is there instead of what should be.
fn differences(
    family: Family,
    folder: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> (Vec<&'static str>, Vec<String>) {
    let (mut missing, mut other) = (Vec::new(), Vec::new());
    for (name, wanted) in Settings::of(&[family], folder).environment {
        match variable(name) {
            None => missing.push(name),
            // More than is asked for: BCL within a host as well.
            Some(value) if (name, value.as_str()) == ("I_MPI_FABRICS", "ofi") => {}
            Some(value) if value != wanted => other.push(format!("{name} is {value}")),
            Some(_) => {}
        }
    }
    (missing, other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::family::PROVIDER_PATH;

    #[test]
    fn what_is_missing_and_what_is_otherwise_is_named() {
        let set = |name: &str| {
            let value = match name {
                PROVIDER_PATH => "/lib",
                "FI_PROVIDER" => "tcp",
                "I_MPI_FABRICS" => "ofi",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let differ = |family, folder| differences(family, folder, &set);
        let strings = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            differ(Family::Intel, "/lib"),
            (vec![], strings(&["FI_PROVIDER is tcp"]))
        );
        assert_eq!(
            differ(Family::Mpich, "/elsewhere"),
            (
                vec!["MPIR_CVAR_CH4_NETMOD"],
                strings(&["FI_PROVIDER_PATH is /lib", "FI_PROVIDER is tcp"])
            )
        );
    }
}

//! Which key a port has, and how those who are to reach it come by it.
//!
//! A port has a key of its own, which follows from a secret that is drawn when it opens, and from the key of the job if
//! somebody has given that one. Its name carries the secret, so that whoever was told the name reaches the port, and nobody
//! else does. Two jobs never meet, though nobody has set anything up: launchers tell names within a job.
//!
//! Where a program chooses the number of a port, others are to reach it who know only that number, as servers and their
//! clients do: it has the key of the job, or the one of its user, and no secret.

use bcl_node::{JobKey, KeyError};
use bcl_types::Address;

use crate::call::Failure;
use crate::name::{Name, Secret};

/// The key that somebody has given the job, if anybody has; those of ports follow from it.
#[derive(Debug)]
pub struct Keys {
    given: Option<JobKey>,
}

impl Keys {
    /// As the environment has it.
    ///
    /// # Errors
    /// If what is set there cannot be meant.
    pub fn from_env() -> Result<Self, Failure> {
        let given = JobKey::given_in_env();
        let given = given.map_err(|error: KeyError| Failure::invalid(error.to_string()))?;
        Ok(Self { given })
    }

    /// The key of the port that is called so.
    pub fn of(&self, name: &Name) -> JobKey {
        match (&name.secret, &self.given) {
            (Some(Secret(secret)), given) => JobKey::of_port(secret, given.as_ref()),
            (None, Some(given)) => given.clone(),
            (None, None) => JobKey::of_user(rustix::process::geteuid().as_raw()),
        }
    }
}

/// What the name of a port that is to be opened says: a new secret if the number is for BCL to choose, else what the program
/// has put there, which may be a name that the port had before.
///
/// # Errors
/// When the kernel gives no random numbers.
pub fn named(wanted: Name) -> Result<Name, Failure> {
    let Address { port: 0, .. } = wanted.address else {
        return Ok(wanted);
    };
    let secret = Secret::random().map_err(|error| {
        Failure::new(
            error.raw_os_error().unwrap_or(crate::abi::FI_EIO),
            format!("asking the kernel for random numbers: {error}"),
        )
    })?;
    Ok(Name {
        secret: Some(secret),
        ..wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(port: u16, secret: Option<u8>) -> Name {
        Name {
            address: Address {
                node: 1.into(),
                port,
            },
            secret: secret.map(|byte| Secret([byte; 16])),
        }
    }

    #[test]
    fn keys_follow_from_the_secret_and_from_what_the_job_was_given() {
        let given = |hex: &str| Keys {
            given: Some(JobKey::from_hex(&hex.repeat(32)).unwrap()),
        };
        let all = [Keys { given: None }, given("07"), given("08")];
        let mut found: Vec<String> = Vec::new();
        for keys in &all {
            for secret in [None, Some(1), Some(2)] {
                let key = keys.of(&name(7, secret));
                assert_eq!(key.to_hex(), keys.of(&name(8, secret)).to_hex());
                // Only what everybody can compute is none.
                assert_eq!(key.is_secret(), secret.is_some() || keys.given.is_some());
                assert!(!found.contains(&key.to_hex()));
                found.push(key.to_hex());
            }
        }
        assert!(found.contains(&"07".repeat(32)));
    }

    #[test]
    fn a_port_has_a_secret_unless_its_number_was_chosen() {
        let [one, other] = [(); 2].map(|()| named(name(0, Some(3))).unwrap().secret.unwrap());
        assert!(one != other && one.0 != [3; 16]);
        for chosen in [name(7, None), name(7, Some(3))] {
            assert_eq!(named(chosen).unwrap(), chosen);
        }
    }
}

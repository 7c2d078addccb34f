//! What can be set in the environment, `FI_BCL_...`: all of it is read here.

use crate::abi::{FI_PARAM_SIZE_T, fi_provider};
use crate::call::Failure;
use crate::host::Host;
use crate::log::{self, Level};

/// What is set, or what holds without that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `FI_BCL_CQ_SIZE`: completions that a queue holds if the program does not say how many.
    pub cq_size: usize,
}

/// Without that.
const CQ_SIZE: usize = 16384;
/// Some 60 bytes each: more would be somebody's mistake.
pub const CQ_SIZE_MAX: usize = 1 << 22;

impl Settings {
    /// From the environment.
    ///
    /// # Errors
    /// If what is set there cannot be meant.
    pub fn from_env() -> Result<Self, Failure> {
        let cq_size = std::env::var_os("FI_BCL_CQ_SIZE");
        let cq_size = cq_size.as_ref().map(|text| text.to_string_lossy());
        Ok(Self {
            cq_size: cq_size_from(cq_size.as_deref())?,
        })
    }
}

/// Has libfabric list what can be set, as `fi_info --env` shows it. A value is none of its business: what it cannot read it
/// would pass over. The provider is one that stays for good.
pub fn tell(host: &Host, provider: &fi_provider) {
    let Some(define) = host.param_define else {
        return;
    };
    let help = c"Completions that a queue holds if the program does not say how many, 1 to %zu (default: %zu)";
    // SAFETY: a provider and a name that stay for good, and a format with what it takes.
    let status = unsafe {
        define(
            provider,
            c"cq_size".as_ptr(),
            FI_PARAM_SIZE_T,
            help.as_ptr(),
            CQ_SIZE_MAX,
            CQ_SIZE,
        )
    };
    if status != 0 {
        log::say(
            Level::Info,
            &format!("fi_param_define: libfabric does not list settings of BCL: {status}"),
        );
    }
}

fn cq_size_from(text: Option<&str>) -> Result<usize, Failure> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(CQ_SIZE);
    };
    match text.parse() {
        Ok(size) if (1..=CQ_SIZE_MAX).contains(&size) => Ok(size),
        _ => Err(Failure::invalid(format!(
            "FI_BCL_CQ_SIZE: '{text}' is no number of completions from 1 to {CQ_SIZE_MAX}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused_with_what_to_write() {
        assert_eq!(cq_size_from(None), Ok(16384));
        assert_eq!(cq_size_from(Some("")), Ok(16384));
        assert_eq!(cq_size_from(Some("64")), Ok(64));
        for wrong in ["0", "-1", "many", "4194305"] {
            let text = cq_size_from(Some(wrong)).unwrap_err().text;
            assert!(
                text.contains(wrong) && text.contains("from 1 to 4194304"),
                "{text}"
            );
        }
    }
}

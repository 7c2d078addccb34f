//! `bcl info`: what this machine lets BCL do.

mod kernel;
mod live;
mod peer;

use bcl::{Folder, Nodes, SYSTEM_MAX, detect_node};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Result};
use crate::output;

/// Show versions, limits, and what this machine permits.
///
/// Two processes are started and connected to see what really works between them. With a peer, connects with that
/// and tells which tier reaches it, and why.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A port, of this node or another.
    #[arg(value_name = "PEER", value_parser = crate::peer::address)]
    peer: Option<bcl::Address>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Where the asking process is, for its partner.
    #[arg(long, hide = true)]
    partner: Option<bcl::Address>,
}

/// A finding: a stable name, what was found, and for people a remark.
struct Fact {
    name: &'static str,
    value: Value,
    remark: String,
}

fn fact(name: &'static str, value: impl Into<Value>, remark: impl Into<String>) -> Fact {
    Fact {
        name,
        value: value.into(),
        remark: remark.into(),
    }
}

/// Prints everything.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(asker) = arguments.partner {
        return live::assist(asker);
    }
    let facts = match arguments.peer {
        Some(peer) => peer::facts(peer)?,
        None => {
            let mut facts = settings()?;
            facts.extend(kernel::facts());
            facts.extend(live::facts()?);
            facts
        }
    };
    if arguments.json {
        let object: Map<_, _> = facts
            .into_iter()
            .map(|fact| (fact.name.to_owned(), fact.value))
            .collect();
        return output::json(&object);
    }
    facts.iter().try_for_each(|fact| {
        let name = fact.name.replace('_', " ");
        let value = match &fact.value {
            Value::String(text) => text.clone(),
            Value::Bool(true) => "yes".into(),
            Value::Bool(false) => "no".into(),
            Value::Null => "not there".into(),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
                items.join(", ")
            }
            other => other.to_string(),
        };
        match fact.remark.is_empty() {
            true => output::line(format_args!("{name:<26} {value}")),
            false => output::line(format_args!("{name:<26} {value} ({})", fact.remark)),
        }
    })
}

fn settings() -> Result<Vec<Fact>> {
    let (node, why) = detect_node().map_err(|error| Failure::new(error.to_string()))?;
    let folder =
        Folder::open(Folder::default_path()).map_err(|error| Failure::new(error.to_string()))?;
    let origin = match std::env::var_os("BCL_DIR") {
        Some(_) => "set by BCL_DIR",
        None => "the default; BCL_DIR sets another one",
    };
    let path = folder.path().display().to_string();
    Ok(vec![
        fact("version", env!("CARGO_PKG_VERSION"), ""),
        fact("node", node.to_string(), why),
        nodes_file(),
        fact("socket_folder", path, origin),
        fact(
            "system_max_bytes",
            SYSTEM_MAX,
            "longest message on the system channel",
        ),
        fact(
            "eager_max_bytes",
            bcl::EAGER_MAX,
            "longest message sent before a buffer is posted for it",
        ),
        fact(
            "queue_depth",
            bcl::QUEUE_DEPTH,
            "operations that a port may have under way",
        ),
        fact(
            "posts_max",
            bcl::POSTS_MAX,
            "buffers that a port may have posted",
        ),
        fact("window_count", json!(64), "open channels of a port"),
    ])
}

/// Which nodes file counts, and which could not be read.
fn nodes_file() -> Fact {
    match Nodes::load_with_origin() {
        Ok((_, origin)) => {
            let path = origin.path.map(|path| path.display().to_string());
            let passed_over: Vec<_> = origin.passed_over.iter().map(ToString::to_string).collect();
            fact("nodes_file", path, passed_over.join("; "))
        }
        Err(error) => fact("nodes_file", Value::Null, error.to_string()),
    }
}

//! Shared-memory structures.

//! Parts that open, write and replace the files of runs.
//!
//! For `tracer-runs`, which changes runs by the rules of recording, and for libraries of the command that keep files of
//! their own. No promise to others.

pub use crate::input::{LinkPolicy, OpenError, open, open_input, read_input};
pub use crate::private_files::{private_file, private_folder};
pub use crate::process::{OwnIdentity, own_boot, own_namespace, process_identity};
pub use crate::redact::Redactor;
pub use crate::write::draft::{Draft, ForeignLimits, ScalarValue, cut_to};
#[cfg(any(test, feature = "testing"))]
pub use crate::write::faulty::{Fault, Faulty};
pub use crate::write::files::{Disk, FileSystem, OpenFile, OpenMode, write_all};
pub use crate::write::late_spans::LateSpans;
pub use crate::write::line::{SpanHead, write_line};
pub use crate::write::live_file::{LiveFileWriter, LiveHeader};
pub use crate::write::log::{Batch, SpanLog};
pub use crate::write::meta_file::{meta_text, replace_text, write_unread};
pub use crate::write::meta_text::MetaText;

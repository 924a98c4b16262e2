//! Plug-ins that a study names.
//!
//! A study may come from anywhere, and a plug-in runs with the rights of the user. So the command line must name the same
//! file.

use crate::text::refuse;
use clap::Args;
use halfpower_model::Plugin;
use std::collections::BTreeMap;

/// The plug-ins that a study may load.
#[derive(Clone, Debug, Args)]
pub(super) struct PluginArguments {
    /// Let the study load this plug-in, which runs with your rights; once for each that it names
    #[arg(long = "plugin", value_name = "FILE")]
    allowed: Vec<String>,
}

impl PluginArguments {
    /// Loads the plug-ins that the user allowed.
    ///
    /// # Errors
    /// If the user did not name one, or one is not a plug-in. Names are checked first, so that nothing is loaded for a
    /// study that will not run.
    pub(super) fn check<'a>(&self, named: impl Iterator<Item = &'a Plugin>) -> anyhow::Result<()> {
        let files: BTreeMap<&str, &Plugin> = named.map(|plugin| (plugin.file.as_str(), plugin)).collect();
        if let Some(file) = files.keys().find(|file| !self.allowed.iter().any(|allowed| allowed == **file)) {
            refuse!(
                "the study loads the plug-in {file}, which is code that runs with your rights; if you trust it, say \
                 --plugin {file}"
            );
        }
        Ok(files.values().try_for_each(|plugin| halfpower_engine::check_plugin(plugin))?)
    }
}

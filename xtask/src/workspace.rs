//! Facts of the workspace from cargo and layers.toml

use cargo_metadata::{Metadata, MetadataCommand, Package};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The workspace with all dependencies resolved, and its rules.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) metadata: Metadata,
    pub(crate) rules: Rules,
}

/// `layers.toml`.
#[derive(Deserialize)]
pub(crate) struct Rules {
    pub(crate) licences: LicenceRules,
    /// Files in import cycles that are still to be removed, by the target's name.
    #[serde(default)]
    pub(crate) cycles: BTreeMap<String, usize>,
    /// Names that contradict the glossary and are still to be replaced, by folder.
    #[serde(default)]
    pub(crate) vocabulary: BTreeMap<String, usize>,
    #[serde(flatten)]
    pub(crate) layers: BTreeMap<String, Layer>,
}

/// Which licences third parties may have.
#[derive(Deserialize)]
pub(crate) struct LicenceRules {
    pub(crate) accepted: Vec<String>,
    /// In the bridge, besides.
    pub(crate) bridge: Vec<String>,
}

/// One layer.
#[derive(Deserialize)]
pub(crate) struct Layer {
    crates: Vec<PathBuf>,
    pub(crate) may: Vec<String>,
    pub(crate) external: Option<Vec<String>>,
}

impl Workspace {
    /// Runs `cargo metadata` and reads `layers.toml` at the workspace's root.
    pub(crate) fn read() -> Result<Self> {
        let metadata = MetadataCommand::new().exec().into_diagnostic()?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let path = root.join("layers.toml");
        let text = std::fs::read_to_string(&path)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be read", path.display()))?;
        let rules = toml::from_str(&text)
            .into_diagnostic()
            .wrap_err("layers.toml is wrong")?;
        Ok(Self {
            root,
            metadata,
            rules,
        })
    }

    /// Name of the layer of a crate: that with the longest folder above it.
    pub(crate) fn layer_of(&self, package: &Package) -> Result<&str> {
        let folder = self.folder_of(package);
        self.rules
            .layers
            .iter()
            .flat_map(|(name, layer)| layer.crates.iter().map(move |path| (path, name)))
            .filter(|(path, _)| folder.starts_with(path))
            .max_by_key(|(path, _)| path.components().count())
            .map(|(_, name)| name.as_str())
            .ok_or_else(|| {
                let folder = folder.display();
                miette!(
                    help = "name its folder under a layer in layers.toml",
                    "the crate {} in {folder} belongs to no layer",
                    package.name
                )
            })
    }

    /// Its folder, from the workspace's root.
    pub(crate) fn folder_of<'p>(&self, package: &'p Package) -> &'p Path {
        let folder = package
            .manifest_path
            .parent()
            .unwrap_or(&package.manifest_path);
        folder
            .as_std_path()
            .strip_prefix(&self.root)
            .unwrap_or(folder.as_std_path())
    }
}

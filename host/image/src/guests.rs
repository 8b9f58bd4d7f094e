//! The images of all partitions

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_abi::component::Role;
use bulkhead_formats::address::Ipa;
use bulkhead_model::system::{
    Component, Image, Initrd, Kernel, Partition, PartitionId, Program, System,
};
use bulkhead_plan::PartitionImages;
use bulkhead_plan::load::{Argument, GuestImage};

use crate::crates::{self, Executables, Target, executable_for, only_executable};
use crate::error::BuildError;
use crate::foreign::{self, ImageOptions};
use crate::initrd::{self, Contents};
use crate::linux::Module;
use crate::progress::Progress;
use crate::{BuildOptions, components, elf, linux, output, sources};

/// Crate of the programs in the initial file system.
const AGENT: &str = "bulkhead-agent";

/// Folder of the program that carries endpoints to other machines, a workspace of its own.
const BRIDGE: &str = "linux/bridge";

/// Builds and reads the images of all partitions.
///
/// # Errors
/// See [`BuildError`].
pub fn gather(
    system: &System,
    options: &BuildOptions,
    progress: &Progress,
) -> Result<Vec<PartitionImages>, BuildError> {
    let gatherer = Gatherer::new(system, options, progress)?;
    system
        .partitions
        .iter()
        .map(|partition| gatherer.partition(partition))
        .collect()
}

struct Gatherer<'a> {
    system: &'a System,
    options: &'a BuildOptions,
    built: Executables,
    kernel: Executables,
    agent: Executables,
    /// Path of the bridge, if a partition has one.
    bridge: Option<PathBuf>,
}

fn images(system: &System) -> impl Iterator<Item = &Image> {
    system
        .partitions
        .iter()
        .flat_map(|p| std::iter::once(&p.image).chain(&p.alternate))
}

/// The crates for the bare machine that an image is made of.
fn crates_of(image: &Image) -> Vec<String> {
    match image {
        Image::Crate(name) => vec![name.clone()],
        Image::Components(components) => {
            let programs = components.iter().map(|component| &component.program);
            let crates = programs.filter_map(|program| match program {
                Program::Crate(name) => Some(name.clone()),
                Program::File(_) | Program::Folder(_) => None,
            });
            crates.collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the progress message for a list of crates.
fn listed(crates: &[String]) -> String {
    format!("building {}", crates.join(", "))
}

impl<'a> Gatherer<'a> {
    fn new(
        system: &'a System,
        options: &'a BuildOptions,
        progress: &Progress,
    ) -> Result<Self, BuildError> {
        let mut names: Vec<String> = images(system).flat_map(crates_of).collect();
        names.sort();
        names.dedup();
        progress.doing(listed(&names));
        let built = crates::build(&options.root, Target::Partition, &names, 0)?;
        let on_kernel = |image: &Image| matches!(image, Image::Components(_));
        let kernel = match images(system).any(on_kernel) {
            true => vec![components::KERNEL.to_owned()],
            false => vec![],
        };
        progress.doing(listed(&kernel));
        let kernel = crates::build_variant(
            &options.root,
            Target::Kernel,
            &kernel,
            &options.kernel_features,
        )?;
        let wants_agent = |image: &Image| {
            matches!(
                image,
                Image::Linux {
                    initrd: Initrd::Agent,
                    ..
                }
            )
        };
        let agent = if images(system).any(wants_agent) {
            vec![AGENT.to_owned()]
        } else {
            vec![]
        };
        progress.doing(listed(&agent));
        let agent = crates::build(&options.root, Target::Linux, &agent, 0)?;
        let bridge = bridge(system, options, progress)?;
        progress.doing("reading images");
        Ok(Self {
            system,
            options,
            built,
            kernel,
            agent,
            bridge,
        })
    }

    fn partition(&self, partition: &Partition) -> Result<PartitionImages, BuildError> {
        let alternate = partition.alternate.as_ref();
        let alternate = alternate
            .map(|image| self.image(partition, image, &self.programs(partition, image)?))
            .transpose()?;
        let programs = self.programs(partition, &partition.image)?;
        let argument = self
            .options
            .arguments
            .get(&partition.name)
            .cloned()
            .unwrap_or_default();
        Ok(PartitionImages {
            primary: self.image(partition, &partition.image, &programs)?,
            alternate,
            argument,
            programs,
        })
    }

    /// Executables with the symbols that name the place of a fault.
    fn programs(&self, partition: &Partition, image: &Image) -> Result<Vec<PathBuf>, BuildError> {
        let built = |built: &Executables, name| Ok(only_executable(built, name)?.to_path_buf());
        match image {
            Image::Crate(name) => Ok(vec![built(&self.built, name)?]),
            Image::File { path, .. } => Ok(vec![path.clone()]),
            Image::Components(components) => {
                let kernel = built(&self.kernel, components::KERNEL);
                let program = |component| self.program(partition, component);
                let components = components.iter().map(program);
                std::iter::once(kernel).chain(components).collect()
            }
            Image::Linux { .. } => Ok(Vec::new()),
        }
    }

    fn program(&self, partition: &Partition, component: &Component) -> Result<PathBuf, BuildError> {
        match &component.program {
            Program::Crate(name) => {
                let has_vcpus = !partition.timing.vcpus.is_empty();
                Ok(executable_for(&self.built, name, has_vcpus)?.to_path_buf())
            }
            Program::File(path) => Ok(path.clone()),
            Program::Folder(folder) => {
                let name = format!("{}.{}", partition.name, component.name);
                let is_scheduler = component.role == Role::Scheduler;
                let place = [&self.options.out_dir, Path::new(&name)];
                sources::build(&self.options.root, folder, is_scheduler, place)
                    .map_err(|error| error.at(&component.span))
            }
        }
    }

    /// The image, made of the executables that [`Self::programs`] has found.
    fn image(
        &self,
        partition: &Partition,
        image: &Image,
        programs: &[PathBuf],
    ) -> Result<GuestImage, BuildError> {
        let ram = self.system.board.ram_of(partition.kind);
        match image {
            Image::Crate(name) => crate_image(only_executable(&self.built, name)?),
            Image::Components(components) => self.components(partition, components, programs),
            Image::File {
                path,
                load,
                entry,
                device_tree,
            } => {
                let wishes = ImageOptions {
                    load: *load,
                    entry: *entry,
                    device_tree: *device_tree,
                };
                foreign::place(partition, ram, path, read(path)?, wishes)
            }
            Image::Linux { kernel, initrd } => {
                let path = linux::kernel_image(&self.options.root, kernel);
                let image =
                    fs::read(&path).map_err(|error| no_kernel(partition, kernel, &path, &error))?;
                let initrd = self.initrd(partition, kernel, initrd)?;
                linux::place(partition, ram, image, initrd)
            }
        }
    }

    /// The kernel, and its components as an archive behind it.
    fn components(
        &self,
        partition: &Partition,
        components: &[Component],
        programs: &[PathBuf],
    ) -> Result<GuestImage, BuildError> {
        let kernel = crate_image(only_executable(&self.kernel, components::KERNEL)?)?;
        let programs = programs.iter().skip(1);
        let executables: Vec<_> = programs
            .map(|path| executable(path))
            .collect::<Result<_, _>>()?;
        let named = |other: &Partition| other.name == partition.name;
        let id = self.system.partitions.iter().position(named);
        let set = components::ComponentSet {
            system: self.system,
            partition: PartitionId(id.unwrap_or_default()),
            components,
        };
        components::pack(kernel, &set, &executables)
    }

    /// The kernel's drivers of the PCIe functions that a partition owns, each once.
    fn drivers(&self, partition: &Partition, kernel: &Kernel) -> Result<Vec<Module>, BuildError> {
        let kinds = partition.functions.iter();
        let kinds = kinds.filter_map(|&id| self.system.kind_of(id));
        let mut names: Vec<&str> = Vec::new();
        for name in kinds.flat_map(|kind| &kind.modules) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        linux::drivers(&self.options.root, kernel, &names)
            .map_err(|error| error.at(&partition.span))
    }

    /// The initial file system; one that is built is kept in the output folder for people to see.
    fn initrd(
        &self,
        partition: &Partition,
        kernel: &Kernel,
        initrd: &Initrd,
    ) -> Result<Vec<u8>, BuildError> {
        let path = match initrd {
            Initrd::File(path) => return read(path),
            Initrd::Agent => self
                .options
                .out_dir
                .join(format!("{}.initrd.cpio", partition.name)),
        };
        let mut programs = self.agent.get(AGENT).cloned().unwrap_or_default();
        programs.extend(self.bridge.clone().filter(|_| partition.bridge.is_some()));
        let bytes = initrd::build(&Contents {
            root: &self.options.root,
            busybox: &linux::busybox(&self.options.root),
            modules: &linux::modules(&self.options.root, kernel),
            drivers: &self.drivers(partition, kernel)?,
            programs: &programs,
        })
        .map_err(|error| error.at(&partition.span))?;
        output::write(&path, &bytes)?;
        Ok(bytes)
    }
}

/// Builds the bridge where a partition asks for it.
fn bridge(
    system: &System,
    options: &BuildOptions,
    progress: &Progress,
) -> Result<Option<PathBuf>, BuildError> {
    if system.partitions.iter().all(|one| one.bridge.is_none()) {
        return Ok(None);
    }
    progress.doing("building the bridge, with Zenoh; the first time this takes minutes");
    crates::build_workspace(&options.root, BRIDGE).map(Some)
}

fn read(path: &Path) -> Result<Vec<u8>, BuildError> {
    fs::read(path).map_err(|error| BuildError::unreadable(path, &error))
}

fn executable(path: &Path) -> Result<elf::Executable, BuildError> {
    elf::parse(&read(path)?)
        .map_err(|what| BuildError::internal(format!("`{}` {what}", path.display())))
}

fn crate_image(path: &Path) -> Result<GuestImage, BuildError> {
    let executable = executable(path)?;
    let entry = Ipa(executable.entry_address());
    Ok(GuestImage {
        pieces: executable.pieces(),
        entry,
        argument: Argument::GuestPage,
        device_tree: None,
    })
}

fn no_kernel(
    partition: &Partition,
    kernel: &Kernel,
    path: &Path,
    error: &std::io::Error,
) -> BuildError {
    let message = match kernel {
        Kernel::Packaged(flavour) => {
            format!(
                "the kernel `{flavour}` of partition `{}` is not there yet",
                partition.name
            )
        }
        Kernel::File(_) => {
            format!("cannot read the kernel `{}`: {error}", path.display())
        }
    };
    BuildError::new(
        "kernel-missing",
        message,
        "run `make setup`, which fetches kernels",
    )
    .at(&partition.span)
}

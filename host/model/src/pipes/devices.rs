//! Endpoints of devices in the solver's terms: device pipes

use super::catalogue::Catalogue;
use super::flow::{flows, parse};
use super::functions::{Device, Io, What};
use crate::document::At;
use crate::draft::{EndpointDraft, ImportDraft};
use crate::system::Span;
use crate::timing::{Timing, VcpuKind};
use bulkhead_tpipe::repository::Policy;

impl Catalogue<'_> {
    /// The device pipe of an endpoint; none where it has no I/O VCPU, since then it adds to the
    /// stage alone.
    pub(super) fn endpoint(
        &mut self,
        path: &str,
        endpoint: &EndpointDraft,
        timing: &Timing,
        first_core: usize,
    ) -> Option<Option<usize>> {
        if let Some(latency) = endpoint.latency.given() {
            return Some(Some(self.latency(path, endpoint, latency, first_core)));
        }
        let Some(name) = endpoint.vcpu.given() else {
            return Some(None);
        };
        let named = |name: &str| timing.vcpus.iter().find(|vcpu| vcpu.name == name);
        let vcpu = named(&name.value)?;
        let VcpuKind::Io { percent } = vcpu.kind else {
            return None;
        };
        let wcet = endpoint.wcet.or(1)?.max(1) + timing.overhead.job;
        let names = &mut self.pipes.names[What::Io as usize];
        let found = names.iter().position(|at| at.span == vcpu.span);
        let io = found.unwrap_or_else(|| {
            names.push(At {
                value: vcpu.name.clone(),
                span: vcpu.span.clone(),
            });
            self.pipes.ios.push(Io {
                core: first_core + vcpu.core,
                wcet,
                percent: percent.into(),
                sharers: 1,
            });
            self.pipes.ios.len() - 1
        });
        let found = &mut self.pipes.ios[io];
        found.wcet = found.wcet.max(wcet);
        let scatter = match endpoint.scatter.given() {
            Some(name) => Some(named(&name.value)?.budget()?),
            None => None,
        };
        self.pipes.names[What::Device as usize].push(At {
            value: path.to_owned(),
            span: endpoint.name.span.clone(),
        });
        self.pipes.devices.push(Device {
            io,
            main: scatter,
            sharers: endpoint.sharers.or(0)?,
            distance: endpoint.distance.given().map(|at| at.value),
        });
        Some(Some(self.pipes.devices.len() - 1))
    }

    /// The device pipe of an endpoint in Linux. Its kernel serves interrupts on a core that is not
    /// analysed: the model is an idle core that takes the whole declared latency for each message.
    fn latency(
        &mut self,
        path: &str,
        endpoint: &EndpointDraft,
        latency: &At<u64>,
        first_core: usize,
    ) -> usize {
        let distance = endpoint.distance.given().map(|at| at.value);
        self.alone(path, &endpoint.name, first_core, (latency.value, distance))
    }

    /// An import from another machine as a device pipe. The bridge has an address space of its own,
    /// so the reader polls, as for a stage of another partition. The delay of a message begins when
    /// the bridge writes it.
    pub(super) fn import_device(&mut self, path: &str, import: &ImportDraft) -> usize {
        let distance = import.distance.given().map(|at| at.value);
        let space = self.pipes.cores.len();
        self.alone(path, &import.name, space, (1, distance))
    }

    /// A device pipe with a core of its own in an address space, on which one I/O VCPU takes so
    /// long for a message.
    fn alone(
        &mut self,
        path: &str,
        name: &At<String>,
        space: usize,
        (wcet, distance): (u64, Option<u64>),
    ) -> usize {
        let name = At {
            value: path.to_owned(),
            span: name.span.clone(),
        };
        for what in [What::Core, What::Io, What::Device] {
            self.pipes.names[what as usize].push(name.clone());
        }
        self.pipes.firsts.push(self.pipes.cores.len());
        self.pipes.cores.push(Policy::Edf);
        self.pipes.spaces.push(space);
        self.pipes.ios.push(Io {
            core: self.pipes.cores.len() - 1,
            wcet,
            percent: 100,
            sharers: 1,
        });
        self.pipes.devices.push(Device {
            io: self.pipes.ios.len() - 1,
            main: None,
            sharers: 1,
            distance,
        });
        self.pipes.devices.len() - 1
    }

    /// All pipes share devices and their I/O VCPUs, and as many as the description says may.
    pub(super) fn count_sharers(&mut self) {
        let devices = self.users();
        let mut ios = vec![0; self.pipes.ios.len()];
        for (device, ends) in self.pipes.devices.iter_mut().zip(devices) {
            device.sharers = device.sharers.max(ends);
            ios[device.io] += device.sharers;
        }
        let all = self.pipes.ios.iter_mut().zip(ios);
        all.for_each(|(io, ends)| io.sharers = io.sharers.max(ends));
    }

    /// Stages of pipes that use each endpoint with an I/O VCPU, by where that is described.
    pub(crate) fn uses(&self) -> Vec<(Span, u64)> {
        let names = &self.pipes.names[What::Device as usize];
        let names = names.iter().map(|name| name.span.clone());
        names.zip(self.users()).collect()
    }

    /// Users of each device.
    fn users(&self) -> Vec<u64> {
        let mut devices = vec![0; self.pipes.devices.len()];
        for pipeline in flows(self.draft).filter_map(|flow| parse(&flow.value).ok()) {
            for stage in pipeline.stages() {
                let names = &self.pipes.names[What::Function as usize];
                let Some(index) = names.iter().position(|name| name.value == stage.name) else {
                    continue;
                };
                let function = &self.pipes.functions[index];
                for device in function.reads.into_iter().chain(function.writes) {
                    devices[device] += 1;
                }
            }
        }
        devices
    }
}

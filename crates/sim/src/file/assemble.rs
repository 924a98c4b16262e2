//! A machine with one of its volumes, from the tables of its file.

use super::error::{Wrong, named_in};
use super::volume::VolumeKeys;
use super::{CLOCK, MachineFile};
use crate::bounds::{Hertz, LEAST_CALL};
use crate::bus::Bus;
use crate::cloud::CloudVolume;
use crate::controller::{Controller, Order, Queue};
use crate::flash::{FastArea, FlashDrive};
use crate::machine::{AttachedDisk, Cost, Device, Machine, OperatingSystem, PageCache, Part, PartKind, Share};
use halfpower_model::{Bytes, BytesPerSecond};
use std::sync::Arc;

/// Parts, disks on them, and the parts of the controller that makes the volume.
type Attached = (Vec<Part>, Vec<AttachedDisk>, Option<Vec<usize>>);

const ONCE: &str = "it has to name each part once";

impl MachineFile {
    /// Holds every part to what can be, whether a volume uses it or not.
    ///
    /// # Errors
    /// The first part of a kind that cannot be.
    pub(super) fn check_parts(&self) -> Result<(), Wrong> {
        check(&self.system, &["system"], self.cpu.memory)?;
        for (name, system) in &self.other_system {
            check(system, &["other-system", name], self.cpu.memory)?;
        }
        self.bus.keys().chain(self.controller.keys()).try_for_each(|name| self.part(&[], name).map(drop))?;
        self.drive.iter().try_for_each(|(name, drive)| drive.drive(name).map(drop))?;
        self.flash.iter().try_for_each(|(name, flash)| check_flash(flash, name))?;
        for (name, cloud) in &self.cloud {
            if cloud.spread > cloud.read_latency.min(cloud.write_latency) {
                let message = "it has to be at most read-latency and write-latency";
                return Err(Wrong::at(&["cloud", name, "spread"], message));
            }
            cloud.limits.check().map_err(|(key, message)| Wrong::at(&["cloud", name, "limits", key], message))?;
            if let Some(instance) = &cloud.instance {
                named_in(&self.instance, &["cloud", name, "instance"], "instance", instance)?;
            }
        }
        for (name, limits) in &self.instance {
            limits.check().map_err(|(key, message)| Wrong::at(&["instance", name, key], message))?;
        }
        self.share.keys().try_for_each(|name| self.share("", name, &mut Vec::new()).map(drop))
    }

    pub(super) fn machine(&self, volume: &str, keys: &VolumeKeys) -> Result<Machine, Wrong> {
        let made_of = keys.volume(volume)?;
        let system = match &keys.system {
            Some(named) => named_in(&self.other_system, &["volume", volume, "system"], "other system", named)?,
            None => &self.system,
        };
        let (mut parts, disks, made) = self.attach(volume, keys)?;
        let share = keys.share.as_ref().map(|share| self.share(volume, share, &mut parts)).transpose()?;
        let (share, wire) = share.unzip();
        let mut system = system.clone();
        if keys.file_system == Some(false) {
            system.split = None;
        }
        if keys.file_system == Some(false) || share.is_some() {
            system.cache = None;
        }
        let mut machine = Machine {
            name: self.source.machine.clone(),
            cpu: self.cpu.clone(),
            system,
            parts,
            disks,
            volume: made_of,
            offset: keys.offset,
            made,
            share,
            wire: wire.unwrap_or_default(),
        };
        if let (Some(Hertz(of_times)), Some(Hertz(clock))) = (self.clock_of_times, self.cpu.clock) {
            machine.scale_cpu_times(of_times / clock);
            let shortest_us = |cache: &PageCache| cache.read.fixed_us.min(cache.write.fixed_us);
            if machine.system.cache.as_ref().is_some_and(|cache| shortest_us(cache) * 1e3 < LEAST_CALL.0 as f64) {
                let message = format!("a page cache call would take less than {LEAST_CALL}; set a lower clock");
                return Err(Wrong::at(&CLOCK, message));
            }
        }
        keys.check_size(volume, &machine)?;
        Ok(machine)
    }

    /// Its drive, whatever kind it is of.
    ///
    /// # Errors
    /// When there is none of the name, or it cannot be.
    fn device(&self, name: &str, keys: &VolumeKeys) -> Result<Device, Wrong> {
        if let Some(cloud) = self.cloud.get(&keys.drive) {
            return self.cloud(cloud, name, keys);
        }
        if let Some(flash) = self.flash.get(&keys.drive) {
            return Ok(Device::Flash(Arc::new(self::flash(flash, name, keys)?)));
        }
        let of_flash =
            [("capacity", keys.capacity.is_some()), ("state", keys.state.is_some()), ("cooled", keys.cooled.is_some())];
        if let Some((key, _)) = of_flash.into_iter().find(|(_, is_said)| *is_said) {
            return Err(Wrong::at(&["volume", name, key], "it applies to flash drives only"));
        }
        let drive = named_in(&self.drive, &["volume", name, "drive"], "drive", &keys.drive)?.drive(&keys.drive)?;
        if keys.write_cache == Some(true) && drive.write_cache.is_none() {
            let message = format!("{} has none; add write-cache to [drive.{0}]", keys.drive);
            return Err(Wrong::at(&["volume", name, "write-cache"], message));
        }
        Ok(keys.disk(drive))
    }

    /// A volume of a cloud, at its instance.
    fn cloud(&self, cloud: &CloudVolume, name: &str, keys: &VolumeKeys) -> Result<Device, Wrong> {
        if keys.from_buffers {
            return Err(Wrong::at(&["volume", name, "from-buffers"], "it applies to disks only"));
        }
        let Some(instance) = &cloud.instance else { return Ok(Device::Cloud(Arc::new(cloud.clone()), None)) };
        let limits = named_in(&self.instance, &["cloud", &keys.drive, "instance"], "instance", instance)?;
        if keys.disks > 1 {
            let one = "volumes that share an instance are not simulated; write disks = 1";
            return Err(Wrong::at(&["volume", name, "disks"], one));
        }
        Ok(Device::Cloud(Arc::new(cloud.clone()), Some(*limits)))
    }

    /// The parts of the path, the disks on them, and where the volume is made.
    ///
    /// # Errors
    /// When the path names what is not there or cannot be.
    fn attach(&self, name: &str, keys: &VolumeKeys) -> Result<Attached, Wrong> {
        let wrong = |key, message: &str| Err(Wrong::at(&["volume", name, key], message));
        let device = self.device(name, keys)?;
        // For each name of the path: its parts. The disks are spread over them in turn.
        let mut parts = Vec::new();
        let mut levels: Vec<Vec<usize>> = Vec::new();
        let is_each_disk_s = |named: &String| self.bus.get(named).is_some_and(|bus| bus.each_disk);
        for (level, named) in keys.path.iter().enumerate() {
            if keys.path[..level].contains(named) {
                return wrong("path", ONCE);
            }
            let mut part = self.part(&["volume", name, "path"], named)?;
            if level.checked_sub(1).is_some_and(|below| is_each_disk_s(&keys.path[below])) {
                part = part.with_ports();
            }
            let is_last = level + 1 == keys.path.len();
            if part.bus().is_none() && (level == 0 || is_last) {
                return wrong("path", &format!("{named} needs a bus on both sides: one to the drive, one to memory"));
            }
            if level > 0 && is_each_disk_s(named) {
                return wrong("path", &format!("{named} has each-disk, so it has to be the first"));
            }
            let count = match (is_each_disk_s(named), is_last) {
                (true, _) => keys.disks,
                (false, true) => 1,
                (false, false) => keys.strings,
            };
            levels.push((parts.len()..parts.len() + count as usize).collect());
            for number in 1..=count {
                let name = if count == 1 { named.clone() } else { format!("{named} {number}") };
                parts.push(Part { name, ..part.clone() });
            }
        }
        let stores = |level: usize| parts[levels[level][0]].stores();
        let storing: Vec<usize> = (0..levels.len()).filter(|level| stores(*level)).collect();
        let made_at = keys.path.iter().position(|name| keys.made_in.as_ref() == Some(name));
        match (&keys.made_in, made_at) {
            (Some(_), None) => return wrong("made-in", "no controller of its path has this name"),
            (Some(_), Some(level)) if !stores(level) => {
                return wrong("made-in", "the controller that makes the volume needs bytes = \"stored\"");
            }
            _ if storing.len() > 1 => {
                return wrong("path", "only one controller of the path can have bytes = \"stored\"");
            }
            _ => {}
        }
        let border = storing.first().copied().unwrap_or(levels.len());
        let way = |disk: usize, levels: &[Vec<usize>]| levels.iter().map(|parts| parts[disk % parts.len()]).collect();
        let queue_of = |outstanding| Queue { outstanding, order: Order::Fcfs, merge: 0 };
        let of_drive = || self.flash.get(&keys.drive).and_then(|flash| flash.outstanding).map(queue_of);
        let queue = parts.iter().filter_map(Part::controller).find_map(Controller::queue).or_else(of_drive);
        let disk = |disk: usize| AttachedDisk {
            device: device.clone(),
            name: keys.drive.clone(),
            near: way(disk, &levels[..border]),
            far: if made_at.is_some() { Vec::new() } else { way(disk, &levels[border..]) },
            queue,
        };
        let disks = (0..keys.disks as usize).map(disk).collect();
        let made = made_at.map(|level| way(0, &levels[level..]));
        Ok((parts, disks, made))
    }

    /// A share by its name; the buses of its wire that no disk is on join the parts.
    fn share(&self, volume: &str, name: &str, parts: &mut Vec<Part>) -> Result<(Share, Vec<usize>), Wrong> {
        let keys = named_in(&self.share, &["volume", volume, "share"], "share", name)?;
        let mut wire = Vec::new();
        for (number, named) in keys.wire.iter().enumerate() {
            if keys.wire[..number].contains(named) {
                return Err(Wrong::at(&["share", name, "wire"], ONCE));
            }
            let known = parts.iter().position(|part| part.name == *named);
            wire.push(known.unwrap_or(parts.len()));
            if known.is_none() {
                parts.push(self.part(&["share", name, "wire"], named)?);
            }
        }
        Ok((keys.clone(), wire))
    }

    /// A bus or a controller by its name; `key` is the list in which it is named.
    fn part(&self, key: &[&str], name: &str) -> Result<Part, Wrong> {
        if let Some(bus) = self.bus.get(name) {
            let Bus { rate, read_rate, write_rate, .. } = *bus;
            if rate.is_some() && (read_rate.is_some() || write_rate.is_some()) {
                let message = "it excludes read-rate and write-rate; write it, or those two";
                return Err(Wrong::at(&["bus", name, "rate"], message));
            }
            let (Some(read), Some(write)) = (read_rate.or(rate), write_rate.or(rate)) else {
                return Err(Wrong::at(&["bus", name], "it needs rate, or read-rate and write-rate"));
            };
            let kind = PartKind::Bus(bus.clone());
            return Ok(Part { name: name.to_owned(), ns_per_byte: [1e9 / read.0, 1e9 / write.0], kind });
        }
        let controller = named_in(&self.controller, key, "bus or controller", name)?;
        let of_waiting = [("order", controller.order.is_some()), ("merge", controller.merge.is_some())];
        if let Some((key, _)) = of_waiting.iter().find(|(_, is_there)| *is_there && controller.outstanding.is_none()) {
            let message = "it needs outstanding, because without it no command waits";
            return Err(Wrong::at(&["controller", name, key], message));
        }
        let per_byte = |rate: Option<BytesPerSecond>| rate.map_or(0.0, |rate| 1e9 / rate.0);
        let ns_per_byte = [controller.read_rate, controller.write_rate].map(per_byte);
        Ok(Part { name: name.to_owned(), ns_per_byte, kind: PartKind::Controller(controller.clone()) })
    }
}

impl Machine {
    /// Multiplies all CPU times, except those of programmed I/O and of another machine's share.
    pub(crate) fn scale_cpu_times(&mut self, factor: f64) {
        let scale = |cost: &mut Cost| *cost = cost.times(factor);
        let OperatingSystem { direct_read, direct_write, cache, .. } = &mut self.system;
        [direct_read, direct_write].into_iter().for_each(scale);
        if let Some(cache) = cache {
            [&mut cache.read, &mut cache.write].into_iter().for_each(scale);
            cache.paging.0 = (cache.paging.0 as f64 * factor) as u64;
        }
        for part in &mut self.parts {
            if let PartKind::Controller(Controller { driver_read, driver_write, .. }) = &mut part.kind {
                driver_read.iter_mut().chain(driver_write).for_each(scale);
            }
        }
        if let Some(share) = &mut self.share {
            let Share { client_read, client_write, server_read, server_write, server_cpus, .. } = share;
            [client_read, client_write].into_iter().for_each(scale);
            if server_cpus.is_none() {
                [server_read, server_write].into_iter().for_each(scale);
            }
        }
    }
}

/// Checks a flash drive.
///
/// # Errors
/// When its keys contradict each other.
fn check_flash(drive: &FlashDrive, name: &str) -> Result<(), Wrong> {
    let wrong = |keys: &[&str], message: String| Err(Wrong::at(&[&["flash", name], keys].concat(), message));
    // With less a write would wait for seconds of copying: 500 bytes for each.
    let least = Bytes((drive.size.0 / 1000).max(u64::from(drive.units) * drive.page.0));
    if drive.fast_area.is_some_and(|area| area.always.is_some_and(|always| always > area.size)) {
        return wrong(&["fast-area", "always"], "it has to be at most size".to_owned());
    }
    if drive.units < drive.channels {
        return wrong(&["channels"], "it has to be at most units".to_owned());
    }
    if drive.spare < least {
        return wrong(
            &["spare"],
            format!("it has to be at least a thousandth of size, and one page per unit: {least}"),
        );
    }
    if drive.protected && drive.buffer.is_none() {
        return wrong(&["protected"], "it needs buffer too".to_owned());
    }
    Ok(())
}

/// A flash drive as a volume uses it. What the volume leaves of it is spare, and always free.
///
/// # Errors
/// When keys of both contradict each other.
fn flash(drive: &FlashDrive, name: &str, volume: &VolumeKeys) -> Result<FlashDrive, Wrong> {
    let of_volume = |key, message: String| Err(Wrong::at(&["volume", name, key], message));
    let size = volume.capacity.unwrap_or(drive.size);
    if volume.from_buffers {
        return of_volume("from-buffers", "it applies to disks only".to_owned());
    }
    if size > drive.size {
        return of_volume("capacity", format!("it has to be at most the drive's size, {}", drive.size));
    }
    let unused = drive.size.0 - size.0;
    let fast_area = |area: FastArea| {
        let always = Some(Bytes(area.always.unwrap_or(area.size).0 + unused));
        FastArea { always, ..area }
    };
    Ok(FlashDrive {
        size,
        spare: Bytes(drive.spare.0 + unused),
        buffer: drive.buffer.filter(|_| volume.write_cache != Some(false)),
        fast_area: drive.fast_area.map(fast_area),
        heat: drive.heat.filter(|_| volume.cooled == Some(false)),
        state: volume.state.unwrap_or(drive.state),
        ..drive.clone()
    })
}

/// Less than that has no room for what is read and what is written at the same time.
const LEAST_CACHE: Bytes = Bytes(1 << 20);

/// Checks an operating system on a machine with so much memory; `place` is where its keys are.
///
/// # Errors
/// What cannot be.
fn check(system: &OperatingSystem, place: &[&str], memory: Bytes) -> Result<(), Wrong> {
    let Some(cache) = &system.cache else { return Ok(()) };
    let wrong = |keys: &[&str], message: String| Err(Wrong::at(&[place, &["cache"], keys].concat(), message));
    for (call, cost) in [("read", cache.read), ("write", cache.write)] {
        if cost.fixed_us * 1e3 < LEAST_CALL.0 as f64 {
            return wrong(&[call, "fixed"], format!("it has to be at least {LEAST_CALL}"));
        }
    }
    let [capacity, dirty] = cache.sizes(memory);
    if dirty > capacity {
        return wrong(&["dirty-share"], "it has to be at most share".to_owned());
    }
    if capacity < LEAST_CACHE {
        let message =
            format!("it leaves the cache {capacity}, and it needs {LEAST_CACHE}; for no cache leave the table out");
        return wrong(&["share"], message);
    }
    Ok(())
}

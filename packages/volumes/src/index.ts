/** Disks of builds: the pool, the provisioner and the cleaners. */
export { chooseDisks, refusalOf, type Refusal } from './pool/choose-disk.ts'
export { isClaimed, openDiskPool, type Disk, type DiskClaim, type DiskPool, type DiskPoolOptions } from './pool/disk.ts'
export { hostPathDisks, type DiskMaker, type NewDisk } from './pool/maker.ts'
export { DISK_LABEL, NOTE } from './pool/notes.ts'
export { isSchedulable } from './pool/placement.ts'
export { isDoomed, lastUsedAt, localPathOf, mountCountOf, storageBytes, toVolume, Volume } from './pool/volume.ts'

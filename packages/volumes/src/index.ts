/** Disks of builds: the pool, the provisioner and the cleaners. */
export { chooseDisks, isSchedulable, storageBytes, Volume } from './pool/choose-disk.ts'
export { openDiskPool, type Disk, type DiskClaim, type DiskPool, type DiskPoolOptions } from './pool/disk.ts'
export { DISK_LABEL, NOTE } from './pool/notes.ts'

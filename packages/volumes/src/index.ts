/** Disks of builds: the pool, the provisioner and the cleaners. */
export {}

/** Reports what runs in a cluster, read-only. */
export {}

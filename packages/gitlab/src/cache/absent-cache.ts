/** The store, or the pod, does not have a cache: the usual state before the first job that makes it. */
export class AbsentCache extends Error {}

/** What of a disk may be removed: pure decisions, used by the engine and by the processes of this package. */
export {}

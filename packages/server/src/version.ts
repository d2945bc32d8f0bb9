import { DISKS_FEATURE } from '@windlass/protocol'

export { VERSION } from '@windlass/plan'

/** Features beyond the protocol version. Peers check these instead of versions. */
export const FEATURES = ['held-claim', 'task-leases', 'commands', 'sse-follow', DISKS_FEATURE]

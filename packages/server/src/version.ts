import manifest from '../package.json' with { type: 'json' }

export const VERSION = manifest.version

/** What this server can do beyond the protocol version; the other side decides by these, not by versions. */
export const FEATURES = ['held-claim', 'task-leases', 'commands', 'sse-follow']
